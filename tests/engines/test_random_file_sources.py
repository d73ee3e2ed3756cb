"""Some random files and their neighbours; `benchmarks/random_sources/run.py` tries more."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "benchmarks"))
from random_sources.files import tried

SEEDS = {
    7: "refused",  # CSV: a file without a header
    9: "refused",  # Parquet: persons as floats
    2: "counted",  # CSV, gzipped, with an escape, a record; in pieces that cut its records
    6: "counted",  # CSV, persons replaced
    13: "counted",  # CSV, gzipped, without quotes
    14: "counted",  # CSV, gzipped, without quotes, persons replaced
    26: "counted",  # CSV, an escape and quotes
    31: "counted",  # CSV, windows-1252, a person less
    5: "counted",  # Parquet, a record replaced
    16: "counted",  # Parquet, four files, persons replaced
}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_unit_moves_the_counts_by_no_more_than_stated(tmp_path, seed):
    """And both counts are those that Python finds in the records."""
    outcome = tried(seed, tmp_path, large=False)
    assert outcome.problem is None, outcome
    assert outcome.end == SEEDS[seed]
    assert outcome.change_l1 <= outcome.sensitivity_l1
