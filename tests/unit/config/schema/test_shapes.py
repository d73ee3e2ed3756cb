"""The JSON Schema: valid, closed, described, and with defaults that the loader uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jsonschema
import pytest

from synth.config import json_schema
from synth.config.config import CONFIGURATION
from synth.config.schema.problems import Report
from synth.config.schema.shapes import Record
from synth.config.schema.yaml_tree import from_json

NODES = ("properties", "items", "anyOf", "oneOf", "allOf", "additionalProperties")


def nodes(schema: dict[str, Any], path: str = "$") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every schema node with its place."""
    yield path, schema
    for word in NODES:
        inner = schema.get(word)
        if word == "properties" and isinstance(inner, dict):
            for name, node in inner.items():
                yield from nodes(node, f"{path}.{name}")
        elif isinstance(inner, dict):
            yield from nodes(inner, f"{path}/{word}")
        elif isinstance(inner, list):
            for index, node in enumerate(inner):
                yield from nodes(node, f"{path}/{word}[{index}]")


ALL = dict(nodes(json_schema()))


def test_it_is_a_schema_of_the_declared_draft() -> None:
    assert json_schema()["$schema"].endswith("2020-12/schema")
    jsonschema.Draft202012Validator.check_schema(json_schema())


@pytest.mark.parametrize("path", ALL)
def test_every_node_is_described(path: str) -> None:
    assert ALL[path]["description"].strip()


@pytest.mark.parametrize("path", [path for path, node in ALL.items() if "properties" in node])
def test_every_record_is_closed(path: str) -> None:
    assert ALL[path]["additionalProperties"] is False
    assert set(ALL[path]["required"]) <= set(ALL[path]["properties"])


def records(shape: Any) -> Iterator[Record]:
    """Every record below a shape."""
    if isinstance(shape, Record):
        yield shape
        for key in shape.keys:
            yield from records(key.shape)
    for part in ("item", "value", "single", "several", "record"):
        inner = getattr(shape, part, None)
        if inner is not None and not isinstance(inner, str | int):
            yield from records(inner)
    for record in getattr(shape, "records", {}).values():
        yield from records(record)


def test_every_default_is_a_value_that_the_loader_would_read() -> None:
    keys = [key for found in records(CONFIGURATION) for key in found.keys if not key.required]
    with_default = [
        key for key in keys if not key.required and not key.shape.is_absent(key.default)
    ]
    assert len(with_default) >= 10
    for key in with_default:
        report = Report()
        value = key.shape.read(from_json(key.shape.plain(key.default)), (key.name,), report)
        assert report.problems() == ()
        assert value == key.default
