"""From read values to a Config: every rule checked, then frozen, then written in public form."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from synth.config.attributes import build_attributes
from synth.config.checks import (
    build_universe,
    check_epsilon,
    check_formats,
    check_period,
    check_rows,
)
from synth.config.disjoint_part import check_disjoint_part, check_part_of_a_period
from synth.config.keys import CONFIGURATION
from synth.config.measured import build_strategy, plain_strategy
from synth.config.problems import Report
from synth.config.relations import plain_conjunction
from synth.config.scalars import Invalid
from synth.config.sections import (
    ledger_section,
    output_section,
    privacy_section,
    release_section,
    source_section,
)
from synth.config.size_checks import check_strategy_size
from synth.config.source_checks import check_source
from synth.config.source_kind import public_source
from synth.config.types import (
    Config,
    RangeQueries,
    Strategy,
    WeightedMarginal,
    WorkloadConfig,
)
from synth.config.workload import (
    build_marginals,
    build_ranges,
    check_expected_records,
    plain_workload,
)
from synth.domain import PublicTotal, Universe


def build(
    values: dict[str, Any] | Invalid,
    report: Report,
    *,
    name: str,
    base: Path | None,
    period: str | None = None,
) -> Config | None:
    """The Config, or None if the report has any problem.

    Requires: `values` was read by the shape CONFIGURATION. `base` is the directory that paths
    are relative to, or None for a configuration from a manifest.
    """
    if isinstance(values, Invalid):
        return None
    if not report.public:
        check_part_of_a_period(values, report)
    check_period(values, report, period)
    check_epsilon(values, report)
    check_disjoint_part(values, report)
    check_source(values, report)
    check_formats(values, report)
    workload = values["workload"]
    marginals: tuple[WeightedMarginal, ...] = ()
    universe: Universe | None = None
    totals: tuple[PublicTotal, ...] = ()
    ranges: tuple[RangeQueries, ...] = ()
    strategy: Strategy = "auto"
    if not isinstance(values["domain"], Invalid):
        declared = build_attributes(values["domain"], report)
        universe, totals = build_universe(values, declared, report)
        if not isinstance(workload, Invalid):
            marginals = build_marginals(workload["marginals"], list(declared), report)
            ranges = build_ranges(workload["ranges"], declared, report)
            check_expected_records(workload["expected_records"], totals, report)
        strategy = build_strategy(values["strategy"], declared, report)
    if universe is not None:
        check_rows(values, totals, report)
        check_strategy_size(universe, strategy, report)
    if report.problems() or universe is None:
        return None
    public = _public(
        values,
        universe,
        totals,
        plain_workload(workload, marginals, ranges, len(universe.attributes)),
        strategy,
    )
    return Config(
        name=name,
        release=release_section(values["release"]),
        source=None if base is None else source_section(values["source"], base),
        privacy=privacy_section(values["privacy"]),
        ledger=None if base is None else ledger_section(values["ledger"], base),
        universe=universe,
        public_totals=totals,
        workload=WorkloadConfig(
            marginals,
            workload["cells"],
            order=workload["marginals"] if isinstance(workload["marginals"], int) else None,
            ranges=ranges,
            expected_records=workload["expected_records"],
        ),
        strategy=strategy,
        output=output_section(values["output"], base),
        public=public,
        period=period,
    )


def _public(
    values: dict[str, Any],
    universe: Universe,
    totals: tuple[PublicTotal, ...],
    workload: dict[str, Any],
    strategy: Strategy,
) -> dict[str, Any]:
    """The configuration as JSON in its one normal form, without places.

    Two configurations that differ only in the order of labels or columns within a rule, in
    how a number is written, or in defaults spelled out have the same public form.
    """
    attributes = universe.attributes
    normal = {
        **values,
        "source": public_source(values["source"]),
        "output": {**values["output"], "formats": sorted(values["output"]["formats"])},
        "impossible": [plain_conjunction(rule, attributes) for rule in universe.impossible],
        "public_totals": [
            {
                "where": plain_conjunction(total.where, attributes),
                "total": total.total,
                "source": total.source,
            }
            for total in totals
        ],
        "workload": workload,
        "strategy": plain_strategy(strategy, attributes),
    }
    plain: dict[str, Any] = CONFIGURATION.plain(normal)
    return plain
