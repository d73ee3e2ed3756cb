"""What several metadata documents say in the same words, each from one place of the manifest."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from synth.domain import MISSING
from synth.release.contents import CSV, MEASUREMENTS, PARQUET, PREVIOUS, QUALITY, REPLICATES
from synth.release.noisy_tables import table_header

Manifest = dict[str, Any]

DATA_FILES = (CSV, PARQUET, MEASUREMENTS, REPLICATES, PREVIOUS, QUALITY)

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s]+")


def data_files(manifest: Manifest) -> list[dict[str, Any]]:
    """The entries of the data files in the section `files`, in its order.

    The metadata state sizes and hashes of these and of the tables alone, so that nothing is
    circular.
    """
    return [entry for entry in manifest["files"] if entry["path"] in DATA_FILES]


def labelled_tables(manifest: Manifest) -> list[dict[str, Any]]:
    """The entries of the noisy tables with labels, each with its `names`: those of its columns."""
    events = manifest["accounting"]["events"]
    return [
        entry | {"names": table_header(events[entry["event"]]["table"])}
        for entry in manifest["files"]
        if "event" in entry
    ]


def labelled_columns(manifest: Manifest) -> list[dict[str, Any]]:
    """The columns of the domain, each with `value_labels`: what values mean, by value.

    The configuration says that, where it says so; nothing is published under a label. A missing
    level without a label of its own has those of the words that it stands for.
    """
    declared = manifest["configuration"]["domain"]
    return [
        column | {"value_labels": _value_labels(written)}
        for column, written in zip(manifest["domain"]["columns"], declared, strict=True)
    ]


def _value_labels(written: dict[str, Any]) -> dict[str, str]:
    labels: dict[str, str] = written.get("labels", {})
    words = [labels[word] for word in written.get("missing", ()) if word in labels]
    return {MISSING: ", ".join(words)} | labels if words else labels


def series_sentences(manifest: Manifest) -> list[str]:
    """Which series the release belongs to, what that costs, and what became of the one before."""
    series = manifest.get("series")
    if series is None:
        return []
    said = [
        f"It is release {series['index']:,} of the series {series['name']}, for the period "
        f"{series['period']}: {series['in_words']}."
    ]
    cumulative, previous = series.get("cumulative"), series.get("previous")
    if cumulative is not None:
        said.append(
            f"Its counts are cumulative: of all records up to the end of {series['period']}. "
            f"{cumulative['method']} The noise of a count has {cumulative['noise']:.3g} times the "
            "standard deviation that it would have in a single release for the same charge."
        )
    if previous is not None:
        said.append(_of_the_release_before(previous))
    return [*said, *series["conditions"]]


def _of_the_release_before(previous: dict[str, Any]) -> str:
    name, records, taken = previous["release_id"], previous["records"], previous["taken_back"]
    if not taken:
        return (
            f"All {records:,} rows of the release before, {name}, are in it with their values, so "
            "no count is lower than there."
        )
    return (
        f"Of the {records:,} rows of the release before, {name}, {taken:,} were taken back, "
        "because together they contradict what has been measured since: counts may be lower than "
        "there."
    )


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


@dataclass(frozen=True)
class Licence:
    """A licence as the curator wrote it; title and address only where they are known."""

    written: str
    title: str = ""
    address: str = ""

    @property
    def is_known(self) -> bool:
        """Whether `written` is an identifier of the list below."""
        return bool(self.title)


_CREATIVE_COMMONS = "https://creativecommons.org"
_KNOWN = {
    "CC0-1.0": (
        "Creative Commons Zero 1.0 Universal",
        f"{_CREATIVE_COMMONS}/publicdomain/zero/1.0/",
    ),
    **{
        f"CC-{terms.upper()}-4.0": (
            f"Creative Commons {words} 4.0 International",
            f"{_CREATIVE_COMMONS}/licenses/{terms}/4.0/",
        )
        for terms, words in (
            ("by", "Attribution"),
            ("by-sa", "Attribution-ShareAlike"),
            ("by-nc", "Attribution-NonCommercial"),
            ("by-nd", "Attribution-NoDerivatives"),
            ("by-nc-sa", "Attribution-NonCommercial-ShareAlike"),
            ("by-nc-nd", "Attribution-NonCommercial-NoDerivatives"),
        )
    },
    "ODbL-1.0": (
        "Open Data Commons Open Database License 1.0",
        "https://opendatacommons.org/licenses/odbl/1-0/",
    ),
    "ODC-By-1.0": (
        "Open Data Commons Attribution License 1.0",
        "https://opendatacommons.org/licenses/by/1-0/",
    ),
    "PDDL-1.0": (
        "Open Data Commons Public Domain Dedication and Licence 1.0",
        "https://opendatacommons.org/licenses/pddl/1-0/",
    ),
    "OGL-UK-3.0": (
        "Open Government Licence v3.0 (United Kingdom)",
        "https://www.nationalarchives.gov.uk/doc/open-government-licence/version/3/",
    ),
    "MIT": ("MIT License", "https://opensource.org/license/mit"),
    "Apache-2.0": ("Apache License 2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}


def licence_of(written: str) -> Licence:
    """What is known of a licence that is written as an SPDX identifier or an address."""
    if written in _KNOWN:
        return Licence(written, *_KNOWN[written])
    if is_web_address(written):
        return Licence(written, address=written)
    return Licence(written)


def is_web_address(text: str) -> bool:
    """Whether the text is an address that a browser opens."""
    return text.startswith(("https://", "http://")) and not any(map(str.isspace, text))
