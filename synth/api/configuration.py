"""What can be asked of a configuration, and of its ledger, without opening any data."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path

from rich.console import Console

from synth.bookkeeping.run import RunRecord
from synth.bookkeeping.statement import render_ledger
from synth.config import Config, Given, load_config, parse_epsilon, warnings
from synth.config.summary import report_lines
from synth.job.account import open_ledger, require_anchored
from synth.job.account import void as free_charge
from synth.job.explanation import Explanation
from synth.job.explanation import explain as explain_configuration
from synth.planning import Forecast, charged_events, forecast
from synth.privacy import Budget

LINE = 100
"""Characters of a line of text."""


@dataclass(frozen=True, repr=False)
class Checked:
    """A configuration without a problem, and what is worth a second look."""

    config: Config
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        return f"Checked({self.config!r}, {len(self.notes)} notes)"

    def __str__(self) -> str:
        return "\n".join(report_lines(self.config))


def check(config: Given, *, period: str | None = None) -> Checked:
    """Find every problem of a configuration; opens no data.

    Raises: ConfigError with all of them.
    """
    accepted = load_config(config, period=period, without_period="first")
    charged_events(accepted)  # refuses noise that is too wide to be drawn
    return Checked(accepted, warnings(accepted))


def plan(
    config: Given,
    epsilon: Fraction | float | str | None = None,
    *,
    period: str | None = None,
) -> Forecast:
    """What a run would measure and how exact it would be, with its own epsilon or another one.

    Privacy: reads the configuration only; opens no data and spends nothing.
    Raises: ConfigError.
    """
    accepted = load_config(config, period=period, without_period="first")
    budget = None if epsilon is None else parse_epsilon(str(epsilon))
    return forecast(accepted, budget, with_alternatives=True)


def explain(config: Given, *, period: str | None = None) -> Explanation:
    """What the guarantee means, in plain words; opens no data. Raises: ConfigError."""
    return explain_configuration(load_config(config, period=period, without_period="first"))


@dataclass(frozen=True)
class LedgerStatement:
    """What the releases about a population spent."""

    population: str
    cap: Budget | None
    """None before the first charge."""
    spent: Budget
    left: Budget | None
    runs: tuple[RunRecord, ...] = field(repr=False)
    text: str = field(repr=False)

    def __str__(self) -> str:
        return self.text


def ledger(
    config: Given,
    *,
    void: str | None = None,
    reason: str = "",
    releases: Sequence[str | Path] = (),
    period: str | None = None,
) -> LedgerStatement:
    """What was spent, on what, and what is left; opens no data.

    `void`: a run that never measured, whose charge is freed first for the `reason` that is kept.
    `releases`: folders whose reservations the ledger must hold.
    Raises: ConfigError; LedgerError if there is no ledger yet or it is damaged; VerificationError.
    """
    accepted = load_config(config, period=period, without_period="any")
    if void is not None:
        free_charge(accepted, void, reason)
    opened, population = open_ledger(accepted)
    with opened:
        require_anchored(opened, [Path(release) for release in releases])
        said = io.StringIO()
        render_ledger(opened, population, Console(file=said, width=LINE))
        position = opened.position(population)
    return LedgerStatement(
        population,
        position.cap,
        position.spent,
        position.left,
        tuple(position.runs),
        said.getvalue().rstrip("\n"),
    )
