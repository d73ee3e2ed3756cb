"""Signatures: Ed25519 keys in files, and what may be signed with them."""

from synth.signatures.key import PrivateKey, PublicKey, Purpose
from synth.signatures.key_files import read_private_key, read_public_key, write_key_pair

__all__ = [
    "PrivateKey",
    "PublicKey",
    "Purpose",
    "read_private_key",
    "read_public_key",
    "write_key_pair",
]
