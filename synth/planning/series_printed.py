"""What `synth plan --series` prints and draws."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from matplotlib.axes import Axes
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from synth.domain import format_number
from synth.planning.forecast import Forecast
from synth.planning.plot import COLOURS, saved_figure
from synth.planning.printed import groups
from synth.planning.series import SeriesForecast, method_in_words

MOST_COLUMNS = 3
"""Kinds of tables whose errors the printed table shows."""


def to_json(forecast: SeriesForecast) -> str:
    """One JSON object with every period of the horizon."""
    return json.dumps(forecast.to_plain(), indent=2, ensure_ascii=False)


def render(forecast: SeriesForecast, console: Console | None = None) -> None:
    """Print what the releases are like from the first to the last, and what they cost."""
    console = console or Console()
    series = forecast.series
    console.print(Text(f"plan of the series {forecast.name}", style="bold"))
    console.print(Text(series.in_words()))
    verb = "adding or removing" if forecast.neighbours == "add-remove" else "replacing"
    console.print(Text(f"protects {verb} one {forecast.unit} (neighbours: {forecast.neighbours})"))
    console.print(_table(forecast))
    for sentence in (*_about_errors(forecast), *forecast.sentences):
        console.print(Text(sentence))
    console.print(Text("Nothing was read and nothing was spent."))


def _table(forecast: SeriesForecast) -> Table:
    labels = [label for label, _ in _errors(forecast.shown[0][1])]
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("period", no_wrap=True)
    table.add_column("due from", no_wrap=True)
    for label in labels:
        table.add_column(label, justify="right")
    compared = forecast.factorization is not None
    if compared:
        table.add_column("noise", justify="right")
        table.add_column("if split", justify="right")
        table.add_column("binary tree", justify="right")
    table.add_column("spent", justify="right")
    for index, shown in forecast.shown:
        period = forecast.periods[index - 1]
        errors = dict(_errors(shown))
        against = (period.noise, period.noise_if_split, period.noise_of_binary_tree)
        table.add_row(
            period.label,
            period.due_on.isoformat(),
            *(_number(errors[label]) if label in errors else "-" for label in labels),
            *(f"{each:.2f}" for each in against if compared and each is not None),
            format_number(period.spent.epsilon),
        )
    return table


def _errors(forecast: Forecast) -> list[tuple[str, float]]:
    """The standard error of a count, of the middle table of each kind; at most a few kinds."""
    found = []
    for label, queries in groups(forecast.queries + forecast.ranges)[:MOST_COLUMNS]:
        errors = sorted(query.sd_records for query in queries)
        found.append((label.split(" (")[0], errors[(len(errors) - 1) // 2]))
    if not found and forecast.single_cell is not None:
        found.append(("one cell", forecast.single_cell.sd_records))
    return found


def _about_errors(forecast: SeriesForecast) -> list[str]:
    """What the columns of the table mean."""
    middle = (
        "Columns of tables: the standard error of one count before it is made whole and "
        "non-negative, in records"
    )
    if forecast.factorization is None:
        return [f"{middle}; the same in every period. spent: epsilon so far."]
    return [
        f"{middle}. spent: epsilon so far. noise: in multiples of what one release for the whole "
        "charge would have. if split: were the charge split evenly over "
        f"{forecast.series.horizon} releases of "
        "everything. binary tree: the usual mechanism of continual counting.",
        method_in_words(forecast.factorization),
    ]


def write_plot(forecast: SeriesForecast, path: Path) -> None:
    """Draw the error and what is charged over time to a PNG or SVG file.

    Raises: OutputError for another ending, or if the file cannot be written.
    """
    with saved_figure(path, f"Plan of the series {forecast.name}") as (left, right):
        _draw_errors(forecast, left)
        _draw_spent(forecast, right)


def _draw_errors(forecast: SeriesForecast, axes: Axes) -> None:
    lines: list[tuple[str, Sequence[float | None]]] = [
        ("this series", [each.noise for each in forecast.periods])
    ]
    if forecast.factorization is not None:
        lines += [
            ("charge split over the periods", [each.noise_if_split for each in forecast.periods]),
            ("binary tree", [each.noise_of_binary_tree for each in forecast.periods]),
        ]
    for number, (label, values) in enumerate(lines):
        axes.plot(
            range(1, len(values) + 1),
            [value or 0.0 for value in values],
            color=COLOURS[number],
            linestyle="-" if number == 0 else "--",
            linewidth=2 if number == 0 else 1.2,
            label=label,
        )
    axes.set_title("Noise of a count, over that of one release of the whole charge", fontsize=10)
    axes.set_ylim(bottom=0)
    _finish(forecast, axes)


def _draw_spent(forecast: SeriesForecast, axes: Axes) -> None:
    places = range(1, len(forecast.periods) + 1)
    axes.step(
        places,
        [float(each.spent.epsilon) for each in forecast.periods],
        where="post",
        color=COLOURS[0],
        linewidth=2,
        label="this series",
    )
    every = float(forecast.totals.release.epsilon)
    axes.plot(
        places,
        [every * place for place in places],
        color=COLOURS[1],
        linestyle="--",
        linewidth=1.2,
        label="every release charged",
    )
    axes.set_title("Total epsilon", fontsize=10)
    axes.set_ylim(bottom=0)
    _finish(forecast, axes)


def _finish(forecast: SeriesForecast, axes: Axes) -> None:
    """Labels of some periods, a grid and a legend."""
    shown = [index for index, _ in forecast.shown]
    axes.set_xticks(shown, [forecast.periods[index - 1].label for index in shown])
    axes.tick_params(axis="x", labelsize=8)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8)


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
