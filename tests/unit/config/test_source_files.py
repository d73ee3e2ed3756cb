"""The files that a source names: each once; none is an error that says where they may have gone."""

import os
from pathlib import Path

import pytest

from synth.config import Dialect, FileSource
from synth.config.source_files import source_files
from synth.errors import SourceError


def source(path: Path, disposal="keep") -> FileSource:
    return FileSource(path, Dialect(), disposal, "")


@pytest.mark.parametrize(("disposal", "told"), [("delete", True), ("keep", False)])
@pytest.mark.parametrize("name", ["gone.csv", "gone-*.csv"])
def test_a_source_that_is_deleted_after_a_run_is_missed_in_these_words(
    tmp_path, name, disposal, told
):
    with pytest.raises(SourceError, match="names no file") as caught:
        source_files(source(tmp_path / name, disposal))
    assert ("deleted after an earlier run" in caught.value.why) == told


def symbolic_link(place: Path) -> str:
    (place / "latest.csv").symlink_to("2024.csv")
    return "*.csv"


def hard_link(place: Path) -> str:
    os.link(place / "2024.csv", place / "again.csv")
    return "*.csv"


def link_to_a_directory(place: Path) -> str:
    (place / "years").mkdir()
    (place / "2024.csv").rename(place / "years" / "2024.csv")
    (place / "current").symlink_to("years", target_is_directory=True)
    return "*/*.csv"


def link_to_a_link(place: Path) -> str:
    (place / "latest").symlink_to("2024.csv")
    (place / "newest.csv").symlink_to(place / "latest")
    return "*.csv"


TWICE = (symbolic_link, hard_link, link_to_a_directory, link_to_a_link)


@pytest.mark.parametrize("link", TWICE)
def test_a_file_with_two_names_in_a_pattern_is_refused(tmp_path, link):
    (tmp_path / "2024.csv").write_text("age\n1\n")
    (tmp_path / "2023.csv").write_text("age\n1\n")
    pattern = link(tmp_path)
    with pytest.raises(SourceError, match=r"names one file twice: .* and ") as caught:
        source_files(source(tmp_path / pattern))
    assert "twice" in caught.value.why
    assert "pattern" in caught.value.fix


def test_a_link_alone_and_a_copy_are_files_like_others(tmp_path):
    (tmp_path / "data").mkdir()
    for name in ("2023.csv", "2024.csv"):
        (tmp_path / "data" / name).write_text("the same bytes")
    (tmp_path / "latest.csv").symlink_to("data/2024.csv")
    assert len(source_files(source(tmp_path / "data" / "*.csv"))) == 2
    assert source_files(source(tmp_path / "*.csv")) == (tmp_path / "latest.csv",)
    assert source_files(source(tmp_path / "latest.csv")) == (tmp_path / "latest.csv",)


def test_a_pattern_that_finds_one_name_in_two_ways_finds_it_once(tmp_path):
    (tmp_path / "a" / "a").mkdir(parents=True)
    (tmp_path / "a" / "a" / "people.csv").write_text("age\n1\n")
    found = source_files(source(tmp_path / "**" / "a" / "**" / "*.csv"))
    assert found == (tmp_path / "a" / "a" / "people.csv",)
