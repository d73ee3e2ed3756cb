"""The parts of the page about measured tables, and about what could be measured instead."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from synth.config.size_checks import number_of_cells
from synth.plan.choice import Alternative
from synth.plan.forecast import Forecast
from synth.plan.noise_variance import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN, PARTITION_SELECTION

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_NAMES = {"marginal": "-way", "prefix": "-way prefixes", "range": "-way ranges"}


def mechanisms(plan: Forecast) -> str:
    """The noise of all tables in words."""
    kinds = {table.mechanism == GAUSSIAN for table in plan.tables}
    words = " and ".join(
        word for gaussian, word in ((False, "Laplace"), (True, "Gaussian")) if gaussian in kinds
    )
    noise = f"discrete {words} noise on every cell"
    if any(table.mechanism == PARTITION_SELECTION for table in plan.tables):
        return f"{noise} of the tables, and on the non-empty cells of the universe"
    if plan.threshold is not None:
        return f"{noise}, as if the cells of the universe that are not listed had been drawn too"
    return f"{noise}, impossible ones included"


def print_tables(plan: Forecast, console: Console) -> None:
    """What is measured, tables of one kind together."""
    kinds: dict[tuple[int, bool, str], list[TableEvent]] = {}
    for event in plan.tables:
        universe = event.cells == plan.universe_size and not any(event.coarsening)
        order = 0 if universe else len(event.table)
        kinds.setdefault((order, any(event.coarsening), event.mechanism), []).append(event)
    table = _plain_table("measured", "tables", "cells", "budget", "noise sd")
    for (order, coarse, mechanism), events in sorted(kinds.items()):
        name = "universe" if order == 0 else f"{order}-way" + (", coarser" if coarse else "")
        if order and len(events) == 1:
            name = " x ".join(events[0].table)
        letter = "rho" if mechanism == GAUSSIAN else "epsilon"
        budget = float(sum((event.epsilon or event.rho or 0) for event in events))
        table.add_row(
            name,
            f"{len(events):,}",
            _cells([event.cells for event in events]),
            f"{letter} {budget:.4g}",
            _span([math.sqrt(noise_variance(event)) for event in events], ".3g"),
        )
    console.print(table)


def print_alternatives(plan: Forecast, console: Console) -> None:
    """What else could be measured, with the errors that a rough model expects."""
    if not plan.alternatives:
        return
    labels = [group_label(group) for group, _ in plan.alternatives[0].errors]
    console.print(_heading(plan))
    table = _plain_table("what is measured", "tables", *labels)
    for number, each in enumerate(plan.alternatives):
        table.add_row(
            ("* " if number == 0 else "  ") + alternative_name(each),
            f"{len(each.spending.events):,}",
            *(f"{error:.4f}" for _, error in each.errors),
        )
    console.print(table)
    console.print("* is measured. (%): the part of epsilon for the tables beside the universe.")


def print_alternatives_by_budget(plans: Sequence[Forecast], console: Console) -> None:
    """The errors that the model expects of what is measured at each budget."""
    chosen = [plan.alternatives[0] for plan in plans if plan.alternatives]
    if len(chosen) < len(plans) or not chosen[0].errors:
        return
    console.print(_heading(plans[0]))
    table = _plain_table("of the tables chosen", *(f"{float(plan.epsilon):g}" for plan in plans))
    for number, (group, _) in enumerate(chosen[0].errors):
        table.add_row(group_label(group), *(f"{each.errors[number][1]:.4f}" for each in chosen))
    console.print(table)
    for plan, each in zip(plans, chosen, strict=True):
        console.print(f"epsilon {float(plan.epsilon):g}: {alternative_name(each)}")


def _heading(plan: Forecast) -> str:
    known = "assumed" if plan.records_are_assumed else "declared or expected"
    return (
        f"Mean total variation expected after the fit, for {plan.records:,} records ({known}), by "
        "a rough model that only serves to choose:"
    )


def alternative_name(each: Alternative) -> str:
    """What is measured, with which noise and split."""
    spending = each.spending
    name = spending.tables + (", Gaussian" if spending.noise == "gaussian" else "")
    share = spending.low_order_share
    return name if share is None else f"{name} ({float(share):.0%})"


def group_label(group: tuple[str, int]) -> str:
    """Queries of one kind and number of attributes, in words."""
    kind, order = group
    return "cells" if kind == "cells" else f"{order}{_NAMES[kind]}"


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _cells(counts: Sequence[int]) -> str:
    low, high = number_of_cells(min(counts)), number_of_cells(max(counts))
    return low if low == high else f"{low} to {high}"


def _plain_table(first: str, *others: str) -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
