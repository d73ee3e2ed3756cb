"""The audit of private choices: canaries that move the scores of two candidates."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from synth.audit.canaries import Canaries, PureClaim, Tally, Trials
from synth.audit.findings import Finding
from synth.curator.boundary import choose_table
from synth.planning import Schedule
from synth.planning.rounds import Candidate, Round

CHOICES = 1 << 10
"""With one stream."""
STREAMS = 24
WANTED_LOSS = 1.0
"""Of a smaller epsilon a canary is a group of units whose epsilons add up to about this."""
SUBJECT = "private choices"
CHOSEN = "which table is chosen"


def distinct_rounds(schedule: Schedule) -> list[Round]:
    """One round of every kind that has something to choose from."""
    several = [each for each in schedule.rounds if each.selection.candidates > 1]
    return list({(each.selection.epsilon, each.table): each for each in several}.values())


def audit_choice(
    schedule: Schedule,
    spending: Round,
    trials: Trials,
) -> Finding:
    """A lower bound of epsilon of one choice, from the choices themselves.

    Of the two candidates of the largest weights, a canary is where the public guess of the first
    is too low and that of the second too high: so its records move one score up and the other
    down, which is the worst case of permute-and-flip. Heads makes both scores equal: the first is
    chosen with 1/2. Tails leaves the first behind by twice the sensitivity, and it is chosen with
    exp(-epsilon) / 2. The attacker guesses heads when the first is chosen, and nothing otherwise.

    A group of k units loses at most k epsilon, whatever the mechanism: so a small epsilon needs no
    more choices than a large one.
    """
    group = max(1, round(WANTED_LOSS / float(spending.selection.epsilon)))
    claim = PureClaim(group * float(spending.selection.epsilon))
    pair = sorted(schedule.candidates, key=lambda candidate: -candidate.weight)[:2]
    candidates = {key: replace(one, cells=2) for key, one in enumerate(pair)}
    two = replace(spending, selection=replace(spending.selection, candidates=2))
    guesses = Tally()
    for _ in range(STREAMS):
        bits = trials.coins(CHOICES)
        with trials.stream() as stream:
            for number, bit in enumerate(bits.tolist()):
                tables, guessed = _tables(candidates, two, trials.canaries, group, heads=bit)
                chosen = choose_table(
                    tables, guessed, candidates, two, number=number, stream=stream
                )
                if chosen == 0:
                    guesses += Tally(int(bit), 1)
    return Finding.of_guesses(
        SUBJECT if group == 1 else f"{SUBJECT}, by {group:,} units",
        spending.selection.mechanism,
        claim,
        guesses,
        miss=trials.miss,
        canaries=STREAMS * CHOICES,
        rule=CHOSEN,
    )


def _tables(
    candidates: dict[int, Candidate],
    spending: Round,
    canaries: Canaries,
    group: int,
    *,
    heads: bool,
) -> tuple[dict[int, NDArray[np.int64]], dict[int, NDArray[np.int64]]]:
    """Secret counts and public guesses of both candidates, in two cells each.

    A unit of `canaries.records` records is in the first cell with heads; with tails it is not
    there, or in the second cell if units are replaced. The guess of the first candidate is 0 in the
    first cell and large in the second, that of the second candidate the other way round.
    """
    records = group * canaries.records
    there = [records, 0] if heads else [0, records if canaries.replaced else 0]
    counts = np.array(there, dtype=np.int64)
    weights = [candidates[key].weight for key in (0, 1)]
    errors = [spending.expected_l1(candidates[key]) for key in (0, 1)]
    large = 2 * records
    # with heads: (records + large + extra_0 - e_0) w_0 = (large + extra_1 - records - e_1) w_1
    first = weights[0] * (records + large - errors[0])
    second = weights[1] * (large - records - errors[1])
    extra = [max(0, math.ceil((second - first) / weights[0])), 0]
    extra[1] = max(0, math.floor((first - second) / weights[1]))
    guesses = {
        0: np.array([0, large + extra[0]], dtype=np.int64),
        1: np.array([large + extra[1], 0], dtype=np.int64),
    }
    return {key: counts.copy() for key in (0, 1)}, guesses
