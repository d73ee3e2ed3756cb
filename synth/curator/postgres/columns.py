"""Columns of a database as whole numbers, floats and text, by expressions that cannot fail.

A cast of text to a number stops a statement at the first value that is none, so text is matched
with a pattern before it is cast, and held to what a float can be.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from synth.curator.engine import NUMBER_CHARACTERS, Key, key_kind
from synth.curator.postgres.table import FoundColumn, quoted
from synth.errors import SourceError

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
