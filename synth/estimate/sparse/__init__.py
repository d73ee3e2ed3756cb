"""Universes that are too large to hold: only cells that may have records are ever listed."""

from synth.estimate.sparse.estimate import SparseEstimate, estimate_sparse

__all__ = ["SparseEstimate", "estimate_sparse"]
