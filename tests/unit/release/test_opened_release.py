"""A release folder opened from Python: types, counts, marginals, and what is no release."""

import io
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import synth
from synth.errors import QueryError, VerificationError
from synth.measurements.intervals import public_bounds
from synth.reading.queries import parse_query
from tests.unit.release.conftest import BUSY, stand_in


@pytest.mark.parametrize("formats", [["csv"], ["parquet"], ["csv", "parquet"]])
def test_rows_have_the_published_types_in_either_format(released, formats):
    made = released(**BUSY, output={"formats": formats})
    frame = synth.Release(made.folder).frame()
    assert {name: str(kind) for name, kind in frame.dtypes.items()} == {
        "age": "Int64",
        "gain, in $": "Float64",
        "town": "string",
    }
    counts = stand_in(made.measurements, made.config).counts
    assert len(frame) == counts.total
    shape = made.config.universe.shape
    table = counts.of_every_cell(shape).reshape(shape)
    assert frame["gain, in $"].isna().sum() == table[:, -1].sum()
    assert (frame["town"] == "<Other>").sum() == table[:, :, 2].sum() == 40


def test_csv_and_parquet_give_the_same_frame(released):
    made = released(**BUSY, output={"formats": ["csv", "parquet"]})
    release = synth.Release(made.folder)
    text = (made.folder / "synthetic.csv").read_bytes()
    types = release.frame().dtypes.to_dict()
    read = pd.read_csv(io.BytesIO(text), dtype=types, keep_default_na=False, na_values=[""])
    pd.testing.assert_frame_equal(release.frame(), read)


@pytest.mark.parametrize(
    "damage",
    [
        lambda old: old[:7],
        lambda old: old[: len(old) // 2],
        lambda old: old.replace(b"age", b"aga"),
        lambda old: old.replace(b"Nord", b"N\xff\xferd", 1),
    ],
)
@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_rows_that_cannot_be_read_are_refused_as_by_every_other_method(released, form, damage):
    made = released(**BUSY, output={"formats": [form]})
    path = made.folder / f"synthetic.{form}"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(VerificationError, match=f"verification failed\n  synthetic.{form}: "):
        synth.Release(made.folder).frame()


def test_rows_with_a_field_too_many_are_refused_not_shifted(released):
    made = released(domain=[BUSY["domain"][0]], output={"formats": ["csv"]})
    path = made.folder / "synthetic.csv"
    header, *lines = path.read_text().splitlines()
    path.write_text("\n".join([header, *(f"more,{line}" for line in lines), ""]))
    with pytest.raises(VerificationError, match="cannot be read as rows"):
        synth.Release(made.folder).frame()


def test_counts_and_marginals_are_those_of_the_rows(released):
    made = released(**BUSY)
    release = synth.Release(made.folder)
    shape = made.config.universe.shape
    counts = stand_in(made.measurements, made.config).counts
    table = counts.of_every_cell(shape).reshape(shape)
    cells = release.counts()
    assert cells["count"].to_list() == [int(n) for n in table.ravel() if n]
    marginal = release.marginal(["town", "age"])
    assert marginal["count"].to_list() == table.sum(axis=1).T.ravel().tolist()
    assert marginal["town"].to_list()[:4] == ['Nord, "Süd"'] * 4
    assert marginal["age"].to_list()[:4] == list(made.config.universe.attribute("age").labels)
    assert marginal["age"].cat.ordered
    with pytest.raises(QueryError, match="did you mean town"):
        release.marginal(["twon"])


def test_noisy_tables_and_manifest_are_there(released):
    made = released(**BUSY)
    release = synth.Release(made.folder)
    (noisy,) = release.measurements.tables
    (measured,) = made.measurements.tables
    assert np.array_equal(noisy.noisy_counts, measured.noisy_counts)
    assert noisy.variance == measured.variance
    assert release.manifest["implementation"]["configuration_hash"] == release.config.hash
    assert release.id == made.config.release.id


def test_what_is_no_release_is_refused(released, tmp_path):
    for opened in (synth.Release, synth.verify):
        with pytest.raises(VerificationError, match="no-such") as caught:
            opened(tmp_path / "no-such")
        assert "fix:      give the path of a release folder" in str(caught.value)
    made = released(**BUSY)
    release = synth.Release(made.folder)
    (made.folder / "measurements.parquet").write_bytes(b"PAR1")
    with pytest.raises(VerificationError) as caught:
        synth.intervals(release, queries="age=18")
    assert "measurements.parquet" in str(caught.value)
    assert "fix:      use nothing of it before it verifies" in str(caught.value)
    (made.folder / "manifest.json").write_text("{}")
    with pytest.raises(VerificationError) as caught:
        synth.Release(made.folder)
    assert "manifest.json" in str(caught.value)
    assert caught.value.exit_code == 5


def test_answers_are_sums_of_the_noisy_table_within_public_bounds(released):
    made = released(**BUSY)
    found = synth.intervals(made.folder, queries=["age=18", 'town="<Other>"', "age=18, town=x|y"])
    universe = made.config.universe
    noisy = made.measurements.tables[0].noisy_counts.reshape(universe.shape)
    possible = universe.possible().reshape(universe.shape)
    eighteen = universe.attribute("age").code_of("18")
    assert found["estimate"].iloc[0] == (noisy * possible)[eighteen].sum()
    assert found.iloc[1][["published", "low", "high"]].to_list() == [40, 40, 40]
    assert found.iloc[2][["published", "low", "high"]].to_list() == [0, 0, 0]


def test_totals_bound_parts_and_wholes(measured):
    config = measured(**BUSY).config

    def bounds(text):
        return public_bounds(parse_query(text, config.universe).where, config)

    assert bounds('town="<Other>", age=18') == (0, 40)
    assert bounds('town in {"<Other>", x|y}') == (40, None)
    assert bounds("") == (40, None)
    assert bounds("age=18") == (0, None)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 1.0}, "no interval"),
        ({"method": "exact"}, "no method"),
        ({"method": "replicates"}, "no replicate"),
        ({"marginal": "age,age"}, "each once"),
    ],
)
def test_options_that_make_no_sense_are_refused(released, options, words):
    with pytest.raises(QueryError, match=words):
        synth.intervals(released(**BUSY).folder, queries="age=18", **options)


class Cells(HTMLParser):
    """The texts of the cells of all tables, and every tag."""

    def __init__(self):
        super().__init__()
        self.rows, self.tags, self.text, self.is_cell = [], set(), "", False

    def handle_starttag(self, tag, attrs):
        assert not attrs
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        self.is_cell = tag in ("td", "th")
        if self.is_cell:
            self.rows[-1].append("")

    def handle_endtag(self, tag):  # noqa: ARG002
        self.is_cell = False

    def handle_data(self, data):
        self.text += data
        if self.is_cell:
            self.rows[-1][-1] += data


@pytest.mark.parametrize("formats", [["csv"], ["parquet"]])
def test_a_notebook_shows_title_guarantee_first_rows_and_exactness(released, formats):
    made = released(
        **BUSY | {"release": {"title": "<script>alert(1)</script> & more"}},
        output={"formats": formats},
    )
    release = synth.Release(made.folder)
    found = Cells()
    found.feed(release._repr_html_())
    assert found.tags == {"h3", "p", "table", "thead", "tbody", "tr", "th", "td"}
    assert found.text.startswith("<script>alert(1)</script> & more")
    assert "epsilon 1, add-remove" in found.text
    assert found.rows[0] == ["age", "gain, in $", "town"]
    frame = release.frame().head(5)
    assert [row[0] for row in found.rows[1:6]] == [
        "" if v is pd.NA else str(v) for v in frame["age"]
    ]
    assert [row[2] for row in found.rows[1:6]] == ["" if v is pd.NA else v for v in frame["town"]]
    assert found.rows[6] == ["columns", "most exact", "least exact"]
    assert found.rows[7][0] == "1"
    assert "±" in found.rows[7][1]


@pytest.mark.parametrize("formats", [["csv"], ["parquet"]])
def test_a_release_that_was_damaged_is_refused_by_a_notebook_too(released, formats):
    made = released(**BUSY, output={"formats": formats})
    path = made.folder / f"synthetic.{formats[0]}"
    path.write_bytes(b"\xff" + path.read_bytes()[: len(path.read_bytes()) // 2])
    with pytest.raises(VerificationError):
        synth.Release(made.folder)._repr_html_()
