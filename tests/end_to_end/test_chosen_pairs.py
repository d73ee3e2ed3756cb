"""Whole runs in which pairs are chosen by noisy scores, above the dense limit and below it."""

import json
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from synth.bookkeeping import Ledger
from synth.config import load_config
from synth.errors import VerificationError
from synth.job import pipeline
from synth.measurements import read_measurements
from synth.noise import NoiseStream
from synth.planning import forecast, plan_look, plan_schedule
from synth.planning.wide import CHOSEN_RULE
from synth.privacy import Budget
from synth.progress import Stage, Step, watched_by
from synth.release import verify_release
from synth.release.verification.folder import Folder
from synth.release.verification.other_version import findings_without_rebuild
from tests.conftest import SMALL, merged
from tests.end_to_end.test_look import Told
from tests.unit.release.budget_oracle import budget_findings

LEVELS = 6
COLUMNS, FEW_COLUMNS = 12, 8
"""2 x 10^9 cells, and 2 x 10^6, of which each could be measured."""
pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")
DELTA = {"privacy": {"delta": "1e-6"}, "ledger": {"delta_cap": "1e-6"}}
PEOPLE = {"privacy": {"unit": {"column": "person", "max_records": 1}}}


def total(records):
    return {"public_totals": [{"where": {}, "total": records, "source": "a register"}]}


REPLACED = {"privacy": {"neighbours": "replace-one"}}
CASES = {
    "people, delta": (4_000, Fraction(1, 2), merged(PEOPLE, DELTA)),
    "a public total, replaced, delta": (
        4_000,
        Fraction(1, 2),
        merged(merged(total(4_000), REPLACED), DELTA),
    ),
    "a large budget, a small delta": (
        1_000,
        10,
        {"privacy": {"delta": "1e-9"}, "ledger": {"epsilon_cap": 10, "delta_cap": "1e-9"}},
        10,
        20,
    ),
    "few columns": (2_000, 2, {}, FEW_COLUMNS),
    "few columns, a public total": (2_000, 2, total(2_000), FEW_COLUMNS),
}
"""Without and with a public total, each with a delta and many columns, and without one and few; and
a budget so large that look, tables and choices cost less apart than as one sum of rhos."""
KNOWN = (2_000, 2, total(2_000))


def pairs_of(columns):
    """Columns that are mostly alike, two and two."""
    return [(f"c{k}", f"c{k + 1}") for k in range(0, columns, 2)]


def configured(place, records, epsilon, changes, count=COLUMNS, levels=LEVELS):
    generator = np.random.default_rng(3)
    columns = {}
    for one, other in pairs_of(count):
        columns[one] = generator.integers(0, levels, records)
        same = generator.random(records) < 0.9
        columns[other] = np.where(same, columns[one], generator.integers(0, levels, records))
    rows = pa.table({"person": [f"p{n}" for n in range(records)]} | columns)
    pq.write_table(rows, place / "rows.parquet")
    domain = [
        {"name": name, "type": "integer", "minimum": 0, "maximum": levels - 1, "bin_width": 1}
        | {"out_of_domain": "clamp", "source": "test"}
        for name in columns
    ]
    plain = merged(
        SMALL,
        {
            "source": {"path": "rows.parquet", "disposal": "keep", "disposal_reason": "made up"},
            "privacy": {"epsilon": str(epsilon)},
            "ledger": {"epsilon_cap": 4},
            "domain": domain,
            "workload": {"marginals": 3, "cells": False},
            "strategy": "auto",
        },
    )
    path = place / "small.yaml"
    path.write_text(yaml.safe_dump(merged(plain, changes)), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", CASES)
def test_pairs_are_chosen_measured_paid_for_and_verified(tmp_path, log, name):
    config = load_config(configured(tmp_path, *CASES[name]))
    look, pairs = plan_look(config), pairs_of(len(config.universe.names))
    assert look is not None
    pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(range(32))))
    folder = pipeline.publish(config, log=log).path
    assert findings_without_rebuild(Folder(folder)) == []
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert list(budget_findings(manifest)) == []
    accounting = manifest["accounting"]
    assert CHOSEN_RULE in accounting["preprocessing_and_hyperparameter_tuning"]
    measured = read_measurements(folder / "measurements.parquet", config.universe)
    schedule = plan_schedule(config, measured.look.noisy_counts)
    events = tuple(table.event for table in measured.tables)
    assert events[: len(schedule.first)] == schedule.first
    chosen = [event.table for event in events[len(schedule.first) :]]
    assert len(set(chosen)) == len(schedule.rounds) == len(accounting["selections"])
    assert measured.selections == tuple(each.selection for each in schedule.rounds)
    if len(chosen) > len(pairs):
        assert sum(pair in chosen for pair in pairs) >= len(pairs) - 1
    promised = Budget(config.privacy.epsilon, config.privacy.delta)
    assert look.allows(schedule.events)
    with Ledger.open_existing(config.ledger.path) as ledger:
        ledger.verify_chain()
        charged = ledger.position(config.ledger.population).spent
    assert charged == promised
    require_another_pair_is_found(folder)


def require_another_pair_is_found(folder):
    """Its noisy counts are those of another table: nobody can tell, but they must be a candidate's
    and be there once."""
    table = pq.read_table(folder / "measurements.parquet")
    head = json.loads(table.schema.metadata[b"synth"])
    head["tables"][-1]["table"] = head["tables"][-2]["table"]
    changed = table.replace_schema_metadata({b"synth": json.dumps(head, sort_keys=True).encode()})
    pq.write_table(changed, folder / "measurements.parquet")
    with pytest.raises(VerificationError, match="was not up for choice, or twice"):
        verify_release(folder)


def test_the_plan_says_how_many_pairs_are_chosen(tmp_path):
    plan = forecast(load_config(configured(tmp_path, *KNOWN)))
    assert plan.to_plain()["choices"]["rule"] == CHOSEN_RULE
    assert plan.costs.memory_bytes == plan.costs_of_tables.memory_bytes


def test_progress_has_no_figures_where_tables_are_chosen(tmp_path, log):
    """As many cells as a column has would tell which pair was chosen."""
    watcher = Told()
    config = load_config(configured(tmp_path, *KNOWN))
    with watched_by(watcher):
        pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(32)))
    assert Stage.NOISE in {step.stage for step in watcher.told if isinstance(step, Step)}
    assert not [told for told in watcher.told if isinstance(told, tuple)]
