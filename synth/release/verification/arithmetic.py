"""Whether last digits may differ here: the stated libraries and processor against those here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from synth.release.manifest.implementation import arithmetic_fingerprint
from synth.release.manifest.software import current_versions, processor

ARITHMETIC_LIBRARIES = ("python", "numpy", "scipy")


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
