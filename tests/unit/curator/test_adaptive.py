"""The adaptive measuring step: fixed rounds, no table twice, and nothing but noise in the fit."""

import numpy as np
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.boundary import MOST_RECORDS, choose_table, whole_guess
from synth.domain import Margin
from synth.errors import BugError
from synth.measurements import Measurements
from synth.noise import NoiseStream
from synth.planning import plan_schedule
from synth.privacy import total_budget

KEY = bytes(range(32))
ROWS = "34,Female,Nord\n" * 60 + "67,Male,Süd\n" * 50 + "12,,Other\n" * 40


def table_of(config, cells):
    """The guess of any table, from one of the cells."""
    return lambda margin: margin.sums(config.universe, cells)


@pytest.fixture
def adaptive(project, tmp_path):
    """Measures a source with a fixed key; the fit is a constant, or what is given."""

    def run(rows=ROWS, *, fit=None, key=KEY, **privacy):
        path = project(
            people="age,sex,town\n" + rows,
            strategy="adaptive",
            workload={"marginals": 3},
            privacy=privacy,
            ledger={"epsilon_cap": 1000, "delta_cap": "1/1000"},
        )
        config = load_config(path)
        cells_of = fit or (lambda _: np.ones(config.universe.size))
        return config, curator.measure(
            config,
            config.source,
            plan_schedule(config),
            files=source_files(config.source),
            stream=NoiseStream(key=key),
            directory=tmp_path,
            fit=lambda noisy: table_of(config, cells_of(noisy)),
        )

    return run


@pytest.mark.parametrize("privacy", [{}, {"delta": "1/1000000"}, {"epsilon": "1/10"}])
def test_every_round_of_the_schedule_is_spent_and_nothing_else(adaptive, privacy):
    config, measured = adaptive(**privacy)
    schedule = plan_schedule(config)
    assert len(schedule.rounds) == len(schedule.candidates) == 4
    assert measured.selections == tuple(each.selection for each in schedule.rounds)
    events = [table.event for table in measured.tables]
    assert events[:3] == list(schedule.first)
    chosen = [Margin(event.table, event.coarsening) for event in events[3:]]
    assert sorted(chosen, key=repr) == sorted(
        (each.margin for each in schedule.candidates), key=repr
    )
    delta = config.privacy.delta
    assert total_budget(measured.events, delta=delta) == total_budget(schedule.events, delta=delta)
    assert [table.noisy_counts.size for table in measured.tables] == [e.cells for e in events]


@pytest.mark.parametrize("row", ["34,Male,Nord\n", "99,?,Rom\n"])
@pytest.mark.parametrize("delta", ["0", "1/1000000"])
def test_neighbours_with_the_same_key_and_choices_differ_in_one_cell_of_each_table(
    adaptive, row, delta
):
    """Record and replay: a record adds 1 to one cell of every table, first and chosen alike."""
    _, without = adaptive(delta=delta)
    _, with_row = adaptive(ROWS + row, delta=delta)
    assert [t.event for t in without.tables] == [t.event for t in with_row.tables]
    for one, other in zip(without.tables, with_row.tables, strict=True):
        difference = other.noisy_counts - one.noisy_counts
        assert np.abs(difference).sum() == difference.max() == 1


def test_the_fit_sees_noisy_tables_and_choices_so_far_and_nothing_else(adaptive):
    seen = []

    def fit(*given):
        seen.append(given)
        return np.zeros(45)

    _, measured = adaptive(fit=fit)
    assert all(len(given) == 1 and type(given[0]) is Measurements for given in seen)
    assert [len(given[0].tables) for given in seen] == [3, 4, 5, 6]
    assert [len(given[0].selections) for given in seen] == [0, 1, 2, 3]
    for given in seen:
        for one, final in zip(given[0].tables, measured.tables, strict=False):
            assert one is final


def test_what_the_fit_is_wrong_about_is_chosen(adaptive):
    """Sex and town depend on each other; the fit knows everything but that."""

    def fit(_):
        counts = np.zeros((5, 3, 3))
        for town in range(3):
            counts[1, 0, town] = counts[3, 1, town] = counts[0, 2, town] = 100_000 / 9
        return counts.reshape(-1)

    places = [
        f"{age},{sex},{town}\n"
        for age, sex, town in zip(
            ("34", "67", "12"), ("Female", "Male", ""), ("Nord", "Süd", "Other"), strict=True
        )
    ]
    _, measured = adaptive("".join(place * 33_333 for place in places), fit=fit)
    assert {"town"} < set(measured.tables[3].event.table)


def test_every_choice_and_table_has_words_of_its_own(adaptive):
    """The same key gives the same choices and noise; another key gives other noise."""
    _, one = adaptive()
    _, same = adaptive()
    _, other = adaptive(key=bytes(32))
    for table, again in zip(one.tables, same.tables, strict=True):
        assert np.array_equal(table.noisy_counts, again.noisy_counts)
    assert not np.array_equal(one.tables[0].noisy_counts, other.tables[0].noisy_counts)
    noise = {}
    for table in one.tables:
        sums = table.noisy_counts.reshape(-1)[:2]
        noise[table.event.table] = tuple(sums)
    assert len(set(noise.values())) == len(noise)


def test_a_fit_that_fails_ends_in_words_of_the_program(adaptive):
    def fit(measured):
        raise ValueError(f"secret {measured.tables[0].noisy_counts}")

    with pytest.raises(BugError) as caught:
        adaptive(fit=fit)
    assert "secret" not in str(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_a_schedule_without_a_fit_is_refused(project, tmp_path):
    config = load_config(project(strategy="adaptive"))
    with pytest.raises(BugError, match="without a way to fit"):
        curator.measure(
            config,
            config.source,
            plan_schedule(config),
            files=source_files(config.source),
            stream=NoiseStream(key=KEY),
            directory=tmp_path,
        )


def test_guesses_are_whole_and_bounded():
    wild = np.array([np.nan, -5, 0.4, 0.6, 1e300, np.inf, -np.inf])
    assert whole_guess(wild).tolist() == [0, 0, 0, 1, MOST_RECORDS, MOST_RECORDS, 0]
    assert whole_guess(wild).dtype == np.int64


def test_counts_that_are_not_those_of_the_candidates_are_refused(project):
    schedule = plan_schedule(load_config(project(strategy="adaptive")))
    candidates = dict(enumerate(schedule.candidates))
    right = {key: np.zeros(each.cells, dtype=np.int64) for key, each in candidates.items()}
    first = schedule.rounds[0]
    wrong = [
        ({**right, 9: right[0]}, right, candidates),
        (right, {0: right[0]}, candidates),
        ({**right, 0: right[0].astype(float)}, right, candidates),
        (right, {**right, 0: right[0][1:]}, candidates),
        tuple({0: each[0]} for each in (right, right, candidates)),
    ]
    for number, (counts, guesses, offered) in enumerate(wrong):
        with pytest.raises(BugError):
            choose_table(
                counts, guesses, offered, first, number=number, stream=NoiseStream(key=KEY)
            )
    assert (
        choose_table(right, right, candidates, first, number=0, stream=NoiseStream(key=KEY))
        in candidates
    )
