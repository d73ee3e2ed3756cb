"""A disk that fills up in the middle of any file: an expected failure, said in one sentence."""

import resource

import pytest

from tests.command_line import synth

CHILD = """
import resource, sys
from pathlib import Path
import numpy as np
from synth.domain.counts import Counts
from synth.domain import Attribute, Universe
from synth.errors import OutputError
from synth.measurements.durable import translate_write_errors
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks
from synth.release.rows.parquet_files import write_parquet
from synth.release.write import _create
from fractions import Fraction

universe = Universe((Attribute("a", "integer", edges=(Fraction(0), Fraction(10**9))),))
columns = published_columns(universe, "uniform")
counts = Counts.of_all(np.array([300_000]), (1,))
writers = {
    "csv": lambda file: file.writelines(csv_chunks(counts, columns, seed=1)),
    "parquet": lambda file: write_parquet(file, counts, columns, seed=1),
}
limit = int(sys.argv[3])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
try:
    with translate_write_errors("the release"):
        _create(Path(sys.argv[1]), writers[sys.argv[2]])
except OutputError as error:
    print(error.sentence)
else:
    print("written")
"""


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("limit", [100, 1_100_000])
def test_a_full_disk_is_an_output_error(tmp_path, kind, limit):
    done = synth(tmp_path / "file", kind, limit, program=CHILD)
    assert done.stdout == "the release could not be written: the disk is full\n", done.stderr
    assert done.stderr == ""


def test_the_same_files_are_written_where_there_is_room(tmp_path):
    room = resource.RLIM_INFINITY
    for kind in ("csv", "parquet"):
        done = synth(tmp_path / kind, kind, room, program=CHILD)
        assert done.stdout == "written\n"
