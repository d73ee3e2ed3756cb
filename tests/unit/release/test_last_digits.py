"""Rows that another machine computed: what last digits can have moved is accepted, and said."""

import math
from dataclasses import replace

import numpy as np
import pytest

from synth.domain.counts import Counts
from synth.errors import VerificationError
from synth.estimate import any_size, balanced, estimate_whole, rounding
from synth.release.derivation import derive, moved_records
from synth.release.manifest import build
from synth.release.verification import verify_folder
from synth.release.verification.rebuild import FACTOR, _nearly
from synth.release.write import write_release

SHAPE = (5, 3, 3)
LAST_DIGIT = 1e-13
NUDGE = 1e-11
"""Records by which a running sum is put above a whole number; last digits take more away."""


@pytest.fixture
def on_a_threshold(monkeypatch):
    """Choose the offset of the rounding in order so that the running sum just reaches a whole."""
    monkeypatch.setattr(balanced, "MOST_CELLS", 0)

    def put(values):
        running = np.cumsum(values)
        place = int(np.flatnonzero(values[:-1] > 0.01)[len(values) // 2])
        u = float(np.ceil(running[place]) - running[place]) + NUDGE
        parts = [(slice(None), u, None)]
        monkeypatch.setattr(rounding, "rounded_together", lambda *_: iter(parts))
        return place

    return put


@pytest.fixture
def elsewhere(measured, monkeypatch):
    """Writes a release as a machine with other libraries would, or says that it did."""

    def write(derivation, *, made=None, fingerprint="f" * 64, numpy="1.99.0"):
        made = made or measured()
        with monkeypatch.context() as there:
            software = build.installed_software()
            versions = software.versions | ({"numpy": numpy} if numpy else {})
            there.setattr(build, "installed_software", lambda: replace(software, versions=versions))
            if fingerprint:
                there.setattr(build, "arithmetic_fingerprint", lambda: fingerprint)
            write_release(
                made.folder,
                config=made.config,
                measurements_file=made.measurements_file,
                receipt=made.receipt,
                derivation=lambda m, c, *_: derivation(derive(m, c)),
            )
        return made

    return write


def moving(*steps):
    """A derivation that is changed in some cells: pairs of (cell, records more)."""

    def change(derived):
        counts = derived.counts.of_every_cell(SHAPE)
        for cell, records in steps:
            counts[cell] += records
        assert counts.min() >= 0
        return replace(derived, counts=Counts.of_all(counts, SHAPE))

    return change


def perturbed(monkeypatch, relative):
    def other(*args):
        found = estimate_whole(*args)
        return replace(found, values=found.values * (1 - relative))

    monkeypatch.setattr(any_size, "estimate_whole", other)


def values_of(made):
    return estimate_whole(made.measurements, made.config).values


def counts_of(made):
    assert made.config.universe.shape == SHAPE
    return derive(made.measurements, made.config).counts.of_every_cell(SHAPE)


def test_last_digits_that_move_a_record_are_accepted_and_said(
    measured, elsewhere, on_a_threshold, monkeypatch
):
    made = measured()
    place = on_a_threshold(values_of(made))
    here = counts_of(made)
    with monkeypatch.context() as there:
        perturbed(there, LAST_DIGIT)
        written = counts_of(made)
        elsewhere(lambda derived: derived, made=made)
    assert list(np.flatnonzero(written - here)) == [place, place + 1]
    report = verify_folder(made.folder)
    assert not report.is_bit_for_bit
    assert str(report).startswith("small: verified within tolerance, not bit for bit\n")
    for name in ("synthetic.csv", "synthetic.parquet"):
        lines = [check for check in report.checks if check.startswith(f"{name}: ")]
        assert lines == [
            f"{name}: every byte is the expansion of the counts rebuilt from the measurements but "
            "for 1 that last digits moved, within tolerance, not bit for bit"
        ]


@pytest.mark.parametrize(
    ("fingerprint", "numpy"),
    [(None, None), (None, "1.99.0"), ("f" * 64, None)],
    ids=["nothing else stated", "only another version", "only another fingerprint"],
)
def test_the_same_record_is_a_finding_without_a_reason_for_it(
    measured, elsewhere, on_a_threshold, monkeypatch, fingerprint, numpy
):
    made = measured()
    on_a_threshold(values_of(made))
    with monkeypatch.context() as there:
        perturbed(there, LAST_DIGIT)
        elsewhere(lambda derived: derived, made=made, fingerprint=fingerprint, numpy=numpy)
    with pytest.raises(VerificationError, match=r"synthetic\.csv: byte"):
        verify_folder(made.folder)


@pytest.mark.parametrize(
    ("fingerprint", "numpy", "records"),
    [
        (None, None, 1),
        ("f" * 64, None, 20),
        (None, "1.99.0", 20),
        ("f" * 64, "1.99.0", 1),
        ("0" * 64, "1.99.0", 20),
    ],
    ids=["nothing", "fingerprint", "version", "both, one record", "both"],
)
def test_records_moved_by_hand_are_found_whatever_fingerprint_is_stated(
    elsewhere, fingerprint, numpy, records
):
    """Everything else is made to agree: fit, files, page, checksums."""

    def move(derived):
        counts = derived.counts.of_every_cell(SHAPE)
        full, empty = int(np.argmax(counts)), int(np.argmin(counts))
        assert counts[full] > 20
        return moving((full, -records), (empty, records))(derived)

    made = elsewhere(move, fingerprint=fingerprint, numpy=numpy)
    with pytest.raises(VerificationError, match=r"synthetic\.csv: byte") as caught:
        verify_folder(made.folder)
    assert caught.value.exit_code == 5


def test_every_step_of_one_record_to_the_next_cell_is_found_but_on_a_threshold(measured):
    made = measured()
    counts = counts_of(made)

    def moved(found):
        published = Counts.of_all(found, SHAPE)
        return moved_records(made.measurements, made.config, published)

    assert moved(counts) == 0
    for cell in range(len(counts) - 1):
        for one, other in ((cell, cell + 1), (cell + 1, cell)):
            if counts[one]:
                found = counts.copy()
                found[one] -= 1
                found[other] += 1
                assert moved(found) is None


def test_a_row_more_is_never_last_digits(elsewhere):
    made = elsewhere(moving((0, 1)))
    with pytest.raises(VerificationError, match=r"synthetic\.csv: (byte|ends)"):
        verify_folder(made.folder)


VARIANCE = "accounting.events[0].variance"
FIGURE = "quality.parquet[3].sd_records"


@pytest.mark.parametrize(
    ("path", "found", "expected", "is_near"),
    [
        (FIGURE, 2.0 * (1 + 1e-9), 2.0, True),
        (FIGURE, 2.0 * (1 + 1e-4), 2.0, False),
        (FIGURE, math.inf, 2.0, False),
        (FIGURE, -math.inf, 2.0, False),
        (FIGURE, math.nan, 2.0, False),
        (VARIANCE, math.nextafter(2.0, 3.0), 2.0, True),
        (VARIANCE, 2.0 * (1 + 1e-9), 2.0, False),
        (FACTOR, 1.44, 1.43, True),
        (FACTOR, 1.45, 1.43, False),
    ],
)
def test_last_digits_are_last_digits(path, found, expected, is_near):
    assert _nearly(path, found, expected) == is_near
