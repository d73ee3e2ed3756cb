"""The command line as a process that is forked and not executed, so that a test of it is quick.

For tests of what a command answers and leaves behind. That commands start, stop and end when they
are executed is tested in tests/end_to_end/test_command_line.py, tests/docs and tests/secrecy.
"""

import atexit
import functools
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import yaml

from tests import warm_trial
from tests.conftest import PEOPLE, SMALL


@functools.cache
def _warm_process() -> subprocess.Popen[str]:
    """Started at the first command of this process, and ended with it."""
    with tempfile.TemporaryDirectory() as place:
        (Path(place) / "people.csv").write_text(PEOPLE, encoding="utf-8")
        configuration = Path(place) / "small.yaml"
        configuration.write_text(yaml.safe_dump(SMALL, allow_unicode=True), encoding="utf-8")
        started = subprocess.Popen(
            [
                sys.executable,
                str(Path(__file__).with_name("warm_process.py")),
                str(configuration),
                warm_trial.warm_process(),
                socket_of(warm_trial.warm_process()),
            ],
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1"}
            | {"JE_ARROW_MALLOC_CONF": "background_thread:false"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        atexit.register(started.communicate)
        _ask(started, ["--version"], Path(place), os.environ, Path(place))
    return started


def socket_of(trials: str) -> str:
    """Where clients ask: beside the socket of the trials."""
    return str(Path(trials).with_name("commands"))


def words_of_synth() -> list[str]:
    """A command for subprocess that does what `synth` does, and can be stopped as it can be.

    With `-c PROGRAM` behind it a program is carried out, with the words after that in `sys.argv`.
    """
    asks = socket_of(warm_trial.warm_process())
    _warm_process()
    return [sys.executable, "-IS", str(Path(__file__).with_name("warm_client.py")), asks]


def write_program(path: Path) -> None:
    """A program for shell scripts that does what `synth` does."""
    words = shlex.join(words_of_synth())
    path.write_text(f'#!/bin/sh\nexec {words} "$@"\n', encoding="utf-8")
    path.chmod(0o755)


def synth(
    *arguments: object,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    program: str = "",
) -> subprocess.CompletedProcess[str]:
    """Exit code and output of a command; `environment` takes the place of that of the test.

    A `program` is carried out instead, with the arguments in its `sys.argv`, as by `python -c`.
    """
    words = [str(argument) for argument in arguments]
    variables = os.environ if environment is None else environment
    with tempfile.TemporaryDirectory() as place:
        return _ask(_warm_process(), words, cwd or Path.cwd(), variables, Path(place), program)


def _ask(
    process: subprocess.Popen[str],
    words: list[str],
    directory: Path,
    environment: Mapping[str, str],
    place: Path,
    program: str = "",
) -> subprocess.CompletedProcess[str]:
    output, errors = place / "output", place / "errors"
    output.touch()
    errors.touch()
    mask = os.umask(0)
    os.umask(mask)
    request = {
        "words": words,
        "program": program,
        "directory": str(directory),
        "environment": dict(environment),
        "mask": mask,
        "output": str(output),
        "errors": str(errors),
    }
    assert process.stdin is not None
    assert process.stdout is not None
    print(json.dumps(request), file=process.stdin, flush=True)
    code = int(process.stdout.readline())
    return subprocess.CompletedProcess(
        words, code, output.read_text(encoding="utf-8"), errors.read_text(encoding="utf-8")
    )
