"""The series of a release: what all releases of it cost together, and how they are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from synth.config import Config, Series
from synth.config.series import Rows, Rule
from synth.errors import BugError
from synth.measurements import Measurements
from synth.planning import plan_events
from synth.planning.series import Totals, cumulative_noise, sentences
from synth.privacy.continual import factorization_of
from synth.privacy.meaning import exact_budget
from synth.release.manifest.guarantee import promised_budget
from synth.release.manifest.schema_terms import (
    basis,
    defined,
    listing,
    one_of,
    real,
    record,
    sha256,
    text,
    whole,
)

if TYPE_CHECKING:
    from synth.release.derivation import Growth

LOSSES = {
    "release": "One release, or all that share its charge.",
    "horizon": "All releases of a horizon.",
    "window": "Any so many consecutive periods.",
    "for_ever": "All releases that will ever be; missing where that grows without a bound.",
}

SERIES = record(
    "The series of releases that this one belongs to; missing where it stands alone.",
    ("cumulative", "previous"),
    name=text("The release id of every period, {period} left in."),
    period=text("The period."),
    index=whole("The number of the period, from 1.", minimum=1),
    every=text("How long a period is."),
    rows=one_of("Whether it counts new records or all so far.", *get_args(Rows)),
    horizon=whole("How many periods are charged and approved together.", minimum=1),
    in_words=text("The series in a line, with what comes after the horizon."),
    privacy_unit=one_of("Who loses that.", "record", "person"),
    rule=one_of("How charges come together.", *get_args(Rule)),
    conditions=listing(
        "What the releases cost together, under which condition, and what comes afterwards.",
        text("A sentence."),
    ),
    most_lost=record(
        "What one unit loses at most.",
        ("window", "for_ever"),
        **{name: defined("budget", description) for name, description in LOSSES.items()},
    ),
    cumulative=record(
        "How the counts of all records so far were put together.",
        ("arity", "scale"),
        kind=one_of("By what: sums over a tree of periods, or weighted ones.", "tree", "toeplitz"),
        arity=whole("Of a tree: how many periods or sums make the next larger sum.", minimum=2),
        scale=whole("Of weights by age: what those of the root were multiplied by.", minimum=1),
        nodes=whole("How many sums of every table were measured for this release.", minimum=1),
        noise=real("The standard deviation of a count, in that of one release of the charge."),
    ),
    previous=record(
        "The release before, whose records this one keeps; missing in the first.",
        release_id=text("Its id."),
        manifest_sha256=sha256("The hash of its manifest."),
        records=whole("How many records it has."),
        taken_back=whole("How many of them this release does not have: measurements said so."),
    ),
    basis=basis("public", "post-processing"),
)


def build_series(
    config: Config,
    measurements: Measurements,
    growth: Growth | None,
    previous_manifest_sha256: str | None,
) -> dict[str, Any]:
    """The section `series`. Requires: the release belongs to one."""
    series, index = config.series, config.period_index
    if series is None or index is None:
        raise BugError("there is no series to describe")
    events = plan_events(config)
    totals = Totals.of(series, promised_budget(config, measurements))
    losses = {name: getattr(totals, name) for name in LOSSES}
    section: dict[str, Any] = {
        "name": series.name,
        "period": series.label(index),
        "index": index,
        "every": series.every,
        "rows": series.rows,
        "horizon": series.horizon,
        "in_words": series.in_words(),
        "privacy_unit": "person" if series.is_about_persons else "record",
        "rule": series.composition.rule,
        "conditions": sentences(series, totals, events),
        "most_lost": {
            name: exact_budget(budget) for name, budget in losses.items() if budget is not None
        },
    }
    if series.is_continual:
        section["cumulative"] = _cumulative(series, index, config)
    if growth is not None:
        section["previous"] = {
            "release_id": config.previous_release_id,
            "manifest_sha256": previous_manifest_sha256,
            "records": growth.previous.total,
            "taken_back": growth.taken_back,
        }
    return section | {"basis": "public" if growth is None else "post-processing"}


def _cumulative(series: Series, index: int, config: Config) -> dict[str, Any]:
    events = plan_events(config)
    factorization = factorization_of(events, series.horizon)
    period = series.within_cycle(index)
    plain = factorization.to_plain()
    return {
        **{name: value for name, value in plain.items() if name != "horizon"},
        "nodes": len(factorization.nodes_at(period)),
        "noise": cumulative_noise(events, factorization, period),
    }
