"""From measurements to counts: everything that the publisher and the verifier both compute."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from synth.config import Config
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.errors import BugError
from synth.estimate import (
    Estimate,
    Gated,
    PublicSeeds,
    Replicates,
    estimate,
    gated,
    judge,
    records_taken_back,
    replicates_of,
    rows_are_drawn,
    with_records_added,
)
from synth.estimate import moved_records as moved_by_last_digits
from synth.measurements import Measurements, public_seed, seed_of_text
from synth.planning import Forecast, forecast
from synth.progress import Stage, stage
from synth.release.manifest.figures import Figures, build_figures
from synth.release.noisy_tables import NoisyTable, noisy_tables
from synth.release.page.accuracy import Crosstab, crosstabs
from synth.release.page.group_bias import GroupBias, group_biases
from synth.release.page.summary import Summary, summarise

ROUNDING = "rounding"
DRAWN = "cells drawn from the model"
BINS = "values inside bins"
ADDED = "records added to those of the release before"


def seed_of(replicate: int) -> str:
    """What the public seed of a replicate is for; they count from 1."""
    return f"replicate {replicate}"


@dataclass(frozen=True, eq=False)
class Growth:
    """The counts of the release before, and how many of its records were taken back."""

    previous: Counts
    taken_back: int


@dataclass(frozen=True, eq=False)
class Derivation:
    """The published counts and how they came to be."""

    config: Config
    measurements: Measurements
    counts: Counts
    report: dict[str, Any]
    seeds: dict[str, int]
    forecast: Forecast
    gate: dict[str, Any]
    """How the counts agree with the noisy tables; see `synth.estimate.gate`."""

    growth: Growth | None = None
    """What became of the release before, if there is one."""
    fitted: Estimate | None = None
    """What was rounded to the counts, before the gate."""
    adopted: Replicates | None = None
    """Replicates of the folder that differ from ours by last digits alone."""

    @cached_property
    def replicates(self) -> Replicates:
        """The counts on noise drawn anew, as many times as the configuration asks for."""
        if self.adopted is not None:
            return self.adopted
        if self.fitted is None:
            raise BugError("there are no replicates without the estimate that they start from")
        purposes = map(seed_of, range(1, self.config.output.replicates + 1))
        seeds = [public_seed(self.measurements, purpose) for purpose in purposes]
        with stage(Stage.REPLICATES):
            return replicates_of(
                self.fitted, self.counts, self.measurements, self.config, seeds=seeds
            )

    @cached_property
    def figures(self) -> list[Figures]:
        """What was predicted and fitted of every query and noisy table."""
        return build_figures(self.config, self.forecast, self.measurements, self.counts)

    @cached_property
    def tables(self) -> list[NoisyTable]:
        """The measured tables that stand in a file of their own, with labels."""
        return noisy_tables(self.measurements, self.config.universe)

    @cached_property
    def summary(self) -> Summary:
        """What the page shows of the counts."""
        return summarise(self.counts, self.config.universe.shape)

    @cached_property
    def biases(self) -> tuple[GroupBias, ...]:
        """Whether small groups came out too large or too small."""
        return group_biases(self.config, self.measurements, self.counts)

    @cached_property
    def crosstabs(self) -> tuple[Crosstab, ...]:
        """The tables of two columns that the page shows."""
        return self.crosstabs_by(self.figures)

    def crosstabs_by(self, figures: Sequence[Figures]) -> tuple[Crosstab, ...]:
        """The same, chosen by the figures of a file, whose last digits may differ."""
        return crosstabs(
            self.config, self.measurements, self.counts, summary=self.summary, figures=figures
        )

    @property
    def previous(self) -> Counts:
        """The counts of the release before. Requires: there is one."""
        if self.growth is None:
            raise BugError("there is no release before the first")
        return self.growth.previous

    @property
    def rows(self) -> int:
        """The number of rows that the counts expand to."""
        return self.counts.total

    @property
    def bins_seed(self) -> int:
        """The public seed of the values inside bins."""
        return self.seeds[BINS]


Derive = Callable[[Measurements, Config, Counts | None], Derivation]
"""Tests pass another derivation; everybody else uses `derive`."""


def derive(
    measurements: Measurements, config: Config, previous: Counts | None = None
) -> Derivation:
    """Estimate, round, judge and forecast: a deterministic function of its arguments.

    `previous` are the published counts of the release before, of a series of cumulative ones.
    They are kept and records added to them, unless the gate finds that these counts contradict
    the measurements: then the estimate is published as it is.

    Privacy: post-processing; nothing here can reach raw data.
    Raises: ContradictionError if no counts are found that agree with the measurements.
    """
    seeds = {purpose: public_seed(measurements, purpose) for purpose in (DRAWN, ROUNDING)}
    seeds[BINS] = bins_seed(measurements, config)
    with stage(Stage.ESTIMATION):
        fitted = estimate(measurements, config, drawn_seed=seeds[DRAWN])
    with stage(Stage.ROUNDING):
        rounded = fitted.round(seeds[ROUNDING])
        public_seeds = PublicSeeds(seeds[DRAWN], seeds[ROUNDING])
        passed = gated(rounded, fitted, measurements, config, public_seeds)
        growth = None
        if previous is not None:
            seeds[ADDED] = public_seed(measurements, ADDED)
            grown = _grown(passed, previous, measurements, config, seed=seeds[ADDED])
            taken = records_taken_back(previous, grown.counts, config.universe.shape)
            passed, growth = grown, Growth(previous, taken)
    if not rows_are_drawn(measurements, config) and not passed.drawn:
        del seeds[DRAWN]
    look = measurements.look
    chosen = measurements.selections != () or look is not None or config.is_added_up
    events = measurements.table_events if chosen else None
    noisy_counts = None if look is None else look.noisy_counts
    planned = forecast(config, events=events, noisy_counts=noisy_counts)
    return Derivation(
        config,
        measurements,
        passed.counts,
        fitted.report,
        seeds,
        planned,
        passed.report,
        growth,
        fitted,
    )


def bins_seed(measurements: Measurements, config: Config) -> int:
    """The public seed of values inside bins: one for all cumulative releases of a series.

    A row that is kept then keeps its values. The seed of a series is known before anything is
    measured; nothing in it needs to be a secret.
    """
    if config.series is None or not config.series.is_continual:
        return public_seed(measurements, BINS)
    return seed_of_text(f"{BINS}/{config.series.name}")


def _grown(
    passed: Gated, previous: Counts, measurements: Measurements, config: Config, *, seed: int
) -> Gated:
    """The counts of the release before with records added, if the gate lets them pass."""
    margins = [Margin(event.table, event.coarsening) for event in measurements.table_events]
    counts = with_records_added(previous, passed.counts, margins, config.universe, seed=seed)
    verdict = judge(counts, measurements, config, grown=True)
    if not verdict.passes and not passed.is_excused:
        return passed
    return Gated(counts, passed.report | verdict.to_plain())


def moved_records(measurements: Measurements, config: Config, published: Counts) -> int | None:
    """How many records last digits of the estimate may have moved, of the published counts."""
    drawn, rounding = (public_seed(measurements, purpose) for purpose in (DRAWN, ROUNDING))
    return moved_by_last_digits(measurements, config, published, drawn=drawn, rounding=rounding)
