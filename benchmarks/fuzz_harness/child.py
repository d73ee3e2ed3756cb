"""The process that is fuzzed: its modules report their branches, and every crash is kept.

    python -m fuzz_harness.child TARGET PLACE [options of libFuzzer] CORPUS

An exception that is no clean end is counted and kept, and the fuzzing goes on; what kills the
process itself is kept by libFuzzer.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import pkgutil
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

import atheris

from fuzz_harness.targets import TARGETS

SLOW_SECONDS = 10
"""Of processor time: more for one small file is a crash too."""

REPORT_SECONDS = 0.5
"""The process ends without a word, so what it found is written down this often."""


def import_all(packages: tuple[str, ...]) -> None:
    """Import every module below, so that what functions import later is watched as well."""
    with atheris.instrument_imports(include=list(packages), enable_loader_override=False):
        for name in packages:
            package = importlib.import_module(name)
            for module in pkgutil.walk_packages(package.__path__, f"{name}."):
                if "spark" not in module.name and "postgres" not in module.name:
                    importlib.import_module(module.name)


def main() -> None:
    name, place, *options = sys.argv[1:]
    target, here = TARGETS[name], Path(place)
    import_all(target.packages)
    attempt = target.prepare(here)
    ends: Counter[str] = Counter()
    crashes: dict[str, dict[str, object]] = {}
    slowest = reported = 0.0

    def report() -> None:
        found = {"ends": dict(ends), "slowest_seconds": slowest, "crashes": list(crashes.values())}
        (here / "found.json").write_text(json.dumps(found))

    def once(content: bytes) -> None:
        nonlocal slowest, reported
        start = time.process_time()
        try:
            ends[attempt(content)] += 1
            error = None
        except Exception as caught:  # whatever it is, it is a defect
            error = caught
        seconds = time.process_time() - start
        slowest = max(slowest, seconds)
        if error is not None or seconds > SLOW_SECONDS:
            ends["crash"] += 1
            keep(content, error)
        if time.monotonic() > reported + REPORT_SECONDS:
            reported = time.monotonic()
            report()

    def keep(content: bytes, error: Exception | None) -> None:
        frames = traceback.extract_tb(error.__traceback__) if error else []
        own = [frame for frame in frames if "/synth/" in frame.filename] or frames
        where = f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "slow"
        what = f"{type(error).__name__}: {str(error)[:200]}" if error else "slow"
        key = f"{where} {type(error).__name__}"
        if key not in crashes:
            path = here / f"crash-{hashlib.sha256(content).hexdigest()[:16]}"
            path.write_bytes(content)
            (here / f"{path.name}.txt").write_text("".join(traceback.format_exception(error)))
            crashes[key] = {"where": where, "what": what, "file": path.name, "times": 0}
        crashes[key]["times"] = int(str(crashes[key]["times"])) + 1
        report()

    atheris.Setup([sys.argv[0], *options], once)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
