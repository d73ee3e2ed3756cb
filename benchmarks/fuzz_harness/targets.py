"""What is fuzzed: each target takes any bytes and must come to one of its clean ends."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzz_harness import seeds
from fuzz_harness.tables import drawn_parquet
from synth.strict_json import write_folded_json

ENCODINGS = ("utf-8", "latin-1", "windows-1252", "iso-8859-5")
SOURCE_SENTENCES = (
    "the source people.csv has no readable header line",
    "the source people.csv.gz has no readable header line",
    "the source people.csv.gz holds a damaged or incomplete file",
    "the source could not be read to its end",
)
"""Of a source file the program says nothing else, but for sentences that name columns of the
configuration."""

COLUMN_SENTENCES = (
    "has no column ",
    "has more than one column ",
    "in a type that cannot be counted",
    "as whole numbers, or as text, in all its files",
)
CONFIGURED = {"id", "age", "sex"}


@dataclass(frozen=True)
class Target:
    """Bytes to start from, and what is done with any bytes: the name of the end is returned."""

    packages: tuple[str, ...]
    """What is watched for coverage."""
    seeds: Callable[[Path], list[bytes]]
    prepare: Callable[[Path], Callable[[bytes], str]]


def _config(place: Path) -> Callable[[bytes], str]:
    from synth.config import config_from_public, load_config, warnings
    from synth.config.summary import report_lines
    from synth.errors import ConfigError

    path = place / "fuzzed.yaml"

    def attempt(content: bytes) -> str:
        path.write_bytes(content)
        try:
            config = load_config(path)
        except ConfigError as error:
            require(bool(error.problems), "a refusal without a problem")
            require(all(line.isprintable() for line in str(error).split("\n")), "unprintable")
            return "ConfigError"
        require(config_from_public(config.public).public == config.public, "another public form")
        require(bool(report_lines(config)), "no report")
        warnings(config)
        return "accepted"

    return attempt


def _source(place: Path, *, parquet: bool) -> Callable[[bytes], str]:
    from synth.config import Dialect, FileSource, load_config
    from synth.curator.counting.tabulate import every_cell, tabulate
    from synth.curator.seal import quiet_libraries, scrubbed
    from synth.errors import SynthError

    configs = []
    for name, text in (("record", seeds.CONFIGURATION), ("person", seeds.PERSON)):
        (place / f"{name}.yaml").write_text(text, encoding="utf-8")
        configs.append(load_config(place / f"{name}.yaml"))

    def attempt(content: bytes) -> str:
        mode, body = content[0] if content else 0, content[1:]
        path, dialect = place / "people.parquet", Dialect()
        if parquet:
            if mode % 2:
                body = drawn_parquet(body)
        else:
            path = place / ("people.csv.gz" if mode & 2 else "people.csv")
            dialect = Dialect(";" if mode & 4 else ",", encoding=ENCODINGS[mode >> 3 & 3])
        path.write_bytes(body)
        config = configs[(mode >> 7 if parquet else mode) & 1]
        source = FileSource(path, dialect, "keep", "made up")
        scratch = place / "scratch"
        scratch.mkdir(exist_ok=True)
        try:
            with quiet_libraries():
                held = tabulate(config, source, [path], scratch).consume()
                counts = every_cell(held, config.universe)
        except BaseException as error:
            clean = scrubbed(error)
            require(isinstance(clean, SynthError) and clean.exit_code == 1, repr(error))
            require_silent(str(getattr(clean, "sentence", "")).replace(".parquet", ".csv"))
            return type(clean).__name__
        require(not list(scratch.iterdir()), "something was left in the scratch directory")
        require(int(counts.min()) >= 0, "a negative count")
        return "counted"

    return attempt


def _verify(place: Path) -> Callable[[bytes], str]:
    from synth.errors import VerificationError
    from synth.release.derivation import derive
    from synth.release.verification import verify_folder

    published = place / "base" / "outputs" / "fuzzed"
    folder = place / "fuzzed"
    shutil.copytree(published, folder)
    original = {path.name: path.read_bytes() for path in sorted(published.iterdir())}
    names = list(original)
    derived: dict[str, Any] = {}

    def derive_once(measurements: Any, config: Any) -> Any:
        """The rows of the published measurements are rebuilt once, those of others every time."""
        untouched = files["measurements.parquet"] == original["measurements.parquet"]
        key = config.hash if untouched else ""
        if not untouched or key not in derived:
            derived[key] = derive(measurements, config)
        return derived[key]

    files = original

    def attempt(content: bytes) -> str:
        nonlocal files
        mode, number = (*content[:2], 0, 0)[:2]
        name, body = names[number % len(names)], content[2:]
        files = dict(original)
        if mode % 3 == 2:
            name = "manifest.json"
            body = changed_manifest(original[name], content[1:])
        files[name] = body
        if mode % 3:
            reseal(files, name)
        for each, bytes_ in files.items():
            (folder / each).write_bytes(bytes_)
        try:
            verify_folder(folder, derivation=derive_once)
        except VerificationError as error:
            require(error.exit_code == 5 and bool(error.findings), "a refusal without a finding")
            require(all("\n" not in finding for finding in error.findings), "a finding of lines")
            return "VerificationError"
        require(files == original or name != "manifest.json" or mode % 3 == 2, "a change unseen")
        return "verified"

    return attempt


def _signature(_place: Path) -> Callable[[bytes], str]:
    from synth.release.contents import parse_signature

    def attempt(content: bytes) -> str:
        try:
            found = parse_signature(content)
        except ValueError:
            return "ValueError"
        require(found.content == content, "two spellings of one signature")
        found.fits(b"{}")
        return "parsed"

    return attempt


def _approval(place: Path) -> Callable[[bytes], str]:
    from synth.errors import ConfigError
    from synth.policy.approval import read_approvals

    path = place / "fuzzed.yaml.approval"

    def attempt(content: bytes) -> str:
        path.write_bytes(content)
        try:
            read_approvals(path)
        except ConfigError:
            return "ConfigError"
        return "read"

    return attempt


def _ledger(place: Path) -> Callable[[bytes], str]:
    from synth.bookkeeping import Ledger
    from synth.bookkeeping.statement import ledger_report
    from synth.errors import SynthError

    path = place / "ledger.sqlite"

    def attempt(content: bytes) -> str:
        for leftover in place.glob("ledger.sqlite-*"):
            leftover.unlink()
        path.write_bytes(content)
        try:
            with Ledger.open_existing(path) as ledger:
                ledger_report(ledger, "nobody")
        except SynthError as error:
            require(error.exit_code == 1, repr(error))
            return type(error).__name__
        return "read"

    return attempt


MOST_WRAPPED = 5
"""A value in a list of three, and that again: the manifest would grow without a bound."""


def changed_manifest(content: bytes, recipe: bytes) -> bytes:
    """The manifest with some leaves exchanged: two bytes choose the leaf, one the new value."""
    manifest = json.loads(content)
    places: list[tuple[Any, Any]] = []
    walk(manifest, places)
    values: tuple[Any, ...] = (
        *(0, 1, -1, 10**59, 1e308, 0.5, None, True, "", "1/0", "1/3", "0", "x" * 500, [], {}),
        *("missing", "2026-02-30", "[0, 18)", "../x", "\u202e", ["age", "age"], [[]], {"a": []}),
    )
    wrapped = 0
    for step in range(0, len(recipe) - 2, 3):
        parent, key = places[int.from_bytes(recipe[step : step + 2], "big") % len(places)]
        with suppress(LookupError):  # a branch that is gone already
            choice = recipe[step + 2]
            if choice == 255:
                del parent[key]
            elif choice > 200 and wrapped < MOST_WRAPPED:
                wrapped += 1
                parent[key] = {"again": parent[key]} if choice % 2 else [parent[key]] * 3
            else:
                parent[key] = values[choice % len(values)]
    return write_folded_json(manifest)


def walk(value: Any, places: list[tuple[Any, Any]]) -> None:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        places.append((value, key))
        if isinstance(item, dict | list):
            walk(item, places)


def reseal(files: dict[str, bytes], changed: str) -> None:
    """Make the hashes of the manifest and of SHA256SUMS right, as far as they can be read."""
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
    if changed not in ("manifest.json", "SHA256SUMS"):
        manifest = json.loads(files["manifest.json"])
        for entry in manifest["files"]:
            entry["bytes"] = len(files[entry["path"]])
            entry["sha256"] = digests[entry["path"]]
        text = write_folded_json(manifest)
        files["manifest.json"] = text
        digests["manifest.json"] = hashlib.sha256(text).hexdigest()
    if changed != "SHA256SUMS":
        lines = [f"{digests[name]}  {name}\n" for name in sorted(digests) if name != "SHA256SUMS"]
        files["SHA256SUMS"] = "".join(lines).encode()


class DefectError(Exception):
    """Something that must hold for any bytes does not hold."""


def require(holds: bool, what: str) -> None:
    if not holds:
        raise DefectError(what)


def require_silent(sentence: str) -> None:
    """A message about a source is one of a few, with names of the configuration in it."""
    if sentence in SOURCE_SENTENCES:
        return
    known = any(words in sentence for words in COLUMN_SENTENCES)
    require(known and set(sentence.split("'")[1::2]) <= CONFIGURED, f"new words: {sentence}")


def _good() -> Path:
    return Path(__file__).parents[2] / "tests" / "configs" / "good"


def _key() -> Any:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from synth.signatures import PrivateKey

    return PrivateKey(Ed25519PrivateKey.generate())


def _made_signature(_place: Path) -> list[bytes]:
    from synth.release.contents import sign_manifest

    return [sign_manifest(b"{}", _key()), b"{}", b"[" * 200, b'{"public_key": 1}']


def _made_approval(place: Path) -> list[bytes]:
    from synth.config import load_config
    from synth.policy.approval import approve, write_approvals

    path = place / "approved.yaml"
    path.write_text(seeds.CONFIGURATION, encoding="utf-8")
    write_approvals(path, [approve(load_config(path), _key())] * 2)
    return [path.read_bytes(), b"approvals: []\n", b"approvals: *a\n"]


def _made_ledger(place: Path) -> list[bytes]:
    return [(place / "base" / "state" / "ledger.sqlite").read_bytes(), b"SQLite format 3\x00"]


TARGETS = {
    "config": Target(("synth.config", "yaml"), lambda _: seeds.config_seeds(_good()), _config),
    "csv": Target(
        ("synth.curator",), lambda _: seeds.csv_seeds(), lambda p: _source(p, parquet=False)
    ),
    "parquet": Target(
        ("synth.curator",), lambda _: seeds.parquet_seeds(), lambda p: _source(p, parquet=True)
    ),
    "verify": Target(
        ("synth.release", "synth.measurements", "synth.config"),
        lambda place: seeds.verify_seeds(place / "base" / "outputs" / "fuzzed"),
        _verify,
    ),
    "signature": Target(("synth.release", "synth.signatures"), _made_signature, _signature),
    "approval": Target(("synth.policy", "synth.config"), _made_approval, _approval),
    "ledger": Target(("synth.bookkeeping",), _made_ledger, _ledger),
}
