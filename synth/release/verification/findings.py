"""What a verification finds: what was checked, noted and found wrong.

What was written again is compared: JSON leaf by leaf, files byte by byte.
"""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import IO, Any, Literal

from synth.release.manifest.implementation import (
    arithmetic_fingerprint,
    current_versions,
    processor,
)

WITHIN_TOLERANCE = "within tolerance, not bit for bit"
SHOWN = 40
"""Findings of one check beyond this number are counted, not listed."""


@dataclass(frozen=True)
class Signature:
    """Whether a release is signed, and whether the reader trusts the key."""

    state: Literal["unsigned", "not compared", "trusted"]
    key_id: str | None = None

    @property
    def in_words(self) -> str:
        """The same as half a sentence."""
        return {
            "unsigned": "unsigned: nothing shows who published it",
            "not compared": (
                f"signed by the key {self.key_id}, which was not compared with a trusted key "
                "(--key FILE)"
            ),
            "trusted": f"signed by the trusted key {self.key_id}",
        }[self.state]


@dataclass(frozen=True)
class VerificationReport:
    """A release that stood up to every check."""

    release_id: str
    checks: tuple[str, ...]
    """One sentence per check that was made and passed."""
    notes: tuple[str, ...]
    """What the verifier should know, such as another numeric library."""
    signature: Signature
    tolerated: tuple[str, ...] = ()
    """What differs from what was rebuilt by last digits alone, and was accepted."""

    @property
    def is_bit_for_bit(self) -> bool:
        """Whether all that can be rebuilt is the same to the last bit."""
        return not self.tolerated

    def __str__(self) -> str:
        outcome = "verified" if self.is_bit_for_bit else f"verified {WITHIN_TOLERANCE}"
        lines = [f"{self.release_id}: {outcome}"]
        lines += [f"  ok    {check}" for check in self.checks]
        lines.append(f"  sign  {self.signature.in_words}")
        lines += [f"  note  {note}" for note in self.notes]
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """The report in JSON values."""
        return {
            "release_id": self.release_id,
            "verified": True,
            "bit_for_bit": self.is_bit_for_bit,
            "within_tolerance": list(self.tolerated),
            "signature": {"state": self.signature.state, "key_id": self.signature.key_id},
            "checks": list(self.checks),
            "notes": list(self.notes),
        }


@dataclass
class Findings:
    """Collects the outcome of all checks, so that one finding does not hide another."""

    found: list[str] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tolerated: list[str] = field(default_factory=list)
    signature: Signature = field(default_factory=lambda: Signature("unsigned"))

    def tolerate(self, check: str) -> None:
        """Record a check that last digits alone kept from being passed to the bit."""
        self.tolerated.append(check)
        self.checks.append(f"{check} {WITHIN_TOLERANCE}")

    def conclude(self, check: str, findings: list[str]) -> bool:
        """Record a check as passed, or its findings; True if it passed."""
        if not findings:
            self.checks.append(check)
            return True
        self.found += findings[:SHOWN]
        if len(findings) > SHOWN:
            self.found.append(f"and {len(findings) - SHOWN} more of the same kind")
        return False


SHOWN_CHARACTERS = 160

Equal = Callable[[str, Any, Any], bool]
"""Whether two leaves at a path count as equal."""

ARITHMETIC_LIBRARIES = ("python", "numpy", "scipy")


def same(path: str, found: Any, expected: Any) -> bool:
    """Equal in type, value and sign: 1, 1.0 and true are three things, 0.0 and -0.0 are two."""
    del path
    return type(found) is type(expected) and repr(found) == repr(expected)


def differences(found: Any, expected: Any, *, path: str = "", equal: Equal = same) -> Iterator[str]:
    """One sentence per difference: `path: found ..., expected ...`."""
    if isinstance(found, dict) and isinstance(expected, dict):
        for key in expected:
            here = f"{path}.{key}" if path else key
            if key in found:
                yield from differences(found[key], expected[key], path=here, equal=equal)
            else:
                yield f"{here}: is missing, expected {shown(expected[key])}"
        for key in found.keys() - expected.keys():
            yield f"{path}.{key}" + ": does not belong there"
        if found.keys() == expected.keys() and list(found) != list(expected):
            yield f"{path}: the order of its fields was changed".removeprefix(": ")
    elif isinstance(found, list) and isinstance(expected, list):
        if len(found) != len(expected):
            yield f"{path}: found {len(found)} items, expected {len(expected)}"
        for position, (left, right) in enumerate(zip(found, expected, strict=False)):
            yield from differences(left, right, path=f"{path}[{position}]", equal=equal)
    elif not equal(path, found, expected):
        yield f"{path}: found {shown(found)}, expected {shown(expected)}"


def shown(value: Any) -> str:
    """The value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= SHOWN_CHARACTERS else text[:SHOWN_CHARACTERS] + " ..."


class Compared(io.RawIOBase):
    """A stream that holds what is written into it against a file, and keeps nothing."""

    def __init__(self, file: IO[bytes], *, lines: bool = False) -> None:
        """Begin at the file's first byte; with `lines`, a difference is told with its line."""
        file.seek(0)
        self._file, self._place, self._line = file, 0, 1
        self._lines, self._found = lines, ""

    def writable(self) -> bool:
        """It is written to."""
        return True

    def write(self, content: Any) -> int:
        """Compare the next bytes; behind the first difference nothing is looked at."""
        wanted = bytes(content)
        if not self._found:
            found = self._file.read(len(wanted))
            if found != wanted:
                self._tell(found, wanted)
            elif self._lines:
                self._line += wanted.count(b"\n")
        self._place += len(wanted)
        return len(wanted)

    def _tell(self, found: bytes, wanted: bytes) -> None:
        pairs = enumerate(zip(found, wanted, strict=False))
        place = next((n for n, (a, b) in pairs if a != b), len(found))
        line = f" (line {self._line + wanted[:place].count(10)})" if self._lines else ""
        number = self._place + place + 1
        if place == len(found):
            self._found = f"ends before byte {number}{line}"
        else:
            self._found = (
                f"byte {number}{line} is {found[place : place + 1]!r}, expected "
                f"{wanted[place : place + 1]!r}: it is not what writing it again gives"
            )

    def tell(self) -> int:
        """How much was written."""
        return self._place

    def findings(self) -> list[str]:
        """The first difference, if there is any, once everything was written."""
        if not self._found and self._file.read(1):
            self._found = f"goes on behind its last byte, {self._place}"
        return [self._found] if self._found else []


@dataclass(frozen=True)
class Arithmetic:
    """How the arithmetic that a manifest states differs from that of this machine."""

    is_other: bool
    """Whether the stated fingerprint is another one."""
    differences: tuple[str, ...]
    """The stated libraries, or the processor, that are others than here."""

    @staticmethod
    def of(manifest: dict[str, Any]) -> Arithmetic:
        """What the manifest states, compared; it is attested, and opens no more than tolerance."""
        stated = manifest["implementation"]
        own = current_versions()
        pairs = [(name, stated["versions"].get(name), own[name]) for name in ARITHMETIC_LIBRARIES]
        pairs.append(("processor", stated["processor"], processor()))
        return Arithmetic(
            stated["arithmetic_fingerprint"] != arithmetic_fingerprint(),
            tuple(
                f"{name} {str(there)[:120]} (here {here})"
                for name, there, here in pairs
                if there != here
            ),
        )

    @property
    def explains_last_digits(self) -> bool:
        """Whether last digits may differ: another fingerprint, and something that explains it."""
        return self.is_other and self.differences != ()

    @property
    def findings(self) -> list[str]:
        """What to say where something differs that this does not excuse."""
        if not self.is_other:
            return []
        if not self.differences:
            return [
                "implementation.arithmetic_fingerprint: is not that of the libraries and the "
                "processor that the manifest states, which are those here"
            ]
        return [
            "what differs is more than the last digits of numbers. The manifest states "
            f"{', '.join(self.differences)}: a fit that ends elsewhere by other arithmetic cannot "
            "be told here from a changed release; verify where these are the same"
        ]

    @property
    def note(self) -> str:
        """What to say where nothing differs all the same."""
        told = ", ".join(self.differences) or "the same libraries and processor as here"
        return (
            "the manifest's arithmetic_fingerprint is not the one of this machine (stated: "
            f"{told}); nothing was accepted on that account"
        )
