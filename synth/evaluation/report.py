"""The report of an evaluation: one HTML page with its plots inside. Private."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synth.evaluation.evaluate import Evaluation
from synth.evaluation.plots import association_plot, distance_plot, nearness_plot, prediction_plot

if TYPE_CHECKING:
    from numpy.typing import NDArray

TEMPLATE = "report.html.jinja"
WORST_TABLES = 10
WORST_PAIRS = 10


def render_report(evaluation: Evaluation) -> str:
    """The page; it loads nothing from anywhere.

    Ensures: every name is escaped, so that no column or level can be markup.
    """
    from jinja2 import Environment, PackageLoader, StrictUndefined

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
    import numpy as np

    upper = np.triu_indices(len(evaluation.columns), 1)
    raw = evaluation.raw_associations[upper]

    def mean(other: NDArray[Any]) -> float:
        return float(np.abs(other[upper] - raw).mean()) if len(raw) else 0.0

    return {
        "release": mean(evaluation.release_associations),
        "resampled": mean(evaluation.resampled_associations),
    }
