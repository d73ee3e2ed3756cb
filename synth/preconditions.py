"""Preconditions: what must hold before anything is spent, and before anything is published."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.types import Config
from synth.errors import BugError, OutputError, PublishedDifferentlyError, SynthError
from synth.plan import forecast

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


def require_memory(config: Config) -> None:
    """Refuse, before anything is spent, what this machine has clearly no memory for."""
    needed = forecast(config).costs.memory_bytes
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    if needed > present:
        raise SynthError(
            f"this universe needs roughly {needed / 1e9:.1f} GB of memory; "
            f"the machine has {present / 1e9:.1f} GB",
            fix="declare fewer or coarser attributes, or run on a larger machine",
        )


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
