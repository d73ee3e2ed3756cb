"""The plots of a report, as PNG pictures inside the page."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from synth.evaluation.distances import OrderDistances
    from synth.evaluation.evaluate import Evaluation
    from synth.evaluation.nearness import Nearness
    from synth.evaluation.prediction import Prediction

RELEASE, OTHER, THIRD = "#0072b2", "#e69f00", "#999999"
"""Colours that are told apart by nearly everybody (Okabe, Ito 2008)."""


def distance_plot(orders: Sequence[OrderDistances]) -> str:
    """Every compared table: the release against a fresh sample."""
    figure = _figure(8, 4)
    axes = figure.subplots()
    for order, colour in zip(orders, (RELEASE, OTHER, "#009e73"), strict=False):
        axes.scatter(
            [table.resampled for table in order.tables],
            [table.release for table in order.tables],
            s=16, alpha=0.7, color=colour, label=f"{order.order} column(s)",
        )  # fmt: skip
    top = max([t.release for o in orders for t in o.tables] + [0.001])
    axes.plot([0, top], [0, top], color=THIRD, linewidth=1)
    axes.set_xlabel("total variation of a fresh sample")
    axes.set_ylabel("total variation of the release")
    axes.legend(frameon=False)
    return _picture(figure)


def association_plot(evaluation: Evaluation) -> str:
    """Cramer's V of the release minus that of the raw data, for every pair."""
    figure = _figure(7, 5.5)
    axes = figure.subplots()
    difference = evaluation.release_associations - evaluation.raw_associations
    largest = max(float(abs(difference).max(initial=0)), 0.01)
    shown = axes.imshow(difference, cmap="RdBu", vmin=-largest, vmax=largest)
    places = range(len(evaluation.columns))
    axes.set_xticks(places, [_plain(name) for name in evaluation.columns], rotation=90, fontsize=7)
    axes.set_yticks(places, [_plain(name) for name in evaluation.columns], fontsize=7)
    figure.colorbar(shown, ax=axes, label="release minus raw")
    return _picture(figure)


def prediction_plot(predictions: Sequence[Prediction]) -> str:
    """How often the level of each target is named rightly."""
    figure = _figure(8, max(2.0, 0.45 * len(predictions) + 1))
    axes = figure.subplots()
    places = range(len(predictions))
    for shift, colour, label, values in (
        (-0.25, RELEASE, "trained on the release", [p.release for p in predictions]),
        (0.0, OTHER, "trained on raw records", [p.raw for p in predictions]),
        (0.25, THIRD, "commonest level", [p.guess for p in predictions]),
    ):
        axes.barh([place + shift for place in places], values, 0.25, color=colour, label=label)
    axes.set_yticks(places, [_plain(p.target) for p in predictions], fontsize=8)
    axes.set_xlim(0, 1)
    axes.set_xlabel("share of raw test records named rightly")
    axes.legend(frameon=False, fontsize=8)
    return _picture(figure)


def nearness_plot(nearness: Nearness) -> str:
    """The distances to the nearest raw record."""
    figure = _figure(8, 3)
    axes = figure.subplots()
    places = range(len(nearness.release_distances))
    axes.bar([p - 0.2 for p in places], nearness.release_distances, 0.4, color=RELEASE,
             label="rows of the release")  # fmt: skip
    axes.bar([p + 0.2 for p in places], nearness.fresh_distances, 0.4, color=OTHER,
             label="fresh sample")  # fmt: skip
    axes.set_xlabel("columns in which the nearest raw record differs")
    axes.set_ylabel("share of rows")
    axes.legend(frameon=False)
    return _picture(figure)


def _plain(name: str) -> str:
    """A name without what the plots would take for formulas."""
    return name.replace("$", r"\$")[:40]


def _figure(width: float, height: float) -> Figure:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _picture(figure: Figure) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return base64.b64encode(stream.getvalue()).decode()
