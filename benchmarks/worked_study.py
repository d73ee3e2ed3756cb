"""A study of Adult, from the raw table, from a release with replicates, and from its rows as data.

    python benchmarks/worked_study.py --run 20
    python benchmarks/worked_study.py --markdown

The question is that of Kamiran and Calders (2012): how much more often do men earn above 50,000
dollars than women, and what is left of it at the same education and marital status? Release 0 is
of Adult itself. In releases 1, 2, ... Adult is the population: each publishes a sample of as many
records, drawn with replacement, and intervals should hold what is true of the population. Each
release is a line of `benchmarks/worked_study_results.jsonl`; those that are there are left out.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtri
from tables import real

from synth.config import Config
from synth.domain import Margin
from synth.estimate import replicates_of
from synth.estimate.noise_again import draw_noise
from synth.measurements import MeasuredTable, Measurements, public_seed
from synth.noise import noise_variance
from synth.planning import plan_events
from synth.privacy import TableEvent
from synth.reading import statistics as st
from synth.reading.inference import inferred
from synth.reading.replicate_weights import Rule, Weights
from synth.reading.weighted_table import WeightedTable
from synth.release.derivation import derive
from synth.release.manifest.processing import CALIBRATED_COLUMNS, LARGEST_SHIFT

RESULTS = Path(__file__).parent / "worked_study_results.jsonl"
REPLICATES = 40
RICH = "income=>50K"
MARRIED = "marital-status=Married-civ-spouse"
DOCTORS = "education-num=16"

Table = NDArray[np.int64]


@dataclass(frozen=True)
class Question:
    """One number of the study: a statistic, and which of its terms."""

    words: str
    statistic: st.Statistic
    term: str | None = None


def questions() -> list[Question]:
    """What is asked of every table."""

    def gap(within: str) -> st.Statistic:
        men, women = (st.share(RICH, within=f"sex={sex}{within}") for sex in ("Male", "Female"))
        return st.difference(men, women)

    def odds(*others: str) -> st.Statistic:
        return st.logistic(RICH, ["sex", *others])

    of_doctors = st.share(RICH, within=f"sex=Female, {DOCTORS}")
    return [
        Question("share of men above 50K", st.share(RICH, within="sex=Male")),
        Question("share of women above 50K", st.share(RICH, within="sex=Female")),
        Question("men less women", gap("")),
        Question("the same, of the married", gap(f", {MARRIED}")),
        Question("share of women with a doctorate", of_doctors),
        Question("log odds of men", odds(), "sex=Male"),
        Question("the same, at equal education", odds("education-num"), "sex=Male"),
        Question("and equal marital status", odds("education-num", "marital-status"), "sex=Male"),
    ]


@cache
def planned() -> tuple[Config, Table, tuple[TableEvent, ...]]:
    """The shipped configuration, the true counts and what is measured."""
    config, truth = real("adult")
    return config, truth, plan_events(config)


def as_weights(counts: Table, config: Config) -> Weights:
    """A raw table, as if it were a release without noise."""
    cells = np.flatnonzero(counts)
    codes = np.stack(np.unravel_index(cells, config.universe.shape)).astype(np.int64)
    weights = np.stack([counts[cells]] * 2).astype(np.float64)
    return Weights(WeightedTable(config.universe, codes, weights), 1.0, _rule(()))


def published(counts: Table, seed: int) -> Weights:
    """A release of a table, with its replicates."""
    config, _, events = planned()
    generator = np.random.default_rng([seed, 1994])
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(config.universe, counts)
        noisy = sums + draw_noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    measurements = Measurements("study", "", tuple(tables))
    derived = derive(measurements, config)
    seeds = [public_seed(measurements, f"replicate {r}") for r in range(1, REPLICATES + 1)]
    made = replicates_of(derived.fitted, derived.counts, measurements, config, seeds=seeds)
    codes = np.stack([column.astype(np.int64) for column in made.columns])
    weights = np.stack([made.published, *made.counts]).astype(np.float64)
    return Weights(WeightedTable(config.universe, codes, weights), made.factor, _rule(tables))


def _rule(tables: Sequence[MeasuredTable]) -> Rule:
    return Rule.of(tables, calibrated_columns=CALIBRATED_COLUMNS, largest_shift=LARGEST_SHIFT)


def answer(question: Question, weights: Weights) -> pd.Series:
    """The estimate with its interval for the population, and the parts of its error."""
    found = inferred(weights, question.statistic, sampling=True)
    return found.iloc[0] if question.term is None else found.loc[question.term]


def study(seed: int) -> dict[str, Any]:
    """One release: what each question gets from the raw table and from the release."""
    config, truth, _ = planned()
    raw = truth
    if seed:
        records = int(truth.sum())
        raw = np.random.default_rng([seed, 7]).multinomial(records, truth / records)
    release, population = published(raw, seed), as_weights(truth, config)
    before = as_weights(raw, config)
    z = float(ndtri(0.975))
    rows = []
    for question in questions():
        true, found, own = (answer(question, each) for each in (population, release, before))
        told = {"reason": str(found["reason"])} if not seed else {}
        rows.append(
            {
                "what": question.words,
                "true": float(true["estimate"]),
                "raw": [float(own[key]) for key in ("estimate", "low", "high")],
                "release": [float(found[key]) for key in ("estimate", "low", "high")],
                "naive": [
                    float(found["estimate"] + side * z * found["sampling_se"]) for side in (-1, 1)
                ],
                "noise_se": float(found["noise_se"]),
                "sampling_se": float(found["sampling_se"]),
            }
            | told
        )
    return {"seed": seed, "factor": release.factor, "rows": rows}


def kept() -> list[dict[str, Any]]:
    """The releases that were studied already."""
    if not RESULTS.exists():
        return []
    return [json.loads(line) for line in RESULTS.read_text(encoding="utf-8").splitlines()]


def markdown() -> str:
    """The tables of the page."""
    done = {each["seed"]: each for each in kept()}
    lines = [
        "| | raw table | release with replicates | rows taken for data | told usable |",
        "|---|---|---|---|---|",
    ]
    for row in done[0]["rows"]:
        naive = _interval(row["release"][0], *row["naive"])
        usable = "no" if row["reason"] else "yes"
        cells = [row["what"], _interval(*row["raw"]), _interval(*row["release"]), naive, usable]
        lines.append(f"| {' | '.join(cells)} |")
    samples = [each for seed, each in sorted(done.items()) if seed]
    lines += [
        "",
        f"| of {len(samples)} samples | raw table | release with replicates | rows taken for data "
        "| width of the second / of the third |",
        "|---|---|---|---|---|",
    ]
    every = []
    for place, row in enumerate(done[0]["rows"]):
        here = [sample["rows"][place] for sample in samples]
        ends = [(each["raw"][1:], each["release"][1:], each["naive"]) for each in here]
        held = [
            sum(low <= row["true"] <= high for low, high in kind)
            for kind in zip(*ends, strict=True)
        ]
        every.append(held)
        widths = [(own[1] - own[0]) / (naive[1] - naive[0]) for _, own, naive in ends]
        cells = [row["what"], *map(str, held), f"{np.median(widths):.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    asked = len(samples) * len(every)
    shares = [f"{100 * sum(kind) / asked:.0f} %" for kind in zip(*every, strict=True)]
    lines.append(f"| all together | {' | '.join(shares)} | |")
    return "\n".join(lines)


def _interval(estimate: float, low: float, high: float) -> str:
    return f"{_number(estimate)} ({_number(low)} to {_number(high)})"


def _number(value: float) -> str:
    return f"{value:.4f}" if abs(value) < 0.01 else f"{value:.3f}"


def main() -> None:
    """Study releases that are not there yet, or print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=int, default=0, help="samples beside the release of Adult")
    parser.add_argument("--markdown", action="store_true")
    given = parser.parse_args()
    if given.run:
        known = {each["seed"] for each in kept()}
        for seed in range(given.run + 1):
            if seed not in known:
                found = study(seed)
                with RESULTS.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(found) + "\n")
    if given.markdown:
        print(markdown())


if __name__ == "__main__":
    main()
