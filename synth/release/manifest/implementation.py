"""How the noise was made and what guards it; the software that made the release."""

from __future__ import annotations

import hashlib
import json
import platform
import re
from dataclasses import dataclass
from functools import cache
from importlib.metadata import (
    PackageMetadata,
    PackageNotFoundError,
    distribution,
    metadata,
)
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import __version__ as scipy_version

from synth.config import Config
from synth.errors import DISTRIBUTION
from synth.measurements import SelfTest
from synth.privacy.accounting import GAUSSIAN, LAPLACE, PARTITION_SELECTION, PERMUTE_AND_FLIP
from synth.release.manifest.schema_terms import flag, listing, mapping, record, sha256, text
from synth.strict_json import canonical_hash

LIBRARIES = (DISTRIBUTION, "numpy", "scipy", "pyarrow", "duckdb", "cryptography")

REQUIREMENT = re.compile(r"\s*([A-Za-z0-9._-]+)\s*(?:\[([^\]]*)\])?")
EXTRA = re.compile(r"""extra\s*==\s*["']([^"']+)["']""")
COMMIT = re.compile(r"[0-9a-f]{40,64}")

EXACT_SAMPLER = (
    "exact: a table over 16 random bits, refined by further bits wherever these do not decide; "
    "no truncation"
)

MECHANISMS = {
    LAPLACE: {
        "noise": (
            "P(k) = (1 - a) / (1 + a) * a^|k| for every whole number k, "
            "a = exp(-epsilon / sensitivity), rounded up to a rational number"
        ),
        "variance": "2 a / (1 - a)^2 records squared",
        "sampler": EXACT_SAMPLER,
        "reference": "Ghosh, Roughgarden, Sundararajan 2009",
    },
    GAUSSIAN: {
        "noise": (
            "P(k) proportional to exp(-k^2 / (2 sigma^2)) for every whole number k, "
            "sigma^2 = sensitivity / (2 rho), sensitivity being that of the squared L2 norm"
        ),
        "variance": (
            "the sum of k^2 exp(-k^2 / (2 sigma^2)) over that of exp(-k^2 / (2 sigma^2)): sigma^2 "
            "records squared, and less where sigma is below one record"
        ),
        "sampler": EXACT_SAMPLER,
        "reference": "Canonne, Kamath, Steinke 2020",
    },
    PARTITION_SELECTION: {
        "noise": (
            "that of discrete-laplace on every filled cell; a cell is listed if its noisy count is "
            "at least the threshold of the event, an empty one never"
        ),
        "variance": "2 a / (1 - a)^2 records squared before the threshold",
        "sampler": EXACT_SAMPLER,
        "reference": "Korolova, Kenthapadi, Mishra, Ntoulas 2009; Desfontaines, Voss, Gipson 2022",
    },
    PERMUTE_AND_FLIP: {
        "noise": (
            "candidates are taken in random order and each is accepted with probability "
            "exp(epsilon (score - best score) / (2 sensitivity)); the first accepted is chosen"
        ),
        "variance": "none: a choice, not a count",
        "sampler": "exact: coins whose probability is decided by further bits; no truncation",
        "reference": "McKenna, Sheldon 2020",
    },
}
"""What is said of each mechanism in every manifest."""

IMPLEMENTATION = record(
    "How the guarantee was implemented.",
    ("commit",),
    mechanisms=listing(
        "Every mechanism that touched the raw data.",
        record(
            "One mechanism.",
            name=text("The mechanism's name, as in the events."),
            noise=text("The distribution of the noise."),
            variance=text("The variance of the noise."),
            sampler=text("How the noise is drawn."),
            reference=text("Where the mechanism was published."),
        ),
    ),
    randomness_source=text("Where the randomness of the noise comes from; there is no seed."),
    floating_point_protection=text("Why floating-point numbers cannot weaken the guarantee."),
    timing_protection=text("What the running time tells."),
    self_tests=listing(
        "Checks of the noise generator in the measuring process, before the noise was drawn.",
        record("One check.", name=text("What was checked."), passed=flag("Whether it passed.")),
    ),
    commit=text("The commit of the source code of synth, where the installation records one."),
    versions=mapping(
        "The software that wrote the release, as the publisher attests.",
        text("A version."),
        names="A library, or `python`.",
    ),
    processor=text("The kind of processor that computed the rows, as the publisher attests."),
    bill_of_materials=mapping(
        "Everything that the software needs, directly or not, as the publisher attests.",
        text("A version."),
        names="A distribution of the Python Package Index.",
    ),
    arithmetic_fingerprint=sha256(
        "SHA-256 over results of floating-point functions on fixed numbers and the versions of "
        "numpy and scipy: where it is equal, the rows are rebuilt bit for bit."
    ),
    justification=text("Why this guarantee was chosen, in the curator's words."),
    configuration_hash=sha256("SHA-256 of the canonical JSON of `configuration`."),
)


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
    found = {name: _metadata_of(name)["Version"] for name in LIBRARIES}
    return {"python": platform.python_version()} | found


def processor() -> str:
    """The kind of processor and the instruction sets that numpy finds and chooses among."""
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


@cache
def arithmetic_fingerprint() -> str:
    """A hash that differs where floating-point results of post-processing may differ.

    It covers exp, log, sqrt, sums, cumulative sums, powers and matrix products of 20,011 fixed
    numbers, in two widths, and the versions of numpy and scipy.
    """
    digest = hashlib.sha256(f"numpy {np.__version__} scipy {scipy_version}".encode())
    whole: NDArray[np.int64] = np.arange(1, 20_012, dtype=np.int64) * 7919 % 20_011 + 1
    for width in ("float64", "float32"):
        numbers = (whole / 977).astype(width)
        for values in (
            np.exp(-numbers),
            np.log(numbers),
            np.sqrt(numbers),
            np.power(numbers, numbers[0]),
            np.cumsum(numbers),
            np.sum(numbers),
            numbers[:20_000].reshape(20, 25, 40).sum(axis=1),
            # products so small that one thread computes them; the second adds up in several parts
            numbers[:6400].reshape(40, 160) @ numbers[6400:12_800].reshape(160, 40),
            numbers[:16_000].reshape(16, 1000) @ numbers[4000:20_000].reshape(1000, 16),
        ):
            digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def build_implementation(
    config: Config,
    *,
    mechanisms: tuple[str, ...],
    self_tests: tuple[SelfTest, ...],
    software: Software,
    fingerprint: str,
) -> dict[str, Any]:
    """The section `implementation`; `mechanisms` are the names of those that were used."""
    return {
        "mechanisms": [{"name": name, **MECHANISMS[name]} for name in mechanisms],
        "randomness_source": (
            "AES-256 in counter mode under a key of 32 bytes from the operating system, held in "
            "memory by the measuring process alone and never written; there is no seed"
        ),
        "floating_point_protection": (
            "the noise is a whole number added to a whole number, and no floating-point number "
            "decides it. The probabilities of Laplace noise are rational numbers, rounded so that "
            "the true loss never exceeds the stated one; those of Gaussian noise and of "
            "permute-and-flip are irrational, and every decision is made by whole numbers that "
            "enclose them, with further bits until it is certain"
        ),
        "timing_protection": (
            "no time or duration is published; the work of the noise of a cell does not depend on "
            "its count. The time of a private choice depends on the size of the scores and on "
            "which is accepted, and the time of reading on the size of the source: whoever "
            "watches the measuring process learns from it. An operator who kills an adaptive run, "
            "having watched its time, and starts it again learns from the choices of several runs"
        ),
        "self_tests": [{"name": test.name, "passed": test.passed} for test in self_tests],
        **({} if software.commit is None else {"commit": software.commit}),
        "versions": software.versions,
        "processor": software.processor,
        "bill_of_materials": software.bill_of_materials,
        "arithmetic_fingerprint": fingerprint,
        "justification": config.privacy.justification,
        "configuration_hash": canonical_hash(config.public),
    }
