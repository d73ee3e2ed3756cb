"""Releases whose words are as awkward as a configuration allows, and wide or narrow ones."""

import json
from collections.abc import Callable
from typing import Any

import pytest

NASTY = '</script><script>alert("1")</script> & <b>\'{{ 7 * 7 }}'

NASTY_RELEASE = {
    "release": {"title": NASTY, "description": NASTY, "intended_use": NASTY}
    | {"curators": [NASTY], "region": NASTY, "sector": NASTY, "license": NASTY}
    | {"contact": NASTY},
    "domain": [
        {"name": NASTY, "title": NASTY, "description": NASTY, "type": "categorical"}
        | {"levels": ["<script>alert(2)</script>", "x" * 200, "<!-- ", "]]>", '" onload="x']}
        | {"out_of_domain": "]]>", "source": NASTY},
        {"name": "<img src=x>", "type": "integer", "minimum": 0, "maximum": 29}
        | {"missing": [""], "out_of_domain": "missing", "source": NASTY},
    ],
}


@pytest.fixture
def nasty() -> dict[str, Any]:
    return NASTY_RELEASE


@pytest.fixture
def manifest_of() -> Callable[[Any], dict[str, Any]]:
    return lambda made: json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))
