"""The page answers as the library does: hundreds of random questions."""

import json
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from synth.config import load_config
from synth.domain import Conjunction, Margin
from synth.domain.counts import Counts
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements
from synth.measurements.intervals import Intervals
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.planning.problem import problem_of
from synth.planning.spending import Purse
from synth.reading.measured_quantities import MeasuredQuantities
from synth.reading.quantities import Share
from synth.reading.queries import parse_query, query_of
from synth.release.explorer.render import render_explorer

pytestmark = pytest.mark.xdist_group("chromium")

ROOT = Path(__file__).parents[4]
LEVELS = (0.99, *[0.95] * 9)
QUESTIONS = 40
"""Most of two columns, some of none, and several of each other number up to four."""


def shipped(name, *, summed, most):
    """A shipped configuration, measured: its tables of made-up records, and as many noises.

    Where no more than two columns are asked for: all tables of one and two columns, whose weights
    are thousands.
    """
    config = load_config(ROOT / "configs" / f"{name}.yaml")
    generator = np.random.default_rng(20260131)
    cells = np.minimum(generator.geometric(0.001, 30_000), config.universe.size) - 1
    counts = np.bincount(cells * 17 % config.universe.size, minlength=config.universe.size)
    tables = []
    planned_tables = plan_events(config)
    if most == 2:
        names = config.universe.names
        margins = [
            Margin(each, (0,) * len(each)) for k in (1, 2) for each in combinations(names, k)
        ]
        planned_tables = Purse(Fraction(1), "laplace").events(
            problem_of(config), margins, [1.0] * len(margins)
        )
    for planned in planned_tables:
        event = replace(planned, summed=summed)
        sums = Margin(event.table, event.coarsening).sums(config.universe, counts)
        noisy = sums + draw_noise(generator, event, event.cells)
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    measurements = Measurements(config.release.id, config.hash, tuple(tables))
    return config, measurements, Counts.of_all(counts, config.universe.shape)


def random_questions(universe, number, most):
    """Codes by column: none to so many columns, mostly one code of each."""
    generator = np.random.default_rng(7)
    for _ in range(number):
        order = min(generator.choice([0, 1, 1, 2, 2, 2, 3, 3, 4]), most)
        columns = generator.choice(len(universe.shape), order, replace=False)
        codes = {}
        for column in columns:
            size = universe.shape[column]
            taken = 1 if generator.random() < 0.9 else generator.integers(1, size)
            chosen = generator.choice(size, taken, replace=False)
            codes[universe.names[column]] = tuple(map(int, chosen))
        yield codes


def numbered(where, universe):
    return [[universe.names.index(name), list(codes)] for name, codes in where.codes.items()]


@pytest.mark.parametrize(
    ("name", "summed", "most"), [("adult", 1, 4), ("nltcs", 5, 4), ("nltcs", 1, 2)]
)
def test_random_questions_have_the_answers_of_the_library(tmp_path, browser, name, summed, most):
    """QUESTIONS of each release, with every digit; and the words that are shown are read alike."""
    config, measurements, counts = shipped(name, summed=summed, most=most)
    universe = config.universe
    page = tmp_path / "explore.html"
    page.write_bytes(render_explorer(config, measurements, counts, measurements_sha256="0" * 64))
    browser.open(page.as_uri())
    intervals = Intervals(measurements, config)
    quantities = MeasuredQuantities(intervals, universe)
    asked, expected = [], []
    for number, codes in enumerate(random_questions(universe, QUESTIONS, most)):
        where, level = query_of("", codes, universe).where, LEVELS[number % len(LEVELS)]
        counted, (low, high) = intervals.measured(where, level=level)
        whole = Conjunction(dict(list(where.codes.items())[1:]))
        share = quantities.of(Share("", where, whole), level=level)
        asked.append([numbered(where, universe), numbered(whole, universe), level])
        sd = pytest.approx(counted.sd, rel=1e-12)
        expected.append([counted.estimate, sd, low, high, counts.inside(universe, where)])
        expected[-1] += [share.estimate, *share.ends]
    found, texts = browser.evaluate(
        f"""(asked => [
            asked.map(([where, whole, level]) => {{
                const {{ estimate, sd, low, high, published }} = answers.answer(where, level);
                const share = answers.share(where, whole, level);
                return [estimate, sd, low, high, published, share.estimate, share.low, share.high];
            }}),
            asked.map(([where]) => queryText(columns, where)),
        ])({json.dumps(asked)})"""
    )
    assert found == expected
    for text, (where, *_) in zip(texts, asked, strict=True):
        assert numbered(parse_query(text, universe).where, universe) == where
