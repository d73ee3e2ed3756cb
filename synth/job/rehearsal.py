"""A rehearsal: the whole job on made-up rows, in a scratch place, charged to nobody.

It is a run like any other, of another configuration: the same domain, privacy, workload and output,
but records of the kind `made-up`, which nothing but this module can ask for, an id, a title and a
description that say so in every document, and a ledger of its own that goes with the scratch. So
nothing of it can be taken for, or mixed with, the release that is rehearsed: their hashes differ,
and its noise, ledger and measurements are gone when it ends.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from copy import deepcopy
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from synth.bookkeeping import RunLock
from synth.config import Config, Dialect, FileSource, Given, config_from_public, load_config
from synth.config.schema.scalars import PERIOD
from synth.config.source_files import MADE_UP
from synth.errors import OutputError
from synth.job import pipeline
from synth.job.account import ledger_of
from synth.job.log import Log, Record, StageLog
from synth.job.made_up_table import write_made_up_table
from synth.job.preconditions import release_folder
from synth.measurements.durable import make_private_directory, translate_write_errors
from synth.planning import Forecast, forecast
from synth.release import make_public_directory
from synth.release.contents import CHECKSUMS, MANIFEST, PAGE
from synth.release.noisy_tables import TABLES

FOLDER_PREFIX = "REHEARSAL-"
SCRATCH_PREFIX = ".rehearsal-"
MARK = "REHEARSAL ON MADE-UP ROWS, NOT FOR PUBLICATION"
WARNING = (
    "The rows of this table were made up at random from the declared columns, to rehearse a "
    "release. They are about nobody, and every number in these files is about them. "
    "Nothing may be published from it."
)
MOST_TITLE, MOST_ID, MOST_PROSE = 200, 100, 10_000
DROPPED = ("homepage", "cite_as", "supersedes", "approvals", "sources", "derived_from")
"""What is said of the release alone."""


@dataclass(frozen=True)
class Rehearsal:
    """What a rehearsal wrote, and the errors to expect of the release that it stands for."""

    path: Path
    rows: int
    """So many were made up."""
    forecast: Forecast

    @property
    def page(self) -> Path:
        """The page to open in a browser."""
        return self.path / PAGE


def rehearse(
    config: Given,
    *,
    output: str | Path | None = None,
    period: str | None = None,
    log: Log | None = None,
) -> Rehearsal:
    """Do the whole job on made-up rows, and leave a marked folder: REHEARSAL-<id>, or `output`.

    Privacy: neither the source nor the ledger of the configuration is opened; they need not exist.
    What is written is a function of the configuration and of chance.
    Ensures: an earlier rehearsal in the folder is replaced when this one is whole, and anything
    else is left alone. Nothing else stays, whatever happens; what a killed rehearsal left is
    removed by the next one.
    Raises: SynthError with the exit code of the contract.
    """
    log = log or StageLog()
    config = load_config(config, period=period, without_period="first")
    folder = release_folder(config)
    folder = folder.parent / f"{FOLDER_PREFIX}{folder.name}"
    if output is not None:
        folder = Path(output).absolute()
    planned = forecast(config, with_alternatives=True)
    with translate_write_errors(str(folder)):
        _require_replaceable(folder)
        make_public_directory(folder.parent)
        with _scratch(folder) as scratch:
            made_up = scratch / "made-up.parquet"
            rows = write_made_up_table(
                made_up, config, rows=planned.records, generator=np.random.default_rng()
            )
            said = _InRehearsal(log)
            said.done("note", f"{rows:,} rows made up; no data opened, nothing charged")
            *before, last = _periods(config)
            for period in (*before, last):  # a file is deleted, once it is measured
                file = scratch / "rows.parquet" if period in before else made_up
                if file != made_up:
                    shutil.copyfile(made_up, file)
                outcome = pipeline.run(rehearsed(config, file, scratch, period), log=said)
            _replace(folder, outcome.path, scratch)
    return Rehearsal(folder, rows, planned)


def rehearsal_lines(found: Rehearsal) -> Iterator[str]:
    """What to know of a rehearsal: what the release would be good for, and how to see the page."""
    planned = found.forecast
    known = ", which is assumed" if planned.records_are_assumed else ""
    yield f"Errors to expect of the real release, with {planned.records:,} records{known}:"
    yield from (f"- {each.sentence}" for each in planned.usefulness)
    if planned.proposals:
        yield "What would help, planned again with each change:"
        yield from (f"- {each.sentence}" for each in planned.proposals)
    yield "synth plan shows the error of every table."
    yield ""
    yield f"REHEARSAL: {WARNING}"
    yield f"To see the page, open it in a browser: {found.page.as_uri()}"


class _InRehearsal(Log):
    """Says of every line that it is of a rehearsal, and passes it on."""

    def __init__(self, log: Log) -> None:
        self._log = log

    def write(self, record: Record) -> None:
        self._log.write(replace(record, message=f"rehearsal: {record.message}"))

    def doing(self, what: str) -> AbstractContextManager[None]:
        return self._log.doing(f"rehearsal: {what}")


def _periods(config: Config) -> list[str | None]:
    """The periods to go through, the last one that of the configuration.

    Where counts are added up from period to period, all so far; else it stands alone.
    """
    series, index = config.series, config.period_index
    if series is None or index is None or not series.is_continual:
        return [config.period]
    return [series.label(each) for each in range(1, index + 1)]


def rehearsed(config: Config, made_up: Path, place: Path, period: str | None = None) -> Config:
    """The configuration of the rehearsal, whose ledger and release lie in `place`.

    With a `period`, that of another period of the same series.
    """
    public: dict[str, Any] = deepcopy(config.public)
    release, ledger = public["release"], public["ledger"]
    for key in DROPPED:
        release.pop(key, None)
    release["id"] = f"rehearsal-{release['id']}"[:MOST_ID]
    release["title"] = f"{MARK}: {release['title']}"[:MOST_TITLE]
    release["description"] = f"{MARK}. {WARNING}\n\n{release['description']}"[:MOST_PROSE].rstrip()
    release["intended_use"] = f"None: {WARNING}"
    release["license"] = "None, made-up rows"
    ledger["population"] = f"nobody (rehearsal of {ledger['population']})"[:MOST_TITLE].rstrip()
    where = public["source"].get("where")
    public["source"] = {"kind": MADE_UP, "disposal": "delete"}
    if where is not None:
        public["source"]["where"] = where
    if config.series is not None:
        public["series"]["period"] = period or public["series"]["period"]
        _rename_series(public)
    account = replace(ledger_of(config), path=place / "ledger.sqlite")
    marked = config_from_public(public)
    return replace(
        marked,
        name=config.name,
        source=FileSource(made_up, Dialect(), "delete", ""),
        ledger=replace(account, population=ledger["population"]),
        output=replace(marked.output, directory=place / "outputs"),
    )


def _rename_series(public: dict[str, Any]) -> None:
    """Give the series a name of which that of the rehearsal is a period."""
    series, release = public["series"], public["release"]
    name = f"rehearsal-{series['name']}"
    if len(name) > MOST_ID:
        name = f"rehearsal-{PERIOD}"
    series["name"] = name
    release["id"] = name.replace(PERIOD, series["period"])


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A private directory beside the folder, of one rehearsal at a time, gone in the end.

    Raises: BusyError if another rehearsal is under way.
    """
    scratch = folder.parent / f"{SCRATCH_PREFIX}{folder.name}"
    make_private_directory(scratch)
    lock = RunLock(scratch / "lock", private=(scratch,))
    with lock:
        try:
            for left in scratch.iterdir():
                if left != lock.path:
                    _remove(left)
            yield scratch
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink()


def _require_replaceable(folder: Path) -> None:
    """Refuse a folder that holds anything but an earlier rehearsal.

    Raises: OutputError.
    """
    if not folder.exists() and not folder.is_symlink():
        return
    try:
        manifest = json.loads((folder / MANIFEST).read_bytes())
        listed = [line.split()[-1] for line in (folder / CHECKSUMS).read_text().splitlines()]
        is_rehearsal = manifest["configuration"]["source"]["kind"] == MADE_UP
        found = {each.relative_to(folder).as_posix() for each in folder.rglob("*")}
        if is_rehearsal and found <= {CHECKSUMS, TABLES, *listed}:
            return
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        pass
    raise OutputError(
        f"{folder.name} is there already and is no rehearsal alone",
        why="what somebody else put there is never overwritten",
        fix="move it away, or name another folder with --output",
    )


def _replace(folder: Path, new: Path, scratch: Path) -> None:
    """Put the new rehearsal in the place of the earlier one."""
    if folder.exists():
        _require_replaceable(folder)
        folder.rename(scratch / "earlier")
    new.rename(folder)
