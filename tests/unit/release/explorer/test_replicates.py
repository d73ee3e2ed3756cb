"""Answers from replicates, against their definition written out."""

import json
import math
from itertools import combinations

import numpy as np
import pytest
from scipy.stats import t as student

from synth.domain import Conjunction
from synth.estimate import Replicates
from synth.measurements import Measurements
from synth.measurements.intervals import inside_public_bounds
from synth.release.explorer.render import render_explorer

pytestmark = pytest.mark.xdist_group("chromium")

NUMBER = 12


def replicated(universe):
    """Made-up counts of two thirds of the possible cells, and of replicates around them."""
    generator = np.random.default_rng(4)
    cells = np.flatnonzero(universe.possible() & (generator.random(universe.size) < 2 / 3))
    published = generator.integers(0, 40, cells.size)
    counts = tuple(
        np.maximum(published + generator.integers(-6, 7, cells.size), 0) for _ in range(NUMBER)
    )
    return Replicates(tuple(universe.codes(cells)), published, counts, factor=1.75)


def chosen(replicates, universe, where):
    inside = np.ones(replicates.published.size, dtype=bool)
    for name, codes in where.items():
        inside &= np.isin(replicates.columns[universe.names.index(name)], codes)
    return np.array([each[inside].sum() for each in (replicates.published, *replicates.counts)])


def expected(replicates, config, where, within, level):
    """Count with standard error and ends, then the share within."""
    universe, reach = config.universe, student.ppf((1 + level) / 2, NUMBER)

    def error(values):
        return math.sqrt(replicates.factor * np.mean((values[1:] - values[0]) ** 2))

    ends = []
    for order in range(len(where) + 1):
        for names in combinations(where, order):
            values = chosen(replicates, universe, {name: where[name] for name in names})
            width = reach * error(values)
            low, high = math.ceil(values[0] - width), math.floor(values[0] + width)
            ends.append((max(low, 0), high))
    low, high = (min(each) for each in zip(*ends, strict=True))
    low, high = inside_public_bounds(Conjunction(where), (low, high), config)
    values = chosen(replicates, universe, where)
    shares = values / chosen(replicates, universe, within)
    width = reach * error(shares)
    return [
        values[0],
        pytest.approx(error(values), rel=1e-9),
        low,
        high,
        pytest.approx(shares[0]),
        pytest.approx(max(shares[0] - width, 0)),
        pytest.approx(min(shares[0] + width, 1)),
    ]


def test_answers_from_replicates_are_those_of_the_definition(released, busy, browser, tmp_path):
    made = released(**busy)
    universe = made.config.universe
    replicates = replicated(universe)
    derived = made.derive(made.measurements, made.config)
    nothing = Measurements("test", "", ())
    page = tmp_path / "explore.html"
    for measurements, method in ((made.measurements, "replicates"), (nothing, "auto")):
        content = render_explorer(
            made.config,
            measurements,
            derived.counts,
            replicates=replicates,
            measurements_sha256="0" * 64,
        )
        page.write_bytes(content)
        browser.open(page.as_uri() + "#method=replicates")
        asked, answers = [], []
        generator = np.random.default_rng(6)
        for _ in range(100):
            names = [name for name in universe.names if generator.random() < 0.6]
            where = {}
            for name in names:
                size = universe.attribute(name).size
                taken = generator.choice(size, generator.integers(1, size), replace=False)
                where[name] = tuple(sorted(map(int, taken)))
            within = dict(list(where.items())[1:])
            if not chosen(replicates, universe, within).all():
                continue
            level = float(generator.choice([0.8, 0.95, 0.999]))
            numbered = [
                [[universe.names.index(name), list(codes)] for name, codes in each.items()]
                for each in (where, within)
            ]
            asked.append([*numbered, level])
            answers.append(expected(replicates, made.config, where, within, level))
        found = browser.evaluate(
            f"""{json.dumps(asked)}.map(([where, within, level]) => {{
                const {{ estimate, sd, low, high }} = answers.answer(where, level, "{method}");
                const share = answers.share(where, within, level, "{method}");
                return [estimate, sd, low, high, share.estimate, share.low, share.high];
            }})"""
        )
        assert found == answers
        assert len(found) > 50


def test_a_share_of_nobody_has_no_interval(released, browser, tmp_path):
    made = released()
    universe = made.config.universe
    cells = np.array([0, 1])
    replicates = Replicates(
        tuple(universe.codes(cells)), np.array([3, 0]), (np.array([2, 1]), np.array([4, 0])), 1.5
    )
    page = tmp_path / "explore.html"
    page.write_bytes(
        render_explorer(
            made.config,
            made.measurements,
            made.derive(made.measurements, made.config).counts,
            replicates=replicates,
            measurements_sha256="0" * 64,
        )
    )
    browser.open(page.as_uri())
    share = browser.evaluate("answers.share([[0, [0]], [2, [1]]], [[2, [1]]], 0.95, 'replicates')")
    assert share == {"estimate": None, "low": 0, "high": 1}
