"""Noisy tables that are added up over periods: what every record loses, and what the sums hold.

Recounted from the weights of the nodes and the noise that is stated of each, without the formulas
by which the noise was planned.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from synth.config import Config
from synth.measurements import Continual, Measurements
from synth.noise import noise_variance
from synth.privacy import TableEvent, sensitivity_l1, sensitivity_l2_squared
from synth.privacy.continual import Node

ROUNDING = 1 / 12
"""The most that rounding a weighted sum to whole numbers adds to its variance, about."""
NEAR = 1e-5


def continual_findings(config: Config, measurements: Measurements) -> Iterator[str]:
    """What is wrong with the nodes: others than the series asks for, or noise that is too small."""
    series, added = config.series, measurements.continual
    is_added_up = series is not None and series.is_continual
    if series is None or added is None or not is_added_up:
        if is_added_up or added is not None:
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
