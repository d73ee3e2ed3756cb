"""DAWA: a private partition into nearly uniform buckets, then a hierarchy over the buckets.

Li, Hay, Miklau (PVLDB 2014), "A data- and workload-aware algorithm for range queries under
differential privacy". Stage 1 has a quarter of the budget: the cost of a bucket is the absolute
deviation of its cells from their mean, plus the noise of one count; every cost gets Laplace
noise and the partition of least noisy cost is found by dynamic programming. As in the
paper's fast version, buckets have 2^k cells and start anywhere. Stage 2 measures a binary
hierarchy over the buckets with the rest.

Ours in one point: the paper sets the weight of every node of the hierarchy by a greedy rule; here
every level has one budget, and the budgets are those of least expected error on the workload,
carried over to the buckets. That is a function of the partition and the workload alone.
"""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray
from scipy.optimize import minimize

from benchmarks.dpbench.trees import tree
from benchmarks.dpbench.workloads import Workload

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

PARTITION_SHARE = 0.25
"""The share of the budget for the partition, as in the paper's experiments."""
QUERIES = 512
"""As many queries of a larger workload, evenly picked, stand for it in the choice of budgets."""


def dawa(truth: Ints, epsilon: float, workload: Workload, generator: np.random.Generator) -> Floats:
    """The estimated cells of a line; it is told the workload that it is scored on."""
    first, second = PARTITION_SHARE * epsilon, (1.0 - PARTITION_SHARE) * epsilon
    ends = partition(truth, first, second, generator)
    widths = np.diff(ends)
    leaves = 1 << int(widths.size - 1).bit_length()
    sums = np.zeros(leaves, dtype=np.int64)
    sums[: widths.size] = np.add.reduceat(truth, ends[:-1])
    budgets = level_budgets(bucket_queries(workload, ends, leaves), second)
    noisy = tree(sums, 2, budgets, generator)[: widths.size]
    return (noisy / widths).repeat(widths)


def partition(truth: Ints, first: float, second: float, generator: np.random.Generator) -> Ints:
    """The ends of the buckets of least noisy cost, from 0 to the number of cells.

    A bucket of L out of n cells gets noise of scale (2 - 1/L - 1/n) / first, none if L = 1, and no
    cost is below that of a perfectly uniform bucket. This is what the published figures of DPBench
    were made with. We have not proved that it is `first`-DP: adding a record can move a deviation
    by 2 (1 - 1/L), and the argument known to us needs twice that scale. It favours DAWA.
    """
    size = truth.size
    values = truth.astype(np.float64)
    lengths = [1 << k for k in range(size.bit_length()) if 1 << k <= size]
    costs = np.full((size + 1, len(lengths)), np.inf)  # of the bucket that ends before a cell
    for k, length in enumerate(lengths):
        windows = sliding_window_view(values, length)
        deviation = np.empty(len(windows))
        step = max(1, (1 << 20) // length)
        for start in range(0, len(windows), step):
            part = windows[start : start + step]
            gaps = part - part.mean(axis=1, keepdims=True)
            deviation[start : start + step] = np.abs(gaps).sum(axis=1)
        if length > 1:
            scale = (2.0 - 1.0 / length - 1.0 / size) / first
            deviation += generator.laplace(0.0, scale, deviation.size)
        costs[length:, k] = np.maximum(deviation, 0.0) + 1.0 / second
    best = np.zeros(size + 1)
    chosen = np.zeros(size + 1, dtype=np.int64)
    widths = np.array(lengths)
    for end in range(1, size + 1):
        usable = int(end).bit_length()
        totals = best[end - widths[:usable]] + costs[end, :usable]
        k = usable - 1 - int(np.argmin(totals[::-1]))  # of equal costs the longest bucket
        best[end], chosen[end] = totals[k], widths[k]
    ends = [size]
    while ends[-1] > 0:
        ends.append(ends[-1] - int(chosen[ends[-1]]))
    return np.array(ends[::-1])


def bucket_queries(workload: Workload, ends: Ints, leaves: int) -> Floats:
    """The queries as shares of every bucket that they cover, one row each."""
    picked = np.unique(np.linspace(0, workload.size - 1, QUERIES).astype(np.int64))
    low, high = workload.low[picked, 0], workload.high[picked, 0]
    covered = np.minimum(high[:, None], ends[1:]) - np.maximum(low[:, None], ends[:-1])
    queries = np.zeros((picked.size, leaves))
    queries[:, : ends.size - 1] = np.maximum(covered, 0) / np.diff(ends)
    return queries


def level_budgets(queries: Floats, epsilon: float) -> list[float]:
    """Budgets of a binary hierarchy, root first, of least expected squared error of `queries`.

    Vectors that are constant in the blocks of level l and sum to zero in those of level l - 1 are
    eigenvectors of the least-squares covariance. Their precision is the sum of L_j s_j over
    the levels j >= l, with blocks of L_j cells and s_j = epsilon_j^2 / 2.
    """
    leaves = queries.shape[1]
    blocks = [leaves >> level for level in range(leaves.bit_length())]
    energies, below = [], np.zeros(len(queries))
    for block in blocks:
        means = queries.reshape(len(queries), -1, block).sum(axis=2)
        energy = (means**2).sum(axis=1) / block
        energies.append(float((energy - below).sum()))
        below = energy
    weights = np.array(energies) / max(sum(energies), 1e-300)
    widths = np.array(blocks, dtype=np.float64)

    def error(logits: Floats) -> float:
        shares = np.exp(logits - logits.max())
        shares /= shares.sum()
        precision = np.cumsum((widths * shares**2)[::-1])[::-1]
        return float(np.log((weights / precision).sum()))

    found = minimize(
        error, np.zeros(len(blocks)), method="L-BFGS-B", bounds=[(-9, 9)] * len(blocks)
    )
    shares = np.exp(found.x - found.x.max())
    shares = np.maximum(shares / shares.sum(), 1e-6)
    return [float(value) for value in epsilon * shares / shares.sum()]
