"""A universe of any size: only cells that may have records are ever listed."""
