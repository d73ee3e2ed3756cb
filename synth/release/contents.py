"""What is in a release folder: names, roles and order of the files, and SHA256SUMS over them.

The signature is one file over the bytes of the manifest, which lists the others.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import IO

from synth.config import Config
from synth.release.manifest.build import SCHEMA_FILE
from synth.release.noisy_tables import TABLES
from synth.signatures import PrivateKey, PublicKey, Purpose
from synth.strict_json import write_json

CSV = "synthetic.csv"
PARQUET = "synthetic.parquet"
MEASUREMENTS = "measurements.parquet"
REPLICATES = "replicates.parquet"
PREVIOUS = "previous.parquet"
"""Only in cumulative releases but the first: the counts of the one before."""
QUALITY = "quality.parquet"
MANIFEST = "manifest.json"
CHECKSUMS = "SHA256SUMS"
DATA_CARD = "README.md"
PAGE = "index.html"
ASSESSMENT = "assessment.html"
EXPLORER = "explore.html"
SIGNATURE = "manifest.sig"
"""Only in a release that was signed; over the manifest, so the manifest does not list it."""

DATA_PACKAGE = "datapackage.json"
CROISSANT = "croissant.json"
REGISTRY = "registry.yaml"
METADATA = (DATA_PACKAGE, CROISSANT, REGISTRY)

LINE = re.compile(rf"([0-9a-f]{{64}})  ((?:{TABLES}/)?[A-Za-z0-9._-]{{1,255}})\n")
"""One of SHA256SUMS, as `sha256sum --check` reads it."""

CHUNK_BYTES = 1 << 20

PARQUET_MEDIA_TYPE = "application/vnd.apache.parquet"

ROLES = {
    CSV: ("synthetic data", "text/csv", "post-processing"),
    PARQUET: ("synthetic data", PARQUET_MEDIA_TYPE, "post-processing"),
    MEASUREMENTS: ("noisy measurements: the statistical product", PARQUET_MEDIA_TYPE, "dp"),
    REPLICATES: (
        "replicates: counts of every cell on noise drawn anew, for standard errors",
        PARQUET_MEDIA_TYPE,
        "post-processing",
    ),
    PREVIOUS: ("counts of the release before", PARQUET_MEDIA_TYPE, "post-processing"),
    QUALITY: (
        "accuracy: the figures of every query and noisy table",
        PARQUET_MEDIA_TYPE,
        "post-processing",
    ),
    TABLES: ("noisy counts", "text/csv", "dp"),
    DATA_CARD: ("data card", "text/markdown", "post-processing"),
    DATA_PACKAGE: ("data package", "application/vnd.datapackage+json", "post-processing"),
    CROISSANT: ("description for machine learning", "application/ld+json", "post-processing"),
    REGISTRY: ("record for the deployments registry", "application/yaml", "post-processing"),
    SCHEMA_FILE: ("schema of the manifest", "application/schema+json", "public"),
    ASSESSMENT: ("self-assessment", "text/html", "post-processing"),
    EXPLORER: ("page that answers queries", "text/html", "post-processing"),
    PAGE: ("release page", "text/html", "post-processing"),
}
"""Role, media type and basis of every file that the manifest lists, in its order.

What a file of `TABLES` counts by is added to its role.
"""


def data_files(config: Config) -> list[str]:
    """The data files of the configured formats."""
    return [CSV] * ("csv" in config.output.formats) + [PARQUET] * (
        "parquet" in config.output.formats
    )


def described_files(config: Config, tables: Iterable[str]) -> list[str]:
    """The files of which the metadata documents state size and hash; `tables` are in `TABLES`."""
    replicates = [REPLICATES] if config.output.replicates else []
    previous = [PREVIOUS] if config.previous_release_id is not None else []
    return [*data_files(config), MEASUREMENTS, *replicates, *previous, QUALITY, *tables]


def listed_files(config: Config, tables: Iterable[str]) -> list[str]:
    """The files that the manifest lists, in its order; the page lists those before it."""
    documents = (DATA_CARD, *METADATA, SCHEMA_FILE, ASSESSMENT, EXPLORER, PAGE)
    return [*described_files(config, tables), *documents]


def all_files(config: Config, tables: Iterable[str]) -> set[str]:
    """Every file of the folder, but for the signature that it may have."""
    return {*listed_files(config, tables), MANIFEST, CHECKSUMS}


def file_sha256(file: IO[bytes], *, most_bytes: int | None = None) -> str:
    """SHA-256 of everything from the file's position on, or of its first `most_bytes`."""
    if most_bytes is None:
        return hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]
    digest = hashlib.sha256()
    while chunk := file.read(min(CHUNK_BYTES, most_bytes)):
        digest.update(chunk)
        most_bytes -= len(chunk)
    return digest.hexdigest()


def checksum_lines(hashes: Mapping[str, str]) -> bytes:
    """The file's bytes: sorted by name, every file of the folder but this one."""
    return "".join(f"{hashes[name]}  {name}\n" for name in sorted(hashes)).encode()


def parse_checksums(content: bytes) -> dict[str, str] | None:
    """The hashes by file name, or None if a single byte is not as `checksum_lines` writes it."""
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError:
        return None
    hashes = {name: digest for digest, name in LINE.findall(text)}
    return hashes if content and checksum_lines(hashes) == content else None


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
