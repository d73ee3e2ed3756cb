"""How far the published counts are from the noisy tables; nothing of it needs the raw data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from synth.domain import Margin, Universe
from synth.domain.sparse_counts import SparseCounts, margin_sums
from synth.measurements import MeasuredTable
from synth.release.manifest.large_residuals import (
    large_marginal_residuals,
    large_root_mean_square,
)
from synth.release.manifest.residuals import marginal_residuals, root_mean_square
from synth.release.rows import RowCounts

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class _Held:
    """Published less noisy counts of one table."""

    residuals: NDArray[np.int64]
    shape: tuple[int, ...]

    def root_mean_square(self) -> float:
        return root_mean_square(self.residuals)

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        return marginal_residuals(self.residuals, self.shape, marginals)


@dataclass(frozen=True, eq=False)
class _Large:
    """The same for all cells of a universe too large to subtract."""

    counts: SparseCounts
    noisy_counts: NDArray[Any]
    shape: tuple[int, ...]

    def root_mean_square(self) -> float:
        return large_root_mean_square(self.counts, self.noisy_counts, self.shape)

    def of_marginals(self, marginals: Sequence[tuple[int, ...]]) -> list[float]:
        return large_marginal_residuals(self.counts, self.noisy_counts, self.shape, marginals)


def residuals_of(
    table: MeasuredTable, margin: Margin, counts: RowCounts, universe: Universe
) -> _Held | _Large:
    """Published less noisy counts of a table."""
    shape = margin.shape(universe)
    finest = margin.names == universe.names and not any(margin.coarsening)
    if isinstance(counts, SparseCounts) and table.codes is None and finest:
        return _Large(counts, table.noisy_counts, shape)
    return _Held(_published(table, margin, counts, universe) - table.noisy_counts, shape)


def _published(
    table: MeasuredTable, margin: Margin, counts: RowCounts, universe: Universe
) -> NDArray[np.int64]:
    """The published counts of the cells for which the table has a noisy one."""
    import numpy as np

    if not isinstance(counts, SparseCounts):
        return margin.sums(universe, counts)
    if table.codes is not None:
        return counts.at(tuple(table.codes.T), universe.shape)
    return margin_sums(counts.columns, counts.values, universe, margin).astype(np.int64)
