"""How far published counts are off, told by redraws: the pipeline once more on a possible table.

The truth of a redraw is not the estimate itself: that is smoother than any table it could stand
for, and an estimator finds a smooth table again too easily. Each cell gets a whole number with the
estimate as its mean and with the variance that the noisy count leaves open.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtrit

from synth.config import Config
from synth.domain import Conjunction, Margin
from synth.errors import QueryError
from synth.estimate import estimate_whole, rake, required_atoms, round_counts
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements, public_seed
from synth.progress import Stage, stage
from synth.reading.calibration import Evidence
from synth.reading.release import Release

DRAWS = 20
"""Redraws of one release, each about as long as publishing it took."""
LARGEST_CELLS = 1 << 21
"""No larger universe is simulated: every redraw estimates all of it."""


@dataclass(frozen=True, eq=False)
class Redraw:
    """A table that could have been the raw one, and what the pipeline publishes for it.

    Shapes and units: int64, flat in cell order over the universe, in records. `cell_noise` is the
    noise of the table of all cells, None where there is none.
    """

    truth: NDArray[np.int64]
    published: NDArray[np.int64]
    cell_noise: NDArray[np.int64] | None

    @property
    def errors(self) -> NDArray[np.int64]:
        """By how much the published counts are off, cell by cell."""
        return self.published - self.truth


class Redrawing:
    """Redraws of one release.

    Privacy: post-processing; all random numbers come from public seeds and protect nothing.
    Requires: a universe whose cells are all held, no table with a threshold.
    """

    def __init__(self, measurements: Measurements, config: Config) -> None:
        """Estimate once, as the release did."""
        self._measurements = measurements
        self._config = config
        self._estimate = estimate_whole(measurements, config)
        self._atoms = required_atoms(config)
        cells = cell_table(measurements, config)
        self._noise_variance = math.inf if cells is None else cells.variance

    def redraw(self, number: int) -> Redraw:
        """Draw a truth, measure it with noise of the release's law, estimate and round.

        Ensures: the same result for the same measurements, configuration and number.
        """
        seed = public_seed(self._measurements, f"redraw {number}")
        generator = np.random.Generator(np.random.Philox(seed))
        truth = self._truth(generator, seed)
        tables = []
        cells, cell_noise = cell_table(self._measurements, self._config), None
        for table in self._measurements.tables:
            sums = Margin(table.event.table, table.event.coarsening).sums(
                self._config.universe, truth
            )
            noise = draw_noise(generator, table.event, len(sums))
            cell_noise = noise if table is cells else cell_noise
            tables.append(MeasuredTable(table.event, sums + noise, table.variance))
        again = Measurements(
            self._measurements.release_id,
            self._measurements.configuration_hash,
            tuple(tables),
            self._measurements.selections,
        )
        values = estimate_whole(again, self._config).values
        return Redraw(truth, round_counts(values, self._atoms, seed), cell_noise)

    def _truth(self, generator: np.random.Generator, seed: int) -> NDArray[np.int64]:
        """Whole numbers around the estimate, with the required totals."""
        values = self._estimate.values
        drawn = draw_counts(generator, values, self._noise_variance)
        if self._atoms is None:
            return drawn
        raked, _ = rake(drawn.astype(float), self._atoms, values)
        return round_counts(raked, self._atoms, seed)


def cell_table(measurements: Measurements, config: Config) -> MeasuredTable | None:
    """The noisy table of all cells with the least noise, or None."""
    found = [
        table
        for table in measurements.tables
        if table.event.table == config.universe.names
        and not any(table.event.coarsening)
        and table.event.threshold is None
    ]
    return min(found, key=lambda table: table.variance, default=None)


def draw_counts(
    generator: np.random.Generator, means: NDArray[np.float64], variance: float
) -> NDArray[np.int64]:
    """Counts with these means, Poisson as far as a measurement of this variance leaves them open.

    A Poisson count of mean m, measured with noise of variance v, is left with about the variance
    m v / (m + v). That is the variance of a binomial number of m + v trials with mean m.
    """
    if not math.isfinite(variance):
        drawn: NDArray[np.int64] = generator.poisson(means)
        return drawn
    trials = np.ceil(means + variance)
    share = means / np.maximum(trials, 1.0)
    return generator.binomial(trials.astype(np.int64), np.minimum(share, 1.0))


class SimulatedErrors:
    """The calibrated errors of redraws of one release, cell by cell; made when first asked for."""

    def __init__(self, release: Release) -> None:
        """Simulate nothing yet."""
        self._release = release
        self._errors: list[NDArray[np.float32]] = []
        self._summed = lru_cache(maxsize=64)(self._sum_to)

    def sd(self, where: Conjunction, *, draws: int) -> float:
        """The root mean square error of the query's published count, in records.

        One error of one record is added to those of the redraws: none seen is not none possible.
        Raises: QueryError if the release cannot be simulated.
        """
        if len(self._errors) != draws:
            self._simulate(draws)
        sums = self._summed(tuple(where.codes))
        codes = where.codes.values()
        chosen = np.ix_(range(draws), *codes)
        errors = sums[chosen].reshape(draws, -1).sum(axis=1)
        return math.sqrt((float((errors**2).sum()) + 1) / draws)

    def _simulate(self, draws: int) -> None:
        """Redo the release; then enlarge the errors to what the noisy cells say of them."""
        measurements, config = self._release.measurements, self._release.config
        universe = config.universe
        listed = any(table.event.threshold is not None for table in measurements.tables)
        if listed or universe.size > LARGEST_CELLS:
            raise QueryError(
                "the errors of the published rows cannot be simulated",
                why=f"that is done for universes of up to {LARGEST_CELLS:,} cells, without lists",
                fix="ask for a count over the columns of a measured table; the manifest names "
                "them under accounting.events",
            )
        shape = universe.shape
        cells = cell_table(measurements, config)
        evidence = None
        if cells is not None:
            published = self._release.cell_counts.of_every_cell(shape)
            noisy = np.where(universe.possible(), cells.noisy_counts, 0)
            evidence = Evidence(noisy.reshape(shape), published.reshape(shape), cells.variance)
        redrawing = Redrawing(measurements, config)
        errors = []
        for number in range(draws):
            with stage(Stage.ESTIMATION, part=number + 1, parts=draws):
                redraw = redrawing.redraw(number)
            errors.append(redraw.errors.astype(np.int32).reshape(shape))
            if evidence is not None and redraw.cell_noise is not None:
                evidence.add(errors[-1], redraw.cell_noise.reshape(shape))
        if evidence is None:
            self._errors = [error.astype(np.float32) for error in errors]
        else:
            calibration = evidence.calibration()
            self._errors = [calibration.enlarged(error) for error in errors]
        self._summed.cache_clear()

    def _sum_to(self, names: tuple[str, ...]) -> NDArray[np.float64]:
        """The errors of the table over some columns; the first axis numbers the redraws."""
        universe = self._release.config.universe
        rest = tuple(axis for axis, name in enumerate(universe.names) if name not in names)
        return np.stack([each.sum(axis=rest, dtype=np.float64) for each in self._errors])


def half_width(sd: float, *, level: float, draws: int) -> float:
    """The quantile of Student's law with as many degrees of freedom as redraws, times the error."""
    return sd * float(stdtrit(draws, (1 + level) / 2))
