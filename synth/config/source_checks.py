"""The rules that relate the keys of the source."""

from __future__ import annotations

from typing import Any

from synth.config.problems import Report, quoted
from synth.config.scalars import Invalid
from synth.config.source_keys import DIALECT, PLACES, POSTGRESQL, SPARK_TABLE
from synth.config.source_kind import PARQUET_FILES

MOST_NAME_BYTES = 63
"""Of the name of a table or a schema, in PostgreSQL as it is built."""


def check_source(values: dict[str, Any], report: Report) -> None:
    """The source is in one place, and every key concerns it."""
    source = values["source"]
    if isinstance(source, Invalid):
        return
    check_disposal(source, report)
    check_dialect(source, report)
    check_header(values, report)
    if report.public:
        _check_kind(source, report)
    else:
        _check_place(source, report)


def _check_kind(source: dict[str, Any], report: Report) -> None:
    """What a manifest names of a table is there; all else its normal form settles."""
    needed = {POSTGRESQL: "table", SPARK_TABLE: "spark"}.get(source["kind"])
    if needed is not None and source[needed] is None:
        report.add(("source", needed), found="nothing", expected="the table of the source")
    spark = source["spark"]
    if isinstance(spark, dict) and PARQUET_FILES.fullmatch(str(spark["table"])):
        report.add(("source", "spark", "table"), expected="a table, not the address of files")


def _check_place(source: dict[str, Any], report: Report) -> None:
    places = [key for key in PLACES if report.is_written(("source", key))]
    if len(places) > 1:
        report.add(
            ("source", places[1]),
            found=" and ".join(f"`{key}`" for key in places),
            expected="one of them",
            why="all records of a release come from one place",
        )
        return
    place = places[0] if places else "path"
    if place == "url" and source["table"] is None:
        report.add(("source", "table"), found="nothing", expected="the table of the database")
    if place == "url" and isinstance(source["table"], str):
        _check_lengths(source["table"], report)
    if place != "url" and report.is_written(("source", "table")):
        report.add(
            ("source", "table"),
            found="the key `table`",
            expected="`table` beside `url` alone",
            fix="write spark: {table: ...} for a table of Spark" if place == "spark" else "",
        )
    if place != "url" and report.is_written(("source", "view_reason")):
        report.add(
            ("source", "view_reason"),
            found="the key `view_reason`",
            expected="it beside `url` alone",
        )
    if place == "path":
        return
    if source["disposal"] == "delete":
        report.add(
            ("source", "disposal"),
            expected="keep, because only files can be deleted",
            why="synth never changes a database; its keeper deletes what is to go",
            fix="write disposal: keep, with a disposal_reason that says what becomes of the table",
        )
    for key in DIALECT:
        if report.is_written(("source", key)):
            report.add(
                ("source", key), found=f"the key `{key}`", expected="it beside `path` alone",
                why="it says how a CSV file is written",
            )  # fmt: skip


def _check_lengths(table: str, report: Report) -> None:
    """No name that PostgreSQL would cut: with {period} filled in, two could become one."""
    if any(len(part.encode()) > MOST_NAME_BYTES for part in table.split(".")):
        report.add(
            ("source", "table"),
            expected=f"names of at most {MOST_NAME_BYTES} bytes",
            why="PostgreSQL cuts longer names, so that two of them could mean one table",
        )


def check_disposal(source: dict[str, Any], report: Report) -> None:
    """A source that is kept needs a reason."""
    if source["disposal"] == "keep" and source["disposal_reason"] is None:
        report.add(
            ("source", "disposal_reason"),
            found="nothing",
            expected="a reason, because the source is kept",
            why="the release promises that raw data go, or says why they stay",
            fix="add `disposal_reason`, or write disposal: delete",
        )


def check_header(values: dict[str, Any], report: Report) -> None:
    """The list of columns names each once, and all that are counted."""
    header = values["source"].get("header")
    if not isinstance(header, list):
        return
    names = [name for name in header if isinstance(name, str)]
    twice = next((place for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        report.add(("source", "header", twice), expected="every name once")
        return
    for name in _counted_columns(values):
        if name not in names:
            report.add(
                ("source", "header"), found=f"no column {quoted(name)}",
                expected="the name of every column of the file, in their order",
                why="the list stands for the first line of the file, and this column is counted",
            )  # fmt: skip


def _counted_columns(values: dict[str, Any]) -> list[str]:
    """The columns of the domain and that of the persons, as far as they were read."""
    found: list[Any] = []
    if isinstance(values.get("domain"), list):
        found = [each.get("name") for each in values["domain"] if isinstance(each, dict)]
    privacy = values.get("privacy")
    unit = privacy.get("unit") if isinstance(privacy, dict) else None
    found += [unit.get("column")] if isinstance(unit, dict) else []
    return [name for name in dict.fromkeys(found) if isinstance(name, str)]


def check_dialect(source: dict[str, Any], report: Report) -> None:
    """The characters of the dialect differ where they must."""
    delimiter = source.get("delimiter")
    for name in ("quote", "escape"):
        if isinstance(delimiter, str) and source.get(name) == delimiter:
            report.add(("source", name), expected="another character than the delimiter")
            return
    if source.get("quote") == "" and source.get("decimal") == delimiter:
        report.add(
            ("source", "decimal"),
            expected="another mark than the delimiter, because there are no quotes",
            why="a number with that mark would be two fields",
        )
