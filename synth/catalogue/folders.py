"""The release folders of a directory as strangers see them, and what a manifest says of each.

Nothing here is trusted: whoever can write into the directory can put anything there. A folder that
is no whole release is left out, with a reason; none stops the index.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

from synth.config.release import WEB_ADDRESS
from synth.config.source_files import MADE_UP
from synth.errors import OutputError
from synth.privacy.meaning import exact_number
from synth.release.contents import CHECKSUMS, MANIFEST, PAGE, parse_checksums
from synth.release.manifest.series import LOSSES
from synth.release.verification.folder import Folder, FolderError, published_signer
from synth.strict_json import JsonError, parse_json

RELEASE_NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,199}")
"""How release folders are named; a folder of another name is never named to the public."""

DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
MOST_ENTRIES = 5_000
MOST_MANIFEST_BYTES = 16 << 20
MOST_TITLE, MOST_PASSAGE = 300, 2_000
MOST_NAMES = 20
FRACTION = re.compile(r"-?[0-9]{1,2000}/[0-9]{1,2000}")
LARGEST = 10**9
UNPRINTABLE = re.compile(
    "[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
"""Characters that XML may not hold, that break lines, or that turn the direction of a page."""

MALFORMED = (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError)
"""What a manifest that is not as any version writes it may raise."""


class NotAReleaseError(ValueError):
    """A folder cannot stand in the index; says why."""


@dataclass(frozen=True)
class LeftOut:
    """A folder that is not in the index. `is_public`: the index says so, too."""

    folder: str
    why: str
    is_public: bool = True


@dataclass(frozen=True)
class Found:
    """A release folder whose manifest was read but not yet understood."""

    folder: Folder
    content: bytes

    @property
    def name(self) -> str:
        """The folder's name, which is the id of its release."""
        return self.folder.path.name

    @property
    def sha256(self) -> str:
        """The hash of the manifest."""
        return hashlib.sha256(self.content).hexdigest()


def release_folders(directory: Path, left_out: list[LeftOut]) -> Iterator[Found]:
    """The folders with a manifest, in the order of their names; others are noted, or passed over.

    Privacy: opens nothing but manifests and lists of hashes in folders of `directory`, and follows
    no link.
    Raises: OutputError if the directory cannot be read or holds too many entries.
    """
    try:
        with os.scandir(directory) as entries:
            found = sorted(islice(entries, MOST_ENTRIES + 1), key=lambda entry: entry.name)
    except OSError as error:
        raise OutputError(
            f"the directory of releases cannot be read: {error.strerror}",
            fix="name the directory that holds the release folders (output.directory)",
        ) from None
    if len(found) > MOST_ENTRIES:
        raise OutputError(
            f"the directory holds more than {MOST_ENTRIES:,} entries",
            fix="keep nothing but releases there, or divide them between directories",
        )
    for entry in found:
        if entry.name.startswith("."):
            continue
        if entry.is_symlink():
            if RELEASE_NAME.fullmatch(entry.name):
                left_out.append(LeftOut(entry.name, "is a symbolic link", is_public=False))
            continue
        if not entry.is_dir(follow_symlinks=False):
            continue
        try:
            folder = Folder(Path(entry.path))
            if not folder.holds(MANIFEST):
                left_out.append(LeftOut(printable(entry.name), "holds no manifest", False))
            elif not RELEASE_NAME.fullmatch(entry.name):
                left_out.append(LeftOut(printable(entry.name), "has no name of a release", False))
            else:
                yield Found(folder, _manifest(folder))
        except (FolderError, NotAReleaseError) as error:
            if os.path.lexists(entry.path):  # else it was moved away meanwhile
                left_out.append(LeftOut(entry.name, printable(str(error))))


def _manifest(folder: Folder) -> bytes:
    """The bytes of a manifest of bearable size that the folder's list of hashes knows."""
    if folder.sizes.get(MANIFEST, 0) > MOST_MANIFEST_BYTES:
        raise NotAReleaseError(f"its manifest is larger than {MOST_MANIFEST_BYTES >> 20} MB")
    content = folder.read(MANIFEST, limit=MOST_MANIFEST_BYTES)
    listed = parse_checksums(folder.read(CHECKSUMS, limit=1 << 20)) or {}
    if listed.get(MANIFEST) != hashlib.sha256(content).hexdigest():
        raise NotAReleaseError(f"its manifest is not the one that {CHECKSUMS} lists")
    return content


def read_manifest(found: Found) -> dict[str, Any]:
    """The manifest of any version. Raises: NotAReleaseError."""
    try:
        manifest = parse_json(found.content)
    except JsonError as error:
        raise NotAReleaseError(f"its manifest is not readable: {error}") from None
    if not isinstance(manifest, dict) or "manifest_version" not in manifest:
        raise NotAReleaseError("its manifest is none of a release")
    return manifest


def release_facts(found: Found, manifest: dict[str, Any]) -> dict[str, Any]:
    """What the index says of a release, but for its tables, in clean texts of bounded length.

    Privacy: of the published manifest alone.
    Raises: NotAReleaseError for a manifest that lacks what every version writes.
    """
    try:
        if manifest["identity"]["release_id"] != found.name:
            raise NotAReleaseError("is named other than the release in it")
        return _facts(found, manifest)
    except NotAReleaseError:
        raise
    except MALFORMED:
        raise NotAReleaseError("its manifest lacks what every version writes") from None


def _facts(found: Found, manifest: dict[str, Any]) -> dict[str, Any]:
    identity, account = manifest["identity"], manifest["accounting"]["ledger"]
    guarantee, rows = manifest["guarantee"], manifest["post_processing"]["rows"]["number"]
    published, configuration = identity["date_published"], manifest["configuration"]
    columns = len(manifest["domain"]["columns"])
    date.fromisoformat(published)
    if not DAY.fullmatch(published) or type(rows) is not int or rows < 0:
        raise NotAReleaseError("its manifest has no day of publication or number of rows")
    if configuration.get("source", {}).get("kind") == MADE_UP:
        raise NotAReleaseError("is a rehearsal on made-up rows")
    base = configuration.get("output", {}).get("base_url", "")
    signer = published_signer(found.folder.path)
    return {
        "release_id": found.name,
        "title": clean(identity["name"]),
        "description": clean(identity["description"], MOST_PASSAGE),
        "language": clean(identity["language"], 35),
        "version": clean(identity["version"], 35),
        "date_published": published,
        "license": clean(identity["license"]),
        "publisher": clean(manifest["people"]["publisher"]),
        "contact": clean(manifest["people"]["contact_point"]),
        "supersedes": [clean(each) for each in identity.get("supersedes", [])[:MOST_NAMES]],
        "signed_by": None if signer is None else signer.key_id,
        "page": PAGE if PAGE in found.folder.sizes else "",
        "base_url": base if re.fullmatch(WEB_ADDRESS.pattern, base) else "",
        "rows": rows,
        "columns": columns,
        "unit": clean(guarantee["privacy_unit"]),
        "neighbours": clean(guarantee["neighbours"]),
        "privacy": _budget(guarantee["privacy_parameters"]),
        "account": {
            "population": clean(account["population"]),
            "part": clean(account.get("disjoint_part", {}).get("name", "")),
            "place": len(account["earlier_release_ids"]),
            "cap": _budget(account["cap"]),
            "spent": _spent(account),
        },
        "series": _series(manifest.get("series")),
        "manifest_sha256": found.sha256,
    }


def _series(stated: Any) -> dict[str, Any] | None:
    """What the manifest says of the series that the release is one of."""
    if not isinstance(stated, dict):
        return None
    lost = stated.get("most_lost", {})
    return {
        "name": clean(stated["name"]),
        "period": clean(stated["period"], 40),
        "rows": clean(stated["rows"], 40),
        "in_words": clean(stated.get("in_words", ""), MOST_PASSAGE),
        "conditions": [
            clean(each, MOST_PASSAGE) for each in stated.get("conditions", [])[:MOST_NAMES]
        ],
        "most_lost": {name: _budget(lost[name]) for name in LOSSES if name in lost},
    }


def _budget(stated: dict[str, Any]) -> dict[str, Any]:
    """Epsilon and delta, written anew from their exact fractions."""
    return {name: exact_number(_fraction(stated[name])) for name in ("epsilon", "delta")}


def _spent(account: dict[str, Any]) -> dict[str, Any]:
    """What had been spent on those whom the release is about, and on it: the cap less what is left.

    So the sum is the ledger's own, by whatever rule charges add up in it.
    """
    return {
        name: exact_number(_fraction(account["cap"][name]) - _fraction(account["left"][name]))
        for name in ("epsilon", "delta")
    }


def _fraction(stated: dict[str, str]) -> Fraction:
    text = stated["fraction"]
    if not FRACTION.fullmatch(text):
        raise ValueError("no fraction as any version writes it")
    value = Fraction(text)
    if abs(value) > LARGEST:
        raise ValueError("larger than any privacy loss")
    return value


def clean(text: Any, most: int = MOST_TITLE) -> str:
    """A text of bounded length that a page, XML and a terminal may hold.

    Raises: TypeError for what is no text.
    """
    if not isinstance(text, str):
        raise TypeError("no text")
    whole = printable(text)
    return whole if len(whole) <= most else whole[: most - 1] + "…"


def printable(text: str) -> str:
    """The text without characters that cannot be shown; line breaks become blanks."""
    return UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", re.sub(r"[\t\n\r]+", " ", text))
