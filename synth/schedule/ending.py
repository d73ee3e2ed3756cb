"""When a series ends, by its horizon or by the budget, and what is said before it does."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from synth.config.series import RenewalConfig
from synth.schedule.outlook import Outlook

PERIODS_AHEAD = 3
"""How many periods before the end a person hears of it."""


@dataclass(frozen=True)
class Ending:
    """How many periods are still to come, and what ends them."""

    left_in_horizon: int | None
    """The periods after the newest published one up to the end of its horizon; None where every
    window of periods has the same bound, so that no horizon ends."""
    affordable: int | None
    """How many of the next periods the caps of the account admit, counted up to the end of the
    series or one more horizon; None before the first charge."""
    wanted: int
    """Up to how many were counted."""
    warnings: tuple[str, ...]
    """What a person has to know now: one sentence each."""

    @property
    def is_cut_short(self) -> bool:
        """Whether the budget ends before the series does."""
        return self.affordable is not None and self.affordable < self.wanted


def ending(outlook: Outlook) -> Ending:
    """The end that is nearest, from the configuration and the ledger."""
    series, newest = outlook.series, outlook.newest
    ends = series.ends_after
    wanted = series.horizon if ends is None else ends - newest
    affordable = outlook.affordable(wanted)
    left = None if series.window is not None else series.horizon - series.within_cycle(newest or 1)
    left = series.horizon if left is not None and not newest else left
    found = Ending(left, affordable, wanted, ())
    return Ending(left, affordable, wanted, tuple(_warnings(outlook, found)))


def _warnings(outlook: Outlook, found: Ending) -> Iterator[str]:
    series, newest = outlook.series, outlook.newest
    if newest and found.left_in_horizon is not None and found.left_in_horizon <= PERIODS_AHEAD:
        last = series.label(newest + found.left_in_horizon)
        yield f"{_many(found.left_in_horizon)} left: the horizon ends with {last}; {_then(outlook)}"
    if found.affordable is not None and found.is_cut_short and found.affordable <= PERIODS_AHEAD:
        yield (
            f"the budget admits {_many(found.affordable)} more, and the series has more to come: "
            f"see `synth ledger {outlook.config.name}`; a cap is a promise to people, to be raised "
            "by those who made it"
        )


def _then(outlook: Outlook) -> str:
    renewal = outlook.series.renewal
    if renewal == "end":
        return "then the series ends, unless another one is declared, planned and approved"
    if isinstance(renewal, RenewalConfig):
        return f"then other people are charged ({renewal.population})"
    return "then the next horizon begins, with a charge of its own"


def _many(periods: int) -> str:
    return {0: "no period", 1: "1 period"}.get(periods, f"{periods} periods")
