"""The page of an evaluation: HTML with its plots inside. Private."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from jinja2 import Environment, PackageLoader, StrictUndefined
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from synth.evaluation.comparisons import Nearness, OrderDistances, Prediction
from synth.evaluation.evaluate import Evaluation

TEMPLATE = "page.html.jinja"
WORST_TABLES = 10
WORST_PAIRS = 10
RELEASE, OTHER, THIRD = "#0072b2", "#e69f00", "#999999"
"""Colours that are told apart by nearly everybody (Okabe, Ito 2008)."""


def render_page(evaluation: Evaluation) -> str:
    """The page; it loads nothing from anywhere.

    Ensures: every name is escaped, so that no column or level can be markup.
    """
    environment = Environment(
        loader=PackageLoader("synth.evaluation", "templates"),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["short"] = _short
    near = evaluation.nearness
    return environment.get_template(TEMPLATE).render(
        e=evaluation,
        worst_tables=WORST_TABLES,
        pairs=_worst_pairs(evaluation),
        mean_pairs=_mean_difference(evaluation),
        distance_plot=distance_plot(evaluation.orders),
        association_plot=association_plot(evaluation),
        prediction_plot=prediction_plot(evaluation.predictions),
        nearness_plot="" if near is None else nearness_plot(near),
    )


def _short(value: float) -> str:
    return f"{value:.4f}"


def _worst_pairs(evaluation: Evaluation) -> list[dict[str, Any]]:
    """The pairs of columns whose association differs most between release and raw data."""
    raw, release = evaluation.raw_associations, evaluation.release_associations
    number = len(evaluation.columns)
    pairs = [(left, right) for left in range(number) for right in range(left + 1, number)]
    pairs.sort(key=lambda pair: -abs(release[pair] - raw[pair]))
    return [
        {
            "names": [evaluation.columns[left], evaluation.columns[right]],
            "raw": raw[left, right],
            "release": release[left, right],
            "resampled": evaluation.resampled_associations[left, right],
        }
        for left, right in pairs[:WORST_PAIRS]
    ]


def _mean_difference(evaluation: Evaluation) -> dict[str, float]:
    """The mean absolute difference of associations over all pairs."""
    upper = np.triu_indices(len(evaluation.columns), 1)
    raw = evaluation.raw_associations[upper]

    def mean(other: NDArray[Any]) -> float:
        return float(np.abs(other[upper] - raw).mean()) if len(raw) else 0.0

    return {
        "release": mean(evaluation.release_associations),
        "resampled": mean(evaluation.resampled_associations),
    }


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
    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _picture(figure: Figure) -> str:
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=100)
    return base64.b64encode(stream.getvalue()).decode()
