"""The model of a large universe: log-linear, its interactions inside pairs of groups."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from synth.estimate.blocks.cells import Cells
from synth.estimate.blocks.groups import PairTables
from synth.estimate.blocks.scores import (
    Score,
    Term,
    information_score,
    mean_score,
    on_grid,
    variance_score,
)
from synth.estimate.blocks.sums import (
    PairPart,
    PairSums,
    coefficients_of,
    function_of,
    joined,
    singles_of,
    squares_of,
)
from synth.estimate.blocks.towards_sums import one_way
from synth.estimate.evidence import information_of_codes, joint_information, weigh_evidence
from synth.estimate.loglinear import (
    LARGEST_DISCOUNT,
    LogLinear,
    Schedule,
    Spreads,
    component_deviations,
    first_spreads,
)
from synth.estimate.posterior import Mixture
from synth.estimate.solver import Map
from synth.planning.costs import LEAST_EFFORT, effort_of

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_STAGES = ((1, 12), (2, 16), (3, 6))
"""Up to how many attributes interact, and how many iterations are made, stage after stage."""
_EVIDENCE_ITERATIONS = 20
_LEARNING_ROUNDS, _TOLERANCE_OF_LEARNING = 3, 1e-3
"""In single precision no step promises less than this for each coefficient."""
_AGAIN_ITERATIONS = 8
"""All of these times what `effort_of` says."""
_DISCOUNT = 0.3
_SHORTENING = 0.25
"""Where every trial is a pass over the cells, a step that goes a thousand times too far is found
out in five trials, not in ten."""
_LITTLE_NOISE = 8.0
"""Up to this variance cells say nearly all that sums do. Pairs that are fitted to cells of more
noise alone come out up to a tenth worse, and what the fit does later does not make up for it."""
_MEMORY, _REMEMBERED_COEFFICIENTS = 60, 100_000
"""Up to so many coefficients more steps are remembered: that costs far less than a pass."""


@dataclass(frozen=True, eq=False)
class BlocksFit:
    """The fitted log means, and the same less what their uncertainty exaggerates.

    `theta`, `spreads`, `discount` and `mixture` are where another fit can start.
    """

    log_mean: PairTables
    discounted: PairTables
    theta: Floats
    spreads: Spreads
    discount: PairTables | None
    mixture: Mixture | None
    """Of the prior of a count, where cells were measured."""


class BlocksModel(LogLinear):
    """log m = base + f(o, p) + g(o, q) + h(p, q), each a sum of interactions of few attributes.

    The equations are those of `LogLinear`, and noisy sums move the expected counts as in
    `whole.model`; the slope needs the cells only through sums over pairs of groups, and a pass over
    the cells gives those. With sums a step takes two passes, the second one half as long again. So
    cells with little noise are fitted without them until the last stage, which has all
    interactions; and where passes are dearest all cells are, to the end: the sums then move the
    estimate afterwards (`towards_sums.tilt`).
    """

    carries_scale = True

    def __init__(
        self,
        cells: Cells,
        parts: tuple[PairPart, ...],
        sums: PairSums | None,
        *,
        base: float,
        noise_variance: float,
        learns: bool = False,
    ) -> None:
        """`noise_variance` is that of the cells, if they were measured; `sums` may be None.

        With `learns` it is learned how far counts vary around their means, in place of a discount.
        """
        super().__init__()
        self.cells, self.parts, self.base = cells, parts, base
        self._effort = effort_of(math.prod(cells.groups.sizes))
        too_dear = cells.noisy is not None and self._effort <= LEAST_EFFORT and not learns
        self.sums = None if too_dear else sums
        self._join_late = cells.noisy is not None and noise_variance <= _LITTLE_NOISE
        self._mean = mean_score()
        self._information = information_score(noise_variance)
        self._learns = learns
        self.tolerance = _TOLERANCE_OF_LEARNING if learns else 0.0
        self._pull: Score | None = None
        self.expected_score, self._variance = self._mean, self._mean
        if cells.noisy is not None:
            self._variance = variance_score(noise_variance)
            self.shortening = _SHORTENING
            self._use(cells)
        if sum(part.places.size for part in parts) <= _REMEMBERED_COEFFICIENTS:
            self.memory = _MEMORY
        self._move: Map | None = None
        self._discount: PairTables | None = None
        self._last: tuple[Floats, dict[tuple[Score, ...], PairTables]] | None = None

    def fit(self, start: PairTables) -> BlocksFit:
        """Main effects, pairs, triples; then spreads and a discount set by the evidence, once.

        `start` is a first guess of the log means, but for their base.
        """
        spreads = [first_spreads(part.interactions, part.components) for part in self.parts]
        largest = max([1, *(part.largest_order for part in self.parts)])
        effort = self._effort
        schedule = Schedule(
            [(order, round(number * effort)) for order, number in _STAGES if order <= largest],
            [round(_EVIDENCE_ITERATIONS * effort)] * (_LEARNING_ROUNDS if self._learns else 1),
        )
        theta = coefficients_of(self.parts, start)
        self._learn(theta)
        theta, spreads = self.climb(theta, spreads, schedule)
        return self._fit(theta, spreads)

    def fit_again(self, before: BlocksFit) -> BlocksFit:
        """The same from where the fit to tables that were much the same ended.

        Its spreads, its discount and what it learned stay.
        """
        self._discount, self._last = before.discount, None
        if self.cells.noisy is not None and before.mixture is not None:
            self._use(self.cells.with_posterior(self.cells.noisy.posterior.mixed(before.mixture)))
        iterations = max(1, round(_AGAIN_ITERATIONS * self._effort))
        return self._fit(self.climb_again(before.theta, before.spreads, iterations), before.spreads)

    def _fit(self, theta: Floats, spreads: Spreads) -> BlocksFit:
        log_mean = self._log_mean(theta)
        noisy = self.cells.noisy
        mixture = None if noisy is None else noisy.posterior.mixture
        discounted = self._discounted(log_mean)
        return BlocksFit(log_mean, discounted, theta, spreads, self._discount, mixture)

    def _learn(self, theta: Floats) -> None:
        if self._learns:
            self._use(self.cells.learned(on_grid(self._log_mean(theta))))
        if self._learns and self.cells.noisy is not None:
            self.note_learned(self.cells.noisy.posterior.mixture)

    def _use(self, cells: Cells) -> None:
        """Take the posterior means of these cells from now on."""
        if cells.noisy is not None:
            self.cells = cells
            self._pull, self.expected_score = cells.noisy.pull_score(), cells.noisy.mean_score()

    def variances(self, log_mean: PairTables) -> PairTables:
        """Sums over pairs of the variances of the counts, once their noisy counts are known."""
        return self.cells.sums([Term(self._variance, on_grid(log_mean))])

    def _log_mean(self, theta: Floats) -> PairTables:
        return function_of(self.cells.groups, self.parts, theta).shifted(self.base)

    def _discounted(self, log_mean: PairTables) -> PairTables:
        return log_mean if self._discount is None else log_mean.minus(self._discount)

    @property
    def _moving(self) -> PairSums | None:
        """The noisy sums that move the expected counts at this stage."""
        return self.sums if self.is_complete or not self._join_late else None

    def _remembered(self, theta: Floats, terms: list[Term]) -> PairTables:
        """Sums over pairs of the terms, which are made of these coefficients.

        Those of the last coefficients are kept, by the scores of their terms.
        """
        if self._last is None or not np.array_equal(theta, self._last[0]):
            self._last = theta, {}
        scores, known = tuple(term.score for term in terms), self._last[1]
        if scores not in known:
            known[scores] = self.cells.sums(terms)
        return known[scores]

    def _expected(self, theta: Floats, lowered: PairTables) -> PairTables:
        """Sums over pairs of the expected counts; `lowered` are discounted means, on the grid."""
        return self._remembered(theta, [Term(self.expected_score, lowered)])

    def _field(self, theta: Floats) -> PairTables:
        """Sums over pairs of expected count, moved by the noisy sums, less mean."""
        log_mean = self._log_mean(theta)
        grid = on_grid(log_mean)
        lowered = grid if self._discount is None else on_grid(self._discounted(log_mean))
        less_mean = Term(self._mean, grid, sign=-1)
        sums = self._moving
        if self._move is None or sums is None:
            if self._pull is not None and self._discount is None:
                return self._remembered(theta, [Term(self._pull, grid)])
            return self._remembered(theta, [Term(self.expected_score, lowered), less_mean])
        expected = self._expected(theta, lowered)
        weighted = sums.split(self._move(joined(sums.gaps(expected))))
        moved = Term(self._variance, lowered, weight=sums.expand(weighted))
        if self._pull is None:  # expected counts are the means
            return self.cells.sums([moved])
        return expected.with_each(self.cells.sums([moved, less_mean]), np.add)

    def _weigh_sums(self, theta: Floats, log_mean: PairTables) -> None:
        """Renew how a difference in the noisy sums moves the expected counts."""
        sums = self._moving
        if sums is None:
            return
        if self.cells.noisy is None:
            precision = sums.precision
            self._move = lambda gap: gap * precision
            return
        lowered = self._discounted(log_mean)
        gaps = sums.gaps(self._expected(theta, on_grid(lowered)))
        variances = self.variances(lowered)
        spreads = sums.spreads(variances)
        weigh = self.doubts_itself and not self._learns
        firm = sums.trusted(gaps, spreads) if weigh else sums
        noise = 1.0 / firm.precision
        singles = sums.singles()
        if singles is None:
            weight = 1.0 / (joined(spreads) + noise)
            self._move = lambda gap: gap * weight
        else:
            single = [one_way(self.cells.groups, variances, each.axis) for each in singles.axes]
            self._move = singles.divider(single, noise)

    def _means(self, theta: Floats, grid: PairTables) -> PairTables:
        return self._remembered(theta, [Term(self._mean, grid)])

    def _known(self, theta: Floats, grid: PairTables) -> PairTables | None:
        if self.cells.noisy is None:
            return None
        return self._remembered(theta, [Term(self._information, grid)])

    def deviations(self, spreads: Spreads, order: int | None) -> Floats:
        """By coefficient, those of all parts one after another; see `LogLinear`."""
        scales = []
        for part, spread in zip(self.parts, spreads, strict=True):
            by_component = component_deviations(part.interactions, spread, order)
            scales.append(by_component[part.interactions.component[part.places]])
        return np.concatenate(scales)

    def pull(self, theta: Floats) -> Floats:
        """Expected counts, moved by the noisy sums, less means; see `LogLinear`."""
        return coefficients_of(self.parts, self._field(theta))

    def information(self, theta: Floats) -> Floats:
        """Of the cells and the noisy sums together; see `LogLinear`."""
        log_mean = self._log_mean(theta)
        grid = on_grid(log_mean)
        self._weigh_sums(theta, log_mean)
        known = self._known(theta, grid)
        size = sum(part.places.size for part in self.parts)
        information = np.zeros(size) if known is None else squares_of(self.parts, known)
        sums = self._moving
        if sums is None:
            return information
        mean = squares_of(self.parts, self._means(theta, grid))
        end = 0
        for part, each in zip(self.parts, sums.coefficients, strict=True):
            if each is not None:
                places = end + np.searchsorted(part.places, each.places)
                information[places] = joint_information(
                    mean[places], information[places], each.precision
                )
            end += part.places.size
        return information

    def divider(self, theta: Floats, active: Ints, unit: Floats) -> Map:
        """Of main effects alone by their codes; see `LogLinear`."""
        groups = self.cells.groups
        singles = singles_of(groups, [(part, part.places) for part in self.parts])
        if singles is None or active.size < theta.size:
            return super().divider(theta, active, unit)
        log_mean = self._log_mean(theta)
        grid = on_grid(log_mean)
        self._weigh_sums(theta, log_mean)
        mean, known = self._means(theta, grid), self._known(theta, grid)
        precision, sums, end = np.zeros(theta.size), self._moving, 0
        for number, part in enumerate(self.parts):
            each = None if sums is None else sums.coefficients[number]
            if each is not None:
                precision[end + np.searchsorted(part.places, each.places)] = each.precision
            end += part.places.size
        none = mean.of_each(np.zeros_like) if known is None else known
        one = partial(one_way, groups)
        weights = information_of_codes(singles, partial(one, mean), partial(one, none), precision)
        return singles.divider_in_units(weights, unit)

    def weigh_evidence(self, theta: Floats, spreads: Spreads) -> Spreads:
        """Renew every spread, and the discount of every cell or what is learned."""
        log_mean = self._log_mean(theta)
        grid = on_grid(log_mean)
        mean, known = self._means(theta, grid), self._known(theta, grid)
        renewed: Spreads = []
        tables: list[Floats | None] = [None, None, None]
        end = 0
        for number, (part, spread) in enumerate(zip(self.parts, spreads, strict=True)):
            full = np.zeros(part.interactions.size)
            full[part.places] = theta[end : end + part.places.size]
            end += part.places.size
            expected = np.asarray(mean.tables[part.pair])
            informed = np.zeros(expected.shape) if known is None else known.tables[part.pair]
            evidence = weigh_evidence(
                part.interactions,
                full,
                spread,
                mean=expected.reshape(-1),
                information=np.asarray(informed).reshape(-1),
                sums=None if self.sums is None else self.sums.coefficients[number],
            )
            renewed.append(evidence.spread)
            lowered = 0.5 * _DISCOUNT * evidence.uncertainty.reshape(expected.shape)
            tables[part.pair] = np.minimum(lowered, LARGEST_DISCOUNT)
        self._learn(theta)
        if not self._learns and self.cells.noisy is not None:
            # the discount of all means together is made up for, so that their total stays
            discount = PairTables((tables[0], tables[1], tables[2]))
            lowered_mean = self.cells.sums([Term(self._mean, on_grid(log_mean.minus(discount)))])
            before, after = mean.total(), lowered_mean.total()
            shift = math.log(after / before) if before > 0.0 and after > 0.0 else 0.0
            self._discount, self._last = discount.shifted(shift), None
        return renewed
