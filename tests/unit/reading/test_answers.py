"""Answers: which way each quantity is answered, and tables whose cells are answered at once."""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.domain.counts import Counts
from synth.errors import QueryError
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.reading import Asked, answer_all
from synth.reading.replicate_weights import Rule
from synth.reading.weighted_table import WeightedTable

UNIVERSE = Universe(
    tuple(
        Attribute(name, "categorical", tuple("xyz")[:size])
        for name, size in zip("abc", (2, 3, 2), strict=True)
    )
)


def release(*, replicates):
    generator = np.random.default_rng(1)
    counts = generator.integers(0, 9, UNIVERSE.size)
    event = TableEvent(("a", "b"), 6, 1, Fraction(1, 2))
    noisy = counts.reshape(6, 2).sum(axis=1) + generator.integers(-5, 6, 6)
    measurements = Measurements("test", "", (MeasuredTable(event, noisy, noise_variance(event)),))
    every = np.stack([counts, *(generator.poisson(counts) for _ in range(8))])
    codes = np.stack(np.unravel_index(np.arange(UNIVERSE.size), UNIVERSE.shape))
    made = SimpleNamespace(
        config=SimpleNamespace(universe=UNIVERSE, public_totals=()),
        measurements=measurements,
        cell_counts=Counts.of_all(counts, UNIVERSE.shape),
        manifest={"post_processing": {"replicates": {}} if replicates else {}},
        weights=SimpleNamespace(
            table=WeightedTable(UNIVERSE, codes, every.astype(float)),
            factor=1.0,
            rule=Rule.of(measurements.tables, calibrated_columns=2, largest_shift=0.5),
        ),
    )
    made.kept = lambda make: make(made)
    return made


@pytest.mark.parametrize("method", ["auto", "measured", "replicates", "both"])
def test_cells_of_a_table_are_answered_as_one_by_one(method):
    opened = release(replicates=True)
    at_once = answer_all(opened, marginal="b,a", method=method)
    queries = [f"b={b}, a={a}" for b in "xyz" for a in "xy"]
    one_by_one = answer_all(opened, queries=queries, method=method)
    assert len(at_once) == (12 if method == "both" else 6)
    for answer, alone in zip(at_once, one_by_one, strict=True):
        assert answer.query.replace('"', "") == alone.query
        assert answer.sd == pytest.approx(alone.sd)
        for name in ("estimate", "published", "low", "high", "method", "kind", "reason"):
            assert getattr(answer, name) == getattr(alone, name)


def test_replicates_answer_what_no_table_does():
    opened = release(replicates=True)
    for marginal, way in (("a", "measured"), ("c", "replicates"), ("c,a", "replicates")):
        assert {answer.method for answer in answer_all(opened, marginal=marginal)} == {way}
    asked = Asked(shares=["a=x"], difference=("c=x", "c=y"))
    (answer,) = answer_all(opened, asked=asked)
    assert (answer.method, answer.kind) == ("replicates", "difference")
    assert "no noisy table holds a, c together" in answer.reason
    for answer in answer_all(opened, marginal="a,c"):
        assert "no noisy table holds a, c together" in answer.reason


@pytest.mark.parametrize(
    ("replicates", "method", "words"),
    [
        (True, "measured", ["`c=x`", "ask with method `replicates`", "one measured table: a, b"]),
        (True, "both", ["`c=x`", "ask with method `replicates`"]),
        (False, "auto", ["the release has no replicates", "`output.replicates: 40`", ": a, b"]),
        (False, "both", ["the release has no replicates"]),
    ],
)
@pytest.mark.parametrize("asked", [{"queries": ["c=x"]}, {"marginal": "c"}])
def test_what_cannot_be_answered_says_what_could(replicates, method, words, asked):
    with pytest.raises(QueryError) as caught:
        answer_all(release(replicates=replicates), method=method, **asked)
    said = str(caught.value).replace('"', "")
    assert all(word in said for word in words), said


def test_a_table_that_cuts_what_is_asked_for_is_named_with_its_groups():
    halves = HierarchyLevel("half", (0, 0, 1), ("low", "high"))
    columns = (Attribute("a", "categorical", ("x", "y", "z"), hierarchy=(halves,)),)
    universe = Universe((*columns, UNIVERSE.attribute("c")))
    event = TableEvent(("a", "c"), 4, 1, Fraction(1), coarsening=(1, 0))
    table = MeasuredTable(event, np.arange(4, dtype=np.int64), noise_variance(event))
    made = release(replicates=False)
    made.config = SimpleNamespace(universe=universe, public_totals=())
    made.measurements = Measurements("test", "", (table,))
    made.cell_counts = Counts.of_all(np.ones(6, dtype=np.int64), universe.shape)
    with pytest.raises(QueryError) as raised:
        answer_all(made, queries=["a=y, c=x"])
    assert "a, c, where a is measured in groups, here low" in str(raised.value)
    answer_all(made, queries=["a in {x, y}, c=x"])
