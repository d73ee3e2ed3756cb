"""Events survive the file, in one written form, and damage is refused."""

from fractions import Fraction

import numpy as np
import pytest

from synth.domain import Attribute, HierarchyLevel, Universe
from synth.measurements import (
    MeasuredTable,
    Measurements,
    read_measurements,
    write_measurements,
)
from synth.noise import DiscreteGaussian, DiscreteLaplace, noise_variance
from synth.noise.mechanism import threshold_of_delta
from synth.privacy import SelectionEvent, TableEvent

HALVES = HierarchyLevel("halves", (0, 0, 1), ("low", "high"))
UNIVERSE = Universe(
    (
        Attribute("a", "categorical", levels=("x", "y")),
        Attribute("b", "categorical", levels=("1", "2", "3"), hierarchy=(HALVES,)),
    )
)
FINEST = TableEvent(("a", "b"), 6, 1, Fraction(1, 3))
COARSE = TableEvent(("b",), 2, 2, Fraction(1, 7), coarsening=(1,))
NORMAL = TableEvent(
    ("a", "b"),
    4,
    2,
    mechanism="discrete-gaussian",
    coarsening=(0, 1),
    rho=Fraction(2, 9),
    sensitivity_l2_squared=2,
)
TOTAL = TableEvent((), 1, 1, Fraction(1, 50))
CHOICE = SelectionEvent(17, Fraction(1, 30))


def test_the_finest_laplace_table_is_written_as_it_always_was():
    assert FINEST.to_plain() == {
        "table": ["a", "b"],
        "cells": 6,
        "mechanism": "discrete-laplace",
        "sensitivity_l1": 1,
        "epsilon": "1/3",
    }


@pytest.mark.parametrize("event", [FINEST, COARSE, NORMAL, TOTAL], ids=str)
def test_an_event_comes_back(event):
    assert TableEvent.from_plain(event.to_plain()) == event


def test_a_selection_comes_back():
    assert SelectionEvent.from_plain(CHOICE.to_plain()) == CHOICE


def test_the_variance_is_that_of_the_law():
    assert noise_variance(COARSE) == DiscreteLaplace(Fraction(1, 7), 2).variance
    assert noise_variance(NORMAL) == DiscreteGaussian(Fraction(2, 9), 2).variance == 4.5


def plain(**changes):
    return {k: v for k, v in {**NORMAL.to_plain(), **changes}.items() if v is not ...}


@pytest.mark.parametrize(
    "wrong",
    [
        plain(mechanism="gaussian"),
        plain(mechanism=["discrete-gaussian"]),
        plain(mechanism="discrete-laplace"),
        plain(epsilon="1"),
        plain(rho=...),
        plain(rho="0"),
        plain(rho="-1/2"),
        plain(rho="0.5"),
        plain(rho="4/18"),
        plain(rho=1),
        plain(rho=None),
        plain(rho="1" * 200),
        plain(sensitivity_l2_squared=...),
        plain(sensitivity_l2_squared=0),
        plain(sensitivity_l2_squared=2.0),
        plain(sensitivity_l2_squared=True),
        plain(sensitivity_l1=0),
        plain(cells=0),
        plain(cells="4"),
        plain(coarsening=[0]),
        plain(coarsening=[0, -1]),
        plain(coarsening=[0, 0]),
        plain(coarsening=[0, 1.0]),
        plain(coarsening="01"),
        plain(coarsening=None),
        plain(table="ab"),
        plain(table=["a", 1]),
        plain(table=None),
        plain(table=...),
        plain(more=1),
    ],
    ids=str,
)
def test_a_damaged_event_is_refused(wrong):
    with pytest.raises((ValueError, TypeError, KeyError)):
        TableEvent.from_plain(wrong)


def test_a_selection_of_cells_whose_threshold_does_not_pay_is_refused(tmp_path):
    law, delta = DiscreteLaplace(Fraction(1), 2), Fraction(1, 1000)
    enough = threshold_of_delta(law, delta=delta)
    for threshold in (enough, enough - 1):
        event = TableEvent(
            ("a", "b"), 6, 2, Fraction(1), "partition-selection", threshold=threshold, delta=delta
        )
        assert TableEvent.from_plain(event.to_plain()) == event
        listed = MeasuredTable(event, np.array([999]), noise_variance(event), np.array([[0, 0]]))
        path = tmp_path / str(threshold)
        write_measurements(path, Measurements("r-1", "c0ffee", (listed,)))
        if threshold == enough:
            assert read_measurements(path, UNIVERSE).events == (event,)
        else:
            with pytest.raises(ValueError, match="too low for its delta"):
                read_measurements(path, UNIVERSE)


@pytest.mark.parametrize("wrong", [None, 1, "text", [], ["mechanism"], [["mechanism", "x"]]])
@pytest.mark.parametrize("read", [TableEvent.from_plain, SelectionEvent.from_plain])
def test_what_is_no_object_is_refused(read, wrong):
    with pytest.raises(ValueError, match="is not an object"):
        read(wrong)


@pytest.mark.parametrize(
    "wrong",
    [
        {"candidates": "17"},
        {"candidates": 0},
        {"candidates": True},
        {"epsilon": "0"},
        {"epsilon": 1},
        {"epsilon": "2/60"},
        {"mechanism": "exponential"},
        {"more": 1},
    ],
    ids=str,
)
def test_a_damaged_selection_is_refused(wrong):
    with pytest.raises((ValueError, TypeError)):
        SelectionEvent.from_plain({**CHOICE.to_plain(), **wrong})


def measurements(*events, selections=()):
    tables = tuple(
        MeasuredTable(event, np.arange(event.cells) - 2, noise_variance(event)) for event in events
    )
    return Measurements("r-1", "c0ffee", tables, selections)


def test_tables_of_every_kind_survive_one_file(tmp_path):
    written = measurements(FINEST, COARSE, NORMAL, TOTAL, selections=(CHOICE, CHOICE))
    write_measurements(tmp_path / "m", written)
    found = read_measurements(tmp_path / "m", UNIVERSE)
    assert found.content_hash == written.content_hash
    assert found.events == written.events == (FINEST, COARSE, NORMAL, TOTAL, CHOICE, CHOICE)
    for before, after in zip(written.tables, found.tables, strict=True):
        assert after.noisy_counts.tolist() == before.noisy_counts.tolist()
        assert after.variance == before.variance


def test_the_hash_depends_on_the_selections():
    hashes = {
        measurements(FINEST, selections=chosen).content_hash
        for chosen in ((), (CHOICE,), (CHOICE, CHOICE), (SelectionEvent(18, CHOICE.epsilon),))
    }
    assert len(hashes) == 4


@pytest.mark.parametrize(
    "event",
    [
        TableEvent(("b",), 1, 1, Fraction(1), coarsening=(2,)),
        TableEvent(("a",), 1, 1, Fraction(1), coarsening=(1,)),
        TableEvent(("b",), 3, 1, Fraction(1), coarsening=(1,)),
        TableEvent(("b",), 2, 1, Fraction(1)),
        TableEvent(("b", "b"), 9, 1, Fraction(1)),
    ],
    ids=str,
)
def test_a_table_that_the_universe_does_not_have_is_refused(tmp_path, event):
    write_measurements(tmp_path / "m", measurements(event))
    with pytest.raises(ValueError, match="has a table"):
        read_measurements(tmp_path / "m", UNIVERSE)


def test_noise_that_is_never_drawn_is_refused(tmp_path):
    event = TableEvent(
        ("b",),
        3,
        1,
        mechanism="discrete-gaussian",
        rho=Fraction(1, 10**15),
        sensitivity_l2_squared=1,
    )
    table = MeasuredTable(event, np.zeros(3, dtype=np.int64), 1.0)
    write_measurements(tmp_path / "m", Measurements("r-1", "c0ffee", (table,)))
    with pytest.raises(ValueError, match="sigma"):
        read_measurements(tmp_path / "m", UNIVERSE)
