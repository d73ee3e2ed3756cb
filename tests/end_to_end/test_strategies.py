"""Every strategy through the command line: published, verified, and tampering with it found."""

import json
import shutil

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from synth.errors import VerificationError
from synth.release import verify_release
from tests.command_line import synth

STRATEGIES = {
    "auto": ("auto", "0"),
    "identity": ("identity", "0"),
    "adaptive": ("adaptive", "0"),
    "tables with Laplace noise": ({"tables": [["age"], ["sex", "town"]]}, "0"),
    "tables with Gaussian noise": (
        {"tables": [["age", "sex"], ["age", "town"], ["sex", "town"], ["town"]]},
        "1e-3",
    ),
    "the universe among tables": ({"tables": [["age", "sex", "town"], ["age"]]}, "0"),
}


@pytest.mark.parametrize("name", STRATEGIES)
def test_a_release_of_every_strategy_stands_and_no_noisy_count_can_be_changed(project, name):
    strategy, delta = STRATEGIES[name]
    path = project(
        strategy=strategy,
        privacy={"delta": delta},
        ledger={"delta_cap": "1e-3"},
        workload={"marginals": 3},
    )
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    folder = path.parent / "outputs" / "small"
    assert verify_release(folder).release_id == "small"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    tables = {
        tuple(event["table"]) for event in manifest["accounting"]["events"] if "table" in event
    }
    if isinstance(strategy, dict):
        assert tables == {tuple(names) for names in strategy["tables"]}

    changed = folder.with_name("changed")
    shutil.copytree(folder, changed)
    noisy = pq.read_table(changed / "measurements.parquet")
    column = noisy.column_names.index("noisy_count")
    counts = noisy.column("noisy_count").combine_chunks()
    first = pa.array([1] + [0] * (len(counts) - 1), counts.type)
    noisy = noisy.set_column(column, noisy.schema.field(column), pc.add(counts, first))
    pq.write_table(noisy, changed / "measurements.parquet")
    with pytest.raises(VerificationError) as caught:
        verify_release(changed)
    assert "measurements.parquet" in "\n".join(caught.value.findings)
