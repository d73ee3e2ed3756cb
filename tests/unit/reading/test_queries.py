"""The grammar of queries, and what is said of those that cannot be answered."""

from fractions import Fraction

import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.errors import QueryError
from synth.reading.queries import marginal_queries, parse_names, parse_query

UNIVERSE = Universe(
    (
        Attribute("age", "integer", edges=tuple(map(Fraction, (0, 20, 40, 60))), missing=("",)),
        Attribute("getting in/out, bed", "categorical", ("0", "1", "1, often", 'say "no"')),
        Attribute("getting in", "categorical", ("0", "1")),
        Attribute("gain", "number", edges=(Fraction(-2), Fraction(0), Fraction("2.5"))),
        Attribute(
            "town",
            "categorical",
            ("Nord", "Süd", "West"),
            hierarchy=(HierarchyLevel("line", (0, 0, 1), ("NS", "W")),),
        ),
        Attribute(
            "smokes",
            "categorical",
            ("0", "1"),
            missing=("9",),
            value_labels=(("0", "No, never"), ("missing", "not known"), ("9", "refused")),
        ),
    )
)


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("", {}),
        ("all records", {}),
        ("age=[20, 40)", {"age": (1,)}),
        ("age in [20, 61)", {"age": (1, 2)}),
        ("age in [0, 39]", {"age": (0, 1)}),
        ("age in (-1, 19]", {"age": (0,)}),
        ("age in [-99, 999)", {"age": (0, 1, 2)}),
        ("age is missing", {"age": (3,)}),
        ("age in {[0, 20), missing}", {"age": (0, 3)}),
        ("getting in/out, bed=1, often", {"getting in/out, bed": (2,)}),
        ("getting in/out, bed=1, getting in=1", {"getting in/out, bed": (1,), "getting in": (1,)}),
        ("getting in/out, bed in {1, often, 0}", {"getting in/out, bed": (0, 2)}),
        ('"getting in/out, bed" = "say ""no"""', {"getting in/out, bed": (3,)}),
        ("gain in [0, 2.5]", {"gain": (1,)}),
        ("gain in [0, 2.5)", {"gain": (1,)}),
        ("gain in [-2, 0)", {"gain": (0,)}),
        ("town=NS", {"town": (0, 1)}),
        ("town in {Nord, W}", {"town": (0, 2)}),
        ("town in {Nord, Süd, West}", {}),
        ("smokes=0", {"smokes": (0,)}),
        ("smokes=No, never, town=Süd", {"smokes": (0,), "town": (1,)}),
        ('smokes in {"No, never", not known}', {"smokes": (0, 2)}),
        ("smokes=not known", {"smokes": (2,)}),
        (" town = Süd ,age=[0, 20)", {"age": (0,), "town": (1,)}),
    ],
)
def test_a_query_names_these_codes(text, codes):
    query = parse_query(text, UNIVERSE)
    assert dict(query.where.codes) == codes
    assert list(query.columns) == [name for name in UNIVERSE.names if name in codes]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("twon=Nord", ["no column 'twon'", "did you mean town?"]),
        ("town=Norf", ["no label 'Norf'", "did you mean Nord?"]),
        ("age=25", ["25 lies in the bin [20, 40)", "ask for age=[20, 40)"]),
        ("age in [18, 41)", ["cuts a bin", "`age in [20, 40)`"]),
        ("age in [20, 60)", ["cuts a bin", "`age in [20, 61)`"]),
        ("gain in (0, 2.5]", ["cuts a bin", "`gain in [0, 2.5]`"]),
        ("gain in [-2, 0]", ["cuts a bin", "`gain in [-2, 0)`"]),
        ("age in [70, 80)", ["outside of all bins"]),
        ("age in [40, 20)", ["holds no value"]),
        ("age in [a, 20)", ["needs two numbers"]),
        ("town in [1, 2)", ["categorical", "`town in {Nord, Süd}`"]),
        ("town is missing", ["no missing level"]),
        ("town=Nord, town=West", ["twice"]),
        ("town", ["cannot be read from 'town'", "fix:      write a condition, as `town=Nord`"]),
        ("town=Nord,", ["cannot be read at its end"]),
        ("age is", ["cannot be read from 'age is'", "as `age=[0, 20)`"]),
        ("town in {Nord", ["no label"]),
    ],
)
def test_what_is_wrong_is_said_with_its_fix(text, words):
    with pytest.raises(QueryError) as caught:
        parse_query(text, UNIVERSE)
    assert all(word in str(caught.value) for word in words), str(caught.value)
    assert caught.value.exit_code == 2
    assert caught.value.fix


@pytest.mark.parametrize("names", [["town"], ["getting in/out, bed", "age"], ["gain", "town"]])
def test_every_cell_of_a_marginal_is_a_query_that_reads_back(names):
    queries = marginal_queries(names, UNIVERSE, limit=100)
    sizes = [UNIVERSE.attribute(name).size for name in names]
    assert len({tuple(q.where.codes.items()) for q in queries}) == len(queries)
    assert len(queries) == sizes[0] * (sizes[1] if len(sizes) > 1 else 1)
    for query in queries:
        assert parse_query(query.text, UNIVERSE).where.codes == query.where.codes


def test_a_suggested_range_is_accepted():
    for text in ("age in [18, 41)", "age in [20, 60)", "gain in [-1, 2.6]", "age in [1, 2)"):
        with pytest.raises(QueryError) as caught:
            parse_query(text, UNIVERSE)
        advice = caught.value.fix.split("`")[1]
        assert parse_query(advice, UNIVERSE).text == advice


def test_names_are_read_longest_first():
    text = 'getting in/out, bed, getting in,"town"'
    assert parse_names(text, UNIVERSE) == ["getting in/out, bed", "getting in", "town"]
    with pytest.raises(QueryError, match="no column"):
        parse_names("town, tow", UNIVERSE)
    for names in ([], ["town", "town"]):
        with pytest.raises(QueryError, match="each once"):
            marginal_queries(names, UNIVERSE, limit=100)
    with pytest.raises(QueryError, match="more than 10"):
        marginal_queries(["age", "town"], UNIVERSE, limit=10)
