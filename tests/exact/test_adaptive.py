"""The adaptive choice on toy universes: every table, every neighbour, every outcome.

`choose_table` itself computes scores and sensitivity; only the mechanism is stood in for, by its
closed form, which `test_selection` proves.
"""

import importlib.util
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from synth.config import PersonUnit, PrivacyConfig
from synth.curator import boundary
from synth.domain import Attribute, Margin, Universe
from synth.noise import NoiseStream
from synth.planning.adaptive import Candidate, Round
from synth.privacy import OpenTableEvent, SelectionEvent, sensitivity_l1


def load(name: str):
    """A private copy of a neighbouring module."""
    place = Path(__file__).parent / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"adaptive_{name}", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOY, SELECTION = load("test_toy_privacy"), load("test_selection")
TOY.MOST = 2
UNIVERSE = Universe(tuple(Attribute(name, "categorical", ("0", "1")) for name in "ab"))
MARGINS = (Margin(("a",), (0,)), Margin(("b",), (0,)), Margin(("a", "b"), (0, 0)))
TABLES = TOY.tables(4)
GUESSES = [(0, 0, 0, 0), (2, 0, 1, 3), (0.4, 1.5, 2.5, 0), (9, 9, 9, 9)]
WEIGHTS = [(1, 1, 1), (Fraction(1, 3), Fraction(2, 3), 1)]
CLAIMS = [
    PrivacyConfig(
        epsilon=Fraction(1),
        delta=Fraction(0),
        neighbours=relation,
        unit=unit,
        justification="a test",
    )
    for relation in ("add-remove", "replace-one")
    for unit in ("record", PersonUnit("person", 2))
]


def asked_for(table, guess, weights, claim):
    """The scores, epsilon and sensitivity that `choose_table` gives to the mechanism."""
    counts, guessed = np.array(table, dtype=np.int64), np.array(guess, dtype=np.float64)
    candidates = {
        key: Candidate(margin, margin.cells(UNIVERSE), Fraction(weight))
        for key, (margin, weight) in enumerate(zip(MARGINS, weights, strict=True))
    }
    noise = OpenTableEvent(sensitivity_l1(claim), Fraction(1, 2))
    seen = {}

    def mechanism(scores, *, epsilon, sensitivity, **_):
        seen.update(scores=tuple(scores), epsilon=epsilon, sensitivity=sensitivity)
        return 0

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(boundary, "permute_and_flip", mechanism)
        boundary.choose_table(
            {key: each.margin.sums(UNIVERSE, counts) for key, each in candidates.items()},
            {
                key: boundary.whole_guess(each.margin.sums(UNIVERSE, guessed))
                for key, each in candidates.items()
            },
            candidates,
            Round(SelectionEvent(len(candidates), claim.epsilon), noise),
            number=0,
            stream=NoiseStream(key=bytes(32)),
        )
    return seen["scores"], seen["epsilon"], seen["sensitivity"]


def all_asked_for(claim):
    """What is asked for every table, for each of the weights and guesses."""
    return {
        (weights, guess): {table: asked_for(table, guess, weights, claim) for table in TABLES}
        for weights in WEIGHTS
        for guess in GUESSES
    }


def check_choice(claim, all_asked) -> None:
    """No outcome of a choice is more than exp(epsilon) times as probable for a neighbour."""
    laws = {}

    def law(scores, epsilon, sensitivity):
        losses = tuple(max(scores) - score for score in scores)
        key = losses, epsilon, sensitivity
        if key not in laws:
            laws[key] = SELECTION.private_law([-loss for loss in losses], epsilon, sensitivity)
        return laws[key]

    allowed = TOY.largest_ratio_allowed(claim.epsilon) * (1 + Fraction(1, 10**60))
    worst = Fraction(0)
    compared = set()
    for asked in all_asked.values():
        for table in TABLES:
            here = law(*asked[table])
            for other in TOY.neighbours(table, claim):
                there = law(*asked[other])
                if (id(here), id(there)) not in compared:
                    compared.add((id(here), id(there)))
                    worst = max(worst, *(p / q for p, q in zip(here, there, strict=True)))
    assert worst <= allowed, "more is lost than claimed"
    assert worst > 1, "the choice looks at nothing"


def check_sensitivity(claim, all_asked) -> None:
    """No score moves by more than the sensitivity, and one moves by all of it."""
    for weights in WEIGHTS:
        largest, stated = Fraction(0), set()
        for guess in GUESSES:
            asked = all_asked[weights, guess]
            for table in TABLES:
                scores, _, sensitivity = asked[table]
                stated.add(sensitivity)
                for other in TOY.neighbours(table, claim):
                    moves = zip(scores, asked[other][0], strict=True)
                    largest = max(largest, *(abs(Fraction(a - b)) for a, b in moves))
        assert stated == {largest}, "the sensitivity is not that of the scores"


def name(claim) -> str:
    return f"{claim.neighbours}-{'record' if claim.unit == 'record' else 'person'}"


@pytest.fixture(scope="module", params=CLAIMS, ids=name)
def claim_and_asked(request):
    return request.param, all_asked_for(request.param)


def test_no_choice_loses_more_than_its_epsilon(claim_and_asked):
    check_choice(*claim_and_asked)


def test_the_sensitivity_of_the_scores_is_met_and_never_exceeded(claim_and_asked):
    check_sensitivity(*claim_and_asked)


def squared(sensitive_counts, guess) -> int:
    return int(((sensitive_counts - guess) ** 2).sum())


def penalty_from_counts(sensitive_counts, guess) -> int:
    """Only cells that hold records are reckoned to have noise."""
    return int(np.abs(sensitive_counts - guess).sum()) - 3 * int(np.count_nonzero(sensitive_counts))


def scaled_by_records(sensitive_counts, guess) -> int:
    return int(np.abs(sensitive_counts - guess).sum()) * (1 + int(sensitive_counts.max() > 2))


MUTANTS = {
    "halved sensitivity": (boundary, "Fraction", lambda value: Fraction(value) / 2),
    "sensitivity of the smallest weight": (boundary, "max", min),
    "squared distances": (boundary, "_distance", squared),
    "a penalty from the data": (boundary, "_distance", penalty_from_counts),
    "distances scaled by the data": (boundary, "_distance", scaled_by_records),
}


def assert_both_checks_fail(claim) -> None:
    all_asked = all_asked_for(claim)
    for check in (check_choice, check_sensitivity):
        with pytest.raises(AssertionError):
            check(claim, all_asked)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_mutant_is_caught(mutant):
    with pytest.MonkeyPatch.context() as patch:
        module, attribute, broken = MUTANTS[mutant]
        patch.setattr(module, attribute, broken, raising=False)
        assert_both_checks_fail(CLAIMS[0])


def test_replacing_is_not_adding():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            "synth.privacy.sensitivity.UNITS_CHANGED", {"add-remove": 1, "replace-one": 1}
        )
        assert_both_checks_fail(CLAIMS[2])
