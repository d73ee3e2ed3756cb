"""Twenty-two programs that break a promise, each made by altering the real code in one place."""

from __future__ import annotations
import __future__

import importlib
import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import CodeType, FunctionType
from typing import Any

import numpy as np
import pytest

from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler
from synth.noise import stream as stream_module

TABLES = {"tables": [["age", "sex"], ["age", "town"]]}
"""Two tables of one size, so of one law."""
PERSON = {"unit": {"column": "id", "max_records": 2}}
WIDE = {
    "strategy": "sparse",
    "workload": {"marginals": 1, "cells": True},
    "ledger": {"delta_cap": "1/10"},
    "domain": [
        {
            "name": f"c{number}",
            "type": "integer",
            "minimum": 1,
            "maximum": 1000,
            "out_of_domain": "clamp",
            "source": "test",
        }
        for number in range(10)
    ],
}
"""A universe of 10^30 cells: for a list of it, partition selection needs the lower threshold."""

Patch = pytest.MonkeyPatch


@dataclass(frozen=True)
class Mutant:
    """A broken program, the configuration that is audited, and what the audit says of it."""

    break_it: Callable[[Patch], None]
    says: str
    """A part of a sentence of the report."""
    changes: Mapping[str, Any] = field(default_factory=lambda: {"strategy": TABLES})
    units: int = 1
    """Made-up sources hold every subset of so many units, of which a real audit has four; one is
    enough where it is the noise that is broken."""


def alter(place: str, *changes: tuple[str, str]) -> Callable[[Patch], None]:
    """Replace pieces of the source text of a function, everywhere that it is called."""

    def break_it(patch: Patch) -> None:
        module, _, name = place.rpartition(":")
        function = getattr(importlib.import_module(module), name)
        source = textwrap.dedent(inspect.getsource(function))
        for old, new in changes:
            assert source.count(old) == 1, f"{place} does not hold {old!r} once"
            source = source.replace(old, new)
        compiled = compile(source, place, "exec", __future__.annotations.compiler_flag)
        code = next(
            const
            for const in compiled.co_consts
            if isinstance(const, CodeType) and const.co_name == name
        )
        assert isinstance(function, FunctionType)
        patch.setattr(function, "__code__", code)

    return break_it


def all_of(*breaks: Callable[[Patch], None]) -> Callable[[Patch], None]:
    def break_it(patch: Patch) -> None:
        for each in breaks:
            each(patch)

    return break_it


def noise_times(factor: Any) -> Callable[[Patch], None]:
    """The exponential rate of all noise, times a factor."""

    def break_it(patch: Patch) -> None:
        patch.setattr(
            DiscreteLaplace,
            "rate",
            property(lambda law: factor * law.epsilon / law.sensitivity_l1),
        )
        patch.setattr(
            DiscreteGaussian,
            "rate",
            property(lambda law: 2 * factor * law.rho / law.sensitivity_l2_squared),
        )

    return break_it


noise_halved = noise_times(2)


def replacing_taken_for_adding(patch: Patch) -> None:
    patch.setattr("synth.privacy.sensitivity.UNITS_CHANGED", {"add-remove": 1, "replace-one": 1})


def key_fixed(patch: Patch) -> None:
    """Every run has the same noise."""
    patch.setattr(
        NoiseStream, "_encryptor", lambda _, mode: stream_module.encryptor(bytes(32), mode)
    )


def tables_share_noise(patch: Patch) -> None:
    exact = stream_module.counter_block
    patch.setattr(
        stream_module, "counter_block", lambda lane, _table, *others: exact(lane, 0, *others)
    )


def third_table_shares_noise(patch: Patch) -> None:
    exact = stream_module.counter_block
    patch.setattr(
        stream_module,
        "counter_block",
        lambda lane, table, *others: exact(lane, 0 if table == 2 else table, *others),
    )


def cells_share_noise(apart: int) -> Callable[[Patch], None]:
    """Every value of noise is used twice, so many cells apart."""

    def break_it(patch: Patch) -> None:
        exact = TableSampler.add_to

        def add_to(self: TableSampler, counts: Any, stream: NoiseStream, **others: Any) -> None:
            noise = np.zeros(len(counts), dtype=np.int64)
            exact(self, noise, stream, **others)
            cells = np.arange(len(counts))
            counts += noise[cells - apart * (cells // apart % 2)]

        patch.setattr(TableSampler, "add_to", add_to)

    return break_it


def runs_share_noise(patch: Patch) -> None:
    """Every run has the noise of the one two before it."""
    numbers: dict[bytes, int] = {}

    def encryptor(stream: NoiseStream, mode: Any) -> Any:
        number = numbers.setdefault(bytes(stream._key), len(numbers))
        return stream_module.encryptor(bytes([number % 2] * 32), mode)

    patch.setattr(NoiseStream, "_encryptor", encryptor)


COUNT = "synth.curator.counting.tabulate:_cells_of"
COUNTED = 'yield batch.column("word_0").to_numpy(), added'
"""In the small project the cell of a record is (age * 3 + sex) * 3 + town."""
BOUND = "synth.curator.counting.encode:bound_contributions"
MEASURE = "synth.curator.boundary:measure_table"
CHANGES = "changes the counts by"


def also_counted(condition: str, step: int = 0) -> Callable[[Patch], None]:
    """Records whose cell meets a condition are counted again, some cells further."""
    again = (
        f"cells = batch.column('word_0').to_numpy(); yield cells, added; "
        f"yield cells[{condition}] + {step}, np.int64(1)"
    )
    return alter(COUNT, (COUNTED, again))


MUTANTS = {
    "noise halved": Mutant(noise_halved, "guesses by its own noisy count were right"),
    "noise a tenth finer": Mutant(
        noise_times(Fraction(10, 9)), "guesses by its own noisy count were right"
    ),
    "no noise on empty cells": Mutant(
        alter(
            MEASURE,
            (
                "sensitive_counts.consume()\n",
                "sensitive_counts.consume()\n    empty = counts == 0\n",
            ),
            ("    return MeasuredTable(", "    counts[empty] = 0\n    return MeasuredTable("),
        ),
        CHANGES,
        units=4,
    ),
    "a replaced unit taken for an added one": Mutant(
        replacing_taken_for_adding,
        "one record replaced changes the counts by 2 in all, and the plan charges for 1",
        {"strategy": TABLES, "privacy": {"neighbours": "replace-one"}},
        units=2,
    ),
    "a record counted twice": Mutant(
        also_counted("slice(None)"),
        "one record added or removed changes the counts by 2 in all, and the plan charges for 1",
        units=2,
    ),
    "choices ten times finer": Mutant(
        alter(
            "synth.curator.boundary:choose_table",
            ("epsilon=spending.selection.epsilon", "epsilon=10 * spending.selection.epsilon"),
        ),
        "guesses by which table is chosen were right",
        {"strategy": "adaptive"},
    ),
    "delta 18.6 times as large": Mutant(
        alter(
            "synth.noise.mechanism:is_private",
            (
                "changed = law.sensitivity_l1\n",
                "changed = law.sensitivity_l1; delta = min(delta * 93 / 5, 1 - law.alpha)\n",
            ),
        ),
        "units were told of by whether it is listed",
        WIDE | {"privacy": {"delta": "1e-6"}},
    ),
    "a threshold too low by one": Mutant(
        all_of(
            alter(
                "synth.noise.mechanism:threshold_of_delta",
                ("return first_above(\n", "return -1 + first_above(\n"),
            ),
            alter(
                "synth.noise.mechanism:keeps_its_delta",
                ("return is_private(", "return True or is_private("),
            ),
        ),
        "by the law of the noise, and 1e-09 is claimed",
        WIDE | {"privacy": {"delta": "1e-9"}},
    ),
    "persons bounded at one record more": Mutant(
        alter(BOUND, ("record_rank < unit.max_records", "record_rank <= unit.max_records")),
        "one person added or removed changes the counts by 3 in all, and the plan charges for 2",
        {"strategy": TABLES, "privacy": PERSON},
        units=2,
    ),
    "which records stay depends on other persons": Mutant(
        alter(
            BOUND,
            (
                "    hashed = known.person",
                "    everyone = known.person.count().over(ibis.window()).cast('string')\n"
                "    known = known.mutate(everyone=everyone)\n"
                "    words = [known[each.get_name()] for each in words]\n"
                "    hashed = known.everyone + known.person",
            ),
        ),
        CHANGES,
        {"strategy": TABLES, "privacy": PERSON},
        units=2,
    ),
    "records of nobody counted as those of one person": Mutant(
        alter(BOUND, ('table.filter(table.person.notnull() & (table.person != ""))', "table")),
        CHANGES,
        {"strategy": TABLES, "privacy": PERSON},
        units=3,
    ),
    "two tables with the same noise": Mutant(
        tables_share_noise, "guesses by the difference from another table were right"
    ),
    "every run with the same noise": Mutant(
        key_fixed, "guesses by the difference from another run were right"
    ),
    "noise of cell i used again for cell i + 2": Mutant(
        cells_share_noise(2), "signs 2 values apart"
    ),
    "noise of cell i used again for cell i + 100": Mutant(
        cells_share_noise(100), "noise is used twice: "
    ),
    "tables 0 and 2 with the same noise": Mutant(
        third_table_shares_noise,
        "windows of 64 signs",
        {"strategy": {"tables": [*TABLES["tables"], ["sex", "town"]]}},
    ),
    "runs 1 and 3 with the same noise": Mutant(runs_share_noise, "windows of 64 signs"),
    "a record at an edge in two bins": Mutant(
        also_counted("cells // 9 % 5 == 2", step=9), CHANGES, units=2
    ),
    "records out of the domain counted twice": Mutant(
        also_counted("cells // 3 % 3 == 2"), CHANGES, units=2
    ),
    "a table without noise": Mutant(
        alter(MEASURE, ("    sampler.add_to(\n", "    number == 1 or sampler.add_to(\n")),
        "guesses by its own noisy count were right",
    ),
    "later tables with twice their epsilon": Mutant(
        alter(
            MEASURE,
            (
                "noise_law(event)",
                "noise_law(__import__('dataclasses').replace(event, epsilon=2 * event.epsilon)"
                " if number else event)",
            ),
        ),
        "guesses by its own noisy count were right",
    ),
    "filled cells listed without a threshold": Mutant(
        alter(
            "synth.curator.boundary:measure_list",
            ("heavy = noisy >= threshold", "heavy = noisy > -threshold"),
        ),
        "units were told of by whether it is listed",
        WIDE,
    ),
}
