"""Preconditions: what must hold before anything is spent, and before anything is published."""

from __future__ import annotations

import shutil
from pathlib import Path

from synth.config import Config
from synth.errors import BugError, OutputError, PublishedDifferentlyError, SynthError
from synth.measurements import SelfTest
from synth.noise import self_test
from synth.planning import Costs
from synth.planning.costs import present_memory_bytes
from synth.release import published_configuration_hash


def release_folder(config: Config) -> Path:
    """Where the release of this configuration appears."""
    if config.output.directory is None:
        raise BugError("a configuration without an output directory cannot be published")
    return config.output.directory / config.release.id


def passed_self_tests() -> tuple[SelfTest, ...]:
    """Run the checks of the noise generator; nothing is measured unless every one passes."""
    tests = tuple(SelfTest(name, passed) for name, passed in self_test())
    failed = [test.name for test in tests if not test.passed]
    if failed:
        raise BugError(
            f"the noise generator failed its self-test: {', '.join(failed)}",
            why="noise that is not exact voids the guarantee, so nothing was measured",
            fix="reinstall synth and its dependencies on a sound machine",
        )
    return tests


ADVICE = "declare fewer or coarser attributes, measure some tables instead of every cell"


def require_memory(costs: Costs) -> None:
    """Refuse, before anything is spent, what the memory of this machine clearly cannot hold.

    Raises: SynthError with what is needed, what there is, and advice.
    """
    present = present_memory_bytes()
    if costs.memory_bytes > present:
        raise SynthError(
            f"this universe needs roughly {costs.memory_bytes / 1e9:.1f} GB of memory; "
            f"the machine has {present / 1e9:.1f} GB",
            fix=f"{ADVICE}, or run on a larger machine",
        )


def require_disk(costs: Costs, place: Path, name: str) -> None:
    """Refuse, before anything is spent, what the disk of a directory clearly cannot hold.

    Raises: SynthError with what is needed, what there is, and advice.
    """
    free = free_disk_bytes(place)
    if costs.disk_bytes > free:
        raise SynthError(
            f"this run needs roughly {costs.disk_bytes / 1e9:.2f} GB of disk; "
            f"{name} has {free / 1e9:.2f} GB free",
            why="nothing was read and nothing was spent",
            fix=f"free some space, {ADVICE}, or use another disk",
        )


def free_disk_bytes(place: Path) -> int:
    """The free space where a directory is, or will be made."""
    there = next(each for each in (place, *place.absolute().parents) if each.exists())
    return shutil.disk_usage(there).free


def require_same_configuration(folder: Path, config: Config) -> None:
    """Refuse a folder that is no release, or one of another configuration.

    Raises: OutputError, PublishedDifferentlyError.
    """
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
