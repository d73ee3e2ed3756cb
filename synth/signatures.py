"""Signatures: Ed25519 keys (RFC 8032) in files, and what may be signed with them.

One key signs, the other checks, and neither mixes up two purposes. Keys are in PEM files: a private
key is for its owner alone, and no message shows what is in it.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import NoReturn

from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
    load_pem_public_key,
)

from synth.errors import KeyFileError, OutputError

__all__ = [
    "PrivateKey",
    "PublicKey",
    "Purpose",
    "read_private_key",
    "read_public_key",
    "write_key_pair",
]

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


MAX_BYTES = 1 << 14
PUBLIC_SUFFIX = ".pub.pem"

Passphrase = Callable[[], bytes]
"""Asks a person for the passphrase of a private key."""

MAKE_ONE = "make a pair with `synth keygen PRIVATE.pem`"
ASK_FOR_ONE = f"give the public key (NAME{PUBLIC_SUFFIX}) that its owner hands out"


def read_private_key(path: Path, *, passphrase: Passphrase | None = None) -> PrivateKey:
    """The Ed25519 private key of a PEM file (PKCS 8).

    Without `passphrase` a key that is protected by one is refused: a scheduled job has nobody
    to ask.

    Raises: KeyFileError if the file cannot be read, anybody but its owner may read or write it,
    or it holds anything else.
    """
    content = _read(path, private=True)
    password = None
    if b"-----BEGIN ENCRYPTED PRIVATE KEY-----" in content:
        if passphrase is None:
            raise KeyFileError(
                f"{path.name}: the private key is protected by a passphrase",
                why="a run has nobody to ask for it",
                fix="use a key without one for signing, in a file that only the job's user reads",
            )
        password = passphrase()
    try:
        key = load_pem_private_key(content, password)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        key = None  # the reason of the library is not passed on: it may quote the file
    if not isinstance(key, Ed25519PrivateKey):
        wrong = "or the passphrase is wrong" if password is not None else ""
        raise KeyFileError(
            f"{path.name}: holds no Ed25519 private key in PEM {wrong}".rstrip(), fix=MAKE_ONE
        )
    return PrivateKey(key)


def read_public_key(path: Path) -> PublicKey:
    """The Ed25519 public key of a PEM file.

    Raises: KeyFileError if the file cannot be read or holds anything else, such as a private key.
    """
    content = _read(path, private=False)
    try:
        key = load_pem_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey) or PublicKey(key.public_bytes_raw()).is_weak:
        raise KeyFileError(
            f"{path.name}: holds no Ed25519 public key in PEM",
            fix=f"give the file NAME{PUBLIC_SUFFIX} that `synth keygen` wrote beside the other",
        )
    return PublicKey(key.public_bytes_raw())


def write_key_pair(path: Path, *, passphrase: bytes | None = None) -> tuple[Path, PublicKey]:
    """Make a key pair: the private key at `path`, the public one at `NAME.pub.pem` beside it.

    Ensures: the private file has mode 0600 from its first byte on; nothing is ever replaced.
    Raises: OutputError if one of the files is there already or cannot be written.
    """
    key = Ed25519PrivateKey.generate()
    encryption: KeySerializationEncryption = (
        NoEncryption() if passphrase is None else BestAvailableEncryption(passphrase)
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    public = PrivateKey(key).public
    public_path = path.with_name(path.name.removesuffix(".pem") + PUBLIC_SUFFIX)
    for taken in (path, public_path):
        if os.path.lexists(taken):
            raise OutputError(
                f"{taken.name} is already there",
                why="a key that is overwritten is lost, and what it signed cannot be signed again",
                fix="choose another name",
            )
    _create(path, pem, 0o600)
    _create(public_path, public.pem, 0o644)
    return public_path, public


def _read(path: Path, *, private: bool) -> bytes:
    kind, fix = ("private", MAKE_ONE) if private else ("public", ASK_FOR_ONE)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as error:
        raise KeyFileError(
            f"{path.name}: the {kind} key cannot be read ({error.strerror})", fix=fix
        ) from None
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise KeyFileError(f"{path.name}: the {kind} key is no plain file", fix=fix)
    with os.fdopen(descriptor, "rb") as file:
        if private and status.st_mode & 0o177:
            raise KeyFileError(
                f"{path.name}: others may use this private key (mode {status.st_mode & 0o777:04o})",
                why="whoever can read it signs in your name",
                fix=f"chmod 600 {path}; if others could read it, make a new key instead",
            )
        return file.read(MAX_BYTES)


def _create(path: Path, content: bytes, mode: int) -> None:
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    try:
        descriptor = os.open(path, flags, mode)
        with os.fdopen(descriptor, "wb") as file:
            os.fchmod(descriptor, mode)
            file.write(content)
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        raise OutputError(f"{path.name}: the key cannot be written ({error.strerror})") from None
