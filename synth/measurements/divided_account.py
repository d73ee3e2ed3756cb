"""The account of a population whose parts were declared disjoint, as a reservation found it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from synth.privacy import Budget
from synth.privacy.parallel import parallel_total


@dataclass(frozen=True)
class DividedAccount:
    """What was spent on everybody and on each part, and which of them a release is charged to.

    Raises: ValueError unless every part is there once and `part` is one of them.
    """

    source: str
    """Why nobody belongs to two parts, and who says so."""
    part: str | None
    """None: the release is about everybody."""
    whole: Budget
    """Spent by the releases about everybody."""
    parts: tuple[tuple[str, Budget], ...]
    """Every declared part, by name, with what the releases about it spent."""

    def __post_init__(self) -> None:
        names = [name for name, _ in self.parts]
        if len(set(names)) < len(names) or self.part not in (None, *names):
            raise ValueError("every part is listed once")

    @property
    def spent(self) -> Budget:
        """The most that one person can have lost; see `parallel_total`."""
        return parallel_total(self.whole, (budget for _, budget in self.parts))

    @property
    def lost(self) -> Budget:
        """The most that one person of the part was charged; without a part, as `spent`."""
        if self.part is None:
            return self.spent
        return parallel_total(self.whole, [dict(self.parts)[self.part]])

    def charged(self, charge: Budget) -> DividedAccount:
        """The account after `charge` for the release."""
        if self.part is None:
            return replace(self, whole=self.whole + charge)
        parts = tuple(
            (name, budget + charge if name == self.part else budget) for name, budget in self.parts
        )
        return replace(self, parts=parts)

    def to_plain(self) -> dict[str, Any]:
        """JSON values; budgets are exact fractions in text."""
        return {
            "source": self.source,
            "part": self.part,
            "whole": _plain(self.whole),
            "parts": [{"name": name, "spent": _plain(budget)} for name, budget in self.parts],
        }

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> DividedAccount:
        """Read an account back; raises KeyError, TypeError or ValueError if it is damaged."""
        return DividedAccount(
            source=plain["source"],
            part=plain["part"],
            whole=_budget(plain["whole"]),
            parts=tuple((part["name"], _budget(part["spent"])) for part in plain["parts"]),
        )


def _plain(budget: Budget) -> dict[str, str]:
    return {"epsilon": str(budget.epsilon), "delta": str(budget.delta)}


def _budget(plain: dict[str, str]) -> Budget:
    return Budget(Fraction(plain["epsilon"]), Fraction(plain["delta"]))
