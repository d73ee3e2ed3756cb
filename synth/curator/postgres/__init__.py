"""A PostgreSQL table, counted inside its database."""
