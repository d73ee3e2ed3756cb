"""The signature of a release: one file over the bytes of the manifest, which lists the others."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass

from synth.release.contents import MANIFEST
from synth.signatures import PrivateKey, PublicKey, Purpose
from synth.strict_json import write_json

MAX_BYTES = 1 << 12


@dataclass(frozen=True)
class ManifestSignature:
    """Who signed, and the signature."""

    key: PublicKey
    """As the file says; whether to trust it, the file cannot say."""
    signature: bytes

    def fits(self, manifest: bytes) -> bool:
        """Whether the key in the file signed just these bytes."""
        return self.key.has_signed(manifest, self.signature, purpose=Purpose.MANIFEST)

    @property
    def content(self) -> bytes:
        """The bytes of the file."""
        return write_json(
            {
                "algorithm": "Ed25519",
                "signed": f"{Purpose.MANIFEST.value}, a line end, and the bytes of {MANIFEST}",
                "key_id": self.key.key_id,
                "public_key": self.key.line,
                "signature": base64.b64encode(self.signature).decode(),
            }
        )


def sign_manifest(manifest: bytes, key: PrivateKey) -> bytes:
    """The bytes of the signature's file: the same for the same manifest and key."""
    return ManifestSignature(key.public, key.sign(manifest, purpose=Purpose.MANIFEST)).content


def parse_signature(content: bytes) -> ManifestSignature:
    """Read the file of a signature.

    Raises: ValueError if a single byte is not as `sign_manifest` writes it.
    """
    try:
        entries = json.loads(content)
        key = PublicKey.from_line(entries["public_key"])
        signature = base64.b64decode(entries["signature"], validate=True)
        found = ManifestSignature(key, signature)
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise ValueError("holds no public key and signature") from None
    if found.content != content:
        raise ValueError("is not as synth writes it")
    return found
