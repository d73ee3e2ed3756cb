"""Records of a Spark table are counted as those of a file: cells, people, names, words."""

import hashlib
import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import PersonUnit
from synth.domain import Attribute, Universe

pytestmark = pytest.mark.xdist_group("spark")


def parquet(path) -> str:
    return f"parquet.`{path}`"


def write(path, columns, **options):
    pq.write_table(pa.table(columns), path, **options)
    return path


EDGES = tuple(map(Fraction, ("-10", "0", "1/10", "1", "12", "100")))


def number(name, out_of_domain="clamp", edges=EDGES) -> Attribute:
    return Attribute(name, "number", edges=edges, out_of_domain=out_of_domain, missing=("", "NaN"))


def levels(name, texts) -> Attribute:
    return Attribute(name, "categorical", levels=tuple(dict.fromkeys(texts)), missing=("",))


def test_a_column_name_may_hold_any_character(on_spark, on_duckdb, tmp_path):
    name = "a`b.c d'\"${x}\\é"
    path = write(tmp_path / "t.parquet", {name: ["1", "2", "x"], name.upper(): [5, 6, 7]})
    universe = Universe((number(name), number(name.upper())))
    assert on_spark(parquet(path), universe) == on_duckdb(path, universe)


def test_a_universe_beyond_64_bits_is_counted_in_words(on_spark, on_duckdb, tmp_path):
    wide = Attribute("w", "categorical", levels=tuple(map(str, range(30))), missing=("",))
    universe = Universe(tuple(replace(wide, name=f"w{i}") for i in range(14)))
    draw = random.Random(1)
    rows = [[str(draw.randrange(31)) for _ in range(14)] for _ in range(3)]
    rows = [draw.choice(rows) for _ in range(50)] + [["29"] * 14]
    columns = {f"w{i}": [row[i] for row in rows] for i in range(14)}
    path = write(tmp_path / "t.parquet", columns)
    counted = on_spark(parquet(path), universe)
    assert counted == on_duckdb(path, universe)
    assert sum(counted.values()) == len(rows)
    assert max(max(cell) for cell in counted) > 2**59


PEOPLE = ["a", "b", "", None, " ", "é", "è", "a:1", "x" * 50, "a'b", "\N{GRINNING FACE}"]
UNIT = PersonUnit("person", 3)
PLACES = Universe((number("v", edges=tuple(map(Fraction, range(21)))),))


def people() -> list[tuple[str | None, int]]:
    draw = random.Random(7)
    return [(draw.choice(PEOPLE), draw.randrange(20)) for _ in range(150)]


def bounded(records) -> Counter:
    """The slow definition: the first records of each person in the order of a hash."""
    counts: Counter = Counter()
    for person in {person for person, _ in records} - {None, ""}:
        seen = "".join(character for character in person if " " <= character <= "~")
        cells = [cell for other, cell in records if other == person]
        cells.sort(key=lambda cell: (hashlib.md5(f"{seen}:{cell}".encode()).hexdigest(), cell))
        counts.update((cell,) for cell in cells[: UNIT.max_records])
    return counts


def test_a_person_counts_at_most_as_often_as_configured_and_alike_everywhere(
    on_spark, on_duckdb, tmp_path
):
    records = people()
    for dropped in (None, "a"):
        fewer = [record for record in records if dropped is None or record[0] != dropped]
        path = tmp_path / f"people-without-{dropped}.parquet"
        write(path, {"person": [p for p, _ in fewer], "v": [v for _, v in fewer]})
        counted = on_spark(parquet(path), PLACES, UNIT)
        assert counted == bounded(fewer)
        assert counted == on_duckdb(path, PLACES, UNIT)
        if dropped is None:
            whole = counted
        moved = sum(abs(whole[cell] - counted[cell]) for cell in whole | counted)
        assert moved <= (0 if dropped is None else UNIT.max_records)


def test_a_person_column_of_whole_numbers_is_the_same_text_everywhere(
    on_spark, on_duckdb, tmp_path
):
    records = [(person % 4 - 1, person * 7 % 20) for person in range(60)]
    path = tmp_path / "people.parquet"
    write(path, {"person": [p for p, _ in records], "v": [v for _, v in records]})
    counted = on_spark(parquet(path), PLACES, UNIT)
    assert counted == on_duckdb(path, PLACES, UNIT)
    assert counted == bounded([(str(person), cell) for person, cell in records])


def test_a_directory_of_files_counts_as_one_table_and_its_paths_as_columns(on_spark, tmp_path):
    for part, values in {"v=07/a": [1, 2], "v=8/b": [3], "v=x/c": []}.items():
        path = tmp_path / "t" / f"{part}.parquet"
        path.parent.mkdir(parents=True)
        write(path, {"id": pa.array(values, pa.int64())})
    universe = Universe((levels("v", ["7", "07", "8"]), number("id")))
    counted = on_spark(parquet(tmp_path / "t"), universe)
    assert sum(counted.values()) == 3
    assert {cell // number("id").size for (cell,) in counted} == {1, 2}
