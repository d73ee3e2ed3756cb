"""One attribute in the linear theory: its partitions, and noise and queries by component.

Partition 0 sums the attribute out, the last one is that of the codes, and the declared resolutions
are between them. Where groups of different sizes have the same parent, one more partition, which
is never measured, merges the groups of equal size. The functions on the codes are split into
mutually orthogonal levels: level l holds what is constant on the groups of partition l and
sums to zero in every group of partition l - 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from synth.domain import Attribute, Margin, Universe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Intervals = Literal["prefix", "range"]


@dataclass(frozen=True, eq=False)
class Axis:
    """The partitions of the codes of one attribute, coarsest first.

    Shapes and units: `groups[r]` groups in partition r. `noise_factor[l, r]` is n times the mean
    over an orthonormal basis of level l of sum_g f_g^2 over the groups g of partition r (f_g: the
    value of f on g), n codes, for l <= r: the variance with which isotropic noise of variance 1/n
    on those groups hides a unit-norm query of level l. With groups of equal sizes it is groups[r]
    for every l, and exact for every function of the level; otherwise it is an average that
    leaves out how the noise of different functions is correlated.
    """

    name: str
    groups: tuple[int, ...]
    noise_factor: Floats
    group_of: NDArray[np.int64]
    """The group of every code in every partition."""
    measured: tuple[int, ...]
    """The partition of every declared resolution, from summed out to the codes."""
    bins: int
    """Codes that are no missing level."""

    @property
    def depth(self) -> int:
        """The finest partition, that of the codes."""
        return len(self.groups) - 1

    @property
    def is_balanced(self) -> bool:
        """Whether the noise factor depends on the measured partition alone."""
        return all(
            abs(self.noise_factor[level, last] - self.groups[last]) < 1e-9 * self.groups[last]
            for last in self.measured
            for level in range(last + 1)
            if self._dimension(level)
        )

    def cell_energy(self) -> Floats:
        """The mean over all codes of the squared norm, over n, of their part up to each level."""
        import numpy as np

        size = self.groups[-1]
        return np.asarray(self.groups, dtype=np.float64) / size**2

    def interval_energy(self, kind: Intervals) -> Floats:
        """The same for intervals of bins: those from the first bin on, or all of them.

        A group g of c codes adds |interval in g|^2 / c. The bins of g up to position k are S_k;
        sum_k S_k^2 = sum over the bins of g of (2 rank + 1)(m - position), and the sum over all
        pairs of positions of (S_b - S_a)^2 is (m + 1) sum_k S_k^2 - (sum_k S_k)^2. Where there
        are coarser resolutions, c leaves a missing level out: there it is nearly always a group
        of its own, so that sums over bins have none of its noise.
        """
        import numpy as np

        bins, size = self.bins, self.groups[-1]
        later = (bins - np.arange(bins)).astype(np.float64)  # positions beyond each bin
        counted = self.group_of if len(self.measured) == 2 else self.group_of[:, :bins]
        energy = np.empty(self.depth + 1)
        for partition, count in enumerate(self.groups):
            group = self.group_of[partition, :bins]
            squares = np.bincount(group, (2 * _ranks(group) + 1) * later, count)
            if kind == "range":
                sums = np.bincount(group, later, count)
                squares = (bins + 1) * squares - sums**2
            codes = np.maximum(np.bincount(counted[partition], minlength=count), 1)
            energy[partition] = (squares / codes).sum()
        return energy / (interval_count(bins, kind) * size)

    def _dimension(self, level: int) -> int:
        return self.groups[level] - (self.groups[level - 1] if level else 0)


def interval_count(bins: int, kind: Intervals) -> int:
    """How many intervals there are: `bins` from the first bin on, or bins (bins + 1) / 2."""
    return bins if kind == "prefix" else bins * (bins + 1) // 2


def axis_of(attribute: Attribute) -> Axis:
    """The partitions of one attribute, from summed out to its codes."""
    import numpy as np

    partitions: list[NDArray[np.int64]] = []
    measured = []
    for resolution in range(attribute.depth + 1):
        finer = np.array(attribute.groups(attribute.depth - resolution), dtype=np.int64)
        if partitions:
            by_size = _merged_by_size(partitions[-1], finer)
            if by_size is not None:
                partitions.append(by_size)
        measured.append(len(partitions))
        partitions.append(finer)
    counts = [np.bincount(partition) for partition in partitions]
    groups = tuple(len(count) for count in counts)
    factor = np.zeros((len(partitions), len(partitions)))
    inverse = [1 / count[row] for count, row in zip(counts, partitions, strict=True)]
    for level, here in enumerate(inverse):
        part = here - inverse[level - 1] if level else here
        dimension = groups[level] - (groups[level - 1] if level else 0)
        for last in range(level, len(partitions)):
            if dimension:
                trace = float((part * inverse[last]).sum())
                factor[level, last] = attribute.size * trace / dimension
            else:  # nothing is in this level, but a class that is named by it holds those before
                factor[level, last] = factor[level - 1, last]
    group_of = np.stack(partitions)
    return Axis(attribute.name, groups, factor, group_of, tuple(measured), attribute.bin_count)


def _merged_by_size(coarse: NDArray[np.int64], fine: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Groups of `fine` of equal size within one of `coarse` as one; None if that is nothing new."""
    import numpy as np

    sizes = np.bincount(fine)[fine]
    merged = np.unique(coarse * (fine.size + 1) + sizes, return_inverse=True)[1]
    count = merged.max() + 1
    return merged if coarse.max() + 1 < count < fine.max() + 1 else None


def axes_of(universe: Universe) -> tuple[Axis, ...]:
    """The axes of a universe, in the order of their names.

    Ensures: no figure of the plan depends on the order of the columns, not even by rounding.
    """
    return tuple(axis_of(each) for each in sorted(universe.attributes, key=lambda a: a.name))


def point_of(axes: Sequence[Axis], margin: Margin) -> tuple[int, ...]:
    """The partition of every axis in a margin; 0 where it is summed out."""
    steps = dict(zip(margin.names, margin.coarsening, strict=True))
    return tuple(axis.measured[-1 - steps[axis.name]] if axis.name in steps else 0 for axis in axes)


def margin_at(universe: Universe, axes: Sequence[Axis], point: Sequence[int]) -> Margin:
    """The margin with these partitions: the inverse of `point_of`."""
    steps = {
        axis.name: len(axis.measured) - 1 - axis.measured.index(partition)
        for axis, partition in zip(axes, point, strict=True)
        if partition
    }
    names = tuple(name for name in universe.names if name in steps)
    return Margin(names, tuple(steps[name] for name in names))


def _ranks(group: NDArray[np.int64]) -> NDArray[np.int64]:
    """How many earlier codes are in the same group."""
    import numpy as np

    order = np.argsort(group, kind="stable")
    ordered = group[order]
    first = np.searchsorted(ordered, ordered)
    ranks = np.empty_like(group)
    ranks[order] = np.arange(group.size) - first
    return ranks
