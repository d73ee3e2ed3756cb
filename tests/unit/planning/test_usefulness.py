"""The forecast in words: what a release will be useless for, and what would help."""

import io
import json

import pytest
from rich.console import Console

from synth.planning import forecast
from synth.planning.after_nonnegativity import share_of_pure_noise, thinness
from synth.planning.printed import render, to_json
from synth.planning.problem import problem_of
from synth.planning.usefulness import (
    BELOW,
    GOOD,
    NOISE,
    POOR,
    ROUGH,
    WORTH,
    Usefulness,
    in_one_sentence,
    mostly_noise,
    usefulness,
)
from synth.planning.weighing import choose

FILLED = {"sizes": (2, 5, 7, 6), "expected": 50_000}
THIN = {"sizes": (2, 5, 7, 6, 2, 16, 9), "expected": 900}
VERY_THIN = {"sizes": (11, 9, 10, 12, 10, 8, 9, 10), "expected": 1_304}


def planned(configure, sizes, **options):
    return forecast(configure(sizes, **options), with_alternatives=True)


def rendered(plan):
    stream = io.StringIO()
    render(plan, Console(file=stream, width=400))
    return stream.getvalue()


def verdicts(plan):
    return {(each.kind, each.columns): each.verdict for each in plan.usefulness}


def test_what_is_well_filled_is_usable_and_nothing_is_proposed(configure):
    plan = planned(configure, **FILLED, strategy="auto")
    assert set(verdicts(plan).values()) == {GOOD}
    assert plan.proposals == ()
    assert mostly_noise(plan.usefulness) is None
    text = rendered(plan)
    assert "tables of one column: usable (less than 1 % of the records in the wrong place)" in text
    assert "What would help" not in text


@pytest.mark.parametrize("strategy", ["identity", "auto"])
def test_a_thin_universe_is_said_to_be_mostly_noise(configure, strategy):
    """1,304 records in 86 million cells: single columns came out 42 % wrong under `identity`."""
    plan = planned(configure, **VERY_THIN, strategy=strategy, order=2)
    found = verdicts(plan)
    assert found["cells", 8] == NOISE
    assert found["marginal", 1] == (NOISE if strategy == "identity" else GOOD)
    text = rendered(plan)
    said = "(cells): mostly noise (about 100 % of the records in the wrong place)"
    assert f"single combinations of values {said}" in text
    assert text.index("(cells): mostly noise") > text.index("* is measured:")
    line = mostly_noise(plan.usefulness)
    assert line.startswith("forecast: ")
    assert "single combinations of values" in line
    assert ("tables of one column" in line) == (strategy == "identity")
    plain = json.loads(to_json(plan))
    assert [each["verdict"] for each in plain["usefulness"]] == list(found.values())
    assert [each["sentence"] in text for each in plain["usefulness"]] == [True] * 3
    assert [each["sentence"] in text for each in plain["proposals"]] == [True] * len(plan.proposals)


def test_an_identity_release_of_few_records_is_forecast_as_it_comes_out(configure):
    """Two draws of such tables gave .42 for single columns, and cells that were all wrong."""
    problem = problem_of(configure(**VERY_THIN, strategy="identity", order=1))
    (single, cells) = (each for _, each in choose(problem).chosen.errors)
    assert 0.42 / 2.5 <= single <= 0.42 * 2.5
    assert cells >= 0.95


FEWER_LEVELS = "5 levels or bins in column-5 (16), column-6 (9), column-2 (7)"


@pytest.mark.parametrize(
    ("options", "offered"),
    [
        (THIN | {"expected": 5_000, "epsilon": "1/10"}, FEWER_LEVELS),
        ({"sizes": (12, 30), "expected": 1_000, "epsilon": "1/10"}, "marginals: 1"),
    ],
)
def test_every_proposal_is_what_planning_with_it_would_say(configure, options, offered):
    plan = planned(configure, **options, strategy="auto")
    before = {(each.kind, each.columns): each for each in plan.usefulness}
    more = next(p for p in plan.proposals if p.change.startswith("epsilon"))
    epsilon = more.change.split()[1]
    again = forecast(configure(**options | {"epsilon": epsilon}, strategy="auto"))
    assert set(more.buys) <= set(again.usefulness)
    assert any(each.verdict in (GOOD, ROUGH) for each in more.buys)
    assert any(proposal.change.startswith(offered) for proposal in plan.proposals)
    for smaller in [p for p in plan.proposals if p.change.startswith("marginals: 1")]:
        alone = forecast(configure(**options, strategy="auto", order=1, cells=False))
        assert smaller.buys == alone.usefulness
    for proposal in plan.proposals:
        for each in proposal.buys:
            assert before[each.kind, each.columns].is_bad
            assert each.share <= WORTH * before[each.kind, each.columns].share


@pytest.mark.parametrize("records", [300_000_000, 30_000])
def test_single_cells_of_wide_universes_get_better_only_where_records_can_share_them(
    configure, records
):
    """Of 6 x 10^13 cells fewer levels leave 2 x 10^9: enough for 300 million records alone."""
    sizes = (100,) * 3 + (4,) * 12
    plan = planned(configure, sizes, strategy="auto", order=1, total=records, delta="1e-9")
    assert [each.kind for each in plan.usefulness if each.is_bad] == ["cells"]
    changes = [proposal.change for proposal in plan.proposals]
    assert [change[:16] for change in changes] == ["5 levels or bins"][: records // 300_000_000]


def test_an_assumed_number_of_records_is_said_to_be_assumed(configure):
    text = rendered(planned(configure, (2, 5, 7, 6, 16, 9), strategy="auto"))
    assert "with 10,000 records, which is assumed: see workload.expected_records:" in text


def test_the_words_follow_from_the_share_alone(configure):
    problem = problem_of(configure((40, 40), strategy="identity", order=1))
    words = []
    for records in (10**7, 50_000, 10_000, 3_000, 1_000, 100):
        events = choose(problem).chosen.spending.events
        single, _ = usefulness(problem, events, records)
        assert single.verdict in (*BELOW, NOISE)
        if single.verdict != NOISE:
            assert single.share < BELOW[single.verdict]
        words.append(single.verdict)
    order = [GOOD, ROUGH, POOR, NOISE]
    assert words == sorted(words, key=order.index)
    assert {words[0], words[-1]} == {GOOD, NOISE}


def test_sentences_in_the_words_of_the_workload():
    assert Usefulness("marginal", 2, 0.604, NOISE).sentence == (
        "pairs of columns: mostly noise (about 60 % of the records in the wrong place)"
    )
    assert Usefulness("range", 1, 0.004, GOOD).sentence == (
        "sums over ranges in tables of one column: usable "
        "(less than 1 % of the records off, one interval)"
    )


def test_a_release_in_one_sentence():
    found = [Usefulness("marginal", columns, 0, GOOD) for columns in (1, 2, 3)]
    assert in_one_sentence(found[:1]) == "tables of one column are usable"
    found = [*found, Usefulness("marginal", 4, 1, NOISE), Usefulness("cells", 9, 0.1, ROUGH)]
    assert in_one_sentence(found) == (
        "tables of one column, pairs of columns and triples of columns are usable; "
        "single combinations of values (cells) are rough; tables of 4 columns are mostly noise"
    )


def test_thin_and_filled_meet_without_a_step():
    assert [thinness(cells, 1_000) for cells in (10, 8_000, 20_001, 10**9)] == [0, 0, 1, 1]
    assert 0 < thinness(12_000, 1_000) < thinness(16_000, 1_000) < 1
    assert share_of_pure_noise(1, 10) == pytest.approx(0.45)
    assert share_of_pure_noise(3, 1) == 0
