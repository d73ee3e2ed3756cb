"""What must never happen to a whole run, done on purpose: a named test sees each of it.

As in `test_mutants`: every mutant breaks the product by monkeypatching and runs one test of this
suite, which must fail, and which passes on the product as it is. Contributions, counts, noise and
charge are broken here, so most of the tests are those of whole plans.
"""

from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth.bookkeeping import Ledger
from synth.errors import BugError
from synth.job import pipeline
from tests import conftest as fixtures
from tests.exact.broken_runs import (
    a_cap_that_warns,
    charged_for,
    composed_of,
    counted_narrow,
    dearest,
    deletion_unchecked,
    error_with_its_cause,
    filled_cells_first,
    finer_noise,
    key_that_stays,
    narrow_sums,
    noise_by_the_data,
    one_record_more,
    one_unit_changed,
    read_back_narrow,
    without_bound,
    without_choices,
)
from tests.exact.test_whole_plans import GAUSSIAN, PURE, check_choices, check_gaussian, check_pure
from tests.exact.toy_runs import ONES, ZEROS
from tests.forgotten_plans import forget_plans
from tests.secrecy import test_canaries
from tests.unit.bookkeeping import conftest as fixtures_of_ledger
from tests.unit.bookkeeping import test_reservation
from tests.unit.curator import test_margins, test_measuring, test_sparse
from tests.unit.measurements import test_count_column
from tests.unit.noise import test_stream

pytestmark = pytest.mark.xdist_group("toy runs")

Directory = Path
Check = Callable[[Directory], None]


def run(test: Callable[..., None], *arguments: object) -> Check:
    """A test of a module, with its parameters."""
    return lambda _directory: test(*arguments)


def patched(test: Callable[..., None], *arguments: object) -> Check:
    """A test that patches something itself, which ends with it."""

    def check(_directory: Directory) -> None:
        with pytest.MonkeyPatch.context() as patch:
            test(patch, *arguments)

    return check


ONE_RECORD = ((), ((ZEROS,),))
ANOTHER_RECORD = (((ZEROS,),), ((ONES,),))
ONE_PERSON = ((), ((ZEROS,) * 3,))


def pure(directory: Directory) -> None:
    check_pure(directory, PURE["tables"], ONE_RECORD)


def people(directory: Directory) -> None:
    check_pure(directory, PURE["tables, people"], ONE_PERSON, counted_anew=True)


def gaussian(directory: Directory) -> None:
    check_gaussian(directory, GAUSSIAN["auto"], ONE_RECORD)


def replaced(directory: Directory) -> None:
    check_gaussian(directory, GAUSSIAN["tables, replace-one"], ANOTHER_RECORD)


def over_the_cap(directory: Directory) -> None:
    """`test_a_charge_over_the_cap_...`, with the fixtures of its folder."""
    test = test_reservation.test_a_charge_over_the_cap_by_a_hair_is_refused_and_leaves_no_trace
    with Ledger.open(directory / "ledger.sqlite") as ledger:
        test(ledger, fixtures_of_ledger.reserve.__wrapped__(ledger))


def moved_by_others(directory: Directory) -> None:
    """`test_a_file_that_somebody_moved_is_not_called_deleted`, with its fixtures."""
    tests, project = test_measuring.TestDisposal(), fixtures.project.__wrapped__(directory)
    source = test_measuring.TestDisposal.source.__wrapped__(tests, project)
    tests.test_a_file_that_somebody_moved_is_not_called_deleted(source, directory)


def failure_in_the_middle(directory: Directory) -> None:
    """`test_the_scrubbed_error_keeps_no_reference_to_what_was_read`, without the self-test."""
    project = fixtures.project.__wrapped__(directory)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "passed_self_tests", lambda: ())
        test_canaries.test_the_scrubbed_error_keeps_no_reference_to_what_was_read(
            project, patch, fixtures.RecordedLog()
        )


@dataclass(frozen=True)
class Mutant:
    """A way to break the product, the test that must see it, and how the test fails."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    caught_by: Check
    failing_with: type[BaseException] = AssertionError
    replans: bool = False


MUTANTS = {
    "no bound on the records of a person": Mutant(without_bound, people),
    "a record too many of a person": Mutant(one_record_more, people),
    "tables summed in 32 bits": Mutant(
        narrow_sums, run(test_margins.test_sums_beyond_32_bits_are_exact)
    ),
    "runs counted in 32 bits": Mutant(counted_narrow, pure, BugError),
    "noisy counts read back in 32 bits": Mutant(
        read_back_narrow,
        patched(
            test_count_column.test_a_long_column_is_as_wide_as_its_widest_count,
            [2**31, 0, 0],
            np.int64,
            1,
        ),
    ),
    "a table that is not charged": Mutant(charged_for(lambda events: events[:-1]), pure),
    "a Gaussian table that is not charged": Mutant(
        charged_for(lambda events: events[:-1]), gaussian
    ),
    "the dearest table charged alone": Mutant(charged_for(dearest), pure),
    "the dearest Gaussian table charged alone": Mutant(charged_for(dearest), gaussian),
    "choices that are not charged": Mutant(charged_for(without_choices), check_choices),
    "a composition without its last table": Mutant(
        composed_of(lambda events: events[:-1], recounted_so=False), pure, BugError
    ),
    "a composition of the dearest table": Mutant(
        composed_of(dearest, recounted_so=False), pure, BugError
    ),
    "a Gaussian composition of the dearest table": Mutant(
        composed_of(dearest, recounted_so=False), gaussian, BugError
    ),
    "a composition without its last table, recounted so": Mutant(
        composed_of(lambda events: events[:-1], recounted_so=True), pure
    ),
    "a composition without choices, recounted so": Mutant(
        composed_of(without_choices, recounted_so=True), check_choices
    ),
    "noise 0.1 % finer than charged": Mutant(finer_noise(Fraction(1001, 1000)), pure),
    "Gaussian noise 0.1 % finer than charged": Mutant(finer_noise(Fraction(1001, 1000)), gaussian),
    "noise that follows the data": Mutant(noise_by_the_data, pure),
    "replace-one taken for add-remove, in whole plans": Mutant(
        one_unit_changed, replaced, replans=True
    ),
    "a cap that only warns": Mutant(a_cap_that_warns, over_the_cap),
    "filled cells listed first": Mutant(
        filled_cells_first,
        run(test_sparse.test_the_list_is_what_the_slow_definition_gives, 1, 0),
    ),
    "a key that is not wiped": Mutant(key_that_stays, run(test_stream.test_closing_wipes_the_key)),
    "an error that keeps its cause": Mutant(error_with_its_cause, failure_in_the_middle),
    "deletion claimed unchecked": Mutant(deletion_unchecked, moved_by_others),
}


@contextmanager
def nothing_remembered(mutant: Mutant):
    """Forget plans made before a mutant of the planner, and those that it makes."""
    if mutant.replans:
        forget_plans()
    yield
    if mutant.replans:
        forget_plans()


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_caught(tmp_path, name):
    mutant = MUTANTS[name]
    with pytest.MonkeyPatch.context() as patch, nothing_remembered(mutant):
        mutant.break_it(patch)
        with pytest.raises((mutant.failing_with, pytest.fail.Exception)):
            mutant.caught_by(tmp_path)


@pytest.mark.parametrize("check", [pure, people, gaussian, replaced, over_the_cap, moved_by_others])
def test_the_product_itself_passes(tmp_path, check):
    """The other tests are part of the suite as they are."""
    check(tmp_path)
