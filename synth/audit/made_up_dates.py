"""Made-up dates: the days of periods as a source writes them, from the public calendar alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
from numpy.typing import NDArray

from synth.config.series import PeriodSelection
from synth.domain import Attribute
from synth.domain.periods import DAY_SECONDS, Calendar, period_of_day, period_start
from synth.domain.time_format import DIRECTIVES, MONTH_NAMES


def moment_text(number: int, calendar: Calendar) -> str:
    """The beginning of a period as the source writes it."""
    start = datetime(1, 1, 1) + timedelta(seconds=period_start(number, calendar.resolution))
    if not calendar.format:
        return start.isoformat() if calendar.resolution == "hour" else start.date().isoformat()
    zone = ZoneInfo(calendar.time_zone)
    words = {
        "year": f"{start.year:04}",
        "short year": f"{start.year % 100:02}",
        "month name": MONTH_NAMES[start.month - 1],
        "fraction": "0",
        "zone": start.replace(tzinfo=zone).strftime("%z")[:5],
    }
    text = calendar.format
    for directive, field in DIRECTIVES.items():
        text = text.replace(directive, words.get(field) or f"{getattr(start, field, 0):02}")
    return text


def days_of(selection: PeriodSelection) -> list[str]:
    """All days of the periods that count, as the source writes them."""
    calendar, days = replace(selection.calendar, resolution="day"), []
    for number, _ in selection.weights:
        start, end = (period_start(n, selection.resolution) for n in (number, number + 1))
        held = range(start // DAY_SECONDS, end // DAY_SECONDS)
        days += [moment_text(day, calendar) for day in held]
    return days


def codes_of_periods(attribute: Attribute, selection: PeriodSelection | None) -> NDArray[np.bool_]:
    """The codes whose periods begin in one that counts; all, if it is not known of any."""
    every = np.ones(attribute.size, dtype=bool)
    calendar = attribute.calendar
    if selection is None or calendar is None or attribute.name != selection.column:
        return every
    numbers = {number for number, _ in selection.weights}
    days = [
        period_start(int(edge), calendar.resolution) // DAY_SECONDS
        for edge in attribute.edges[: attribute.bin_count]
    ]
    inside = [period_of_day(day, selection.resolution) in numbers for day in days]
    return np.array([*inside, *[False] * attribute.has_missing]) if any(inside) else every
