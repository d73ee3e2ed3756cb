"""The public form: what it holds, what it leaves out, and that it gives the same Config."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.config import Config, config_from_public, load_config
from synth.errors import ConfigError
from synth.strict_json import canonical_hash

GOOD = Path(__file__).parents[2] / "configs" / "good"
SMALL = (GOOD / "small.yaml").read_text(encoding="utf-8")
EVERY = load_config(GOOD / "every-key.yaml", period="2020")
DETERMINISTIC = settings(derandomize=True, deadline=None)


def configurations() -> list[Config]:
    return [
        load_config(path, period="2020-q1" if "{period}" in path.read_text() else None)
        for path in sorted(GOOD.glob("*.yaml"))
    ]


@pytest.mark.parametrize("config", configurations(), ids=lambda config: Path(config.name).stem)
def test_a_manifest_gives_the_same_configuration(config: Config) -> None:
    again = config_from_public(json.loads(json.dumps(config.public)))
    assert again.public == config.public
    assert again.hash == config.hash
    for part in ("release", "privacy", "universe", "public_totals", "workload", "strategy"):
        assert getattr(again, part) == getattr(config, part)
    assert again.source is None
    assert again.ledger is None
    assert again.output.directory is None
    assert (again.output.formats, again.output.rows, again.output.bins) == (
        config.output.formats,
        config.output.rows,
        config.output.bins,
    )


def test_no_path_of_the_curator_is_public() -> None:
    text = json.dumps(EVERY.public)
    for private in (".csv", "sqlite", "outputs", str(GOOD), "every-key"):
        assert private not in text
    assert EVERY.public["source"] == {
        "kind": "csv",
        "delimiter": "\t",
        "quote": "'",
        "escape": "\\",
        "encoding": "windows-1252",
        "decimal": ".",
        "disposal": "delete",
        "disposal_reason": "Nothing is kept",
    }
    assert set(EVERY.public["ledger"]) == {"population", "epsilon_cap", "delta_cap"}
    assert set(EVERY.public["output"]) == {"formats", "rows", "bins", "base_url"}


def test_numbers_are_exact_text() -> None:
    assert EVERY.public["privacy"]["epsilon"] == "1/3"
    assert EVERY.public["privacy"]["delta"] == "0.000000001"
    assert EVERY.public["ledger"]["epsilon_cap"] == "4.5"
    assert EVERY.public["domain"][3]["edges"] == ["-1000", "0", "0.5", "1000000"]
    assert EVERY.public["domain"][1]["minimum"] == 17
    assert EVERY.public["workload"]["marginals"][2] == {
        "columns": ["children", "income"],
        "weight": "0.5",
    }


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        ("epsilon: 1\n", 'epsilon: "1.0"\n'),
        ("epsilon: 1\n", "epsilon: 1e0\n"),
        ("source:\n  path: people.csv", "source:\n  path: elsewhere/*.csv.gz"),
        ("{directory: outputs}", "{directory: elsewhere, bins: uniform, formats: [parquet, csv]}"),
        ("[0, 1.5, 1.8, 2.5]", "[0.0, 15e-1, 1.80, 2.5]"),
        ("domain:\n", "strategy: auto\nworkload: {marginals: 3}\nimpossible: []\ndomain:\n"),
        ("domain:\n", "workload: {marginals: 99}\ndomain:\n"),
    ],
)
def test_spelling_does_not_change_the_hash(tmp_path: Path, written: str, otherwise: str) -> None:
    assert written in SMALL
    path = tmp_path / "other.yaml"
    path.write_text(SMALL.replace(written, otherwise), encoding="utf-8")
    assert load_config(path).hash == load_config(GOOD / "small.yaml").hash


def test_order_within_a_rule_does_not_change_the_hash(tmp_path: Path) -> None:
    rules = [
        "impossible: [{sex: [Male, Female, Male], age: missing}]\n",
        "impossible: [{age: [missing], sex: [Female, Male]}]\n",
    ]
    hashes = set()
    for number, rule in enumerate(rules):
        path = tmp_path / f"{number}.yaml"
        path.write_text(SMALL + rule, encoding="utf-8")
        hashes.add(load_config(path).hash)
    assert len(hashes) == 1


def test_the_hash_is_that_of_canonical_json() -> None:
    canonical = '{"a":null,"b":[1,"é"]}'
    expected = hashlib.sha256(canonical.encode("utf-8")).hexdigest()
    assert canonical_hash({"b": [1, "é"], "a": None}) == expected
    assert EVERY.hash == canonical_hash(EVERY.public)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value in a JSON tree."""
    found = [path] if path else []
    if isinstance(value, dict):
        for key, inner in value.items():
            found += leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            found += leaves(inner, (*path, index))
    return found


def accepted_or_refused(public: Any) -> Config | ConfigError:
    try:
        return config_from_public(public)
    except ConfigError as error:
        return error


JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-10, 10),
    st.floats(allow_nan=True),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.sampled_from(["sex", "Male", 1]), max_size=2),
    st.dictionaries(st.sampled_from(["sex", "name", "where"]), st.text(max_size=3), max_size=2),
)


@settings(DETERMINISTIC, max_examples=150)
@given(st.sampled_from(leaves(EVERY.public)), JSON)
def test_a_changed_manifest_is_refused_or_is_another_configuration(
    path: tuple[Any, ...], value: Any
) -> None:
    public = deepcopy(EVERY.public)
    inner: Any = public
    for part in path[:-1]:
        inner = inner[part]
    before = inner[path[-1]]
    inner[path[-1]] = value
    outcome = accepted_or_refused(public)
    if isinstance(outcome, ConfigError):
        assert outcome.problems
        assert str(outcome)
    else:
        unchanged = json.dumps(before) == json.dumps(value)
        assert outcome.public == public
        assert (outcome.hash == EVERY.hash) == unchanged


@pytest.mark.parametrize("value", [None, [], "text", 1, {}, {"schema_version": 1}])
def test_nonsense_is_refused(value: Any) -> None:
    with pytest.raises(ConfigError):
        config_from_public(value)


def test_a_path_in_a_manifest_is_refused() -> None:
    public = deepcopy(EVERY.public)
    public["source"]["path"] = "people.csv"
    with pytest.raises(ConfigError, match=r"source\.path"):
        config_from_public(public)


def test_a_manifest_that_nests_without_end_is_refused() -> None:
    deep: Any = []
    for _ in range(100_000):
        deep = [deep]
    with pytest.raises(ConfigError):
        config_from_public({**EVERY.public, "impossible": deep})
