"""From measurements to counts: everything that the publisher and the verifier both compute."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.config.types import Config
from synth.measurements import Measurements, public_seed
from synth.progress import Stage, stage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.plan import Forecast

ROUNDING = "rounding"
BINS = "values inside bins"


@dataclass(frozen=True, eq=False)
class Derivation:
    """The published counts and how they came to be.

    Shapes and units: `counts` is int64, flat in C order over the universe, in records.
    """

    counts: NDArray[np.int64]
    report: dict[str, Any]
    seeds: dict[str, int]
    forecast: Forecast

    @property
    def rows(self) -> int:
        """The number of rows that the counts expand to."""
        return int(self.counts.sum())

    @property
    def bins_seed(self) -> int:
        """The public seed of the values inside bins."""
        return self.seeds[BINS]


Derive = Callable[[Measurements, Config], Derivation]
"""Tests pass another derivation; everybody else uses `derive`."""


def derive(measurements: Measurements, config: Config) -> Derivation:
    """Estimate, round and forecast: a deterministic function of its two arguments.

    Privacy: post-processing; nothing here can reach raw data.
    """
    from synth.estimate import estimate, round_counts
    from synth.plan import forecast

    seeds = {purpose: public_seed(measurements, purpose) for purpose in (ROUNDING, BINS)}
    with stage(Stage.ESTIMATION):
        estimated = estimate(measurements, config)
    with stage(Stage.ROUNDING):
        counts = round_counts(estimated, config, seeds[ROUNDING])
    chosen = measurements.selections != ()
    events = tuple(table.event for table in measurements.tables) if chosen else None
    return Derivation(counts.values, estimated.report, seeds, forecast(config, events=events))
