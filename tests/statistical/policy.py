"""The one policy of all statistical tests: significance, power, bins and sample sizes.

* A sound product fails a test with probability 1e-9 (`SIGNIFICANCE`). Randomness is keyed, so a
  test that passed once passes always; the figure says how surprising the first run could be.
* A test must see the alternatives it is made for with probability 1 - 1e-9 (`MISS`). The sample
  size follows from that: it is the smallest power of two whose noncentral chi-square power
  suffices, doubled, because that law is itself an approximation under the alternative.
* Bins: adjacent values are pooled, from the lowest up, until a bin expects `MINIMUM_EXPECTED`
  values. With that many the chi-square law holds far out in its tail: the skewness of a bin's
  Poisson count is below 0.032, which at six standard deviations changes a tail by a factor of 3.
* Critical values are those of the chi-square law itself, not of a normal approximation.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.stats import chi2, ncx2

SIGNIFICANCE = 1e-9
MISS = 1e-9
MINIMUM_EXPECTED = 1024
LARGEST_SAMPLE = 1 << 26


@dataclass(frozen=True)
class Bins:
    """Edges of bins of whole numbers and their expected shares.

    Bin i holds edges[i-1] < x <= edges[i]; the first and the last are open outwards.
    """

    edges: np.ndarray
    shares: np.ndarray

    def counts(self, sample) -> np.ndarray:
        return np.bincount(np.searchsorted(self.edges, sample), minlength=len(self.shares))


def make_bins(cdf, reach: int, size: int) -> Bins:
    """Pool values -reach .. reach until every bin expects enough of `size` values."""
    least = MINIMUM_EXPECTED / size
    edges, last = [], 0.0
    for value in range(-reach, reach + 1):
        upto = cdf(value)
        if upto - last >= least and 1 - upto >= least:
            edges.append(value)
            last = upto
    ends = [0.0, *map(cdf, edges), 1.0]
    return Bins(np.array(edges), np.array([b - a for a, b in pairwise(ends)]))


def shares_under(cdf, bins: Bins) -> np.ndarray:
    """The shares that another law gives to the same bins."""
    return np.diff([0.0, *map(cdf, bins.edges.tolist()), 1.0])


def critical_value(degrees: int) -> float:
    return float(chi2.isf(SIGNIFICANCE, degrees))


def statistic(counts, shares) -> float:
    """Pearson's chi-square of observed counts against expected shares."""
    counts, expected = np.asarray(counts, float), np.asarray(shares, float) * np.sum(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def fits(counts, shares) -> bool:
    """Whether counts agree with shares at the significance of the policy."""
    return statistic(counts, shares) <= critical_value(len(shares) - 1)


def power(shares, alternative, size: int) -> float:
    """The probability that `fits` is false under the alternative."""
    shift = size * float(((alternative - shares) ** 2 / shares).sum())
    return float(ncx2.sf(critical_value(len(shares) - 1), len(shares) - 1, shift))


def sample_size(cdf, reach: int, alternatives) -> int:
    """Twice the smallest power of two at which every alternative is seen."""
    size = 1 << 13
    while size <= LARGEST_SAMPLE:
        bins = make_bins(cdf, reach, size)
        if len(bins.shares) > 1 and all(
            power(bins.shares, shares_under(other, bins), size) >= 1 - MISS
            for other in alternatives
        ):
            return 2 * size
        size *= 2
    raise ValueError("no sample of reasonable size can tell the alternatives apart")
