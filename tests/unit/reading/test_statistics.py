"""Every statistic against its plain formula on expanded rows, and influence against derivatives."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import minimize

from synth.domain import Attribute, Universe
from synth.errors import QueryError
from synth.reading import statistics as st
from synth.reading.weighted_table import WeightedTable, code_numbers

UNIVERSE = Universe(
    (
        Attribute("age", "integer", edges=tuple(map(Fraction, (18, 20, 30, 50, 65, 65)))),
        Attribute("sex", "categorical", ("f", "m"), missing=("",)),
        Attribute(
            "pay, in $", "number", edges=tuple(map(Fraction, (0, 10, 25, 40))), missing=("",)
        ),
        Attribute("town", "categorical", ("north", "south", "west")),
    )
)
AGES, PAYS = [18, 24, 39, 57, 65], [5.0, 17.5, 32.5]


@pytest.fixture(scope="module")
def table() -> WeightedTable:
    """All cells in a shuffled order, with three tables of whole weights."""
    generator = np.random.default_rng(4)
    cells = generator.permutation(UNIVERSE.size)
    codes = np.stack(np.unravel_index(cells, UNIVERSE.shape)).astype(np.int64)
    older = 1 + codes[0] * (1 + (codes[1] == 1)) * (codes[2] % 3)
    weights = generator.poisson(older, size=(3, cells.size)).astype(np.float64)
    return WeightedTable(UNIVERSE, codes, weights)


def rows(table: WeightedTable, vector: int) -> dict[str, np.ndarray]:
    """Every record by itself."""
    each = np.repeat(np.arange(table.codes.shape[1]), table.weights[vector].astype(int))
    age, sex, pay, town = table.codes[:, each]
    return {
        "age": np.array(AGES, dtype=float)[age],
        "sex": np.array(["f", "m", ""])[sex],
        "pay": np.array([*PAYS, np.nan])[pay],
        "town": np.array(["north", "south", "west"])[town],
    }


def values(table: WeightedTable, statistic: st.Statistic) -> np.ndarray:
    return statistic.evaluate(table.reduced(statistic.columns(UNIVERSE))).values


def least_squares(y, columns):
    design = np.stack([np.ones(len(y)), *columns], axis=1)
    return np.linalg.lstsq(design, y, rcond=None)[0]


def likeliest(y, columns):
    design = np.stack([np.ones(len(y)), *columns], axis=1)

    def loss(beta):
        odds = design @ beta
        return np.logaddexp(0, odds).sum() - y @ odds, design.T @ (1 / (1 + np.exp(-odds)) - y)

    start = np.zeros(design.shape[1])
    return minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-7}).x


def quantile(x, probability):
    return np.sort(x)[int(np.ceil(probability * len(x) - 1e-9)) - 1]


def known(r):
    return ~np.isnan(r["pay"])


PAY, RICH = '"pay, in $"', '"pay, in $"=[25, 40]'
COLUMN = "pay, in $"
CASES = {
    "total of records": (st.total(), lambda r: len(r["age"])),
    "total in a domain": (st.total(within="sex=f"), lambda r: (r["sex"] == "f").sum()),
    "total of a column": (
        st.total(COLUMN, within="town=west"),
        lambda r: np.nansum(r["pay"][r["town"] == "west"]),
    ),
    "mean": (st.mean("age"), lambda r: r["age"].mean()),
    "mean of known values": (
        st.mean(COLUMN, within="sex in {f, m}"),
        lambda r: np.nanmean(r["pay"][r["sex"] != ""]),
    ),
    "share": (st.share("town=north"), lambda r: (r["town"] == "north").mean()),
    "share in a domain": (
        st.share(f"{RICH}, town=south", within="age in [20, 65)"),
        lambda r: ((r["pay"] == 32.5) & (r["town"] == "south"))[
            (r["age"] > 18) & (r["age"] < 65)
        ].mean(),
    ),
    "difference": (
        st.difference(st.mean("age", within="sex=m"), st.mean("age", within="sex=f")),
        lambda r: r["age"][r["sex"] == "m"].mean() - r["age"][r["sex"] == "f"].mean(),
    ),
    "ratio": (
        st.ratio(st.total(COLUMN), st.total("age")),
        lambda r: np.nansum(r["pay"]) / r["age"].sum(),
    ),
    "median": (st.quantile("age", 0.5), lambda r: quantile(r["age"], 0.5)),
    "quantile in a domain": (
        st.quantile(COLUMN, 0.8, within="town=west"),
        lambda r: quantile(r["pay"][known(r) & (r["town"] == "west")], 0.8),
    ),
    "correlation": (
        st.correlation("age", COLUMN),
        lambda r: np.corrcoef(r["age"][known(r)], r["pay"][known(r)])[0, 1],
    ),
}
MODELS = {
    "line": (
        st.ols(COLUMN, ["age"]),
        lambda r: least_squares(r["pay"][known(r)], [r["age"][known(r)]]),
    ),
    "levels": (
        st.ols("age", ["sex", "town"], within="age in [18, 65)"),
        lambda r: (
            lambda k: least_squares(
                r["age"][k],
                [
                    (r["sex"][k] == "m").astype(float),
                    *((r["town"][k] == town).astype(float) for town in ("south", "west")),
                ],
            )
        )((r["sex"] != "") & (r["age"] < 65)),
    ),
    "numbers as levels": (
        st.ols("age", [COLUMN], categorical=[COLUMN]),
        lambda r: least_squares(
            r["age"][known(r)], [(r["pay"][known(r)] == pay).astype(float) for pay in PAYS[1:]]
        ),
    ),
    "odds": (
        st.logistic("sex=m", ["age", "town"]),
        lambda r: (
            lambda k: likeliest(
                (r["sex"][k] == "m").astype(float),
                [
                    r["age"][k],
                    *((r["town"][k] == town).astype(float) for town in ("south", "west")),
                ],
            )
        )(r["sex"] != ""),
    ),
}


def test_a_number_stands_for_every_bin():
    assert code_numbers(UNIVERSE.attribute("age")).tolist() == AGES
    found = code_numbers(UNIVERSE.attribute("pay, in $"))
    assert found[:3].tolist() == PAYS
    assert np.isnan(found[3])
    assert code_numbers(UNIVERSE.attribute("sex")) is None


@pytest.mark.parametrize("name", CASES)
def test_numbers_are_those_of_expanded_rows(table, name):
    statistic, formula = CASES[name]
    found = values(table, statistic)
    assert found.shape == (3, 1)
    for vector in range(3):
        assert found[vector, 0] == pytest.approx(formula(rows(table, vector)), rel=1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_coefficients_are_those_of_expanded_rows(table, name):
    statistic, formula = MODELS[name]
    found = values(table, statistic)
    for vector in range(3):
        assert found[vector] == pytest.approx(formula(rows(table, vector)), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("name", [name for name in CASES | MODELS if "quantile" not in name])
def test_influence_is_the_derivative_by_the_weight_of_a_row(table, name):
    statistic, _ = (CASES | MODELS)[name]
    reduced = table.reduced(statistic.columns(UNIVERSE))
    found = statistic.evaluate(reduced)
    if name == "median":
        values, shares, influence, _ = statistic.shares(reduced)
        place = int((shares[0] >= 0.5).argmax())
        assert found.influence[:, 0].tolist() == influence[:, place].tolist()
        assert values[place] == found.values[0, 0]
        return
    step = 1e-4
    for row in {0, len(found.influence) // 2, len(found.influence) - 1}:
        weights = np.repeat(reduced.weights[:1], 2, axis=0)
        weights[:, row] += [step, -step]
        moved = statistic.evaluate(WeightedTable(reduced.universe, reduced.codes, weights)).values
        slope = (moved[0] - moved[1]) / (2 * step)
        assert found.influence[row] == pytest.approx(slope, rel=1e-4, abs=1e-7)


def test_rows_without_a_value_are_counted(table):
    unknown = rows(table, 0)
    found = st.mean(COLUMN, within="sex=f").evaluate(table)
    assert found.left_out == (~known(unknown) & (unknown["sex"] == "f")).sum()
    found = st.logistic("sex=m", ["age", COLUMN]).evaluate(table)
    assert found.left_out == (~known(unknown) | (unknown["sex"] == "")).sum()


def test_what_rests_on_few_records_says_so(table):
    r = rows(table, 1)
    (found,) = st.share("town=north").evaluate(table).records[1]
    assert found == pytest.approx(min((r["town"] == "north").sum(), (r["town"] != "north").sum()))
    found = st.logistic("sex=m", ["town"]).evaluate(table)
    inside = (r["town"] == "west") & (r["sex"] != "")
    assert found.terms == ("(Intercept)", "town=south", "town=west")
    assert found.records[1, 2] == min(
        (inside & (r["sex"] == "m")).sum(), (inside & (r["sex"] == "f")).sum()
    )


def test_what_a_table_does_not_determine_is_no_number(table):
    weights = table.weights.copy()
    weights[1, table.codes[3] == 2] = 0  # nobody in the west
    weights[2, (table.codes[1] == 1)] = 0  # no men
    bare = WeightedTable(table.universe, table.codes, weights)
    found = values(bare, st.ols("age", ["town"]))
    assert np.isnan(found).tolist() == [[False] * 3, [False, False, True], [False] * 3]
    inside = rows(bare, 1)
    south = least_squares(inside["age"], [(inside["town"] == "south").astype(float)])
    assert found[1, :2] == pytest.approx(south)
    assert np.isnan(values(bare, st.mean("age", within="sex=m"))[2, 0])
    assert np.isnan(values(bare, st.logistic("sex=m", ["age"]))[2]).all()
    separated = st.logistic("town=west", ["town"])
    assert np.isnan(values(table, separated)).all()


def test_a_level_that_is_separated_takes_no_other_with_it(table):
    weights = table.weights.copy()
    weights[:, (table.codes[3] == 2) & (table.codes[1] == 0)] = 0  # no women in the west
    found = st.logistic("sex=m", ["age", "town"]).evaluate(
        WeightedTable(table.universe, table.codes, weights)
    )
    elsewhere = values(
        table, st.logistic("sex=m", ["age", "town"], within="town in {north, south}")
    )
    assert np.isnan(found.values).tolist() == [[False, False, False, True]] * 3
    assert found.values[:, :3] == pytest.approx(elsewhere, rel=1e-6)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: st.mean("sex").columns(UNIVERSE) and st.mean("sex"), "has no numbers"),
        (lambda: st.mean("aeg"), "did you mean age"),
        (lambda: st.share("sex=x"), "has no label 'x'"),
        (lambda: st.quantile("age", 1.5), "no quantile"),
        (lambda: st.ratio(st.ols("age", ["sex"]), st.total()), "one number each"),
        (lambda: st.ols("age", ["sexx"]), "did you mean sex"),
    ],
)
def test_what_cannot_be_asked_is_said_in_plain_words(table, make, words):
    with pytest.raises(QueryError) as caught:
        values(table, make())
    assert words in str(caught.value)
    assert caught.value.fix
