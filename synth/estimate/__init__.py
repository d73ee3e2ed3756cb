"""From noisy measurements to a non-negative table, and from that to whole counts."""

from synth.estimate.counts import Counts, round_counts
from synth.estimate.estimate import Estimate, estimate

__all__ = ["Counts", "Estimate", "estimate", "round_counts"]
