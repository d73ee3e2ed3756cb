"""Loading: a file, or the public form in a manifest, to a Config or every problem at once."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal

from synth.config.config import CONFIGURATION, Config, build
from synth.config.guarantee import EPSILON
from synth.config.schema.problems import Refused, Report, quoted
from synth.config.schema.yaml_tree import (
    Entry,
    ListNode,
    MapNode,
    Node,
    TextNode,
    Unconfirmed,
    UnreadableTextError,
    from_json,
    parse,
)
from synth.config.source_files import FILE_KINDS, PACKINGS, FrameSource
from synth.errors import ConfigError, Problem

MAX_BYTES = 2**22

PERIOD_PATTERN = r"[a-z0-9-]{1,40}"

_NAMES = "|".join(
    re.escape(ending) for endings in FILE_KINDS.values() for ending in endings if ending != ".txt"
)
_PACKED = "|".join(map(re.escape, PACKINGS))
DATA_FILE = rf"(?i)(?:(?:{_NAMES})(?:{_PACKED})?|{_PACKED})$"
"""Names of files that are data, never a configuration: not opened."""

Given = str | os.PathLike[str] | Mapping[str, Any] | Config
"""A configuration: the path of its file, its keys and values, or accepted already."""

IN_MEMORY_SOURCE = {
    "frame": True,
    "disposal": "keep",
    "disposal_reason": "The table was in the memory of the program that published it, which keeps "
    "or forgets it.",
}
"""The section `source`, where it is left out because a table is handed over."""

IN_MEMORY = "the configuration"
"""What messages call one that came from no file."""

_LATE_PERIOD = Problem(
    None,
    "--period",
    "a period for a configuration that was accepted without it",
    "the period where the configuration is loaded",
    fix="write load_config(..., period=...)",
)


WithoutPeriod = Literal["refuse", "first", "any"]


def load_config(
    config: Given,
    *,
    period: str | None = None,
    in_memory: bool = False,
    without_period: WithoutPeriod = "refuse",
) -> Config:
    """Check and freeze a configuration: that of a file, or one whose keys stand in a mapping.

    Paths are relative to the directory of the file, or to the current one. One that was accepted
    before is given back. With `in_memory` the records are a table that is handed over, and the
    section `source` says so, or is left out. Where {period} is asked for and none is given,
    `first` takes the first of the series if there is one; `any` as well, and without a series
    leaves {period} in the names of release and source: nothing can be measured then.

    Ensures: opens no data; numbers are exact; paths are absolute.
    Raises: ConfigError with every problem of the file, in the order of its lines.
    Example: `load_config("configs/adult.yaml").universe.size` is 120960.
    """
    if isinstance(config, Config):
        if period not in (None, config.period):
            raise ConfigError(config.name, [_LATE_PERIOD])
        return _with_source_in_memory(config) if in_memory else config
    name = IN_MEMORY if isinstance(config, Mapping) else os.fspath(config)
    if period is not None and not re.fullmatch(PERIOD_PATTERN, period):
        expected = "small letters a-z, digits and hyphens, at most 40"
        raise ConfigError(name, [Problem(None, "--period", quoted(period), expected)])
    if isinstance(config, Mapping):
        node = _tree_of_values(config, name)
        report = _report(node, [], Path.cwd(), period, without_period)
        return _accepted(node, report, name, in_memory=in_memory)
    problems: list[Problem] = []
    if re.search(DATA_FILE, name):
        raise ConfigError(name, [_no_mapping("a data file, by its name")])
    node = read_tree(config, problems)
    unconfirmed = [problem for problem in problems if isinstance(problem, Unconfirmed)]
    if unconfirmed:  # and nothing else, because other messages quote values, which may be private
        raise ConfigError(name, unconfirmed)
    if not isinstance(node, MapNode) and not (isinstance(node, TextNode) and node.broken):
        kind = "a list" if isinstance(node, ListNode) else "text"
        raise ConfigError(name, [*problems, _no_mapping(f"{kind} that is no YAML mapping")])
    base = Path(os.path.abspath(config)).parent  # noqa: PTH100 - keeps symbolic links
    report = _report(node, problems, base, period, without_period)
    return _accepted(node, report, name, in_memory=in_memory)


def _report(
    node: Node,
    problems: list[Problem],
    base: Path,
    period: str | None,
    without_period: WithoutPeriod,
) -> Report:
    """An empty report that knows what {period} stands for."""
    if period is None and without_period != "refuse":
        period = _first_period(node)
    keeps_period = without_period == "any"
    return Report(problems, base=base, period=period, keeps_period=keeps_period)


def _first_period(node: Node) -> str | None:
    """The first period of the series as it is written, if there is one and it can be."""
    for key in ("series", "first"):
        entries = node.entries if isinstance(node, MapNode) else ()
        node = next((entry.value for entry in entries if entry.key == key), TextNode("", None))
    text = node.text.lower() if isinstance(node, TextNode) else ""
    return text if re.fullmatch(PERIOD_PATTERN, text) else None


def _accepted(node: Node, report: Report, name: str, *, in_memory: bool) -> Config:
    if not in_memory:
        return _built(node, report, name)
    if isinstance(node, MapNode) and all(entry.key != "source" for entry in node.entries):
        source = Entry("source", None, from_json(IN_MEMORY_SOURCE))
        node = MapNode((*node.entries, source), node.line)
    return _with_source_in_memory(_built(node, report, name))


def _with_source_in_memory(config: Config) -> Config:
    """The configuration, if its records come from a program; raises ConfigError if not."""
    if isinstance(config.source, FrameSource):
        return config
    problem = Problem(
        None,
        "source",
        "another place of the records",
        "frame: true, because a table was handed over",
        why="the release says where its records come from, and they come from one place",
        fix="leave `source` out, or write {frame: true, disposal: keep, disposal_reason: ...}",
    )
    raise ConfigError(config.name, [problem])


def _tree_of_values(values: Mapping[str, Any], name: str) -> Node:
    try:
        return from_json(values)
    except RecursionError:
        raise ConfigError(name, [Problem(None, "", "deep nesting", "a configuration")]) from None


def _built(node: Node, report: Report, name: str) -> Config:
    config = None
    with suppress(Refused):
        config = build(CONFIGURATION.read_keys(node, (), report), report, name=name)
    if config is None:
        raise ConfigError(name, report.problems())
    return config


def read_tree(path: str | os.PathLike[str], problems: list[Problem]) -> Node:
    """The tree of a YAML file; what is wrong but readable is added to `problems`.

    Raises: ConfigError if the file cannot be read, or is no single YAML document.
    """
    try:
        return parse(_read_text(Path(path)), problems)
    except UnreadableTextError as error:
        raise ConfigError(os.fspath(path), [*problems, error.problem]) from None


def read_text(path: str | os.PathLike[str]) -> str:
    """The text of a configuration file. Raises: ConfigError if it cannot be read."""
    try:
        return _read_text(Path(path))
    except UnreadableTextError as error:
        raise ConfigError(os.fspath(path), [error.problem]) from None


def find_problems(text: str, *, base: Path) -> tuple[Problem, ...]:
    """Every problem of a configuration that is given as text, with some period if it asks for one.

    `base` is the directory that files are relative to. Ensures: opens no file.
    """
    problems: list[Problem] = []
    try:
        node = parse(text, problems)
    except UnreadableTextError as error:
        return (*problems, error.problem)
    period = "2000" if re.search(r"^ +id:.*\{period\}", text, re.MULTILINE) else None
    period = _first_period(node) or period
    try:
        _built(node, Report(problems, base=base, period=period), "")
    except ConfigError as error:
        return error.problems
    return ()


def _no_mapping(found: str) -> Problem:
    """The problem of a file that is no configuration at all; quotes nothing, it may be data."""
    return Problem(
        None,
        "the file",
        found,
        "a YAML mapping with the keys " + ", ".join(key.name for key in CONFIGURATION.keys),
        fix="give the configuration here; it names the data under `source.path`",
    )


def config_from_public(public: Mapping[str, Any]) -> Config:
    """The Config that a manifest records: all but the paths of the curator's machine.

    Ensures: the result's `public` equals the argument.
    Raises: ConfigError if the argument breaks any rule of a configuration file, or is not in
    the normal form that `Config.public` has.
    """
    name = "the configuration in the manifest"
    node = _tree_of_values(public, name)
    config = _built(node, Report(public=True), name)
    different = [key for key in config.public if config.public[key] != public.get(key)]
    if different or not _same_types(config.public, public):
        found = ", ".join(different) or "types of values"
        problem = Problem(None, "the file", f"another spelling: {found}", "the normal form")
        raise ConfigError(name, [problem])
    return config


def _same_types(left: Any, right: Any) -> bool:
    """Whether equal JSON values are also of equal types (1, 1.0 and true are equal in Python)."""
    if isinstance(left, dict):
        return isinstance(right, Mapping) and all(_same_types(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return isinstance(right, list) and all(map(_same_types, left, right))
    return type(left) is type(right)


def parse_epsilon(text: str) -> Fraction:
    """The exact budget that a text names, by the rules of `privacy.epsilon`.

    Raises: ConfigError if it names none.
    """
    report = Report()
    node = TextNode(text.strip(), None)
    report.place(("epsilon",), node, None)
    if not text.strip():
        report.add(
            ("epsilon",),
            found="nothing",
            expected=EPSILON.expected,
            why="a comma at an end, or two in a row, leave a place empty",
            fix="write one comma between budgets: 0.5,1,2",
        )
        raise ConfigError("--epsilon", report.problems())
    try:
        return EPSILON.read(node, ("epsilon",), report)
    except Refused:
        raise ConfigError("--epsilon", report.problems()) from None


def _read_text(path: Path) -> str:
    """The text of the file. Raises: UnreadableTextError."""
    try:
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UnreadableTextError(_file_problem(error)) from None
    if len(content) > MAX_BYTES:
        limit = f"at most {MAX_BYTES:,} bytes"
        raise UnreadableTextError(Problem(None, "the file", "a larger file", limit))
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise UnreadableTextError(
            Problem(
                line,
                "the file",
                f"the byte 0x{content[error.start]:02X}",
                "text in UTF-8",
                fix="save the file as UTF-8",
            )
        ) from None


def _file_problem(error: OSError | ValueError) -> Problem:
    if isinstance(error, FileNotFoundError):
        found, fix = "no such file", "check the path"
    elif isinstance(error, IsADirectoryError):
        found, fix = "a directory", "name the YAML file in it"
    elif isinstance(error, PermissionError):
        found, fix = "a file that may not be read", "check its permissions"
    else:
        found, fix = "a file that cannot be read", "check the path"
    return Problem(None, "the file", found, "a readable YAML file", fix=fix)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) for editors.

    Ensures: refuses no file that `load_config` accepts, whether an editor types plain text by
    YAML 1.1 or 1.2. Rules that relate several values, or that concern the text of a value
    before it was typed, are the loader's alone.
    """
    return CONFIGURATION.document("configuration")
