"""What follows a publication: the index for the public, and the delivery.

Neither touches the release, its measurements or the ledger, and both are tried again by the next
start of the same command until they succeeded once.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from synth.config import Config
from synth.errors import DeliveryError
from synth.job.delivery import deliver_release
from synth.job.log import Log
from synth.job.remembered import Failure, changing, recall, state_file, utc_today, without


def after_publication(config: Config, folder: Path, *, log: Log) -> None:
    """Deliver a published release, unless that is done.

    Requires: `folder` is the release of this configuration, published.
    Raises: DeliveryError if the command fails; OutputError if what was done cannot be noted.
    """
    if config.is_rehearsal:
        return
    file = state_file(config)
    if config.output.deliver is None or folder.name in recall(file).delivered:
        return
    with changing(file) as state:
        begun = Failure.begun(state[0].undelivered.get(folder.name))
        state[0] = replace(state[0], undelivered={**state[0].undelivered, folder.name: begun})
    try:
        with log.doing("delivering"):
            deliver_release(config.output.deliver, folder)
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
