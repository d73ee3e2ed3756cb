"""A series: its arithmetic, what it costs, which records count, and the hash that covers it."""

from __future__ import annotations

import json
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

import pytest

from synth.config import Config, config_from_public, load_config
from synth.config.source import POSTGRESQL
from synth.config.summary import report_lines
from synth.errors import ConfigError
from tests.conftest import SMALL, merged

MONTHLY: dict[str, Any] = {
    "release": {"id": "visits-{period}"},
    "source": {"where": {"column": "seen_on", "within": "period"}},
    "series": {"every": "month", "first": "2026-01", "rows": "all", "horizon": 24},
    "ledger": {"epsilon_cap": 100},
}
PERSONS = {"privacy": {"unit": {"column": "person", "max_records": 3}}}
NEW = {"series": {"rows": "new"}}


def written(*changes: dict[str, Any]) -> dict[str, Any]:
    found = merged(SMALL, MONTHLY)
    for change in changes:
        found = merged(found, change)
    return found


def accepted(*changes: dict[str, Any], period: str | None = None) -> Config:
    return load_config(written(*changes), period=period, without_period="first")


@pytest.mark.parametrize(
    ("every", "first", "labels"),
    [
        ("year", "2026", ["2026", "2027", "2028"]),
        ("quarter", "2026-Q4", ["2026-q4", "2027-q1", "2027-q2"]),
        ("month", "2026-11", ["2026-11", "2026-12", "2027-01"]),
        ("week", "2026-12-28", ["2026-12-28", "2027-01-04", "2027-01-11"]),
        ("day", "2026-12-31", ["2026-12-31", "2027-01-01", "2027-01-02"]),
    ],
)
def test_periods_are_counted_from_the_first(every: str, first: str, labels: list[str]) -> None:
    change = {"series": {"every": every, "first": first, "horizon": 2, "renewal": "next"}}
    series = accepted(change).series
    assert [series.label(index) for index in (1, 2, 3)] == labels
    assert [series.index(label) for label in labels] == [1, 2, 3]
    assert [(series.cycle(i), series.within_cycle(i)) for i in (1, 2, 3)] == [
        (0, 1),
        (0, 2),
        (1, 1),
    ]
    assert series.release_id(2) == f"visits-{labels[1]}"
    for index, label in enumerate(labels, start=1):
        config = accepted(change, period=label)
        assert (config.period_index, config.period) == (index, label)
        assert config.release.id == series.release_id(index)


@pytest.mark.parametrize("label", ["2025-12", "2028-01", "2026", "2026-13", "2026-01-01", "x"])
def test_a_period_that_the_series_does_not_have_is_refused(label: str) -> None:
    with pytest.raises(ConfigError, match="--period"):
        accepted(period=label)
    with pytest.raises(ValueError, match="no such period"):
        accepted().series.index(label)


def test_the_last_period_is_the_last_of_the_horizon_unless_it_is_renewed() -> None:
    series = accepted().series
    assert (series.index("2027-12"), series.ends_after) == (24, 24)
    renewed = accepted({"series": {"renewal": "next"}}).series
    assert (renewed.index("2028-01"), renewed.ends_after) == (25, None)


def test_a_period_is_due_once_it_has_ended_and_the_delay_is_over() -> None:
    series = accepted({"series": {"delay": 5}}).series
    assert series.due_on(1) == date(2026, 2, 6)
    assert list(series.due_indices(date(2026, 2, 5))) == []
    assert list(series.due_indices(date(2026, 2, 6))) == [1]
    assert list(series.due_indices(date(2026, 3, 6))) == [1, 2]
    assert list(series.due_indices(date(2099, 1, 1))) == list(range(1, 25))


@pytest.mark.parametrize(
    ("zone", "day"),
    [("UTC", 1), ("Europe/Berlin", 1), ("America/New_York", 2), ("Pacific/Auckland", 1)],
)
def test_a_period_ends_by_the_clock_of_its_time_zone(zone: str, day: int) -> None:
    series = accepted({"source": {"where": {"time_zone": zone}}}).series
    assert series.due_on(1) == date(2026, 2, day)


@pytest.mark.parametrize(
    ("changes", "rule", "most", "counted"),
    [
        ([], "largest", 1, 1),
        ([PERSONS], "sum", None, 1),
        ([NEW], "largest", 1, 1),
        ([NEW, PERSONS], "sum", None, 24),
        ([NEW, PERSONS, {"series": {"max_periods": 3}}], "largest", 3, 3),
        ([NEW, PERSONS, {"series": {"max_periods": 30}}], "largest", 30, 24),
        ([NEW, PERSONS, {"series": {"renewal": {"window": 12}}}], "window", 12, 12),
        ([{"source": {"where": None}}], "sum", None, 24),
        (
            [{"source": {"where": None}, "series": {"renewal": {"window": 12}}}],
            "window",
            12,
            12,
        ),
    ],
)
def test_what_a_horizon_costs_follows_from_rows_and_unit(
    changes: list[dict[str, Any]], rule: str, most: int | None, counted: int
) -> None:
    config = accepted(*changes)
    composition = config.series.composition
    assert (composition.rule, composition.most) == (rule, most)
    assert composition.counted(config.series.parts_in_horizon) == counted
    cap = {"ledger": {"epsilon_cap": counted}}
    accepted(*changes, cap)
    if counted > 1:
        with pytest.raises(ConfigError, match=f"the charge of period {counted} would be refused"):
            accepted(*changes, {"ledger": {"epsilon_cap": str(Fraction(counted) - Fraction(1, 9))}})


def test_a_part_is_the_horizon_if_one_charge_covers_it_and_else_the_period() -> None:
    renewed = {"series": {"horizon": 2, "renewal": "next"}}
    months = ("2026-01", "2026-02", "2026-03")
    continual = [accepted(renewed, period=month).series_part for month in months]
    assert [(part.index, part.part) for part in continual] == [(1, 0), (2, 0), (3, 1)]
    new = [accepted(renewed, NEW, period=month).series_part for month in months]
    assert [(part.index, part.part) for part in new] == [(1, 1), (2, 2), (3, 3)]
    assert {part.name for part in new} == {"visits-{period}"}


def test_what_decides_in_which_part_a_record_is_defines_the_series() -> None:
    def defined(*changes: dict[str, Any]) -> str:
        return accepted(*changes).series_part.definition

    bounded = {"series": {"max_periods": 2}}
    table = {"source": {"path": None, "url": "postgresql://host/db", "table": "seen"}}
    dated = merged(table, {"source": {"where": None, "table": "seen_{period}"}})
    others = [
        [],
        [{"series": {"first": "2026-02"}}],
        [{"series": {"every": "year", "first": "2026"}}],
        [{"series": {"horizon": 23}}],
        [{"source": {"where": {"column": "left_on"}}}],
        [{"source": {"where": {"time_zone": "Europe/Berlin"}}}],
        [table],
        [dated],
        [NEW],
        [NEW, PERSONS, bounded],
        [NEW, PERSONS, {"series": {"max_periods": 3}}],
    ]
    assert len({defined(*changes) for changes in others}) == len(others)
    for changes in ([{"privacy": {"epsilon": 2}}], [{"source": {"path": "elsewhere.csv"}}]):
        assert defined(*changes) == defined()
    assert defined(NEW, {"series": {"horizon": 23}}) == defined(NEW)
    for changes in ([], [dated], [NEW, PERSONS, bounded]):
        config = accepted(*changes, period="2026-03")
        again = config_from_public(json.loads(json.dumps(config.public)))
        assert again.series_part == config.series_part


def test_new_records_are_those_of_the_period() -> None:
    selection = accepted(NEW, PERSONS, {"series": {"max_periods": 2}}, period="2026-03").selection()
    first = 12 * 2026
    assert selection.weights == ((first + 2, 1),)
    assert (selection.bounded_from, selection.max_periods) == (None, 2)
    assert selection.series_first == first


def test_all_records_are_those_of_the_periods_of_the_horizon_so_far() -> None:
    renewed = {"series": {"horizon": 4, "renewal": "next"}}
    config = accepted(renewed, PERSONS, period="2026-07")
    first = 12 * 2026
    assert config.selection().weights == ((first + 4, 1), (first + 5, 1), (first + 6, 1))
    assert config.selection().bounded_from == first + 4
    assert config.selection([(1, 2), (3, 1)]).weights == ((first + 4, 2), (first + 6, 1))
    assert accepted(renewed, period="2026-07").selection().bounded_from is None
    for wrong in ([(2, 1), (1, 1)], [(1, 0)], [(1, 1), (1, 2)]):
        with pytest.raises(ValueError, match="every period once"):
            config.selection(wrong)


def test_without_where_all_records_of_the_source_count() -> None:
    assert accepted({"source": {"where": None}}).selection() is None
    assert load_config(SMALL).selection() is None
    with pytest.raises(ValueError, match="of its period"):
        accepted(NEW).selection([(1, 1)])


def test_the_hash_of_a_series_is_that_of_all_its_periods_and_of_nothing_else() -> None:
    table = {"source": {"path": None, "url": "postgresql://host/db", "table": "seen_{period}"}}
    others = {"renewal": {"population": "people-{cycle}", "source": "They leave"}, "horizon": 2}
    for changes in ([], [table], [{"series": others}], [table, {"series": others}]):
        first, later = (accepted(*changes, period=period) for period in ("2026-01", "2026-03"))
        assert first.series_hash == later.series_hash
        assert first.hash != later.hash
        again = config_from_public(json.loads(json.dumps(later.public)))
        assert (again.hash, again.series_hash) == (later.hash, later.series_hash)
        assert (again.series, again.period_index) == (later.series, later.period_index)
        assert again.selection() == later.selection()
    seen = {accepted().series_hash}
    for change in (
        {"series": {"horizon": 23}},
        {"series": {"delay": 1}},
        {"series": {"renewal": "next"}},
        {"privacy": {"epsilon": 2}},
        {"source": {"where": {"column": "left_on"}}},
        {"ledger": {"population": "others"}},
        {"release": {"id": "others-{period}"}},
        table,
        {**table, "source": {**table["source"], "table": "seen"}},
        NEW,
    ):
        found = accepted(change).series_hash
        assert found not in seen
        seen.add(found)
    assert load_config(SMALL).series_hash is None


def test_a_public_form_whose_id_is_not_that_of_its_period_is_refused() -> None:
    public = accepted(period="2026-02").public
    for change in ({"release": {"id": "visits-2026-03"}}, {"series": {"period": "2025-12"}}):
        with pytest.raises(ConfigError):
            config_from_public(merged(public, change))


def test_the_place_of_files_is_not_published() -> None:
    files = {"source": {"path": "private/{period}/people.csv", "where": None}}
    config = accepted(files, NEW)
    assert config.public["series"]["selected_by"] == "path"
    spark = {"source": {"path": None, "spark": {"table": "parquet.`s3://private/{period}`"}}}
    for each in (config, accepted(spark)):
        assert "private" not in json.dumps(each.public)
        assert "table" not in each.public["series"]
    named = {"source": {"path": None, "url": "postgresql://host/db", "table": "seen_{period}"}}
    assert accepted(named).public["source"]["kind"] == POSTGRESQL
    assert accepted(named).public["series"]["table"] == "seen_{period}"


def test_later_horizons_of_other_people_have_accounts_of_their_own() -> None:
    others = {"renewal": {"population": "pupils-{cycle}", "source": "They leave"}, "horizon": 2}
    populations = [
        accepted({"series": others}, period=period).ledger.population
        for period in ("2026-01", "2026-02", "2026-03", "2026-05")
    ]
    assert populations == ["nobody", "nobody", "pupils-2", "pupils-3"]


def test_without_a_period_a_series_stands_for_its_first_and_other_names_stay() -> None:
    assert accepted().period == "2026-01"
    dated = merged(SMALL, {"release": {"id": "a-{period}"}, "source": {"path": "{period}/a.csv"}})
    for without in ("refuse", "first"):
        with pytest.raises(ConfigError, match="give one with --period"):
            load_config(dated, without_period=without)
    kept = load_config(dated, without_period="any")
    assert (kept.release.id, kept.period) == ("a-{period}", None)
    part = {"name": "{period}", "parts": ["a", "b"], "source": "Born once"}
    with pytest.raises(ConfigError, match="give one with --period"):
        load_config(merged(dated, {"ledger": {"disjoint_part": part}}), without_period="any")
    with pytest.raises(ConfigError, match="give one with --period"):
        load_config(written())


def test_check_says_what_a_series_costs() -> None:
    lines = report_lines(accepted(NEW, PERSONS, {"series": {"max_periods": 3}}))
    assert [line for line in lines if line.startswith(("series", "  costs"))] == [
        "series    every month from 2026-01, 24 periods, the records of each; afterwards: the end",
        "  costs   epsilon 1 for a period, 3 at most within a horizon: the largest charges count",
    ]


def test_every_day_is_due_exactly_once() -> None:
    series = accepted({"series": {"every": "day", "first": "2026-01-01", "horizon": 40}}).series
    day = date(2026, 1, 1)
    for number in range(50):
        assert len(series.due_indices(day + timedelta(days=number))) == min(number, 40)
