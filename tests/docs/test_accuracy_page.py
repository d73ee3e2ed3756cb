"""The page on accuracy: its comparison with peers is what its command prints."""

import subprocess
import sys

from tests.docs.carried_out import ROOT
from tests.docs.test_signing_page import DOCS


def test_the_comparison_is_the_one_of_the_results():
    command = [sys.executable, "benchmarks/accuracy_plots.py", "--markdown"]
    printed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert len(printed.splitlines()) > 20
    assert f"\n{printed}\n" in (DOCS / "accuracy.md").read_text(encoding="utf-8")
