"""How the noise was made and what guards it; the software that made the release."""

from __future__ import annotations

import hashlib
from typing import Any

from synth.config import Config
from synth.measurements import SelfTest
from synth.privacy.accounting import (
    GAUSSIAN,
    LAPLACE,
    PARTITION_SELECTION,
    PERMUTE_AND_FLIP,
)
from synth.release.manifest.schema_terms import (
    flag,
    listing,
    mapping,
    record,
    sha256,
    text,
)
from synth.release.manifest.software import Software
from synth.strict_json import canonical_hash

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


def arithmetic_fingerprint() -> str:
    """A hash that differs where floating-point results of post-processing may differ.

    It covers exp, log, sqrt, sums, cumulative sums, powers and matrix products of 20,011 fixed
    numbers, in two widths, and the versions of numpy and scipy.
    """
    import numpy as np
    from numpy.typing import NDArray
    from scipy import __version__ as scipy_version

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
