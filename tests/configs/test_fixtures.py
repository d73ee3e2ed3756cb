"""Good and bad configurations: what the loader says of each, and whether the schema agrees.

Each bad file has one problem. Its first line is a comment that gives the line, the path and a
phrase of the message, `# line 7: domain[0] "age" → edges: strictly increasing`; its name is that
phrase in small letters and hyphens. A second line `# --period 2020` is the period that it is read
with. In `structure/` the schema refuses the file too. In
`meaning/` it cannot, because the rule relates several values or concerns the text of a value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from synth.config import json_schema, load_config
from synth.errors import ConfigError

HERE = Path(__file__).parent
GOOD = sorted((HERE / "good").glob("*.yaml"))
STRUCTURE = sorted((HERE / "bad" / "structure").glob("*.yaml"))
MEANING = sorted((HERE / "bad" / "meaning").glob("*.yaml"))
VALIDATOR = jsonschema.Draft202012Validator(json_schema())


def _resolvers(rules: list[tuple[str, str, str]]) -> dict[str, list[tuple[str, re.Pattern[str]]]]:
    table: dict[str, list[tuple[str, re.Pattern[str]]]] = {}
    for tag, pattern, starts in rules:
        for start in starts or [""]:
            entry = (f"tag:yaml.org,2002:{tag}", re.compile(pattern))
            table.setdefault(start, []).append(entry)
    return table


class Yaml11(yaml.CSafeLoader):
    """Types as YAML 1.1 has them (`yes` is true, `012` is ten), without dates and merges."""

    yaml_implicit_resolvers = {  # noqa: RUF012
        start: [(tag, rule) for tag, rule in rules if tag.split(":")[-1] in SCALARS]
        for SCALARS in [("bool", "int", "float", "null")]
        for start, rules in yaml.CSafeLoader.yaml_implicit_resolvers.items()
    }


class Yaml12(yaml.CSafeLoader):
    """Types as the core schema of YAML 1.2 has them."""

    yaml_implicit_resolvers = _resolvers(
        [
            ("null", r"^(?:~|null|Null|NULL|)$", "~nN"),
            ("null", r"^$", ""),
            ("bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
            ("int", r"^[-+]?[0-9]+$", "-+0123456789"),
            (
                "float",
                r"^(?:[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?"
                r"|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN))$",
                "-+.0123456789",
            ),
        ]
    )


def _construct_decimal_int(loader: Yaml12, node: yaml.ScalarNode) -> int:
    return int(loader.construct_scalar(node))


Yaml12.add_constructor("tag:yaml.org,2002:int", _construct_decimal_int)
EDITORS = {"YAML 1.1": Yaml11, "YAML 1.2": Yaml12}


def _schema_refuses(path: Path, loader: type[yaml.CSafeLoader]) -> bool:
    """Whether an editor would mark the file: no YAML, or against the schema."""
    try:
        typed = yaml.load(path.read_text(encoding="utf-8"), Loader=loader)
    except yaml.YAMLError:
        return True
    return not VALIDATOR.is_valid(typed)


def _period_of(path: Path) -> str | None:
    return "2020-q1" if "{period}" in path.read_text(encoding="utf-8") else None


def _period_given(path: Path) -> str | None:
    """The period that a bad file is read with: it is wrong even so."""
    given = re.match(r"#.*\n# --period (\S+)\n", path.read_text(encoding="utf-8"))
    return None if given is None else given[1]


def _slug(phrase: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", phrase.lower()).strip("-")[:80].strip("-")


def _flat(value: Any) -> str:
    return re.sub(r"\s+", " ", str(value)).strip()


def _name(path: Path) -> str:
    return path.stem


def test_there_are_enough_fixtures() -> None:
    assert len(GOOD) >= 6
    assert len(STRUCTURE) >= 45
    assert len(MEANING) >= 30


@pytest.mark.parametrize("path", GOOD, ids=_name)
def test_the_loader_accepts_a_good_file(path: Path) -> None:
    config = load_config(path, period=_period_of(path))
    assert config.universe.size > 0


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("path", GOOD, ids=_name)
def test_the_schema_accepts_a_good_file(path: Path, editor: str) -> None:
    typed = yaml.load(path.read_text(encoding="utf-8"), Loader=EDITORS[editor])
    VALIDATOR.validate(typed)


@pytest.mark.parametrize("path", STRUCTURE + MEANING, ids=_name)
def test_a_bad_file_gives_the_message_of_its_name_at_the_line_of_its_key(path: Path) -> None:
    first = path.read_text(encoding="utf-8").splitlines()[0]
    match = re.fullmatch(r"# (?:line (?P<line>\d+)|no line): (?P<rest>.*)", first)
    assert match is not None
    with pytest.raises(ConfigError) as caught:
        load_config(path, period=_period_given(path))
    (problem,) = caught.value.problems
    assert match["rest"].startswith(f"{problem.path}: ")
    phrase = match["rest"].removeprefix(f"{problem.path}: ")
    assert phrase in _flat(problem)
    assert path.stem == _slug(phrase)
    assert problem.line == (None if match["line"] is None else int(match["line"]))
    assert caught.value.exit_code == 2
    if problem.line is None or problem.path == "YAML":
        return
    line = path.read_text(encoding="utf-8").splitlines()[problem.line - 1]
    steps = re.split(r"[.]| → ", re.sub(r"\[\d+\]( \".*\")?", "", problem.path))
    lacks = "found: nothing" in _flat(problem)
    assert steps[-1] in line or steps[-2:][0] in line or line.strip().startswith("- "), line
    assert lacks or steps[-1] in line or line.strip().startswith("- ")


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("path", STRUCTURE, ids=_name)
def test_the_schema_refuses_bad_structure(path: Path, editor: str) -> None:
    assert _schema_refuses(path, EDITORS[editor])


@pytest.mark.parametrize("editor", EDITORS)
@pytest.mark.parametrize("path", MEANING, ids=_name)
def test_the_schema_accepts_bad_meaning(path: Path, editor: str) -> None:
    assert not _schema_refuses(path, EDITORS[editor])
