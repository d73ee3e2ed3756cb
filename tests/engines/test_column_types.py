"""Columns of every type: the same values give the same counts in CSV, Parquet and PostgreSQL."""

from __future__ import annotations

import pyarrow as pa
import pytest

from .test_equal_counts import on_every_engine, require_equal

TRUTH = {"name": "flag", "type": "boolean", "missing": ["", "9"], "out_of_domain": "missing"} | {
    "source": "test"
}  # fmt: skip


def counted(project, tmp_path, server, column, kinds, values, as_csv=None):
    """The counts of one column by its codes, equal on every engine."""
    counts = on_every_engine(
        project, tmp_path, server, domain=[column], kinds={column["name"]: kinds},
        rows=[(value,) for value in values],
        as_csv=None if as_csv is None else [(value,) for value in as_csv],
        workload={"marginals": 1},
    )  # fmt: skip
    require_equal(counts, len(values))
    return counts["csv"].tolist()


def test_booleans(project, tmp_path, server):
    values = [True, False, None, True]
    found = counted(
        project, tmp_path, server, TRUTH, (pa.bool_(), "boolean"), values,
        as_csv=["true", "f", "", "1"],
    )  # fmt: skip
    assert found == [1, 2, 1]


def test_texts_for_true_and_false(project, tmp_path, server):
    values = ["true", "TRUE", "t", "yes", "1", "No", "0", "9", None, "tRuE", " true", "1.0", "x"]
    kinds = (pa.string(), "text")
    assert counted(project, tmp_path, server, TRUTH, kinds, values) == [2, 5, 6]


@pytest.mark.parametrize("kinds", [(pa.int8(), "smallint"), (pa.float32(), "real")])
def test_numbers_for_true_and_false(project, tmp_path, server, kinds):
    values = [0, 1, 1, 9, None, 2, -1]
    assert counted(project, tmp_path, server, TRUTH, kinds, values) == [1, 2, 4]


def test_declared_words(project, tmp_path, server):
    column = TRUTH | {"true_values": ["ja"], "false_values": ["nein", "true"]}
    values = ["ja", "nein", "true", "yes", "Ja"]
    kinds = (pa.string(), "varchar(9)")
    assert counted(project, tmp_path, server, column, kinds, values) == [2, 1, 2]


@pytest.mark.parametrize(
    ("kinds", "missing"),
    [
        ((pa.int64(), "bigint"), "99"),
        ((pa.int16(), "smallint"), "99"),
        ((pa.float64(), "double precision"), "99"),
        ((pa.decimal128(5, 0), "numeric(5)"), "99"),
        ((pa.string(), "text"), "99"),
    ],
)
@pytest.mark.parametrize("kind", ["integer", "number"])
def test_a_missing_code_is_missing_though_bins_hold_it(
    project, tmp_path, server, kinds, missing, kind
):
    bins = {"minimum": 0, "maximum": 99, "bin_width": 50} if kind == "integer" else {}
    bins |= {"edges": [0, 50, 100]} if kind == "number" else {}
    column = {"name": "v", "type": kind, "missing": [missing, "-1"], "out_of_domain": "clamp"}
    values = [0, 49, 50, 98, 99, -1, -2, 100]
    if pa.types.is_string(kinds[0]):
        values = list(map(str, values))
    column |= bins | {"source": "test"}
    assert counted(project, tmp_path, server, column, kinds, values) == [3, 3, 2]


def test_codes_with_zeros_in_front_stay_texts(project, tmp_path, server):
    column = {"name": "v", "type": "categorical", "levels": ["007", "7", "07"], "missing": [""]} | {
        "out_of_domain": "missing", "source": "test",
    }  # fmt: skip
    values = ["007", "7", "07", "7.0", "0007", "007"]
    kinds = (pa.dictionary(pa.int8(), pa.string()), "varchar(4)")
    assert counted(project, tmp_path, server, column, kinds, values) == [2, 1, 1, 2]
