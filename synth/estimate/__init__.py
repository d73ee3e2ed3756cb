"""From noisy measurements to a non-negative table, and from that to whole counts."""

from synth.estimate.blockwise import BlockwiseEstimate, estimate_blockwise, is_blockwise
from synth.estimate.counts import Counts, moved_by_last_digits, round_counts, round_sparse
from synth.estimate.estimate import Estimate, estimate
from synth.estimate.gate import judge
from synth.estimate.gate_repair import PublicSeeds, gated
from synth.estimate.sparse import SparseEstimate, estimate_sparse

__all__ = [
    "BlockwiseEstimate",
    "Counts",
    "Estimate",
    "PublicSeeds",
    "SparseEstimate",
    "estimate",
    "estimate_blockwise",
    "estimate_sparse",
    "gated",
    "is_blockwise",
    "judge",
    "moved_by_last_digits",
    "round_counts",
    "round_sparse",
]
