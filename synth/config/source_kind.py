"""What decides how a source is split into records: the public part of the section `source`.

Where the bytes lie (a path, an address, a cluster) stays with the curator. Which kind of source
they are, which table is counted, why its rows are records and how CSV text is split decide what
is counted, so they are hashed, approved and published.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from synth.config.source_files import is_parquet
from synth.config.source_keys import CSV, DIALECT, PARQUET, POSTGRESQL, SPARK_PARQUET, SPARK_TABLE
from synth.config.types import Dialect

PARQUET_FILES = re.compile(r"parquet\.`([^`]+)`", re.IGNORECASE)
"""How a table of Spark is written that is no table: Parquet files at an address."""


def source_kind(source: Mapping[str, Any]) -> str:
    """The kind of a source, from the keys that say where it is.

    Requires: the source is in exactly one place.
    """
    if source["url"] is not None:
        return POSTGRESQL
    if source["spark"] is not None:
        return SPARK_PARQUET if PARQUET_FILES.fullmatch(source["spark"]["table"]) else SPARK_TABLE
    return PARQUET if is_parquet(Path(source["path"])) else CSV


def source_dialect(source: Mapping[str, Any]) -> Dialect:
    """The dialect of CSV files as it takes effect: without an escape, quotes are doubled."""
    escape = source["quote"] if source["escape"] is None else source["escape"]
    return Dialect(
        delimiter=source["delimiter"],
        quote=source["quote"],
        escape=escape,
        encoding=source["encoding"],
        decimal=source["decimal"],
        header=None if source["header"] is None else tuple(source["header"]),
    )


def public_source(source: Mapping[str, Any]) -> dict[str, Any]:
    """The section in its normal form: the kind, what concerns that kind, and the disposal.

    Ensures: two sections that split the same bytes into the same records are equal here; the
    section of a manifest gives itself.
    """
    kind = source["kind"] if "kind" in source else source_kind(source)
    concerned: dict[str, Any] = {}
    if kind == CSV:
        concerned = asdict(source_dialect(source))
        concerned["escape"] = concerned["escape"] or None
    elif kind == POSTGRESQL:
        concerned = {key: source[key] for key in ("table", "view_reason")}
    elif kind == SPARK_TABLE:
        concerned = {"spark": source["spark"]}
    elsewhere = dict.fromkeys((*DIALECT, "table", "view_reason", "spark"))
    return {**source, **elsewhere, **concerned, "kind": kind}


def records_in_words(source: Mapping[str, Any]) -> str:
    """What the records of a source are, from its public form, after "the records are"."""
    kind = source["kind"]
    if kind == POSTGRESQL:
        return f"the rows of the PostgreSQL table {source['table']}"
    if kind == SPARK_TABLE:
        return f"the rows of the Spark table {source['spark']['table']}"
    if kind == PARQUET:
        return "the rows of Parquet files"
    if kind == SPARK_PARQUET:
        return "the rows of Parquet files, read by Spark"
    delimiter, quote, encoding = source["delimiter"], source["quote"], source["encoding"]
    marks = f"quote {quote!r}" if quote else "no quote"
    marks += f", escape {source['escape']!r}" if source.get("escape") else ""
    marks += f", encoding {encoding}"
    marks += f", decimal mark {source['decimal']!r}" if source["decimal"] != "." else ""
    marks += ", without a line of names" if source.get("header") else ""
    return f"those of CSV files with delimiter {delimiter!r}, {marks}"
