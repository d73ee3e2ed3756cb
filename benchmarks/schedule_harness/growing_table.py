"""A table of visits that grows by a share of itself in every period, and what is true of it."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

REGIONS = ("North", "East", "South", "West", "Abroad")
KINDS = ("acute", "check-up", "follow-up")
SEXES = ("female", "male")
ANSWERS = ("insured", "referred", "urban", "again")
AGES, BIN_WIDTH = 90, 10


@dataclass(frozen=True)
class GrowingTable:
    """The first period brings `rows` records, every later one a share of all before it."""

    rows: int
    growth: float
    seed: int
    answers: int = len(ANSWERS)
    """How many of the columns of yes and no it has."""

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that are published."""
        return ("age", "region", "kind", "sex", *ANSWERS[: self.answers])

    @property
    def shape(self) -> tuple[int, ...]:
        """The universe: age in bins, region, kind, sex, and yes or no."""
        sizes = (AGES // BIN_WIDTH, len(REGIONS), len(KINDS), len(SEXES))
        return (*sizes, *[2] * self.answers)

    @property
    def domain(self) -> list[dict[str, Any]]:
        """The columns as a configuration declares them."""
        age = {"name": "age", "type": "integer", "minimum": 0, "maximum": AGES - 1}
        levels = {"region": REGIONS, "kind": KINDS, "sex": SEXES}
        levels |= dict.fromkeys(self.names[4:], ("no", "yes"))
        return [
            age | {"bin_width": BIN_WIDTH, "out_of_domain": "clamp", "source": "made up"},
            *(
                {"name": name, "type": "categorical", "levels": list(words)}
                | {"out_of_domain": words[-1], "source": "made up"}
                for name, words in levels.items()
            ),
        ]

    def size(self, index: int) -> int:
        """How many records the period brings; the first has the index 1."""
        if index == 1:
            return self.rows
        whole = [
            round(self.rows * (1 + self.growth) ** number) for number in (index - 2, index - 1)
        ]
        return whole[1] - whole[0]

    def codes(self, index: int) -> NDArray[np.int64]:
        """The records of a period: a line each with the codes of its cell, changing over time."""
        drawn = np.random.default_rng([self.seed, index])
        number = self.size(index)
        age = drawn.beta(2 + index / 24, 3, number) * self.shape[0]
        region = drawn.choice(len(REGIONS), number, p=_shares(len(REGIONS), 0.5 - index / 100))
        kind = (drawn.choice(len(KINDS), number, p=_shares(len(KINDS), 0.4)) + (age > 6)) % len(
            KINDS
        )
        sex = drawn.random(number) < 0.45 + 0.02 * region
        answers = drawn.random((self.answers, number)) < (0.2 + 0.1 * kind)
        columns = [age, region, kind, sex, *answers]
        return np.stack([column.astype(np.int64) for column in columns], axis=1)

    def lines(self, index: int, days: Sequence[date]) -> str:
        """The records of a period as CSV without a header, on days between two, both included."""
        first, last = days
        codes = self.codes(index)
        drawn = np.random.default_rng([self.seed, index, 1])
        day = drawn.integers((last - first).days + 1, size=len(codes))
        within = drawn.integers(BIN_WIDTH, size=len(codes))
        text = io.StringIO()
        writer = csv.writer(text)
        for one, year, (age, r, k, s, *answers) in zip(day, within, codes, strict=True):
            words = ["yes" if each else "no" for each in answers]
            moment = first + timedelta(int(one))
            writer.writerow(
                [moment, age * BIN_WIDTH + year, REGIONS[r], KINDS[k], SEXES[s], *words]
            )
        return text.getvalue()

    def truth(self, first: int, last: int) -> NDArray[np.int64]:
        """How many records of some periods are in each cell of the universe."""
        codes = np.concatenate([self.codes(index) for index in range(first, last + 1)])
        cells = np.ravel_multi_index(tuple(codes.T), self.shape)
        return np.bincount(cells, minlength=int(np.prod(self.shape))).reshape(self.shape)


def _shares(size: int, ratio: float) -> NDArray[np.float64]:
    """A share for each of some levels, each `ratio` times the one before it."""
    weights = ratio ** np.arange(size)
    shares: NDArray[np.float64] = weights / weights.sum()
    return shares
