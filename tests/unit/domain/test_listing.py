"""Long enumerations: cut short, but never to hide a single entry."""

from __future__ import annotations

from itertools import count

import pytest

from synth.domain.listing import shorten


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, []), (2, ["0", "1"]), (3, ["0", "1", "2"]), (4, ["0", "1", "..."])],
)
def test_at_least_two_entries_are_hidden_or_none(size: int, shown: list[str]) -> None:
    assert shorten(map(str, range(size)), 2) == shown


def test_an_endless_list_is_read_only_as_far_as_needed() -> None:
    assert shorten(map(str, count()), 1) == ["0", "..."]
