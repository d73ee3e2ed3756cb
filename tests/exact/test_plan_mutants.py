"""What must never happen to a whole run, done on purpose: a named test sees each of it.

As in `test_mutants`: every mutant breaks the product by monkeypatching and runs one test of this
suite, which must fail, and which passes on the product as it is. Contributions, counts, noise and
charge are broken here, so most of the tests are those of whole plans.
"""

from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth.curator import boundary, disposal, measuring, sparse_boundary, tabulate
from synth.domain import Margin
from synth.errors import BugError
from synth.ledger import Ledger
from synth.measurements import count_column
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, table_sampler
from synth.plan.choice import choose
from synth.privacy import PrivacyEvent, SelectionEvent
from synth.privacy.accounting import total_budget
from tests import conftest as fixtures
from tests.engines import test_files
from tests.exact.test_whole_plans import GAUSSIAN, PURE, check_choices, check_gaussian, check_pure
from tests.exact.toy_runs import ONES, ZEROS
from tests.unit.curator import test_measuring, test_narrow_counts, test_sparse
from tests.unit.ledger import conftest as fixtures_of_ledger
from tests.unit.ledger import test_reservation
from tests.unit.measurements import test_count_column
from tests.unit.noise import test_stream, test_threads

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


@dataclass(frozen=True)
class Mutant:
    """A way to break the product, the test that must see it, and how the test fails."""

    break_it: Callable[[pytest.MonkeyPatch], None]
    caught_by: Check
    failing_with: type[BaseException] = AssertionError
    replans: bool = False


def without_bound(patch: pytest.MonkeyPatch) -> None:
    """All records of a person count."""
    patch.setattr(tabulate, "bound_contributions", lambda table, _: table)


def one_record_more(patch: pytest.MonkeyPatch) -> None:
    exact = tabulate.bound_contributions
    patch.setattr(
        tabulate,
        "bound_contributions",
        lambda table, unit: exact(table, replace(unit, max_records=unit.max_records + 1)),
    )


def counts_wrap(patch: pytest.MonkeyPatch) -> None:
    """Counts of 32 bits have no limit below their end."""

    def count(counts, batches) -> None:
        for batch in batches:
            np.add.at(counts, batch.column("word_0").to_numpy(), counts.dtype.type(1))

    patch.setattr(tabulate, "_count_one_by_one", count)


def counted_narrow(patch: pytest.MonkeyPatch) -> None:
    """The tables of a run have counts of 32 bits."""
    exact = measuring.measure_table

    def measure(counts, event, **named):
        return exact(measuring_narrow(counts), event, **named)

    def measuring_narrow(counts):
        return type(counts)(counts.consume().astype(np.int32))

    patch.setattr(measuring, "measure_table", measure)


def narrow_sums(patch: pytest.MonkeyPatch) -> None:
    exact = Margin.sums
    patch.setattr(
        Margin,
        "sums",
        lambda self, universe, values: exact(self, universe, values.astype(np.int32)).astype(
            np.int64
        ),
    )


def read_back_narrow(patch: pytest.MonkeyPatch) -> None:
    """The column of noisy counts is never wider than 32 bits."""
    exact = count_column.CountColumn.put

    def put(self, start, counts) -> None:
        exact(self, start, np.asarray(counts).astype(np.int32))

    patch.setattr(count_column.CountColumn, "put", put)


def charged_for(kept: Callable[[Sequence[PrivacyEvent]], Sequence[PrivacyEvent]]):
    """A job reserves less than it is about to draw."""
    exact = Ledger.reserve

    def reserve(self, *, events, **named):
        return exact(self, events=kept(list(events)), **named)

    return lambda patch: patch.setattr(Ledger, "reserve", reserve)


def cost(event: PrivacyEvent) -> Fraction:
    return getattr(event, "rho", None) or event.epsilon


def dearest(events: Sequence[PrivacyEvent]) -> list[PrivacyEvent]:
    return [max(events, key=cost)]


def composed_of(kept, *, recounted_so: bool):
    """The composition forgets events, wherever the ledger asks it, and maybe its recount too."""

    def total(events, *, delta):
        return total_budget(kept(list(events)), delta=delta)

    def apply(patch: pytest.MonkeyPatch) -> None:
        patch.setattr("synth.ledger.ledger.total_budget", total)
        patch.setattr("synth.ledger.book.total_budget", total)
        if recounted_so:
            patch.setattr("synth.ledger.check.recount", lambda _: {})

    return apply


def without_choices(events: Sequence[PrivacyEvent]) -> list[PrivacyEvent]:
    return [event for event in events if not isinstance(event, SelectionEvent)]


def finer_noise(factor: Fraction):
    """The noise that is drawn is that of a somewhat larger budget than is charged."""
    exact = boundary.noise_law

    def law(event):
        found = exact(event)
        if isinstance(found, DiscreteLaplace):
            return DiscreteLaplace(found.epsilon * factor, found.sensitivity_l1)
        return DiscreteGaussian(found.rho * factor**2, found.sensitivity_l2_squared)

    return lambda patch: patch.setattr(boundary, "noise_law", law)


def noise_by_the_data(patch: pytest.MonkeyPatch) -> None:
    """An empty table gets other noise than one with records."""
    exact = measuring.measure_table

    def measure(counts, event, **named):
        values = counts.consume()
        if values.any():
            event = replace(event, epsilon=event.epsilon / 2)
        return exact(type(counts)(values), event, **named)

    patch.setattr(measuring, "measure_table", measure)


def one_unit_changed(patch: pytest.MonkeyPatch) -> None:
    patch.setattr("synth.privacy.sensitivity.UNITS_CHANGED", {"add-remove": 1, "replace-one": 1})


def a_cap_that_warns(patch: pytest.MonkeyPatch) -> None:
    for place in ("ledger", "book"):
        patch.setattr(f"synth.ledger.{place}.exceeds", lambda _: False)


def filled_cells_first(patch: pytest.MonkeyPatch) -> None:
    """A list tells by its order which cells held records."""
    patch.setattr(sparse_boundary, "cell_order", lambda words: np.arange(len(words[0])))


def key_that_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NoiseStream, "close", lambda _: None)


def deletion_unchecked(patch: pytest.MonkeyPatch) -> None:
    """What is gone is said to have been deleted."""
    patch.setattr(disposal, "_delete", lambda *_: True)


MUTANTS = {
    "no bound on the records of a person": Mutant(without_bound, people),
    "a record too many of a person": Mutant(one_record_more, people),
    "sums of counts and noise wrap at 32 bits": Mutant(
        lambda patch: patch.setattr(table_sampler, "_NARROW", np.iinfo(np.int64)),
        run(test_threads.test_narrow_counts_stay_at_the_end_of_their_type, 2**31 - 1),
    ),
    "counts of 32 bits wrap": Mutant(
        counts_wrap, patched(test_files.test_counts_of_32_bits_end_at_their_limit)
    ),
    "any noise on counts of 32 bits": Mutant(
        lambda patch: patch.setattr(boundary, "fits_32_bits", lambda _: True),
        run(test_narrow_counts.test_noise_that_could_leave_32_bits_is_refused_on_narrow_counts),
    ),
    "tables summed in 32 bits": Mutant(
        narrow_sums, run(test_narrow_counts.test_sums_beyond_32_bits_are_exact)
    ),
    "runs counted in 32 bits": Mutant(counted_narrow, pure),
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
    "deletion claimed unchecked": Mutant(deletion_unchecked, moved_by_others),
}


@contextmanager
def nothing_remembered(mutant: Mutant):
    """Forget plans made before a mutant of the planner, and those that it makes."""
    if mutant.replans:
        choose.cache_clear()
    yield
    if mutant.replans:
        choose.cache_clear()


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
