"""The reference of all manifest fields, written from the schema."""

from __future__ import annotations

from collections.abc import Iterator

from synth.release.manifest.build import manifest_schema
from synth.release.manifest.schema_terms import Schema


def field_reference() -> str:
    """A Markdown list of every field with its description; the configuration is left out."""
    schema = manifest_schema()
    lines: list[str] = []
    for name, section in schema["properties"].items():
        lines += [f"### `{name}`", "", section["description"], ""]
        if name != "configuration":
            fields = [f"- `{path}` - {text}" for path, text in _fields(section, "")]
            lines += [*fields, ""] if fields else []
    return "\n".join(lines)


def _fields(node: Schema, path: str) -> Iterator[tuple[str, str]]:
    """Every field below a node, in the order of the schema, as (path, description)."""
    if node["type"] == "array":
        items = node["items"]
        if items["type"] == "object":
            yield from _fields(items, f"{path}[]")
        return
    for name, child in node.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if set(child.get("properties", {})) == {"fraction", "decimal"}:
            yield here, child["description"]
            continue
        if name == "basis":
            yield (
                here,
                "On what the numbers are based: "
                + ", ".join(f"`{value}`" for value in child["enum"]),
            )
            continue
        values = child.get("enum", [])
        listed = f" One of: {', '.join(f'`{value}`' for value in values)}." if values else ""
        yield here, child["description"] + listed
        if child["type"] in ("object", "array"):
            yield from _fields(child, here)
