"""Which pairs of columns can be used: what a typical count is, against the noise in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from synth.release.manifest.figures import MARGINAL, Figures
from synth.release.page.summary import Pair, PairSummary, Summary

State = Literal["clear", "blurred", "drowned", "unknown"]
MARKS: dict[State, str] = {"clear": "●", "blurred": "◐", "drowned": "○", "unknown": "?"}
"""What stands beside a colour, for those who do not see it."""

CLEAR = 5
"""So many times its noise (95 %) a typical count of a clear pair is at least."""

MOST_TIMES = 99
SHADES = 10


@dataclass(frozen=True)
class ComparedPair:
    """Two columns, by their numbers, low < high.

    Shapes and units: `half_width` is that of the 95 % interval of one count, in records; None where
    no sum of the noisy tables answers, or nobody asked.
    """

    columns: Pair
    summary: PairSummary
    half_width: int | None

    @property
    def state(self) -> State:
        """How a typical count stands out of the noise."""
        if self.half_width is None:
            return "unknown"
        if self.summary.typical_count < self.half_width:
            return "drowned"
        return "clear" if self._is_clear else "blurred"

    @property
    def _is_clear(self) -> bool:
        return self.summary.typical_count >= CLEAR * (self.half_width or 0)

    @property
    def mark(self) -> str:
        """The sign of its state."""
        return MARKS[self.state]

    @property
    def times(self) -> str:
        """How many times its noise a typical count is; empty where that is not known."""
        if self.half_width is None:
            return ""
        tenths = 10 * self.summary.typical_count // max(1, self.half_width)
        if tenths > 10 * MOST_TIMES:
            return f">{MOST_TIMES}"
        return str(tenths // 10) if tenths >= 100 else f"{tenths // 10}.{tenths % 10}"

    @property
    def shade(self) -> int | None:
        """The colour of its association; None where noise or nobody speaks."""
        association = self.summary.association
        if association is None or self.state in ("drowned", "unknown"):
            return None
        return min(SHADES - 1, int(SHADES * association))

    @property
    def association(self) -> str:
        """Cramer's V with two decimals, or a dash; marked where it has no colour."""
        if self.summary.association is None:
            return "–"
        shown = f"{self.summary.association:.2f}"
        return shown if self.shade is not None else f"{self.mark} {shown}"


Lines = tuple[tuple[ComparedPair, ...], ...]


def compared_pairs(summary: Summary, names: Sequence[str], figures: Sequence[Figures]) -> Lines:
    """The lines of a triangle: `lines[i][j]`, j < i, is about the columns j and i.

    Requires: `names` are those of all columns; figures that are not of two columns are passed over.
    """
    widths = {
        frozenset(each.attributes): each.half_width_95_records
        for each in figures
        if each.kind == MARGINAL and len(each.attributes) == 2
    }
    return tuple(
        tuple(
            ComparedPair((low, high), pair, widths.get(frozenset((names[low], names[high]))))
            for low, pair in enumerate(line)
        )
        for high, line in enumerate(summary.pairs)
    )


def states(lines: Lines) -> list[tuple[str, str, int]]:
    """Mark, state and number of pairs, of the states that there are."""
    found = Counter(pair.state for pair in each_pair(lines))
    return [(mark, state, found[state]) for state, mark in MARKS.items() if found[state]]


def each_pair(lines: Lines) -> Iterator[ComparedPair]:
    """All pairs, line by line."""
    return (pair for line in lines for pair in line)


def most_informative(lines: Lines) -> list[ComparedPair]:
    """Pairs that noise does not drown: clear ones first, then by falling association.

    Of equal ones, as far as digits are sure, the first.
    """
    usable = [pair for pair in each_pair(lines) if pair.shade is not None]
    return sorted(
        usable,
        key=lambda pair: (pair.state != "clear", -round(pair.summary.association or 0, 9)),
    )
