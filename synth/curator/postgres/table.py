"""A table of a database: its name, its columns, and how each is read; no value is looked at.

Columns are whole numbers, floats and text, by expressions that cannot fail: a cast of text to a
number stops a statement at the first value that is none, so text is matched with a pattern before
it is cast, and held to what a float can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

import psycopg

from synth.curator.engine import NUMBER_CHARACTERS, Key, key_kind, require_columns
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


WHOLE = {"int2", "int4", "int8"}
FLOAT = {"float4", "float8"}
TEXT = {"text", "varchar", "bpchar", "name", "char", "citext", "enum", "bool", "date", "uuid"}
EXACT = {"numeric"}
INSTANT = {"timestamp": "{}", "timestamptz": "({} AT TIME ZONE 'UTC')"}
"""How a timestamp is seen by its own clock: that of the place, or of UTC."""

BLANKS = r"[ \t\n\v\f\r]*"
DECIMAL = rf"^{BLANKS}[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?{BLANKS}$"
INFINITE = rf"^{BLANKS}[+-]?inf(inity)?{BLANKS}$"
LARGE_EXPONENT, SMALL_EXPONENT = r"[eE]\+?0*[1-9][0-9]{4}", "[eE]-0*[1-9][0-9]{4}"

INFINITE_FROM = str(2**1024 - 2**970)
"""Halfway from the largest float64 to the next power of two: from here on it is infinite."""

with localcontext(prec=2_000):
    ZERO_UP_TO = format(Decimal(1) / Decimal(2**1075), "f")
    """Half of the smallest float64 above zero: up to here it is zero."""


@dataclass(frozen=True)
class ColumnKind:
    """How a column is read: as which type, by which expression, and as which number."""

    ibis_type: str
    expression: str
    number: str | None = None
    """The expression of text as float64, by the rule of `Records.as_number`."""


def column_kinds(
    found: Mapping[str, FoundColumn], columns: Sequence[str], shown: str
) -> dict[str, ColumnKind]:
    """How each column is read; decided by its declared type alone.

    Texts are compared by their bytes, whatever the collation. Exact decimals, dates, booleans
    and enumerations are text, as in a CSV file; timestamps as `engine.Engine` has them.
    Raises: SourceError for a type that cannot be counted.
    """
    kinds = {}
    for column in columns:
        name, kind = quoted(column), found[column].type
        if not found[column].converts_plainly:
            raise SourceError(
                f"the source {shown} holds {column!r} in a type with a cast of its own",
                why="a function of the database would be called for every value, and it may look "
                "at other people's records, or fail at one value, which no noise covers",
                fix="drop the cast, or store the column as text",
            )
        text = f'{name}::text COLLATE "C"'
        if kind in WHOLE:
            kinds[column] = ColumnKind("int64", f"{name}::bigint")
        elif kind in FLOAT:
            kinds[column] = ColumnKind("float64", f"{name}::double precision")
        elif kind in TEXT:
            kinds[column] = ColumnKind("string", text, _number(f"({text})"))
        elif kind in EXACT:
            kinds[column] = ColumnKind("string", text, _exact_number(name, f"({text})"))
        elif kind in INSTANT:
            zone = " || 'Z'" if kind == "timestamptz" else ""
            seen = f"date_trunc('second', {INSTANT[kind].format(name)})"
            text = f'({seen}::text{zone}) COLLATE "C"'
            kinds[column] = ColumnKind("string", text, _number(f"({text})"))
        else:
            raise SourceError(
                f"the source {shown} holds {column!r} in a type that cannot be counted",
                fix="store the column as text, number, boolean, date, timestamp or enum",
            )
    return kinds


def require_kinds(found: Mapping[str, FoundColumn], person_column: str | None, shown: str) -> None:
    """Refuse a person column in which one person may be written in two ways.

    So are 7 and 7.0 in exact decimals and floats, and Anna and ANNA in citext or under a
    collation that does not compare bytes.
    """
    if person_column is None:
        return
    column = found[person_column]
    if column.type in FLOAT | EXACT | {"citext"} or not column.compares_bytes:
        raise SourceError(
            f"the source {shown} does not hold {person_column!r} as whole numbers, or as text",
            why="one person written in two ways would count as two",
            fix="store the column as whole number or text, compared by its bytes",
        )


def selected(table: str, kinds: Mapping[str, ColumnKind], numbers: Mapping[str, str]) -> str:
    """The statement that reads the columns: each by its name, and as a number by the other."""
    parts = [f"{kind.expression} AS {quoted(column)}" for column, kind in kinds.items()]
    parts += [
        f"{kind.number} AS {quoted(numbers[column])}"
        for column, kind in kinds.items()
        if kind.number is not None
    ]
    return f"SELECT {', '.join(parts)} FROM {table}"


def constant_rows(codes: Mapping[Key, int]) -> str:
    """The statement of a table with the columns `key`, compared by its bytes, and `code`."""
    kind = {"string": "text", "int64": "bigint", "float64": "double precision"}[key_kind(codes)]
    collation = ' COLLATE "C"' if kind == "text" else ""
    keys = ", ".join(_constant(str(key)) for key in codes)
    numbers = ", ".join(str(int(code)) for code in codes.values())
    return (
        f"SELECT level.key{collation} AS key, level.code FROM "
        f"unnest(ARRAY[{keys}]::{kind}[], ARRAY[{numbers}]::integer[]) AS level (key, code)"
    )


def _constant(text: str) -> str:
    """A text as SQL writes it where backslashes mean themselves (`SESSION`)."""
    return "'" + text.replace("'", "''") + "'"


def _exact_number(name: str, text: str) -> str:
    """An exact decimal of ordinary size directly, any other by its text."""
    ordinary = (
        f"scale({name}) <= {NUMBER_CHARACTERS // 2} AND abs({name}) < 1e300 "
        f"AND (abs({name}) > 1e-300 OR {name} = 0)"
    )
    return f"CASE WHEN {ordinary} THEN {name}::double precision ELSE {_number(text)} END"


def _number(text: str) -> str:
    sign = f"CASE WHEN {text} ~ '-' THEN '-Infinity' ELSE 'Infinity' END::double precision"
    signed = f"CASE WHEN {text} ~ '^[^eE]*-' THEN '-Infinity' ELSE 'Infinity' END::double precision"
    exact = f"btrim({text}, E' \\t\\n\\v\\f\\r')::numeric"
    return f"""CASE
WHEN {text} IS NULL OR length({text}) > {NUMBER_CHARACTERS} THEN NULL
WHEN {text} ~ '{DECIMAL}' THEN CASE
    WHEN {text} !~ '^[^eE]*[1-9]' OR {text} ~ '{SMALL_EXPONENT}' THEN 0
    WHEN {text} ~ '{LARGE_EXPONENT}' OR abs({exact}) >= {INFINITE_FROM} THEN {signed}
    WHEN abs({exact}) <= {ZERO_UP_TO} THEN 0
    ELSE {exact}::double precision END
WHEN {text} ~* '{INFINITE}' THEN {sign}
END"""
