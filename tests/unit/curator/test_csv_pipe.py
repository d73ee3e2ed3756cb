"""The pipe through which a text file is read: it ends, and says so if it ended too early."""

import errno
import os

import pytest

from synth.config.types import Dialect
from synth.curator import csv_source
from synth.curator.csv_source import CsvFile, require_whole
from synth.errors import SourceError

TEXT = "age,town\n" + "34,Süd\n" * 30_000


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "people.csv"
    path.write_text(TEXT)
    opened = CsvFile(path, Dialect())
    yield opened
    opened.close()


def taken(file: CsvFile) -> bytes:
    """What comes out of the pipe until its end, for which nobody waits longer than seconds."""
    descriptor = int(file.open().rsplit("/", 1)[1])
    found = b""
    for _ in range(1000):
        file._thread.join(0.005)
        os.set_blocking(descriptor, False)
        try:
            content = os.read(descriptor, 1 << 20)
        except BlockingIOError:
            continue
        if not content:
            file.finish()
            return found
        found += content
    pytest.fail("the pipe does not end")


def test_everything_comes_out(file):
    assert taken(file).decode() == TEXT
    require_whole([file], "people.csv")


def test_what_is_written_in_pieces_comes_out_whole(file, monkeypatch):
    exact = os.write
    monkeypatch.setattr(csv_source.os, "write", lambda fd, content: exact(fd, content[:5000]))
    assert taken(file).decode() == TEXT
    require_whole([file], "people.csv")


@pytest.mark.parametrize(
    "error",
    [MemoryError(), OSError(errno.ENOSPC, "full"), OSError(errno.EIO, "broken"), ValueError()],
)
@pytest.mark.parametrize("where", ["before the first byte", "later", "in the pipe"])
def test_a_failure_ends_the_pipe_and_is_no_whole_file(file, monkeypatch, error, where):
    """Otherwise the reader would wait for ever, or a part of the records pass for all of them."""
    exact = csv_source._decoded

    def fails(*arguments):
        if where == "later":
            yield next(exact(*arguments))
        raise error

    def write(*_):
        raise error

    if where == "in the pipe":
        monkeypatch.setattr(csv_source, "_write_whole", write)
    else:
        monkeypatch.setattr(csv_source, "_decoded", fails)
    assert len(taken(file)) < len(TEXT.encode())
    with pytest.raises(SourceError, match="incomplete"):
        require_whole([file], "people.csv")


def test_a_reader_that_goes_away_is_no_damage(file):
    file.open()
    file.close()
    file.finish()
    require_whole([file], "people.csv")
