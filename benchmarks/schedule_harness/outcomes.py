"""How right the releases of a simulated series are, beside the truth and beside other ways."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from numpy.typing import NDArray

from schedule_harness.schedule import TABLE, LostError, Schedule
from synth.config import Config, load_config
from synth.domain import Margin
from synth.job import pipeline
from synth.job.log import StageLog
from synth.measurements.intervals import Intervals
from synth.planning import plan_events
from synth.planning.noise_sums import noise_variance
from synth.reading import Release

LEVEL = 0.95


def tables_asked_for(names: Sequence[str]) -> list[tuple[str, ...]]:
    """All tables of one column and of two."""
    return [each for order in (1, 2) for each in combinations(names, order)]


def truth_of(schedule: Schedule, index: int) -> NDArray[np.int64]:
    """What the release of a period is about."""
    first = 1 if schedule.asked.rows == "all" else index
    return schedule.asked.table.truth(first, index)


def coverage(schedule: Schedule) -> list[dict[str, Any]]:
    """Of every period: the share of intervals that hold the true count, over all tables asked for.

    Beside it the published total variation, and how far the measured tables are off, in multiples
    of the noise that the release states.
    """
    found = []
    for index in range(1, schedule.asked.horizon + 1):
        release = Release(schedule.outputs / f"visits-{schedule.asked.label(index)}")
        truth = truth_of(schedule, index)
        intervals = Intervals(release.measurements, release.config)
        held = cells = 0
        for names in tables_asked_for(schedule.asked.table.names):
            margin = _sums(truth, names, release)
            answered = intervals.marginal(names, level=LEVEL)
            held += int(((answered.lows <= margin) & (margin <= answered.highs)).sum())
            cells += margin.size
        found.append(
            {
                "period": schedule.asked.label(index),
                "records": int(truth.sum()),
                "rows": int(release.manifest["post_processing"]["rows"]["number"]),
                "held": held,
                "cells": cells,
                "total_variation": total_variation(release, truth),
                "noise_over_stated": noise_over_stated(release, truth),
            }
        )
    return found


def require_covering(found: Sequence[dict[str, Any]]) -> float:
    """The share of all intervals that hold; every period's is within what chance allows.

    The cells of one release that are summed of one noisy table share its noise, so the effective
    number is taken as a quarter of them, and six standard deviations are allowed.
    """
    for each in found:
        allowed = 6 * math.sqrt(LEVEL * (1 - LEVEL) / (each["cells"] / 4))
        if each["held"] / each["cells"] < LEVEL - allowed:
            raise LostError(f"intervals do not hold the truth: {each}")
    return sum(each["held"] for each in found) / sum(each["cells"] for each in found)


def noise_over_stated(release: Release, truth: NDArray[np.int64]) -> float:
    """Root mean square of (noisy count - true count) / stated standard deviation."""
    squares, cells = 0.0, 0
    for table in release.measurements.tables:
        sums = Margin(table.event.table, table.event.coarsening).sums(
            release.config.universe, truth.ravel()
        )
        squares += float(np.square(table.noisy_counts - sums).sum()) / table.variance
        cells += sums.size
    return math.sqrt(squares / cells)


def total_variation(release: Release, truth: NDArray[np.int64]) -> float:
    """Mean over the tables asked for: the share of the records in the wrong place."""
    errors = []
    for names in tables_asked_for(release.config.universe.names):
        margin = _sums(truth, names, release)
        counts = release.marginal(names).iloc[:, -1].to_numpy().reshape(margin.shape)
        errors.append(np.abs(counts - margin).sum() / (2 * margin.sum()))
    return float(np.mean(errors))


def error_of_tables(release: Release, truth: NDArray[np.int64]) -> float:
    """Root mean square error, in records, of the linear estimates of all tables asked for."""
    intervals = Intervals(release.measurements, release.config)
    squares, cells = 0.0, 0
    for names in tables_asked_for(release.config.universe.names):
        margin = _sums(truth, names, release)
        errors = intervals.marginal(names, level=LEVEL).estimates - margin
        squares += float(np.square(errors).sum())
        cells += margin.size
    return math.sqrt(squares / cells)


def split_budget(schedule: Schedule, place: Path, *, seeds: int) -> list[Release]:
    """Releases of the whole table by the budget that a period has if all get the same share."""
    made = []
    for seed in range(seeds):
        here = place / f"split-{seed}"
        here.mkdir(parents=True)
        asked = schedule.asked
        plain = asked.configuration(schedule.server.url())
        del plain["series"], plain["source"]["where"]
        plain["release"]["id"] = "split"
        share = Fraction(asked.epsilon) / asked.horizon
        plain["privacy"]["epsilon"] = plain["ledger"]["epsilon_cap"] = str(share)
        if Fraction(asked.delta):
            share = Fraction(asked.delta) / asked.horizon
            plain["privacy"]["delta"] = plain["ledger"]["delta_cap"] = str(share)
        plain["source"]["table"] = f"public.{TABLE}"
        path = here / "split.yaml"
        path.write_text(yaml.safe_dump(plain), encoding="utf-8")
        config, log = load_config(path), StageLog(io.StringIO())
        pipeline.measure(config, log=log)
        made.append(Release(pipeline.publish(config, log=log).path))
    return made


def noise_units(release: Release, truth: NDArray[np.int64], planned: dict[Any, float]) -> float:
    """Root mean square error over all measured cells, in noise of the whole budget at once.

    `planned`: see `planned_noise`.
    """
    squares, cells = 0.0, 0
    for table in release.measurements.tables:
        sums = Margin(table.event.table, table.event.coarsening).sums(
            release.config.universe, truth.ravel()
        )
        sd = planned[table.event.table, table.event.coarsening]
        squares += float(np.square((table.noisy_counts - sums) / sd).sum())
        cells += sums.size
    return math.sqrt(squares / cells)


def planned_noise(config: Config) -> dict[Any, float]:
    """The standard deviation of every table if the charge of the series bought one release."""
    return {
        (event.table, event.coarsening): math.sqrt(noise_variance(event))
        for event in plan_events(config)
    }


def _sums(truth: NDArray[np.int64], names: Sequence[str], release: Release) -> NDArray[np.int64]:
    columns = release.config.universe.names
    others = tuple(axis for axis, name in enumerate(columns) if name not in names)
    sums: NDArray[np.int64] = truth.sum(axis=others)
    return sums
