"""Measurements that are added up over periods: noisy nodes, and the cumulative tables of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from synth.measurements.measured import MeasuredTable
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.continual import Factorization, Node

MOST_PERIODS = 1 << 14
"""No series is read that goes on for longer."""


@dataclass(frozen=True)
class ContinualPlan:
    """What a series measures: tables with what each is charged for a horizon, and its nodes.

    Every horizon is measured alike. Periods of the series are numbered from 1 through all of them.
    """

    charged: tuple[TableEvent, ...]
    factorization: Factorization
    counted_hash: str
    """The hash of what decides the counts; see `Config.counted_hash`."""

    @property
    def node_events(self) -> tuple[TableEvent, ...]:
        """The noise of every table in a node."""
        return tuple(map(self.factorization.node_event, self.charged))

    def within(self, index: int) -> int:
        """The number of a period within its horizon, from 1."""
        return (index - 1) % self.factorization.horizon + 1

    def nodes_at(self, index: int) -> tuple[Node, ...]:
        """The nodes that are measured at a period of the series; numbered within the horizon."""
        return self.factorization.nodes_at(self.within(index))

    def places(self, index: int) -> tuple[tuple[int, Node], ...]:
        """All nodes up to a period of the series, each with the period of its measurement."""
        return tuple((at, node) for at in range(1, index + 1) for node in self.nodes_at(at))

    def cumulative_events(self, index: int) -> tuple[TableEvent, ...]:
        """The noise of every table of the counts so far."""
        cycles = (index - 1) // self.factorization.horizon
        return tuple(
            self.factorization.cumulative_event(event, self.within(index), finished_cycles=cycles)
            for event in self.charged
        )


@dataclass(frozen=True, eq=False)
class MeasuredNode:
    """The noisy tables of one node: a weighted sum of periods."""

    index: int
    """The period of the series at which it was measured."""
    node: Node
    """Its periods, numbered within their horizon."""
    tables: tuple[MeasuredTable, ...]
    """One for every table that is charged, in that order."""


@dataclass(frozen=True, eq=False)
class Continual:
    """Everything that a series has measured up to one of its periods.

    Raises: ValueError unless the nodes are those of the plan, in its order.
    """

    plan: ContinualPlan
    index: int
    """The last period, from 1."""
    nodes: tuple[MeasuredNode, ...]

    def __post_init__(self) -> None:
        if [(each.index, each.node) for each in self.nodes] != list(self.plan.places(self.index)):
            raise ValueError("has other nodes than those of its plan")
        events = self.plan.node_events
        if any(tuple(t.event for t in node.tables) != events for node in self.nodes):
            raise ValueError("has a node whose tables have other noise than planned")

    @property
    def charged(self) -> tuple[TableEvent, ...]:
        """What the tables cost for the whole horizon."""
        return self.plan.charged

    def up_to(self, index: int) -> Continual:
        """What had been measured at an earlier period."""
        nodes = tuple(node for node in self.nodes if node.index <= index)
        return Continual(self.plan, index, nodes)

    def cumulative_tables(self) -> tuple[MeasuredTable, ...]:
        """The noisy counts of all records so far, table by table.

        Privacy: post-processing of the nodes.
        """
        within, combine = self.plan.within(self.index), self.plan.factorization.combine
        return tuple(
            MeasuredTable(
                event,
                combine([node.tables[number].noisy_counts for node in self.nodes], within),
                noise_variance(event),
            )
            for number, event in enumerate(self.plan.cumulative_events(self.index))
        )

    def to_plain(self) -> dict[str, Any]:
        """How the charge is spent, and how far; JSON values."""
        return {
            "factorization": self.plan.factorization.to_plain(),
            "counted_hash": self.plan.counted_hash,
            "index": self.index,
        }


def plan_from_plain(plain: Any, charged: tuple[TableEvent, ...]) -> tuple[ContinualPlan, int]:
    """Read the plan and the last period back; raises KeyError, TypeError, ValueError if damaged."""
    if type(plain) is not dict or plain.keys() != {"factorization", "counted_hash", "index"}:
        raise ValueError("does not say how its counts are added up")
    index, counted = plain["index"], plain["counted_hash"]
    if type(counted) is not str or not re.fullmatch("[0-9a-f]{64}", counted):
        raise ValueError("does not say what decided its counts")
    if type(index) is not int or not 1 <= index <= MOST_PERIODS:
        raise ValueError("has a period that no series has")
    if any(event.summed != 1 or event.threshold is not None for event in charged):
        raise ValueError("adds up tables that are not measured whole")
    factorization = Factorization.from_plain(plain["factorization"])
    return ContinualPlan(charged, factorization, counted), index
