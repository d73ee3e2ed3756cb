"""Whether the planned noise can be drawn, decided before anything is spent."""

from __future__ import annotations

from collections.abc import Iterable

from synth.config.types import Config
from synth.errors import ConfigError, Problem
from synth.noise import noise_law
from synth.privacy import OpenTableEvent, TableEvent


def require_drawable(config: Config, events: Iterable[TableEvent | OpenTableEvent]) -> None:
    """Refuse a plan whose noise is too wide to be drawn; no table of noise is built.

    Raises: ConfigError with one problem, for the first such event.
    """
    for event in events:
        try:
            noise_law(event)
        except ValueError as error:
            raise ConfigError(config.name, [_problem(config, event, str(error))]) from None


def _problem(config: Config, event: TableEvent | OpenTableEvent, limit: str) -> Problem:
    table = "a table to be chosen"
    if isinstance(event, TableEvent):
        table = f"the table of {', '.join(event.table) or 'all records'}"
    budget = f"epsilon {config.privacy.epsilon}"
    if config.privacy.delta:
        budget += f" and delta {config.privacy.delta}"
    return Problem(
        None,
        "privacy.epsilon",
        f"{budget}, which leave {table} with noise ({event.mechanism}) too wide to be drawn",
        f"a budget whose noise can be drawn: {limit}",
        "the measurement would stop after the budget is charged",
        "raise privacy.epsilon or privacy.delta, or name fewer tables in `strategy`",
    )
