"""Standard errors and intervals from replicates, against their formulas; and when they are told."""

import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.special import stdtrit

from synth.domain import Attribute, Universe
from synth.errors import QueryError
from synth.measurements import MeasuredTable
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading import statistics as st
from synth.reading.inference import COLUMNS, inferred
from synth.reading.replicate_weights import Rule, Weights
from synth.reading.weighted_table import WeightedTable

UNIVERSE = Universe(
    (
        Attribute("age", "integer", edges=tuple(map(Fraction, (20, 21, 22, 23, 24, 25, 25)))),
        Attribute("sex", "categorical", ("f", "m"), missing=("",)),
        Attribute("town", "categorical", ("north", "south", "west")),
    )
)
EVENTS = (
    TableEvent(("age", "sex"), 18, 1, Fraction(1)),
    TableEvent(("sex",), 3, 1, Fraction(1)),
    TableEvent(("sex", "town"), 9, 1, Fraction(1)),
)


def rule(*events: TableEvent, columns: int = 2, noise: float = 1.0) -> Rule:
    tables = [
        MeasuredTable(event, np.zeros(event.cells, dtype=np.int64), noise * noise_variance(event))
        for event in events
    ]
    return Rule.of(tables, calibrated_columns=columns, largest_shift=0.5)


RULE = rule(*EVENTS)
REPLICATES, FACTOR = 30, 1.25


@pytest.fixture(scope="module")
def weights() -> Weights:
    generator = np.random.default_rng(8)
    codes = np.stack(np.unravel_index(np.arange(UNIVERSE.size), UNIVERSE.shape)).astype(np.int64)
    counts = generator.poisson(40, UNIVERSE.size)
    noisy = np.maximum(counts + generator.integers(-6, 7, (REPLICATES, UNIVERSE.size)), 0)
    every = np.concatenate([counts[None], noisy]).astype(np.float64)
    return Weights(WeightedTable(UNIVERSE, codes, every), FACTOR, RULE)


def mean_age(frame: pd.DataFrame, weights: np.ndarray) -> float:
    return float(np.average(frame["age"].to_numpy(dtype=float), weights=weights))


def test_the_variance_is_the_mean_square_about_the_release_times_the_factor(weights):
    found = inferred(weights, st.mean("age"), level=0.9)
    assert list(found.columns) == list(COLUMNS)
    frame = weights.frame()
    names = [f"release_replicate_{number}" for number in range(1, REPLICATES + 1)]
    assert frame.columns.to_list() == ["age", "sex", "town", "release_count", *names]
    each = np.array([mean_age(frame, frame[name]) for name in names])
    theta = mean_age(frame, frame["release_count"])
    error = math.sqrt(FACTOR / REPLICATES * ((each - theta) ** 2).sum())
    row = found.loc["mean age"]
    assert row["estimate"] == pytest.approx(theta, rel=1e-14)
    assert row["standard_error"] == row["noise_se"] == pytest.approx(error, rel=1e-9)
    width = float(stdtrit(REPLICATES, 0.95)) * error
    assert [row["low"], row["high"]] == pytest.approx([theta - width, theta + width])
    assert (row["sampling_se"], row["degrees_of_freedom"], row["factor"]) == (0, 30, FACTOR)
    assert row["usable"]
    assert row["reason"] == ""


def test_a_function_of_the_reader_gives_what_the_built_in_statistic_does(weights):
    own = inferred(weights, mean_age, columns=["age"])
    built_in = inferred(weights, st.mean("age"))
    assert own.index.to_list() == ["statistic"]
    same = ["estimate", "standard_error", "low", "high"]
    assert own[same].to_numpy() == pytest.approx(built_in[same].to_numpy(), rel=1e-12)
    several = inferred(weights, lambda frame, w: {"n": w.sum(), "a": mean_age(frame, w)})
    assert several.index.to_list() == ["n", "a"]
    assert several.loc["a", same].to_list() == pytest.approx(built_in.iloc[0][same].to_list())
    assert "age, sex, town together" in several.loc["a", "reason"], "it may use all of them"
    assert inferred(weights, lambda _, w: [w.sum(), w.max()]).index.to_list() == ["0", "1"]


def test_the_sampling_error_is_that_of_a_simple_random_sample_and_kept_apart(weights):
    table = weights.table
    counts = table.weights[0]
    ages = np.repeat(20.0 + table.codes[0], counts.astype(int))
    records = len(ages)
    found = inferred(weights, st.mean("age"), sampling=True).iloc[0]
    assert found["sampling_se"] == pytest.approx(ages.std(ddof=1) / math.sqrt(records), rel=1e-12)
    both = math.hypot(found["noise_se"], found["sampling_se"])
    assert found["standard_error"] == pytest.approx(both)
    freedom = REPLICATES * (both / found["noise_se"]) ** 4
    assert found["degrees_of_freedom"] == pytest.approx(freedom), "Satterthwaite"
    width = float(stdtrit(freedom, 0.975)) * both
    assert found["high"] - found["estimate"] == pytest.approx(width)
    part = inferred(weights, st.mean("age"), sampling=4 * records).iloc[0]
    assert part["sampling_se"] == pytest.approx(found["sampling_se"] * math.sqrt(0.75))
    resampled = inferred(weights, mean_age, sampling=True, columns=["age"]).iloc[0]
    # 200 resamples: a standard error of 5 %, five of them
    assert resampled["sampling_se"] == pytest.approx(found["sampling_se"], rel=0.25)


def test_the_sampling_error_of_coefficients_allows_for_unequal_spread(weights):
    """The sandwich of White (1980), times n / (n - 1)."""
    table = weights.table
    each = np.repeat(np.arange(UNIVERSE.size), table.weights[0].astype(int))
    sex = table.codes[1][each]
    age, man = 20.0 + table.codes[0][each][sex < 2], (sex[sex < 2] == 1).astype(float)
    design = np.stack([np.ones(len(age)), man], axis=1)
    bread = np.linalg.inv(design.T @ design)
    residual = age - design @ bread @ design.T @ age
    meat = (design * residual[:, None] ** 2).T @ design
    records = table.weights[0].sum()  # the sample has those without a value, too
    expected = np.sqrt(np.diag(bread @ meat @ bread) * records / (records - 1))
    found = inferred(weights, st.ols("age", ["sex"]), sampling=True)
    assert found["sampling_se"].to_numpy() == pytest.approx(expected, rel=1e-9)
    assert found["left_out"].to_list() == [float((sex == 2).sum())] * 2


def test_a_quantile_has_the_interval_of_the_values_that_are_not_refuted(weights):
    found = inferred(weights, st.quantile("age", 0.5), level=0.95).iloc[0]
    shares = np.array(
        [
            [counts[weights.table.codes[0] <= code].sum() / counts.sum() for code in range(6)]
            for counts in weights.table.weights
        ]
    )
    errors = np.sqrt(FACTOR * ((shares[1:] - shares[0]) ** 2).mean(axis=0))
    width = float(stdtrit(REPLICATES, 0.975)) * errors
    kept = [
        code
        for code in range(6)
        if shares[0, code] + width[code] >= 0.5
        and (code == 0 or shares[0, code - 1] - width[code - 1] < 0.5)
    ]
    assert [found["low"], found["high"]] == [20 + kept[0], 20 + kept[-1]]
    wide = inferred(weights, st.quantile("age", 0.5), level=0.95, sampling=100_000).iloc[0]
    assert wide["low"] <= found["low"] <= found["high"] <= wide["high"]


def reason(weights: Weights, statistic: st.Statistic) -> str:
    found = inferred(weights, statistic).iloc[-1]
    assert found["usable"] == (not found["reason"])
    return found["reason"]


def test_what_cannot_be_trusted_is_said_with_its_reason(weights):
    assert reason(weights, st.mean("age", within="sex=f")) == ""
    assert "no noisy table holds age, town together" in reason(
        weights, st.mean("age", within="town=west")
    )
    few = Weights(weights.table, FACTOR, rule(*EVENTS, columns=1))
    assert "calibrated for 1 at most" in reason(few, st.mean("age", within="sex=f"))

    # cells of age and sex hold some 120 records; noise of standard deviation 1.4 is multiplied
    for times, words in ((5.0, ""), (6.0, "may have been smoothed away")):
        noisier = Weights(weights.table, FACTOR, rule(*EVENTS, noise=times**2))
        assert words in reason(noisier, st.mean("age", within="sex=f"))
        assert bool(words) == bool(reason(noisier, st.mean("age", within="sex=f")))
        assert reason(noisier, st.mean("age")) == "", "no columns that go together"

    def changed(change) -> Weights:
        every = weights.table.weights.copy()
        change(every, weights.table.codes)
        return Weights(WeightedTable(UNIVERSE, weights.table.codes, every), FACTOR, RULE)

    def nobody(every, codes):
        every[1:4, codes[1] == 0] = 0

    assert "in 3 of 30 replicates" in reason(changed(nobody), st.mean("age", within="sex=f"))

    def hardly_any(every, codes):
        every[:, codes[1] == 0] = 0
        every[:, 0] = np.arange(REPLICATES + 1) % 3 + 1

    assert "cannot be told from none" in reason(changed(hardly_any), st.share("sex=f"))

    def shifted(every, codes):
        every[1:] = every[0]
        every[1:, codes[0] == 5] += 3
        every[1:, 0] += np.arange(REPLICATES)

    assert "the fit shifts it" in reason(changed(shifted), st.mean("age"))


def test_the_rule_takes_tables_at_their_own_resolution():
    coarse = TableEvent(("age", "town"), 6, 1, Fraction(1), coarsening=(1, 0))
    names = [each for each, _, _ in rule(*EVENTS, coarse).together]
    assert names == [{"age", "sex"}, {"sex"}, {"sex", "town"}, {"town"}]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"statistic": st.mean("age"), "level": 1.0}, "no interval has the level"),
        ({"statistic": st.mean("age"), "sampling": 10}, "smaller than its sample"),
        ({"statistic": mean_age, "columns": ["aeg"]}, "did you mean age"),
        ({"statistic": lambda *_: "many"}, "did not give the same numbers"),
        ({"statistic": lambda _, w: w[w > 40]}, "did not give the same numbers"),
    ],
)
def test_what_makes_no_sense_is_refused(weights, options, words):
    with pytest.raises(QueryError) as caught:
        inferred(weights, **options)
    assert words in str(caught.value)
    assert caught.value.fix


def test_what_does_not_exist_in_the_release_is_refused(weights):
    every = weights.table.weights.copy()
    every[:, weights.table.codes[2] == 2] = 0
    without = Weights(WeightedTable(UNIVERSE, weights.table.codes, every), FACTOR, RULE)
    for statistic in (
        st.mean("age", within="town=west"),
        st.quantile("age", 0.5, within="town=west"),
        st.ols("age", ["sex"], within="town=west"),
    ):
        with pytest.raises(QueryError, match=r"exist|no published row"):
            inferred(without, statistic)
