"""The size of the house, and how much of it one small publication enters.

    python benchmarks/house.py

Counts the files, lines and rooms of `synth/` and the words of `docs/`; then loads, measures,
publishes and verifies a small configuration in one process, and counts the files of `synth/` in
which at least one function was called meanwhile, and these functions. What modules do when they
are imported is not counted.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeVar

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from synth.config import load_config
from synth.job import pipeline
from synth.job.log import StageLog
from tests.conftest import PEOPLE, SMALL

ROOT = Path(__file__).parents[1]
HOUSE = ROOT / "synth"
Done = TypeVar("Done")


def entered(name: str, act: Callable[[], Done]) -> Done:
    """Do something; print how many files and functions of the house it entered."""
    codes: set[CodeType] = set()

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call":
            codes.add(frame.f_code)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        return act()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
        own = [
            code
            for code in codes
            if code.co_filename.startswith(f"{HOUSE}/") and code.co_name != "<module>"
        ]
        files = {code.co_filename for code in own}
        print(f"{name}: {len(files)} files, {len(own)} functions")


def main() -> None:
    """Count, then run."""
    argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0]).parse_args()
    files = sorted(HOUSE.rglob("*.py"))
    lines = sum(len(path.read_text(encoding="utf-8").splitlines()) for path in files)
    short = sum(
        len(path.read_text(encoding="utf-8").splitlines()) < 60
        for path in files
        if path.name != "__init__.py"
    )
    rooms = [path for path in HOUSE.iterdir() if path.is_dir() and path.name != "__pycache__"]
    print(
        f"synth/: {len(files)} files, {lines:,} lines, {len(rooms)} rooms; {short} files below 60"
    )
    words = sum(len(path.read_text(encoding="utf-8").split()) for path in ROOT.glob("docs/**/*.md"))
    print(f"docs/: {words:,} words")
    with tempfile.TemporaryDirectory(prefix="house-") as directory:
        place = Path(directory)
        (place / "people.csv").write_text(PEOPLE, encoding="utf-8")
        path = place / "small.yaml"
        path.write_text(yaml.safe_dump(SMALL, allow_unicode=True), encoding="utf-8")
        log = StageLog()
        config = entered("load_config", lambda: load_config(path))
        entered("measure", lambda: pipeline.measure(config, log=log))
        folder = entered("publish", lambda: pipeline.publish(config, log=log).path)
        entered("verify", lambda: pipeline.verify(folder))


if __name__ == "__main__":
    main()
