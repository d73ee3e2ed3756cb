"""Counting: what a record is in, cell by cell; secret."""
