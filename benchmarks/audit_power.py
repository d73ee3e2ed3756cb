"""What `synth audit` finds: twenty-two broken programs, audited as large as a user audits.

    python benchmarks/audit_power.py             every mutant, and the whole program on the same
    python benchmarks/audit_power.py NAME ...    some of them

The mutants are those of tests/unit/audit/mutants.py, each made by altering the real code in one
place. Noise and coins are those of the operating system, so no two tables are alike.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))

from synth.audit import AuditReport
from synth.audit import audit as audit_configuration
from synth.config import load_config
from tests.conftest import SMALL, merged
from tests.forgotten_plans import forget_plans
from tests.unit.audit.mutants import MUTANTS


def audited(changes: Mapping[str, Any]) -> AuditReport:
    """The audit of the small project with these changes, at full size."""
    changed = dict(changes)
    if changed.get("privacy", {}).get("neighbours") == "replace-one":
        changed["public_totals"] = [{"where": {}, "total": 120, "source": "test"}]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "small.yaml"
        path.write_text(yaml.safe_dump(merged(SMALL, changed), allow_unicode=True))
        return audit_configuration(load_config(path))


def report_of(name: str, *, broken: bool) -> tuple[AuditReport, float]:
    """The audit of one mutant, or of the whole program on its configuration; and its seconds."""
    start = time.process_time()
    with pytest.MonkeyPatch.context() as patch:
        forget_plans()
        if broken:
            MUTANTS[name].break_it(patch)
        report = audited(MUTANTS[name].changes)
    forget_plans()
    return report, time.process_time() - start


def main() -> None:
    """Print one line for every mutant."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=list(MUTANTS))
    names = parser.parse_args().names
    missed = 0
    whole: dict[str, bool] = {}  # one audit for each configuration
    print("| mutant | whole program | exit code | processor seconds | first sentence |")
    print("|---|---|---|---|---|")
    for name in names:
        changes = str(MUTANTS[name].changes)
        if changes not in whole:
            whole[changes] = report_of(name, broken=False)[0].exceeded
        report, seconds = report_of(name, broken=True)
        missed += whole[changes] or not report.exceeded
        first = report.faults[0] if report.faults else "-"
        codes = [5 if exceeded else 0 for exceeded in (whole[changes], report.exceeded)]
        print(f"| {name} | {codes[0]} | {codes[1]} | {seconds:.0f} | {first} |", flush=True)
    if missed:
        sys.exit(f"{missed} of them are not as they should be")


if __name__ == "__main__":
    main()
