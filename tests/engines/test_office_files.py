"""Files that offices have: the same table gives the same counts in every kind of file."""

from __future__ import annotations

import decimal
import gzip
import importlib.util
import json
import struct
import zipfile
from datetime import date, datetime, time
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import yaml

from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.files.text_tables import JsonLines
from synth.errors import SourceError
from tests.command_line import synth
from tests.conftest import SMALL, merged
from tests.engines.office_files import WRITERS, zipped, zipped_nothing
from tests.engines.test_files import peaks

from .conftest import counts_of

CANARY = "CANARY7391"
COMPOUND_FILE = b"\xd0\xcf\x11\xe0"

NAMES = ("age", "sex", "town", "person")
ROWS = [
    ("34", "Female", "Nord", "17"), ("67.5", "Male", "Süd", "18"), ("", "", "Nord", "17"),
    ("-3", "Male", "", "17"), ("120", "x" * 200, "Süd", "19"), ("0", "Female", "South", "20"),
    ("99", "male", "Nord", "21"), ("0.1", "Female", "Nord", "17"),
] * 3  # fmt: skip


PERSONS = {"privacy": {"unit": {"column": "person", "max_records": 2}}}
TYPED_PERSONS = ("arrow", "feather", "stream.arrow", "parquet")
"""Kinds of files that declare a float, which is no person; see test_postgres_runs.py."""


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    """The counts of the table as CSV: of all records, and of at most two of each person."""
    place = tmp_path_factory.mktemp("csv")
    WRITERS["csv"](place / "people.csv", NAMES, ROWS)
    found = []
    for changes in ({}, PERSONS):
        (place / "small.yaml").write_text(yaml.safe_dump(merged(SMALL, changes)))
        found.append(counts_of(place / "small.yaml"))
    assert [counts.sum() for counts in found] == [len(ROWS), 10]
    return found


@pytest.mark.parametrize("ending", WRITERS)
def test_the_counts_are_those_of_the_same_table_as_csv(project, tmp_path, expected, ending):
    """Persons are whole numbers of any kind, and are bounded alike."""
    WRITERS[ending](tmp_path / f"people.{ending}", NAMES, ROWS)
    source = {"path": f"people.{ending}"}
    assert np.array_equal(counts_of(project(people=None, source=source)), expected[0])
    if ending not in TYPED_PERSONS:
        bounded = counts_of(project(people=None, source=source, **PERSONS))
        assert np.array_equal(bounded, expected[1])


def test_a_file_of_sas_is_read_with_its_dates_and_texts(project, tmp_path):
    """The sample of pyreadstat (Apache License 2.0), since no library writes such files."""
    packed = Path(__file__).parent / "data" / "sample.sas7bdat.gz"
    (tmp_path / "people.sas7bdat").write_bytes(gzip.decompress(packed.read_bytes()))
    levels = {
        "mychar": ["a", "b", "c", "d", "e"],
        "mynum": ["1.1", "1.2", "-1000.3", "-1.4", "1000.3"],
        "mydate": ["2018-05-06", "1880-05-06", "1960-01-01", "1583-01-01"],
        "dtime": ["2018-05-06T10:10:10", "1960-01-01T00:00:00"],
    }
    domain = [
        {"name": name, "type": "categorical", "levels": values, "missing": [""]}
        | {"out_of_domain": "missing", "source": "test"}
        for name, values in levels.items()
    ]
    source = {"path": "people.sas7bdat"}
    counts = counts_of(project(people=None, source=source, domain=domain))
    expected = np.zeros((6, 6, 5, 3), dtype=int)
    for cell in ((0, 0, 0, 0), (1, 1, 1, 2), (2, 2, 2, 1), (3, 3, 3, 2), (4, 4, 4, 2)):
        expected[cell] = 1
    assert np.array_equal(counts, expected)


def test_dates_of_every_kind_of_file_are_written_in_iso(tmp_path):
    import pyreadstat

    from synth.curator.files.statistics_file import StatisticsFile
    from synth.curator.files.workbook import Workbook

    days = [date(2020, 1, 31), date(1899, 12, 31), None]
    frame = pd.DataFrame({"day": days, "seen": pd.to_datetime(["2020-01-31 12:30", None, None])})
    pyreadstat.write_sav(frame, tmp_path / "people.sav")
    pyreadstat.write_dta(frame, tmp_path / "people.dta")
    pyreadstat.write_xport(frame, tmp_path / "people.xpt")
    for ending in ("sav", "dta", "xpt"):
        table = StatisticsFile(tmp_path / f"people.{ending}")
        (batch,) = table.batches(["day", "seen"])
        assert [values.to_pylist() for values in batch] == [
            ["2020-01-31", "1899-12-31", None], ["2020-01-31T12:30:00", None, None],
        ]  # fmt: skip
    frame = pd.DataFrame({"day": [1e9, -1e9, 0.0]})
    pyreadstat.write_dta(frame, tmp_path / "people.dta", variable_format={"day": "%td"})
    (batch,) = StatisticsFile(tmp_path / "people.dta").batches(["day"])
    assert batch[0].to_pylist() == ["1000000000", "-1000000000", "1960-01-01"]
    moments = [datetime(2020, 1, 31), datetime(2020, 1, 31, 12, 30), time(7, 5)]
    book = openpyxl_book([["day", "seen", "at"], moments])
    book.save(tmp_path / "people.xlsx")
    (batch,) = Workbook(tmp_path / "people.xlsx", None).batches(["day", "seen", "at"])
    found = [values.to_pylist() for values in batch]
    assert found == [["2020-01-31"], ["2020-01-31T12:30:00"], ["07:05:00"]]


TYPED = [
    ("flag", [1, 0, 9, None, 2]),
    ("code", [1, -3, 99, None, 7]),
    ("real", [-1.5, -0.0, 0.1, 100, None, 1e22, 2.5]),
    ("day", ["1959-12-31", "1960-01-01", "2000-02-29", "2024-12-31", "2025-01-01", None]),
    ("at", ["2020-02-29T23:59:59", "2020-03-01T00:00:00", "2020-11-30T23:59:59", None]),
]  # fmt: skip
"""Columns, and some values of each: whole numbers that are missing codes, and ends of periods."""


def typed_domain():
    kinds = [
        {"type": "boolean", "missing": ["", "9"]},
        {"type": "categorical", "levels": ["1", "-3"], "missing": ["", "99"]},
        {"type": "number", "edges": [-1.5, 0, 0.1, 100], "missing": [""]},
        {"type": "date", "first": "1960", "last": "2024", "resolution": "year", "missing": [""]},
        {"type": "datetime", "first": "2020-03", "last": "2020-11", "resolution": "month"}
        | {"missing": [""]},
    ]
    rest = {"out_of_domain": "missing", "source": "test"}
    return [{"name": name} | kind | rest for (name, _), kind in zip(TYPED, kinds, strict=True)]


def typed_frame(rows, **formats):
    """The rows as columns of numbers: of days and moments since an origin, in some unit."""
    frame = pd.DataFrame(rows, columns=[name for name, _ in TYPED])
    for name, (origin, unit) in formats.items():
        since = [
            None if at is None else (datetime.fromisoformat(at) - origin).total_seconds() / unit
            for at in (dict(zip(frame, row, strict=True))[name] for row in rows)
        ]
        frame[name] = pd.Series(since, dtype=float)
    return frame.astype(float)


@pytest.fixture(scope="module")
def typed_rows():
    rng = np.random.default_rng(3)
    return [[values[rng.integers(len(values))] for _, values in TYPED] for _ in range(100)]


@pytest.fixture(scope="module")
def typed_counts(typed_rows, tmp_path_factory):
    """Those of the rows as CSV."""
    place = tmp_path_factory.mktemp("typed")
    texts = [["" if value is None else str(value) for value in row] for row in typed_rows]
    rows = [[name for name, _ in TYPED], *texts]
    (place / "people.csv").write_text("\n".join(",".join(row) for row in rows))
    config = SMALL | {"domain": typed_domain()}
    (place / "small.yaml").write_text(yaml.safe_dump(config, allow_unicode=True))
    counts = counts_of(place / "small.yaml")
    for place in range(counts.ndim):
        others = tuple(axis for axis in range(counts.ndim) if axis != place)
        assert np.count_nonzero(counts.sum(others)) >= 3
    return counts


@pytest.mark.parametrize("ending", ["jsonl", "xlsx", "arrow", "sav", "zsav", "dta", "xpt"])
def test_columns_of_every_type_have_the_counts_of_the_same_table_as_csv(
    project, tmp_path, typed_rows, typed_counts, ending
):
    import pyreadstat

    rows, names = typed_rows, [name for name, _ in TYPED]
    path = tmp_path / f"people.{ending}"
    spss, other = datetime(1582, 10, 14), datetime(1960, 1, 1)
    if ending == "jsonl":
        lines = [json.dumps(dict(zip(names, row, strict=True))) for row in rows]
        path.write_text("\n".join(lines))
    elif ending == "xlsx":
        moments = [[*row[:3], *(at and datetime.fromisoformat(at) for at in row[3:])]
                   for row in rows]  # fmt: skip
        openpyxl_book([names, *moments]).save(path)
    elif ending == "arrow":
        columns = list(zip(*rows, strict=True))
        kinds = [pa.int8(), pa.float64(), pa.float64(), pa.date64(), pa.timestamp("ms")]
        days = [at and date.fromisoformat(at) for at in columns[3]]
        moments = [at and datetime.fromisoformat(at) for at in columns[4]]
        values = [*columns[:3], days, moments]
        table = pa.table(dict(zip(names, map(pa.array, values, kinds), strict=True)))
        with pa.ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table, max_chunksize=37)
    elif ending == "dta":
        frame = typed_frame(rows, day=(other, 86_400), at=(other, 0.001))
        pyreadstat.write_dta(frame, path, variable_format={"day": "%tdCCYY", "at": "%tc"})
    elif ending == "xpt":
        frame = typed_frame(rows, day=(other, 86_400), at=(other, 1))
        forms = {"day": "YYMMDD10.", "at": "DATETIME20."}
        pyreadstat.write_xport(frame, path, variable_format=forms)
    else:
        frame = typed_frame(rows, day=(spss, 1), at=(spss, 1))
        forms = {"day": "EDATE10", "at": "DATETIME20"}
        pyreadstat.write_sav(frame, path, variable_format=forms, compress=ending == "zsav")
    found = counts_of(project(people=None, source={"path": path.name}, domain=typed_domain()))
    assert np.array_equal(found, typed_counts)


def openpyxl_book(rows, *others):
    import openpyxl

    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for title in others:
        book.create_sheet(title)
    return book


def test_rows_of_a_workbook_without_any_value_are_none(project, tmp_path):
    rows = [["age", "sex", "town", None], [34, "Female", "Nord"], [], [None] * 4, [7, True]]
    openpyxl_book([*rows, [None, None, "Süd", "beyond"]]).save(tmp_path / "people.xlsx")
    counts = counts_of(project(people=None, source={"path": "people.xlsx"}))
    assert counts.sum() == 3
    assert counts[1, 0, 0] == counts[0, 2, 2] == 1


def test_what_a_sheet_says_of_its_size_decides_nothing(project, tmp_path):
    rows = [["age", "sex", "town"], *([34, "Female", "Nord"] for _ in range(2000))]
    openpyxl_book(rows).save(tmp_path / "whole.xlsx")
    with (
        zipfile.ZipFile(tmp_path / "whole.xlsx") as whole,
        zipfile.ZipFile(tmp_path / "people.xlsx", "w") as changed,
    ):
        for name in whole.namelist():
            content = whole.read(name)
            assert name != "xl/worksheets/sheet1.xml" or b'ref="A1:C2001"' in content
            changed.writestr(name, content.replace(b'ref="A1:C2001"', b'ref="A1:B1000"'))
    counts = counts_of(project(people=None, source={"path": "people.xlsx"}))
    assert counts[1, 0, 0] == counts.sum() == 2000


CELLS = {
    "<c r='B{}'><v>nan</v></c>": "nan",
    "<c r='B{}'><v>1e999</v></c>": "inf",
    "<c r='B{}'><v>" + "9" * 5000 + "</v></c>": "9" * 1000,
    "<c r='B{}'><v>-1234567890123456789</v></c>": "-1234567890123456789",
    "<c r='B{}' s='1'><v>1000000000</v></c>": "1000000000",
    "<c r='B{}' s='x'><v>7.0</v></c>": "7.0",
    "<c r='B{}' t='d'><v>2021-02-30</v></c>": "2021-02-30",
    "<c r='B{}' t='d'><v>2021-02-28</v></c>": "2021-02-28",
    "<c r='B{}' t='b'><v>true</v></c>": "true",
    "<c r='B{}' t='e'><v>#REF!</v></c>": "#REF!",
    "<c r='B{}' t='s'><v>99</v></c>": "99",
    "<c r='B{}' t='str'><f>A1</f><v>x</v></c>": "x",
    "<c r='B{}'><f>A1</f></c>": None,
    "<c r='A{0}' t='inlineStr'><is><r><rPr><family val='99'/></rPr><t>a</t></r><r><t>b</t></r>"
    "<rPh><t>c</t></rPh></is></c><c><v>5</v></c><c r='ZZZZZZZZZZZZZZZ{0}'><v>6</v></c>": "5",
}


def changed_sheet(path, rows, old, new):
    """A workbook whose sheet has another text in place of one."""
    openpyxl_book(rows).save(path.parent / "whole.xlsx")
    with (
        zipfile.ZipFile(path.parent / "whole.xlsx") as whole,
        zipfile.ZipFile(path, "w") as changed,
    ):
        for name in whole.namelist():
            content = whole.read(name).decode()
            assert name != "xl/worksheets/sheet1.xml" or old in content
            changed.writestr(name, content.replace(old, new))


def test_no_value_of_a_cell_stops_a_run(tmp_path):
    """What stands behind the cells does not either."""
    rows = "".join(
        f'<row r="{number}">{cell.format(number)}</row>' for number, cell in enumerate(CELLS, 2)
    )
    behind = "<hyperlinks><hyperlink ref='B3' of='x'/></hyperlinks><mergeCells count='x'/>"
    path = tmp_path / "people.xlsx"
    moments = [["a", "b"], [datetime(2020, 1, 31)] * 2]
    changed_sheet(path, moments, "</sheetData>", f"{rows}</sheetData>{behind}")
    (batch,) = workbook(path).batches(["b"])
    found = [text and text[:1000] for text in batch[0].to_pylist()]
    expected = [text for text in CELLS.values() if text is not None]
    assert found == ["2020-01-31", *expected]


def workbook(path):
    from synth.curator.files.workbook import Workbook

    return Workbook(path, None)


def test_columns_of_a_workbook_are_found_without_a_record(tmp_path):
    path = tmp_path / "people.xlsx"
    changed_sheet(path, [["a", "b"], ["x", "y"]], '<row r="2">', '<row r="2"><<')
    assert workbook(path).names() == ["a", "b"]
    with pytest.raises(SyntaxError):
        list(workbook(path).batches(["a"]))


@pytest.mark.parametrize("sheet", ["people", "2", "2025"])
def test_a_sheet_is_named_by_its_title_or_its_number(project, tmp_path, sheet):
    book = openpyxl_book([["nothing"]], "people", "2025")
    for title in ("people", "2025"):
        for row in [["age", "sex", "town"], [34, "Female", "Nord"]]:
            book[title].append(row)
    book.save(tmp_path / "people.xlsx")
    path = project(people=None, source={"path": "people.xlsx", "sheet": sheet})
    assert counts_of(path)[1, 0, 0] == 1
    records = load_config(path).public["source"]
    assert (records["kind"], records["sheet"]) == ("excel", sheet)


LINES = [
    '{"age": 34, "sex": "Female", "town": "Nord"}', "", "[1, 2]", CANARY, '{"age": 34.0, "sex"',
    '{"age": "67", "sex": "Male", "town": "S\\u00fcd", "more": {"a": [1]}}', "{}", "[" * 100_000,
    '{"age": null, "sex": true, "town": ["Nord"]}', '{"age": 1e2, "town": "\\ud800"}',
    '{"sex": "' + "x" * (1 << 24) + '"}', '{"age": ' + "9" * 5000 + "}",
]  # fmt: skip


def test_a_line_that_is_no_object_is_left_out_and_touches_no_other(project, tmp_path):
    path = project(people=None, source={"path": "people.jsonl"})
    content = b"\xef\xbb\xbf" + "\n".join(LINES).encode() + b'\n{"sex": "\xff"}'
    (tmp_path / "people.jsonl").write_bytes(content)
    counts = counts_of(path)
    assert counts.sum() == 6
    assert counts[1, 0, 0] == counts[3, 1, 1] == 1
    table = JsonLines(tmp_path / "people.jsonl")
    assert sum(len(batch[0]) for batch in table.batches(["age"])) == 6
    assert table.left_out == 6
    found = json.loads(synth("inspect", path, "--json").stdout)
    assert found["left_out"]["unreadable"] == 6
    assert CANARY not in synth("measure", path).stderr


def test_no_depth_of_an_object_stops_a_run(tmp_path):
    """What can just be read may be nested too deeply to be written."""
    deep = "".join('{"a": ' + "[" * n + "]" * n + ', "b": 1}\n' for n in range(900, 1010))
    (tmp_path / "people.jsonl").write_text(deep)
    table = JsonLines(tmp_path / "people.jsonl")
    read = sum(len(batch[0]) for batch in table.batches(["a"]))
    assert 0 < read < 110
    assert read + table.left_out == 110


def test_a_key_that_no_line_has_is_told_to_the_keeper(project, tmp_path):
    path = project(people=None, source={"path": "people.jsonl"})
    (tmp_path / "people.jsonl").write_text('{"age": 34, "Sex": "Male", "town": "Nord"}\n' * 9)
    found = json.loads(synth("inspect", path, "--json").stdout)
    assert "sex: no record at the beginning has this key" in found["sentences"][0]
    (tmp_path / "people.jsonl").write_text("")
    assert synth("inspect", path).returncode == 1


def test_texts_keep_their_bytes_whatever_the_encoding_that_a_file_states(project, tmp_path):
    import pyreadstat

    from synth.curator.files.statistics_file import StatisticsFile

    frame = pd.DataFrame({"age": [34.0] * 2, "sex": ["Male", "Male"], "town": ["Nord", "S__d"]})
    pyreadstat.write_sav(frame, tmp_path / "people.sav", row_compress=False)
    content = (tmp_path / "people.sav").read_bytes()
    path = project(people=None, source={"path": "people.sav"})
    (tmp_path / "people.sav").write_bytes(content.replace(b"S__d", "Süd".encode()))
    assert counts_of(path)[1, 1, :2].tolist() == [1, 1]
    (tmp_path / "people.sav").write_bytes(content.replace(b"S__d", b"S\xff\xfed"))
    assert counts_of(path)[1, 1].tolist() == [1, 0, 1], "no bytes of a text stop a run"
    (batch,) = StatisticsFile(tmp_path / "people.sav").batches(["town"])
    assert batch[0].to_pylist()[1] == "S\U000f00ff\U000f00fed"


REFUSED = {
    "a workbook with a password": ("people.xlsx", COMPOUND_FILE + b"x" * 600, "has a password"),
    "no workbook": ("people.xlsx", f"age,sex,town\n1,{CANARY},x\n".encode(), "no file of its kind"),
    "several sheets": ("people.xlsx", "sheets", "has 2 sheets"),
    "a workbook without columns": ("people.xlsx", "empty", "a file without columns"),
    "no file of SPSS": ("people.sav", f"$FL2{CANARY}".encode() * 99, "no file of its kind"),
    "no file of Stata": ("people.dta", CANARY.encode() * 99, "no file of its kind"),
    "no file of SAS": ("people.sas7bdat", CANARY.encode() * 99, "no file of its kind"),
    "no Arrow file": ("people.arrow", CANARY.encode() * 99, "could not be read to its end"),
    "several members": ("people.zip", zipped(b"age,sex,town\n", CANARY), "holds several files"),
    "no member": ("people.zip", zipped_nothing(), "holds no file"),
    "no zip archive": ("people.csv.zip", CANARY.encode(), "a damaged or incomplete file"),
    "no xz file": ("people.csv.xz", CANARY.encode(), "a damaged or incomplete file"),
    "no bz2 file": ("people.csv.bz2", CANARY.encode(), "a damaged or incomplete file"),
    "no zstd file": ("people.csv.zst", CANARY.encode(), "a damaged or incomplete file"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_be_read_is_refused_before_the_charge(project, tmp_path, kind):
    name, content, words = REFUSED[kind]
    path = project(people=None, source={"path": name})
    if isinstance(content, bytes):
        (tmp_path / name).write_bytes(content)
    else:
        rows = [["age", "sex", "town"], [1, CANARY, "Nord"]] if content == "sheets" else []
        openpyxl_book(rows, *([CANARY] if rows else [])).save(tmp_path / name)
    finished = synth("run", path)
    assert finished.returncode == 1, finished.stderr
    assert words in finished.stderr
    assert "nothing was charged" in finished.stderr
    assert CANARY not in finished.stdout + finished.stderr
    assert not (tmp_path / "state" / "ledger.sqlite").exists()


def test_a_column_that_a_file_lacks_is_named_before_the_charge(project, tmp_path):
    for ending in ("sav", "dta", "xpt", "xlsx", "arrow"):
        path = project(people=None, source={"path": f"people.{ending}"})
        WRITERS[ending](tmp_path / f"people.{ending}", ("age", "sex", "other"), [("1", "x", "y")])
        finished = synth("measure", path)
        assert "has no column 'town'" in finished.stderr, ending
        assert "nothing was charged" in finished.stderr


@pytest.mark.parametrize(
    "ending", ["sav", "dta", "xlsx", "arrow", "feather", "csv.bz2", "csv.xz", "csv.zst", "csv.zip"]
)
def test_a_file_that_ends_too_early_says_nothing_of_its_records(project, tmp_path, ending):
    rng = np.random.default_rng(5)
    rows = [(str(n), CANARY, f"{n:x}") for n in rng.integers(0, 1 << 40, 1000)]
    WRITERS[ending](tmp_path / "whole", ("age", "sex", "town"), rows)
    content = (tmp_path / "whole").read_bytes()
    (tmp_path / "whole").unlink()
    (tmp_path / f"people.{ending}").write_bytes(content[: len(content) * 2 // 3])
    finished = synth("run", project(people=None, source={"path": f"people.{ending}"}))
    assert finished.returncode == 1, finished.stderr
    assert "Traceback" not in finished.stderr
    assert CANARY not in finished.stdout + finished.stderr
    assert not (tmp_path / "outputs" / "small").exists()
    for left in tmp_path.rglob("*"):
        if left.is_file() and not left.name.startswith("people."):
            assert CANARY.encode() not in left.read_bytes(), left.name


SHORT_BATCHES = """
from synth.curator.files import statistics_file, text_tables
statistics_file.MOST_BATCH_ROWS = text_tables.BATCH_RECORDS = 1 << 12
"""


@pytest.mark.parametrize("ending", ["sav", "jsonl"])
def test_memory_stays_flat_while_rows_grow(project, tmp_path, ending):
    """All rows of the second file at once would take 100 MB more."""
    path = project(people=None, source={"path": f"people.{ending}"})
    sizes, town = (8_000, 60_000), "N" * 250
    for rows in sizes:
        if ending == "jsonl":
            line = f'{{"age": 34, "sex": "Female", "town": "{town}"}}\n'
            (tmp_path / f"{rows}.jsonl").write_text(line * rows)
        else:
            import pyreadstat

            values = {"age": [34.0] * rows, "sex": ["Female"] * rows, "town": [town] * rows}
            pyreadstat.write_sav(pd.DataFrame(values), tmp_path / f"{rows}.sav")
    files = (tmp_path / f"{rows}.{ending}" for rows in sizes)
    megabytes = peaks(path, *files, before=SHORT_BATCHES)
    assert megabytes[1] - megabytes[0] < 40, megabytes


@pytest.mark.parametrize(
    ("name", "library"), [("people.xlsx", "openpyxl"), ("people.dta", "pyreadstat")]
)
def test_a_library_that_is_missed_is_named_with_what_brings_it(project, monkeypatch, name, library):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda each: None if each == library else find(each)
    )
    source = load_config(project(people=None, source={"path": name})).source
    with pytest.raises(SourceError, match=library) as caught:
        source_files(source)
    assert "pip install 'synth-publisher[files]'" in caught.value.fix


@pytest.mark.parametrize("ending", ["sav", "xlsx", "jsonl"])
def test_many_files_are_one_source_and_are_deleted_once_measured(project, tmp_path, ending):
    source = {"path": f"part-*.{ending}", "disposal": "delete", "disposal_reason": None}
    path = project(people=None, source=source)
    for number in range(3):
        WRITERS[ending](tmp_path / f"part-{number}.{ending}", NAMES, ROWS)
    assert counts_of(path).sum() == 3 * len(ROWS)
    finished = synth("measure", path)
    assert finished.returncode == 0, finished.stderr
    assert not list(tmp_path.glob("part-*"))


@pytest.mark.parametrize("ending", [each for each in WRITERS if each not in ("xpt", "old.dta")])
def test_a_table_without_records_has_none(project, tmp_path, ending):
    WRITERS[ending](tmp_path / f"people.{ending}", ("age", "sex", "town"), [])
    path = project(people=None, source={"path": f"people.{ending}"})
    assert counts_of(path).sum() == 0


@pytest.mark.parametrize("ending", ["sav", "dta", "xpt"])
@pytest.mark.parametrize("rows", [1, 4, 5, 24])
def test_a_file_is_read_piece_by_piece(tmp_path, monkeypatch, ending, rows):
    from synth.curator.files import statistics_file

    monkeypatch.setattr(statistics_file, "MOST_BATCH_ROWS", 4)
    values = [str(number) for number in range(rows)]
    write = WRITERS[ending]
    write(tmp_path / f"people.{ending}", ("n", "t"), [(v, f"t{v}") for v in values])
    table = statistics_file.StatisticsFile(tmp_path / f"people.{ending}")
    found = [batch[1].to_pylist() for batch in table.batches(["t", "n"])]
    assert [len(part) for part in found] == [4] * (rows // 4) + [rows % 4] * (rows % 4 > 0)
    assert [value for part in found for value in part] == values


def test_texts_of_any_length_in_a_file_of_stata_are_refused_by_their_type(project, tmp_path):
    """Its library decodes them whatever it is told, so that a text could stop a run."""
    frame = pd.DataFrame({"age": [34.0], "sex": ["Male"], "town": ["Łódź"]})
    frame.to_stata(tmp_path / "people.dta", version=118, convert_strl=["town"])
    path = project(people=None, source={"path": "people.dta"})
    finished = synth("run", path)
    assert finished.returncode == 1
    assert "holds 'town' as texts of any length (strL)" in finished.stderr
    assert "nothing was charged" in finished.stderr
    drafted = synth("draft", tmp_path / "people.dta", "-o", tmp_path / "draft.yaml")
    assert drafted.returncode == 0, drafted.stderr
    frame.to_stata(tmp_path / "people.dta", version=118)
    assert counts_of(path).sum() == 1


def test_no_value_of_an_arrow_file_stops_a_run(project, tmp_path):
    """Dates of milliseconds may have hours, and decimals more digits than are declared."""
    hours = [0, 86_399_999, -1, -86_400_000, -86_400_001, 2**62, None]
    digits = pa.array([decimal.Decimal("99999.00")] * 7, pa.decimal128(7, 2))
    table = pa.table(
        {
            "day": pa.array(hours, pa.int64()).view(pa.date64()),
            "n": pa.Array.from_buffers(pa.decimal128(3, 2), 7, digits.buffers()),
        }
    )
    with pa.ipc.new_file(str(tmp_path / "people.arrow"), table.schema) as writer:
        writer.write_table(table)
    rest = {"out_of_domain": "missing", "source": "test"}
    days = {"name": "day", "type": "date", "first": "1969-12-30", "last": "1970-01-01"}
    levels = {"name": "n", "type": "categorical", "levels": ["99999.00"]}
    days |= {"resolution": "day", "missing": [""]}
    domain = [days | rest, levels | {"missing": [""]} | rest]
    counts = counts_of(project(people=None, source={"path": "people.arrow"}, domain=domain))
    assert counts.tolist() == [[1, 0], [2, 0], [2, 0], [2, 0]]


def test_places_of_an_arrow_file_are_checked(project, tmp_path):
    """Texts that would lie behind the end of the file are none of the file."""
    table = pa.table({"age": [1.0] * 3, "sex": ["Male"] * 3, "town": ["Nord", "x" * 77, "South"]})
    with pa.ipc.new_file(str(tmp_path / "people.arrow"), table.schema) as writer:
        writer.write_table(table)
    content = (tmp_path / "people.arrow").read_bytes()
    true, false = (struct.pack("<4i", 0, place, 81, 86) for place in (4, 1 << 30))
    assert content.count(true) == 1
    (tmp_path / "people.arrow").write_bytes(content.replace(true, false))
    finished = synth("measure", project(people=None, source={"path": "people.arrow"}))
    assert finished.returncode == 1
    assert "could not be read to its end" in finished.stderr
