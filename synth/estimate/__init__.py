"""From noisy measurements to a non-negative table, and from that to whole counts."""

from synth.estimate.any_size import Estimate, estimate, moved_records, rows_are_drawn
from synth.estimate.gate import judge
from synth.estimate.gate_repair import Gated, PublicSeeds, gated
from synth.estimate.monotone import records_taken_back, with_records_added
from synth.estimate.replicates import Replicates, replicates_of
from synth.estimate.rounding import rake, required_atoms, round_counts
from synth.estimate.whole.estimate import estimate_whole

__all__ = [
    "Estimate",
    "Gated",
    "PublicSeeds",
    "Replicates",
    "estimate",
    "estimate_whole",
    "gated",
    "judge",
    "moved_records",
    "rake",
    "records_taken_back",
    "replicates_of",
    "required_atoms",
    "round_counts",
    "rows_are_drawn",
    "with_records_added",
]
