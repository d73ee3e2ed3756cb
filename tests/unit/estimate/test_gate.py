"""The gate: true counts pass, counts that contradict their own measurements do not."""

import math
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from synth import estimate as estimation
from synth.config import WeightedMarginal
from synth.domain import Attribute, Conjunction, Margin, PublicTotal, Universe
from synth.domain.counts import Counts, margin_sums
from synth.errors import ContradictionError
from synth.estimate import PublicSeeds, estimate_whole, gate, gate_repair
from synth.estimate.gate import MISS, Sums, constraints_contradict
from synth.estimate.gate_limits import spread_limit, sum_limit, too_few
from synth.estimate.listed.support import Support
from synth.estimate.whole.estimate import WholeEstimate
from synth.measurements import MeasuredTable, Measurements
from synth.noise import DiscreteLaplace, noise_variance
from synth.planning.listed import listing_event
from synth.planning.problem import problem_of
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

SHAPE = (6, 5, 4, 3)
SEEDS = PublicSeeds(11, 12)


def flat(counts):
    return counts.of_every_cell(SHAPE)


def judge(counts, measurements, config, **grown):
    counts = Counts.of_all(counts, config.universe.shape)
    return estimation.judge(counts, measurements, config, **grown)


class NotAtHand:
    """An estimate whose values are not held."""

    def support(self):
        return None


def gated(counts, values, measurements, config, seeds):
    fitted = NotAtHand() if values is None else WholeEstimate(values, config, {})
    rounded = Counts.of_all(counts, config.universe.shape)
    return estimation.gated(rounded, fitted, measurements, config, seeds)


@pytest.fixture
def config(make_config):
    universe = Universe(
        tuple(
            Attribute(f"a{i}", "categorical", tuple(f"l{code}" for code in range(size)))
            for i, size in enumerate(SHAPE)
        )
    )
    marginals = tuple(
        WeightedMarginal(names, Fraction(1))
        for order in (1, 2)
        for names in combinations(universe.names, order)
    )
    made = make_config((2,))
    workload = replace(made.workload, marginals=marginals)
    return replace(made, universe=universe, workload=workload)


def truth_of(seed=0, records=5_000):
    generator = np.random.default_rng([3, seed])
    law = generator.dirichlet(np.full(math.prod(SHAPE), 0.3))
    return generator.multinomial(records, law)


def event_of(universe, names, epsilon=None, rho=None):
    cells = Margin(names, (0,) * len(names)).cells(universe)
    if rho is None:
        return TableEvent(names, cells, 1, Fraction(epsilon))
    return TableEvent(
        names, cells, 1, mechanism=GAUSSIAN, rho=Fraction(rho), sensitivity_l2_squared=1
    )


def draw(event, size, generator):
    if event.rho is not None:
        return np.rint(generator.normal(0, math.sqrt(event.sigma_squared), size)).astype(np.int64)
    stop = -math.expm1(-float(1 / event.noise_scale_records))
    return generator.geometric(stop, size) - generator.geometric(stop, size)


def measured(config, truth, seed=0, *, universe="4/5", epsilon="1/20", rho=None):
    """Noise on every cell, on all tables of one attribute, on one of two, and on the total."""
    generator = np.random.default_rng([4, seed])
    names = config.universe.names
    wanted = [(name,) for name in names] + [names[:2], ()]
    events = [event_of(config.universe, each, epsilon, rho) for each in wanted]
    if universe:
        events.insert(0, event_of(config.universe, names, universe))
    tables = []
    for event in events:
        counts = Margin(event.table, event.coarsening).sums(config.universe, truth)
        noisy = counts + draw(event, counts.size, generator)
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("test", "0" * 64, tuple(tables))


# Limits.


def tail_of_sum(rate, noises, bound):
    """P(|S| > bound), by adding the law of one noise to itself."""
    reach = 400
    a = math.exp(-rate)
    law = (1 - a) / (1 + a) * a ** np.abs(np.arange(-reach, reach + 1)).astype(float)
    total = law
    for _ in range(noises - 1):
        total = np.convolve(total, law)
    middle = total.size // 2
    return float(total[np.abs(np.arange(total.size) - middle) > bound].sum())


@pytest.mark.parametrize("noises", [1, 2, 7])
@pytest.mark.parametrize("miss", [1e-3, 1e-6])
def test_the_limit_of_a_sum_is_one_and_no_far_one(noises, miss):
    event = TableEvent(("a",), 10, 1, Fraction(1, 2))
    limit = sum_limit(event, noises, miss)
    assert tail_of_sum(0.5, noises, limit) <= miss
    assert tail_of_sum(0.5, noises, 0.7 * limit) > miss


def test_gaussian_limits_hold_for_the_law_that_is_drawn():
    event = event_of(Universe((Attribute("a", "categorical", ("x", "y")),)), ("a",), rho="1/200")
    assert sum_limit(event, 4, 1e-6) == pytest.approx(
        math.sqrt(2 * 4 * 100 * math.log(2e6)), rel=1e-12
    )
    generator = np.random.default_rng(5)
    spreads = (generator.normal(0, 10, (20_000, 30)) ** 2).sum(axis=1)
    assert 1e-5 < (spreads > spread_limit(event, 30, 1e-2)).mean() < 1e-2


@pytest.mark.parametrize("epsilon", ["1/10", "1", "3"])
def test_the_limit_of_all_absolute_noises(epsilon):
    event = TableEvent(("a",), 30, 1, Fraction(epsilon))
    generator = np.random.default_rng(6)
    spreads = np.abs(draw(event, (20_000, 30), generator)).sum(axis=1)
    assert 1e-5 < (spreads > spread_limit(event, 30, 1e-2)).mean() < 1e-2


def test_too_few_rare_events():
    generator = np.random.default_rng(7)
    found = generator.binomial(10**6, 1e-4, 50_000)
    assert 1e-5 < (found < too_few(100.0, 1e-2)).mean() < 1e-2
    assert too_few(0.0, 1e-2) == 0.0


# The null: true counts pass.


@pytest.mark.parametrize(
    ("how", "least"),
    [
        ({}, 0.25),
        ({"universe": None}, 0.25),
        ({"rho": "1/500"}, 0.25),
        ({"epsilon": "10", "universe": "10"}, 0.15),  # most of it is for being whole
    ],
)
def test_true_counts_pass(config, how, least):
    ratios = []
    for seed in range(60):
        truth = truth_of(seed)
        verdict = judge(truth, measured(config, truth, seed, **how), config)
        assert verdict.passes
        ratios.append(verdict.worst.ratio)
    assert max(ratios) > least  # the limits are not so far out that nothing could reach them


def test_true_counts_pass_at_the_stated_rate(config, monkeypatch):
    """With a chance of one half instead of one in a million, fewer than half are stopped."""
    monkeypatch.setattr("synth.estimate.gate.MISS", 0.5)
    monkeypatch.setattr("synth.estimate.gate.rounding_allowance", lambda *_: 0.0)
    stopped = [
        not judge(truth_of(seed), measured(config, truth_of(seed), seed), config).passes
        for seed in range(200)
    ]
    assert 0 < sum(stopped) < 100
    assert MISS == 1e-6


@pytest.mark.parametrize("seed", range(3))
def test_estimates_pass_as_they_are(config, seed):
    measurements = measured(config, truth_of(seed), seed)
    fitted = estimate_whole(measurements, config)
    counts = fitted.round(5)
    passed = estimation.gated(counts, fitted, measurements, config, SEEDS)
    assert passed.report["outcome"] == "agree"
    assert passed.counts is counts


def test_counts_rounded_in_order_are_allowed_what_their_runs_may_be_off(config, monkeypatch):
    """Where cells are many, those that hold records may be few: then they are rounded twice."""
    first, last = (Margin((config.universe.names[place],), (0,)) for place in (0, -1))
    few = [gate._runs(margin, config.universe) for margin in (first, last)]
    assert few == [gate.BALANCED[1][0] + gate.BALANCED[1][1] * len(SHAPE)] * 2
    monkeypatch.setattr(gate, "MOST_CELLS", config.universe.size - 1)
    many = [gate._runs(margin, config.universe) for margin in (first, last)]
    assert many == [few[0] + 1, few[1] + math.prod(SHAPE[:-1])]


def test_what_grew_is_allowed_more_than_one_rounding(config):
    ratios = []
    for seed in range(9):
        truth = truth_of(seed)
        measurements = measured(config, truth, seed, epsilon="3", universe="3")
        both = [judge(truth, measurements, config, grown=each) for each in (True, False)]
        assert all(verdict.passes for verdict in both)
        ratios.append([verdict.worst.ratio for verdict in both])
    assert all(grown <= once for grown, once in ratios)
    assert any(grown < once for grown, once in ratios)


# Power: what an estimator may do wrong.


@pytest.mark.parametrize("wrong", [False, True])
def test_large_tables_are_judged_in_parts_as_at_once(make_config, monkeypatch, wrong):
    config = make_config((40, 50))
    generator = np.random.default_rng(5)
    truth = generator.poisson(generator.gamma(0.2, 20.0, 2_000))
    event = event_of(config.universe, config.universe.names, epsilon="1/5")
    table = MeasuredTable(event, truth + draw(event, truth.size, generator), noise_variance(event))
    measurements = Measurements("x", "", (table,))
    counts = truth + (generator.random(truth.size) < 0.001) * 200 * wrong
    monkeypatch.setattr(gate, "_LOOKED_AT", truth.size)
    every = judge(counts, measurements, config)
    assert every.passes != wrong
    monkeypatch.undo()
    monkeypatch.setattr(gate, "PAIRS_UP_TO", 100)
    monkeypatch.setattr(gate, "_AT_ONCE", 150)
    in_parts = judge(counts, measurements, config)
    assert in_parts.comparisons == every.comparisons
    assert in_parts.worst.kind == every.worst.kind
    assert in_parts.worst.off == every.worst.off
    assert in_parts.worst.ratio == pytest.approx(every.worst.ratio)


def shifted(counts, share=0.05):
    """That share of all records moved from the last to the first level of an attribute."""
    table = counts.reshape(SHAPE).copy()
    left = int(share * counts.sum())
    for cell in np.ndindex(SHAPE[1:]):
        moved = min(left, int(table[(1, *cell)]))
        table[(1, *cell)] -= moved
        table[(0, *cell)] += moved
        left -= moved
    assert left == 0
    return table.reshape(-1)


def doubled(counts):
    return 2 * counts


def halved(counts):
    return counts // 2


def clipped(measurements):
    """The estimator that invents records: negative counts set to zero."""
    return np.maximum(measurements.tables[0].noisy_counts, 0)


WRONG = {"shifted": shifted, "doubled": doubled, "halved": halved}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_counts_are_stopped_and_mended(config, name):
    truth = truth_of()
    measurements = measured(config, truth)
    wrong = WRONG[name](truth)
    verdict = judge(wrong, measurements, config)
    assert not verdict.passes
    mended = gated(wrong, wrong + 0.1, measurements, config, SEEDS)
    assert mended.report["outcome"] == "raked"
    assert mended.report["before"]["contradicted"] > 0
    assert estimation.judge(mended.counts, measurements, config).passes
    assert abs(int(mended.counts.total) - 5_000) < 200
    again = gated(wrong, wrong + 0.1, measurements, config, SEEDS)
    assert np.array_equal(flat(again.counts), flat(mended.counts))


def test_clipping_is_stopped(config):
    truth = truth_of(records=300)
    measurements = measured(config, truth, universe="1/2", epsilon="1/2")
    assert not judge(clipped(measurements), measurements, config).passes


def test_a_table_without_records_is_made_anew(config):
    truth = truth_of()
    measurements = measured(config, truth)
    nothing = np.zeros_like(truth)
    mended = gated(nothing, nothing.astype(np.float64), measurements, config, SEEDS)
    assert mended.report["outcome"] == "rebuilt"
    assert mended.drawn
    assert abs(int(mended.counts.total) - 5_000) < 200
    ones = [np.abs((flat(mended.counts) - truth).reshape(SHAPE).sum((1, 2, 3))).max()]
    assert max(ones) < 250


def test_counts_whose_values_are_not_at_hand_are_raked_themselves(config):
    truth = truth_of()
    mended = gated(2 * truth, None, measured(config, truth), config, SEEDS)
    assert mended.report["outcome"] == "raked"


def test_weights_that_have_all_but_vanished_grow_without_an_overflow(config):
    truth = truth_of()
    table = measured(config, truth).tables[1]
    margin = Margin(("a0",), (0,))
    noisy = np.asarray(table.noisy_counts)
    sums = Sums(1, table.event, margin, noisy, np.zeros_like(noisy), 1, 1.0)
    cells = tuple(config.universe.codes(np.arange(config.universe.size)))
    weights = np.where(cells[0] == 0, 5e-324, truth)
    own = [np.bincount(codes, weights) for codes in cells]
    support = Support(cells, weights, weights < 0)
    moved = gate_repair._moved(support, [sums], config.universe, own)
    assert np.isfinite(moved).all()
    assert (moved >= weights)[cells[0] == 0].all()


def test_many_noisy_pairs_move_what_they_contradict_and_little_else():
    """Noise of twice a cell's count in 45 tables would empty any table that it is copied to."""
    universe = Universe(
        tuple(Attribute(f"a{i}", "categorical", tuple(map(str, range(8)))) for i in range(12))
    )
    generator = np.random.default_rng(4)
    columns = tuple(generator.integers(0, 8, (12, 3_000)).astype(np.uint8))
    support = Support(columns, np.ones(3_000), np.zeros(3_000, dtype=bool))
    pairs = []
    for number, names in enumerate(combinations(universe.names[:10], 2)):
        event, margin = TableEvent(names, 64, 1, Fraction(1, 70)), Margin(names, (0, 0))
        now = margin_sums(columns, support.values, universe, margin).astype(np.int64)
        noisy = now + draw(event, 64, generator) + 700 * (np.arange(64) == 9) * (number < 3)
        pairs.append(Sums(number, event, margin, noisy, now, 1, 1.0))
    own = [np.bincount(codes, minlength=8).astype(np.float64) for codes in columns]
    weights = gate_repair._moved(support, pairs, universe, own)
    for pair in pairs[:3]:
        found = margin_sums(columns, weights, universe, pair.margin)
        assert found[9] > 2 * pair.published[9]
    assert weights.sum() == pytest.approx(3_000)
    for codes, before in zip(columns[10:], own[10:], strict=True):
        assert np.bincount(codes, weights, 8) == pytest.approx(before, rel=0.05)
    assert (weights > 0.2).mean() > 0.75


def test_a_list_that_is_taken_at_its_word_is_stopped(make_config):
    """Cells that noise listed, published with their noisy counts: the case of phantom records."""
    universe = Universe(
        tuple(Attribute(f"a{i}", "categorical", tuple(map(str, range(10)))) for i in range(5))
    )
    config = replace(make_config((2,)), universe=universe)
    problem = problem_of(config)
    listing = listing_event(problem, Fraction(1, 2), Fraction(0))
    generator = np.random.default_rng(8)
    truth = np.bincount(generator.integers(0, universe.size, 900), minlength=universe.size)
    noisy = truth + draw(listing, universe.size, generator)
    listed = np.flatnonzero(noisy >= listing.threshold)
    codes = np.stack(np.unravel_index(listed, universe.shape), axis=1)
    found = MeasuredTable(listing, noisy[listed], noise_variance(listing), codes)
    measurements = Measurements("test", "0" * 64, (found,))
    assert judge(truth, measurements, config).passes
    believed = np.zeros(universe.size, dtype=np.int64)
    believed[listed] = noisy[listed]
    verdict = judge(believed, measurements, config)
    assert verdict.list_contradicted
    assert verdict.worst.kind == "listed cells"
    heavy = replace(found, noisy_counts=found.noisy_counts + 100 * (np.arange(listed.size) == 0))
    ignored = judge(np.zeros_like(truth), Measurements("test", "0" * 64, (heavy,)), config)
    assert ignored.worst.kind == "listed cell"
    assert ignored.worst.ratio > 1


# Refusal.


def test_what_cannot_be_mended_is_refused_in_clear_words(config, monkeypatch):
    truth = truth_of()
    measurements = measured(config, truth)
    wrong = judge(doubled(truth), measurements, config)
    for attempt in ("_rake", "_rebuild"):
        monkeypatch.setattr(gate_repair, attempt, lambda *_: (Counts.of_all(truth, SHAPE), wrong))
    with pytest.raises(ContradictionError) as caught:
        gated(doubled(truth), None, measurements, config, SEEDS)
    assert caught.value.exit_code == 1
    said = str(caught.value)
    assert "nothing more was spent" in said
    assert "synth publish" in said


# Public totals are constraints.


def required(config, total):
    return replace(config, public_totals=(PublicTotal(Conjunction({}), total, "a register"),))


def test_wrong_public_totals_are_reported_and_not_refused(config):
    truth = truth_of()
    measurements = measured(config, truth)
    wrong = required(config, 9_000)
    assert constraints_contradict(measurements, wrong)
    fitted = estimate_whole(measurements, wrong)
    counts = fitted.round(5)
    passed = estimation.gated(counts, fitted, measurements, wrong, SEEDS)
    assert passed.counts is counts
    assert passed.report["outcome"] == "public knowledge"
    assert passed.report["contradicted"] > 0


def test_right_public_totals_excuse_nothing_and_hold_when_counts_are_mended(config):
    truth = truth_of()
    measurements = measured(config, truth)
    right = required(config, 5_000)
    assert not constraints_contradict(measurements, right)
    wrong = shifted(truth)
    mended = gated(wrong, wrong + 0.1, measurements, right, SEEDS)
    assert mended.report["outcome"] == "raked"
    assert mended.counts.total == 5_000


def test_totals_of_parts_are_held_against_the_tables_that_speak_of_them(config):
    truth = truth_of()
    measurements = measured(config, truth)
    name = config.universe.names[0]
    here = int(truth.reshape(SHAPE)[0].sum())
    for total, contradicts in ((here, False), (here + 2_000, True), (max(0, here - 2_000), True)):
        part = PublicTotal(Conjunction({name: (0,)}), total, "a register")
        found = constraints_contradict(measurements, replace(config, public_totals=(part,)))
        assert found == (contradicts and abs(total - here) > 1_000)


def test_impossible_cells_stay_empty_when_counts_are_mended(config):
    rule = Conjunction({config.universe.names[0]: (0,), config.universe.names[1]: (0,)})
    narrow = replace(config, universe=Universe(config.universe.attributes, (rule,)))
    truth = np.where(narrow.universe.possible(), truth_of(), 0)
    measurements = measured(narrow, truth)
    for wrong in (2 * truth, np.zeros_like(truth)):
        mended = gated(wrong, wrong.astype(np.float64), measurements, narrow, SEEDS)
        assert flat(mended.counts)[~narrow.universe.possible()].sum() == 0


def test_a_law_without_noise_to_speak_of_allows_for_whole_counts(config):
    truth = truth_of()
    measurements = measured(config, truth, universe="50", epsilon="50")
    fitted = estimate_whole(measurements, config)
    assert estimation.judge(fitted.round(5), measurements, config).passes
    assert float(DiscreteLaplace(Fraction(50), 1).alpha) < 1e-20


def test_records_in_impossible_cells_are_reported_and_not_refused(config):
    """With the cells measured, and with small tables that tell nothing of the cells alone."""
    truth = truth_of()
    rule = Conjunction({config.universe.names[0]: (0, 1, 2), config.universe.names[1]: (0, 1, 2)})
    narrow = replace(config, universe=Universe(config.universe.attributes, (rule,)))
    assert truth[~narrow.universe.possible()].sum() > 500
    for universe in ("4/5", None):
        measurements = measured(config, truth, universe=universe, epsilon="1")
        counts = np.where(narrow.universe.possible(), truth, 0)
        passed = gated(counts, counts + 0.0, measurements, narrow, SEEDS)
        assert passed.report["outcome"] == "public knowledge"
        assert np.array_equal(flat(passed.counts), counts)
