"""Releases whose words are as awkward as a configuration allows."""

from typing import Any

import pytest

from tests.unit.release.page.conftest import NASTY_RELEASE


@pytest.fixture
def nasty() -> dict[str, Any]:
    return NASTY_RELEASE
