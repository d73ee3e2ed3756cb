"""The configurations and data sets of the project itself."""

from __future__ import annotations

import csv
import gzip
import hashlib
import io
import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from synth.config import config_from_public, json_schema, load_config, warnings

PROJECT = Path(__file__).parents[2]
CELLS = {"nltcs": 2**16, "adult": 2 * 5 * 7 * 6 * 2 * 16 * 9}


@pytest.mark.parametrize("name", CELLS)
def test_a_configuration_describes_its_universe(name: str) -> None:
    config = load_config(PROJECT / "configs" / f"{name}.yaml")
    assert config.universe.size == CELLS[name]
    assert config.privacy.epsilon == 1
    assert config.privacy.delta == 0
    assert config.ledger is not None
    assert config.ledger.epsilon_cap == 1
    assert config.source is not None
    assert config.source.path == PROJECT / "data" / f"{name}.csv.gz"
    assert config.source.path.is_file()
    assert all(attribute.source for attribute in config.universe.attributes)
    assert {len(m.attributes) for m in config.workload.marginals} == {1, 2, 3}


@pytest.mark.parametrize("name", CELLS)
def test_the_manifest_form_gives_the_same_universe(name: str) -> None:
    config = load_config(PROJECT / "configs" / f"{name}.yaml")
    again = config_from_public(json.loads(json.dumps(config.public)))
    assert again.public == config.public
    assert again.hash == config.hash
    assert again.universe == config.universe
    assert again.workload == config.workload


@pytest.mark.parametrize("name", CELLS)
def test_editors_accept_a_configuration(name: str) -> None:
    text = (PROJECT / "configs" / f"{name}.yaml").read_text(encoding="utf-8")
    jsonschema.Draft202012Validator(json_schema()).validate(yaml.safe_load(text))


def test_populations_are_distinct() -> None:
    ledgers = [load_config(PROJECT / "configs" / f"{name}.yaml").ledger for name in CELLS]
    assert len({ledger.population for ledger in ledgers if ledger}) == len(CELLS)


def test_notes_are_few() -> None:
    assert warnings(load_config(PROJECT / "configs" / "nltcs.yaml")) == ()
    (note,) = warnings(load_config(PROJECT / "configs" / "adult.yaml"))
    assert note.startswith("education-num: a value that is empty")


@pytest.mark.parametrize("name", CELLS)
def test_data_are_as_their_readme_says(name: str) -> None:
    readme = (PROJECT / "data" / "README.md").read_text(encoding="utf-8")
    row = re.search(rf"\| `{name}\.csv\.gz` \| ([\d,]+) \| (\d+) \| `([0-9a-f]{{64}})` \|", readme)
    assert row is not None
    packed = (PROJECT / "data" / f"{name}.csv.gz").read_bytes()
    content = gzip.decompress(packed)
    assert hashlib.sha256(content).hexdigest() == row[3]
    records = list(csv.reader(io.StringIO(content.decode("ascii"), newline="")))
    assert len(records) - 1 == int(row[1].replace(",", ""))
    assert {len(record) for record in records} == {int(row[2])}
    config = load_config(PROJECT / "configs" / f"{name}.yaml")
    assert set(config.universe.names) <= set(records[0])


@pytest.mark.parametrize("name", CELLS)
def test_compression_records_no_name_and_no_time(name: str) -> None:
    packed = (PROJECT / "data" / f"{name}.csv.gz").read_bytes()
    flags, time = packed[3], packed[4:8]
    assert flags == 0
    assert time == bytes(4)
