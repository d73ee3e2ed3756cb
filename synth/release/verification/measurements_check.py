"""The noisy measurements of a release: their file's footer is looked at before its content.

Of tables that are added up over periods, what every record loses and what the sums hold are
recounted from the weights of the nodes and the noise that is stated of each, without the formulas
by which the noise was planned.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial

import pyarrow as pa

from synth.config import Config
from synth.domain import Margin
from synth.errors import ConfigError
from synth.measurements import Continual, MeasuredLook, Measurements, read_measurements
from synth.measurements.file import ROWS_PER_GROUP, write_tables
from synth.measurements.sparse_table import MOST_LISTED
from synth.noise import noise_variance
from synth.planning import Look, Schedule, plan_look
from synth.planning.costs import forecast_costs, present_memory_bytes
from synth.planning.problem import problem_of
from synth.planning.spending import Spending
from synth.planning.weighing import planned_way, possible_plans
from synth.privacy import (
    SelectionEvent,
    TableEvent,
    sensitivity_l1,
    sensitivity_l2_squared,
)
from synth.privacy.continual import Node
from synth.release.contents import MANIFEST, MEASUREMENTS
from synth.release.manifest.guarantee import charged_budget, promised_budget
from synth.release.verification.findings import Findings
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.parquet_layout import rewriting_findings
from synth.release.verification.trial_reading import Limits, require_readable

MAX_CELLS = 1 << 32
"""No larger table is unpacked."""

LISTED_PER_BYTE = 64
"""A byte of the file holds fewer listed cells than this: each has a place and noise of its own."""

ALWAYS_LISTED = 1 << 20
"""So many listed cells are read however small the file is: with hardly any noise, neighbouring
cells with equal counts take next to nothing."""

FIXED_COLUMNS = 3

SPLIT_TOLERANCE = Fraction(1, 2**16)
"""Under other numeric libraries the budget of a table may differ by this part of all that tables
with the same noise get. The planner rounds shares to 2^-20, from a search in floating point."""

OTHER = "lists other events than the configuration asks for"


def read_measured(
    folder: Folder, config: Config, findings: Findings, *, other_arithmetic: bool
) -> Measurements | None:
    """The measurements, or None if they are not those of the configuration."""
    try:
        look, possible = plan_look(config), possible_plans(config)
    except ConfigError as error:
        findings.found.append(f"{MANIFEST}: configuration: {' '.join(str(error).split())}")
        return None
    needed = max(_memory_bytes(config, way.dearest) for way in possible)
    present = present_memory_bytes()
    if needed > present:
        findings.found.append(
            f"{MANIFEST}: configuration: to rebuild such a release takes roughly "
            f"{needed / 1e9:.1f} GB of memory; this machine has {present / 1e9:.1f} GB"
        )
        return None
    try:
        with folder.open(MEASUREMENTS) as file:
            most = _most_nodes(config)
            require_readable(file, _limits(possible, folder.sizes[MEASUREMENTS], most))
            measurements = read_measurements(file, config.universe)
        if measurements.release_id != config.release.id:
            raise ValueError("belongs to another release")
        if measurements.configuration_hash != config.hash:
            raise ValueError("answers to another configuration than the manifest holds")
        if found := list(look_findings(look, measurements.look)):
            raise ValueError("; ".join(found))
        if found := list(continual_findings(config, measurements)):
            raise ValueError("; ".join(found))
        way = possible[0]
        if measurements.look is not None:
            way = planned_way(config, measurements.look.noisy_counts)
        fits = partial(plan_findings, way, measurements)
        found = list(fits(other_arithmetic=False))
        if is_near := bool(found) and other_arithmetic:
            found = list(fits(other_arithmetic=True))
        if found and is_bound(measurements):
            findings.notes.append(f"{MEASUREMENTS}: the tables are those of the first period")
        elif found:
            raise ValueError("; ".join(found))
        if look is not None and not look.allows(measurements.events_after_look):
            raise ValueError("costs more than was reserved before the look")
        promised = promised_budget(config, measurements)
        spent = charged_budget(config, measurements)
        if spent.epsilon > promised.epsilon or spent.delta > promised.delta:
            raise ValueError("costs more than the configuration promises")
        with folder.open(MEASUREMENTS) as file:
            wrong, told = rewriting_findings(
                file, lambda stream: write_tables(stream, measurements)
            )
    except (ValueError, OSError, pa.ArrowException) as error:
        if isinstance(error, FolderError):
            findings.found.append(str(error))
        else:
            reason = " ".join(str(error).split())
            findings.found.append(f"{MEASUREMENTS}: {reason}")
        return None
    answer = "the measurements answer to the configuration, cell by cell"
    if is_near:
        findings.tolerate(f"{answer}; the budget of their tables is the one planned")
    else:
        findings.checks.append(answer)
    if told:
        findings.notes.append(f"{MEASUREMENTS}: {told}")
    else:
        findings.conclude(
            f"{MEASUREMENTS}: every byte is what writing the measurements again gives",
            [f"{MEASUREMENTS}: {finding}" for finding in wrong],
        )
    return measurements


def _memory_bytes(config: Config, planned: tuple[TableEvent, ...]) -> int:
    """What the publisher's run needed to measure and fit these tables, roughly."""
    problem = problem_of(config)
    return forecast_costs(
        config.universe,
        planned,
        formats=(),
        total=problem.total,
        expected=problem.workload.expected_records,
        replicates=config.output.replicates,
    ).memory_bytes


def is_bound(measurements: Measurements) -> bool:
    """Whether the plan was made for an earlier period, maybe by another version of synth.

    What its tables cost is checked, and that they are tables of the configuration.
    """
    return measurements.continual is not None and measurements.continual.index > 1


def _most_nodes(config: Config) -> int:
    """How many nodes there can be: no factorization has more than two for every period."""
    return 2 * (config.period_index or 1) if config.is_added_up else 1


def _limits(possible: Sequence[Spending], size_bytes: int, most_nodes: int) -> Limits:
    """What a file with the tables of the configuration can hold; after a look, with any of them."""
    limits = [_limits_of(way, size_bytes) for way in possible]
    return Limits(
        min(each.least_rows for each in limits) if most_nodes == 1 else 1,
        min(max(each.most_rows for each in limits) * most_nodes, MAX_CELLS),
        ROWS_PER_GROUP,
        max(each.most_columns for each in limits),
    )


def _limits_of(way: Spending, size_bytes: int) -> Limits:
    """What a file with these tables can hold.

    How many cells a table with a threshold lists, and which were chosen, only the file says: the
    chosen ones have between the cells of the smallest candidates and those of the largest, and
    what is listed takes room. The list of tables is checked against the rows when it is read.
    """
    schedule = way.schedule
    least = most = sum(event.cells for event in way.first if event.threshold is None)
    listing = [event for event in way.first if event.threshold is not None]
    if listing:
        most += min(MOST_LISTED, max(ALWAYS_LISTED, LISTED_PER_BYTE * size_bytes))
    if schedule is not None:
        sizes = sorted(candidate.cells for candidate in schedule.candidates)
        chosen = len(schedule.rounds)
        least, most = least + sum(sizes[:chosen]), most + sum(sizes[len(sizes) - chosen :])
    codes = max((len(event.table) for event in listing), default=0)
    return Limits(least, min(most, MAX_CELLS), ROWS_PER_GROUP, FIXED_COLUMNS + codes)


def look_findings(planned: Look | None, found: MeasuredLook | None) -> Iterator[str]:
    """What is wrong with the look: another one than the configuration asks for, or none."""
    asked = None if planned is None else planned.event
    if (None if found is None else found.event) != asked:
        yield "holds another look at the records than the configuration asks for"


def plan_findings(
    way: Spending,
    measurements: Measurements,
    *,
    other_arithmetic: bool,
) -> Iterator[str]:
    """Every measured table or private choice that the configuration does not ask for.

    `way` is what the planner gives for it, after a look for its noisy counts. Without choices it is
    one list of tables, in order. With a schedule it starts with such a list; then every round has
    one choice and one table. How many rounds there are, what each costs and which tables are
    candidates is known; only which of them was chosen is not.
    """
    planned, schedule = way.first, way.schedule
    added = measurements.continual
    events = measurements.table_events if added is None else added.charged
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


ROUNDING = 1 / 12
"""The most that rounding a weighted sum to whole numbers adds to its variance, about."""
NEAR = 1e-5


def continual_findings(config: Config, measurements: Measurements) -> Iterator[str]:
    """What is wrong with the nodes: others than the series asks for, or noise that is too small."""
    series, added = config.series, measurements.continual
    if series is None or added is None or not config.is_added_up:
        if config.is_added_up or added is not None:
            yield "adds up periods, and the series does not" if added else "adds up no periods"
        return
    if added.index != config.period_index:
        yield f"holds the nodes of {added.index} periods, and the release is of another one"
    if added.plan.counted_hash != config.counted_hash:
        yield "adds up counts that the configuration decided otherwise"
    if added.plan.factorization.horizon != series.horizon:
        yield "adds up periods over another horizon"
    else:
        yield from charge_findings(config, added)
        yield from sum_findings(added, measurements)


def charge_findings(config: Config, added: Continual) -> Iterator[str]:
    """Every table of which all nodes of a horizon cost a unit more than the table is charged."""
    nodes = added.plan.factorization.nodes_until(added.plan.factorization.horizon)
    known: dict[tuple[object, ...], bool] = {}
    for number, (charged, event) in enumerate(
        zip(added.charged, added.plan.node_events, strict=True)
    ):
        key = (charged.noise, event.noise)
        if key not in known:
            known[key] = _costs_too_much(config, nodes, charged, event)
        if known[key]:
            yield f"table {number}: its nodes cost a unit more than the table is charged"


def _costs_too_much(
    config: Config, nodes: tuple[Node, ...], charged: TableEvent, event: TableEvent
) -> bool:
    """Whether the units of some period lose more, pure losses and rhos added up node by node."""
    lost: dict[int, int] = {}
    power = 1 if charged.rho is None else 2
    for node in nodes:
        for period, weight in node.weights:
            lost[period] = lost.get(period, 0) + weight**power
    if charged.rho is None:
        of_one = Fraction(sensitivity_l1(config.privacy)) / event.noise_scale_records
        return max(lost.values()) * of_one > (charged.epsilon or 0)
    of_one = Fraction(sensitivity_l2_squared(config.privacy)) / (2 * event.sigma_squared)
    return max(lost.values()) * of_one > charged.rho


def sum_findings(added: Continual, measurements: Measurements) -> Iterator[str]:
    """Whether the tables of the release count every period once, with the noise that is stated."""
    plan = added.plan
    factorization, within = plan.factorization, plan.within(added.index)
    finished = (added.index - 1) // factorization.horizon
    squares = 0.0
    for cycles, period in ((finished, factorization.horizon), (1, within)):
        nodes, counted = factorization.nodes_until(period), [0.0] * (period + 1)
        for number, weight in factorization.weights_at(period):
            squares += cycles * float(weight) ** 2
            for each, times in nodes[number].weights:
                counted[each] += float(weight) * times
        if any(abs(times - 1) > NEAR for times in counted[1:]):
            yield "has sums that do not count every period once"
    for number, (event, table) in enumerate(
        zip(plan.node_events, measurements.tables, strict=True)
    ):
        least = squares * noise_variance(event)
        if not least * (1 - NEAR) <= table.variance <= least * (1 + NEAR) + ROUNDING + NEAR:
            yield f"table {number}: its noise is not that of its nodes"
