"""Real runs of whole plans on toy data, in which the noise is noted instead of drawn.

What a run would publish is then known exactly: for every measured table the law of its noise and
the counts that it is added to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations_with_replacement
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth import curator
from synth.bookkeeping import Ledger
from synth.config import Config, load_config
from synth.config.source_files import source_files
from synth.curator import boundary, measuring
from synth.curator.boundary import measure_list
from synth.curator.seal import Sensitive
from synth.job import pipeline
from synth.measurements import SelfTest
from synth.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    NoiseStream,
    TableSampler,
    noise_law,
    permute_and_flip,
)
from synth.planning import plan_events, plan_look, plan_schedule
from synth.privacy import Budget, PrivacyEvent
from tests.conftest import SMALL, RecordedLog, merged

COLUMNS = "abcdef"
ZEROS, ONES, MIXED = "000000", "111111", "010101"
"""Records; the first two differ in every column, so that both change a cell of every table."""

Unit = tuple[str, ...]
"""The records of one unit."""
Data = tuple[Unit, ...]
Table = tuple[DiscreteLaplace | DiscreteGaussian, tuple[int, ...]]
"""A measured table: the law of its noise, and its exact counts."""

RECORDS: tuple[Data, ...] = tuple(
    data
    for size in range(3)
    for data in combinations_with_replacement([(ZEROS,), (ONES,), (MIXED,)], size)
)
"""Every table of up to two of the three records."""
PEOPLE: tuple[Data, ...] = (
    (),
    ((ZEROS, ZEROS),),
    ((ZEROS, ONES),),
    ((ZEROS,) * 3,),
    ((MIXED, ONES, ONES),),
    ((MIXED,), (ZEROS,) * 3),
)
"""One person or two, with up to three records each, of which two count."""


@dataclass(frozen=True)
class Plan:
    """What a configuration asks for.

    `most` is the most records of a person, None for records; `order` that of the workload; of the
    `levels` of a column only the first two are found in toy data. So many records are `expected`
    that there is no look.
    """

    strategy: Any
    epsilon: str
    delta: str = "0"
    neighbours: str = "add-remove"
    most: int | None = None
    order: int = 1
    levels: int = 2
    expected: int | None = None

    @property
    def data(self) -> tuple[Data, ...]:
        """All toy data of its unit."""
        return RECORDS if self.most is None else PEOPLE


def are_neighbours(one: Data, other: Data, relation: str) -> bool:
    """By the definition of the relation, from the units themselves."""
    lost, gained = Counter(one) - Counter(other), Counter(other) - Counter(one)
    apart = sorted((lost.total(), gained.total()))
    return apart == ([0, 1] if relation == "add-remove" else [1, 1])


def configuration(directory: Path, plan: Plan) -> Config:
    """A project of this plan."""
    levels = [str(level) for level in range(plan.levels)]
    columns = [
        {"name": name, "type": "categorical", "levels": levels, "out_of_domain": "1"}
        for name in COLUMNS
    ]
    changes: dict[str, Any] = {
        "domain": [{**column, "source": "made up"} for column in columns],
        "privacy": {
            "epsilon": plan.epsilon,
            "delta": plan.delta,
            "neighbours": plan.neighbours,
            "unit": "record" if plan.most is None else {"column": "id", "max_records": plan.most},
        },
        "ledger": {"epsilon_cap": 100, "delta_cap": "1e-2"},
        "public_totals": [{"where": {}, "total": 1000, "source": "the planner alone reads it"}],
        "workload": {"marginals": plan.order, "cells": False}
        | ({"expected_records": plan.expected} if plan.expected else {}),
        "strategy": plan.strategy,
    }
    if plan.neighbours == "add-remove":
        del changes["public_totals"]
    path = directory / "toy.yaml"
    path.write_text(json.dumps(merged(SMALL, changes)))  # JSON is YAML
    return load_config(path)


def write_source(directory: Path, data: Data) -> None:
    lines = [",".join(["id", *COLUMNS])]
    for person, records in enumerate(data):
        lines += [",".join([f"p{person}", *record]) for record in records]
    (directory / "people.csv").write_text("\n".join(lines) + "\n")


@dataclass
class Noted:
    """The tables that a run measures, by their part of the stream, and what its choices cost."""

    tables: dict[int, Table] = field(default_factory=dict)
    choices: list[Fraction] = field(default_factory=list)
    kinds: set[np.dtype[Any]] = field(default_factory=set)
    look: tuple[int, ...] = ()
    """What a look says, whatever the records are."""

    def in_order(self) -> tuple[Table, ...]:
        return tuple(self.tables[number] for number in sorted(self.tables))

    def sampler(self, law: Any) -> Any:
        """In place of the sampler of a law."""
        noted = self

        class Sampler:
            def add_to(self, counts: Any, stream: NoiseStream, *, table: int, **_: Any) -> None:
                stream.claim(table, 0, len(counts))
                noted.kinds.add(counts.dtype)
                noted.tables[table] = law, tuple(map(int, counts))
                if table == boundary.LOOK_NUMBER:
                    counts[:] = noted.look

            def draw(self, stream: NoiseStream, **named: Any) -> Any:
                return TableSampler(law).draw(stream, **named)

        return Sampler()

    def listed(self, cells: Any, event: Any, universe: Any, *, number: int, **named: Any) -> Any:
        """In place of the list of heavy cells: a table of every cell, then the list itself."""
        found = cells.consume()
        counts = np.zeros(universe.shape, dtype=np.int64)
        counts[found.columns] = found.counts
        self.tables[number] = noise_law(event), tuple(map(int, counts.ravel()))
        return measure_list(Sensitive(found), event, universe, number=number, **named)

    def choose(self, scores: Any, *, epsilon: Fraction, **named: Any) -> int:
        """In place of the mechanism of private choices, which then chooses."""
        self.choices.append(epsilon)
        return permute_and_flip(scores, epsilon=epsilon, **named)


_counted: dict[tuple[Any, bytes], Any] = {}
"""The counts of each toy table, which plans have in common."""


@contextmanager
def noted_noise(
    *, counted_anew: bool = False, look: tuple[int, ...] = (), noted: Noted | None = None
) -> Iterator[Noted]:
    """Note the noise; every table of records is counted once, for all plans of one unit."""
    exact = measuring.tabulate
    noted = Noted(look=look) if noted is None else noted

    def tabulate(
        config: Config, source: Any, files: Sequence[Path], scratch: Path, **of: Any
    ) -> Any:
        if counted_anew:
            return exact(config, source, files, scratch, **of)
        key = (config.universe, config.privacy.unit, *of.values()), files[0].read_bytes()
        if key not in _counted:
            _counted[key] = exact(config, source, files, scratch, **of).consume()
        return Sensitive(deepcopy(_counted[key]))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundary, "TableSampler", noted.sampler)
        patch.setattr(measuring, "tabulate", tabulate)
        patch.setattr(measuring, "measure_list", noted.listed)
        patch.setattr(boundary, "permute_and_flip", noted.choose)
        patch.setattr(pipeline, "passed_self_tests", lambda: (SelfTest("not run", True),))
        yield noted


@dataclass(frozen=True)
class Runs:
    """What was charged for a plan, and what every toy table would get for it."""

    charge: Budget
    events: tuple[PrivacyEvent, ...]
    tables: dict[Data, tuple[Table, ...]]


def run(
    directory: Path,
    plan: Plan,
    data: Sequence[Data],
    *,
    counted_anew: bool = False,
    look: tuple[int, ...] = (),
) -> Runs:
    """Measure all of `data`: the first one as a job does, with its charge in a ledger.

    `look`: the noisy counts that the look of the plan has, if it has one, whatever the records are.
    """
    config = configuration(directory, plan)
    assert config.source is not None
    assert plan_schedule(config) is None, "not a plan of fixed tables"
    found: dict[Data, tuple[Table, ...]] = {}
    for number, each in enumerate(data):
        write_source(directory, each)
        with noted_noise(counted_anew=counted_anew, look=look) as noted:
            if number:
                curator.measure(
                    config,
                    config.source,
                    plan_look(config) or plan_events(config),
                    files=source_files(config.source),
                    stream=NoiseStream(key=bytes(32)),
                    directory=directory,
                    plan_after=lambda look: plan_events(config, look.noisy_counts),
                )
            else:
                pipeline.measure(config, log=RecordedLog())
        assert noted.kinds == {np.dtype(np.int64)}, "counts of records could overflow"
        found[each] = noted.in_order()
    return Runs(*charged(config), found)


def run_with_choices(directory: Path, plan: Plan, data: Data) -> tuple[Budget, Noted]:
    """Measure `data` as a job does; what is charged, and what was measured and chosen."""
    config = configuration(directory, plan)
    assert plan_schedule(config) is not None, "not a plan with choices"
    write_source(directory, data)
    with noted_noise() as noted:
        pipeline.measure(config, log=RecordedLog())
    return charged(config)[0], noted


def charged(config: Config) -> tuple[Budget, tuple[PrivacyEvent, ...]]:
    """What the ledger says of the only run in it."""
    assert config.ledger is not None
    with Ledger.open_existing(config.ledger.path) as ledger:
        position = ledger.position(config.ledger.population)
    return position.spent, position.runs[-1].tables
