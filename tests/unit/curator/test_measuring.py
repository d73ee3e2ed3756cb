"""The whole measuring step on small files, with noise that a test can take off again."""

import gzip
import logging
import os
import warnings

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator import disposal, measuring
from synth.curator.boundary import measure_table
from synth.curator.disposal import (
    SOURCE_ABSENT,
    SOURCE_GONE_BEFORE,
    SOURCE_KEPT,
    discard,
    record_measured_files,
)
from synth.curator.seal import Sensitive
from synth.errors import SourceError, SynthError
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
from synth.planning import plan_events

KEY = bytes(range(32))


def measured(path, tmp_path):
    config = load_config(path)
    return curator.measure(
        config,
        config.source,
        plan_events(config),
        files=source_files(config.source),
        stream=NoiseStream(key=KEY),
        directory=tmp_path,
    )


def true_counts(path, tmp_path):
    """The exact counts: the noisy ones less the noise of the known key."""
    table = measured(path, tmp_path).tables[0]
    law = DiscreteLaplace(table.event.epsilon, table.event.sensitivity_l1)
    noise = TableSampler(law).draw(NoiseStream(key=KEY), table=0, start=0, count=table.event.cells)
    return (table.noisy_counts - noise).reshape(load_config(path).universe.shape)


ROWS = [("34", "Female", "Nord"), ("99", "Male", "Süd"), ("7", "", "Other"), ("x", "?", "Rom")]


def slow_counts(path, rows):
    universe = load_config(path).universe
    counts = np.zeros(universe.shape, dtype=np.int64)
    for age, sex, town in rows:
        number = int(age) if age.isdigit() else 0
        code = (
            min(number // 20, 4),
            {"Female": 0, "Male": 1}.get(sex, 2),
            {"Nord": 0, "Süd": 1}.get(town, 2),
        )
        counts[code] += 1
    return counts


def as_csv(rows, delimiter=",", newline="\n", encoding="utf-8"):
    lines = [("age", "sex", "town"), *rows]
    text = newline.join(delimiter.join(line) for line in lines) + newline
    return text.encode(encoding)


SOURCES = {
    "csv": ("people.csv", lambda rows: as_csv(rows), {}),
    "csv.gz": ("people.csv.gz", lambda rows: gzip.compress(as_csv(rows)), {}),
    "semicolons": ("people.csv", lambda rows: as_csv(rows, ";"), {"delimiter": ";"}),
    "latin-1": ("people.csv", lambda r: as_csv(r, encoding="latin-1"), {"encoding": "latin-1"}),
    "windows": ("people.csv", lambda rows: as_csv(rows, newline="\r\n"), {}),
    "byte order mark": ("people.csv", lambda rows: b"\xef\xbb\xbf" + as_csv(rows), {}),
}


@pytest.mark.parametrize("kind", SOURCES)
def test_every_kind_of_text_file_gives_the_same_counts(project, tmp_path, kind):
    name, write, dialect = SOURCES[kind]
    path = project(people=None, source={"path": name, **dialect})
    (tmp_path / name).write_bytes(write(ROWS * 3))
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, ROWS * 3))


def test_parquet_text_and_numbers(project, tmp_path):
    path = project(people=None, source={"path": "people.parquet"})
    rows = [("34", "Female", "Nord"), ("99", "Male", "Süd"), ("7", "", "Other")]
    table = pa.table(
        {
            "town": pa.array([r[2] for r in rows]).dictionary_encode(),
            "age": pa.array([int(r[0]) for r in rows], pa.int8()),
            "sex": pa.array([r[1] or None for r in rows]),
        }
    )
    pq.write_table(table, tmp_path / "people.parquet")
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, rows))


def test_a_glob_counts_all_files_whatever_the_order_of_their_columns(project, tmp_path):
    path = project(people=None, source={"path": "part-*.csv"})
    (tmp_path / "part-1.csv").write_bytes(as_csv(ROWS))
    swapped = "town,extra,age,sex\n" + "".join(f"{t},z,{a},{s}\n" for a, s, t in ROWS)
    (tmp_path / "part-2.csv").write_text(swapped)
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, ROWS * 2))


def test_equal_records_of_files_of_different_types_all_count(project, tmp_path):
    path = project(people=None, source={"path": "part-*.parquet"})
    rows = [("34", "Female", "Nord"), ("34", "Female", "Nord"), ("7", "Male", "Süd")]
    for number, kind in enumerate((str, int, float)):
        ages, sexes, towns = zip(*rows, strict=True)
        columns = {"age": list(map(kind, ages)), "sex": sexes, "town": towns}
        pq.write_table(pa.table(columns), tmp_path / f"part-{number}.parquet")
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, rows * 3))


def test_a_source_that_is_not_there_is_refused_by_name(project):
    path = project(source={"path": "none-*.csv"})
    with pytest.raises(SourceError, match=r"no file: .*none-\*\.csv"):
        source_files(load_config(path).source)


def test_broken_lines_are_left_out_and_touch_no_other_line(project, tmp_path):
    broken = as_csv(ROWS) + b"1\n2,Male\n" + as_csv(ROWS)[len("age,sex,town\n") :]
    path = project(people=broken)
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, ROWS * 2))


def test_a_damaged_gzip_file_is_not_counted_in_part(project, tmp_path):
    path = project(people=None, source={"path": "people.csv.gz"})
    packed = bytearray(gzip.compress(as_csv([(str(i % 99), "Male", "Nord") for i in range(9999)])))
    packed[-8] ^= 1  # the checksum
    (tmp_path / "people.csv.gz").write_bytes(packed)
    with pytest.raises(SourceError, match="damaged or incomplete file"):
        measured(path, tmp_path)


@pytest.mark.parametrize("name", ["p[1].csv", "[x]/people.csv"])
def test_a_file_whose_name_is_a_pattern_is_itself_and_no_other(project, tmp_path, name):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_bytes(as_csv(ROWS))
    (tmp_path / "p1.csv").write_bytes(as_csv(ROWS * 9))
    path = project(people=None, source={"path": name})
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, ROWS))


@pytest.mark.parametrize("encoding", ["utf-8", "latin-1", "windows-1252", "iso-8859-15"])
def test_no_byte_of_a_text_file_can_stop_a_run(project, tmp_path, encoding):
    """All 256 in every field, quotes and line ends aside: one record each, in its own cell."""
    lines = [
        value
        for byte in set(range(256)) - set(b'",\r\n')
        for value in (
            b"34,Female,%c" % byte,
            b"%c,Female,Nord" % byte,
            b"34,%cx%c,Nord" % (byte, byte),
        )
    ]
    path = project(
        people=b"age,sex,town\n" + b"\n".join(lines) + b"\n", source={"encoding": encoding}
    )
    assert true_counts(path, tmp_path).sum() == len(lines)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_names_of_directories_are_no_columns(project, tmp_path, kind):
    place = tmp_path / "town=Other" / "c0=1"
    place.mkdir(parents=True)
    if kind == "csv":
        (place / "people.csv").write_bytes(as_csv(ROWS[:2]))
    else:
        rows = list(zip(*ROWS[:2], strict=True))
        table = pa.table(dict(zip(("age", "sex", "town"), rows, strict=True)))
        pq.write_table(table, place / "people.parquet")
    path = project(people=None, source={"path": f"town=Other/c0=1/people.{kind}"})
    assert np.array_equal(true_counts(path, tmp_path), slow_counts(path, ROWS[:2]))


def test_a_blank_line_before_the_header_is_refused(project, tmp_path):
    with pytest.raises(SourceError, match="no readable header"):
        measured(project(people=b"\n" + as_csv(ROWS)), tmp_path)


def test_a_person_written_in_two_types_is_refused(project, tmp_path):
    unit = {"unit": {"column": "id", "max_records": 1}}
    path = project(people=None, source={"path": "*.parquet"}, privacy=unit)
    rest = {"age": [1], "sex": ["Male"], "town": ["Nord"]}
    for kind in ([1], ["1"]):
        pq.write_table(pa.table({"id": kind, **rest}), tmp_path / f"{type(kind[0])}.parquet")
    with pytest.raises(SourceError, match="'id' as whole numbers, or as text"):
        measured(path, tmp_path)
    for found in tmp_path.glob("*.parquet"):
        pq.write_table(pa.table({"id": [1.0], **rest}), found)
    with pytest.raises(SourceError, match="'id' as whole numbers, or as text"):
        measured(path, tmp_path)


def test_a_parquet_column_twice_is_refused(project, tmp_path):
    path = project(people=None, source={"path": "people.parquet"})
    table = pa.table([[1], ["Male"], ["Nord"], [2]], names=["age", "sex", "town", "age"])
    pq.write_table(table, tmp_path / "people.parquet")
    with pytest.raises(SourceError, match="more than one column 'age'"):
        measured(path, tmp_path)


def test_a_person_is_counted_max_records_times(project, tmp_path):
    lines = "".join(f"p,{age},Male,Nord\n" for age in range(0, 100, 10)) + "q,5,Female,Süd\n"
    path = project(
        people="id,age,sex,town\n" + lines + ",5,Female,Süd\n" * 7,
        privacy={"unit": {"column": "id", "max_records": 3}},
    )
    counts = true_counts(path, tmp_path)
    assert counts.sum() == 4
    assert plan_events(load_config(path))[0].sensitivity_l1 == 3


@pytest.mark.parametrize("row", [("34", "Male", "Nord"), ("1e9", "new", "Atlantis"), ("", "", "")])
def test_neighbours_with_the_same_key_differ_in_one_cell_by_one(project, tmp_path, row):
    """Record and replay of the whole measuring step: the same words, one cell, one record."""
    without = measured(project(people=as_csv(ROWS)), tmp_path).tables[0]
    with_row = measured(project(people=as_csv([*ROWS, row])), tmp_path).tables[0]
    difference = with_row.noisy_counts - without.noisy_counts
    assert np.abs(difference).sum() == 1
    assert difference.max() == 1


def test_replacing_a_record_moves_one_count_of_two_cells(project, tmp_path):
    before = measured(project(people=as_csv(ROWS)), tmp_path).tables[0]
    after = measured(project(people=as_csv([("70", "Male", "Nord"), *ROWS[1:]])), tmp_path)
    difference = after.tables[0].noisy_counts - before.noisy_counts
    assert sorted(difference[difference != 0]) == [-1, 1]


def test_two_runs_of_one_source_have_different_noise(project, tmp_path):
    path = project(people=as_csv(ROWS))
    config = load_config(path)
    runs = [
        curator.measure(
            config,
            config.source,
            plan_events(config),
            files=source_files(config.source),
            stream=NoiseStream.from_operating_system(),
            directory=tmp_path,
        )
        for _ in range(2)
    ]
    assert not np.array_equal(runs[0].tables[0].noisy_counts, runs[1].tables[0].noisy_counts)


def test_measuring_leaves_nothing_and_wipes_the_key(project, tmp_path):
    path = project(people=as_csv(ROWS))
    config, stream = load_config(path), NoiseStream(key=KEY)
    before = set(tmp_path.iterdir())
    curator.measure(
        config,
        config.source,
        plan_events(config),
        files=source_files(config.source),
        stream=stream,
        directory=tmp_path,
    )
    assert set(tmp_path.iterdir()) == before
    with pytest.raises(Exception, match="closed"):
        stream.keystream(lane=0, table=0, index=0)


def test_libraries_log_to_no_file_while_raw_data_are_open(project, tmp_path, monkeypatch):
    """Handlers with a file of their own are not reached by closing the output streams."""
    exact, written = measuring.tabulate, tmp_path / "library.log"

    def talkative(*arguments, **named):
        logging.getLogger("made.up.library").critical("cannot cast CANARY7391")
        warnings.warn("strange value CANARY7391", RuntimeWarning, stacklevel=1)
        return exact(*arguments, **named)

    shown = []
    monkeypatch.setattr(measuring, "tabulate", talkative)
    monkeypatch.setattr(warnings, "showwarning", lambda *told, **_: shown.append(told))
    handler = logging.FileHandler(written)
    logging.getLogger().addHandler(handler)
    try:
        measured(project(people=as_csv(ROWS)), tmp_path)
        logging.getLogger("made.up.library").critical("afterwards")
    finally:
        logging.getLogger().removeHandler(handler)
        handler.close()
    assert written.read_text() == "afterwards\n"
    assert shown == []


def test_noise_and_counts_stay_whole_numbers(project):
    event = plan_events(load_config(project()))[0]
    counts = Sensitive(np.full(event.cells, 2**40, dtype=np.int64))
    table = measure_table(counts, event, number=0, stream=NoiseStream(key=KEY))
    assert table.noisy_counts.dtype == np.int64
    assert np.abs(table.noisy_counts - 2**40).max() < 100


class TestDisposal:
    """`delete` removes what was measured and nothing else."""

    @pytest.fixture
    def source(self, project):
        return load_config(project(source={"disposal": "delete"})).source

    def test_keep_keeps(self, project, tmp_path):
        source = load_config(project()).source
        assert SOURCE_KEPT in discard(source, tmp_path).checks
        assert source.path.exists()

    def test_delete_deletes_and_may_be_repeated(self, source, tmp_path):
        record_measured_files(tmp_path, source_files(source))
        assert SOURCE_ABSENT in discard(source, tmp_path).checks
        assert not source.path.exists()
        assert SOURCE_ABSENT in discard(source, tmp_path).checks

    def test_a_link_and_its_target_are_both_removed(self, source, tmp_path):
        target = tmp_path / "elsewhere.csv"
        source.path.rename(target)
        source.path.symlink_to(target)
        record_measured_files(tmp_path, source_files(source))
        discard(source, tmp_path)
        assert not target.exists()
        assert not source.path.is_symlink()

    def test_a_file_that_somebody_moved_is_not_called_deleted(self, source, tmp_path):
        record_measured_files(tmp_path, source_files(source))
        source.path.rename(tmp_path / "backup.csv")
        checks = discard(source, tmp_path).checks
        assert SOURCE_ABSENT not in checks
        assert SOURCE_GONE_BEFORE in checks

    def test_a_file_that_is_there_again_at_once_is_not_called_deleted(
        self, source, tmp_path, monkeypatch
    ):
        """Whoever writes the source may do so between its removal and the look at it."""
        monkeypatch.setattr(disposal, "sync_directory", lambda _: source.path.write_text("new"))
        record_measured_files(tmp_path, source_files(source))
        with pytest.raises(SynthError, match="still there after it was deleted"):
            discard(source, tmp_path)

    def test_a_file_that_changed_since_is_kept(self, source, tmp_path):
        record_measured_files(tmp_path, source_files(source))
        source.path.write_text("age,sex,town\n")
        with pytest.raises(SynthError, match="changed after it was measured"):
            discard(source, tmp_path)
        assert source.path.exists()

    def test_a_file_with_a_second_name_is_kept(self, source, tmp_path):
        os.link(source.path, tmp_path / "copy.csv")
        record_measured_files(tmp_path, source_files(source))
        with pytest.raises(SynthError, match="second name"):
            discard(source, tmp_path)

    def test_a_file_that_came_later_is_kept(self, project, tmp_path):
        source = load_config(project(source={"path": "*.csv", "disposal": "delete"})).source
        record_measured_files(tmp_path, source_files(source))
        later = tmp_path / "later.csv"
        later.write_text("age,sex,town\n")
        discard(source, tmp_path)
        assert later.exists()

    def test_a_leftover_of_the_engine_stops_the_statement(self, project, tmp_path):
        source = load_config(project()).source
        (tmp_path / "scratch-x").mkdir()
        with pytest.raises(SynthError, match="still there"):
            discard(source, tmp_path)
        curator.remove_spilled(tmp_path)
        discard(source, tmp_path)
