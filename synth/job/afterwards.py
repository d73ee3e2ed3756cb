"""What follows a publication: the index for the public, and the delivery.

Neither touches the release, its measurements or the ledger, and both are tried again by the next
start of the same command until they succeeded once. The configured command that brings a release
to the public is started without a shell, in a session of its own, with nothing on its standard
input and little of the environment. It sees published files and can change neither release nor
ledger by failing.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import IO

from synth.catalogue import listed, rebuild
from synth.config import Config
from synth.config.release import DeliverConfig
from synth.config.schema.yaml_tree import printable
from synth.errors import DeliveryError, told_as
from synth.job.log import Log, Record
from synth.job.remembered import (
    Failure,
    Remembered,
    changing,
    recall,
    state_file,
    utc_today,
    without,
)

PASSED_ON = (
    *("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "TZ", "LANG", "LC_ALL"),
    *("SSH_AUTH_SOCK", "XDG_CONFIG_HOME", "CREDENTIALS_DIRECTORY"),
)
"""All that the command gets of the environment: no policy, no password of a database."""

SECONDS_TO_END = 10.0
"""How long the command may clean up after it was told to end."""

MOST_CHARACTERS = 300
"""Of the end of what the command said."""

AGAIN = (
    "the release is published and stays as it is; mend that, and start the same command again, "
    "or wait for the next `synth due`"
)


def delivery_words(deliver: DeliverConfig, folder: Path) -> list[str]:
    """The command for one release folder, word by word."""
    program, *words = deliver.command
    places = {
        "{folder}": str(folder),
        "{directory}": str(folder.parent),
        "{release}": folder.name,
    }
    return [program, *(_filled(word, places) for word in words)]


def _filled(word: str, places: dict[str, str]) -> str:
    """Every place filled in, once: what is filled in is not looked at again."""
    for place, value in places.items():
        if place in word:
            before, _, after = word.partition(place)
            return _filled(before, places) + value + _filled(after, places)
    return word


def deliver_release(deliver: DeliverConfig, folder: Path) -> None:
    """Start the command for a published release and wait for it.

    Ensures: when this returns or raises, the command has ended, and so has what it started, unless
    that left its session.
    Raises: DeliveryError if it cannot be started, fails or takes too long.
    """
    words = delivery_words(deliver, folder)
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    with tempfile.TemporaryFile() as said:
        try:
            process = subprocess.Popen(
                words,
                env=environment,
                cwd=folder.parent,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it holds a null byte"
            raise DeliveryError(
                f"{folder.name} is published, and its delivery could not be started: {reason}",
                why=f"the program is {words[0]}",
                fix=AGAIN,
            ) from None
        try:
            code = process.wait(deliver.timeout)
        except subprocess.TimeoutExpired:
            _end(process)
            raise DeliveryError(
                f"{folder.name} is published, and its delivery was stopped after "
                f"{deliver.timeout:,} seconds",
                why=_end_of(said, words),
                fix=f"{AGAIN}; `output.deliver.timeout` may be longer",
            ) from None
        except BaseException:
            _end(process)
            raise
        if code:
            ended = f"signal {-code}" if code < 0 else f"exit code {code}"
            raise DeliveryError(
                f"{folder.name} is published, and its delivery failed ({ended})",
                why=_end_of(said, words),
                fix=AGAIN,
            )


def _end_of(said: IO[bytes], words: Sequence[str]) -> str:
    """What the command said last, in one line."""
    size = said.seek(0, os.SEEK_END)
    said.seek(max(0, size - 4 * MOST_CHARACTERS))
    text = " ".join(said.read().decode("utf-8", "replace").split())
    program = Path(words[0]).name
    if not text:
        return f"{program} said nothing"
    return f"{program} said: {printable(text[-MOST_CHARACTERS:])}"


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the command and all of its session."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with suppress(subprocess.TimeoutExpired):
            process.wait(SECONDS_TO_END)


def is_done(
    config: Config, release_id: str, *, remembered: Remembered, indexed: Collection[str]
) -> bool:
    """Whether nothing is left to do after the publication of a release of this job."""
    is_delivered = config.output.deliver is None or release_id in remembered.delivered
    return is_delivered and release_id in indexed


def after_publication(config: Config, folder: Path, *, log: Log) -> None:
    """Put a published release into the index and deliver it, as far as that is not done.

    That the index cannot be written is a note, and stops nothing.
    Requires: `folder` is the release of this configuration, published.
    Raises: DeliveryError if the command fails; OutputError if what was done cannot be noted.
    """
    if config.is_rehearsal:
        return
    is_new = folder.name not in listed(folder.parent) and write_index(folder.parent, log=log)
    if config.output.deliver is None:
        return
    file = state_file(config)
    if is_new or folder.name not in recall(file).delivered:
        _deliver(config.output.deliver, folder, file, log=log)


def write_index(directory: Path, *, log: Log) -> bool:
    """Write the index of a directory of releases; whether that succeeded.

    A failure is a note in the log: the releases are published all the same.
    """
    try:
        rebuild(directory)
    except Exception as error:
        told = told_as(error)
        log.write(
            Record(
                log.release,
                "note",
                f"the index of all releases was not written: {told.sentence}",
                error=type(told).__name__,
                why=told.why or None,
                fix=told.fix or None,
            )
        )
        return False
    return True


def _deliver(deliver: DeliverConfig, folder: Path, file: Path, *, log: Log) -> None:
    with changing(file) as state:
        begun = Failure.begun(state[0].undelivered.get(folder.name))
        state[0] = replace(
            state[0],
            undelivered={**state[0].undelivered, folder.name: begun},
            delivered=without(state[0].delivered, folder.name),
        )
    try:
        with log.doing("delivering"):
            deliver_release(deliver, folder)
    except DeliveryError as error:
        with changing(file) as state:
            ended = {**state[0].undelivered, folder.name: begun.ended(error)}
            state[0] = replace(state[0], undelivered=ended)
        raise
    with changing(file) as state:
        state[0] = replace(
            state[0],
            undelivered=without(state[0].undelivered, folder.name),
            delivered={**state[0].delivered, folder.name: utc_today()},
        )
    log.done("delivered", f"delivered: {folder.name}")
