"""Files appear whole or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from synth.errors import OutputError
from synth.measurements import durable
from synth.measurements.durable import (
    create_durably,
    make_private_directory,
    remove_partial_files,
    replace_durably,
    translate_write_errors,
)

KILLED_WHILE_WRITING = """
import os, signal, sys
from pathlib import Path
from synth.measurements import durable
def write(stream):
    stream.write(b"half")
    stream.flush()
    os.kill(os.getpid(), signal.SIGKILL)
getattr(durable, sys.argv[1])(Path(sys.argv[2]), write)
"""


@pytest.fixture(params=["nameless", "named"])
def way(request, monkeypatch):
    """Both ways of creating a file: without a name first, and where that is not to be had."""
    if request.param == "named":
        opened = os.open

        def refuses(path, flags, *rest, **options):
            if flags & os.O_TMPFILE == os.O_TMPFILE:
                raise OSError(errno.EOPNOTSUPP, "not supported")
            return opened(path, flags, *rest, **options)

        monkeypatch.setattr(durable.os, "open", refuses)
    return request.param


def test_create_makes_a_private_file_once(tmp_path, way):
    path = tmp_path / "f"
    create_durably(path, lambda stream: stream.write(b"content"))
    assert path.read_bytes() == b"content"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(FileExistsError):
        create_durably(path, lambda stream: stream.write(b"other"))
    assert path.read_bytes() == b"content"
    assert list(tmp_path.iterdir()) == [path], way


def test_a_writer_that_fails_leaves_nothing(tmp_path, way):
    def fails(stream):
        stream.write(b"half")
        raise OSError(errno.ENOSPC, "full")

    for function in (create_durably, replace_durably):
        with pytest.raises(OSError, match="full"):
            function(tmp_path / "f", fails)
    assert list(tmp_path.iterdir()) == [], way


def test_replace_keeps_the_old_content_until_the_new_is_whole(tmp_path):
    path = tmp_path / "f"
    replace_durably(path, lambda stream: stream.write(b"old"))
    replace_durably(path, lambda stream: stream.write(b"new"))
    assert path.read_bytes() == b"new"


@pytest.mark.parametrize("function", ["create_durably", "replace_durably"])
def test_killed_while_writing(tmp_path, function):
    command = [sys.executable, "-c", KILLED_WHILE_WRITING, function, str(tmp_path / "f")]
    assert subprocess.run(command, check=False).returncode == -signal.SIGKILL
    assert not (tmp_path / "f").exists()
    if function == "create_durably":
        assert list(tmp_path.iterdir()) == [], "a nameless file leaves no trace"
    remove_partial_files(tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("code", "says"),
    [(errno.ENOSPC, "disk is full"), (errno.EROFS, "permission"), (errno.EIO, "Input/output")],
)
def test_errors_of_the_system_are_explained(code, says):
    with pytest.raises(OutputError, match=says) as caught, translate_write_errors("the file"):
        raise OSError(code, "x", "/a/secret/path")
    assert "secret" not in str(caught.value)


def test_private_directories_do_not_depend_on_the_umask(tmp_path):
    before = os.umask(0)
    try:
        make_private_directory(tmp_path / "a" / "b")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o700
    assert stat.S_IMODE((tmp_path / "a" / "b").stat().st_mode) == 0o700
