"""Tables in memory are measured like files of the same records, and leave as little behind."""

import io
import os
import pickle
import tempfile
from datetime import UTC, date, datetime
from decimal import Decimal
from threading import Thread

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import synth
from synth.config import load_config
from synth.curator.files import frames
from synth.curator.files.frames import ArrivingTable, records_of, send
from synth.curator.not_private.exact_cells import exact_cells
from synth.job import continual, pipeline
from synth.job.measuring_process import (
    _hand_over,
    given_configuration,
    needed_columns,
    with_table,
)
from synth.privacy.continual import Tree
from tests.command_line import words_of_synth
from tests.conftest import PEOPLE, SMALL, merged

CANARY = "canary-4711"
IN_MEMORY = {"source": {"frame": True, "path": None}}
PERSON = {"privacy": {"unit": {"column": "person", "max_records": 2}, "epsilon": 2}}


def people():
    return pd.read_csv(io.StringIO(PEOPLE), dtype=object, keep_default_na=False)


def typed():
    return pd.read_csv(io.StringIO(PEOPLE)).assign(sex=lambda t: t["sex"].astype("category"))


def with_duplicates():
    return pd.concat([people(), people()[["age"]]], axis=1)


TABLES = {
    "pandas-objects": people,
    "pandas-typed": typed,
    "pandas-arrow": lambda: typed().convert_dtypes(dtype_backend="pyarrow"),
    "pandas-floats": lambda: people().assign(age=people()["age"].astype(float)),
    "polars": lambda: pl.from_pandas(typed()),
    "polars-texts": lambda: pl.read_csv(io.StringIO(PEOPLE), infer_schema=False),
    "arrow": lambda: pa.Table.from_pandas(typed()),
    "arrow-batch": lambda: pa.RecordBatch.from_pandas(typed()),
}


def rows_of(found):
    return sorted(zip(*(each.tolist() for each in (*found.columns, found.counts)), strict=True))


def counts(config, records, tmp_path):
    """The exact counts of a table, by the code of a run."""
    given = with_table(config, records)
    found = exact_cells(given, given.source, (), directory=tmp_path)
    return sorted(
        zip(*(each.tolist() for each in found.columns), found.counts.tolist(), strict=True)
    )


def of_file(project, tmp_path, text, **changes):
    config = load_config(project(people=text, **changes))
    files = (config.source.path,)
    found = exact_cells(config, config.source, files, directory=tmp_path)
    return sorted(
        zip(*(each.tolist() for each in found.columns), found.counts.tolist(), strict=True)
    )


def through_a_pipe(table, config):
    """The table as it arrives in the measuring process."""
    sent = io.BytesIO()
    send(records_of(table), needed_columns(config), sent)
    return ArrivingTable(io.BytesIO(sent.getvalue()))


@pytest.mark.parametrize("kind", TABLES)
def test_every_table_is_counted_as_the_file_of_its_records(kind, project, tmp_path):
    config = load_config(merged(SMALL, IN_MEMORY))
    wanted = of_file(project, tmp_path, PEOPLE)
    table = TABLES[kind]()
    assert counts(config, records_of(table), tmp_path) == wanted
    assert counts(config, through_a_pipe(table, config), tmp_path) == wanted
    assert sum(row[-1] for row in wanted) == 120


def test_the_whole_job_is_done_and_nothing_is_spent_twice(tmp_path, monkeypatch, capsys):
    """Of one kind of table: every kind is counted as a file by the test above."""
    kind = "pandas-objects"
    monkeypatch.chdir(tmp_path)
    config = merged(SMALL, {"source": None})
    outcome = synth.run(config, source=TABLES[kind]())
    assert synth.verify(outcome.path).is_bit_for_bit
    assert synth.Release(outcome.path).manifest["configuration"]["source"]["kind"] == "frame"
    again = synth.run(config, TABLES[kind]())
    assert again.was_there
    assert "nothing spent" in capsys.readouterr().err
    spelled_out = load_config(config, in_memory=True)
    assert synth.run(spelled_out, TABLES[kind]()).was_there
    assert synth.ledger(spelled_out).spent.epsilon == 1
    report = synth.inspect(config, TABLES[kind]())
    assert (report.records, report.troubles) == (120, ())
    assert synth.evaluate(config, outcome.path, TABLES[kind]()).raw_records == 120
    left = sorted(path.name for path in (tmp_path / "state" / "runs" / "small").iterdir())
    assert left == ["lock", "measured-files.json", "measurements.parquet", "receipt.json",
                    "reservation"]  # fmt: skip


def test_a_run_that_was_measured_needs_no_table_any_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    config = load_config(merged(SMALL, IN_MEMORY))
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "_publish", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            synth.run(config, people())
    assert synth.run(config).path.exists()


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (lambda: people().drop(columns="town"), "has no column 'town'"),
        (with_duplicates, "more than one column 'age'"),
        (lambda: people().assign(age=pd.to_timedelta(1, "D")), "a type that cannot be counted"),
        (lambda: people().assign(age=1j), "a type that cannot be counted"),
        (lambda: people().assign(age=pd.cut(typed()["age"], 3)), "a type that cannot be counted"),
    ],
)
def test_columns_that_do_not_fit_are_told_of_as_for_files_and_cost_nothing(
    table, sentence, tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(synth.errors.SourceError, match=sentence) as refusal:
        synth.run(merged(SMALL, IN_MEMORY), source=table())
    assert "nothing was charged" in str(refusal.value)
    assert not (tmp_path / "outputs" / "small").exists()
    capsys.readouterr()


@pytest.mark.parametrize("table", [PEOPLE, 7, {"age": [1]}, pl.LazyFrame(), pa.array([1])])
def test_what_is_no_table_is_refused(table):
    with pytest.raises(synth.errors.SourceError, match="no table that can be counted"):
        synth.run(merged(SMALL, IN_MEMORY), source=table)


def test_a_table_goes_with_a_source_that_says_so_alone(project):
    with pytest.raises(synth.errors.ConfigError, match="frame: true"):
        synth.run(project(), source=people())
    with pytest.raises(synth.errors.ConfigError, match="frame: true"):
        synth.run(load_config(project()), source=people())
    with pytest.raises(synth.errors.ConfigError, match="another place"):
        load_config(merged(SMALL, {"source": {"frame": False, "path": None}}))
    with pytest.raises(synth.errors.SourceError, match="none were handed over"):
        synth.run(project(people=None, **IN_MEMORY))
    with pytest.raises(synth.errors.ConfigError, match="keep, because only files"):
        load_config(merged(SMALL, {"source": {"frame": True, "path": None, "disposal": "delete"}}))


class Hostile:
    """An object whose text is an error that tells a value."""

    def __str__(self) -> str:
        raise ValueError(CANARY)


AWKWARD = [
    None, np.nan, pd.NA, pd.NaT, float("inf"), 10**5_000, -7, np.int8(3), np.float32(1.5), True,
    np.bool_(0), b"\xff", "\ud800", "34", Decimal("1E-3"), Decimal("NaN"), date(2020, 1, 2),
    datetime(2020, 1, 2, 3, 4, 5, 6), datetime(2020, 1, 2, 3, tzinfo=UTC), [1, 2], {"a": 1},
    Hostile(), object(), np.datetime64("2020-01-02"), 1 + 2j, Decimal("sNaN"),
]  # fmt: skip


def test_no_value_of_an_object_column_stops_or_changes_anything_but_its_own_record(tmp_path):
    config = load_config(merged(SMALL, IN_MEMORY))
    table = pd.DataFrame({"age": AWKWARD, "sex": AWKWARD[::-1], "town": AWKWARD}, dtype=object)
    assert records_of(table).schema == records_of(table.iloc[:0]).schema
    alone = [
        row
        for place in range(len(table))
        for row in counts(config, records_of(table.iloc[[place]]), tmp_path)
    ]
    together = counts(config, through_a_pipe(table, config), tmp_path)
    assert sum(row[-1] for row in together) == len(AWKWARD)
    assert sorted({row[:-1] for row in alone}) == [row[:-1] for row in together]


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python"), "category"])
def test_a_text_of_no_characters_is_a_value_like_any_other(dtype, tmp_path):
    config = load_config(merged(SMALL, IN_MEMORY))
    sexes = pd.Index(["Male", "\ud800", "\udcff"], dtype=object)
    if dtype == "category":
        sexes = pd.Categorical.from_codes([0, 1, 2], sexes.astype(pd.StringDtype("python")))
    else:
        sexes = sexes.astype(dtype)
    table = pd.DataFrame({"age": [1] * 3, "sex": sexes, "town": ["Nord"] * 3})
    assert records_of(table).schema == records_of(table.iloc[:0]).schema
    found = counts(config, through_a_pipe(table, config), tmp_path)
    assert sum(row[-1] for row in found) == 3


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python")])
def test_persons_whose_ids_are_no_characters_stay_two(dtype, tmp_path):
    config = load_config(merged(SMALL, IN_MEMORY | PERSON))
    ids = pd.Index(["a\udcfe", "a\udcff", "a\ud800", "a?"], dtype=object).astype(dtype)
    table = pd.DataFrame({"person": ids.repeat(2), "age": 34, "sex": "Male", "town": "Nord"})
    found = counts(config, through_a_pipe(table, config), tmp_path)
    assert sum(row[-1] for row in found) == 2 * len(ids)


def test_objects_without_a_text_are_no_person(tmp_path):
    """Rather than one: at most two records of that one would be kept, whoever they are about."""
    config = load_config(merged(SMALL, IN_MEMORY | PERSON))
    ids = pd.Series([10**5000, 10**5000 + 1, "a", "b"], dtype=object)
    table = pd.DataFrame({"person": ids.repeat(2), "age": 34, "sex": "Male", "town": "Nord"})
    found = counts(config, through_a_pipe(table, config), tmp_path)
    assert sum(row[-1] for row in found) == 4


def test_an_exponent_takes_no_memory():
    assert frames._text(Decimal("1E+999999999999")) == "1E+999999999999"
    assert frames._text(Decimal("-1E-999999999999")) == "-1E-999999999999"
    assert frames._text(Decimal("1E+30")) == "1" + "0" * 30


def test_texts_of_objects_are_those_of_columns_with_a_type():
    found = [frames._text(value) for value in AWKWARD]
    assert found[:4] == [None] * 4
    assert found[6:11] == ["-7", "3", "1.5", "true", "false"]
    assert found[14:19] == [
        "0.001",
        None,
        "2020-01-02",
        "2020-01-02 03:04:05",
        "2020-01-02 03:00:00Z",
    ]
    assert found[21] is None
    typed = pa.array([datetime(2020, 1, 2, 3, 4, 5)], pa.timestamp("us"))
    assert typed.cast(pa.string())[0].as_py().startswith(found[17])


def test_the_types_of_a_table_do_not_depend_on_its_records():
    for make in TABLES.values():
        table = make()
        if isinstance(table, pd.DataFrame):
            assert records_of(table).schema == records_of(table.iloc[:0]).schema


def test_persons_are_bounded_as_in_files(project, tmp_path):
    text = (
        "person,age,sex,town\n"
        + "1,34,Female,Nord\n1,35,Female,Nord\n1,36,Female,Nord\n2,1,Male,Nord\n"
    )
    wanted = of_file(project, tmp_path, text, **PERSON)
    config = load_config(merged(SMALL, IN_MEMORY | PERSON))
    table = pd.read_csv(io.StringIO(text))
    assert counts(config, through_a_pipe(table, config), tmp_path) == wanted
    assert sum(row[-1] for row in wanted) == 3
    floats = table.assign(person=table["person"].astype(float))
    with pytest.raises(synth.errors.SourceError, match="as whole numbers, or as text"):
        counts(config, records_of(floats), tmp_path)


def test_a_table_that_is_not_sent_whole_is_refused(tmp_path):
    config = load_config(merged(SMALL, IN_MEMORY))
    sent = io.BytesIO()
    send(records_of(people()), needed_columns(config), sent)
    for cut in (1, len(frames.WHOLE), 4_000):
        arriving = ArrivingTable(io.BytesIO(sent.getvalue()[:-cut]))
        with pytest.raises(synth.errors.SourceError, match="could not be read to its end"):
            counts(config, arriving, tmp_path)


def test_a_table_is_counted_once_for_every_node_of_a_series(tmp_path, log, monkeypatch):
    """The second period of a binary tree measures its own records, and those of both."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(continual, "factorization_of", lambda _, horizon: Tree(horizon, 2))
    days = [f"2026-0{1 + number % 2}-10" for number in range(120)]
    table = people().assign(day=days)
    values = {
        "release": {"id": "small-{period}"},
        "source": IN_MEMORY["source"] | {"where": {"column": "day", "within": "period"}},
        "series": {"every": "month", "first": "2026-01", "rows": "all", "horizon": 2},
    }
    for period, nodes in (("2026-01", 1), ("2026-02", 3)):
        config = load_config(merged(SMALL, values), period=period)
        sent = io.BytesIO()
        pickle.dump((config, True), sent)
        send(records_of(table), needed_columns(config), sent)
        given = given_configuration(io.BytesIO(sent.getvalue()))
        pipeline.measure(given, log=log)
        folder = pipeline.publish(given, log=log).path
        measured = synth.Release(folder).measurements
        assert len(measured.continual.nodes) == nodes
    whole = measured.continual.nodes[-1].tables[0].noisy_counts.sum()
    assert (
        abs(whole - 120) < 100 > abs(measured.continual.nodes[1].tables[0].noisy_counts.sum() - 60)
    )


class Panic(BaseException):
    """What libraries in Rust raise; no Exception."""


class Panicking:
    @property
    def schema(self):
        raise Panic(CANARY)


def test_what_a_library_raises_in_the_thread_that_sends_is_not_told(capsys):
    config = load_config(merged(SMALL, IN_MEMORY))
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe:
        thread = Thread(target=_hand_over, args=(config, Panicking(), writing))
        thread.start()
        thread.join()
        assert frames.WHOLE not in pipe.read()
    assert CANARY not in capsys.readouterr().err


def test_no_value_is_told_or_written_whatever_happens(tmp_path, monkeypatch, capfd):
    words_of_synth()  # what measures starts before the place of its temporary files changes
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    sexes = ["Male", CANARY, "Female"]
    table = pd.DataFrame({"age": [1] * 3, "sex": sexes, "town": ["Nord"] * 3})
    config = merged(SMALL, {"source": None})

    def fails(values, *_):
        raise ValueError(list(values))

    for way in ("works", "fails"):
        (tmp_path / way).mkdir()
        monkeypatch.chdir(tmp_path / way)
        if way == "works":
            assert synth.run(config, source=table).was_there is False
        else:
            monkeypatch.setattr(frames, "_arrow", fails)
            with pytest.raises(synth.errors.SynthError, match="not be read to its end") as failed:
                synth.run(config, source=table)
            assert failed.value.exit_code == 1
            assert CANARY not in f"{failed.value} {failed.value.__context__}"
        assert (tmp_path / way / "outputs" / "small").exists() is (way == "works")
    said = capfd.readouterr()
    assert CANARY not in said.out + said.err
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or CANARY.encode() not in path.read_bytes(), path


def test_a_draft_of_a_table_names_it_and_is_marked(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    drafted = synth.draft(pl.from_pandas(typed()), "drafted.yaml")
    text = drafted.path.read_text(encoding="utf-8")
    assert "  frame: true\n" in text
    assert "Nord" in text
    with pytest.raises(synth.errors.ConfigError, match="CONFIRM"):
        synth.inspect(drafted.path, typed())
    assert "PRIVATE" in capsys.readouterr().err
