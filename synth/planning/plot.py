"""The plan as a picture: the errors of every query, and what each alternative would give."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from synth.domain import format_number
from synth.errors import OutputError
from synth.planning.forecast import Forecast, QueryForecast
from synth.planning.printed import alternative_name, group_label

FORMATS = (".png", ".svg")
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
"""Colours that are told apart by nearly everybody (Okabe, Ito 2008)."""
_MARKERS = "os^Dvp"


def write_plot(forecasts: Sequence[Forecast], path: Path) -> None:
    """Draw the forecasts to a PNG or SVG file.

    Left: the standard deviation of every query of the first forecast by its number of cells. Right:
    the total variation that is expected after the fit, by alternative, or by epsilon if there
    are several forecasts.

    Raises: OutputError for another ending, or if the file cannot be written.
    """
    first = forecasts[0]
    with saved_figure(path, f"Plan of {first.release_id}") as (left, right):
        _draw_queries(first, left)
        if len(forecasts) > 1:
            _draw_budgets(forecasts, right)
        else:
            _draw_alternatives(first, right)


@contextmanager
def saved_figure(path: Path, title: str) -> Iterator[tuple[Axes, Axes]]:
    """Two pictures side by side, written to a PNG or SVG file once they are drawn.

    Raises: OutputError for another ending, or if the file cannot be written.
    """
    if path.suffix.lower() not in FORMATS:
        raise OutputError(
            f"{path.name} does not end in .png or .svg", fix="choose one of these two endings"
        )
    figure = Figure(figsize=(11, 4.8), layout="constrained")
    FigureCanvasAgg(figure)
    left, right = figure.subplots(1, 2)
    figure.suptitle(title, fontweight="bold")
    yield left, right
    metadata = {"Date": None} if path.suffix.lower() == ".svg" else None
    try:
        with rc_context({"svg.hashsalt": "synth"}):  # the same plan gives the same file
            figure.savefig(path, dpi=150, metadata=metadata)
    except OSError as error:
        raise OutputError(
            f"the plot could not be written: {error.strerror}",
            fix="choose a directory that exists and may be written to",
        ) from None


def _draw_queries(plan: Forecast, axes: Axes) -> None:
    kinds: dict[tuple[str, int], list[QueryForecast]] = {}
    for query in plan.queries + plan.ranges:
        kinds.setdefault((query.kind, len(query.attributes)), []).append(query)
    if plan.single_cell is not None:
        kinds["cells", len(plan.single_cell.attributes)] = [plan.single_cell]
    for number, (kind, queries) in enumerate(kinds.items()):
        axes.scatter(
            [query.cells for query in queries],
            [query.sd_records for query in queries],
            s=26,
            alpha=0.8,
            color=COLOURS[number % len(COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            label=group_label(kind),
        )
    axes.set_title(f"Linear estimate, epsilon {format_number(plan.epsilon)}", fontsize=10)
    axes.set_xlabel("cells of the query")
    axes.set_ylabel("standard deviation per cell, records")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(alpha=0.25)
    if kinds:
        axes.legend(fontsize=8)


def _draw_alternatives(plan: Forecast, axes: Axes) -> None:
    shown = plan.alternatives[::-1]
    labels = [group for group, _ in plan.alternatives[0].errors] if shown else []
    for number, group in enumerate(labels):
        axes.plot(
            [each.errors[number][1] for each in shown],
            range(len(shown)),
            linestyle="",
            color=COLOURS[number % len(COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            label=group_label(group),
        )
    axes.set_yticks(range(len(shown)))
    names = axes.set_yticklabels([alternative_name(each) for each in shown], fontsize=8)
    if names:
        names[-1].set_fontweight("bold")
    axes.set_title("Rough expectation after the fit; bold: chosen", fontsize=10)
    _finish(plan, axes.set_xlabel, axes)
    axes.set_xscale("log")


def _draw_budgets(plans: Sequence[Forecast], axes: Axes) -> None:
    budgets = sorted(plans, key=lambda plan: plan.epsilon)
    chosen = [plan.alternatives[0] for plan in budgets]
    for number, (group, _) in enumerate(chosen[0].errors):
        axes.plot(
            [float(plan.epsilon) for plan in budgets],
            [each.errors[number][1] for each in chosen],
            color=COLOURS[number % len(COLOURS)],
            marker=_MARKERS[number % len(_MARKERS)],
            label=group_label(group),
        )
    axes.set_title("Rough expectation after the fit, by budget", fontsize=10)
    axes.set_xlabel("epsilon")
    axes.set_xscale("log")
    axes.set_yscale("log")
    _finish(plans[0], axes.set_ylabel, axes)


def _finish(plan: Forecast, label: Callable[[str], object], axes: Axes) -> None:
    label(f"mean total variation, {plan.records:,} records")
    axes.grid(alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8)
