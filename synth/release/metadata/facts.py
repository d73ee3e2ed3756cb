"""What several metadata documents say in the same words, each from one place of the manifest."""

from __future__ import annotations

import re
from typing import Any

from synth.release.contents import CSV, MEASUREMENTS, PARQUET, QUALITY
from synth.release.metadata.licences import is_web_address

Manifest = dict[str, Any]

DESCRIBED_FILES = (CSV, PARQUET, MEASUREMENTS, QUALITY)
"""The files whose size and hash the metadata state: data only, so that nothing is circular."""

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def described_files(manifest: Manifest) -> list[dict[str, Any]]:
    """The entries of the data files in the section `files`, in its order."""
    return [entry for entry in manifest["files"] if entry["path"] in DESCRIBED_FILES]


def homepage(manifest: Manifest) -> str | None:
    """The address of the release, if the curator declared one."""
    address: str | None = manifest["identity"].get("homepage")
    return address


def file_address(manifest: Manifest, path: str) -> str:
    """Where a file is: beside the document, or under the homepage if that ends with a slash."""
    base = homepage(manifest)
    return f"{base}{path}" if base is not None and base.endswith("/") else path


def contact_email(manifest: Manifest) -> str | None:
    """The contact, if it is an e-mail address and nothing else."""
    contact: str = manifest["people"]["contact_point"]
    return contact if EMAIL.fullmatch(contact) else None


def contact_page(manifest: Manifest) -> str | None:
    """The contact, if it is an address on the web."""
    contact: str = manifest["people"]["contact_point"]
    return contact if is_web_address(contact) else None


def guarantee_in_short(manifest: Manifest) -> str:
    """The variant, its parameters, the unit and the neighbours, in one sentence."""
    guarantee = manifest["guarantee"]
    parameters = guarantee["privacy_parameters"]
    shown = f"epsilon = {parameters['epsilon']['decimal']}"
    if parameters["delta"]["fraction"] != "0/1":
        shown += f", delta = {parameters['delta']['decimal']}"
    return (
        f"{guarantee['variant_name']}, {shown}, for one {guarantee['privacy_unit']} "
        f"({guarantee['neighbours']} neighbours)."
    )


def full_description(manifest: Manifest) -> str:
    """The description, what every reader must know, and the guarantee."""
    identity = manifest["identity"]
    return f"{identity['description']}\n\n{identity['statement']} {guarantee_in_short(manifest)}"
