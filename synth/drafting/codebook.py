"""A draft from a public codebook: a Frictionless data package or table schema; opens no data."""

from __future__ import annotations

import json
from datetime import date
from fractions import Fraction
from pathlib import Path
from typing import Any

from synth.config.edges import MAX_LEVELS
from synth.config.loader import MAX_BYTES
from synth.config.schema.scalars import decimal
from synth.domain import format_number
from synth.drafting.column import (
    MOST_BINS,
    RESERVED,
    RESOLUTIONS,
    UNPUBLISHABLE,
    DraftColumn,
    Entry,
    Number,
    Numbers,
    labels_of,
    number_edges,
    publishable,
    round_width,
)
from synth.errors import ConfigError, Problem

DATES, NO_DATES = ("date", "datetime", "yearmonth"), ("time", "duration")
NOT_COUNTED = ("object", "array", "list", "geopoint", "geojson")


def from_codebook(path: Path, *, resource: str | None = None) -> tuple[DraftColumn, ...]:
    """The columns of a `datapackage.json`, or of a table schema with `fields`.

    What the codebook says is confirmed, with the codebook as its source; what it lacks is not.
    Ensures: no data file that it names is opened.
    Raises: ConfigError if it is no such file, or describes several tables and none is chosen.
    """
    schema = _schema(path, resource)
    return tuple(
        _column(field, schema, f"codebook {path.name} (field {field['name']})")
        for field in schema["fields"]
    )


def _schema(path: Path, resource: str | None) -> dict[str, Any]:
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
        if len(content) > MAX_BYTES:
            raise _refused(path, "a larger file", f"at most {MAX_BYTES:,} bytes")
        package = json.loads(content)
    except OSError as error:
        raise _refused(
            path, f"a file that cannot be read ({error.strerror})", "a file",
            fix="name a Frictionless data package or table schema that this user may read",
        ) from None  # fmt: skip
    except (ValueError, RecursionError):
        raise _refused(
            path, "text that is no JSON", "a datapackage.json", fix="write it as JSON in UTF-8"
        ) from None
    schema = package
    if isinstance(package, dict) and isinstance(package.get("resources"), list):
        tables = [
            part
            for part in package["resources"]
            if isinstance(part, dict) and isinstance(part.get("schema"), dict)
        ]
        schema = _chosen(path, tables, resource)["schema"]
    elif resource is not None:
        raise _refused(path, "no list `resources`", "one, because a resource was named")
    fields = schema.get("fields") if isinstance(schema, dict) else None
    named = isinstance(fields, list) and all(
        isinstance(field, dict) and isinstance(field.get("name"), str) for field in fields
    )
    if not fields or not named:
        raise _refused(
            path, "no list of named fields", "a schema with `fields`, each with a name",
            fix='write {"fields": [{"name": "age", "type": "integer"}]}, or name another file',
        )  # fmt: skip
    return dict(schema)


def _chosen(path: Path, tables: list[dict[str, Any]], resource: str | None) -> dict[str, Any]:
    """The table that was named, or that all of them agree on."""
    names = [str(table.get("name", "")) for table in tables]
    if resource is not None:
        tables = [table for table in tables if table.get("name") == resource]
    if tables and all(table["schema"] == tables[0]["schema"] for table in tables):
        return tables[0]
    raise _refused(
        path,
        f"{len(tables)} such tables",
        "one table with a schema, chosen with --resource",
        fix=f"the tables with a schema are: {', '.join(names)}"
        if names
        else "write the schema into the file; one that it only names is not opened",
    )


def _refused(path: Path, found: str, expected: str, *, fix: str = "") -> ConfigError:
    return ConfigError(path.name, [Problem(None, "the file", found, expected, fix=fix)])


def _column(field: dict[str, Any], schema: dict[str, Any], source: str) -> DraftColumn:
    name, kind = field["name"], field.get("type", "string")
    written = field.get("missingValues", schema.get("missingValues", [""]))
    missing = tuple(_texts(written))
    limits = field.get("constraints")
    limits = limits if isinstance(limits, dict) else {}
    if kind in NOT_COUNTED:
        return DraftColumn(name, left_out=f"the type {kind} is no level and no number")
    levels = _texts(limits.get("enum") or field.get("categories") or [])
    is_bounded = not limits.get("enum") and {"minimum", "maximum"} <= limits.keys()
    if kind in NO_DATES and not levels:
        return DraftColumn(
            name, left_out="times of day and durations: show them as a number in a view or a copy"
        )
    advice: tuple[str, ...] = ()
    if kind in DATES and not levels:
        entries = _date(field, kind, limits)
        words = missing if not limits.get("required") else ()
        rule = "missing" if words else "clamp"
        advice = (RESOLUTIONS,)
    elif kind in ("integer", "year", "number") and (is_bounded or not levels):
        entries = _integer(limits) if kind != "number" else _number(limits)
        words = missing if not limits.get("required") else ()
        rule = "clamp"
    else:
        if kind == "boolean" and not levels:
            true, false = _texts(field.get("trueValues", [])), _texts(field.get("falseValues", []))
            known = len(true) == len(false) == 1
            entries = [Entry("levels", (*true, *false) if known else ("true", "false"), known)]
        else:
            can_be_published = all(map(publishable, levels)) and not RESERVED & set(levels)
            known = bool(levels) and can_be_published
            entries = [Entry("levels", tuple(dict.fromkeys(levels)), known)]
            advice = () if can_be_published else (UNPUBLISHABLE,)
        entries.insert(0, Entry("type", "categorical", confirmed=True))
        listed = set(levels)
        words = tuple(word for word in missing if word not in listed) or ("",)
        rule = "missing"
    if words:
        entries.append(Entry("missing", tuple(dict.fromkeys(words)), confirmed=True))
    entries.append(Entry("out_of_domain", rule, confirmed=True))
    labels, of_labels = labels_of(_labels(field, written), levels, words)
    if labels is not None:
        entries.append(Entry("labels", labels, confirmed=True))
    for key in ("title", "description"):
        text = field.get(key)
        if isinstance(text, str) and text.strip():
            entries.append(Entry(key, " ".join(text.split()), confirmed=True))
    return DraftColumn(
        name, (*entries, Entry("source", source, confirmed=True)), advice + of_labels
    )


def _labels(field: dict[str, Any], missing: Any) -> list[tuple[str, str]]:
    """What values mean: from {value, label}, or the map `enumLabels` of older codebooks."""
    of_map = field.get("enumLabels")
    pairs = list(of_map.items()) if isinstance(of_map, dict) else []
    for listed in (field.get("categories"), missing):
        every = listed if isinstance(listed, list) else []
        objects = [each for each in every if isinstance(each, dict)]
        pairs += [(value, each.get("label")) for each in objects for value in _texts([each])]
    return [(value, label) for value, label in pairs if isinstance(label, str)]


def _integer(limits: dict[str, Any]) -> list[Entry]:
    entries = [Entry("type", "integer", confirmed=True)]
    for key in ("minimum", "maximum"):
        value = _exact(limits.get(key))
        known = value is not None and value.denominator == 1
        entries.append(Entry(key, Number(str(value)) if known else None, confirmed=known))
    low, high = _exact(limits.get("minimum")), _exact(limits.get("maximum"))
    if low is not None and high is not None and high - low >= MAX_LEVELS:
        width = round_width(high - low, bins=MOST_BINS)
        entries.append(Entry("bin_width", Number(format_number(width))))
    return entries


def _date(field: dict[str, Any], kind: str, limits: dict[str, Any]) -> list[Entry]:
    """Periods between the bounds of the codebook: days, if these are not too many."""
    first, last = (_day(limits.get(key), kind) for key in ("minimum", "maximum"))
    length = 7 if kind == "yearmonth" else 10
    if first and last and (last - first).days >= MAX_LEVELS:
        length = 7 if (last - first).days // 28 < MAX_LEVELS else 4
    entries = [Entry("type", "datetime" if kind == "datetime" else "date", confirmed=True)]
    for key, day in (("first", first), ("last", last)):
        value = None if day is None else Number(day.isoformat()[:length])
        entries.append(Entry(key, value, confirmed=value is not None))
    resolution = {10: "day", 7: "month", 4: "year"}[length]
    entries.append(Entry("resolution", resolution, confirmed=kind == "yearmonth"))
    form = field.get("format")
    if isinstance(form, str) and "%" in form:
        entries.append(Entry("format", form, confirmed=True))
    return entries


def _day(bound: Any, kind: str) -> date | None:
    """The day that a codebook states in ISO 8601; None for what is none."""
    if not isinstance(bound, str):
        return None
    try:
        return date.fromisoformat(f"{bound[:7]}-01" if kind == "yearmonth" else bound[:10])
    except ValueError:
        return None


def _number(limits: dict[str, Any]) -> list[Entry]:
    """Edges between the bounds of the codebook, to be confirmed; without these none."""
    low, high = _exact(limits.get("minimum")), _exact(limits.get("maximum"))
    entries = [Entry("type", "number", confirmed=True)]
    if low is None or high is None or low >= high:
        return [*entries, Entry("edges", None)]
    inner = [edge for edge in number_edges(low, high) if low < edge < high]
    texts = tuple(map(format_number, (low, *inner, high)))
    return [*entries, Entry("edges", Numbers(texts))]


def _exact(value: Any) -> Fraction | None:
    """The number that a codebook states, exactly as it is written; None for what is beyond use."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    return decimal(str(value))


def _texts(values: Any) -> list[str]:
    """The levels or words of a codebook; newer ones state {value, label}."""
    if not isinstance(values, list):
        return []
    plain = [value.get("value") if isinstance(value, dict) else value for value in values]
    return [
        str(value).lower() if isinstance(value, bool) else str(value)
        for value in plain
        if isinstance(value, str | int | float)
    ]
