"""Licences by their SPDX identifiers: the title and the address of each text."""

from __future__ import annotations

from dataclasses import dataclass


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
