"""Releases put into series, in the order of their periods, and into accounts of populations."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from synth.domain.periods import Resolution, read_period

PERIOD = re.compile(r"(.+)-(\d{4}(?:-q[1-4]|-\d{2}(?:-\d{2})?)?)")
"""An id that ends in a period, as `{period}` is filled in."""

RESOLUTIONS: tuple[Resolution, ...] = ("year", "quarter", "month", "day")

Release = dict[str, Any]


@dataclass(frozen=True)
class Series:
    """Releases that continue one another, oldest first; a release by itself is a series of one."""

    name: str
    releases: tuple[Release, ...]
    periods: tuple[str, ...]
    """The period of every release; empty texts where they have none."""
    is_cumulative: bool
    """Whether every release counts all records so far, and not those of its period."""

    @property
    def last(self) -> Release:
        """The release of the last period."""
        return self.releases[-1]

    @property
    def places(self) -> tuple[int, ...]:
        """Where each release stands in time: the number of its period, else its place."""
        for resolution in RESOLUTIONS:
            numbers = [read_period(period.upper(), resolution) for period in self.periods]
            known = [number for number in numbers if number is not None]
            if len(known) == len(numbers) == len(set(known)):
                return tuple(known)
        return tuple(range(len(self.releases)))


@dataclass(frozen=True)
class Account:
    """What was spent on one population, or on a part of it, release by release as charged."""

    population: str
    part: str
    releases: tuple[Release, ...]

    @property
    def last(self) -> Release:
        """The release that was charged last."""
        return self.releases[-1]


def name_and_period(release: Release) -> tuple[str, str]:
    """The series that a release is of, and its period: as its manifest says, else by its id."""
    stated = release["series"]
    if stated is not None:
        return stated["name"], stated["period"]
    found = PERIOD.fullmatch(release["release_id"])
    return (f"{found[1]}-{{period}}", found[2]) if found else (release["release_id"], "")


def grouped_series(releases: Iterable[Release]) -> list[Series]:
    """All series: those with the newest release first."""
    members: dict[str, list[tuple[str, Release]]] = {}
    for release in releases:
        name, period = name_and_period(release)
        members.setdefault(name, []).append((period, release))
    found = [_series(name, each) for name, each in members.items()]
    found.sort(key=lambda series: series.name)
    return sorted(found, key=lambda series: max(map(published, series.releases)), reverse=True)


def published(release: Release) -> str:
    """The day of publication."""
    day: str = release["date_published"]
    return day


def _series(name: str, members: Sequence[tuple[str, Release]]) -> Series:
    def place(member: tuple[str, Release]) -> tuple[Any, ...]:
        period, release = member
        return period.upper(), published(release), release["release_id"]

    in_order = sorted(members, key=place)
    stated = in_order[-1][1]["series"]
    return Series(
        name,
        tuple(release for _, release in in_order),
        tuple(period for period, _ in in_order),
        stated is not None and stated["rows"] == "all",
    )


def accounts_of(releases: Iterable[Release]) -> list[Account]:
    """All accounts by population and part; releases in the order in which they were charged."""
    members: dict[tuple[str, str], list[Release]] = {}
    for release in releases:
        account = release["account"]
        members.setdefault((account["population"], account["part"]), []).append(release)
    return [Account(*key, tuple(sorted(members[key], key=_charged))) for key in sorted(members)]


def _charged(release: Release) -> tuple[int, str, str]:
    return release["account"]["place"], published(release), release["release_id"]
