"""Writing and publishing: private first, whole or not at all, never over anything."""

import errno
import os
import stat
import subprocess
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from synth.config import load_config
from synth.domain.counts import Counts
from synth.errors import BugError, OutputError
from synth.job.pipeline import run
from synth.release import (
    publish_release,
    published_configuration_hash,
    verify_release,
)
from synth.release.verification import verify_folder
from synth.release.write import write_release
from tests.release_folder import contents_of, files_of


def write(made, **changes):
    arguments = {
        "config": made.config,
        "measurements_file": made.measurements_file,
        "receipt": made.receipt,
        "derivation": made.derive,
    } | changes
    return write_release(made.folder, **arguments)


def mode(path):
    return stat.S_IMODE(path.lstat().st_mode)


def occupied_by_file(path):
    path.write_text("mine")


def occupied_by_folder(path):
    path.mkdir()
    (path / "mine").write_text("mine")


def occupied_by_empty_folder(path):
    path.mkdir()


def occupied_by_link(path):
    path.symlink_to(path.parent / "nowhere")


def test_the_folder_holds_the_files_of_the_contract(released):
    made = released()
    assert sorted(files_of(made.folder)) == [
        "README.md",
        "SHA256SUMS",
        "assessment.html",
        "croissant.json",
        "datapackage.json",
        "explore.html",
        "index.html",
        "manifest.json",
        "manifest.schema.json",
        "measurements.parquet",
        "quality.parquet",
        "registry.yaml",
        "synthetic.csv",
        "synthetic.parquet",
        "tables/000-age-sex-town.csv",
    ]
    measured = made.measurements_file.read_bytes()
    assert (made.folder / "measurements.parquet").read_bytes() == measured


@pytest.mark.parametrize("data_file", ["csv", "parquet"])
def test_only_the_configured_formats_are_written(released, data_file):
    made = released(output={"formats": [data_file]})
    names = {path.name for path in made.folder.glob("synthetic.*")}
    assert names == {f"synthetic.{data_file}"}
    verify_folder(made.folder, derivation=made.derive)


def test_sha256sum_accepts_the_checksums(released):
    made = released()
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    subprocess.run(command, cwd=made.folder, check=True, capture_output=True)


def test_two_runs_write_the_same_bytes(released, tmp_path):
    made = released()
    first = contents_of(made.folder)
    other = tmp_path / "again"
    other.mkdir()
    write_release(
        other,
        config=made.config,
        measurements_file=made.measurements_file,
        receipt=made.receipt,
        today=date(2026, 1, 31),
        derivation=made.derive,
    )
    assert contents_of(other) == first


def test_staged_files_are_private_and_published_ones_public_whatever_the_umask(measured, tmp_path):
    made = measured()
    before = os.umask(0o027)
    try:
        write(made)
        assert all(mode(path) == 0o600 for path in files_of(made.folder).values())
        assert mode(made.folder / "tables") == 0o700
        final = tmp_path / "final"
        publish_release(made.folder, final)
    finally:
        os.umask(before)
    assert mode(final) == 0o755
    assert mode(final / "tables") == 0o755
    assert all(mode(path) == 0o644 for path in files_of(final).values())
    assert published_configuration_hash(final) == made.config.hash
    assert not made.folder.exists()


def test_a_staging_directory_that_is_not_empty_is_a_bug(measured):
    made = measured()
    (made.folder / "left").write_text("over")
    with pytest.raises(BugError, match="not empty"):
        write(made)


def test_measurements_must_be_those_of_the_receipt(measured):
    made = measured()
    with pytest.raises(OutputError, match="not those of the receipt"):
        write(made, receipt=replace(made.receipt, measurements_sha256="0" * 64))


@pytest.mark.parametrize("field", ["configuration_hash", "release_id"])
def test_a_receipt_of_another_configuration_is_refused(measured, field):
    made = measured()
    with pytest.raises(OutputError, match="another configuration"):
        write(made, receipt=replace(made.receipt, **{field: "other"}))


def test_a_release_needs_the_statement_of_disposal(measured):
    made = measured()
    with pytest.raises(BugError, match="what became of the raw data"):
        write(made, receipt=replace(made.receipt, disposal=None))


def test_a_receipt_with_other_checks_of_the_disposal_is_refused(measured):
    made = measured()
    disposal = replace(made.receipt.disposal, checks=("everything was fine",))
    with pytest.raises(OutputError, match="that synth does not make"):
        write(made, receipt=replace(made.receipt, disposal=disposal))


@pytest.mark.parametrize("occupy", [occupied_by_file, occupied_by_empty_folder])
def test_what_stands_there_and_is_no_release_is_told_apart(project, log, occupy):
    path = project(output={"directory": "outputs"})
    config = load_config(path)
    config.output.directory.mkdir()
    occupy(config.output.directory / config.release.id)
    with pytest.raises(
        OutputError, match=r"is not a release of synth\n.*\n.*move it away"
    ) as caught:
        run(path, log=log)
    assert caught.value.exit_code == 1
    assert not config.ledger.path.exists()


PERSON = {"column": "person", "max_records": 3}


@pytest.mark.parametrize(
    ("epsilon", "unit"),
    [("0.0003", "record"), ("1/3", PERSON), ("10", "record"), ("50", PERSON)],
)
def test_any_epsilon_that_can_be_configured_gives_a_release_that_verifies(measured, epsilon, unit):
    made = measured(
        privacy={"epsilon": epsilon, "unit": unit, "neighbours": "add-remove"},
        ledger={"epsilon_cap": epsilon},
    )
    assert write(made).checks


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EACCES, errno.EIO])
@pytest.mark.parametrize("call", range(7))
def test_an_error_of_the_file_system_is_an_expected_failure(measured, monkeypatch, code, call):
    made = measured()
    calls = iter(range(100))
    real = os.fsync

    def fails(descriptor):
        if next(calls) == call:
            raise OSError(code, os.strerror(code))
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fails)
    with pytest.raises(OutputError) as caught:
        write(made)
    assert caught.value.exit_code == 1


@pytest.mark.parametrize("broken", ["impossible", "public_totals"])
def test_what_does_not_verify_is_a_bug(measured, busy, broken):
    made = measured(**busy)

    def wrong(measurements, config, *_):
        shape = config.universe.shape
        counts = made.derive(measurements, config).counts.of_every_cell(shape)
        place = ~config.universe.possible()
        if broken == "public_totals":
            place = config.universe.members(config.public_totals[0].where)
        counts[np.flatnonzero(place)[0]] += 1
        counts = Counts.of_all(counts, shape)
        return replace(made.derive(measurements, config), counts=counts)

    with pytest.raises(BugError, match=r"rows are impossible|from the public total") as caught:
        write(made, derivation=wrong)
    assert "this is a bug of synth; report this message" in str(caught.value)
    assert "never the data" in str(caught.value)


@pytest.mark.parametrize(
    "occupy",
    [occupied_by_file, occupied_by_folder, occupied_by_empty_folder, occupied_by_link],
)
def test_nothing_is_ever_replaced(released, tmp_path, occupy):
    made = released()
    final = tmp_path / "final"
    occupy(final)
    before = final.lstat()
    with pytest.raises(OutputError, match="already there"):
        publish_release(made.folder, final)
    assert final.lstat() == before
    assert made.folder.exists()


@pytest.mark.parametrize("occupy", [occupied_by_file, occupied_by_folder, occupied_by_link])
def test_nothing_is_replaced_in_a_race(released, tmp_path, monkeypatch, occupy):
    made = released()
    final = tmp_path / "final"
    occupy(final)
    monkeypatch.setattr(os.path, "lexists", lambda _: False)
    with pytest.raises(OutputError, match="already there"):
        publish_release(made.folder, final)
    assert made.folder.exists()


def test_a_published_release_verifies(released, tmp_path):
    made = released()
    publish_release(made.folder, tmp_path / "final")
    verify_folder(tmp_path / "final", derivation=made.derive)


def test_a_parent_that_is_gone_is_an_expected_failure(released, tmp_path):
    made = released()
    with pytest.raises(OutputError):
        publish_release(made.folder, tmp_path / "nowhere" / "final")


def test_a_folder_that_is_no_release_has_no_configuration_hash(tmp_path):
    assert published_configuration_hash(tmp_path) is None
    for content in ("[]", "{}", '{"configuration": {}}', '{"manifest_version": "1"}'):
        (tmp_path / "manifest.json").write_text(content)
        assert published_configuration_hash(tmp_path) is None
    assert published_configuration_hash(tmp_path / "manifest.json") is None
    assert verify_release is verify_folder
