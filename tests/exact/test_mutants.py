"""What must never happen to the noise, done on purpose: a named test sees each of it.

Every mutant breaks the product by monkeypatching and runs one test of this suite, which must
fail. That the same test passes on the product as it is, is checked here as well.
"""

import importlib.util
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from synth.config import PersonUnit, PrivacyConfig
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler
from synth.noise import discrete_laplace as laplace_module
from synth.noise import stream as stream_module
from synth.noise.quantile_table import QuantileTable

TESTS = Path(__file__).parents[1]
FILES = (
    "exact/test_alpha.py",
    "exact/test_gaussian.py",
    "exact/test_table_masses.py",
    "exact/test_toy_privacy.py",
    "statistical/policy.py",
    "statistical/test_gaussian_fits.py",
    "statistical/test_noise_fits.py",
    "unit/noise/test_discrete_gaussian.py",
    "unit/noise/test_discrete_laplace.py",
    "unit/noise/test_selection.py",
    "unit/noise/test_sampler.py",
    "unit/noise/test_stream.py",
)


def load(place: str):
    """A module of tests, before anything is broken and apart from pytest's own copy."""
    name = "mutant_" + place.replace("/", "_").removesuffix(".py")
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


def masses(epsilon: str, sensitivity: int = 1) -> None:
    """`test_table_masses` on a table that is built now, under the mutant."""
    tests = MODULES["exact/test_table_masses.py"]
    law = tests.plain(epsilon, sensitivity)
    table = QuantileTable(law)
    tests.check_masses(table, tests.ExactGeometric(law.alpha, len(table.lower) + 2))


def draws_of(epsilon: str) -> None:
    run("unit/noise/test_sampler.py::test_draws_are_what_the_slow_definition_gives", epsilon)


def fit_of(epsilon: str) -> None:
    """`test_noise_fits_its_law` at the sample size that the policy derives."""
    policy = MODULES["statistical/policy.py"]
    tests = MODULES["statistical/test_noise_fits.py"]
    rate = float(Fraction(epsilon))
    size = policy.sample_size(tests.laplace_cdf(rate), tests.reach(rate), tests.alternatives(rate))
    tests.test_noise_fits_its_law(policy, lambda _: size, epsilon)


def gaussian_masses() -> None:
    """`test_gaussian` on a table that is built now, under the mutant."""
    MODULES["exact/test_gaussian.py"].check_table(DiscreteGaussian(Fraction(1, 18), 1))


def gaussian_fit() -> None:
    policy = MODULES["statistical/policy.py"]
    run("statistical/test_gaussian_fits.py::test_noise_fits_its_law", policy, "3")


def toy_privacy(relation: str, unit) -> None:
    claim = PrivacyConfig(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbours=relation,
        unit=unit,
        justification="a test",
    )
    run(
        "exact/test_toy_privacy.py::"
        "test_every_output_of_every_neighbouring_pair_of_one_or_two_cells",
        claim,
    )


ALPHA = "exact/test_alpha.py::test_alpha_is_the_next_dyadic_number_above_the_exponential"
LOSS = "exact/test_alpha.py::test_the_true_loss_never_exceeds_the_claim_and_hardly_falls_short"
EPSILON_REFUSED = (
    "unit/noise/test_discrete_laplace.py::test_an_epsilon_that_is_no_exact_fraction_is_refused"
)
ZERO_REFUSED = (
    "unit/noise/test_discrete_laplace.py::test_an_epsilon_that_is_not_positive_is_refused"
)
OWN_NOISE = "unit/noise/test_sampler.py::test_tables_and_keys_have_their_own_noise"
COUNTERS = "unit/noise/test_stream.py::test_the_running_stream_is_the_blocks_in_order"
KEYS_DIFFER = "unit/noise/test_stream.py::test_streams_of_the_operating_system_differ"
DRAWN_ONCE = "unit/noise/test_sampler.py::test_noise_is_drawn_once"


@dataclass(frozen=True)
class Mutant:
    """One way to break the noise, and the test that sees it."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    caught_by: Callable[[], None]


def change_alpha(change: Callable[[Fraction], Fraction]):
    exact = laplace_module.exponential_rounded_up

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(laplace_module, "exponential_rounded_up", lambda rate: change(exact(rate)))

    return apply


def rounded_down(alpha: Fraction) -> Fraction:
    return alpha - Fraction(1, alpha.denominator)


def change_counter(**fixed):
    """Leave a field of the counter block out of account."""
    exact = stream_module.counter_block

    def counter_block(lane, table, round_number, index):
        fields = {"lane": lane, "table": table, "round_number": round_number, "index": index}
        return exact(**{**fields, **fixed})

    return lambda patch: patch.setattr(stream_module, "counter_block", counter_block)


def float_noise(patch: pytest.MonkeyPatch) -> None:
    """Rounded samples of the continuous law, from numpy."""

    def build(self, distribution) -> None:
        self.scale = float(1 / distribution.rate)

    def draw(self, stream, *, table, start, count, **_):
        stream.claim(table, start, count)
        generator = np.random.default_rng([table, start])
        return np.rint(generator.laplace(0, self.scale, count)).astype(np.int64)

    patch.setattr(TableSampler, "__init__", build)
    patch.setattr(TableSampler, "draw", draw)


def float_values(patch: pytest.MonkeyPatch) -> None:
    exact = TableSampler.draw
    patch.setattr(TableSampler, "draw", lambda *a, **k: exact(*a, **k).astype(float))


def accept_anything(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(DiscreteLaplace, "__post_init__", lambda _: None)


def halved_sensitivity(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(
        DiscreteLaplace, "rate", property(lambda law: 2 * law.epsilon / law.sensitivity_l1)
    )


def forgotten_factor(patch: pytest.MonkeyPatch) -> None:
    """Replace-one counted as one change."""
    patch.setattr("synth.privacy.sensitivity.UNITS_CHANGED", {"add-remove": 1, "replace-one": 1})


def forgotten_records(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("synth.privacy.sensitivity._records_per_unit", lambda _: 1)


def sign_bias(buckets: int):
    """Some buckets of the value -1 give +1."""
    build = QuantileTable.__init__

    def biased(self, law, step=1) -> None:
        build(self, law, step)
        self.values[np.flatnonzero(self.values == -step)[:buckets]] = step

    return lambda patch: patch.setattr(QuantileTable, "__init__", biased)


def undecided_taken_as_lower(patch: pytest.MonkeyPatch) -> None:
    """The refinement is left out: an undecided bucket gives the least of its values."""

    def refine(self, buckets, *_):
        keys = buckets.astype(np.uint64) << np.uint64(48)
        return self.step * (np.searchsorted(self.lower, keys, side="right") + self.first)

    patch.setattr(QuantileTable, "refine", refine)


def words_shared_by_lanes(patch: pytest.MonkeyPatch) -> None:
    """The refinement reads the words that chose the bucket."""
    exact = NoiseStream.blocks

    def blocks(self, *, lane, table, round_number, indices):
        return exact(
            self, lane=lane - 1, table=table, round_number=round_number, indices=indices // 8
        )

    patch.setattr(NoiseStream, "blocks", blocks)


def fixed_key(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(os, "urandom", lambda size: bytes(size))


def claims_forgotten(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NoiseStream, "claim", lambda *_: None)


def change_rate(change: Callable[[DiscreteGaussian], Fraction]):
    return lambda patch: patch.setattr(DiscreteGaussian, "rate", property(change))


def cut_off_support(patch: pytest.MonkeyPatch) -> None:
    """No noise beyond ten sigma: what is left out is charged to the ends."""
    exact = DiscreteGaussian.cdf_bounds

    def cdf_bounds(self, value, bits):
        reach = 10 * int(self.sigma_squared**0.5)
        if abs(value) >= reach:
            return (0, 0) if value < 0 else (1 << bits, 1 << bits)
        return exact(self, value, bits)

    patch.setattr(DiscreteGaussian, "cdf_bounds", cdf_bounds)


def unnormalised_choice(patch: pytest.MonkeyPatch) -> None:
    """Every candidate is taken on its turn, whatever its score."""
    patch.setattr("synth.noise.selection.is_taken", lambda *_: True)


def support() -> None:
    """`test_the_support_is_not_cut_off`, on a table that is built now."""
    tests = MODULES["exact/test_gaussian.py"]
    law = DiscreteGaussian(Fraction(1, 2), 1)
    tests.MASSES.test_the_ends_of_the_law_are_reached_by_more_words((QuantileTable(law), None))


MUTANTS = {
    "Gaussian rate one part in a million too large": Mutant(
        change_rate(lambda law: law.rho / law.sensitivity_l2_squared * Fraction(10**6 + 1, 10**6)),
        gaussian_masses,
    ),
    "Gaussian of half the variance": Mutant(
        change_rate(lambda law: 2 * law.rho / law.sensitivity_l2_squared), gaussian_fit
    ),
    "Gaussian sensitivity not squared": Mutant(
        change_rate(lambda law: law.rho),
        partial(run, "unit/noise/test_discrete_gaussian.py::test_sigma_is_exact", "1/3", 32),
    ),
    "Gaussian noise cut off at ten sigma": Mutant(cut_off_support, support),
    "Gaussian without refinement": Mutant(undecided_taken_as_lower, gaussian_masses),
    "choices that ignore the scores": Mutant(
        unnormalised_choice,
        partial(run, "unit/noise/test_selection.py::test_a_far_better_candidate_is_chosen"),
    ),
    "alpha rounded down": Mutant(change_alpha(rounded_down), partial(run, ALPHA, Fraction(1))),
    "alpha rounded down, seen in the loss": Mutant(
        change_alpha(rounded_down), partial(run, LOSS, Fraction(1))
    ),
    "alpha rounded down, seen in privacy": Mutant(
        change_alpha(rounded_down), partial(toy_privacy, "add-remove", "record")
    ),
    "alpha 1 % too small": Mutant(
        change_alpha(lambda alpha: alpha * Fraction(99, 100)),
        partial(toy_privacy, "add-remove", "record"),
    ),
    "alpha 1 % too large": Mutant(
        change_alpha(lambda alpha: alpha * Fraction(101, 100)), partial(run, ALPHA, Fraction(1))
    ),
    "scale 10 % too small": Mutant(
        lambda patch: patch.setattr(
            DiscreteLaplace, "rate", property(lambda law: law.epsilon * Fraction(10, 9))
        ),
        partial(fit_of, "1"),
    ),
    "noise reused across tables": Mutant(change_counter(table=0), partial(run, OWN_NOISE)),
    "counters without the table": Mutant(change_counter(table=0), partial(run, COUNTERS)),
    "counters without the lane": Mutant(change_counter(lane=0), partial(run, COUNTERS)),
    "refinement from the same words": Mutant(words_shared_by_lanes, partial(draws_of, "0.1")),
    "float noise, rounded": Mutant(float_noise, partial(fit_of, "1")),
    "float noise, rounded, seen in the draws": Mutant(float_noise, partial(draws_of, "1")),
    "noise as floats": Mutant(float_values, partial(draws_of, "1")),
    **{
        f"falsy epsilon {epsilon!r}": Mutant(
            accept_anything, partial(run, EPSILON_REFUSED, epsilon)
        )
        for epsilon in (0, 0.0, False, None, "")
    },
    "epsilon 0 as a fraction": Mutant(accept_anything, partial(run, ZERO_REFUSED, "0")),
    "halved sensitivity": Mutant(halved_sensitivity, partial(toy_privacy, "add-remove", "record")),
    "replace-one taken for add-remove": Mutant(
        forgotten_factor, partial(toy_privacy, "replace-one", "record")
    ),
    "persons taken for records": Mutant(
        forgotten_records, partial(toy_privacy, "add-remove", PersonUnit("person", 2))
    ),
    "sign bias of one bucket": Mutant(sign_bias(1), partial(masses, "1")),
    "sign bias of many buckets": Mutant(sign_bias(1000), partial(fit_of, "1")),
    "no refinement": Mutant(undecided_taken_as_lower, partial(masses, "1")),
    "no refinement, seen in the draws": Mutant(undecided_taken_as_lower, partial(draws_of, "1")),
    "fixed key": Mutant(fixed_key, partial(run, KEYS_DIFFER)),
    "cells drawn twice": Mutant(claims_forgotten, partial(run, DRAWN_ONCE)),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(name):
    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch:
        mutant.break_it(patch)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            mutant.caught_by()


@pytest.mark.parametrize("name", MUTANTS)
def test_the_product_itself_passes(name):
    MUTANTS[name].caught_by()
