"""The series of a release: what all releases of it cost together, and how they are connected."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

from synth.config import Config
from synth.config.series import Rows, Rule
from synth.errors import BugError
from synth.measurements import Continual, Measurements
from synth.planning import plan_events
from synth.planning.series import Totals, cumulative_noise, method_in_words, sentences
from synth.privacy.meaning import exact_budget
from synth.release.manifest.guarantee import promised_budget
from synth.release.manifest.schema_terms import (
    basis,
    defined,
    listing,
    mapping,
    one_of,
    real,
    record,
    sha256,
    text,
    whole,
)

if TYPE_CHECKING:
    from synth.release.derivation import Growth

LOSSES = ("release", "horizon", "window", "for_ever")
"""Of `Totals`: one release, or all that share its charge; and all of them in longer times."""

SERIES = record(
    "The series that the release belongs to; missing where it stands alone.",
    ("cumulative", "previous"),
    name=text("The release id of every period, {period} left in."),
    period=text("The period."),
    index=whole("Its number, from 1.", minimum=1),
    rows=one_of("New records, or all so far.", *get_args(Rows)),
    horizon=whole("How many periods are charged and approved together.", minimum=1),
    rule=one_of("How charges come together.", *get_args(Rule)),
    in_words=text("The series in a line."),
    conditions=listing("What all releases cost, on which condition; what follows.", text("One.")),
    most_lost=mapping(
        "What one unit loses at most; for_ever is missing where nothing bounds it.",
        defined("budget", "A loss."),
        names="release, horizon, window or for_ever",
    ),
    cumulative=record(
        "How counts of all records so far were put together.",
        method=text("By which sums of periods."),
        noise=real("Standard deviation of a count, in that of one release of the charge."),
    ),
    previous=record(
        "The release before, whose records are kept.",
        release_id=text("Its id."),
        manifest_sha256=sha256("Of its manifest."),
        records=whole("How many it has."),
        taken_back=whole("Those that this release lacks: they contradict its measurements."),
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
    added = measurements.continual
    events = plan_events(config) if added is None else added.charged
    totals = Totals.of(series, promised_budget(config, measurements))
    losses = {name: getattr(totals, name) for name in LOSSES}
    section: dict[str, Any] = {
        "name": series.name,
        "period": series.label(index),
        "index": index,
        "rows": series.rows,
        "horizon": series.horizon,
        "rule": series.composition.rule,
        "in_words": series.in_words(),
        "conditions": sentences(series, totals, events),
        "most_lost": {
            name: exact_budget(budget) for name, budget in losses.items() if budget is not None
        },
    }
    if added is not None:
        section["cumulative"] = _cumulative(added)
    if growth is not None:
        section["previous"] = {
            "release_id": config.previous_release_id,
            "manifest_sha256": previous_manifest_sha256,
            "records": growth.previous.total,
            "taken_back": growth.taken_back,
        }
    return section | {"basis": "public" if growth is None else "post-processing"}


def _cumulative(added: Continual) -> dict[str, Any]:
    plan = added.plan
    return {
        "method": method_in_words(plan.factorization),
        "noise": cumulative_noise(
            plan.charged,
            plan.factorization,
            plan.within(added.index),
            finished_cycles=(added.index - 1) // plan.factorization.horizon,
        ),
    }
