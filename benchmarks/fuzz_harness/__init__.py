"""Files of attackers, made by the thousand: see `benchmarks/fuzz.py`."""
