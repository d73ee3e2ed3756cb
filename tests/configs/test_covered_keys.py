"""What is hashed, approved and published, key by key: the list in the docs, against behaviour.

For every key one configuration is written twice, with two values of that key alone. The hash, the
public form and an approval must tell them apart, but for the keys that the page lists.
"""

from __future__ import annotations

import functools
import json
import re
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth.config import Config, config_from_public, load_config
from synth.config.columns import DOMAIN
from synth.config.config import CONFIGURATION
from synth.config.schema.shapes import Either, ListOf, MapOf, OneOrList, Record, Variants
from synth.errors import ConfigError
from synth.policy import approve
from synth.release.manifest.build import configuration_schema
from synth.signatures import PrivateKey
from synth.strict_json import canonical_hash
from tests.conftest import merged

DOCUMENT = Path(__file__).parents[2] / "docs" / "reference" / "configuration-keys.md"
PUBLISHED = jsonschema.Draft202012Validator(configuration_schema())
APPROVER = PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes(32)))


def keys(shape: Any, path: str = "") -> Iterator[tuple[str, bool]]:
    """Every key that holds a value of its own, and whether it is in the public form."""
    if isinstance(shape, Record):
        for key in shape.keys:
            here = f"{path}.{key.name}" if path else key.name
            inner = list(keys(key.shape, here))
            if not key.derived and (not inner or isinstance(key.shape, Either)):
                yield here, not key.private
            yield from ((name, covered and not key.private) for name, covered in inner)
    elif isinstance(shape, ListOf | OneOrList):
        yield from keys(shape.item, f"{path}[]")
    elif isinstance(shape, MapOf):
        yield from keys(shape.value, path)
    elif isinstance(shape, Variants):
        for word, record in shape.records.items():
            yield from keys(record, f"{path} ({word})")
    elif isinstance(shape, Either):
        for inner in (shape.single, shape.several, shape.record):
            yield from keys(inner, path)


COVERED = dict(keys(CONFIGURATION))

CATEGORICAL = {"name": "town", "type": "categorical", "levels": ["A", "B", "C"]} | {
    "hierarchy": [{"name": "line", "groups": {"x": ["A"], "y": ["B", "C"]}}],
    "missing": ["?"], "out_of_domain": "missing", "source": "form", "title": "Town",
    "description": "Where",
}  # fmt: skip
BOOLEAN = {"name": "works", "type": "boolean", "true_values": ["yes"], "false_values": ["no"]} | {
    "missing": ["?"], "out_of_domain": "missing", "source": "form", "title": "Works",
    "description": "Has work",
}  # fmt: skip
DATE = {"name": "born", "type": "date", "first": "2020-01-01", "last": "2020-12-31"} | {
    "resolution": "day", "format": "%d.%m.%Y", "time_zone": "Europe/Berlin",
    "hierarchy": [{"name": "wide", "resolution": "month"}],
    "missing": ["?"], "out_of_domain": "missing", "source": "form", "title": "Born",
    "description": "By the register",
}  # fmt: skip
DATETIME = deepcopy(DATE) | {"name": "seen", "type": "datetime", "title": "Seen"}
INTEGER = {"name": "age", "type": "integer", "minimum": 0, "maximum": 89, "bin_width": 10} | {
    "hierarchy": [{"name": "part", "bin_width": 30}, {"name": "pair", "bin_width": 60}],
    "missing": ["?"], "out_of_domain": "missing", "source": "form", "title": "Age",
    "description": "In years",
}  # fmt: skip
NUMBER = {"name": "cost", "type": "number", "edges": [0, 1, 2, 3, 4]} | {
    "hierarchy": [{"name": "part", "bin_width": 2}], "missing": ["?"],
    "out_of_domain": "missing", "source": "form", "title": "Cost", "description": "In thousands",
}  # fmt: skip
EDGED = {key: INTEGER[key] for key in ("name", "type", "out_of_domain", "source", "missing")} | {
    "edges": [0, 10, 20, 40, 89], "hierarchy": [{"name": "half", "edges": [0, 20, 89]}]
}  # fmt: skip
OTHERS = [CATEGORICAL, BOOLEAN, DATE, DATETIME]
BASE: dict[str, Any] = {
    "schema_version": 1,
    "release": {
        "id": "people", "title": "People", "description": "Made up", "curators": ["Office"],
        "contact": "a@example.org", "intended_use": "Tests", "region": "Nowhere",
        "sector": "Government", "license": "CC0-1.0",
    },
    "source": {"path": "people.csv", "disposal": "keep", "disposal_reason": "Made up"},
    "privacy": {"epsilon": 1, "delta": "1e-9", "neighbours": "add-remove", "justification": "Test",
                "unit": {"column": "person", "max_records": 2}},
    "ledger": {"path": "ledger.sqlite", "population": "people", "epsilon_cap": 2,
               "delta_cap": "1e-6",
               "disjoint_part": {"name": "a", "parts": ["a", "b"], "source": "Register"}},
    "domain": [*OTHERS, INTEGER, NUMBER],
    "impossible": [{"town": "A", "age": "missing"}],
    "public_totals": [{"where": {}, "total": 100, "source": "Register"}],
    "workload": {"marginals": [{"columns": ["town"], "weight": 2}], "cells": True,
                 "ranges": [{"columns": ["age"], "kind": "range", "weight": 2}]},
    "strategy": {"tables": [["town", "cost"], [{"column": "age", "level": "part"}]]},
    "output": {"directory": "outputs", "formats": ["csv"], "rows": "estimated", "bins": "uniform"},
}  # fmt: skip
TABLE = {"source": {"url": "postgresql://host/registry", "table": "people", "path": None}}
WORKBOOK = {"source": {"path": "people.xlsx"}}
SPARK = {"source": {"spark": {"table": "people"}, "path": None}}
EDGES = {"domain": [*OTHERS, EDGED, NUMBER], "strategy": "identity"}
COST_EDGES = NUMBER | {"hierarchy": [{"name": "part", "edges": [0, 2, 4]}]}
AGE_TREE = INTEGER | {"hierarchy": {"branching": 3}}
DATE_TREE = DATE | {"hierarchy": {"branching": 3}}
COST_TREE = NUMBER | {"hierarchy": {"branching": 2}}
NO_TABLES = {"strategy": "identity"}
OTHER_TEXT = "Something else"

NO_PART = {"ledger": {"disjoint_part": None}}
SERIES: dict[str, Any] = {
    "release": {"id": "people-{period}"},
    "source": {"where": {"column": "seen_on", "within": "period"}},
    "series": {"every": "month", "first": "2026-01", "rows": "new", "horizon": 12},
    "ledger": {"epsilon_cap": 20, "delta_cap": "1e-6", "disjoint_part": None},
    "public_totals": [],
}
OTHERS_COME = {"population": "people-{cycle}", "source": "They leave school"}
ROOMS: dict[str, dict[str, Any]] = {
    "source.url": TABLE, "source.table": TABLE, "source.view_reason": TABLE,
    "source.sheet": WORKBOOK,
    "source.spark.table": SPARK, "source.spark.master": SPARK,
    "domain[] (integer).edges": EDGES, "domain[] (integer).hierarchy[].edges": EDGES,
    "domain[] (integer).hierarchy.branching":
        {"domain": [*OTHERS, AGE_TREE, NUMBER], **NO_TABLES},
    "domain[] (date).hierarchy.branching": {"domain": [CATEGORICAL, DATE_TREE, INTEGER, NUMBER]},
    "domain[] (datetime).hierarchy.branching": {
        "domain": [CATEGORICAL, {**DATE_TREE, "type": "datetime"}, INTEGER, NUMBER]
    },
    "domain[] (number).hierarchy[].edges": {"domain": [*OTHERS, INTEGER, COST_EDGES]},
    "domain[] (number).hierarchy.branching": {"domain": [*OTHERS, INTEGER, COST_TREE]},
    "domain[] (integer).type": EDGES | {"workload": {"ranges": None}},
    "domain[] (integer).minimum": NO_TABLES, "domain[] (integer).maximum": NO_TABLES,
    "domain[] (integer).bin_width": NO_TABLES,
    "workload.expected_records": {"public_totals": []},
    "output.deliver.command": {"output": {"deliver": {"command": ["scp"]}}},
    "output.deliver.timeout": {"output": {"deliver": {"command": ["scp"]}}},
    **{f"source.where.{key}": SERIES for key in ("column", "format", "time_zone")},
    **{f"series.{key}": SERIES
       for key in ("first", "rows", "horizon", "delay", "max_periods", "renewal", "every")},
    "series.renewal.window": merged(SERIES, {"series": {"renewal": {"window": 3}}}),
    **{f"series.renewal.{key}": merged(SERIES, {"series": {"renewal": OTHERS_COME}})
       for key in ("population", "source")},
    "privacy.neighbours": NO_PART,
    "domain[] (integer).hierarchy": NO_TABLES,
    "domain[] (integer).hierarchy[].name": NO_TABLES,
    "domain[] (integer).name": {"workload": {"ranges": []}, "impossible": [], **NO_TABLES},
    "domain[] (categorical).name": {"workload": {"marginals": 1}, "impossible": [], **NO_TABLES},
    "domain[] (number).name": NO_TABLES,
}  # fmt: skip
"""What else must be written for a key to have a place."""

OTHER: dict[str, Any] = {
    "release.id": "persons",
    "source.where.column": "left_on",
    "source.where.format": "%d.%m.%Y",
    "source.where.time_zone": "Europe/Berlin",
    "series.first": "2026-02",
    "series.rows": "all",
    "series.horizon": 13,
    "series.delay": 5,
    "series.max_periods": 2,
    "series.renewal": "next",
    "series.renewal.window": 4,
    "series.renewal.population": "pupils-{cycle}",
    "release.curators": ["Board"],
    "release.keywords": ["people"],
    "release.language": "de",
    "release.homepage": "https://example.org/people/",
    "release.supersedes": ["people-2019"],
    "release.temporal_coverage": "2020",
    "release.registry_authors": ["A. Clerk"],
    "release.approvals": ["Board"],
    "release.sources": ["A paper"],
    "release.out_of_scope_use": ["Ranking"],
    "release.limitations": ["Children are missing"],
    "release.biases": ["Towns only"],
    "release.data_source_type": "Dynamic",
    "release.release_type": "Many releases",
    "source.path": "elsewhere/others-*.csv.gz",
    "source.url": "postgresql://elsewhere:5433/other?sslmode=require",
    "source.table": "public.persons",
    "source.spark.table": "warehouse.people",
    "source.spark.master": "local[2]",
    "source.delimiter": ";",
    "source.quote": "'",
    "source.escape": "\\",
    "source.encoding": "latin-1",
    "source.decimal": ",",
    "source.header": ["person", "town", "works", "born", "seen", "age", "cost"],
    "source.disposal": "delete",
    "privacy.epsilon": "1/3",
    "privacy.delta": 0,
    "privacy.neighbours": "replace-one",
    "privacy.unit": "record",
    "privacy.unit.column": "id",
    "privacy.unit.max_records": 3,
    "ledger.path": "elsewhere/ledger.sqlite",
    "ledger.epsilon_cap": 3,
    "ledger.delta_cap": "1e-5",
    "ledger.disjoint_part.name": "b",
    "ledger.disjoint_part.parts": ["a", "b", "c"],
    "domain[] (categorical).name": "place",
    "domain[] (integer).name": "years",
    "domain[] (number).name": "price",
    "domain[] (integer).type": "number",
    "domain[] (number).type": "integer",
    "domain[] (categorical).levels": ["C", "B", "A"],
    "domain[] (categorical).labels": {"A": "Aha", "B": "Oho"},
    "domain[] (integer).labels": {"missing": "not asked", "?": "refused"},
    "domain[] (categorical).hierarchy[].name": "side",
    "domain[] (categorical).hierarchy[].groups": {"x": ["A", "B"], "y": ["C"]},
    **{
        f"domain[] ({kind}).{key}": value
        for kind in ("date", "datetime")
        for key, value in {
            "name": "other",
            "first": "2020-01-02",
            "last": "2020-12-30",
            "format": "%Y-%m-%d",
            "time_zone": "UTC",
            "missing": ["NA"],
            "out_of_domain": "clamp",
            "hierarchy": "dyadic",
            "hierarchy[].name": "wider",
            "hierarchy[].resolution": "quarter",
            "hierarchy.branching": 4,
        }.items()
    },
    "domain[] (boolean).name": "employed",
    "domain[] (boolean).true_values": ["ja"],
    "domain[] (boolean).false_values": ["nein"],
    "domain[] (boolean).missing": ["NA"],
    "domain[] (boolean).out_of_domain": "true",
    "domain[] (categorical).missing": ["NA"],
    "domain[] (integer).missing": ["NA"],
    "domain[] (number).missing": ["NA"],
    "domain[] (categorical).out_of_domain": "B",
    "domain[] (integer).out_of_domain": "clamp",
    "domain[] (number).out_of_domain": "clamp",
    "domain[] (integer).minimum": -10,
    "domain[] (integer).maximum": 119,
    "domain[] (integer).bin_width": 5,
    "domain[] (integer).edges": [0, 5, 20, 40, 89],
    "domain[] (integer).hierarchy": "dyadic",
    "domain[] (integer).hierarchy[].name": "some",
    "domain[] (integer).hierarchy[].edges": [0, 40, 89],
    "domain[] (integer).hierarchy[].bin_width": 20,
    "domain[] (integer).hierarchy.branching": 4,
    "domain[] (number).edges": [0, "0.5", 2, 4],
    "domain[] (number).hierarchy": "dyadic",
    "domain[] (number).hierarchy[].name": "some",
    "domain[] (number).hierarchy[].edges": [0, 3, 4],
    "domain[] (number).hierarchy[].bin_width": 3,
    "domain[] (number).hierarchy.branching": 3,
    "impossible": [{"town": "B", "age": "missing"}],
    "public_totals[].where": {"town": "A"},
    "public_totals[].total": 101,
    "workload.marginals": 2,
    "workload.marginals[].columns": ["age"],
    "workload.marginals[].weight": 3,
    "workload.cells": False,
    "workload.expected_records": 1000,
    "workload.ranges[].columns": ["cost"],
    "workload.ranges[].kind": "prefix",
    "workload.ranges[].weight": 3,
    "strategy": "identity",
    "strategy.tables[][].column": "cost",
    "strategy.tables[][].level": "pair",
    "output.directory": "elsewhere",
    "output.formats": ["parquet"],
    "output.rows": 100,
    "output.bins": "midpoint",
    "output.replicates": 2,
    "output.base_url": "https://example.org/releases/",
    "output.signing_key": "key.pem",
    "output.deliver.command": ["rsync", "{folder}"],
    "output.deliver.timeout": 5,
}
"""Another value of each key; a text that is not listed becomes OTHER_TEXT."""

TOGETHER = {
    "domain[] (categorical).type": {
        "domain": [{**NUMBER, "name": "town"}, BOOLEAN, DATE, DATETIME, INTEGER, NUMBER]
    },
    **{
        f"domain[] ({kind}).type": {
            "domain": [
                CATEGORICAL,
                BOOLEAN,
                *(
                    {**each, "type": "date" if kind == "datetime" else "datetime"}
                    if each["type"] == kind
                    else each
                    for each in (DATE, DATETIME)
                ),
                INTEGER,
                NUMBER,
            ]
        }
        for kind in ("date", "datetime")
    },
    **{
        f"domain[] ({kind}).resolution": {
            "domain": [
                CATEGORICAL,
                BOOLEAN,
                *(
                    {
                        **each,
                        "resolution": "quarter",
                        "first": "2020-Q1",
                        "last": "2020-Q4",
                        "hierarchy": [{"name": "wide", "resolution": "year"}],
                    }
                    if each["type"] == kind
                    else each
                    for each in (DATE, DATETIME)
                ),
                INTEGER,
                NUMBER,
            ]
        }
        for kind in ("date", "datetime")
    },
    "series.every": {"series": {"every": "year", "first": "2026"}},
    "domain[] (boolean).type": {
        "domain": [CATEGORICAL, {**NUMBER, "name": "works"}, DATE, DATETIME, INTEGER, NUMBER]
    },
}
"""Keys that no other value fits alone: what else the configuration becomes."""

WITHOUT_OTHER = {"schema_version", "source.frame", "source.where.within"}
"""Keys with one possible value."""


def place_of(configuration: dict[str, Any], key: str) -> tuple[Any, str]:
    """The map that holds a key, and the key's own name; lists are entered where BASE has one."""
    inner: Any = configuration
    *steps, last = key.split(".")
    for step in steps:
        name, lists, kind = re.fullmatch(r"(\w+)((?:\[\])*)(?: \((\w+)\))?", step).groups()
        inner = inner[name]
        if kind is not None:
            inner = next(column for column in inner if column["type"] == kind)
        elif lists:
            inner = inner[1][0] if lists == "[][]" else inner[0]
    return inner, last


def two_configurations(key: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Two that differ in the value of that key alone."""
    room = {"impossible": [], "workload": {"marginals": 1}, **NO_TABLES} if key in TOGETHER else {}
    before = merged(BASE, merged(room, ROOMS.get(key, {})))
    if key in TOGETHER:
        return before, merged(before, TOGETHER[key])
    after = deepcopy(before)
    inner, name = place_of(after, key)
    other = OTHER.get(key, OTHER_TEXT)
    assert inner.get(name) != other, "a test that changes nothing shows nothing"
    inner[name] = other
    return before, after


def loaded(tmp_path: Path, configuration: dict[str, Any]) -> Config:
    path = tmp_path / "release.yaml"
    path.write_text(json.dumps(configuration), encoding="utf-8")  # JSON is YAML
    return load_config(path, without_period="first")


@functools.cache
def published(text: str) -> Config:
    """A configuration whose public form says all of it: most keys change one and the same."""
    with tempfile.TemporaryDirectory() as place:
        config = loaded(Path(place), json.loads(text))
    PUBLISHED.validate(config.public)
    assert config_from_public(json.loads(json.dumps(config.public))).hash == config.hash
    return config


@pytest.mark.parametrize("key", sorted(COVERED.keys() - WITHOUT_OTHER))
def test_a_change_of_a_key_is_noticed_unless_it_is_a_place(key: str) -> None:
    before, after = (published(json.dumps(each)) for each in two_configurations(key))
    approval = approve(before, APPROVER)
    renamed = replace(approval, release_id=after.release.id)
    assert approval.is_valid(before, APPROVER.public)
    noticed = {
        "hashed": before.hash != after.hash,
        "approved": not renamed.is_valid(after, APPROVER.public),
        "published": before.public != after.public,
    }
    assert noticed == dict.fromkeys(noticed, key not in places())


def test_the_version_of_the_format_has_one_value_which_is_published(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="schema_version"):
        loaded(tmp_path, {**BASE, "schema_version": 2})
    config = loaded(tmp_path, BASE)
    assert config.public["schema_version"] == 1
    assert config.hash != canonical_hash({**config.public, "schema_version": 2})


PLACES = ["source.path", "source.url", "source.spark.master", "source.frame"]
PLACES += ["ledger.path", "output.directory", "output.signing_key"]
PLACES += ["output.deliver.command", "output.deliver.timeout"]


def places() -> list[str]:
    """The keys that the page lists as places."""
    return re.findall(r"^\| `([a-z_.]+)` \|", DOCUMENT.read_text(encoding="utf-8"), re.MULTILINE)


def test_the_page_lists_every_key_that_is_not_covered_and_these_are_places() -> None:
    assert places() == PLACES == [key for key, covered in COVERED.items() if not covered]


def test_every_key_of_the_reference_is_tried_or_holds_keys_that_are() -> None:
    text = (DOCUMENT.parents[1] / "configuration.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| `([a-z_][^`]*)` \|", text, re.MULTILINE)
    assert len(named) > 100
    for key in named:
        for each in of_every_kind(key):
            assert each in COVERED or any(
                re.match(re.escape(each) + r"[.\[ ]", other) for other in COVERED
            )


def of_every_kind(key: str) -> list[str]:
    """A key of the columns, for each kind of column that it is listed for."""
    listed = re.fullmatch(r"domain\[\](?: \(([a-z, ]+)\))?(.+)", key)
    if listed is None:
        return [key]
    kinds = listed[1].split(", ") if listed[1] else list(DOMAIN.item.records)
    return [f"domain[] ({kind}){listed[2]}" for kind in kinds]


KINDS: dict[str, dict[str, Any]] = {
    "csv": {},
    "parquet": {"source": {"path": "people.parquet"}},
    "postgresql": TABLE,
    "spark": SPARK,
    "spark-parquet": {"source": {"spark": {"table": "parquet.`/data/people`"}, "path": None}},
    "frame": {"source": {"frame": True, "path": None}},
}


def test_every_kind_of_source_is_published_and_hashed(tmp_path: Path) -> None:
    found = {kind: loaded(tmp_path, merged(BASE, change)) for kind, change in KINDS.items()}
    assert {kind: config.public["source"]["kind"] for kind, config in found.items()} == {
        kind: kind for kind in KINDS
    }
    assert len({config.hash for config in found.values()}) == len(KINDS)
    concerned = {
        kind: set(config.public["source"]) - {"kind", "disposal", "disposal_reason"}
        for kind, config in found.items()
    }
    assert concerned == {
        "csv": {"delimiter", "quote", "escape", "encoding", "decimal"},
        "parquet": set(),
        "postgresql": {"table"},
        "spark": {"spark"},
        "spark-parquet": set(),
        "frame": set(),
    }


@pytest.mark.parametrize(
    ("written", "otherwise"),
    [
        ({"path": "a.csv"}, {"path": "b/c-*.TSV.gz"}),
        ({"path": "a.parquet"}, {"path": "b/*.PARQUET"}),
        ({}, {"delimiter": ",", "quote": '"', "escape": '"', "encoding": "utf-8"}),
        ({"quote": "'"}, {"quote": "'", "escape": "'"}),
        ({"delimiter": "\t"}, {"delimiter": "tab"}),
        ({"delimiter": ";", "decimal": ","}, {"delimiter": "semicolon", "decimal": ","}),
        ({"encoding": "windows-1252"}, {"encoding": "CP1252"}),
        ({"encoding": "latin-1"}, {"encoding": "ISO-8859-1"}),
        ({}, {"encoding": "UTF8", "decimal": "."}),
        (
            {"spark": {"table": "parquet.`/a`"}, "path": None},
            {"spark": {"table": "PARQUET.`hdfs://host/b`", "master": "yarn"}, "path": None},
        ),
    ],
)
def test_what_splits_alike_has_one_hash(
    tmp_path: Path, written: dict[str, Any], otherwise: dict[str, Any]
) -> None:
    one, other = (loaded(tmp_path, merged(BASE, {"source": s})) for s in (written, otherwise))
    assert one.hash == other.hash
    text = json.dumps(other.public)
    assert not [word for word in ("hdfs", "yarn", "/b", "TSV") if word in text]


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("csv", {"delimiter": None}),
        ("csv", {"table": "people"}),
        ("csv", {"kind": None}),
        ("csv", {"kind": "parquet"}),
        ("parquet", {"delimiter": ","}),
        ("parquet", {"kind": "spark"}),
        ("postgresql", {"table": None}),
        ("postgresql", {"encoding": "utf-8"}),
        ("postgresql", {"url": "postgresql://host/registry"}),
        ("spark", {"spark": None}),
        ("spark", {"spark": {"master": "yarn"}}),
        ("spark", {"spark": {"table": "parquet.`/data/people`"}}),
        ("spark-parquet", {"spark": {"table": "people"}}),
    ],
)
def test_a_manifest_says_of_its_source_what_its_kind_has_and_nothing_else(
    tmp_path: Path, kind: str, change: dict[str, Any]
) -> None:
    public = loaded(tmp_path, merged(BASE, KINDS[kind])).public
    config_from_public(public)
    with pytest.raises(ConfigError):
        config_from_public(merged(public, {"source": change}))


def test_a_kind_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"source\.kind"):
        loaded(tmp_path, merged(BASE, {"source": {"kind": "csv"}}))


def test_a_table_of_a_period_is_hashed_as_it_is_filled_in(tmp_path: Path) -> None:
    source = {"url": "postgresql://host/registry", "table": "people_{period}", "path": None}
    path = tmp_path / "release.yaml"
    written = merged(BASE, {"release": {"id": "people-{period}"}, "source": source})
    path.write_text(yaml.safe_dump(written), encoding="utf-8")
    assert load_config(path, period="2020").public["source"]["table"] == "people_2020"
