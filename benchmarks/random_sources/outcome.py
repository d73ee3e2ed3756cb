"""Two neighbours that are counted: how each ended, and what both together show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from synth.config.source_files import source_files
from synth.curator.counting.tabulate import every_cell, filled_cells, tabulate
from synth.curator.seal import quiet_libraries, scrubbed
from synth.errors import SynthError
from synth.privacy.sensitivity import sensitivity_l1

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.config import Config

BUG = 3
"""The exit code that no source may give."""


@dataclass(frozen=True)
class End:
    """How the counting of one source ended."""

    counts: NDArray[np.int64] | None
    """None if it was refused."""
    said: str
    """The exit code and message of the refusal."""


@dataclass(frozen=True)
class Outcome:
    """How a pair of neighbours ended."""

    source: str
    """What the source is made of."""
    end: str
    """`counted` or `refused`."""
    change_l1: int
    sensitivity_l1: int
    problem: str | None
    """What is wrong with it, if anything is."""


def end_of(config: Config, *, sparse: bool = False) -> End:
    """The counts of the universe from the engine itself, or what a user would be told."""
    scratch = config.ledger.path.parent
    try:
        with quiet_libraries():
            files = source_files(config.source)
            if not sparse:
                held = tabulate(config, config.source, files, scratch).consume()
                return End(every_cell(held, config.universe), "")
            return End(_dense(config, files, scratch), "")
    except Exception as error:
        told = scrubbed(error)
        code = told.exit_code if isinstance(told, SynthError) else BUG
        return End(None, f"exit {code}: {told}")


def _dense(config: Config, files: Sequence[Path], scratch: Path) -> NDArray[np.int64]:
    """The filled cells as an array of all cells, in which each may stand once."""
    import numpy as np

    cells = filled_cells(config, config.source, files, scratch).consume()
    counts = np.zeros(config.universe.shape, np.int64)
    np.add.at(counts, tuple(cells.columns), cells.counts)
    return counts.reshape(-1)


def judged(source: str, before: End, after: End, *, config: Config, is_refused: bool) -> Outcome:
    """Neighbours are refused alike, exactly if they must be, or counted as it was stated."""
    stated = sensitivity_l1(config.privacy)
    change_l1, problem = 0, None
    if before.said != after.said:
        problem = f"one unit decides the end: {before.said!r} or {after.said!r}"
    elif before.said.startswith(f"exit {BUG}"):
        problem = f"a bug: {before.said}"
    elif (before.counts is None) != is_refused:
        problem = before.said or "counted, although it cannot be trusted"
    elif before.counts is not None and after.counts is not None:
        change_l1 = int(abs(after.counts - before.counts).sum())
        if change_l1 > stated:
            problem = f"the counts move by {change_l1}, stated are {stated}"
    end = "refused" if before.counts is None else "counted"
    return Outcome(source, end, change_l1, stated, problem)


def configuration(
    place: Mapping[str, Any],
    domain: Sequence[Mapping[str, Any]],
    *,
    max_records: int,
    neighbours: str = "add-remove",
) -> dict[str, Any]:
    """A configuration of a random source; with `max_records` 0 the unit is a record."""
    bound = {"column": "person", "max_records": max_records}
    total = {"where": {}, "total": 100, "source": "made up"}
    return {
        "schema_version": 1,
        "release": {
            "id": "random", "title": "Random", "description": "Made up", "curators": ["Nobody"],
            "contact": "data@example.org", "intended_use": "Tests", "region": "Nowhere",
            "sector": "Government", "license": "CC-BY-4.0",
        },
        "source": {**place, "disposal": "keep", "disposal_reason": "made up"},
        "privacy": {
            "epsilon": 1, "neighbours": neighbours, "justification": "Nobody is in it.",
            "unit": bound if max_records else "record",
        },
        "ledger": {"path": "ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
        "domain": [{**column, "source": "made up"} for column in domain],
        "workload": {"marginals": 1},
        "output": {"directory": "outputs"},
        **({"public_totals": [total]} if neighbours == "replace-one" else {}),
    }  # fmt: skip


def summary(kind: str, outcomes: Sequence[Outcome]) -> str:
    """One row of the table of `HEADINGS`."""
    counted = [each for each in outcomes if each.end == "counted"]
    refused = sum(each.end == "refused" and not each.problem for each in outcomes)
    ratio = max((each.change_l1 / each.sensitivity_l1 for each in counted), default=0)
    wrong = sum(each.problem is not None for each in outcomes)
    return f"| {kind} | {len(outcomes)} | {refused} | {len(counted)} | {ratio:g} | {wrong} |"


HEADINGS = (
    "| sources | cases | refused alike | counted | largest L1 / stated | wrong |\n"
    "|---|---|---|---|---|---|"
)
