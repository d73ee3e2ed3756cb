"""Golden releases: whole runs on injected noise, whose every file must stay as it was.

    python benchmarks/golden.py
    python benchmarks/golden.py --quick
    python benchmarks/golden.py --only adult "whole run auto"
    python benchmarks/golden.py --renew

Measures, publishes and verifies the shipped configurations, every one of `tests/configs/good`, the
table of whole runs of the tests, random configurations of any size, and, where it can be started,
PostgreSQL. The noise comes from a fixed key and the day is fixed, so a release depends on the
program alone. The first digits of the SHA-256 of every file are compared with those in
`golden_hashes.json`; what differs is listed by case and file, and the exit code is 1. `--renew`
writes the hashes of the cases that were run: for a change that is meant to alter them. `--keep DIR`
keeps the release folders, to see how they differ.

Last digits of exp and log depend on the processor: hashes are compared on the machine that they
were taken on, or renewed there from the commit before a change.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import gzip
import hashlib
import importlib
import io
import json
import os
import pkgutil
import secrets
import shutil
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any
from unittest import mock

import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from fuzz_harness.configurations import write_project

sys.path.insert(0, str(Path(__file__).parents[1]))

import synth
from synth.config import load_config
from synth.estimate import any_size
from synth.job import pipeline
from synth.job.log import Log, Record
from synth.noise import NoiseStream
from tests.conftest import SMALL, merged
from tests.end_to_end import test_whole_runs as whole_runs

ROOT = Path(__file__).parents[1]
HASHES = Path(__file__).with_name("golden_hashes.json")
KEY = bytes(range(32))
HEX_DIGITS = 16
GOOD_RECORDS = 400
RANDOM_SEEDS = range(1, 41)
PERIOD = "2020-q1"
SLOW = ("good hierarchies",)
"""Run only if they are named: ten minutes for 13 million cells."""
QUICK_STEP = 12
"""With `--quick` one case in so many, and the small shipped configuration."""


class FixedDay(datetime.datetime):
    """A clock that stands still."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> FixedDay:
        """The same instant, always."""
        return cls(2026, 1, 2, tzinfo=tz)

    @classmethod
    def fromtimestamp(cls, _seconds: float, tz: datetime.tzinfo | None = None) -> FixedDay:
        """No file is older than another."""
        return cls.now(tz)


class SilentLog(Log):
    """Says nothing."""

    def write(self, record: Record) -> None:
        """Say nothing."""


def released(path: Path, period: str | None = None) -> Path:
    """Measure with the noise of the fixed key, publish and verify; the release folder."""
    config = load_config(path, period=period)
    log = SilentLog()
    pipeline.measure(config, log=log, stream=NoiseStream(key=KEY))
    folder = pipeline.publish(config, log=log).path
    pipeline.verify(folder)
    return folder


def shipped(name: str) -> Callable[[Path], Path]:
    """The run of a shipped configuration, with ledger and outputs of its own."""

    def run(place: Path) -> Path:
        shutil.copytree(ROOT / "configs", place / "configs")
        (place / "data").symlink_to(ROOT / "data")
        return released(place / "configs" / f"{name}.yaml")

    return run


def good(source: Path) -> Callable[[Path], Path]:
    """The run of a good configuration on records made up for its columns."""

    def run(outside: Path) -> Path:
        place = outside / "configs"  # some configurations write beside their directory
        place.mkdir()
        text = source.read_text(encoding="utf-8")
        plain = yaml.load(text, Loader=yaml.BaseLoader)
        period = PERIOD if "{period}" in text else None
        (place / source.name).write_text(text, encoding="utf-8")
        write_records(place, plain)
        if "signing_key" in plain["output"]:
            write_key(place / plain["output"]["signing_key"])
        return released(place / source.name, period)

    return run


def write_key(path: Path) -> None:
    """A key to sign with, always the same."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_bytes(
        Ed25519PrivateKey.from_private_bytes(KEY).private_bytes(
            Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()
        )
    )


def write_records(place: Path, plain: dict[str, Any]) -> None:
    """A file with the dialect of the configuration: most values fit, some are odd."""
    chance, source = Random(1), plain["source"]
    columns = {each["name"]: values_of(each) for each in plain["domain"]}
    unit = plain["privacy"]["unit"]
    if isinstance(unit, dict):
        columns[unit["column"]] = [f"p{number}" for number in range(GOOD_RECORDS // 3)]
    text = io.StringIO(newline="")
    writer = csv.writer(
        text,
        delimiter=source.get("delimiter", ","),
        quotechar=source.get("quote", '"'),
        escapechar=source.get("escape"),
        doublequote="escape" not in source,
    )
    writer.writerow(columns)
    for _ in range(GOOD_RECORDS):
        writer.writerow([chance.choice(values) for values in columns.values()])
    name = source["path"].replace("{period}", PERIOD).replace("*", "1")
    raw = text.getvalue().encode(source.get("encoding", "utf-8"))
    (place / name).write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)


def values_of(column: dict[str, Any]) -> list[str]:
    """Values inside and outside the domain of a column."""
    if "levels" in column:
        return [*column["levels"], column["levels"][0], "nobody knows", ""]
    if column["type"] == "boolean":
        true, false = (column.get(f"{word}_values", [word]) for word in ("true", "false"))
        return [*true, *false, *true, "nobody knows", ""]
    edges = column.get("edges") or [column["minimum"], column["maximum"]]
    first, last = float(edges[0]), float(edges[-1])
    values = [first + (last - first) * share / 20 for share in range(-1, 14)]
    if column["type"] == "integer":
        values = [round(value) for value in values]
    return [*map(str, values), ""]


def whole_run(case: tuple[str, ...], *, in_blocks: bool = False) -> Callable[[Path], Path]:
    """The run of a combination of the tests' table."""

    def run(place: Path) -> Path:
        def project(**changes: Any) -> Path:
            changes.pop("people")
            path = place / "small.yaml"
            text = yaml.safe_dump(merged(SMALL, changes), sort_keys=False, allow_unicode=True)
            path.write_text(text, encoding="utf-8")
            return path

        path = whole_runs.configured(project, place, case)
        if not in_blocks:
            return released(path)
        with mock.patch.object(any_size, "is_held", return_value=False):
            return released(path)

    return run


def random_run(seed: int) -> Callable[[Path], Path]:
    """The run of a random configuration of any size."""
    return lambda place: released(write_project(place, seed, any_size=True))


def postgres(place: Path) -> Path:
    """Adult's smaller cousin out of a database."""
    from tests.engines.conftest import Server, _programs

    programs = _programs()
    if programs is None:
        raise FileNotFoundError("no PostgreSQL server is installed")
    directory = Path(tempfile.mkdtemp(prefix="golden-"))
    server = Server(directory, programs)
    try:
        server.execute("CREATE TABLE people (age integer, sex text, town text)")
        for number in range(120):
            server.execute(
                "INSERT INTO people VALUES (%s, %s, %s)",
                number % 97,
                ("Female", "Male", "")[number % 3],
                ("Nord", "Süd", "Other")[number % 4 % 3],
            )
        source = {"path": None, "url": server.url(), "table": "public.people"}
        path = place / "small.yaml"
        path.write_text(yaml.safe_dump(merged(SMALL, {"source": source}), sort_keys=False))
        with mock.patch.dict(os.environ, {"PGUSER": "synth"}):
            return released(path)
    finally:
        server.stop()
        shutil.rmtree(directory, ignore_errors=True)


def stand_still() -> None:
    """Fix the day, and what else but the noise is drawn at random: the token of a ledger."""
    secrets.token_hex = lambda size=32: "0" * 2 * size
    for found in pkgutil.walk_packages(synth.__path__, "synth."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            if getattr(module, "datetime", None) is datetime.datetime:
                module.datetime = FixedDay


def cases() -> Iterator[tuple[str, Callable[[Path], Path]]]:
    """Every golden release with its name."""
    for name in ("nltcs", "adult", "diamonds", "flights"):
        yield f"shipped {name}", shipped(name)
    for path in sorted((ROOT / "tests" / "configs" / "good").glob("*.yaml")):
        yield f"good {path.stem}", good(path)
    yield "postgres", postgres
    for case in whole_runs.CASES:
        strategy, size, *rest = case
        if not (size == "list" and strategy in whole_runs.NOT_HELD):
            yield f"whole run {', '.join(case)}", whole_run(case)
        if size == "held":
            words = ", ".join([strategy, "blocks", *rest])
            yield f"whole run {words}", whole_run(case, in_blocks=True)
    for seed in RANDOM_SEEDS:
        yield f"random {seed}", random_run(seed)


def hashes_of(run: Callable[[Path], Path], name: str, keep: Path | None) -> dict[str, str]:
    """The hash of every file of the release; of the error's words where there is none."""
    with tempfile.TemporaryDirectory(prefix="golden-") as directory:
        place = Path(directory)
        try:
            folder = run(place)
        except Exception as error:  # a refusal is a result like any other
            if os.environ.get("GOLDEN_TRACE"):
                traceback.print_exc()
            words = f"{type(error).__name__}: {error}".replace(directory, "")
            return {"refused": words.splitlines()[0]}
        if keep is not None:
            shutil.copytree(folder, keep / name.replace("/", "-"))
        return {
            str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()[
                :HEX_DIGITS
            ]
            for path in sorted(folder.rglob("*"))
            if path.is_file()
        }


def compared(name: str, found: dict[str, str], known: dict[str, str]) -> bool:
    """Whether a case is as it was; says what is not."""
    differing = sorted(
        each for each in found.keys() | known.keys() if found.get(each) != known.get(each)
    )
    for each in differing:
        print(f"{name}: {each}: {known.get(each)} -> {found.get(each)}", flush=True)
    return not differing


def main() -> int:
    """Run the cases that are asked for; compare or renew."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--only", nargs="+", default=[], help="words in the names of the cases")
    parser.add_argument("--quick", action="store_true", help="a small choice of the cases")
    parser.add_argument("--renew", action="store_true", help="write the hashes instead")
    parser.add_argument("--keep", type=Path, help="a new directory for the release folders")
    options = parser.parse_args()
    chosen = [
        (name, run)
        for number, (name, run) in enumerate(cases())
        if (any(word in name for word in options.only) if options.only else name not in SLOW)
        and (not options.quick or number % QUICK_STEP == 0)
    ]
    stand_still()
    known = json.loads(HASHES.read_text(encoding="utf-8")) if HASHES.exists() else {}
    if options.keep:
        options.keep.mkdir(parents=True)
    same = 0
    for name, run in chosen:
        found = hashes_of(run, name, options.keep)
        if options.renew:
            known[name] = found
        else:
            same += compared(name, found, known.get(name, {}))
    if options.renew:
        HASHES.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n", encoding="utf-8")
        print(f"{len(chosen)} cases written")
        return 0
    print(f"{same} of {len(chosen)} cases as they were")
    return 0 if same == len(chosen) else 1


if __name__ == "__main__":
    sys.exit(main())
