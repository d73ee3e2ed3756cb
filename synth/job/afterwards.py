"""What follows a publication: the index for the public, and the delivery.

Neither touches the release, its measurements or the ledger, and both are tried again by the next
start of the same command until they succeeded once.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from synth.catalogue import listed, rebuild
from synth.config import Config
from synth.config.release import DeliverConfig
from synth.errors import DeliveryError, told_as
from synth.job.delivery import deliver_release
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
