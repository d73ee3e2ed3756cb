"""One browser for the tests of a file."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.chromium import Chromium, chromium
from tests.unit.release.page.conftest import NASTY_RELEASE


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running


@pytest.fixture
def nasty() -> dict[str, Any]:
    return NASTY_RELEASE
