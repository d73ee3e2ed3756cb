"""A schedule over years: a growing table, a timer, faults, and what must hold all the time."""
