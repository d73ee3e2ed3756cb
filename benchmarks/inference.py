"""How often intervals of `synth.infer` hold the statistic of the raw table, and how wide they are.

    python benchmarks/inference.py --tables small,clinic,wages --releases 200 --keep results.jsonl
    python benchmarks/inference.py --report results.jsonl

A release is measured with the noise of its plan, estimated and rounded as every release is, and
so is each of its replicates; no file is written. Of every table two dozen statistics or more are
asked for: totals and shares of small groups, means, quantiles, differences, ratios, correlations,
linear and logistic coefficients. The truth is the same statistic of the raw table, so that only
noise counts. One line of JSON per release goes to `--keep`; a run that finds a release there leaves
it out. With `--report` the lines are summed up.

`adult` and `nltcs` are the shipped configurations; `adult-4` and `nltcs-10` are fewer of their
columns, for speed; `clinic` (ten columns), `wages` and `small` are made up.

The noise has the exact law in floating point and a seed: for a benchmark, not for a release.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import re
import time
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from inference_tables import Table, asked, table
from scipy.special import ndtri

from synth.config import Config
from synth.domain import Margin
from synth.errors import QueryError
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

EPSILONS = ("0.3", "1", "3")
TABLES = ("small", "wages", "clinic", "adult-4", "nltcs-10", "adult", "nltcs")


@cache
def planned(name: str, epsilon: str) -> tuple[Config, Table, tuple[TableEvent, ...]]:
    """A configuration, the true counts and what is measured."""
    config, truth = table(name, epsilon)
    return config, truth, plan_events(config)


def measure(
    config: Config,
    events: Sequence[TableEvent],
    counts: Table,
    seed: int,
) -> Measurements:
    """The planned tables with noise."""
    generator = np.random.default_rng([seed, 7])
    tables = []
    for event in events:
        sums = Margin(event.table, event.coarsening).sums(config.universe, counts)
        noisy = sums + draw_noise(generator, event, len(sums))
        tables.append(MeasuredTable(event, noisy, noise_variance(event)))
    return Measurements("benchmark", "", tuple(tables))


def run(name: str, epsilon: str, seed: int, replicates: int) -> dict[str, Any]:
    """One release with its replicates: every statistic beside the truth."""
    began = time.process_time()
    config, truth, events = planned(name, epsilon)
    measurements = measure(config, events, truth, seed)
    derived = derive(measurements, config)
    seeds = [public_seed(measurements, f"replicate {r}") for r in range(1, replicates + 1)]
    made = replicates_of(derived.fitted, derived.counts, measurements, config, seeds=seeds)
    rule = Rule.of(
        measurements.tables, calibrated_columns=CALIBRATED_COLUMNS, largest_shift=LARGEST_SHIFT
    )
    codes = np.stack([column.astype(np.int64) for column in made.columns])
    counts = np.stack([made.published, *made.counts]).astype(np.float64)
    table = WeightedTable(config.universe, codes, counts)
    weights = Weights(table, made.factor, rule)
    cells = np.flatnonzero(truth)
    codes = np.stack(np.unravel_index(cells, config.universe.shape)).astype(np.int64)
    raw = WeightedTable(config.universe, codes, np.stack([truth[cells]] * 2).astype(np.float64))
    rows = [
        row
        for number, statistic in enumerate(asked(name, config.universe))
        for row in compared(number, statistic, weights, raw)
    ]
    return {
        "table": name,
        "epsilon": epsilon,
        "seed": seed,
        "replicates": replicates,
        "factor": made.factor,
        "seconds": round(time.process_time() - began, 2),
        "rows": rows,
    }


def compared(
    number: int, statistic: st.Statistic, weights: Weights, raw: WeightedTable
) -> Iterator[dict[str, Any]]:
    """Every term of a statistic: truth, estimate, interval, and that of rows taken for data."""
    true = statistic.evaluate(raw.reduced(statistic.columns(raw.universe)))
    try:
        found = inferred(weights, statistic)
        naive = inferred(weights, statistic, sampling=True)["sampling_se"]
    except QueryError:
        return
    for term, value in zip(true.terms, true.values[0], strict=True):
        if term in found.index and math.isfinite(value):
            row = found.loc[term]
            yield {
                "what": f"{number} {term}",
                "columns": len(statistic.columns(raw.universe)),
                "truth": value,
                "estimate": row["estimate"],
                "low": row["low"],
                "high": row["high"],
                "naive_se": naive[term],
                "reason": row["reason"],
            }


def kept(path: Path) -> list[dict[str, Any]]:
    """The releases that were done already; a line that was cut short is left out."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else ():
        with contextlib.suppress(json.JSONDecodeError):
            found.append(json.loads(line))
    return found


def report(done: Sequence[dict[str, Any]]) -> None:
    """One line for every table and epsilon, and for all tables; then one for every reason."""
    print(
        "| table | epsilon | releases | R | factor | usable | coverage | others | width: of best "
        "| of naive | naive coverage |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for name, epsilon in product((*TABLES, "all"), EPSILONS):
        found = [each for each in done if each["epsilon"] == epsilon]
        if name != "all":
            found = [each for each in found if each["table"] == name]
        if found:
            print(line(name, epsilon, found))
    print()
    by_reason: dict[str, list[bool]] = {}
    for row in (row for each in done for row in each["rows"]):
        reason = re.sub(r"[\d,]+|holds .* together", "#", row["reason"]) or "(usable)"
        by_reason.setdefault(reason, []).append(holds(row))
    for reason, hits in sorted(by_reason.items(), key=lambda each: -len(each[1])):
        print(f"{len(hits):7d} {percent(hits)} {reason}")


def line(name: str, epsilon: str, found: Sequence[dict[str, Any]]) -> str:
    """A table at one epsilon, over its releases.

    Widths are medians over usable statistics: in units of the interval that the root mean square
    error over the releases would give, and of that of rows taken for data.
    """
    by_statistic: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for each in found:
        for row in each["rows"]:
            by_statistic.setdefault((each["table"], row["what"]), []).append(row)
    z = float(ndtri(0.975))
    usable, others, naive = [], [], []
    best, of_naive = [], []
    for rows in by_statistic.values():
        trusted = [row for row in rows if not row["reason"]]
        others += [holds(row) for row in rows if row["reason"]]
        usable += [holds(row) for row in trusted]
        naive += [abs(row["estimate"] - row["truth"]) <= z * row["naive_se"] for row in trusted]
        errors = [row["estimate"] - row["truth"] for row in rows]
        ideal = 2 * z * math.sqrt(np.mean(np.square(errors)))
        widths = [row["high"] - row["low"] for row in trusted]
        best += [width / ideal for width in widths if ideal and width]
        of_naive += [
            width / (2 * z * row["naive_se"])
            for width, row in zip(widths, trusted, strict=True)
            if row["naive_se"]
        ]
    cells = [
        name,
        epsilon,
        str(len(found)),
        "/".join(sorted({str(each["replicates"]) for each in found})),
        f"{np.median([each['factor'] for each in found]):.2f}",
        f"{100 * len(usable) / max(len(usable) + len(others), 1):.0f} %",
        percent(usable),
        percent(others),
        f"{np.median(best):.2f}" if best else "-",
        f"{np.median(of_naive):.2f}" if of_naive else "-",
        percent(naive),
    ]
    return f"| {' | '.join(cells)} |"


def holds(row: dict[str, Any]) -> bool:
    """Whether the interval holds the truth, but for last digits of quantiles."""
    return bool(row["low"] <= row["truth"] <= row["high"])


def percent(hits: Sequence[bool]) -> str:
    """The share of intervals that hold the truth."""
    return f"{100 * np.mean(hits):.1f} %" if hits else "-"


def main() -> None:
    """Read the arguments, run what is not done yet, print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", default=",".join(TABLES))
    parser.add_argument("--epsilons", default=",".join(EPSILONS))
    parser.add_argument("--releases", type=int, default=200)
    parser.add_argument("--replicates", type=int, default=40)
    parser.add_argument("--keep", type=Path, default=None, help="where a line per release goes")
    parser.add_argument("--seconds", type=float, default=math.inf, help="on the clock, at most")
    parser.add_argument("--report", type=Path, default=None)
    given = parser.parse_args()
    if given.report is not None:
        report(kept(given.report))
        return
    done = kept(given.keep) if given.keep else []
    known = {(each["table"], each["epsilon"], each["seed"]) for each in done}
    began = time.monotonic()
    for seed in range(given.releases):  # by turns, so that a run cut short has some of each
        for name, epsilon in product(given.tables.split(","), given.epsilons.split(",")):
            if (name, epsilon, seed) in known or time.monotonic() - began > given.seconds:
                continue
            done.append(run(name, epsilon, seed, given.replicates))
            if given.keep:
                with given.keep.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(done[-1]) + "\n")
    report(done)


if __name__ == "__main__":
    main()
