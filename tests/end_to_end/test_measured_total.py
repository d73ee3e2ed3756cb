"""A total that is measured by itself, beside the universe: through every command."""

import json

import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.release import verify_release
from tests.command_line import synth
from tests.conftest import SMALL
from tests.unit.audit.conftest import SIZES

SMALL_AUDIT = "\n".join(
    [
        *(f"import {module.__name__}" for module in SIZES),
        *(f"{m.__name__}.{key} = {size}" for m in SIZES for key, size in SIZES[m].items()),
        'import sys\nsys.argv = ["synth", *sys.argv[1:]]',
        "from synth.cli import main\nmain()",
    ]
)
"""With as few canaries as in tests/unit/audit."""


def test_a_total_that_is_measured_by_itself_goes_through_everything(project):
    age = {**SMALL["domain"][0], "maximum": 599, "bin_width": 1}
    path = project(
        strategy="identity", domain=[age, *SMALL["domain"][1:]], privacy={"epsilon": "3"},
        ledger={"epsilon_cap": 3}, workload={"marginals": 2},
    )  # fmt: skip
    done = synth("run", path)
    assert done.returncode == 0, done.stderr
    assert "measured: 5,401 noisy counts" in done.stderr
    folder = path.parent / "outputs" / "small"
    assert verify_release(folder).release_id == "small"
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    universe, total = manifest["accounting"]["events"]
    assert universe["table"] == ["age", "sex", "town"]
    assert (total["table"], total["cells"]) == ([], 1)
    assert total["epsilon"]["fraction"] == "3/50"
    assert "the total: discrete-laplace" in (folder / "registry.yaml").read_text(encoding="utf-8")
    assert "| 1 | none: the total | 1 |" in (folder / "README.md").read_text(encoding="utf-8")
    noisy = pq.read_table(folder / "measurements.parquet").filter(pc.field("table") == 1)
    assert noisy.num_rows == 1
    assert abs(noisy.column("noisy_count")[0].as_py() - 120) < 600  # 25 noise scales
    found = synth("errors", folder, "--query", "sex=Male", "--json")
    assert found.returncode == 0, found.stderr
    assert synth("explain", path).returncode == 0
    audited = synth("audit", path, "--json", program=SMALL_AUDIT)
    assert audited.returncode == 0, audited.stderr
    assert json.loads(audited.stdout)
