"""Progress: which long stage is under way, and how far it is.

Long loops call `advance`; who watches, if anybody, is none of their business. Without a watcher
(a scheduled job, a test, a worker thread) a call costs next to nothing and does nothing.

    with progress.stage(Stage.WRITING):
        for start in range(0, total, block):
            ...
            progress.advance(min(start + block, total), total, "rows")

Privacy: what is reported is shown on a terminal, so it is an output like any other. While raw
data are open (`while_raw_data_are_open`) only two stages are named, counting never has figures,
and figures pass only for totals that the public plan names; everything else is dropped here,
whoever reported it. Call `advance` with what the plan fixed before the data were opened: cells of
a planned table, done block by block. Never with the number of records read, of occupied or
listed cells, or with what an engine says of its own progress. After the measuring process has
ended, numbers of rows and iterations come from noisy tables and may be shown.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, Protocol

Unit = Literal["cells", "iterations", "rows", "queries", "replicates"]
"""What is counted by the figures of a stage."""


class Stage(StrEnum):
    """The long stages, in the words in which they are shown."""

    COUNTING = "counting the records"
    NOISE = "adding noise"
    ESTIMATION = "estimating"
    ROUNDING = "rounding"
    REPLICATES = "replicating"
    WRITING = "writing rows"
    VERIFYING = "verifying"
    ANSWERING = "answering"


WHILE_RAW_DATA_ARE_OPEN = frozenset({Stage.COUNTING, Stage.NOISE})
"""The stages that are named while raw data are open."""

WITHOUT_FIGURES = frozenset({Stage.COUNTING})
"""The stages of which nothing is ever told but that they are under way."""


@dataclass(frozen=True)
class Step:
    """A stage under way; `part` of `parts` where it has several, such as tables of the plan."""

    stage: Stage
    part: int = 1
    parts: int = 1


class Watcher(Protocol):
    """Shows or passes on what it is told. It never raises, and may leave out what comes fast."""

    def entered(self, step: Step | None) -> None:
        """This step is under way now; None when no stage is."""

    def advanced(self, done: int, total: int, unit: Unit) -> None:
        """The step under way has done so much; `total` may turn out to be more than needed."""


_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)
_step: ContextVar[Step | None] = ContextVar("step", default=None)
_unit: ContextVar[list[Unit] | None] = ContextVar("unit", default=None)
"""The unit of the figures of the stage under way, once there were any."""
_public_totals: ContextVar[frozenset[int] | None] = ContextVar("public_totals", default=None)


def advance(done: int, total: int, unit: Unit) -> None:
    """Report that the stage under way has done `done` of `total` units.

    Privacy: see the head of this module; outside a stage, or where it may not be told, nothing
    happens.
    Requires: called from the thread that entered the stage (others are not heard); cheap enough
    for every block of a loop, not for every cell. `total` may be an upper limit.
    Ensures: a stage has figures of one unit, that of its first ones; those of the loops inside a
    loop are not told.
    """
    watcher, step = _watcher.get(), _step.get()
    if watcher is None or step is None or not _may_be_told(step.stage):
        return
    if step.stage in WITHOUT_FIGURES or not 0 <= done <= total:
        return
    public_totals, units = _public_totals.get(), _unit.get()
    if units is not None:
        units += [] if units else [unit]
        if units[0] != unit:
            return
    if public_totals is None or total in public_totals:
        watcher.advanced(done, total, unit)


@contextmanager
def stage(name: Stage, *, part: int = 1, parts: int = 1) -> Iterator[None]:
    """The stage under way while the context lasts; stages may be nested, the inner one is shown.

    Requires: `part` and `parts` come from the public plan.
    """
    step = Step(name, part, parts)
    outer = _step.get()
    token, unit_token = _step.set(step), _unit.set([])
    _tell(step)
    try:
        yield
    finally:
        _unit.reset(unit_token)
        _step.reset(token)
        _tell(outer)


@contextmanager
def watched_by(watcher: Watcher) -> Iterator[None]:
    """Tell this watcher, and no other, while the context lasts."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


@contextmanager
def while_raw_data_are_open(public_totals: Collection[int]) -> Iterator[None]:
    """Let nothing pass but counting and noise, and figures of these totals of the public plan."""
    token = _public_totals.set(frozenset(public_totals))
    try:
        yield
    finally:
        _public_totals.reset(token)


def current_watcher() -> Watcher | None:
    """Who is told at present: for passing on what another process reports."""
    return _watcher.get()


def _may_be_told(name: Stage) -> bool:
    return _public_totals.get() is None or name in WHILE_RAW_DATA_ARE_OPEN


def _tell(step: Step | None) -> None:
    watcher = _watcher.get()
    if watcher is not None and (step is None or _may_be_told(step.stage)):
        watcher.entered(step)
