"""`tables/`: which tables have a file, what it is called, and what anybody reads in it."""

import csv
import io
import math
import re
import subprocess
from fractions import Fraction

import duckdb
import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from synth.domain import Attribute, Universe
from synth.measurements import MeasuredTable, Measurements
from synth.noise import noise_variance
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN
from synth.release import noisy_tables as room
from synth.release.documents.snippets import table_snippets
from synth.release.noisy_tables import noisy_tables, slug, table_header, written_error
from tests.release_folder import files_of
from tests.unit.release.tables_oracle import table_findings

HOSTILE = (
    "a/b", "a b", "..", "a.b", "A-B", "Größe", "年齢", "x" * 190, "x" * 191, "noisy_count",
    "Standard_Error", "standard_error_", "a,b", 'a"b', "a'b", "-5", "con", "nul",
)  # fmt: skip
"""Names of columns that a configuration accepts, and that are no names of files."""


def column(name: str, *levels: str) -> Attribute:
    return Attribute(name, "categorical", levels=levels or ("no", "yes"), out_of_domain="no")


def measured(universe: Universe, *tables: tuple[str, ...], **more) -> Measurements:
    """Tables whose counts are the numbers of their cells."""
    found = []
    for names in tables:
        cells = math.prod(universe.attribute(name).size for name in names)
        event = TableEvent(names, cells, 1, Fraction(1), **more)
        found.append(MeasuredTable(event, np.arange(cells), noise_variance(event)))
    return Measurements("m", "hash", tuple(found))


def test_every_kind_of_table_says_what_the_measurements_say(several):
    assert sorted(path.name for path in (several.folder / "tables").iterdir()) == [
        "000-age-sex-town.csv",
        "001-age-half-town-line.csv",
        "002-sex.csv",
    ]
    assert list(table_findings(several.folder)) == []
    coarse = (several.folder / "tables" / "001-age-half-town-line.csv").read_text().splitlines()
    assert coarse[0] == "age,town,noisy_count,standard_error"
    assert coarse[1].startswith('"[0, 40)",x,')
    assert coarse[-1].startswith("missing,y,")


def test_what_the_oracle_must_find_it_finds(several):
    path = several.folder / "tables" / "002-sex.csv"
    lines = path.read_text().splitlines(keepends=True)
    label, count, error = lines[1].strip().split(",")
    for changed in (
        f"Woman,{count},{error}\n",
        f"{label},{int(count) + 1},{error}\n",
        f"{label},{count},{float(error) * 1.001}\n",
    ):
        path.write_text("".join([lines[0], changed, *lines[2:]]))
        assert list(table_findings(several.folder)) != []
    path.unlink()
    (finding, *_) = table_findings_of_a_removed_file(several)
    assert finding == "the folder holds other files than the manifest lists"


def table_findings_of_a_removed_file(made):
    try:
        yield from table_findings(made.folder)
    except FileNotFoundError:
        return


def test_programs_without_ours_read_labels_and_sums(several):
    path = several.folder / "tables" / "000-age-sex-town.csv"
    noisy = pq.read_table(several.folder / "measurements.parquet").to_pandas()
    noisy = noisy[noisy["table"] == 0]["noisy_count"]
    frame = pd.read_csv(path)
    assert frame["noisy_count"].tolist() == noisy.tolist()
    assert frame["sex"].isna().sum() == 0
    by_sex = frame.groupby("sex")["noisy_count"].sum()
    query = f"SELECT sex, sum(noisy_count) FROM '{path}' GROUP BY sex"
    with duckdb.connect() as connection:
        assert dict(connection.execute(query).fetchall()) == by_sex.to_dict()
    assert sorted(by_sex.index) == ["Female", "Male", "missing"]
    assert by_sex.sum() == noisy.sum()


def test_the_lines_of_the_data_card_read_a_table(several):
    card = (several.folder / "README.md").read_text(encoding="utf-8")
    assert "All of them stand in `tables/` too" in card
    (query,) = re.findall(r"-- DuckDB\n(SELECT[^`]*tables/[^`]*)```", card)
    with duckdb.connect() as connection:
        inside = query.replace("'tables/", f"'{several.folder}/tables/").rstrip(" ;\n")
        found = connection.execute(inside).fetchall()
    with (several.folder / "tables" / "000-age-sex-town.csv").open(newline="") as file:
        _, *lines = csv.reader(file)
    assert [(*row[:-2], str(row[-2]), float(row[-1])) for row in found] == [
        (*line[:-1], float(line[-1])) for line in lines
    ]
    assert 'colClasses = c(\n        "age" = "character"' in card


def test_names_of_files_are_plain_and_unique_whatever_the_columns_are_called(tmp_path):
    universe = Universe(tuple(column(name) for name in HOSTILE))
    pairs = [(HOSTILE[0], name) for name in HOSTILE[1:]]
    found = noisy_tables(measured(universe, (), *((name,) for name in HOSTILE), *pairs), universe)
    assert len({table.path for table in found}) == 2 * len(HOSTILE)
    connection = duckdb.connect()
    for table in found:
        assert re.fullmatch(r"tables/\d{3}-[a-z0-9]+(-[a-z0-9]+)*\.csv", table.path)
        assert len(table.path) < 80
        (tmp_path / table.path).parent.mkdir(exist_ok=True)
        (tmp_path / table.path).write_bytes(table.content())
        rows = list(csv.reader(io.StringIO(table.content().decode(), newline="")))
        assert tuple(rows[0]) == table.header == table_header(table.measured.event.table)
        assert len({name.casefold() for name in table.header}) == len(table.header)
        assert [int(row[-2]) for row in rows[1:]] == list(range(len(rows) - 1))
        snippet = table_snippets({"path": table.path, "names": table.header, "rows": 1})["duckdb"]
        read = connection.execute(snippet.replace("'tables/", f"'{tmp_path}/tables/"))
        assert len(read.fetchall()) == len(rows) - 1
    connection.close()
    assert found[0].path == "tables/000-total.csv"
    assert found[0].content() == b"noisy_count,standard_error\n0,1.35696\n"


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ((), "total"),
        (("sex", "income"), "sex-income"),
        (("age (half)", "Größe!"), "age-half-groe"),
        (("年齢", "../x"), "column-x"),
        (("x" * 59 + "-y", "z"), "x" * 59),
    ],
)
def test_names_become_letters_digits_and_hyphens(parts, expected):
    assert slug(parts) == expected


def test_a_column_that_is_called_as_the_count_keeps_its_name():
    names = ("Noisy_Count", "noisy_count_", "standard_error")
    assert table_header(names) == (*names, "noisy_count__", "standard_error_")


def test_large_tables_and_lists_have_no_file(monkeypatch):
    universe = Universe((column("a", *"wxyz"), column("b"), column("c")))
    monkeypatch.setattr(room, "MOST_CELLS", 4)
    tables = measured(universe, ("a", "b"), ("a",), ("b", "c"), ("a", "b", "c"))
    assert [table.number for table in noisy_tables(tables, universe)] == [1, 2]
    listed = measured(universe, ("b",), threshold=3)
    assert noisy_tables(listed, universe) == []


def test_a_table_with_very_long_labels_has_no_file():
    names = ("a", "b", "c")
    long = Universe(tuple(column(name, "no", "年" * 130) for name in names))  # 390 bytes each
    assert len(noisy_tables(measured(long, ("a", "b"), names), long)) == 1


def test_of_many_tables_those_of_fewest_columns_come_first(monkeypatch):
    names = [f"c{i}" for i in range(6)]
    universe = Universe(tuple(map(column, names)))
    pairs = [(names[i], names[j]) for i in range(6) for j in range(i + 1, 6)]
    tables = measured(universe, *pairs, *((name,) for name in names), ())
    monkeypatch.setattr(room, "MOST_FILES", 9)
    assert [t.number for t in noisy_tables(tables, universe)] == [0, 1, *range(15, 22)]
    monkeypatch.setattr(room, "MOST_LINES", 1 + 6 * 2 + 7)
    assert [t.number for t in noisy_tables(tables, universe)] == [0, *range(15, 22)]


def test_four_thousand_tables_are_numbered_alike():
    names = [f"c{i}" for i in range(100)]
    universe = Universe(tuple(map(column, names)))
    pairs = [(names[i], names[j]) for i in range(100) for j in range(i + 1, 100)]
    found = noisy_tables(measured(universe, *pairs), universe)
    assert [table.path for table in found[:2]] == ["tables/0000-c0-c1.csv", "tables/0001-c0-c2.csv"]
    assert len(found) == room.MOST_FILES


def test_the_standard_error_is_that_of_the_exact_law():
    laplace = TableEvent(("a",), 2, 2, Fraction(1, 3))
    whole = np.arange(-2_000, 2_001)
    for event, weights in (
        (laplace, np.exp(-np.abs(whole) / 6)),
        (
            TableEvent(("a",), 2, 1, mechanism=GAUSSIAN, rho=Fraction(2), sensitivity_l2_squared=1),
            np.exp(-(whole**2) / (2 / 4)),
        ),
    ):
        expected = math.sqrt((weights * whole**2).sum() / weights.sum())
        assert float(written_error(noise_variance(event))) == pytest.approx(expected, rel=5.1e-6)


@pytest.mark.parametrize(
    ("variance", "expected"),
    [(4.0, "2"), (2.0, "1.41421"), (2e12, "1414210"), (1e-20, "0.0000000001"), (0.0, "0")],
)
def test_standard_errors_are_decimals_without_exponent(variance, expected):
    assert written_error(variance) == expected


def test_the_checksums_of_the_tables_are_accepted_by_sha256sum(several):
    assert any(name.startswith("tables/") for name in files_of(several.folder))
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    done = subprocess.run(command, cwd=several.folder, check=True, capture_output=True, text=True)
    assert "tables/002-sex.csv: OK" in done.stdout


def test_a_release_without_small_tables_has_no_folder(released, monkeypatch):
    monkeypatch.setattr(room, "MOST_CELLS", 10)
    made = released(release={"title": "Other"})
    assert not (made.folder / "tables").exists()
    assert list(table_findings(made.folder)) == []
    assert "tables/" not in (made.folder / "README.md").read_text()
