"""Records with dates, and which of them count: the slow definition of a selection of periods."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping

from synth.config.series import PeriodSelection
from synth.domain.periods import Calendar, read_period

ZONE = "Europe/Berlin"


def month(text: str) -> int:
    found = read_period(text, "month")
    assert found is not None
    return found


MONTHS: Mapping[str | None, str | None] = {
    "2025-12-31": "2025-12", "2025-12-31T22:59:59Z": "2025-12", "2025-12-31T23:00:00Z": "2026-01",
    "2026-01-05": "2026-01", "2026-01": "2026-01", "2026-01-31T23:30:00": "2026-01",
    "2026-01-31T23:30:00Z": "2026-02", "2026-02-28": "2026-02", "2026-02-29": None,
    "2026-03-01 00:00:00": "2026-03", "2026-03-31T21:59:59+00:00": "2026-03",
    "2026-03-31T22:00:00+00:00": "2026-04", "2026-04-30": "2026-04", "2026-05-01": "2026-05",
    "2226-01-05": "2226-01", "0001-01-01": "0001-01", "2026-13-01": None, "05.01.2026": None,
    "2026-01-05x": None, "soon": None, " 2026-01-05": None, "": None, None: None,
}  # fmt: skip
"""The month of every text, by the clock of Berlin; None: no date."""

MISSING_CODE = 3
LEVELS = ("a", "b", "c")
DOMAIN = [
    {
        "name": "group", "type": "categorical", "levels": list(LEVELS), "missing": [""],
        "out_of_domain": "missing", "source": "test",
    },
]  # fmt: skip

Row = tuple[str | None, str | None, str | None]
"""The person, when, and the group."""


def selection_of(
    weights: Mapping[str, int],
    *,
    bounded_from: str | None = None,
    max_periods: int | None = None,
    column: str = "visited",
    earlier_count: bool = False,
) -> PeriodSelection:
    return PeriodSelection(
        column=column,
        resolution="month",
        calendar=Calendar("month", "", ZONE),
        weights=tuple((month(each), weight) for each, weight in weights.items()),
        bounded_from=None if bounded_from is None else month(bounded_from),
        max_periods=max_periods,
        series_first=month("2026-01"),
        earlier_count=earlier_count,
    )


SELECTIONS = {
    "one month": selection_of({"2026-02": 1}),
    "two months": selection_of({"2026-01": 1, "2026-02": 1}),
    "far apart, weighted": selection_of({"2025-12": 2, "2026-01": 1, "2026-04": 7}),
    "weighted": selection_of({"2026-01": 3, "2026-02": 2, "2026-03": 1}, bounded_from="2026-01"),
    "bounded before": selection_of({"2026-03": 1, "2026-04": 1}, bounded_from="2026-01"),
    "first month of a person": selection_of({"2026-03": 1}, max_periods=1),
    "first two months": selection_of({"2026-04": 1}, max_periods=2),
    "those before, too": selection_of({"2026-01": 2, "2026-02": 1}, earlier_count=True),
    "those before, bounded": selection_of(
        {"2026-01": 1, "2026-03": 1}, bounded_from="2026-01", earlier_count=True
    ),
    "bounded with those before": selection_of(
        {"2026-02": 1}, bounded_from="2026-01", earlier_count=True
    ),
    "none before": selection_of({"2026-02": 1, "2026-03": 1}, earlier_count=True),
}


def slow_counts(
    rows: Iterable[Row], selection: PeriodSelection, max_records: int | None
) -> list[int]:
    """The counts of the groups, person by person and record by record."""
    weights = dict(selection.weights)
    first = selection.bounded_from or min(weights)
    has_earlier = selection.earlier_count and first == selection.series_first
    dated = []
    for person, when, group in rows:
        written = MONTHS[when]
        code = LEVELS.index(group) if group in LEVELS else MISSING_CODE
        if written is not None and month(written) <= max(weights):
            number = max(month(written), first) if has_earlier else month(written)
            dated.append((person, number, code))
    if max_records is not None:
        people: dict[str, list[tuple[int, int]]] = {}
        for person, number, code in dated:
            if person:
                people.setdefault(person, []).append((number, code))
        dated = [
            (person, number, code)
            for person, records in people.items()
            for number, code in kept(person, records, selection, max_records)
        ]
    counts: Counter[int] = Counter()
    for _, number, code in dated:
        counts[code] += weights.get(number, 0)
    return [counts[code] for code in range(len(LEVELS) + 1)]


def kept(
    person: str, records: list[tuple[int, int]], selection: PeriodSelection, max_records: int
) -> list[tuple[int, int]]:
    """The records of one person that may count."""
    start = selection.bounded_from
    if selection.max_periods is not None:
        since = selection.series_first if start is None else start
        records = [each for each in records if each[0] >= since]
        allowed = sorted({number for number, _ in records})[: selection.max_periods]
        records = [each for each in records if each[0] in allowed]
    if start is None:
        records = [each for each in records if each[0] in dict(selection.weights)]
    else:
        records = [each for each in records if each[0] >= start]
    seen = "".join(character for character in person if " " <= character <= "~")

    def order(record: tuple[int, int]) -> tuple[int, str, int]:
        number, code = record
        return number, hashlib.md5(f"{seen}:{code}".encode()).hexdigest(), code

    return sorted(records, key=order)[:max_records]
