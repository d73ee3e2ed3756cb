"""Which tables are measured, and how the budget is split over them."""

from __future__ import annotations

from synth.config.types import Config
from synth.privacy import TableEvent, sensitivity_l1


def plan_events(config: Config) -> tuple[TableEvent, ...]:
    """The measured tables with their share of epsilon; a function of the configuration alone.

    `auto` and `identity` measure one table, the universe itself, with the whole epsilon.

    Privacy: no data are seen and nothing is spent. The shares add up to `privacy.epsilon`.
    """
    return (
        TableEvent(
            table=config.universe.names,
            cells=config.universe.size,
            sensitivity_l1=sensitivity_l1(config.privacy),
            epsilon=config.privacy.epsilon,
        ),
    )
