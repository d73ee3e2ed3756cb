"""`datapackage.json`: a Data Package (Frictionless), with a Table Schema of the CSV file."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from synth.release.contents import CSV, MANIFEST, PARQUET, PARQUET_MEDIA_TYPE
from synth.release.documents.facts import (
    Manifest,
    contact_email,
    data_files,
    full_description,
    guarantee_in_short,
    homepage,
    labelled_columns,
    labelled_tables,
    licence_of,
)

TYPES = {
    "text": "string",
    "boolean": "boolean",
    "date": "date",
    "datetime": "datetime",
    "integer": "integer",
    "number": "number",
}
PERIODS = {"year": "year", "month": "yearmonth"}
"""What the standard knows beside days; a quarter is text."""


def data_package(manifest: Manifest) -> dict[str, Any]:
    """The descriptor: addresses are relative, so that a downloaded folder is read as it is.

    Ensures: a deterministic function of the manifest, in plain JSON values.
    """
    identity, source = manifest["identity"], manifest["source"]
    package: dict[str, Any] = {
        "name": identity["release_id"],
        "title": identity["name"],
        "description": full_description(manifest),
        "version": identity["version"],
        "keywords": identity["keywords"],
        "licenses": [_licence(identity["license"])],
        "contributors": _contributors(manifest),
        "resources": [
            *(_resource(manifest, entry) for entry in data_files(manifest)),
            *(_table(entry) for entry in labelled_tables(manifest)),
        ],
        "privacy": {"guarantee": guarantee_in_short(manifest), "manifest": MANIFEST},
    }
    if (address := homepage(manifest)) is not None:
        package["homepage"] = address
    if (name := source.get("derived_from")) is not None:
        package["sources"] = [{"title": name}]
    return package


def table_schema(manifest: Manifest) -> dict[str, Any]:
    """The Table Schema of the rows: types, categories, bounds, missing values."""
    return {
        "fields": [_field(column) for column in labelled_columns(manifest)],
        "missingValues": [""],
    }


def _field(column: dict[str, Any]) -> dict[str, Any]:
    field: dict[str, Any] = {"name": column["name"], "type": TYPES[column["published_type"]]}
    field |= {key: column[key] for key in ("title", "description") if column[key]}
    constraints: dict[str, Any] = {"required": not column["has_missing"]}
    if column.get("resolution") in PERIODS or column["published_type"] in ("date", "datetime"):
        field["type"] = PERIODS.get(column["resolution"], field["type"])
        if column["published_type"] == "datetime":
            field["format"] = "%Y-%m-%dT%H:%M:%S"
        constraints |= {"minimum": column["edges"][0], "maximum": column["edges"][-1]}
        if field["type"] == "year":
            constraints |= {key: int(constraints[key]) for key in ("minimum", "maximum")}
    elif column["published_type"] == "text":
        labels = column["labels"][: column["codes"] - column["has_missing"]]
        field |= {
            "categories": _categories(labels, column["value_labels"]),
            "categoriesOrdered": column["kind"] != "categorical",
        }
        constraints["enum"] = labels
    elif column["published_type"] == "boolean":
        field |= {"trueValues": ["true"], "falseValues": ["false"]}
    else:
        low, high = Fraction(column["edges"][0]), Fraction(column["edges"][-1])
        constraints |= {"minimum": _at_most(low), "maximum": -_at_most(-high)}
        field |= _numbers_that_mean_something(column)
    return field | {"constraints": constraints}


def _categories(labels: list[str], meanings: dict[str, str]) -> list[Any]:
    """The levels; with what they mean, where that is said of any."""
    if meanings.keys().isdisjoint(labels):
        return list(labels)
    return [_category(label, label, meanings) for label in labels]


def _category(value: str | int, label: str, meanings: dict[str, str]) -> dict[str, Any]:
    return {"value": value} | ({"label": meanings[label]} if label in meanings else {})


def _numbers_that_mean_something(column: dict[str, Any]) -> dict[str, Any]:
    """Whole numbers as categories, where some of them have labels.

    Categories are all values that a field can have: so where some bins are wider the labels are
    in `enumLabels`, which the recipes of the standard know.
    """
    labels = column["labels"][: column["codes"] - column["has_missing"]]
    meanings = column["value_labels"]
    if meanings.keys().isdisjoint(labels):
        return {}
    if any(label.startswith("[") for label in labels):
        return {"enumLabels": {label: meanings[label] for label in labels if label in meanings}}
    categories = [_category(int(label), label, meanings) for label in labels]
    return {"categories": categories, "categoriesOrdered": True}


def _at_most(bound: Fraction) -> int | float:
    """The bound as a JSON number, written in decimals that do not lie above it.

    Rounding: down, so that no published value is outside.
    """
    if bound.denominator == 1:
        return bound.numerator
    number = float(bound)
    return math.nextafter(number, -math.inf) if Fraction(repr(number)) > bound else number


def _resource(manifest: Manifest, entry: dict[str, Any]) -> dict[str, Any]:
    path = entry["path"]
    resource: dict[str, Any] = {
        "name": path.replace(".", "-") if path == PARQUET else path.rpartition(".")[0],
        "path": path,
        "description": entry["role"],
        "mediatype": entry["media_type"],
        "bytes": entry["bytes"],
        "hash": f"sha256:{entry['sha256']}",
    }
    if path == CSV:
        return resource | {
            "type": "table",
            "format": "csv",
            "encoding": "utf-8",
            "dialect": {"delimiter": ",", "quoteChar": '"', "doubleQuote": True, "header": True},
            "schema": table_schema(manifest),
        }
    if entry["media_type"] == PARQUET_MEDIA_TYPE:
        resource |= {"type": "file", "format": "parquet"}
    return resource


def _table(entry: dict[str, Any]) -> dict[str, Any]:
    """A noisy table: labels are text, whatever they look like. Types alone, for there are many."""
    *names, count, error = entry["names"]
    return {
        "name": entry["path"].rpartition(".")[0],
        "path": entry["path"],
        "description": entry["role"],
        "mediatype": entry["media_type"],
        "bytes": entry["bytes"],
        "hash": f"sha256:{entry['sha256']}",
        "type": "table",
        "format": "csv",
        "schema": {
            "fields": [
                *({"name": name, "type": "string"} for name in names),
                {"name": count, "type": "integer"},
                {"name": error, "type": "number"},
            ]
        },
    }


def _licence(written: str) -> dict[str, str]:
    """A licence needs an identifier or an address; else the path is that of the manifest."""
    licence = licence_of(written)
    entry = {"name": licence.written} if licence.is_known else {}
    if licence.address:
        entry["path"] = licence.address
    return (entry or {"path": MANIFEST}) | {"title": licence.title or licence.written}


def _contributors(manifest: Manifest) -> list[dict[str, str]]:
    people = manifest["people"]
    listed = [{"title": name, "role": "author"} for name in people["data_curators"]]
    publisher = {"title": people["publisher"], "role": "publisher"}
    email = contact_email(manifest)
    return [*listed, publisher | ({"email": email} if email else {})]
