"""`docs/configuration.md`: every key is in it, and its examples do what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from synth.config import json_schema, load_config
from synth.config.summary import report_lines
from synth.errors import ConfigError

DOCUMENT = Path(__file__).parents[2] / "docs" / "configuration.md"
TEXT = DOCUMENT.read_text(encoding="utf-8")


def rows(schema: dict[str, Any], path: str = "") -> Iterator[str]:
    """One row of the reference for every key below a schema node."""
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        if name in schema["required"]:
            needed = "required"
        else:
            needed = f"`{written(inner['default'])}`" if "default" in inner else ""
        yield f"| `{here}` | {needed} | {inner['description']} |"
        yield from below(inner, here)


def written(default: Any) -> str:
    """A default as YAML writes it in one line."""
    if isinstance(default, dict):
        return "{" + ", ".join(f"{key}: {written(item)}" for key, item in default.items()) + "}"
    if isinstance(default, list):
        return "[" + ", ".join(map(written, default)) + "]"
    return str(default).lower() if isinstance(default, bool) else str(default)


def below(schema: dict[str, Any], path: str) -> Iterator[str]:
    """The rows of lists, alternatives and records inside a node."""
    yield from rows(schema, path)
    if "items" in schema:
        yield from below(schema["items"], path + "[]")
    kinds: dict[str, list[str]] = {}
    for branch in schema.get("anyOf", []) + schema.get("oneOf", []):
        if "enum" in (kind := branch.get("properties", {}).get("type", {})):
            for row in below(branch, path):
                kinds.setdefault(row, []).append(kind["enum"][0])
        else:
            yield from below(branch, path)
    several = {kind for found in kinds.values() for kind in found}
    for row, found in kinds.items():
        named = path if len(found) == len(several) else f"{path} ({', '.join(found)})"
        yield row.replace(path, named, 1)


def block(mark: str) -> str:
    """The fenced block after a marker comment."""
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w*\n(.*?)```\n", TEXT, re.DOTALL)
    assert found is not None, mark
    return found[1]


def test_the_reference_lists_every_key_in_order() -> None:
    expected = list(dict.fromkeys(rows(json_schema())))
    listed = [line for line in TEXT.splitlines() if re.match(r"\| `[a-z_]+", line)]
    assert listed == expected


def test_the_example_is_accepted_and_gives_the_quoted_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("example.yaml").write_text(block("example.yaml"), encoding="utf-8")
    assert "\n".join(report_lines(load_config("example.yaml"))) + "\n" == block("check")


def test_the_refused_example_gives_the_quoted_problems(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    bad = block("example.yaml")
    for before, after in (
        ("epsilon: 0.5", "epsilom: 0.5"),
        ("[0, 18, 65, 110]", "[0, 65, 18, 110]"),
    ):
        assert before in bad
        bad = bad.replace(before, after)
    Path("example.yaml").write_text(bad, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config("example.yaml")
    assert f"{caught.value}\n" == block("refused")
