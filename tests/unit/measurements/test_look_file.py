"""A look in the file of measurements: kept whole, hashed, and told apart from files without one."""

import json
from dataclasses import replace
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from synth.measurements import MeasuredLook, Measurements, read_measurements, write_measurements
from synth.noise import noise_variance
from synth.privacy import LookEvent
from tests.unit.measurements.test_file import EVENT, UNIVERSE, measured_table

LOOK_EVENT = LookEvent((1, 14), (("a", "b"),), 2, Fraction(1, 50))
LOOK = MeasuredLook(LOOK_EVENT, (-7, 2**62, 5), noise_variance(LOOK_EVENT.as_table))
MEASURED = Measurements("r", "h", (measured_table(EVENT, range(6)),), (), LOOK)


def written(path, measurements=MEASURED):
    write_measurements(path / "m.parquet", measurements)
    return path / "m.parquet"


def head_of(path):
    return json.loads(pq.read_schema(path).metadata[b"synth"])


def test_a_look_survives_the_disk(tmp_path):
    read = read_measurements(written(tmp_path), UNIVERSE)
    assert read.look == LOOK
    assert read.content_hash == MEASURED.content_hash
    assert read.events == (EVENT, LOOK_EVENT)
    assert head_of(written_elsewhere := tmp_path / "m.parquet")["format_version"] == 3
    assert head_of(written_elsewhere)["look"]["noisy_counts"] == [-7, 2**62, 5]


def test_a_file_without_a_look_is_what_it_was(tmp_path):
    path = written(tmp_path, replace(MEASURED, look=None))
    assert head_of(path)["format_version"] == 2
    assert "look" not in head_of(path)
    assert read_measurements(path, UNIVERSE).look is None


@pytest.mark.parametrize(
    "look",
    [
        None,
        replace(LOOK, noisy_counts=(-7, 2**62 - 1, 5)),
        replace(LOOK, event=replace(LOOK_EVENT, epsilon=Fraction(1, 49))),
    ],
)
def test_the_hash_covers_the_look(look):
    assert replace(MEASURED, look=look).content_hash != MEASURED.content_hash


@pytest.mark.parametrize(
    "change",
    [
        lambda head: head.update(format_version=2),
        lambda head: head.update(look=None),
        lambda head: head.update(look=[]),
        lambda head: head["look"].pop("noisy_counts"),
        lambda head: head["look"].update(noisy_counts=[1]),
        lambda head: head["look"].update(noisy_counts=[1, 2]),
        lambda head: head["look"].update(noisy_counts=[1, 2, True]),
        lambda head: head["look"].update(noisy_counts=[1, 2, 2**63]),
        lambda head: head["look"].update(noisy_counts=[1, 2, 3, 4]),
        lambda head: head["look"].update(pairs=[]),
        lambda head: head["look"].pop("pairs"),
        lambda head: head["look"].update(firsts=[1, 1]),
        lambda head: head["look"].update(firsts=[2, 14]),
        lambda head: head["look"].update(firsts=[]),
        lambda head: head["look"].update(epsilon="2/100"),
        lambda head: head["look"].update(epsilon="0"),
        lambda head: head["look"].update(sensitivity_l1=0),
        lambda head: head["look"].update(sensitivity_l1=True),
        lambda head: head["look"].update(mechanism="discrete-gaussian"),
        lambda head: head["look"].update(more=1),
        lambda head: head.pop("look"),
    ],
)
def test_a_damaged_look_is_refused(tmp_path, change):
    path = written(tmp_path)
    table, head = pq.read_table(path), head_of(path)
    change(head)
    pq.write_table(table.replace_schema_metadata({b"synth": json.dumps(head).encode()}), path)
    with pytest.raises(ValueError, match=r"^(has|is|an|a|the|what|Invalid)"):
        read_measurements(path, UNIVERSE)
