"""One column of many codes: whole runs whose rows keep every range."""

import itertools

import numpy as np
import pandas as pd
import pytest

from synth.config import load_config
from synth.estimate import estimate_whole
from synth.job import pipeline
from synth.measurements import read_measurements
from synth.noise import NoiseStream
from tests.end_to_end.test_whole_runs import UNITS, published_and_stands

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

CODES, RECORDS = 300, 1200
KNOWN = [{"where": {}, "total": RECORDS, "source": "a register"}]
PART = [{"where": {"cost": ["0", "1", "2"]}, "total": 180, "source": "a register"}]
CHOICES = {
    "record": ("record", "add-remove", []),
    "person": ("person", "add-remove", []),
    "replace-one": ("record", "replace-one", KNOWN),
    "totals known": ("record", "add-remove", KNOWN + PART),
}
CASES = list(itertools.product(["identity", "auto"], [False, True], CHOICES))


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_release_of_one_column_stands(project, log, case):
    """The tail has half a record in every code: rounding does not move it to other codes."""
    strategy, in_groups, choice = case
    unit, neighbours, totals = CHOICES[choice]
    codes = [i // 60 if i < 1050 else 30 + (i - 1050) * 9 // 5 for i in range(RECORDS)]
    column = {"name": "cost", "type": "integer", "minimum": 0, "maximum": CODES - 1}
    column |= {"bin_width": 1, "out_of_domain": "clamp", "source": "test"}
    path = project(
        people="\n".join(["person,cost", *(f"p{i // 2},{c}" for i, c in enumerate(codes))]) + "\n",
        strategy=strategy,
        domain=[column | ({"hierarchy": {"branching": 8}} if in_groups else {})],
        public_totals=totals,
        impossible=[],
        workload={"marginals": 1, "ranges": [{"columns": ["cost"], "kind": "prefix"}]},
        privacy={"epsilon": 2, "unit": UNITS[unit], "neighbours": neighbours},
        output={"replicates": 4},
        ledger={"epsilon_cap": 2},
    )
    config = load_config(path)
    pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(range(32))))
    folder = published_and_stands(config, log)
    rows = pd.read_csv(folder / "synthetic.csv")["cost"]
    measured = read_measurements(folder / "measurements.parquet", config.universe)
    gap = np.bincount(rows, minlength=CODES) - estimate_whole(measured, config).values
    assert np.abs(np.cumsum(gap)).max() < 1 + len(totals)
