"""Replicates made with other arithmetic: a few records may stand in another cell, no more."""

from contextlib import ExitStack
from dataclasses import replace
from tempfile import TemporaryFile

import numpy as np
import pyarrow.parquet as pq
import pytest

from synth.config import load_config
from synth.config.release import count_columns
from synth.estimate import Replicates
from synth.estimate.rounding import MOST_MOVED
from synth.release.rows.parquet_files import cell_columns, write_replicates
from synth.release.verification.cell_counts_check import nearly_the_same


@pytest.fixture
def config(project):
    return load_config(project(people=None, output={"replicates": 2}))


@pytest.fixture
def ours(config):
    """Every cell of the universe with two or three records."""
    shape = config.universe.shape
    size = config.universe.size
    columns = tuple(code.astype(np.uint8) for code in np.unravel_index(np.arange(size), shape))
    counts = np.arange(size) % 2 + 2
    return Replicates(columns, counts, (counts.astype(np.uint8), counts.astype(np.uint8)), 1.5)


@pytest.fixture
def write(config):
    """A file on disk, because another process reads it first."""
    with ExitStack() as opened:

        def written(replicates):
            file = opened.enter_context(TemporaryFile())
            write_replicates(file, replicates, config)
            file.seek(0)
            return file

        yield written


def moved(counts, records):
    """One record less in some cells, and one more in the next ones."""
    found = counts.astype(np.int64)
    found[: 2 * records : 2] -= 1
    found[1 : 2 * records : 2] += 1
    return found


@pytest.mark.parametrize(("records", "accepted"), [(0, True), (1, True), (8, True), (9, False)])
def test_a_few_moved_records_are_accepted_and_counted(config, ours, write, records, accepted):
    assert MOST_MOVED == 8
    theirs = replace(ours, counts=(ours.counts[0], moved(ours.counts[1], records)))
    found = nearly_the_same(write(theirs), ours, config)
    assert (found is not None) is accepted
    if found is not None:
        adopted, number = found
        assert number == records
        assert np.array_equal(adopted.counts[1], theirs.counts[1])
        assert write(adopted).read() == write(theirs).read()


def test_nothing_else_is_accepted(config, ours, write):
    first, second = (counts.astype(np.int64) for counts in ours.counts)
    far = second.copy()
    far[0], far[1] = far[0] - 2, far[1] + 2
    more = second.copy()
    more[0] += 1
    for theirs in (
        replace(ours, counts=(first, far)),
        replace(ours, counts=(first, more)),
        replace(ours, published=moved(ours.published, 1)),
        replace(ours, counts=(first,)),
        replace(ours, counts=(first, second, second)),
    ):
        assert nearly_the_same(write(theirs), ours, config) is None
    with TemporaryFile() as file:
        file.write(b"no file")
        assert nearly_the_same(file, ours, config) is None
    with TemporaryFile() as file:
        table = pq.read_table(write(ours))
        pq.write_table(table.rename_columns([f"{name}?" for name in table.column_names]), file)
        assert nearly_the_same(file, ours, config) is None


def test_a_record_that_moved_into_an_empty_cell_is_accepted(config, ours, write):
    lines = slice(0, 20)
    counts = np.array(ours.counts[1][lines], dtype=np.int64)
    known = Replicates(
        tuple(code[lines] for code in ours.columns), ours.published[lines], (counts, counts), 1.0
    )
    columns = tuple(code[:21] for code in ours.columns)
    second = np.append(counts, 1)
    second[19] -= 1
    theirs = Replicates(columns, np.append(known.published, 0), (np.append(counts, 0), second), 1.0)
    found = nearly_the_same(write(theirs), known, config)
    assert found is not None
    assert found[1] == 1


@pytest.mark.parametrize("bins", ["uniform", "midpoint", "interval"])
def test_bins_are_numbers_in_their_middle_or_intervals(project, bins):
    config = load_config(project(people=None, output={"replicates": 2, "bins": bins}))
    (age, *_) = cell_columns(config)
    assert not age.is_random
    assert age.is_numeric is (bins != "interval")
    assert count_columns(2) == ["release_count", "release_replicate_1", "release_replicate_2"]
