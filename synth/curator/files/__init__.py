"""CSV and Parquet files, counted by DuckDB in this process."""
