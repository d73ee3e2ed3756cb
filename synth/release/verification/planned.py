"""The measured tables held against those that the configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from synth.config import Config
from synth.measurements import Measurements
from synth.privacy import TableEvent

SPLIT_TOLERANCE = Fraction(1, 2**16)
"""Under other numeric libraries the budget of a table may differ by this part of all that tables
with the same noise get. The planner rounds shares to 2^-20, from a search in floating point."""

OTHER = "lists other events than the configuration asks for"


def plan_findings(
    config: Config,
    planned: tuple[TableEvent, ...],
    measurements: Measurements,
    *,
    other_arithmetic: bool,
) -> Iterator[str]:
    """Every measured table or private choice that the configuration does not ask for.

    `planned` are the events that the planner gives for it. A strategy that does not look at the
    data has one list of tables, in order. `adaptive` starts with its list; each table after it
    must have been up for choice, and be paid for by a choice. That all of them cost no more than
    the configuration allows is checked elsewhere.
    """
    events = tuple(table.event for table in measurements.tables)
    first, later = events[: len(planned)], events[len(planned) :]
    same = first == planned
    if not same and not (other_arithmetic and _alike(first, planned)):
        yield OTHER
        return
    if config.strategy != "adaptive":
        if later:
            yield OTHER
        if measurements.selections:
            yield "lists private choices, and the strategy makes none"
        return
    if len(measurements.selections) < len(later):
        yield f"lists {len(later)} tables beyond the first ones, and fewer choices of them"
    for number, event in enumerate(later, start=len(planned)):
        if not _is_asked_for(config, event):
            yield f"table {number} ({', '.join(event.table)}) lies in no table of the workload"
        if event.mechanism != planned[0].mechanism:
            yield f"table {number} has another mechanism than the first tables"


def _alike(found: Sequence[TableEvent], planned: Sequence[TableEvent]) -> bool:
    """Whether the events are the same but for the last digits of the split of the budget."""
    if len(found) != len(planned):
        return False
    for one, other in zip(found, planned, strict=True):
        if replace(one, epsilon=other.epsilon, rho=other.rho) != other:
            return False
        whole = sum(_budget(event) for event in planned if event.mechanism == other.mechanism)
        if abs(_budget(one) - _budget(other)) > SPLIT_TOLERANCE * whole:
            return False
    return True


def _budget(event: TableEvent) -> Fraction:
    """The epsilon or the rho of an event."""
    return event.epsilon or event.rho or Fraction(0)


def _is_asked_for(config: Config, event: TableEvent) -> bool:
    """Whether one table or set of ranges of the workload has all attributes of the event."""
    workload = config.workload
    asked = [
        *(marginal.attributes for marginal in workload.marginals),
        *(queries.attributes for queries in workload.ranges),
    ]
    return any(set(event.table) <= set(attributes) for attributes in asked)
