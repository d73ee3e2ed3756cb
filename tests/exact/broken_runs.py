"""Ways to break a whole run by monkeypatching: contributions, counts, charges, noise, and the rest.

Each is a function of a patch, or gives one. `test_plan_mutants` names them, and the tests that
see them.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from synth.bookkeeping import Ledger
from synth.curator import boundary, disposal, measuring, seal
from synth.curator.counting import tabulate
from synth.domain import Margin
from synth.errors import BugError
from synth.measurements.file import CountColumn
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream
from synth.privacy import PrivacyEvent, SelectionEvent
from synth.privacy.accounting import total_budget


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
    exact = CountColumn.put

    def put(self, start, counts) -> None:
        exact(self, start, np.asarray(counts).astype(np.int32))

    patch.setattr(CountColumn, "put", put)


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
        patch.setattr("synth.bookkeeping.ledger.total_budget", total)
        patch.setattr("synth.bookkeeping.book.total_budget", total)
        if recounted_so:
            patch.setattr("synth.bookkeeping.book.recount", lambda _: {})

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
        patch.setattr(f"synth.bookkeeping.{place}.exceeds", lambda _: False)


def filled_cells_first(patch: pytest.MonkeyPatch) -> None:
    """A list tells by its order which cells held records."""
    patch.setattr(boundary, "cell_order", lambda words: np.arange(len(words[0])))


def key_that_stays(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(NoiseStream, "close", lambda _: None)


def error_with_its_cause(patch: pytest.MonkeyPatch) -> None:
    """What failed hangs on the error that is raised in its place."""

    def scrubbed(error: BaseException) -> BaseException:
        found = BugError("measuring failed")
        found.__cause__ = error
        return found

    patch.setattr(seal, "scrubbed", scrubbed)


def deletion_unchecked(patch: pytest.MonkeyPatch) -> None:
    """What is gone is said to have been deleted."""
    patch.setattr(disposal, "_delete", lambda *_: True)
