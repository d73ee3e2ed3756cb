"""Looking up a table of a database: its name, its columns and their types; no value is read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import psycopg

from synth.curator.engine import require_columns
from synth.errors import SourceError

TABLE_KINDS = "rp"
"""Tables and partitioned tables: a row is what was stored as one record."""
VIEW_KINDS = "vmf"
"""Views, materialised views, foreign tables: a row may be computed from many records."""

SESSION = {
    "search_path": "pg_catalog, pg_temp",
    "row_security": "off",
    "client_min_messages": "error",
    "standard_conforming_strings": "on",
    "extra_float_digits": "1",
    "datestyle": "ISO, YMD",
    "timezone": "UTC",
    "statement_timeout": "0",
    "lock_timeout": "0",
    "idle_in_transaction_session_timeout": "0",
}
"""What a role or database may set otherwise, and what rows, texts and messages depend on.

Without row security the server refuses a table, or a table below a view, whose policies apply.
"""

FIND_TABLE = """
WITH RECURSIVE family AS (
    SELECT %(table)s::oid AS oid
    UNION SELECT i.inhrelid FROM pg_inherits AS i JOIN family ON family.oid = i.inhparent
), judged AS (
    SELECT bool_and((c.relkind = 'p' OR c.relkind = 'r' AND m.amname = 'heap') AND NOT EXISTS (
            SELECT FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attgenerated = 'v'
        )) AS is_stored,
        bool_or(row_security_active(c.oid)) AS has_policies
    FROM family JOIN pg_class AS c ON c.oid = family.oid LEFT JOIN pg_am AS m ON m.oid = c.relam
)
SELECT c.relkind::text, n.nspname::text, c.relname::text, judged.is_stored, judged.has_policies
FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace CROSS JOIN judged
WHERE c.oid = %(table)s
"""
"""The table, and what holds for it and all its partitions and child tables, however deep."""

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
        WHERE l.oid = a.attcollation), true),
    NOT EXISTS (SELECT FROM pg_catalog.pg_cast AS k
        WHERE k.castsource IN (t.oid, 'text'::regtype, 'numeric'::regtype)
        AND k.casttarget::regtype IN ('text', 'bigint', 'numeric', 'double precision')
        AND k.castfunc >= 16384)
FROM base JOIN pg_catalog.pg_type AS t ON t.oid = base.type AND t.typtype <> 'd'
JOIN pg_catalog.pg_namespace AS n ON n.oid = t.typnamespace
JOIN pg_catalog.pg_attribute AS a ON a.attrelid = %(table)s AND a.attnum = base.attnum
"""
"""The columns by their base types. Objects with numbers from 16384 on are not the server's own."""


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
    converts_plainly: bool = True
    """Whether only functions of the server itself write it as text or as a number."""


def quoted(name: str) -> str:
    """A name as SQL writes it, exactly as it is."""
    return '"' + name.replace('"', '""') + '"'


def identify_table(connection: psycopg.Connection, table: str) -> int:
    """The number of the table of that name, on the search path where no schema is given.

    Ensures: what comes after it in the transaction depends on no setting of a role or database.
    Raises: SourceError if there is none.
    """
    name = ".".join(quoted(part) for part in table.split("."))
    row = connection.execute("SELECT pg_catalog.to_regclass(%s)::pg_catalog.oid", (name,))
    (found,) = row.fetchone() or (None,)
    for setting, value in SESSION.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, true)", (setting, value))
    if found is None:
        raise _no_table(table)
    return int(found)


def find_table(
    connection: psycopg.Connection, number: int, shown: str, *, view_reason: str | None = None
) -> FoundTable:
    """The table with that number, as the catalogue has it now.

    Privacy: one record must be one row, and stop nothing. A view may break both: a row of it can
    be computed from several records, or by a cast that fails at one value. So a view is refused
    unless the configuration says why it does not; so is a table among whose partitions and child
    tables, at any depth, is one whose rows are not stored as they are read. The policies of
    row-level security are queries and casts as well, and are refused whatever is said.
    Requires: `identify_table` was called in this transaction.
    Raises: SourceError if the table went away, or is refused.
    """
    row = connection.execute(FIND_TABLE, {"table": number}).fetchone()
    if row is None or row[0] not in TABLE_KINDS + VIEW_KINDS:
        raise _no_table(shown)
    kind, schema, relation, is_stored, has_policies = row
    if has_policies:
        raise row_security_applies(shown)
    if kind in VIEW_KINDS and view_reason is None:
        raise SourceError(
            f"{shown} is a view or a foreign table",
            why="its rows can be computed from several people's records, which no noise covers",
            fix="name the table itself, or say in source.view_reason why every row of it comes "
            "from one record, by expressions that no value stops",
        )
    if not is_stored and view_reason is None:
        raise SourceError(
            f"not all rows of {shown} are read as they were stored",
            why="a partition or child table is a foreign table or of another access method than "
            "heap, or a column is computed when it is read: so a row can come from several "
            "people's records, which no noise covers",
            fix="name a table without these, or say in source.view_reason why every row of it "
            "comes from one record, by expressions that no value stops",
        )
    return FoundTable(number, f"{quoted(schema)}.{quoted(relation)}")


def row_security_applies(shown: str) -> SourceError:
    """The refusal of a table with policies, or of a view that reads one."""
    return SourceError(
        f"row-level security applies to this user's reading of {shown}",
        why="a policy may look at other people's records, or fail at one value, which no noise "
        "covers",
        fix="let a role with BYPASSRLS read it, or copy the rows into a table without policies",
    )


def _no_table(shown: str) -> SourceError:
    return SourceError(
        f"the database has no table or view {shown}",
        fix="write source.table as table or schema.table, with the names as they are stored",
    )


def has_columns(
    connection: psycopg.Connection, table: FoundTable, columns: Sequence[str], shown: str
) -> dict[str, FoundColumn]:
    """The needed columns of a table.

    Raises: SourceError if one is missing or may not be read.
    """
    found, refused = {}, []
    for name, kind, category, schema, readable, compares_bytes, plain in connection.execute(
        FIND_COLUMNS, {"table": table.oid}
    ):
        if category == "e":
            kind = "enum"
        elif schema != "pg_catalog" and (kind, category) != ("citext", "b"):
            kind = f"{schema}.{kind}"
        found[name] = FoundColumn(name, kind, bool(compares_bytes), bool(plain))
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
