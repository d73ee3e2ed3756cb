"""A period of a series that is added up: what must have come before, and what is refused."""

import shutil

import pytest
import yaml

from synth.api.configuration import load_config
from synth.bookkeeping import Ledger
from synth.errors import OutputError, SynthError
from synth.job.continual import measured_before, plan_of_series
from synth.job.measuring_process import needed_columns
from synth.job.pipeline import _Planned, measure

VISITS = "visited,age,sex,town\n" + "".join(
    f"2026-{month:02}-{1 + n % 28:02},{n % 90},Male,Nord\n"
    for month in (1, 2, 3)
    for n in range(40)
)


@pytest.fixture
def series(project):
    return project(
        people=VISITS,
        release={"id": "visits-{period}"},
        source={"where": {"column": "visited", "within": "period"}},
        series={"every": "month", "first": "2026-01", "rows": "all", "horizon": 3},
        strategy="identity",
        ledger={"epsilon_cap": 1},
    )


def changed(path, **changes):
    written = yaml.safe_load(path.read_text())
    for section, keys in changes.items():
        written[section] = written[section] | keys
    other = path.with_name("other.yaml")
    other.write_text(yaml.safe_dump(written))
    return other


def test_a_period_adds_its_nodes_to_those_before_and_is_charged_once(series, log):
    first = load_config(series, period="2026-01")
    assert measured_before(first) is None
    planned = plan_of_series(first)
    measure(first, log=log)
    second = load_config(series, period="2026-02")
    before = measured_before(second)
    assert (before.index, before.plan) == (1, planned)
    measure(second, log=log)
    after = measured_before(load_config(series, period="2026-03"))
    assert after.index == 2
    kept = [node.tables[0].noisy_counts.tolist() for node in after.nodes]
    assert kept[0] == before.nodes[0].tables[0].noisy_counts.tolist()
    assert len(kept) == len(planned.factorization.nodes_until(2))
    with Ledger.open_existing(second.ledger.path) as ledger:
        assert ledger.position("nobody").spent.epsilon == 1


def test_the_period_before_comes_first(series, log):
    second = load_config(series, period="2026-02")
    with pytest.raises(OutputError, match=r"the period before.*is not measured") as caught:
        measure(second, log=log)
    assert "synth due" in str(caught.value)
    assert not second.ledger.path.exists()
    measure(load_config(series, period="2026-01"), log=log)
    with pytest.raises(OutputError, match="is not published"):
        measured_before(second, published=True)


def test_noisy_counts_that_were_changed_are_not_added_to(series, log):
    outcome = measure(load_config(series, period="2026-01"), log=log)
    second = load_config(series, period="2026-02")
    file = outcome.path / "measurements.parquet"
    kept = file.read_bytes()
    file.write_bytes(kept + b"x")
    with pytest.raises(OutputError, match="gone or changed"):
        measured_before(second)
    folder = second.output.directory / "visits-2026-01"
    folder.mkdir(parents=True)
    (folder / file.name).write_bytes(kept)
    assert measured_before(second).index == 1
    shutil.rmtree(outcome.path)
    assert measured_before(second).index == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"privacy": {"epsilon": "0.5"}}, "another configuration of the series"),
        (
            {"source": {"where": {"column": "age", "within": "period"}}},
            "another part of the series",
        ),
        ({"series": {"horizon": 2}}, "another part of the series"),
        ({"series": {"first": "2025-12"}}, "another part of the series"),
        ({"series": {"first": "2026-02"}}, "another part of the series"),
    ],
)
def test_another_configuration_begins_another_series(series, log, changes, message):
    measure(load_config(series, period="2026-01"), log=log)
    other = load_config(changed(series, **changes), period="2026-02")
    with pytest.raises(SynthError, match=message):
        plan_of_series(other)


def test_words_about_a_column_may_change(series, log):
    measure(load_config(series, period="2026-01"), log=log)
    written = yaml.safe_load(series.read_text())
    written["domain"][0] |= {"title": "Years of age"}
    written["release"] |= {"title": "Visits, so far"}
    series.write_text(yaml.safe_dump(written))
    assert measured_before(load_config(series, period="2026-02")).index == 1


def test_a_period_that_was_charged_but_not_measured_keeps_its_plan(series):
    first = load_config(series, period="2026-01")
    planned = plan_of_series(first)

    with Ledger.open(first.ledger.path) as ledger:
        ledger.reserve(**_Planned.of(first).charge)
        kept = ledger.series_plan("visits-{period}", 0)
    assert kept.events == planned.charged
    assert plan_of_series(first) == planned


def test_a_table_in_memory_is_handed_over_with_the_column_of_the_periods(series):
    config = load_config(series, period="2026-01")
    assert needed_columns(config) == ["age", "sex", "town", "visited"]
