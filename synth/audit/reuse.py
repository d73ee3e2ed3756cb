"""Noise that is used twice: the signs of all noise that was drawn, held against each other."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_VALUES = 1 << 22
"""Of all tables and runs together."""
WINDOW = 64
"""Signs of one window: they fill a word."""


@dataclass(frozen=True)
class Reuse:
    """What is the same in two places of the noise, or has the opposite sign there."""

    values: int
    """So many were compared."""
    repeated: int
    """Windows that occurred before; by chance none."""
    distance: int
    """Where signs agree or differ more often than by chance, the worst; 0 if nowhere."""
    excess: int
    """How much more often they agree than differ at that distance; negative if they differ."""

    @property
    def sentences(self) -> list[str]:
        """What shows that noise is used twice."""
        found = []
        if self.repeated:
            found.append(
                f"noise is used twice: {self.repeated:,} windows of {WINDOW} signs, among "
                f"{self.values:,} values, occurred before"
            )
        if self.distance:
            relation = "agree" if self.excess > 0 else "differ"
            found.append(
                f"noise is used twice: signs {self.distance:,} values apart, among "
                f"{self.values:,}, {relation} {abs(self.excess):,} times more often than not"
            )
        return found

    def to_plain(self) -> dict[str, Any]:
        """The same in JSON values."""
        return {
            "values": self.values,
            "repeated_windows": self.repeated,
            "distance": self.distance or None,
            "excess": self.excess,
            "exceeded": bool(self.sentences),
        }


@dataclass
class NoiseSigns:
    """The signs of the noise of every table and run, one after the other as they were drawn.

    Only the first `each` values of every measurement are kept.
    """

    each: int
    _parts: list[NDArray[np.int8]] = field(default_factory=list)

    @classmethod
    def of(cls, measurements: int, miss: float) -> NoiseSigns:
        """Room for so many measurements, few enough for `reuse` to be wrong with `miss` at most."""
        most = min(MOST_VALUES, math.floor(2 ** (WINDOW / 2) * math.sqrt(miss / 2)))
        return cls(most // max(1, measurements))

    def add(self, noise: NDArray[np.int64]) -> None:
        """Keep the signs of one measurement."""
        self._parts.append(np.sign(noise[: self.each]).astype(np.int8))

    def reuse(self, miss: float) -> Reuse:
        """What windows and distances tell.

        Ensures: if all values are independent, each of a law that is symmetric around 0, something
        is found with probability at most `miss`. Nothing else is asked of the laws, which may
        differ. For given absolute values the signs of those that are not 0 are then independent
        fair coins, and the bound holds for any absolute values:

        - Windows: two windows that start at different places are the same with probability 2^-64,
          overlapping or not, because each sign of the later one is a fair coin whatever came
          before it; and opposite with the same. With n signs there are less than n^2 / 2 pairs:
          n^2 2^-64 in all, at most miss / 2 for the n of `of`.
        - Distances: the products of two signs d places apart are independent fair coins too, as
          the pairs form paths, and along a path each product has a sign that none before it has.
          So with m products their sum is beyond +-t with probability at most
          2 exp(-t^2 / (2 m)) (Hoeffding 1963); with t = sqrt(2 m ln(4 n / miss))
          the fewer than n distances have miss / 2 in all.
        """
        signs = np.concatenate([*self._parts, np.empty(0, dtype=np.int8)])
        distance, excess = _worst_distance(signs, miss / 2)
        return Reuse(len(signs), _repeated_windows(signs[signs != 0] > 0), distance, excess)


def _repeated_windows(bits: NDArray[np.bool_]) -> int:
    """How many windows are the same as one before, or its opposite."""
    if len(bits) < WINDOW:
        return 0
    words, width = bits.astype(np.uint64), 1
    while width < WINDOW:
        words = words[:-width] << np.uint64(width) | words[width:]
        width *= 2
    ordered = np.sort(np.minimum(words, ~words))
    return int(np.count_nonzero(ordered[1:] == ordered[:-1]))


def _worst_distance(signs: NDArray[np.int8], miss: float) -> tuple[int, int]:
    """The distance at which the sum of products is farthest beyond its bound; 0, 0 if none is.

    Rounding: the sums are whole numbers; the transform is exact to far less than a half.
    """
    count = len(signs)
    if count < 2:
        return 0, 0
    size = 1 << (2 * count - 1).bit_length()
    spectrum = np.fft.rfft(signs, size)
    sums = np.rint(np.fft.irfft(spectrum.real**2 + spectrum.imag**2, size)[1:count])
    products = np.minimum(np.count_nonzero(signs), np.arange(count - 1, 0, -1))
    beyond = np.abs(sums) - np.sqrt(2 * products * math.log(2 * count / miss))
    worst = int(np.argmax(beyond))
    return (worst + 1, int(sums[worst])) if beyond[worst] > 0 else (0, 0)
