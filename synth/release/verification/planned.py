"""The measured tables held against those that the configuration asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction

from synth.domain import Margin
from synth.measurements import Measurements
from synth.plan import Schedule
from synth.privacy import SelectionEvent, TableEvent

SPLIT_TOLERANCE = Fraction(1, 2**16)
"""Under other numeric libraries the budget of a table may differ by this part of all that tables
with the same noise get. The planner rounds shares to 2^-20, from a search in floating point."""

OTHER = "lists other events than the configuration asks for"


def plan_findings(
    planned: tuple[TableEvent, ...],
    schedule: Schedule | None,
    measurements: Measurements,
    *,
    other_arithmetic: bool,
) -> Iterator[str]:
    """Every measured table or private choice that the configuration does not ask for.

    `planned` are the events that the planner gives for it. A strategy that does not look at the
    data has one list of tables, in order, and no schedule. An adaptive one starts with its list;
    then every round has one choice and one table. How many rounds there are, what each costs and
    which tables are candidates follows from the configuration; only which of them was chosen does
    not.
    """
    events = tuple(table.event for table in measurements.tables)
    first, later = events[: len(planned)], events[len(planned) :]
    same = first == planned
    if not same and not (other_arithmetic and _alike(first, planned)):
        yield OTHER
    elif schedule is None:
        if later:
            yield OTHER
        if measurements.selections:
            yield "lists private choices, and the strategy makes none"
    else:
        yield from _round_findings(schedule, later, measurements.selections)


def _round_findings(
    schedule: Schedule, later: Sequence[TableEvent], selections: Sequence[SelectionEvent]
) -> Iterator[str]:
    """Every choice, and every chosen table, that is not as the schedule has it."""
    if tuple(selections) != tuple(each.selection for each in schedule.rounds):
        yield "lists other private choices than the configuration asks for"
    if len(later) != len(schedule.rounds):
        yield f"lists {len(later)} chosen tables, and there were {len(schedule.rounds)} choices"
        return
    left = list(schedule.candidates)
    for number, (event, spending) in enumerate(
        zip(later, schedule.rounds, strict=True), start=len(schedule.first)
    ):
        margin = Margin(event.table, event.coarsening)
        chosen = next((each for each in left if each.margin == margin), None)
        if chosen is None:
            yield f"table {number} ({', '.join(event.table)}) was not up for choice, or twice"
        elif event != spending.event(chosen):
            yield f"table {number} ({', '.join(event.table)}) has other noise than was paid for"
        else:
            left.remove(chosen)


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
