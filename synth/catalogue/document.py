"""`series.json`: all that the index says, for programs, and for the next index to start from."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator

from synth.catalogue.folders import MALFORMED, LeftOut
from synth.catalogue.grouping import Account, Release, Series, accounts_of, grouped_series
from synth.catalogue.schema import RELEASE, catalogue_schema
from synth.errors import DISTRIBUTION
from synth.strict_json import JsonError, parse_json

SERIES_FILE = "series.json"
CATALOGUE_VERSION = "1"
MOST_BYTES = 256 << 20
NUMBERS = ("estimates", "lows", "highs")


def earlier_document(directory: Path) -> dict[str, Any]:
    """The last index, if it is one that this version wrote; else nothing, and all is read anew."""
    try:
        descriptor = os.open(directory / SERIES_FILE, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as file:
            found = parse_json(file.read(MOST_BYTES))
        kept: dict[str, Any] = {"feed_id": str(uuid.UUID(found["feed_id"][len("urn:uuid:") :]))}
        if (found["catalogue_version"], found["written_by"]) == (CATALOGUE_VERSION, _writer()):
            kept["releases"] = {
                each["release_id"]: each for each in found["releases"] if _is_whole(each)
            }
    except (OSError, JsonError, *MALFORMED):
        return {}
    return kept


def _is_whole(release: dict[str, Any]) -> bool:
    """Whether an entry of an earlier index is as one is written; its long lists are counted."""
    parts = [release, *([release["increment"]] if "increment" in release else [])]
    for part in parts:
        for each in (*part.get("tables", []), *([part["records"]] if "records" in part else [])):
            number = len(each.get("labels", [""]))
            for name in NUMBERS:
                if len(each[name]) != number or any(type(one) is not int for one in each[name]):
                    return False
    return _release_validator().is_valid(_shortened(release))


def _shortened(release: dict[str, Any]) -> dict[str, Any]:
    """The entry with empty lists of numbers."""
    short = dict(release)
    if "tables" in release:
        short["tables"] = [each | {name: [] for name in NUMBERS} for each in release["tables"]]
    if "increment" in release:
        short["increment"] = _shortened(release["increment"])
    return short


@cache
def _release_validator() -> Draft202012Validator:
    return Draft202012Validator({**RELEASE, "$defs": catalogue_schema()["$defs"]})


def build_document(
    releases: Sequence[Release], left_out: Iterable[LeftOut], *, feed_id: str
) -> dict[str, Any]:
    """The document in JSON values; series with the newest release first, accounts by name.

    Ensures: the same releases and id give the same document.
    """
    series, accounts = grouped_series(releases), accounts_of(releases)
    newest = newest_first(releases)
    base = next((each["base_url"] for each in newest if each["base_url"]), "")
    return {
        "catalogue_version": CATALOGUE_VERSION,
        "written_by": _writer(),
        "feed_id": f"urn:uuid:{feed_id}",
        "base_url": base if base.endswith("/") or not base else f"{base}/",
        "publisher": newest[0]["publisher"] if newest else "",
        "updated": newest[0]["date_published"] if newest else "",
        "series": [_series(each) for each in series],
        "accounts": [_account(each) for each in accounts],
        "releases": newest,
        "left_out": [
            {"folder": each.folder, "why": each.why} for each in left_out if each.is_public
        ],
    }


def new_feed_id(releases: Sequence[Release]) -> str:
    """An id for the feed of these releases, by the first of them; it is kept from then on."""
    oldest = newest_first(releases)[-1:]
    first = oldest[0]["manifest_sha256"] if oldest else ""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"synth/feed/{first}"))


def newest_first(releases: Iterable[Release]) -> list[Release]:
    """In the order of publication, newest first."""
    return sorted(
        releases,
        key=lambda each: (each["date_published"], each["account"]["place"], each["release_id"]),
        reverse=True,
    )


def write_document(document: dict[str, Any]) -> bytes:
    """The bytes of the file; a line for every release."""
    rest = {name: value for name, value in document.items() if name != "releases"}
    head = _json(rest)[:-1]
    lines = ",\n".join(map(_json, document["releases"]))
    return f'{head},\n"releases":[\n{lines}\n]}}\n'.encode()


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _writer() -> str:
    return f"{DISTRIBUTION} {version(DISTRIBUTION)}"


def _series(series: Series) -> dict[str, Any]:
    return {
        "name": series.name,
        "title": series.last["title"],
        "is_cumulative": series.is_cumulative,
        "releases": [
            {"release_id": release["release_id"], "period": period}
            for release, period in zip(series.releases, series.periods, strict=True)
        ],
    }


def _account(account: Account) -> dict[str, Any]:
    last = account.last["account"]
    return {
        "population": account.population,
        "part": account.part,
        "unit": account.last["unit"],
        "neighbours": account.last["neighbours"],
        "cap": last["cap"],
        "spent": last["spent"],
        "releases": [
            {"release_id": each["release_id"], "spent": each["account"]["spent"]}
            for each in account.releases
        ],
    }
