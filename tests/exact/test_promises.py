"""Why one population is bound to one promise: the joint laws of two releases, exactly.

Toy tables, whose records have two columns of persons and one cell, are counted with the code of a
run for every unit; every ordered pair of promises is put to a real ledger. For each accepted pair
the largest ratio of any outcome of both releases together, over all neighbours of the account, is
exp(sum of epsilons). For each refused pair there are neighbours, by one of the two promises, for
whom it is more: the sum would have been false for them.
"""

from __future__ import annotations

import json
from collections import Counter
from fractions import Fraction
from itertools import permutations, product

import pytest

from synth import curator
from synth.bookkeeping import Ledger
from synth.config import load_config
from synth.config.source_files import source_files
from synth.errors import BudgetRefusedError
from synth.noise import NoiseStream
from synth.planning import plan_events
from synth.privacy import Budget, Promise, total_budget
from synth.privacy.meaning import posterior_bounds
from tests.conftest import SMALL, merged
from tests.exact.joint_law import changes, largest_ratio
from tests.exact.test_toy_privacy import largest_ratio_allowed
from tests.exact.toy_runs import noted_noise

EPSILONS = Fraction(1), Fraction(1, 2)
PROMISES = [
    Promise(neighbours, column, most)
    for neighbours, (column, most) in product(
        ("add-remove", "replace-one"), [(None, None), *product(("a", "b"), (1, 5))]
    )
]
PAIRS = list(product(PROMISES, repeat=2))

WORST = {"relation": Fraction(5, 2), "unit": Fraction(13, 2), "both": Fraction(25, 2)}
"""By what is not the same in a refused pair: the largest true epsilon, where the sum says 3/2.

Twice the first epsilon; MANY times it; both.
"""

MANY = 6
"""More records than any bound allows."""


def records(cell, a=1, b=1):
    """MANY records in one cell; `a` and `b` number the persons that they belong to."""
    return tuple((f"p{n % a}", f"q{n % b}", cell) for n in range(MANY))


DATA = (
    (),
    (("p0", "q0", "0"),),
    (("p0", "q0", "1"),),
    (("p0", "q0", "0"), ("p0", "q0", "1")),
    *(records(cell, a, b) for cell in "01" for a, b in ((1, 1), (1, MANY), (MANY, 1))),
)
"""No record, one, two of one person; many of one person by both columns, or by one of them."""


def units(data, promise):
    """The units of a table by the words of the promise, each with all that it adds to it."""
    if promise.person_column is None:
        return Counter(data)
    own = "ab".index(promise.person_column)
    found: dict[str, list[tuple[str, ...]]] = {}
    for record in data:
        found.setdefault(record[own], []).append((record[1 - own], record[2]))
    return Counter((person, *sorted(theirs)) for person, theirs in found.items())


def are_neighbours(one, other, promise):
    lost, gained = units(one, promise), units(other, promise)
    apart = sorted(((lost - gained).total(), (gained - lost).total()))
    return apart == ([0, 1] if promise.neighbours == "add-remove" else [1, 1])


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """For each promise and epsilon the measured events and, for each toy table, laws and counts."""
    directory = tmp_path_factory.mktemp("toy")
    found = {}
    for promise, epsilon in product(PROMISES, EPSILONS):
        if promise.person_column is None:
            unit = "record"
        else:
            unit = {"column": promise.person_column, "max_records": promise.max_records}
        cell = {"name": "c", "type": "categorical", "levels": ["0", "1"], "out_of_domain": "1"}
        asked = {
            "domain": [{**cell, "source": "made up"}],
            "privacy": {
                "epsilon": str(epsilon),
                "neighbours": promise.neighbours,
                "unit": unit,
            },
            "workload": {"marginals": 1, "cells": False},
            "strategy": "identity",
            "output": {"rows": 10},
        }
        total = [{"where": {}, "total": 10, "source": "made up"}]
        if promise.neighbours == "replace-one":
            asked = {**asked, "public_totals": total}
        (directory / "toy.yaml").write_text(json.dumps(merged(SMALL, asked)))
        (directory / "people.csv").touch()
        config = load_config(directory / "toy.yaml")
        assert Promise.of(config.privacy) == promise
        tables = {}
        for data in DATA:
            lines = ["a,b,c", *(",".join(record) for record in data)]
            (directory / "people.csv").write_text("\n".join(lines) + "\n")
            with noted_noise() as noted:
                curator.measure(
                    config,
                    config.source,
                    plan_events(config),
                    files=source_files(config.source),
                    stream=NoiseStream(key=bytes(32)),
                    directory=directory,
                )
            tables[data] = noted.in_order()
        events = plan_events(config)
        assert total_budget(events, delta=Fraction(0)).epsilon == epsilon
        found[promise, epsilon] = events, tables
    return found


@pytest.fixture(scope="module")
def accepted(measured, tmp_path_factory):
    """For each ordered pair what the ledger says both releases spent; None if it refused."""
    found = {}
    with Ledger.open(tmp_path_factory.mktemp("state") / "ledger.sqlite") as ledger:
        for number, pair in enumerate(PAIRS):
            try:
                for promise, epsilon in zip(pair, EPSILONS, strict=True):
                    _, position = ledger.reserve(
                        release_id=f"{number}-{epsilon.denominator}",
                        configuration_hash="c0ffee",
                        population=f"toy {number}",
                        promise=promise,
                        cap=Budget(Fraction(2), Fraction(0)),
                        events=measured[promise, epsilon][0],
                    )
                found[pair] = position.spent_after.epsilon
            except BudgetRefusedError:
                found[pair] = None
    return found


def largest(measured, pair, by):
    """sup P / Q over all outcomes of both releases, of tables that are neighbours by `by`."""
    ratios = []
    for one, other in permutations(DATA, 2):
        if are_neighbours(one, other, by):
            ratio = Fraction(1)
            for promise, epsilon in zip(pair, EPSILONS, strict=True):
                tables = measured[promise, epsilon][1]
                ratio *= largest_ratio(changes(tables[one], tables[other]))
            ratios.append(ratio)
    assert ratios, "there are no neighbours"
    return max(ratios)


def test_accepted_pairs_lose_their_sum_and_refused_ones_more(measured, accepted):
    allowed = largest_ratio_allowed(sum(EPSILONS))
    exceeded: dict[str, Fraction] = {}
    for pair, spent in accepted.items():
        first, second = pair
        worst = [largest(measured, pair, promise) for promise in pair]
        if spent is not None:
            assert spent == sum(EPSILONS)
            assert max(worst) <= allowed, f"{pair}: more is lost than the account says"
            assert min(worst) >= allowed * (1 - Fraction(1, 2**50)), f"{pair}: the sum is met"
        else:
            assert max(worst) > allowed, f"{pair}: refused for nothing"
            apart = first.neighbours != second.neighbours, first.terms[1:] != second.terms[1:]
            kind = {(True, False): "relation", (False, True): "unit"}.get(apart, "both")
            exceeded[kind] = max(exceeded.get(kind, Fraction(0)), *worst)
    assert Counter(spent is not None for spent in accepted.values()) == {True: 18, False: 82}
    assert {kind: _as_epsilon(ratio) for kind, ratio in exceeded.items()} == WORST


def _as_epsilon(ratio):
    """The tenth that is the logarithm of the ratio, as nearly as alpha is exp(-epsilon)."""
    return next(
        Fraction(tenth, 10)
        for tenth in range(400)
        if abs(ratio / largest_ratio_allowed(Fraction(tenth, 10)) - 1) < Fraction(1, 2**40)
    )


def test_the_example_of_the_documentation(measured):
    """replace-one and add-remove, epsilon 1 each: 45.1 % was said, 69.1 % is true."""
    pair = Promise("replace-one", None, None), Promise("add-remove", None, None)
    one, other = (("p0", "q0", "0"),), (("p0", "q0", "1"),)
    ratio = Fraction(1)
    for promise in pair:
        tables = measured[promise, Fraction(1)][1]
        ratio *= largest_ratio(changes(tables[one], tables[other]))
    assert _as_epsilon(ratio) == 3
    said, true = (
        posterior_bounds(Fraction(1, 10), epsilon)[1] for epsilon in (Fraction(2), Fraction(3))
    )
    assert (round(said, 3), round(true, 3)) == (0.451, 0.691)
