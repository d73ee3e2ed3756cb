"""Ed25519 keys (RFC 8032): one signs, the other checks, and neither mixes up two purposes."""

from __future__ import annotations

import base64
import binascii
import hashlib
from dataclasses import dataclass
from enum import StrEnum
from typing import NoReturn

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

DER_PREFIX = bytes.fromhex("302a300506032b6570032100")
"""What stands before the 32 bytes of every Ed25519 public key in DER (RFC 8410)."""

KEY_BYTES = 32
SIGNATURE_BYTES = 64
FIELD = 2**255 - 19
_ORDER_8 = int.from_bytes(
    bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05"), "little"
)
SMALL_ORDER = frozenset({0, 1, FIELD - 1, _ORDER_8, FIELD - _ORDER_8})
"""The y of the points of order 1, 2, 4 and 8 of edwards25519."""
KEY_ID_DIGITS = 32


class Purpose(StrEnum):
    """What a signature is for: the first line of every signed message.

    A signature for one purpose is none for another, because the first lines differ.
    """

    APPROVAL = "synth approval 1"
    MANIFEST = "synth manifest 1"

    def message(self, content: bytes) -> bytes:
        """The bytes that are signed: the purpose, a line end, the content."""
        return f"{self.value}\n".encode() + content


@dataclass(frozen=True)
class PublicKey:
    """The half of a key pair that everybody may know."""

    raw: bytes
    """32 bytes."""

    @staticmethod
    def from_line(text: str) -> PublicKey:
        """The key that a line of text holds, as `line` writes it.

        Raises: ValueError for anything else, also for another spelling of the same key.
        """
        try:
            der = base64.b64decode(text.encode("ascii"), validate=True)
        except (UnicodeEncodeError, binascii.Error):
            raise ValueError("no base64") from None
        key = PublicKey(der.removeprefix(DER_PREFIX))
        if len(key.raw) != KEY_BYTES or key.line != text or key.is_weak:
            raise ValueError("no Ed25519 public key")
        return key

    @property
    def is_weak(self) -> bool:
        """Whether one signature by this key fits every message: a point of order 8 or less."""
        y = int.from_bytes(self.raw, "little") & ((1 << 255) - 1)
        return y % FIELD in SMALL_ORDER

    @property
    def der(self) -> bytes:
        """The key as SubjectPublicKeyInfo in DER."""
        return DER_PREFIX + self.raw

    @property
    def line(self) -> str:
        """The key as one line of base64: the middle line of its PEM file."""
        return base64.b64encode(self.der).decode("ascii")

    @property
    def pem(self) -> bytes:
        """The key as a PEM file."""
        return f"-----BEGIN PUBLIC KEY-----\n{self.line}\n-----END PUBLIC KEY-----\n".encode()

    @property
    def key_id(self) -> str:
        """The name of the key in messages: the beginning of the SHA-256 of its DER form."""
        return hashlib.sha256(self.der).hexdigest()[:KEY_ID_DIGITS]

    def has_signed(self, content: bytes, signature: bytes, *, purpose: Purpose) -> bool:
        """Whether this is the signature of the content for this purpose by this key."""
        if len(signature) != SIGNATURE_BYTES or self.is_weak:
            return False
        try:
            key = Ed25519PublicKey.from_public_bytes(self.raw)
            key.verify(signature, purpose.message(content))
        except (InvalidSignature, ValueError):
            return False
        return True


class PrivateKey:
    """The secret half of a key pair; it prints as withheld and can be neither copied nor stored."""

    __slots__ = ("_key",)

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Keep the key."""
        self._key = key

    @property
    def public(self) -> PublicKey:
        """The other half."""
        return PublicKey(self._key.public_key().public_bytes_raw())

    def sign(self, content: bytes, *, purpose: Purpose) -> bytes:
        """The signature of the content, 64 bytes: the same every time (RFC 8032, 5.1.6)."""
        return self._key.sign(purpose.message(content))

    def __repr__(self) -> str:
        return f"<private key of {self.public.key_id}, withheld>"

    def __reduce__(self) -> NoReturn:
        raise TypeError("a private key is not copied")
