"""What must never happen to a list of heavy cells, done on purpose: a named test sees each of it.

As in `test_mutants`: every mutant breaks the product by monkeypatching and runs one test of this
suite, which must fail, and which passes on the product as it is.
"""

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from synth.curator.seal import Sensitive
from synth.noise import mechanism, survivors
from synth.noise.survivors import BelowThreshold
from synth.privacy import accounting

TESTS = Path(__file__).parents[1]
FILES = (
    "exact/test_sparse.py",
    "statistical/policy.py",
    "statistical/test_sparse_fits.py",
    "unit/curator/test_sparse.py",
    "unit/noise/test_survivors.py",
    "unit/planning/conftest.py",
    "unit/planning/test_listed.py",
    "unit/privacy/test_thresholds.py",
)


def load(place: str):
    """A module of tests, before anything is broken and apart from pytest's own copy."""
    name = "sparse_mutant_" + place.replace("/", "_").removesuffix(".py")
    spec = importlib.util.spec_from_file_location(name, TESTS / place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


MODULES = {place: load(place) for place in FILES}


def run(place: str, *arguments, **named) -> None:
    """Run `file::test` with its parameters."""
    file, test = place.split("::")
    getattr(MODULES[file], test)(*arguments, **named)


def exact_list() -> None:
    """The whole law of a list."""
    run(
        "exact/test_sparse.py::test_the_list_has_the_law_of_noise_and_threshold",
        "1",
        1,
        2,
        (0, 2, 0),
    )


def fit() -> None:
    tests = MODULES["statistical/test_sparse_fits.py"]
    policy = MODULES["statistical/policy.py"]
    tests.test_the_list_fits_noise_and_threshold(policy, tests.listed, "1")


def planned_threshold() -> None:
    """`test_the_threshold_ignores_the_records`, with the `configure` of its folder."""
    configure = MODULES["unit/planning/conftest.py"].configure.__wrapped__()
    run("unit/planning/test_listed.py::test_the_threshold_ignores_the_records", configure)


@dataclass(frozen=True)
class Mutant:
    """A way to break the product, and the test that must see it."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    caught_by: Callable[[], None]


def survival_changed(factor: Fraction):
    """Empty cells survive with another probability."""
    exact = BelowThreshold.survival_bounds

    def changed(self, bits):
        low, high = exact(self, bits)
        return int(low * factor), -int(-high * factor // 1)

    return lambda patch: patch.setattr(BelowThreshold, "survival_bounds", changed)


def rank_off_by_one(patch: pytest.MonkeyPatch) -> None:
    """A filled cell just before the empty one is not counted."""

    def cells(ranks, filled):
        every = np.arange(len(filled))
        before = filled[every] - every.astype(object)
        return ranks + np.searchsorted(before, ranks, side="left").astype(object)

    patch.setattr(survivors, "cells_of_ranks", cells)
    patch.setattr("synth.curator.boundary.cells_of_ranks", cells)
    for module in MODULES.values():
        if hasattr(module, "cells_of_ranks"):
            patch.setattr(module, "cells_of_ranks", cells)


def threshold_from_records(patch: pytest.MonkeyPatch) -> None:
    """The threshold of a list depends on how many filled cells there are."""
    tests = MODULES["unit/curator/test_sparse.py"]
    exact = tests.measure_list

    def measure(cells, event, universe, **named):
        filled = cells.consume()
        higher = event.threshold + len(filled.counts) // 2
        return exact(Sensitive(filled), replace(event, threshold=higher), universe, **named)

    patch.setattr(tests, "measure_list", measure)


def values_from_one(patch: pytest.MonkeyPatch) -> None:
    """Survivors begin one above the threshold."""
    exact = survivors.surviving_values
    patch.setattr("synth.curator.boundary.surviving_values", lambda *a, **k: exact(*a, **k) + 1)


def words_shared(patch: pytest.MonkeyPatch) -> None:
    """All uses of a table draw from the same part of the stream, which forgets what it gave."""
    for place in ("synth.noise.survivors", "synth.curator.boundary"):
        patch.setattr(f"{place}.stream_table", lambda number, _: number)
    patch.setattr(MODULES["unit/noise/test_survivors.py"], "stream_table", lambda n, _: n)


def one_cell_only(patch: pytest.MonkeyPatch) -> None:
    """Delta is paid for one cell of a unit, as if it had one record."""

    def is_private(law, *, threshold, delta):
        return mechanism._reaches(law, threshold - 1, delta)

    patch.setattr(mechanism, "is_private", is_private)


def delta_forgotten(patch: pytest.MonkeyPatch) -> None:
    """Partition selection counts as pure."""
    exact = accounting.total_budget

    def total(events, *, delta):
        whole = exact(events, delta=delta)
        return accounting.Budget(whole.epsilon, Fraction(0))

    patch.setattr(MODULES["unit/privacy/test_thresholds.py"], "total_budget", total)


def records_in_the_rule(patch: pytest.MonkeyPatch) -> None:
    """The planner's threshold follows from the number of records."""
    tests = MODULES["unit/planning/test_listed.py"]
    exact = tests.listing_event

    def listing(problem, epsilon, delta):
        event = exact(problem, epsilon, delta)
        return replace(event, threshold=event.threshold + problem.records.bit_length())

    patch.setattr(tests, "listing_event", listing)


SELECTION = "exact/test_sparse.py::test_partition_selection_keeps_its_delta"
SURVIVORS = "unit/noise/test_survivors.py"
MUTANTS = {
    "survivors 1 % too many": Mutant(survival_changed(Fraction(101, 100)), exact_list),
    "survivors 1 % too few": Mutant(survival_changed(Fraction(99, 100)), exact_list),
    "survivors 1 % too few, seen in the bounds": Mutant(
        survival_changed(Fraction(99, 100)),
        partial(run, f"{SURVIVORS}::test_bounds_of_survival_hold", "1", 3, 64),
    ),
    "survivors 10 % too many, seen in the fit": Mutant(survival_changed(Fraction(11, 10)), fit),
    "ranks off by one": Mutant(
        rank_off_by_one, partial(run, f"{SURVIVORS}::test_ranks_map_to_empty_cells")
    ),
    "ranks off by one, seen in the law": Mutant(rank_off_by_one, exact_list),
    "ranks off by one, seen in the list": Mutant(
        rank_off_by_one,
        partial(run, "unit/curator/test_sparse.py::test_a_cell_is_listed_once"),
    ),
    "values off by one": Mutant(values_from_one, fit),
    "threshold from n": Mutant(
        threshold_from_records,
        partial(run, "unit/curator/test_sparse.py::test_the_threshold_ignores_the_records"),
    ),
    "planned threshold from n": Mutant(records_in_the_rule, planned_threshold),
    "words used twice": Mutant(
        words_shared, partial(run, f"{SURVIVORS}::test_every_use_has_its_own_words")
    ),
    "delta for one cell only": Mutant(
        one_cell_only, partial(run, SELECTION, "1", 2, "add-remove", "1/100")
    ),
    "delta forgotten": Mutant(
        delta_forgotten,
        partial(
            run,
            "unit/privacy/test_thresholds.py::test_epsilons_and_deltas_of_selections_add_up",
        ),
    ),
}


@pytest.fixture(autouse=True)
def nothing_is_remembered():
    """Neither what a mutant tabulated, nor what was tabulated before it."""
    caches = survivors._digit_cdf, MODULES["exact/test_sparse.py"].cell_probability
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name):
    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        mutant.break_it(patch)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            mutant.caught_by()


@pytest.mark.parametrize("check", [exact_list, fit, planned_threshold])
def test_the_product_itself_passes(check):
    """The other tests are part of the suite as they are."""
    check()
