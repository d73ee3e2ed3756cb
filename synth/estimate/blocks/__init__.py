"""A universe that is passed over block by block: its table is never held."""
