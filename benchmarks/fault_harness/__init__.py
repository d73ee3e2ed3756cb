"""Real jobs, broken on purpose: see `benchmarks/faults.py`."""
