"""The example in the documentation does what it says."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[3] / "docs" / "ledger.md"


def test_the_example_prints_what_its_comment_says():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    (promised,) = re.findall(r"print\(.*\)  # (.*)", code)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == [promised]
