"""What is in a release folder: names, roles and order of the files."""

from __future__ import annotations

from synth.config import Config
from synth.release.checksums import CHECKSUMS
from synth.release.manifest.build import SCHEMA_FILE

CSV = "synthetic.csv"
PARQUET = "synthetic.parquet"
MEASUREMENTS = "measurements.parquet"
QUALITY = "quality.parquet"
MANIFEST = "manifest.json"
DATA_CARD = "README.md"
PAGE = "index.html"
SIGNATURE = "manifest.sig"
"""Only in a release that was signed; over the manifest, so the manifest does not list it."""

DATA_PACKAGE = "datapackage.json"
CROISSANT = "croissant.json"
REGISTRY = "registry.yaml"
METADATA = (DATA_PACKAGE, CROISSANT, REGISTRY)

PARQUET_MEDIA_TYPE = "application/vnd.apache.parquet"

ROLES = {
    CSV: ("synthetic data", "text/csv", "post-processing"),
    PARQUET: ("synthetic data", PARQUET_MEDIA_TYPE, "post-processing"),
    MEASUREMENTS: ("noisy measurements: the statistical product", PARQUET_MEDIA_TYPE, "dp"),
    QUALITY: (
        "accuracy: the figures of every query and noisy table",
        PARQUET_MEDIA_TYPE,
        "post-processing",
    ),
    DATA_CARD: ("data card", "text/markdown", "post-processing"),
    DATA_PACKAGE: ("data package", "application/vnd.datapackage+json", "post-processing"),
    CROISSANT: ("description for machine learning", "application/ld+json", "post-processing"),
    REGISTRY: ("record for the deployments registry", "application/yaml", "post-processing"),
    SCHEMA_FILE: ("schema of the manifest", "application/schema+json", "public"),
    PAGE: ("release page", "text/html", "post-processing"),
}
"""Role, media type and basis of every file that the manifest lists, in its order."""


def data_files(config: Config) -> list[str]:
    """The data files of the configured formats."""
    return [CSV] * ("csv" in config.output.formats) + [PARQUET] * (
        "parquet" in config.output.formats
    )


def described_files(config: Config) -> list[str]:
    """The files of which the metadata documents state size and hash."""
    return [*data_files(config), MEASUREMENTS, QUALITY]


def listed_files(config: Config) -> list[str]:
    """The files that the manifest lists, in its order; the page lists those before it."""
    return [*described_files(config), DATA_CARD, *METADATA, SCHEMA_FILE, PAGE]


def all_files(config: Config) -> set[str]:
    """Every file of the folder, but for the signature that it may have."""
    return {*listed_files(config), MANIFEST, CHECKSUMS}
