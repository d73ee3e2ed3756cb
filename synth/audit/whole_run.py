"""Canaries that are records of a made-up source: read, counted and measured as in a run."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

import numpy as np
from numpy.typing import NDArray

from synth.audit.canaries import (
    OWN_COUNT,
    Canaries,
    Tally,
    Trials,
    claim_of,
    guess,
)
from synth.audit.findings import Finding
from synth.audit.made_up_sources import MadeUpSource, Record, codes_of_periods, days_of, text_of
from synth.audit.tables import wanted_canaries
from synth.config import Config, PersonUnit
from synth.curator.measuring import Fit, measure
from synth.domain import Attribute, Universe
from synth.planning import Look, Schedule
from synth.privacy import TableEvent

MOST_RECORDS = 1 << 15
"""Of one source."""
MOST_CANARIES = 1 << 18
MOST_RUNS = 24
MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class CountableTable:
    """A measured table, and records that count in given cells of it."""

    event: TableEvent
    number: int
    codes: tuple[tuple[int, ...], ...]
    """For each attribute of the table, for each group that a text is known for: one code of it."""
    groups: tuple[tuple[int, ...], ...]
    """The number of that group."""
    strides: tuple[int, ...]
    """Cells of the table between neighbouring groups."""

    @property
    def cells(self) -> int:
        """How many cells records can be made up for."""
        return math.prod(map(len, self.codes))

    def places(self, chosen: Sequence[int]) -> tuple[NDArray[np.int64], list[list[int]]]:
        """The numbers of some cells in the table, and for each attribute a code in each of them."""
        left = np.array(chosen, dtype=np.int64)
        numbers, columns = np.zeros_like(left), []
        attributes = list(zip(self.codes, self.groups, self.strides, strict=True))
        for codes, groups, stride in reversed(attributes):
            left, places = np.divmod(left, len(codes))
            columns.append(np.array(codes)[places].tolist())
            numbers += np.array(groups)[places] * stride
        return numbers, columns[::-1]


def audit_whole_run(
    config: Config,
    plan: Sequence[TableEvent] | Schedule,
    trials: Trials,
    *,
    look: Look | None = None,
) -> Finding | None:
    """A lower bound for the table with most cells, from canaries that come as records of files.

    So whatever happens to a record between the source and the noisy count shows in it. None if
    records cannot be made up for cells of any table: they are listed, too many, or over the column
    of the persons. With a look, the tables are measured after it, whatever it says.
    """
    table, canaries = countable_table(config, plan), trials.canaries
    step = canaries.cells_each
    if table is None or table.cells < step:
        return None
    random = Random(int.from_bytes(trials.randomness(16)))  # noqa: S311 - chooses cells only
    claim = claim_of(table.event, canaries)
    each = max(1, min(table.cells // step, MOST_RECORDS // canaries.records))
    wanted = min(MOST_CANARIES, wanted_canaries(claim, canaries, trials.miss))
    runs = min(MOST_RUNS, math.ceil(wanted / each))
    guesses = Tally()
    with tempfile.TemporaryDirectory(prefix="synth-audit-") as directory:
        for _ in range(runs):
            bits = trials.coins(each)
            chosen = random.sample(range(table.cells), each * step)
            numbers, codes = table.places(chosen)
            there = np.zeros(each * step, dtype=bool)
            there[::step] = bits
            if canaries.replaced:
                there[1::step] = ~bits
            records = _records(config, table.event, canaries, codes, there, random)
            source, files = MadeUpSource.of(config).write(Path(directory), records)
            measured = measure(
                config,
                source,
                look or plan,
                files=files,
                stream=trials.streams(),
                directory=Path(directory),
                fit=_nothing_known(config.universe),
                plan_after=lambda _: plan,
                selection=config.selection(),
            )
            noisy = measured.tables[table.number].noisy_counts[numbers].astype(np.int64)
            guesses += guess(claim, canaries, canaries.split(noisy, each), bits)
    name = ", ".join(table.event.table) or "all records"
    return Finding.of_guesses(
        f"records of a source: {name}",
        table.event.mechanism,
        claim,
        guesses,
        miss=trials.miss,
        canaries=runs * each,
        rule=OWN_COUNT,
    )


def _nothing_known(universe: Universe) -> Fit:
    """A guess that knows nothing: every cell of every table is empty."""
    return lambda _: lambda margin: np.zeros(margin.cells(universe))


def countable_table(config: Config, plan: Sequence[TableEvent] | Schedule) -> CountableTable | None:
    """The measured table with most cells that records can be made up for, if there is one."""
    unit = config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    events = plan.first if isinstance(plan, Schedule) else plan
    able = [
        (event.cells, -number)
        for number, event in enumerate(events)
        if event.threshold is None and event.cells <= MOST_CELLS and person not in event.table
    ]
    if not able:
        return None
    number = -max(able)[1]
    event, source = events[number], MadeUpSource.of(config)
    codes, groups, strides, stride = [], [], [], 1
    for name, step in reversed(list(zip(event.table, event.coarsening, strict=True))):
        attribute = config.universe.attribute(name)
        group_of = attribute.groups(step)
        may_count = codes_of_periods(attribute, config.selection())
        known = {
            group_of[code]: code
            for code in range(attribute.size)
            if may_count[code] and _is_writable(attribute, code, source)
        }
        codes.append(tuple(known.values()))
        groups.append(tuple(known))
        strides.append(stride)
        stride *= max(group_of) + 1
    return CountableTable(
        event, number, tuple(codes[::-1]), tuple(groups[::-1]), tuple(strides[::-1])
    )


def _is_writable(attribute: Attribute, code: int, source: MadeUpSource) -> bool:
    text = text_of(attribute, code)
    return text is not None and source.holds(text)


def _records(
    config: Config,
    event: TableEvent,
    canaries: Canaries,
    codes: Sequence[Sequence[int]],
    there: NDArray[np.bool_],
    random: Random,
) -> list[Record]:
    """The records of all canaries that are there, in random order."""
    places = np.flatnonzero(there).tolist()
    columns: dict[str, list[str]] = {}
    for attribute in config.universe.attributes:
        if attribute.name in event.table:
            chosen = codes[event.table.index(attribute.name)]
            texts = [text_of(attribute, code) or "" for code in range(attribute.size)]
            columns[attribute.name] = [texts[chosen[place]] for place in places]
        else:
            columns[attribute.name] = [text_of(attribute, 0) or "0"] * len(places)
    unit, selection = config.privacy.unit, config.selection()
    if isinstance(unit, PersonUnit):
        columns[unit.column] = [f"canary {place}" for place in places]
    if selection is not None and selection.column not in event.table:
        columns[selection.column] = random.choices(days_of(selection), k=len(places))
    rows = [row for row in zip(*columns.values(), strict=True) for _ in range(canaries.records)]
    random.shuffle(rows)
    return rows
