"""What `synth plan` prints: one page for one budget, columns side by side for several."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from fractions import Fraction
from statistics import median

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from synth.config.strategy import number_of_cells
from synth.domain import format_number
from synth.planning.forecast import Forecast, QueryForecast
from synth.planning.look import Look
from synth.planning.noise_sums import noise_variance
from synth.planning.usefulness import in_one_sentence
from synth.planning.weighing import Alternative
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN, PARTITION_SELECTION
from synth.privacy.meaning import at_most, posterior_bounds

_WORST = 3
"""How many of the least accurate queries are listed by name, and ties up to twice as many."""
_LISTED = 12
"""Up to so many queries are all listed by name instead of grouped."""


def to_json(forecasts: Forecast | Sequence[Forecast]) -> str:
    """One forecast as a JSON object, several as a list; every query is in it."""
    if isinstance(forecasts, Forecast):
        return json.dumps(forecasts.to_plain(), indent=2, ensure_ascii=False)
    return json.dumps([each.to_plain() for each in forecasts], indent=2, ensure_ascii=False)


def render(forecasts: Forecast | Sequence[Forecast], console: Console | None = None) -> None:
    """Print what a run will measure and how accurate it will be.

    Requires: several forecasts are of the same configuration.
    """
    if console is None:
        console = Console()
    several = [forecasts] if isinstance(forecasts, Forecast) else list(forecasts)
    first = several[0]
    _print_universe(first, console)
    if len(several) > 1:
        _print_comparison(several, console)
    else:
        _print_look(first, console)
        _print_tables(first, console)
        _print_choices(first, console)
        _print_queries(first, console)
        _print_phantoms(first, console)
        _print_alternatives(first, console)
        _print_usefulness(first, console)
    _say(console, "Nothing was read and nothing was spent.")


def _print_usefulness(plan: Forecast, console: Console) -> None:
    """What it will be good for, in words and shares, and what would help."""
    if not plan.usefulness:
        return
    _say(console, f"What it will be good for, with {_records(plan)}:")
    for each in plan.usefulness:
        _say(console, f"- {each.sentence}")
    if plan.proposals:
        _say(console, "What would help, planned again with each change:")
        for proposal in plan.proposals:
            _say(console, f"- {proposal.sentence}")


def _print_verdict(plans: Sequence[Forecast], console: Console) -> None:
    """What the figures of a table mean for the reader, in a sentence for each budget."""
    if not plans[0].usefulness:
        return
    said = [in_one_sentence(plan.usefulness) for plan in plans]
    if len(plans) == 1:
        _say(console, f"That means, with {_records(plans[0])}: {said[0]}.")
        return
    _say(console, f"That means, with {_records(plans[0])}:")
    for plan, sentence in zip(plans, said, strict=True):
        _say(console, f"- epsilon {format_number(plan.epsilon)}: {sentence}.")


def _records(plan: Forecast) -> str:
    known = ", which is assumed: see workload.expected_records" if plan.records_are_assumed else ""
    return f"{plan.records:,} records{known}"


def _print_universe(plan: Forecast, console: Console) -> None:
    _say(console, f"plan of {plan.release_id}", style="bold")
    impossible = plan.universe_size - plan.possible_cells
    rows = [
        (
            "universe",
            f"{number_of_cells(plan.universe_size)} combinations of values (cells), "
            f"{number_of_cells(impossible)} of them impossible",
        ),
        ("mechanism", _mechanisms(plan)),
        ("protects", _protected(plan)),
        (
            "means",
            f"a suspicion of 10 % about one unit can grow to at most {_grown(plan)}; more: "
            "synth explain",
        ),
        (
            "needs",
            f"roughly {_bytes(plan.costs_of_tables.memory_bytes)} memory, "
            f"roughly {_bytes(plan.costs_of_tables.disk_bytes)} disk, "
            f"roughly {_seconds(plan.costs_of_tables.seconds)}"
            f"{'' if plan.declared_total else '; disk and time of the rows come on top'}"
            f"{_at_most(plan)}",
        ),
    ]
    if plan.threshold is not None:
        false = plan.expected_false_cells or 0
        rows.insert(
            2,
            (
                "listed",
                f"cells with a noisy count of at least {plan.threshold:,}; at most {false:,.0f} "
                "empty ones on average",
            ),
        )
    grid = Table.grid(padding=(0, 2))
    grid.add_column(no_wrap=True)
    grid.add_column(overflow="fold")
    for label, text in rows:
        grid.add_row(label, text)
    console.print(grid)


def _protected(plan: Forecast) -> str:
    """As `adding or removing one record (neighbours: add-remove)`."""
    verb = "adding or removing" if plan.neighbours == "add-remove" else "replacing"
    return f"{verb} one {plan.privacy_unit} (neighbours: {plan.neighbours})"


def _grown(plan: Forecast) -> str:
    """What an attacker who knows all other units can come to believe at most, from 10 %."""
    return at_most(posterior_bounds(Fraction(1, 10), plan.epsilon)[1])


def _print_look(plan: Forecast, console: Console) -> None:
    """What is measured before the tables are planned, and what it would lead to."""
    if plan.look is None:
        return
    hidden = plan.look.event.firsts[-1] - 1
    number = "how many records there are, and " if plan.declared_total is None else ""
    _say(
        console,
        f"A look comes first: epsilon {float(plan.look.event.epsilon):.4g} tells {number}how many "
        f"records noise cannot hide, because {hidden:,} others share their "
        f"cell{_and_pairs(plan.look)}. The tables are then planned by its noisy counts, with "
        f"epsilon {float(plan.look.after.epsilon):.4g}. What follows is the plan if it finds "
        f"{plan.records:,} records; whatever is planned, the charge is the same.",
    )
    for records, each in plan.after_look:
        _say(console, f"- if it finds {records:,} records: {alternative_name(each)}")


def _and_pairs(look: Look) -> str:
    """What a look tells of pairs of columns, if it does."""
    pairs = len(look.event.pairs)
    what = "the columns of one pair" if pairs == 1 else f"{pairs:,} pairs of columns"
    return f", and how far {what} depend on each other" if pairs else ""


def _print_choices(plan: Forecast, console: Console) -> None:
    if plan.schedule is None or not plan.schedule.rounds:
        return
    spending, rounds = plan.schedule.rounds[0], len(plan.schedule.rounds)
    noise = spending.table
    budget = (
        f"epsilon {float(noise.epsilon):.4g}"
        if noise.epsilon
        else f"rho {float(noise.rho or 0):.4g}"
    )
    _say(
        console,
        f"Then {rounds} times one of {len(plan.schedule.candidates):,} candidates is chosen by "
        f"what the tables before it leave wrong (epsilon {float(spending.selection.epsilon):.4g}) "
        f"and measured ({budget}). The figures below are about the first tables alone.",
    )


def _print_queries(plan: Forecast, console: Console) -> None:
    _say(
        console,
        f"Errors at epsilon {format_number(plan.epsilon)}, in records for one combination of "
        f"values (cell) or interval, of {_estimate_of(plan)} before they are made whole and "
        "non-negative. 95 %: one cell. All: every cell of the query at once.",
    )
    table = _table_of_figures("query", "cells", "sd", "mean error", "95 %", "all 95 %")
    single = plan.single_cell
    if single is not None:
        table.add_row("one combination (a cell)", f"{single.cells:,}", *_errors(single))
    for label, group in groups(plan.queries) + groups(plan.ranges):
        low, high = min(q.cells for q in group), max(q.cells for q in group)
        cells = f"{low:,}" if low == high else f"{low:,} to {high:,}"
        if len({query.cells for query in group}) == 1:
            table.add_row(label, cells, *_errors(group[0]))
            continue
        table.add_section()
        table.add_row(label, cells)
        ordered = sorted(group, key=lambda q: q.sd_records)
        table.add_row("  best", f"{ordered[0].cells:,}", *_errors(ordered[0]))
        middle = ordered[(len(ordered) - 1) // 2]
        table.add_row("  median", f"{middle.cells:,}", *_errors(middle))
        table.add_row("  worst", f"{ordered[-1].cells:,}", *_errors(ordered[-1]))
    console.print(table)
    if plan.unanswered:
        _say(
            console,
            f"Not answered by sums of these tables: {len(plan.unanswered):,} of the workload's "
            "tables and sets of ranges. The published rows follow a model there.",
        )
    if len(plan.queries) > _LISTED:
        ordered = sorted(plan.queries, key=lambda q: -q.sd_records)
        worst = [q for q in ordered if q.sd_records >= ordered[_WORST - 1].sd_records]
        names = "; ".join(" x ".join(query.attributes) for query in worst)
        least = f"Least accurate per cell: {names}. " if len(worst) <= 2 * _WORST else ""
        _say(console, f"{least}--json lists every query.")
    _print_verdict([plan], console)


def _print_comparison(plans: Sequence[Forecast], console: Console) -> None:
    _say(
        console,
        "Standard deviation in records of one combination of values (cell), for each epsilon:",
    )
    table = _table_of_figures("query", *(format_number(plan.epsilon) for plan in plans))
    cells = [plan.single_cell for plan in plans]
    table.add_row(
        "one combination (a cell)", *(_number(one.sd_records) if one else "-" for one in cells)
    )
    grouped = [dict(groups(plan.queries) + groups(plan.ranges)) for plan in plans]
    for label in dict.fromkeys(label for each in grouped for label in each):
        found = [each.get(label, []) for each in grouped]
        kind = "" if max(map(len, found)) == 1 else ", median"
        figures = (
            _number(median(q.sd_records for q in group)) if group else "-" for group in found
        )
        table.add_row(f"{label}{kind}", *figures)
    table.add_section()
    table.add_row("a suspicion of 10 % grows to at most", *(_grown(plan) for plan in plans))
    table.add_row(
        "one combination, 95 %", *(f"±{one.half_width_95:,}" if one else "-" for one in cells)
    )
    phantoms = [plan.phantom_records_if_clipped for plan in plans]
    table.add_row(
        "phantoms if clipped", *("-" if each is None else _number(each) for each in phantoms)
    )
    table.add_row("tables measured", *(f"{len(plan.tables):,}" for plan in plans))
    console.print(table)
    _print_verdict(plans, console)
    _print_alternatives_by_budget(plans, console)


def _print_phantoms(plan: Forecast, console: Console) -> None:
    phantoms = plan.phantom_records_if_clipped
    if phantoms is None:
        return
    times = ""
    if plan.declared_total:
        times = f", {_number(phantoms / plan.declared_total)} times the declared total"
    _say(
        console,
        f"Setting negative counts to zero would invent up to {_number(phantoms)} records{times}: "
        f"{_number(phantoms / max(1, plan.possible_cells))} in every empty cell, because only the "
        "noise below zero would go. So nothing is clipped: one non-negative table is fitted to "
        "the signed counts and their sums, whose errors cancel.",
    )


def groups(queries: Sequence[QueryForecast]) -> list[tuple[str, list[QueryForecast]]]:
    """Queries by name if they are few, else by their number of attributes."""

    def suffix(query: QueryForecast) -> str:
        return "" if query.kind == "marginal" else f", every {query.kind}"

    if len(queries) <= _LISTED:
        return [(" x ".join(query.attributes) + suffix(query), [query]) for query in queries]
    orders: dict[tuple[int, str], list[QueryForecast]] = {}
    for query in queries:
        orders.setdefault((len(query.attributes), suffix(query)), []).append(query)
    return [
        (f"{order}-way{kind} ({len(orders[order, kind])} tables)", orders[order, kind])
        for order, kind in sorted(orders)
    ]


def _errors(query: QueryForecast) -> tuple[str, str, str, str]:
    return (
        _number(query.sd_records),
        _number(query.mean_absolute_error_records),
        f"±{query.half_width_95:,}",
        f"±{query.simultaneous_95:,}",
    )


def _estimate_of(plan: Forecast) -> str:
    laws = {query.law for query in plan.queries + plan.ranges}
    if laws == {"exact"}:
        return "sums over the noisy table"
    return "least squares sums of all noisy tables (95 %: approximate)"


def _say(console: Console, sentence: str, *, style: str = "") -> None:
    console.print(Text(sentence, style=style))


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _at_most(plan: Forecast) -> str:
    """What the dearest plan that a look may lead to needs, where that is another one."""
    if plan.costs == plan.costs_of_tables:
        return ""
    return (
        f"; whatever the look finds, at most {_bytes(plan.costs.memory_bytes)}, "
        f"{_bytes(plan.costs.disk_bytes)} and {_seconds(plan.costs.seconds)}"
    )


def _bytes(size: float) -> str:
    for unit in ("bytes", "kB", "MB", "GB", "TB"):
        if size < 1000 or unit == "TB":
            return f"{size:,.0f} {unit}" if unit != "GB" else f"{size:.1f} GB"
        size /= 1000
    return ""


def _seconds(seconds: float) -> str:
    if seconds < 120:
        return f"{max(1, round(seconds))} s"
    return f"{round(seconds / 60):,} min"


def _mechanisms(plan: Forecast) -> str:
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
    if all(table.cells < plan.universe_size for table in plan.tables):
        return f"{noise} of every table"
    return f"{noise}, impossible ones included"


def _print_tables(plan: Forecast, console: Console) -> None:
    """What is measured, tables of one kind together."""
    kinds: dict[tuple[int, bool, str], list[TableEvent]] = {}
    for event in plan.tables:
        universe = event.cells == plan.universe_size and not any(event.coarsening)
        order = 0 if universe else len(event.table)
        kinds.setdefault((order, any(event.coarsening), event.mechanism), []).append(event)
    table = _table_of_figures("measured", "tables", "cells", "budget", "noise sd")
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
    _say(console, "noise sd: how far one noisy count is typically off, in records.")


def _print_alternatives(plan: Forecast, console: Console) -> None:
    """What else could be measured, with the errors that a rough model expects."""
    if not plan.alternatives:
        return
    labels = [group_label(group) for group, _ in plan.alternatives[0].errors]
    console.print(_heading(plan))
    table = _table_of_figures("what is measured", "tables", *labels)
    for number, each in enumerate(plan.alternatives):
        table.add_row(
            ("* " if number == 0 else "  ") + alternative_name(each),
            f"{len(each.spending.events):,}",
            *(f"{error:.4f}" for _, error in each.errors),
        )
    console.print(table)
    _say(
        console,
        "* is measured: of all that could be, it is expected to answer best what the workload asks "
        "for. (%): the part of epsilon for the tables beside the universe.",
    )


def _print_alternatives_by_budget(plans: Sequence[Forecast], console: Console) -> None:
    """The errors that the model expects of what is measured at each budget."""
    chosen = [plan.alternatives[0] for plan in plans if plan.alternatives]
    if len(chosen) < len(plans) or not chosen[0].errors:
        return
    console.print(_heading(plans[0]))
    table = _table_of_figures(
        "of the tables chosen", *(f"{float(plan.epsilon):g}" for plan in plans)
    )
    for number, (group, _) in enumerate(chosen[0].errors):
        table.add_row(group_label(group), *(f"{each.errors[number][1]:.4f}" for each in chosen))
    console.print(table)
    for plan, each in zip(plans, chosen, strict=True):
        console.print(f"epsilon {float(plan.epsilon):g}: {alternative_name(each)}")


def _heading(plan: Forecast) -> str:
    known = "assumed" if plan.records_are_assumed else "declared or expected"
    return (
        "Share of the records expected in the wrong place (mean total variation after the fit), "
        f"for {plan.records:,} records ({known}), by a rough model that only serves to choose:"
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
    tables = {"marginal": "-way", "prefix": "-way prefixes", "range": "-way ranges"}
    return "cells" if kind == "cells" else f"{order}{tables[kind]}"


def _span(values: Sequence[float], form: str) -> str:
    low, high = format(min(values), form), format(max(values), form)
    return low if low == high else f"{low} to {high}"


def _cells(counts: Sequence[int]) -> str:
    low, high = number_of_cells(min(counts)), number_of_cells(max(counts))
    return low if low == high else f"{low} to {high}"


def _table_of_figures(first: str, *others: str) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    for heading in others:
        table.add_column(heading, justify="right", no_wrap=True)
    return table
