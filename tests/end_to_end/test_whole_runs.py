"""One table of whole runs, measured, published and verified, in which all choices meet.

Strategy, unit and delta are combined in full. Way of the estimate, relation and public total, and
kind of file go round, so that each meets every other choice; `benchmarks/golden.py` has more of
them together. Every one ends in a release that stands. A new strategy or mechanism that is not in
the table fails a test below.
"""

import gzip
import itertools
import json
from operator import itemgetter
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.config.columns import DOMAIN
from synth.config.strategy import STRATEGY
from synth.errors import ConfigError
from synth.estimate import any_size
from synth.job import pipeline
from synth.planning import plan_events, plan_schedule
from synth.privacy.accounting import MECHANISMS
from synth.release import verify_release
from tests.conftest import SMALL
from tests.unit.release.budget_oracle import budget_findings
from tests.unit.release.tables_oracle import table_findings

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

STRATEGIES = {
    "auto": "auto",
    "identity": "identity",
    "adaptive": "adaptive",
    "sparse": "sparse",
    "tables": {"tables": [["age"], ["sex", "town"]]},
    "tables with the universe": {"tables": [["age", "sex", "town"], ["age"]]},
}
SIZES = ("held", "list")
"""Small enough to be held, or not."""
UNITS = {"record": "record", "person": {"column": "person", "max_records": 2}}
RELATIONS = {
    "add-remove": ("add-remove", []),
    "add-remove, total known": (
        "add-remove",
        [{"where": {}, "total": 120, "source": "a register"}],
    ),
    "replace-one": ("replace-one", [{"where": {}, "total": 120, "source": "a register"}]),
}
DELTAS = ("0", "1e-6")
FORMATS = ("csv", "csv.gz", "parquet")
CASES = list(itertools.product(STRATEGIES, SIZES, UNITS, RELATIONS, DELTAS))
NOT_HELD = {"identity", "adaptive"}
"""What needs a noisy count or a guess in every cell."""
WAYS = {"at once": "held", "by blocks": "held", "list": "list"}
"""How counts are estimated, and of a universe of which size."""
WAYS_OF = {
    "identity": ("at once", "by blocks"),
    "adaptive": ("at once", "by blocks"),
    "sparse": ("at once", "list"),
}
"""Of what needs every cell, and of what lists cells in every universe; the others have all."""
RECORDS = ["34,Female,Nord", "67,Male,Süd", "12,,Other"]
FILLER = [
    {"name": f"code-{number}", "type": "integer", "minimum": 0, "maximum": 9, "bin_width": 1}
    | {"out_of_domain": "clamp", "source": "test"}
    for number in range(9)
]
"""Columns that bring the universe above what can be held."""

TYPED = {
    "categorical": (
        {"levels": ["007", "7", "11"], "missing": ["99"], "out_of_domain": "missing"},
        ["007", "7", "99", "x"],
    ),
    "boolean": (
        {"missing": ["", "9"], "out_of_domain": "missing"},
        ["true", "false", "9", "true"],
    ),
    "integer": (
        {"minimum": 0, "maximum": 2, "missing": ["-1"], "out_of_domain": "missing"},
        ["0", "2", "-1", "77"],
    ),
    "number": (
        {"edges": [0, "0.5", 2], "missing": ["9.99"], "out_of_domain": "clamp"},
        ["0.25", "1.5", "9.99", "-3"],
    ),
    "date": (
        {
            "first": "2024-01-01",
            "last": "2024-01-08",
            "resolution": "day",
            "missing": ["1900-01-01"],
        }
        | {"out_of_domain": "missing", "hierarchy": [{"name": "week", "resolution": "week"}]},
        ["2024-01-01", "2024-01-08", "1900-01-01", "2024-02-29"],
    ),
    "datetime": (
        {"first": "2024-03-31T00:00:00", "last": "2024-03-31T05:00:00", "resolution": "hour"}
        | {"missing": [""], "out_of_domain": "missing", "time_zone": "Europe/Berlin"},
        ["2024-03-31T00:30:00Z", "2024-03-31T01:00:00Z", "", "2024-03-31T02:59:59Z"],
    ),
}
"""A column of every type, with a word for missing values, and texts of a source."""


def place_of(case):
    """One further with every choice that is one further in its list."""
    choices = zip((STRATEGIES, SIZES, UNITS, RELATIONS, DELTAS), case, strict=True)
    return sum(list(values).index(value) for values, value in choices)


def file_of(case):
    """The kind of file, going round so that every choice meets every kind."""
    return FORMATS[place_of(case) % len(FORMATS)]


def tried():
    """Every strategy, unit and delta, with one way, one relation and one kind of file."""
    for number, strategy in enumerate(STRATEGIES):
        ways = WAYS_OF.get(strategy, tuple(WAYS))
        for turn, (unit, delta) in enumerate(itertools.product(UNITS, DELTAS)):
            # where two ways are left, unit and delta together tell which: each meets both
            way = ways[(number + turn + (turn // 2 if len(ways) == 2 else 0)) % len(ways)]
            relation = list(RELATIONS)[(number + 2 * turn) % len(RELATIONS)]
            kind = FORMATS[(turn + number // 4) % len(FORMATS)]
            yield strategy, way, unit, relation, delta, kind


TRIED = list(tried())


def write_source(place: Path, kind: str) -> str:
    """120 records of 60 people."""
    lines = ["person,age,sex,town," + ",".join(column["name"] for column in FILLER)]
    lines += [
        f"p{i // 2},{RECORDS[i % 3]}," + ",".join(str(i % (n + 2)) for n in range(len(FILLER)))
        for i in range(120)
    ]
    path = place / f"people.{kind}"
    write_file(path, kind, ("\n".join(lines) + "\n").encode())
    return path.name


def write_file(path: Path, kind: str, raw: bytes) -> None:
    """Lines of CSV as a file of that kind; Parquet gets the types that Arrow takes them for."""
    if kind == "parquet":
        pq.write_table(pyarrow.csv.read_csv(pyarrow.py_buffer(raw)), path)
    else:
        path.write_bytes(gzip.compress(raw) if kind == "csv.gz" else raw)


def configured(project, place, case, kind="", **more) -> Path:
    strategy, size, unit, relation, delta = case
    neighbours, totals = RELATIONS[relation]
    return project(
        people=None,
        source={"path": write_source(place, kind or file_of(case))},
        privacy={"neighbours": neighbours, "unit": UNITS[unit], "delta": delta},
        ledger={"delta_cap": delta},
        public_totals=totals,
        strategy=STRATEGIES[strategy],
        output={"replicates": 1 if size == "list" or strategy == "sparse" else 2},
        **({"domain": [*SMALL["domain"], *FILLER]} if size == "list" else {}),
        **more,
    )


def configured_as(project, place, tried):
    """Pairs of many columns are those of `test_families.py`."""
    strategy, way, *others, kind = tried
    asked = {"workload": {"marginals": 1}} if way == "list" else {}
    case = (strategy, WAYS[way], *others)
    return load_config(configured(project, place, case, kind, **asked))


@pytest.mark.parametrize("tried", TRIED, ids=", ".join)
def test_a_run_ends_in_a_release_that_stands(project, tmp_path, log, monkeypatch, tried):
    config = configured_as(project, tmp_path, tried)
    if "by blocks" in tried:
        monkeypatch.setattr(any_size, "is_held", lambda _: False)
    pipeline.measure(config, log=log)
    folder = published_and_stands(config, log)
    assert verify_release(folder).release_id == "small"


@pytest.mark.parametrize("strategy", sorted(NOT_HELD))
def test_what_needs_every_cell_is_refused_where_they_cannot_be_held(project, tmp_path, strategy):
    case = (strategy, "list", "record", "add-remove", "0")
    with pytest.raises(ConfigError, match="needs a"):
        load_config(configured(project, tmp_path, case))


def published_and_stands(config, log):
    """The folder of the release; its bytes were verified before it appeared."""
    outcome = pipeline.publish(config, log=log)
    assert not outcome.was_there
    folder = outcome.path
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    assert list(budget_findings(manifest)) == []
    assert list(table_findings(folder)) == []
    accounting = manifest["accounting"]
    looks = [accounting["look"]] if "look" in accounting else []
    tables = accounting["events"] + accounting["selections"] + looks
    charged = {each["mechanism"] for each in tables}
    explained = {each["name"] for each in manifest["implementation"]["mechanisms"]}
    assert explained == charged
    return folder


def mechanisms_of(config) -> set[str]:
    schedule = plan_schedule(config)
    events = plan_events(config) if schedule is None else schedule.events
    return {event.mechanism for event in events if hasattr(event, "mechanism")}


def test_any_two_choices_meet_and_strategy_unit_and_delta_in_full():
    every = [
        case
        for case in itertools.product(STRATEGIES, WAYS, UNITS, RELATIONS, DELTAS, FORMATS)
        if case[1] in WAYS_OF.get(case[0], WAYS)
    ]
    for together in [(0, 2, 4), *itertools.combinations(range(6), 2)]:
        chosen = itemgetter(*together)
        assert set(map(chosen, TRIED)) == set(map(chosen, every))


def test_the_table_has_every_strategy_and_mechanism(project, tmp_path):
    assert {value for value in STRATEGIES.values() if isinstance(value, str)} == set(
        STRATEGY.single.words
    )
    assert any(isinstance(value, dict) for value in STRATEGIES.values())
    missing = set(MECHANISMS)
    for each in TRIED:
        if missing:
            missing -= mechanisms_of(configured_as(project, tmp_path, each))
    assert missing == set()


@pytest.mark.parametrize(("strategy", "kind"), [("auto", "csv.gz"), ("adaptive", "parquet")])
def test_a_run_with_columns_of_every_type_stands(project, tmp_path, log, kind, strategy):
    """Of CSV and of Parquet: that these meet every strategy is seen above."""
    columns = [
        {"name": f"{word}-column", "type": word, "source": "test"} | keys
        for word, (keys, _) in TYPED.items()
    ]
    lines = [",".join(column["name"] for column in columns)]
    lines += [",".join(texts[i * (n + 1) % 4] for n, (_, texts) in enumerate(TYPED.values()))
              for i in range(120)]  # fmt: skip
    path = tmp_path / f"typed.{kind}"
    write_file(path, kind, ("\n".join(lines) + "\n").encode())
    written = project(people=None, source={"path": path.name}, domain=columns, strategy=strategy)
    config = load_config(written)
    pipeline.measure(config, log=log)
    published_and_stands(config, log)


def test_the_table_has_every_type_of_column():
    assert set(TYPED) == set(DOMAIN.item.records)
