"""The face of the room: one estimate from noisy tables, in the way that suits the universe."""

from __future__ import annotations

from typing import Any, Protocol

from synth.config import Config
from synth.domain.counts import Counts
from synth.estimate.blocks.estimate import estimate_blocks
from synth.estimate.listed.estimate import estimate_listed
from synth.estimate.listed.support import Support
from synth.estimate.whole.estimate import estimate_whole
from synth.measurements import Measurements
from synth.planning.costs import draws_cells, is_held


class Estimate(Protocol):
    """A table of the universe that is good to publish, however it is held."""

    @property
    def report(self) -> dict[str, Any]:
        """How it was found, as plain JSON: the steps in order, with iterations and stop reasons.

        Nothing in it comes from anything but the noisy tables and the configuration.
        """

    def round(self, seed: int) -> Counts:
        """Whole counts, rounded with a public seed; required totals hold."""

    def again(self, measurements: Measurements, published: Counts) -> Estimate:
        """The estimate of other noisy tables of the same plan, started from the end of this one.

        Quick where the tables are much the same; `published` are the whole counts of this one.
        Where rows were drawn, published cells alone have values.
        """

    def afresh(self, measurements: Measurements, seed: int) -> Estimate:
        """The same in the same way, started from nothing; `seed` is public."""

    def support(self) -> Support | None:
        """The cells that may hold records, with their values; None if these are not at hand."""


def estimate(measurements: Measurements, config: Config, *, drawn_seed: int) -> Estimate:
    """Fit one non-negative table of counts to all noisy tables.

    Which way is taken is a public rule: rows are drawn from a model of all columns where
    `rows_are_drawn` says so; else the whole table is held where `is_held` says so, or passed over
    block by block.

    Privacy: post-processing of the measurements and the public configuration; `drawn_seed` is
    public, and used where cells are drawn.
    Ensures: the same bytes for the same input, whatever the number of threads.
    Raises: BugError if there is no table, or one does not have the size of its margin.
    """
    if rows_are_drawn(measurements, config):
        return estimate_listed(measurements, config, seed=drawn_seed)
    if not is_held(config.universe):
        return estimate_blocks(measurements, config)
    return estimate_whole(measurements, config)


def rows_are_drawn(measurements: Measurements, config: Config) -> bool:
    """Whether rows are drawn from one model of all columns, as `draws_cells` says of such tables.

    Privacy: post-processing of the measurements and the public configuration.
    """
    return draws_cells(measurements.table_events, config.universe)


def moved_records(
    measurements: Measurements, config: Config, published: Counts, *, drawn: int, rounding: int
) -> int | None:
    """How many records last digits of the estimate may have moved, of the published counts.

    None if they cannot have, and where the estimate is made block by block: there it is rounded
    to whole numbers of 2^-30 records first, and has no last digits that count. `drawn` and
    `rounding` are the public seeds.
    """
    if rows_are_drawn(measurements, config):
        estimated = estimate_listed(measurements, config, seed=drawn)
        return estimated.moved(published, rounding, config.universe.shape)
    if not is_held(config.universe):
        return None
    return estimate_whole(measurements, config).moved(published, rounding)
