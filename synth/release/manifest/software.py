"""The software that wrote a release: versions, all that it needs, and the commit of its source."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import (
    PackageMetadata,
    PackageNotFoundError,
    distribution,
    metadata,
    version,
)

from synth.errors import DISTRIBUTION

LIBRARIES = (DISTRIBUTION, "numpy", "scipy", "pyarrow", "duckdb", "cryptography")

REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?")
EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
COMMIT = re.compile(r"[0-9a-f]{40,64}")


@dataclass(frozen=True)
class Software:
    """What the publisher attests of the software; nothing can rebuild it."""

    versions: dict[str, str]
    bill_of_materials: dict[str, str]
    processor: str
    commit: str | None = None


def installed_software() -> Software:
    """The software of this process."""
    return Software(current_versions(), bill_of_materials(), processor(), source_commit())


def current_versions() -> dict[str, str]:
    """The versions of this program, of Python and of the numeric libraries."""
    import platform

    return {"python": platform.python_version()} | {name: version(name) for name in LIBRARIES}


def processor() -> str:
    """The kind of processor and the instruction sets that numpy finds and chooses among."""
    import platform

    import numpy as np

    found = np.show_config(mode="dicts")["SIMD Extensions"]
    names = [*found.get("baseline", ()), *found.get("found", ())]
    return f"{platform.machine()}: {' '.join(names)}"


def bill_of_materials() -> dict[str, str]:
    """Every installed distribution that this program needs, directly or not, with its version.

    Ensures: sorted by name in normal form; nothing else that is installed here is named.
    """
    found: dict[str, str] = {}
    done: set[tuple[str, str]] = set()
    waiting = [(DISTRIBUTION, "")]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in done:
            continue
        done.add((name, extra))
        try:
            installed = _metadata_of(name)
        except PackageNotFoundError:
            continue  # for another platform or another Python
        found[name] = installed["Version"]
        waiting += _needed_by(installed, extra)
    return dict(sorted(found.items()))


@cache
def _metadata_of(name: str) -> PackageMetadata:
    """Read once: a distribution parses its file at every question."""
    return metadata(name)


def _needed_by(installed: PackageMetadata, extra: str) -> list[tuple[str, str]]:
    """The requirements of a distribution, or of one of its extras, each once per extra it asks."""
    needed = []
    for line in installed.get_all("Requires-Dist") or []:
        requirement, _, marker = line.partition(";")
        extras = set(EXTRA.findall(marker))
        match = REQUIREMENT.match(requirement)
        if match is None or (extra not in extras if extras else extra != ""):
            continue
        name = _normal(match[1])
        needed += [(name, "")]
        needed += [(name, part.strip()) for part in (match[2] or "").split(",") if part.strip()]
    return needed


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def source_commit() -> str | None:
    """The commit that this program was installed from, if the installer recorded one."""
    recorded = distribution(DISTRIBUTION).read_text("direct_url.json")
    if recorded is None:
        return None
    commit = json.loads(recorded).get("vcs_info", {}).get("commit_id")
    return commit if isinstance(commit, str) and COMMIT.fullmatch(commit) else None
