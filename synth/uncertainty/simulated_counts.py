"""How far published counts are off, told by redraws of the whole pipeline."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

from synth.errors import QueryError
from synth.progress import Stage, stage
from synth.published import Release
from synth.uncertainty.calibration import Evidence
from synth.uncertainty.query import Query
from synth.uncertainty.redraw import Redrawing, cell_table

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DRAWS = 20
"""Redraws of one release, each about as long as publishing it took."""

LARGEST_CELLS = 1 << 21
"""No larger universe is simulated: every redraw estimates all of it."""


class SimulatedErrors:
    """The calibrated errors of redraws of one release, cell by cell; made when first asked for."""

    def __init__(self, release: Release) -> None:
        """Simulate nothing yet."""
        self._release = release
        self._errors: list[NDArray[np.float32]] = []
        self._summed = lru_cache(maxsize=64)(self._sum_to)

    def sd(self, query: Query, *, draws: int) -> float:
        """The root mean square error of the query's published count, in records.

        One error of one record is added to those of the redraws: none seen is not none possible.
        Raises: QueryError if the release cannot be simulated.
        """
        import numpy as np

        if len(self._errors) != draws:
            self._simulate(draws)
        sums = self._summed(query.columns)
        codes = query.where.codes.values()
        chosen = np.ix_(range(draws), *codes)
        errors = sums[chosen].reshape(draws, -1).sum(axis=1)
        return math.sqrt((float((errors**2).sum()) + 1) / draws)

    def _simulate(self, draws: int) -> None:
        """Redo the release; then enlarge the errors to what the noisy cells say of them."""
        import numpy as np

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
            published = np.asarray(self._release.cell_counts)
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
        import numpy as np

        universe = self._release.config.universe
        rest = tuple(axis for axis, name in enumerate(universe.names) if name not in names)
        return np.stack([each.sum(axis=rest, dtype=np.float64) for each in self._errors])


def half_width(sd: float, *, level: float, draws: int) -> float:
    """The quantile of Student's law with as many degrees of freedom as redraws, times the error."""
    from scipy.stats import t

    return sd * float(t.ppf((1 + level) / 2, draws))
