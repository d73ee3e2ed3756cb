"""A table of Spark, counted where it lies."""
