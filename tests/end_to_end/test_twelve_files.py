"""Twelve files as offices have them, each taken to a verified release by the commands of a steward.

The records are made up here, about nobody. Every step is what somebody would type: `synth draft`,
`synth confirm` on a terminal, `synth inspect` where values are missing, and `run`, which plans the
release and verifies it. What that took stands in docs/drafting.md, which is held against what is
measured here.
"""

import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pyreadstat
import pytest
import yaml

from synth.drafting.marks import marks
from tests.command_line import synth, words_of_synth
from tests.engines.conftest import Server, running_server
from tests.terminal import answered

PAGE = Path(__file__).parents[2] / "docs" / "drafting.md"
RECORDS = 600
NOTHING_DRAFTED = {
    "release.title": "Visits", "release.description": "Visits to an office",
    "release.curators": "Test Office", "release.contact": "data@example.org",
    "release.intended_use": "Teaching", "release.region": "Examplia", "release.sector": "Health",
    "source.disposal_reason": "kept by law", "privacy.justification": "made-up records",
    "ledger.population": "made-up people", "source > ": "codebook of 2024",
}  # fmt: skip
"""What only a person knows; to all else the answer is y, but for what is changed."""

CHANGED = {"privacy.epsilon": "8", "ledger.epsilon_cap": "8"}
"""In every file: with so few records less would be noise."""

MOST_EDITS = 5
SHARE = 0.15
"""So far shares, middles and the number of records may lie from those of the file. The widest noise
is that of the number of records where five of each patient's are protected: in six runs it had a
standard deviation of 0.02."""


@dataclass(frozen=True)
class File:
    """A file, what a steward types for it, and what its draft has to have understood."""

    words: str
    """What stands behind `synth draft`."""
    write: Callable[..., pd.DataFrame]
    """Writes the file into a directory, or the table into a server; gives its values, those that
    are missing as missing."""
    understood: Mapping[str, Mapping[str, object]]
    """Some entries of each column of the release, in its order."""
    edits: Mapping[str, str] = field(default_factory=dict)
    """Answers other than y to what was drafted, beside `CHANGED`."""
    unit: object = "record"
    published: Sequence[str] = ()
    """Words that the page of the release must have."""


def truth(seed: int, **columns: Sequence) -> pd.DataFrame:
    """Values drawn for each record from the possible ones of each column."""
    drawn = np.random.default_rng(seed)
    return pd.DataFrame({name: drawn.choice(list(v), RECORDS) for name, v in columns.items()})


def with_gaps(values: Sequence, code: object, every: int = 9) -> list:
    """The values with a code in the place of some of them."""
    return [code if number % every == 4 else value for number, value in enumerate(values)]


def days() -> pd.DatetimeIndex:
    return pd.date_range("2023-01-01", "2023-12-31", freq="D")


def moments(drawn: np.random.Generator) -> pd.DatetimeIndex:
    """A moment for each record, in the middle of days so that no clock moves it to another."""
    minutes = pd.to_timedelta(drawn.integers(9 * 60, 15 * 60, RECORDS), unit="min")
    return pd.DatetimeIndex(drawn.choice(days(), RECORDS)) + minutes


def semicolons(place: Path) -> pd.DataFrame:
    frame = truth(1, age=range(18, 90), sex=["female", "male"], smokes=["no", "sometimes", "yes"])
    frame["weight"] = np.random.default_rng(1).normal(75, 12, RECORDS).round(1)
    frame.loc[::11, "weight"] = np.nan
    frame.to_csv(place / "clinic.csv", sep=";", decimal=",", index=False)
    return frame


QUESTION = (
    "In welchem Ort haben Sie im letzten Jahr überwiegend gewohnt, wenn Sie alle Wohnungen zählen, "
    "in denen Sie länger als einen Monat gemeldet waren, auch solche, die Sie mit anderen geteilt "
    "oder nur an Werktagen benutzt haben?"
)


def umlauts(place: Path) -> pd.DataFrame:
    frame = truth(2, Größe=range(150, 200), Geschlecht=["männlich", "weiblich"],
                  **{QUESTION: ["Köln", "Düren", "Soest", "Unna"]})  # fmt: skip
    frame.to_csv(place / "melderegister.csv", encoding="latin-1", index=False)
    return frame


def headless(place: Path) -> pd.DataFrame:
    frame = truth(3, age=range(18, 66), sex=["f", "m"], town=["North", "South", "West"])
    frame.to_csv(place / "export.csv", header=False, index=False)
    return frame


def indexed(place: Path) -> pd.DataFrame:
    frame = truth(4, rooms=range(1, 8), heating=["gas", "oil", "wood"], let=[True, False])
    frame.to_csv(place / "flats.csv")
    return frame


LABELS = {1: "very good", 2: "good", 3: "fair", 4: "bad", 8: "refused", 9: "not asked"}


def spss(place: Path) -> pd.DataFrame:
    frame = truth(5, health=[1.0, 2.0, 3.0, 4.0], sex=[1.0, 2.0], age=[float(n) for n in range(99)])
    frame["health"] = with_gaps(frame["health"], 9.0)
    frame["age"] = with_gaps(frame["age"], -9.0)
    pyreadstat.write_sav(
        frame, place / "survey.sav", column_labels={"health": "Health as it seems to you"},
        variable_value_labels={"health": LABELS, "sex": {1: "female", 2: "male"},
                               "age": {-9: "not told"}},
        missing_ranges={"health": [{"lo": 8, "hi": 9}]},
    )  # fmt: skip
    return frame.replace({"health": {9.0: None}, "age": {-9.0: None}})


def stata(place: Path) -> pd.DataFrame:
    frame = truth(6, region=[1, 2, 3], employed=[0, 1], children=range(6))
    frame.loc[::10, "employed"] = np.nan
    pyreadstat.write_dta(
        frame, place / "panel.dta", column_labels=["Region", "In paid work", "Children"],
        variable_value_labels={
            "region": {1: "coast", 2: "plain", 3: "hills"}, "employed": {0: "no", 1: "yes"},
        },
    )  # fmt: skip
    return frame


def workbook(place: Path) -> pd.DataFrame:
    frame = truth(7, visit=days(), ward=["A", "B"], nights=range(10))
    frame.to_excel(place / "stays.xlsx", index=False)
    return frame


def parquet(place: Path) -> pd.DataFrame:
    frame = truth(8, channel=["desk", "web"])
    drawn = np.random.default_rng(8)
    fee = [Decimal(int(n)) / 100 for n in drawn.integers(500, 9900, RECORDS)]
    at = moments(drawn)
    table = {"channel": pa.array(frame["channel"]), "fee": pa.array(fee, pa.decimal128(8, 2)),
             "received": pa.array(list(at), pa.timestamp("us"))}  # fmt: skip
    pq.write_table(pa.table(table), place / "requests.parquet")
    return frame.assign(fee=[float(each) for each in fee], received=at)


def database(server: Server) -> pd.DataFrame:
    frame = truth(9, score=range(1, 11), office=["East", "West"])
    at = moments(np.random.default_rng(9))
    server.execute("CREATE DOMAIN score AS smallint CHECK (VALUE BETWEEN 1 AND 10)")
    server.execute("CREATE DOMAIN office AS text CHECK (VALUE <> '')")
    kinds = {"score": "score", "office": "office", "called": "timestamptz"}
    server.fill("calls", kinds, frame.assign(called=at.strftime("%F %T+00")).to_numpy().tolist())
    return frame.assign(called=at)


def one_to_five_and_99(place: Path) -> pd.DataFrame:
    frame = truth(10, satisfied=range(1, 6), trust=range(1, 6), sex=["f", "m"])
    frame["satisfied"] = with_gaps(frame["satisfied"], 99)
    frame["trust"] = with_gaps(frame["trust"], 99, every=7)
    frame.to_csv(place / "questions.csv", index=False)
    return frame.replace({"satisfied": {99: None}, "trust": {99: None}})


def smokers_and_costs(place: Path) -> pd.DataFrame:
    frame = truth(11, smokes=[0, 1, 2], sex=["f", "m"])
    frame["smokes"] = with_gaps(frame["smokes"], 9)
    costs = np.random.default_rng(11).lognormal(6, 1.5, RECORDS).round(2)
    frame["cost"] = np.where(np.arange(RECORDS) % 5 == 0, 0, costs)
    frame.to_csv(place / "costs.csv", index=False)
    return frame.replace({"smokes": {9: None}})


def patients(place: Path) -> pd.DataFrame:
    frame = truth(12, patient_id=[f"K{n:05}" for n in range(20_000, 20_300)],
                  reason=["check-up", "illness", "accident"], minutes=range(5, 45))  # fmt: skip
    frame.to_csv(place / "visits.csv", index=False)
    return frame


def levels(*words: object) -> dict[str, object]:
    return {"type": "categorical", "levels": [*map(str, words)]}


FILES = {
    "semicolons and decimal commas": File(
        "clinic.csv --delimiter semicolon --decimal ,", semicolons,
        {"age": {"type": "integer"}, "sex": levels("female", "male"),
         "smokes": levels("no", "sometimes", "yes"), "weight": {"type": "number"}},
    ),
    "umlauts in Latin-1, and a whole question": File(
        "melderegister.csv --encoding latin-1", umlauts,
        {"Größe": {"type": "integer"}, "Geschlecht": levels("männlich", "weiblich"),
         QUESTION: levels("Düren", "Köln", "Soest", "Unna")},
        published=["Größe", "männlich", QUESTION],
    ),
    "no line of names": File(
        "export.csv --no-header", headless,
        {"age": {"type": "integer"}, "sex": levels("f", "m"),
         "town": levels("North", "South", "West")},
        edits={"source.header": "age, sex, town"},
    ),
    "an index of rows without a name": File(
        "flats.csv", indexed,
        {"rooms": levels(*range(1, 8)), "heating": levels("gas", "oil", "wood"),
         "let": {"type": "boolean"}},
    ),
    "SPSS with labels of values": File(
        "survey.sav", spss,
        {"health": {**levels(1, 2, 3, 4), "missing": ["", "8", "9"],
                    "title": "Health as it seems to you",
                    "labels": {str(code): label for code, label in LABELS.items()}},
         "sex": {**levels(1, 2), "labels": {"1": "female", "2": "male"}},
         "age": {"type": "integer", "minimum": 0, "missing": ["", "-9"],
                 "labels": {"-9": "not told"}}},
        published=["3 (fair)", "2 (male)"],
    ),
    "Stata with labels of values": File(
        "panel.dta", stata,
        {"region": {**levels(1, 2, 3), "labels": {"1": "coast", "2": "plain", "3": "hills"}},
         "employed": {**levels(0, 1), "labels": {"0": "no", "1": "yes"}},
         "children": {"type": "integer", "minimum": 0, "maximum": 5}},
        published=["1 (coast)"],
    ),
    "a workbook with dates": File(
        "stays.xlsx", workbook,
        {"visit": {"type": "date", "first": "2023-01-01", "last": "2023-12-31"},
         "ward": levels("A", "B"), "nights": {"type": "integer", "maximum": 9}},
    ),
    "Parquet with decimals and moments": File(
        "requests.parquet", parquet,
        {"channel": levels("desk", "web"), "fee": {"type": "number"},
         "received": {"type": "datetime", "first": "2023-01-01", "last": "2023-12-31"}},
    ),
    "codes 1 to 5 and 99": File(
        "questions.csv", one_to_five_and_99,
        {"satisfied": {**levels(*range(1, 6)), "missing": ["", "99"]},
         "trust": {**levels(*range(1, 6)), "missing": ["", "99"]}, "sex": levels("f", "m")},
    ),
    "codes 0, 1, 2, 9 and skewed costs": File(
        "costs.csv", smokers_and_costs,
        {"smokes": {**levels(0, 1, 2), "missing": ["", "9"]}, "sex": levels("f", "m"),
         "cost": {"type": "number"}},
    ),
    "a patient's number that repeats": File(
        "visits.csv", patients,
        {"reason": levels("accident", "check-up", "illness"),
         "minutes": {"type": "integer", "minimum": 5, "maximum": 44}},
        unit={"column": "patient_id", "max_records": 5},
    ),
}  # fmt: skip


def confirmed(place: Path, edits: Mapping[str, str]) -> tuple[int, int]:
    """How many questions were asked on a terminal, and how many drafted entries were changed."""
    typed = NOTHING_DRAFTED | CHANGED | edits
    asked = []

    def answer(key: str) -> bytes:
        asked.append(key)
        return (typed.get(key, "y") + "\n").encode()

    code, shown = answered([*words_of_synth(), "confirm", "config.yaml"], place, answer)
    assert code == 0, shown
    assert "No mark is left." in shown
    assert "Not yet" not in shown, "no answer was refused"
    assert {*edits} <= {*asked}
    return len(asked), sum(key in typed and key not in NOTHING_DRAFTED for key in asked)


def require_alike(column: str, kind: str, records: pd.Series, synthetic: pd.Series) -> None:
    """Levels, missing values and the middle are in the release about where they are in the records.

    Of ordered values half lie below the median of the release.
    """
    apart = {"missing": records.isna().mean() - synthetic.isna().mean()}
    records, synthetic = records.dropna(), synthetic.dropna()
    if kind in ("categorical", "boolean"):
        wanted = records.map(lambda v: str(int(v)) if isinstance(v, float) else str(v).lower())
        released = synthetic.str.lower()
        for level in {*wanted, *released}:
            apart[level] = (wanted == level).mean() - (released == level).mean()
    else:
        values = synthetic.map(pd.Timestamp if kind in ("date", "datetime") else float)
        middle = values.sort_values().iloc[len(values) // 2]
        apart["middle"] = ((records < middle).mean() + (records <= middle).mean()) / 2 - 0.5
    assert {what: by for what, by in apart.items() if abs(by) > SHARE} == {}, column


def published(place: Path, words: Sequence[str], case: File, records: pd.DataFrame) -> list[str]:
    """Everything from the draft to the release; the row of the page but for its first cell."""
    environment = {**os.environ, "PGUSER": "synth"}

    def done(*words: str) -> str:
        finished = synth(*words, cwd=place, environment=environment)
        assert finished.returncode == 0, (words, finished.stdout, finished.stderr)
        return finished.stdout

    done("draft", *words)
    config = place / "config.yaml"
    marked = len(marks(config.read_text(encoding="utf-8")))
    questions, edits = confirmed(place, case.edits)
    assert edits <= MOST_EDITS
    written = yaml.safe_load(config.read_text(encoding="utf-8"))
    assert written["privacy"]["unit"] == case.unit
    found = {column["name"]: column for column in written["domain"]}
    assert list(found) == list(case.understood)
    for name, entries in case.understood.items():
        drafted = {key: found[name].get(key) for key in entries}
        texts = {key: v.isoformat() if hasattr(v, "isoformat") else v for key, v in drafted.items()}
        assert texts == entries, name
    if records.isna().any(axis=None):
        inspected = json.loads(done("inspect", "config.yaml", "--json"))
        assert inspected["records"] == len(records)
        for column in inspected["columns"]:
            empty = int(records[column["name"]].isna().sum())
            found_here = (column["fits"], column["declared_missing"])
            assert found_here == (len(records) - empty, empty), column
    done("run", "config.yaml")
    release = place / "outputs" / written["release"]["id"]
    synthetic = pd.read_csv(release / "synthetic.csv", dtype=str, keep_default_na=False)
    synthetic = synthetic.mask(synthetic == "")
    assert list(synthetic) == list(case.understood)
    assert abs(len(synthetic) / len(records) - 1) < SHARE
    for name, column in found.items():
        require_alike(name, column["type"], records[name], synthetic[name])
    page = (release / "index.html").read_text(encoding="utf-8")
    assert [word for word in case.published if word not in page] == []
    return [str(marked), str(questions), str(edits)]


def row_of_the_page(kind: str) -> list[str]:
    """The cells of the table in docs/drafting.md behind the first one."""
    (row,) = re.findall(
        rf"^\| {re.escape(kind)} \|(.*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [cell.strip() for cell in row.split("|")]


@pytest.mark.parametrize("kind", FILES)
def test_a_file_becomes_a_release_with_what_the_page_says(tmp_path, kind):
    case = FILES[kind]
    records = case.write(tmp_path)
    measured = published(tmp_path, case.words.split(), case, records)
    assert row_of_the_page(kind) == [f"`synth draft {case.words}`", *measured]


def test_a_table_of_a_database_becomes_a_release_with_what_the_page_says(tmp_path):
    case = File(
        "--url URL --table calls", database,
        {"score": levels(*range(1, 11)), "office": levels("East", "West"),
         "called": {"type": "datetime", "first": "2023-01-01", "last": "2023-12-31"}},
    )  # fmt: skip
    with running_server() as server:
        if server is None:
            pytest.skip("no PostgreSQL server is installed (no initdb)")
        records = case.write(server)
        words = case.words.replace("URL", server.url()).split()
        measured = published(tmp_path, words, case, records)
    kind = "a table of PostgreSQL with types of its own"
    assert row_of_the_page(kind) == [f"`synth draft {case.words}`", *measured]
