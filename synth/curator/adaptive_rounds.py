"""The adaptive strategy: measure, fit, choose what the fit is wrong about, and measure that."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from synth import progress
from synth.config import Config
from synth.curator.adaptive_choice import choose_table, whole_guess
from synth.curator.boundary import measure_table
from synth.curator.counting.margins import margin_counts, margins_of
from synth.curator.sensitive import Sensitive
from synth.measurements import MeasuredTable, Measurements
from synth.noise import NoiseStream
from synth.plan import Schedule

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Fit = Callable[[Measurements], NDArray[np.float64]]
    """A public guess of the counts of the universe, from noisy tables alone."""


def measure_in_rounds(
    sensitive_counts: Sensitive[NDArray[np.int64]],
    schedule: Schedule,
    *,
    config: Config,
    stream: NoiseStream,
    fit: Fit,
) -> Measurements:
    """Measure the first tables, then in every round choose a candidate and measure it.

    Privacy: that of `privacy.total_budget(schedule.events)`. Every noisy table costs its event
    (`measure_table`) and every choice its own (`choose_table`). Each depends on what came before
    through noisy tables and choices only, because `fit` is given nothing else: so they compose
    (Dwork, Rothblum, Vadhan 2010, adaptive composition). The number of rounds and the cost of
    each are fixed; nothing that was measured ends the loop or changes a budget.
    Ensures: no table is chosen twice; table `number` of the result has the noise of that number
    of the stream, and choice `number` the words of that number.
    """
    universe, first = config.universe, schedule.first
    candidates = dict(enumerate(schedule.candidates))
    margins = margins_of(first, universe)
    tables: dict[int, MeasuredTable] = {}
    parts = len(first) + len(schedule.rounds)
    sensitive_tables: dict[int, NDArray[np.int64]] = {}
    wanted = (*margins, *(candidate.margin for candidate in schedule.candidates))
    for number, sensitive_table in margin_counts(sensitive_counts, wanted, universe):
        if number < len(first):
            with progress.stage(progress.Stage.NOISE, part=len(tables) + 1, parts=parts):
                tables[number] = measure_table(
                    sensitive_table, first[number], number=number, stream=stream
                )
        else:
            sensitive_tables[number - len(first)] = sensitive_table.consume()
    measured = Measurements(
        config.release.id, config.hash, tuple(tables[number] for number in range(len(first)))
    )
    for number, spending in enumerate(schedule.rounds):
        estimated = fit(measured)
        guesses = {
            key: whole_guess(candidate.margin.sums(universe, estimated))
            for key, candidate in candidates.items()
        }
        chosen = choose_table(
            sensitive_tables, guesses, candidates, spending, number=number, stream=stream
        )
        with progress.stage(progress.Stage.NOISE, part=len(first) + number + 1, parts=parts):
            noisy = measure_table(
                Sensitive(sensitive_tables.pop(chosen)),
                spending.event(candidates.pop(chosen)),
                number=len(measured.tables),
                stream=stream,
            )
        measured = Measurements(
            config.release.id,
            config.hash,
            (*measured.tables, noisy),
            (*measured.selections, spending.selection),
        )
    return measured
