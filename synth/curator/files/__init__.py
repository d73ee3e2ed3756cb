"""Files of all kinds, counted by DuckDB in this process."""
