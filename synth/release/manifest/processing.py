"""What was done after the noise: ordered steps with their parameters, and the rows."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

from synth.config import Config
from synth.estimate import Replicates
from synth.release.manifest.schema_terms import basis, listing, real, record, sha256, text, whole
from synth.release.noisy_tables import RULE
from synth.release.rows.blocks import ROW_ORDER

PARAMETER_VALUE = {
    "type": ["string", "number", "boolean", "null"],
    "description": "The parameter's value.",
}

POST_PROCESSING = record(
    "Everything after the noise: a deterministic function of the measurements and configuration.",
    measurements_content_hash=sha256(
        "SHA-256 over events, configuration hash and noisy counts, independent of the file format."
    ),
    steps=listing(
        "The steps, in order. The method and its steps are explained "
        "in docs/estimation.md of the source code of synth.",
        record(
            "One step.",
            step=text("Which part of the method it belongs to: estimate, round or expand."),
            description=text("What it does."),
            parameters=listing(
                "Settings and outcomes of the step.",
                record(
                    "One parameter.",
                    name=text(
                        "The name; `name[0]`, `name[1]` and so on are the items of a list. `stop` "
                        "says why a search for the best fit ended: because it could gain nothing "
                        "more that counts, or at the iteration limit. A search that ended at its "
                        "limit costs accuracy at most, never privacy."
                    ),
                    value=PARAMETER_VALUE,
                ),
            ),
        ),
    ),
    public_seeds=listing(
        "The seeds of random choices, derived from the measurements' hash or, for values that rows "
        "of later releases keep, from the name of the series; they protect nothing.",
        record(
            "One seed.",
            purpose=text("What the seed decides."),
            seed=text("A whole number in decimals.", pattern=r"^\d+$"),
        ),
    ),
    labelled_tables=record(
        "The noisy tables that stand in `tables/` too, with the labels of their levels.",
        number=whole("The number of files."),
        measured=whole("The number of measured tables.", minimum=1),
        rule=text("Which tables have a file."),
    ),
    rows=record(
        "The published rows.",
        number=whole("The number of rows."),
        basis=basis("post-processing", "public"),
        order=text("The order of the rows."),
        expansion=text("How counts become rows."),
    ),
    basis=basis("post-processing"),
)


REPLICATES = record(
    "Replicates of the counts: what the release might have been with other noise.",
    file=text("The file: a line per cell, with its count in the release and in every replicate."),
    number=whole("How many there are.", minimum=1),
    factor=real(
        "By what the mean square of differences between replicates and release is multiplied; "
        "from what the noisy tables say of the errors of the release."
    ),
    variance=text("The variance of any statistic of the counts."),
    calibrated_columns=whole(
        "A statistic is calibrated if it relates at most so many columns, all of which stand in "
        "one table of `accounting.events`.",
        minimum=1,
    ),
    largest_shift=real(
        "A statistic is calibrated if the square of the mean of theta_r - theta is at most this "
        "part of the mean of the squares: beyond it the fit shrinks it."
    ),
    explanation=text("How replicates are made, and what is not in them."),
    basis=basis("post-processing"),
)
"""The section of a release with replicates."""

WITH_REPLICATES = {
    **POST_PROCESSING,
    "properties": {**POST_PROCESSING["properties"], "replicates": REPLICATES},
    "required": [*POST_PROCESSING["required"], "replicates"],
}

CALIBRATED_COLUMNS = 2
LARGEST_SHIFT = 0.5
"""Beyond either, 95 % intervals hold clearly less than that; see docs/benchmarks.md."""

VARIANCE = "factor / number * sum over r of (theta_r - theta)^2, theta from release_count"
EXPLANATION = (
    "replicate r takes the published counts for the true ones, draws noise of the published law "
    "anew for every noisy table from the public seed of `replicate r`, estimates from where the "
    "estimate of the release ended, and rounds. The variance is that of the noise and of the fit "
    "about the table that was counted; if that is a sample, its sampling error comes on top"
)


def _build_replicates(replicates: Replicates) -> dict[str, Any]:
    section = {
        "file": "replicates.parquet",
        "number": len(replicates.counts),
        "factor": replicates.factor,
        "variance": VARIANCE,
        "calibrated_columns": CALIBRATED_COLUMNS,
        "largest_shift": LARGEST_SHIFT,
        "explanation": EXPLANATION,
        "basis": "post-processing",
    }
    return {"replicates": section}


def _flat(report: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The entries of a report as (dotted name, plain value)."""
    if dataclasses.is_dataclass(report) and not isinstance(report, type):
        report = {f.name: getattr(report, f.name) for f in dataclasses.fields(report)}
    if isinstance(report, Mapping):
        for name, value in report.items():
            yield from _flat(value, f"{prefix}.{name}" if prefix else str(name))
    elif isinstance(report, (list, tuple)):
        for position, value in enumerate(report):
            yield from _flat(value, f"{prefix}[{position}]")
    elif report is None or isinstance(report, (str, bool, int)):
        yield prefix, report
    elif hasattr(report, "item"):
        yield prefix, report.item()
    elif isinstance(report, float):
        yield prefix, report
    else:
        yield prefix, str(report)


def _estimate_steps(report: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The estimator's own steps, then whatever else it reports.

    Its residuals are left out: `quality.fit` has those of the published counts.
    """
    rest = {name: value for name, value in report.items() if name != "residuals"}
    for entry in rest.pop("steps", []):
        entry = dict(entry)
        yield _step("estimate", entry.pop("step"), entry)
    if rest:
        yield _step("estimate", "outcome of the estimate, before rounding", rest)


def _step(step: str, description: str, parameters: Any) -> dict[str, Any]:
    return {
        "step": step,
        "description": description,
        "parameters": [{"name": name, "value": value} for name, value in _flat(parameters)],
    }


def _number_is_public(config: Config) -> bool:
    """Whether the configuration says how many rows there are: itself, or by a total of all."""
    universe = config.universe
    return config.output.rows is not None or any(
        all(
            len(codes) == universe.attribute(name).size for name, codes in entry.where.codes.items()
        )
        for entry in config.public_totals
    )


def build_processing(
    config: Config,
    *,
    content_hash: str,
    report: Mapping[str, Any],
    seeds: Mapping[str, int],
    rows: int,
    tables: int,
    labelled: int,
    replicates: Replicates | None,
) -> dict[str, Any]:
    """The section `post_processing`."""
    section: dict[str, Any] = {
        "measurements_content_hash": content_hash,
        "steps": [
            *_estimate_steps(report),
            _step(
                "round",
                "every count is rounded up or down, in a public order: of few cells so that tables "
                "of one and two columns keep their sums, of many so that runs of cells do; "
                "impossible cells stay zero and public totals hold exactly",
                {},
            ),
            _step(
                "expand",
                "every cell becomes as many rows as its count says",
                {"bins": config.output.bins},
            ),
        ],
        "public_seeds": [
            {"purpose": purpose, "seed": str(seed)} for purpose, seed in seeds.items()
        ],
        "labelled_tables": {"number": labelled, "measured": tables, "rule": RULE},
        "rows": {
            "number": rows,
            "basis": "public" if _number_is_public(config) else "post-processing",
            "order": ROW_ORDER,
            "expansion": (
                "the exact expansion of the counts, never a sample; a value inside a bin depends "
                "on the public seed, its column, its cell and its place among the rows of "
                "that cell alone"
            ),
        },
        "basis": "post-processing",
    }
    return section if replicates is None else section | _build_replicates(replicates)
