"""From noisy measurements to a non-negative table, and from that to whole counts."""

from synth.estimate.counts import Counts, round_counts, round_sparse
from synth.estimate.estimate import Estimate, estimate
from synth.estimate.sparse import SparseEstimate, estimate_sparse

__all__ = [
    "Counts",
    "Estimate",
    "SparseEstimate",
    "estimate",
    "estimate_sparse",
    "round_counts",
    "round_sparse",
]
