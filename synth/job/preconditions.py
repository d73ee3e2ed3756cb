"""Preconditions: what must hold before anything is spent, and before anything is published."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config import Config
from synth.errors import BugError, OutputError, PublishedDifferentlyError, SynthError

if TYPE_CHECKING:
    from synth.measurements import SelfTest


def release_folder(config: Config) -> Path:
    """Where the release of this configuration appears."""
    if config.output.directory is None:
        raise BugError("a configuration without an output directory cannot be published")
    return config.output.directory / config.release.id


def passed_self_tests() -> tuple[SelfTest, ...]:
    """Run the checks of the noise generator; nothing is measured unless every one passes."""
    from synth.measurements import SelfTest
    from synth.noise import self_test

    tests = tuple(SelfTest(name, passed) for name, passed in self_test())
    failed = [test.name for test in tests if not test.passed]
    if failed:
        raise BugError(
            f"the noise generator failed its self-test: {', '.join(failed)}",
            why="noise that is not exact voids the guarantee, so nothing was measured",
            fix="reinstall synth and its dependencies on a sound machine",
        )
    return tests


def require_resources(config: Config) -> None:
    """Refuse, before anything is spent, what memory or disks of this machine clearly cannot hold.

    Raises: SynthError with what is needed, what there is, and advice.
    """
    from synth.plan import forecast
    from synth.plan.costs import present_memory_bytes

    needed = forecast(config).costs
    present = present_memory_bytes()
    advice = "declare fewer or coarser attributes, measure some tables instead of every cell"
    if needed.memory_bytes > present:
        raise SynthError(
            f"this universe needs roughly {needed.memory_bytes / 1e9:.1f} GB of memory; "
            f"the machine has {present / 1e9:.1f} GB",
            fix=f"{advice}, or run on a larger machine",
        )
    places = {"the output directory": release_folder(config).parent}
    if config.ledger is not None:
        places["the directory of the ledger"] = config.ledger.path.parent
    for name, place in places.items():
        free = free_disk_bytes(place)
        if needed.disk_bytes > free:
            raise SynthError(
                f"this run needs roughly {needed.disk_bytes / 1e9:.2f} GB of disk; "
                f"{name} has {free / 1e9:.2f} GB free",
                why="nothing was read and nothing was spent",
                fix=f"free some space, {advice}, or use another disk",
            )


def free_disk_bytes(place: Path) -> int:
    """The free space where a directory is, or will be made."""
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    return shutil.disk_usage(there).free


def require_same_configuration(folder: Path, config: Config) -> None:
    """Refuse a folder that is no release, or one of another configuration.

    Raises: OutputError, PublishedDifferentlyError.
    """
    from synth.release import published_configuration_hash

    published = published_configuration_hash(folder)
    if published is None:
        raise OutputError(
            f"{folder.name} exists in the output directory and is not a release of synth",
            why="what somebody else put there is never overwritten",
            fix="move it away and start the same command again",
        )
    if published != config.hash:
        raise PublishedDifferentlyError(
            f"{folder.name} is already published with another configuration",
            why="a release is never overwritten",
            fix="choose a new release.id for the changed configuration",
        )
