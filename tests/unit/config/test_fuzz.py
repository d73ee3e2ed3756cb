"""Whatever the file holds: a Config, or a ConfigError that points into the file."""

from __future__ import annotations

import random
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import Config, config_from_public, load_config, warnings
from synth.config.summary import report_lines
from synth.errors import ConfigError

GOOD = Path(__file__).parents[2] / "configs" / "good"
TEXTS = [path.read_text(encoding="utf-8") for path in sorted(GOOD.glob("*.yaml"))]
DETERMINISTIC = settings(derandomize=True, deadline=None)


def load(content: bytes, period: str | None = None) -> Config | ConfigError:
    """The outcome of loading; any other exception fails the test."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "config.yaml"
        path.write_bytes(content)
        try:
            return load_config(path, period=period)
        except ConfigError as error:
            return error


def check(outcome: Config | ConfigError, content: bytes) -> None:
    """Every outcome is complete: a refusal with lines of the file, or a usable Config."""
    if isinstance(outcome, ConfigError):
        assert outcome.problems
        assert all(line.isprintable() for line in str(outcome).split("\n"))
        count = content.count(b"\n") + content.count(b"\r") + 2
        assert all(p.line is None or 1 <= p.line <= count for p in outcome.problems)
    else:
        assert config_from_public(outcome.public).public == outcome.public
        assert outcome.universe.size > 0
        assert all(a.unreadable_code < a.size for a in outcome.universe.attributes)
        assert report_lines(outcome)
        assert isinstance(warnings(outcome), tuple)


@settings(DETERMINISTIC, max_examples=80)
@given(st.binary(max_size=200))
def test_any_bytes(content: bytes) -> None:
    check(load(content), content)


@settings(DETERMINISTIC, max_examples=50)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    content = text.encode("utf-8", "surrogatepass")
    check(load(content), content)


PIECES = [
    *(
        "",
        " ",
        "\n",
        "\t",
        "- ",
        ": ",
        "[",
        "]",
        "{",
        "}",
        ",",
        "#",
        "'",
        '"',
        "&a ",
        "*a",
        "!!int ",
    ),
    *("0", "-1", "1e999999", ".nan", "null", "true", "missing", "clamp", "sex", "age", "{period}"),
    *("|\n", "---\n", "? ", "%YAML 1.2\n", "\\", "\ufeff", "\x00", "é", "99999999999999999999"),
]


@settings(DETERMINISTIC, max_examples=120)
@given(st.sampled_from(TEXTS), st.integers(0, 2**32), st.integers(1, 4))
def test_a_good_file_with_slips_of_the_hand(text: str, seed: int, slips: int) -> None:
    """Insert, delete, repeat or swap pieces at random places."""
    hand = random.Random(seed)
    for _ in range(slips):
        at = hand.randrange(len(text) + 1)
        until = min(len(text), at + hand.choice([0, 0, 1, 5, 30]))
        kind = hand.randrange(3)
        middle = text[at:until] * 2 if kind == 0 else hand.choice(PIECES) if kind == 1 else ""
        text = text[:at] + middle + text[until:]
    content = text.encode("utf-8", "surrogatepass")
    check(load(content, hand.choice([None, "2020"])), content)


WORDS = st.sampled_from(
    [
        "sex",
        "age",
        "Male",
        "missing",
        "clamp",
        "categorical",
        "integer",
        "number",
        "record",
        "csv",
        "1",
        "0",
        "-1",
        "0.5",
        "1e-9",
        "1/3",
        "true",
        "auto",
        "dyadic",
        "range",
        "decade",
        "keep",
        "estimated",
        "[0,1)",
    ]
)
SCALARS = st.one_of(WORDS, st.integers(-5, 1000), st.booleans(), st.none(), st.text(max_size=8))
KEYS = st.one_of(
    st.sampled_from(
        [
            "schema_version",
            "release",
            "source",
            "privacy",
            "ledger",
            "domain",
            "impossible",
            "public_totals",
            "workload",
            "strategy",
            "output",
            "name",
            "type",
            "levels",
            "edges",
            "minimum",
            "maximum",
            "bin_width",
            "out_of_domain",
            "epsilon",
            "unit",
            "where",
            "total",
            "hierarchy",
            "groups",
            "branching",
            "tables",
            "ranges",
            "column",
            "level",
        ]
    ),
    st.text(max_size=5),
)
TREES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(KEYS, inner, max_size=5)),
    max_leaves=20,
)


@settings(DETERMINISTIC, max_examples=80)
@given(TREES)
def test_any_tree(tree: Any) -> None:
    content = yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")
    check(load(content), content)


@settings(DETERMINISTIC, max_examples=80)
@given(st.sampled_from(TEXTS), st.integers(0, 2**32), TREES)
def test_a_good_tree_with_a_branch_exchanged(text: str, seed: int, branch: Any) -> None:
    tree = yaml.load(text, Loader=yaml.BaseLoader)
    hand = random.Random(seed)
    inner: Any = tree
    while True:
        key = hand.choice(list(inner)) if isinstance(inner, dict) else hand.randrange(len(inner))
        below = inner[key]
        if not isinstance(below, dict | list) or not below or hand.random() < 0.3:
            inner[key] = branch
            break
        inner = below
    content = yaml.safe_dump(tree, allow_unicode=True).encode("utf-8", "surrogatepass")
    check(load(content, hand.choice([None, "2020"])), content)


@st.composite
def columns(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """One valid column of any kind."""
    column: dict[str, Any] = {"name": name, "source": "codebook"}
    kind = draw(st.sampled_from(["categorical", "bounds", "edges", "number"]))
    missing = draw(st.lists(st.sampled_from(["", "?", "NA", "-9"]), unique=True, max_size=3))
    if missing:
        column["missing"] = missing
    if kind == "categorical":
        levels = [f"level {i}" for i in range(draw(st.integers(1, 6)))]
        column |= {"type": "categorical", "levels": levels, "out_of_domain": levels[-1]}
    elif kind == "bounds":
        low = draw(st.integers(-100, 100))
        column |= {
            "type": "integer",
            "minimum": str(low),
            "maximum": str(low + draw(st.integers(0, 100))),
            "bin_width": str(draw(st.integers(1, 120))),
            "out_of_domain": "clamp",
        }
    else:
        inner = draw(st.sets(st.integers(-500, 500), min_size=2, max_size=6))
        point = "" if kind == "edges" else draw(st.sampled_from([".0", ".25", "e-2"]))
        column |= {
            "type": "integer" if kind == "edges" else "number",
            "edges": [
                f"{edge}{point}" for edge in sorted(inner, key=lambda e: float(f"{e}{point}"))
            ],
            "out_of_domain": "clamp",
        }
    if missing and draw(st.booleans()):
        column["out_of_domain"] = "missing"
    if kind == "categorical" and len(column["levels"]) > 2 and draw(st.booleans()):
        first, *rest = column["levels"]
        column["hierarchy"] = [{"name": "two", "groups": {"first": first, "rest": rest}}]
    if kind == "bounds" and draw(st.booleans()):
        bins = (int(column["maximum"]) - int(column["minimum"])) // int(column["bin_width"]) + 1
        branching = draw(st.integers(2, 12))
        if bins > branching:
            column["hierarchy"] = {"branching": str(branching)}
    return column


@st.composite
def whole_files(draw: st.DrawFn) -> dict[str, Any]:
    """A valid configuration with one to four columns."""
    tree = yaml.load((GOOD / "small.yaml").read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
    tree["domain"] = [draw(columns(f"column {i}")) for i in range(draw(st.integers(1, 4)))]
    names = [column["name"] for column in tree["domain"]]
    ordered = [c["name"] for c in tree["domain"] if c["type"] != "categorical"]
    tree["workload"] = {"marginals": str(draw(st.integers(1, 5)))}
    if ordered:
        columns_of_ranges = st.lists(st.sampled_from(ordered), unique=True, min_size=1)
        kind = draw(st.sampled_from(["prefix", "range"]))
        tree["workload"]["ranges"] = [{"columns": draw(columns_of_ranges), "kind": kind}]
    table = draw(st.lists(st.sampled_from(names), unique=True, min_size=1))
    coarse = [
        {"column": c["name"], "level": "two"}
        for c in tree["domain"]
        if isinstance(c.get("hierarchy"), list)
    ]
    listed = {"tables": [table, *([coarse] if coarse else [])]}
    tree["strategy"] = draw(st.sampled_from(["auto", "identity", "adaptive", listed]))
    tree["privacy"]["epsilon"] = draw(st.sampled_from(["0.1", "1/3", "1e-4", "50", "2.50"]))
    return tree


@settings(DETERMINISTIC, max_examples=50)
@given(whole_files())
def test_every_valid_file_is_accepted(tree: dict[str, Any]) -> None:
    content = yaml.safe_dump(tree, allow_unicode=True).encode()
    outcome = load(content)
    assert isinstance(outcome, Config), str(outcome)
    check(outcome, content)
