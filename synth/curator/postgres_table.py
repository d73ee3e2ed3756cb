"""Looking up a table of a database: its name, its columns and their types; no value is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.curator.columns import require_columns
from synth.errors import SourceError

if TYPE_CHECKING:
    import psycopg

TABLE_KINDS = "rp"
"""Tables and partitioned tables: a row is what was stored as one record."""
VIEW_KINDS = "vmf"
"""Views, materialised views, foreign tables: a row may be computed from many records."""

FIND_TABLE = """
SELECT c.oid, c.relkind::text, n.nspname::text, c.relname::text
FROM pg_catalog.pg_class AS c JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
WHERE c.oid = pg_catalog.to_regclass(%s)
"""

FIND_COLUMNS = """
WITH RECURSIVE base AS (
    SELECT a.attnum, a.atttypid AS type FROM pg_catalog.pg_attribute AS a
    WHERE a.attrelid = %(table)s AND a.attnum > 0 AND NOT a.attisdropped
    UNION ALL
    SELECT base.attnum, t.typbasetype FROM base JOIN pg_catalog.pg_type AS t ON t.oid = base.type
    WHERE t.typtype = 'd'
)
SELECT a.attname::text, t.typname::text, t.typtype::text, n.nspname::text,
    pg_catalog.has_column_privilege(a.attrelid, a.attnum, 'SELECT'),
    COALESCE((SELECT l.collisdeterministic FROM pg_catalog.pg_collation AS l
        WHERE l.oid = a.attcollation), true)
FROM base JOIN pg_catalog.pg_type AS t ON t.oid = base.type AND t.typtype <> 'd'
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = %(table)s AND a.attnum = base.attnum
"""


@dataclass(frozen=True)
class FoundTable:
    """A table: its identity, and its name as SQL writes it."""

    oid: int
    name: str


@dataclass(frozen=True)
class FoundColumn:
    """A column: its name and its type, that of its base where it is a domain."""

    name: str
    type: str
    """The name of a built-in type, `enum`, or another name for whatever else."""
    compares_bytes: bool = True
    """Whether values that the database takes for equal are written alike."""


def quoted(name: str) -> str:
    """A name as SQL writes it, exactly as it is."""
    return '"' + name.replace('"', '""') + '"'


def find_table(
    connection: psycopg.Connection, table: str, *, view_reason: str | None = None
) -> FoundTable:
    """The table of that name, on the search path where no schema is given.

    Privacy: one record must be one row, and stop nothing. A view may break both: a row of it can
    be computed from several records, or by a cast that fails at one value. So a view is refused
    unless the configuration says why it does not.
    Raises: SourceError if there is none, or if it is a view without a reason.
    """
    name = ".".join(quoted(part) for part in table.split("."))
    row = connection.execute(FIND_TABLE, (name,)).fetchone()
    if row is not None and row[1] in VIEW_KINDS and view_reason is None:
        raise SourceError(
            f"{table} is a view or a foreign table",
            why="its rows can be computed from several people's records, which no noise covers",
            fix="name the table itself, or say in source.view_reason why every row of it comes "
            "from one record, by expressions that no value stops",
        )
    if row is None or row[1] not in TABLE_KINDS + VIEW_KINDS:
        raise SourceError(
            f"the database has no table or view {table}",
            fix="write source.table as table or schema.table, with the names as they are stored",
        )
    oid, _, schema, relation = row
    return FoundTable(oid, f"{quoted(schema)}.{quoted(relation)}")


def has_columns(
    connection: psycopg.Connection, table: FoundTable, columns: Sequence[str], shown: str
) -> dict[str, FoundColumn]:
    """The needed columns of a table.

    Raises: SourceError if one is missing or may not be read.
    """
    found, refused = {}, []
    for name, kind, category, schema, readable, compares_bytes in connection.execute(
        FIND_COLUMNS, {"table": table.oid}
    ):
        if category == "e":
            kind = "enum"
        elif schema != "pg_catalog" and kind != "citext":
            kind = f"{schema}.{kind}"
        found[name] = FoundColumn(name, kind, bool(compares_bytes))
        if not readable:
            refused.append(name)
    require_columns(columns, columns, list(found), source=shown)
    hidden = [repr(column) for column in columns if column in refused]
    if hidden:
        raise SourceError(
            f"the database does not let this user read {', '.join(hidden)} of {shown}",
            fix="grant SELECT on the table, or on these columns, to the user of PGUSER",
        )
    return {column: found[column] for column in columns}
