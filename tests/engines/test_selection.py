"""The records of a period are the same in CSV, Parquet, a table in memory and PostgreSQL."""

from __future__ import annotations

import random
from dataclasses import replace
from datetime import UTC, date, datetime

import numpy as np
import pyarrow as pa
import pytest

from synth import curator
from synth.config import FrameSource, load_config
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import every_cell, filled_cells, tabulate
from synth.curator.files.frames import records_of
from synth.curator.seal import quiet_libraries
from synth.errors import SourceError
from tests.selected_slowly import DOMAIN, MONTHS, SELECTIONS, selection_of, slow_counts

from .conftest import write_csv, write_parquet

COLUMNS = ("person", "visited", "group")


def made_up_rows():
    """Some people come in later months only."""
    draw = random.Random(11)
    people = ["1", "2", "3", "Ü4", "5 ", "", None]
    groups = ["a", "b", "c", "", "elsewhere"]
    late = {"2": ("2026-01",), "3": ("2026-01", "2026-02"), "Ü4": ("2026-01", "2026-02", "2026-03")}
    rows = [
        (person, when, draw.choice(groups))
        for when, written in MONTHS.items()
        for person in people
        if written not in late.get(person, ()) and draw.random() < 0.85
    ]
    return [rows[place] for place in draw.sample(range(len(rows)), len(rows))]


ROWS = made_up_rows()
EVERYWHERE = {None: ["far apart, weighted"], 2: ["first month of a person", "weighted"]}
"""The selections that are tried on every engine, by the bound on persons."""
ON_FILES = {
    None: [*EVERYWHERE[None], "those before, too", "none before"],
    2: list(SELECTIONS),
}
"""The same for one kind of file: without a bound on persons nothing else differs."""
TWO_ENGINES = ("csv", "postgres")
"""Of files and of databases: what kind of file it is changes nothing of a selection."""


@pytest.fixture(scope="module")
def places(server, tmp_path_factory):
    """The same rows in every kind of source."""
    directory = tmp_path_factory.mktemp("rows")
    write_csv(directory / "rows.csv", COLUMNS, ROWS)
    write_parquet(directory / "rows.parquet", dict.fromkeys(COLUMNS, pa.string()), ROWS)
    server.fill("visits", dict.fromkeys(COLUMNS, "text"), ROWS)
    return {
        "csv": {"path": str(directory / "rows.csv")},
        "parquet": {"path": str(directory / "rows.parquet")},
        "postgres": {"path": None, "url": server.url(), "table": "visits"},
    }


def configs(
    project, places, domain=DOMAIN, only=("csv", "parquet", "frame", "postgres"), **changes
):
    for name, place in places.items():
        if name not in only:
            continue
        yield name, load_config(project(people=None, source=place, domain=domain, **changes))
        if name == "parquet" and "frame" in only:
            config = load_config(project(people=None, source=place, domain=domain, **changes))
            rows = zip(*ROWS, strict=True)
            table = pa.table(dict(zip(COLUMNS, map(list, rows), strict=True)))
            frame = FrameSource("keep", "made up", records_of(table))
            yield "frame", replace(config, source=frame)


@pytest.mark.parametrize("max_records", [None, 2])
def test_the_same_records_count_on_every_engine(project, places, tmp_path, max_records):
    unit = {"unit": {"column": "person", "max_records": max_records}} if max_records else {}
    for name, config in configs(project, places, privacy=unit):
        files = source_files(config.source)
        for words in (ON_FILES if name == "csv" else EVERYWHERE)[max_records]:
            selection = SELECTIONS[words]
            with quiet_libraries():
                held = tabulate(config, config.source, files, tmp_path, selection=selection)
            counts = every_cell(held.consume(), config.universe)
            expected = slow_counts(ROWS, selection, max_records)
            assert counts.tolist() == expected, (name, words)
            assert sum(expected), words


def test_filled_cells_weigh_the_same(project, places, tmp_path):
    selection = SELECTIONS["far apart, weighted"]
    for name, config in configs(project, places, only=TWO_ENGINES):
        with quiet_libraries():
            sensitive_cells = filled_cells(
                config, config.source, source_files(config.source), tmp_path, selection=selection
            )
        cells = sensitive_cells.consume()
        counts = np.zeros(4, dtype=np.int64)
        counts[cells.columns[0]] = cells.counts
        assert counts.tolist() == slow_counts(ROWS, selection, None), name


DAY = date(2026, 1, 31)
INSTANT = datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
CLOCK = INSTANT.replace(tzinfo=None)
TYPED = {
    "day": (pa.date32(), "date", [DAY, date(2026, 2, 1), date(9999, 12, 31), None], [1, 0, 0, 0]),
    "instant": (
        pa.timestamp("us", tz="UTC"), "timestamptz",
        [INSTANT, datetime(2026, 1, 31, 22, 30, tzinfo=UTC), None, INSTANT], [0, 1, 0, 0],
    ),
    "clock": (pa.timestamp("ms"), "timestamp", [CLOCK, None, CLOCK], [1, 0, 1, 0]),
    "number": (pa.int64(), "bigint", [202601, 2026, -5, None], [0, 0, 0, 0]),
    "digits": (pa.int64(), "bigint", [20260131, 20260201, 20261301], [0, 0, 0, 0]),
}  # fmt: skip
"""For each column its types, its values, and the counts of January by group."""


@pytest.mark.parametrize("column", TYPED)
def test_typed_columns_of_dates(project, server, tmp_path, column):
    """Days, instants and clocks are those that a column of the domain would hold."""
    arrow, kind, values, expected = TYPED[column]
    rows = [(None, value, "abc"[place % 3]) for place, value in enumerate(values)]
    write_parquet(
        tmp_path / "t.parquet",
        {"person": pa.string(), "visited": arrow, "group": pa.string()},
        rows,
    )
    server.fill("typed", {"person": "text", "visited": kind, "group": "text"}, rows)
    january = selection_of({"2026-01": 1})
    sources = ({"path": "t.parquet"}, {"path": None, "url": server.url(), "table": "typed"})
    for place in sources:
        config = load_config(project(people=None, source=place, domain=DOMAIN))
        with quiet_libraries():
            held = tabulate(
                config, config.source, source_files(config.source), tmp_path, selection=january
            )
        assert every_cell(held.consume(), config.universe).tolist() == expected


@pytest.mark.parametrize("role", ["levels", "days", "persons"])
def test_the_column_may_be_one_of_the_domain_or_that_of_the_persons(
    project, places, tmp_path, role
):
    """What it means there changes nothing here."""
    days = {
        "name": "visited", "type": "date", "first": "2026-01-01", "last": "2026-02-28",
        "resolution": "day", "missing": ["", "2026-01-05"], "out_of_domain": "missing",
        "source": "test",
    }  # fmt: skip
    levels = {
        "name": "visited", "type": "categorical", "levels": ["2026-01-05", "soon"],
        "missing": [""], "out_of_domain": "missing", "source": "test",
    }  # fmt: skip
    domain = [*DOMAIN, *{"levels": [levels], "days": [days], "persons": []}[role]]
    column = "visited" if role == "persons" else "person"
    unit = {"unit": {"column": column, "max_records": 50}}
    selection = SELECTIONS["two months"]
    rows = [(r[1], *r[1:]) for r in ROWS] if role == "persons" else ROWS
    expected = slow_counts(rows, selection, 50)
    for name, config in configs(project, places, domain, TWO_ENGINES, privacy=unit):
        with quiet_libraries():
            held = tabulate(
                config, config.source, source_files(config.source), tmp_path, selection=selection
            )
        shaped = every_cell(held.consume(), config.universe).reshape(4, -1)
        assert shaped.sum(axis=1).tolist() == expected, name


def test_a_column_that_is_not_there_is_found_before_the_charge(project, places, tmp_path):
    selection = selection_of({"2026-01": 1}, column="attended")
    for _, config in configs(project, places):
        with pytest.raises(SourceError) as caught:
            curator.preflight(
                config,
                config.source,
                source_files(config.source),
                directory=tmp_path,
                selection=selection,
            )
        assert "'attended'" in str(caught.value)
