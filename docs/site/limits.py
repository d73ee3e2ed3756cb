"""Writes the picture and the tables of `docs/limits.md`, from the shipped configurations.

    python docs/site/limits.py

Errors are forecasts of the planner: no data are opened. A test says when to run this again.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path

import numpy as np

from synth import load_config
from synth.config.workload import WeightedMarginal
from synth.planning import Forecast, forecast
from synth.planning.noise_sums import NoiseSum, laplace_rate, noise_variance
from synth.planning.query_forecast import QueryForecast
from synth.privacy import TableEvent

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "limits.md"
PICTURE = ROOT / "docs" / "images" / "limits.svg"
MARKS = ("families", "reconstruction")
CONFIGURATIONS = ("adult", "nltcs", "diamonds", "flights")
DRAWN = "adult"
MISS = 0.05

PEOPLE, QUESTIONS_EACH = 200, 4
ERRORS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
"""Standard deviations of the answers, in square roots of the number of people."""

WIDE, HIGH = 760, 500
LEFT, RIGHT, TOP, BOTTOM = 76, 744, 30, 440
LEAST, MOST = (1.0, 1.0), (1e9, 3e5)
"""Queries and records at the ends of the axes."""


@dataclass(frozen=True)
class Family:
    """So many queries, and an error in records that all of them keep to with 95 %."""

    name: str
    queries: int
    error: float


@cache
def planned(name: str) -> Forecast:
    """The forecast of a shipped configuration: tables of up to three columns, and single cells."""
    return forecast(load_config(ROOT / "configs" / f"{name}.yaml"))


@cache
def of_every_order(name: str) -> Forecast:
    """The same plan, asked about the tables of every number of columns."""
    config = load_config(ROOT / "configs" / f"{name}.yaml")
    names = config.universe.names
    tables = tuple(
        WeightedMarginal(columns)
        for order in range(1, len(names))
        for columns in combinations(names, order)
    )
    asked = replace(config, workload=replace(config.workload, marginals=tables))
    return forecast(asked, events=planned(name).tables)


def families(plan: Forecast) -> list[Family]:
    """All counts of the tables of one number of columns each, and of the universe."""
    found = []
    (full,) = (event for event in plan.tables if event.cells == plan.universe_size)
    for order in sorted({len(query.attributes) for query in plan.queries}):
        queries = [query for query in plan.queries if len(query.attributes) == order]
        number = sum(query.cells for query in queries)
        worst = max(queries, key=lambda query: query.sd_records)
        found.append(Family(_columns(order), number, _all_within(worst, full, number)))
    cells = plan.universe_size
    found.append(Family("single cells", cells, _all_within(single_cell(plan), full, cells)))
    return found


def single_cell(plan: Forecast) -> QueryForecast:
    """The forecast of one cell of the universe, which all of these configurations measure."""
    if plan.single_cell is None:
        raise LookupError(f"{plan.release_id} does not measure its universe")
    return plan.single_cell


def _all_within(query: QueryForecast, full: TableEvent, number: int) -> float:
    """A bound on as many errors as `number`, none larger than this query's (Bonferroni).

    The law is that of a sum of the noises of the universe's cells, scaled to the query's variance.
    """
    noise = NoiseSum(laplace_rate(full), full.cells // query.cells)
    return noise.half_width(MISS / number) * query.sd_records / noise.sd


def _columns(order: int) -> str:
    return f"{order} column{'s' if order > 1 else ''}"


def half_sd(plan: Forecast) -> float:
    """The standard deviation of the error of a count over a random half of all cells.

    Formula: sqrt(N v + w) / 2 with N cells, v the variance of one and w that of the total: of a
    random 0/1 vector the part along the total has the mean square N / 4, each other part 1 / 4.
    """
    total = 1 / sum(1 / (noise_variance(event) * event.cells) for event in plan.tables)
    return math.sqrt(plan.universe_size * single_cell(plan).sd_records ** 2 + total) / 2


def halves_within(plan: Forecast, number: float) -> float:
    """A bound on the errors of so many random halves: many noises add up, so they are normal."""
    return half_sd(plan) * _normal(MISS / number)


def one_by_one(plan: Forecast, number: float) -> float:
    """The bound if every query got its own Laplace noise of an equal part of epsilon."""
    return number / float(plan.epsilon) * math.log(number / MISS)


def proved(plan: Forecast, number: float) -> float:
    """What Blum, Ligett and Roth prove, but for a constant: n (ln N ln Q / (epsilon n))^(1/3)."""
    n = plan.records
    inside = math.log(plan.universe_size) * math.log(number) / (float(plan.epsilon) * n)
    return float(n * inside ** (1 / 3))


def _normal(miss: float) -> float:
    """The z with P(|Z| > z) = miss, by bisection: exact in tails far below the digits of 1 - p."""
    low, high = 0.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erfc(middle / math.sqrt(2)) > miss else (low, middle)
    return high


def families_table() -> str:
    """What every shipped configuration answers to what error."""
    plans = [planned(name) for name in CONFIGURATIONS]
    found = [{family.name: family for family in families(plan)} for plan in plans]
    lines = {
        "records n": [f"{plan.records:,}" for plan in plans],
        "square root of n": [f"{math.sqrt(plan.records):,.0f}" for plan in plans],
    }
    for name in ("1 column", "2 columns", "3 columns", "single cells"):
        kind = name if name == "single cells" else f"tables of {name}"
        lines[kind] = [f"± {each[name].error:,.0f} ({each[name].queries:,})" for each in found]
    lines["random halves"] = [
        f"± {halves_within(plan, plan.records):,.0f} ({plan.records:,})" for plan in plans
    ]
    rows = [["", *(f"`{name}.yaml`" for name in CONFIGURATIONS)], ["---"] * (len(plans) + 1)]
    rows += [[name, *cells] for name, cells in lines.items()]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def reconstructed(error: float) -> float:
    """The share of secret bits that least squares reads off random subset sums.

    `PEOPLE` people with a bit each, `QUESTIONS_EACH` times as many questions, each about a random
    half of the people; answers have normal errors of `error` square roots of the number of people.
    """
    generator = np.random.default_rng(2003)
    secret = generator.integers(0, 2, PEOPLE)
    asked = generator.integers(0, 2, (QUESTIONS_EACH * PEOPLE, PEOPLE))
    noise = generator.normal(0, error * math.sqrt(PEOPLE), len(asked))
    guess, *_ = np.linalg.lstsq(asked.astype(float), asked @ secret + noise, rcond=None)
    return float(((guess > 0.5) == secret).mean())


def reconstruction_table() -> str:
    """How much of the secret is read off, by the size of the errors."""
    shares = [f"{100 * reconstructed(error):.0f} %" for error in ERRORS]
    heads = [f"{error:g} √n" for error in ERRORS]
    return "\n".join(
        [
            f"| error of an answer | {' | '.join(heads)} |",
            "|---" * (len(ERRORS) + 1) + "|",
            f"| bits read off right | {' | '.join(shares)} |",
        ]
    )


def picture() -> str:
    """Error against number of queries, both on logarithmic axes."""
    plan = of_every_order(DRAWN)
    n = plan.records
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {HIGH}" width="{WIDE}" '
        f'height="{HIGH}" font-family="sans-serif" font-size="13">',
        "<title>Error against the number of queries: Adult, seven columns, epsilon 1</title>",
        f'<rect width="{WIDE}" height="{HIGH}" rx="8" fill="#ffffff"/>',
        *_axes(),
        _level(n, f"n = {n:,}: an answer says nothing"),
        _level(math.sqrt(n), f"√n = {math.sqrt(n):.0f}"),
    ]
    numbers = [10 ** (step / 20) for step in range(181)]
    alone = [(each, one_by_one(plan, each)) for each in numbers]
    theory = [(each, proved(plan, each)) for each in numbers if each >= 10]
    halves = [(each, halves_within(plan, each)) for each in numbers]
    lines += [
        _curve(alone, "#b3261e", "one by one"),
        _curve(theory, "#6a6a6a", "proved", dashes="2 4"),
        _curve(halves, "#6d3fa0", "random halves", dashes="7 4"),
        _text(12, 20, "each query with noise of its own", "#b3261e"),
        _text(2e5, 11_500, "proved for any queries (but for a constant)", "#555555"),
        _text(3e5, 2_900, "counts over random halves of the cells", "#6d3fa0"),
    ]
    points = [(family.queries, family.error) for family in families(plan)]
    lines.append(_curve(points, "#1f5fa8", "tables"))
    for family in families(plan):
        x, y = _place(family.queries, family.error)
        lines.append(
            f'<circle data-family="{family.name}" data-queries="{family.queries}" '
            f'data-error="{family.error:.4g}" cx="{x:.1f}" cy="{y:.1f}" r="4.5" fill="#1f5fa8"/>'
        )
        above = family.name in ("1 column", "2 columns", "3 columns")
        dx, dy, anchor = (0, -9, "middle") if above else (9, 4, "start")
        if family.name == "1 column":
            dx, dy, anchor = 0, 20, "middle"
        lines.append(
            f'<text x="{x + dx:.1f}" y="{y + dy:.1f}" text-anchor="{anchor}" font-size="12" '
            f'fill="#123a66">{family.name}</text>'
        )
    lines.append("</svg>")
    return "\n".join(lines) + "\n"


def _place(queries: float, error: float) -> tuple[float, float]:
    across = math.log(queries / LEAST[0]) / math.log(MOST[0] / LEAST[0])
    up = math.log(error / LEAST[1]) / math.log(MOST[1] / LEAST[1])
    return LEFT + across * (RIGHT - LEFT), BOTTOM - up * (BOTTOM - TOP)


def _axes() -> list[str]:
    lines = []
    for power in range(10):
        x, _ = _place(10**power, 1)
        label = f"{10**power:,}" if power < 6 else f"{10 ** (power - 6):,} million"
        if power == 8:
            label = ""  # no room beside the last one
        anchor = "end" if power == 9 else "middle"
        lines.append(
            f'<path d="M{x:.1f} {TOP}V{BOTTOM}" stroke="#e3e6ea"/><text x="{x:.1f}" '
            f'y="{BOTTOM + 18}" text-anchor="{anchor}" font-size="11" fill="#333">{label}</text>'
        )
    for power in range(6):
        _, y = _place(1, 10**power)
        lines.append(
            f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#e3e6ea"/><text x="{LEFT - 8}" '
            f'y="{y + 4:.1f}" text-anchor="end" font-size="11" fill="#333">{10**power:,}</text>'
        )
    middle = (LEFT + RIGHT) / 2
    lines += [
        f'<text x="{middle:g}" y="{BOTTOM + 42}" text-anchor="middle" fill="#111">'
        "number of queries that are answered at once</text>",
        f'<text transform="translate(18 {(TOP + BOTTOM) / 2:g}) rotate(-90)" '
        'text-anchor="middle" fill="#111">all errors are below, in records (95 %)</text>',
    ]
    return lines


def _level(records: float, words: str) -> str:
    _, y = _place(1, records)
    return (
        f'<path d="M{LEFT} {y:.1f}H{RIGHT}" stroke="#333" stroke-width="1.2"/>'
        f'<text x="{RIGHT - 4}" y="{y - 5:.1f}" text-anchor="end" font-size="12" fill="#222">'
        f"{words}</text>"
    )


def _curve(
    points: Sequence[tuple[float, float]], colour: str, name: str, *, dashes: str = ""
) -> str:
    """A line through the points that lie on the picture."""
    inside = [point for point in points if LEAST[1] <= point[1] <= MOST[1]]
    path = "L".join("{:.1f} {:.1f}".format(*_place(*point)) for point in inside)
    dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
    return (
        f'<path data-curve="{name}" d="M{path}" fill="none" stroke="{colour}" '
        f'stroke-width="2.2"{dashed}/>'
    )


def _text(queries: float, error: float, words: str, colour: str) -> str:
    x, y = _place(queries, error)
    return f'<text x="{x:.1f}" y="{y:.1f}" fill="{colour}">{words}</text>'


def with_tables(text: str) -> str:
    """The page with its tables made anew, between the marks."""
    tables = dict(zip(MARKS, (families_table(), reconstruction_table()), strict=True))
    for name, table in tables.items():
        start, end = f"<!-- {name} -->\n\n", f"\n\n<!-- end of {name} -->"
        before, rest = text.split(start)
        _, after = rest.split(end)
        text = before + start + table + end + after
    return text


if __name__ == "__main__":
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
