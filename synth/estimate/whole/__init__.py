"""A universe that is held as one table: every cell is fitted at once."""
