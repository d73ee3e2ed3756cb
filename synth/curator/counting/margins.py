"""The sums of the secret counts over every measured table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from synth.curator.sensitive import Sensitive
from synth.domain import Margin, Universe
from synth.errors import BugError
from synth.privacy import TableEvent

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def margins_of(events: Sequence[TableEvent], universe: Universe) -> tuple[Margin, ...]:
    """The tables of the events, checked against the universe before anything is opened.

    Raises: BugError for a table that the universe does not have.
    """
    for event in events:
        if [name for name in universe.names if name in event.table] != list(event.table):
            raise BugError("a planned table is not over attributes of the universe, in its order")
        depths = [universe.attribute(name).depth for name in event.table]
        if not all(0 <= c < d for c, d in zip(event.coarsening, depths, strict=True)):
            raise BugError("a planned table is at a resolution that the universe does not have")
    margins = tuple(Margin(event.table, event.coarsening) for event in events)
    for event, margin in zip(events, margins, strict=True):
        if event.cells != margin.cells(universe):
            raise BugError("a planned table has another number of cells")
    return margins


def margin_counts(
    sensitive_counts: Sensitive[NDArray[np.int64]], margins: Sequence[Margin], universe: Universe
) -> Iterator[tuple[int, Sensitive[NDArray[np.int64]]]]:
    """The number of every margin with its counts, still secret; each array is the taker's own.

    Privacy: exact counts; secret. A record adds 1 to one cell of the universe, and that cell
    belongs to one cell of every margin: so it adds 1 to exactly one cell of each.
    Ensures: the full table comes last, so that the counts are never held twice for its sake.
    Shapes and units: int64, flat in C order over the margin, in records.
    """
    counts = sensitive_counts.consume()
    full = Margin(universe.names, (0,) * len(universe.names))
    order = sorted(range(len(margins)), key=lambda number: margins[number] == full)
    for position, number in enumerate(order):
        if margins[number] != full:
            yield number, Sensitive(margins[number].sums(universe, counts))
        elif position < len(order) - 1:
            yield number, Sensitive(counts.copy())
        else:
            yield number, Sensitive(counts)
