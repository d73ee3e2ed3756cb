"""Writes the list of manifest fields in `docs/reference/manifest-fields.md`, below its marker.

    python docs/site/fields.py

Names and words come from the schema itself; a test says when to run this again.
"""

from __future__ import annotations

from itertools import groupby
from pathlib import Path
from typing import Any

from synth.release.manifest.build import LOOK_AND_REPLICATES_VERSION, manifest_schema
from synth.release.manifest.figures import COLUMNS
from synth.release.manifest.schema_terms import Schema

PAGE = Path(__file__).parents[1] / "reference" / "manifest-fields.md"
MARKER = "<!-- fields -->\n"
IN_EVERY_OBJECT = {"basis", "fraction", "decimal"}
"""Explained once, above the marker."""


def field_reference() -> str:
    """Every section with its fields, those that hold others with theirs in brackets.

    What a field means stands in the schema, which lies beside every manifest.
    """
    lines: list[str] = []
    schema = manifest_schema(LOOK_AND_REPLICATES_VERSION)  # it has all fields of the others, too
    for name, section in _plainly(schema, schema["$defs"])["properties"].items():
        fields = _fields(section) if name != "configuration" else {}
        names = ", ".join(f"`{field}`{_inner(node)}" for field, node in fields.items())
        lines += [f"- `{name}`: {names}" if names else f"- `{name}`"]
    lines += ["", "## `quality.parquet`", ""]
    lines += [f"- `{name}` - {words}" for name, (_, words) in COLUMNS.items()]
    return "\n".join([*lines, ""])


def _plainly(node: Any, terms: dict[str, Schema]) -> Any:
    """The schema with every term spelt out where it is meant."""
    if isinstance(node, list):
        return [_plainly(each, terms) for each in node]
    if not isinstance(node, dict):
        return node
    term = terms[node["$ref"].rpartition("/")[2]] if "$ref" in node else {}
    return {key: _plainly(value, terms) for key, value in (term | node).items()}


def _fields(node: Schema) -> dict[str, Schema]:
    """The fields of an object, or of the items of a list; none of a number in two forms."""
    holder = node.get("items", node)
    return {
        name: child
        for name, child in holder.get("properties", {}).items()
        if name not in IN_EVERY_OBJECT
    }


def _inner(node: Schema) -> str:
    names = [
        (" and " if inner else ", ").join(f"`{name}`" for name, _ in fields) + inner
        for inner, fields in groupby(_fields(node).items(), lambda field: _inner(field[1]))
    ]
    return f" ({', '.join(names)})" if names else ""


if __name__ == "__main__":
    head, _ = PAGE.read_text(encoding="utf-8").split(MARKER)
    PAGE.write_text(f"{head}{MARKER}\n{field_reference()}", encoding="utf-8")
