"""Parallel composition: what releases about disjoint parts of a population cost together."""

from __future__ import annotations

from collections.abc import Iterable

from synth.privacy.accounting import Budget


def parallel_total(whole: Budget, parts: Iterable[Budget]) -> Budget:
    """What one person can lose to releases about everybody and to those about disjoint parts.

    `whole` is the sum of the releases about everybody; each of `parts` the sum of those about one
    part.

    Privacy: the records of a person enter the releases about everybody and those about their own
    part; no other release changes when they are added or removed. So together they lose at
    most `whole` and their own part, whichever it is (McSherry 2009, theorem 4, with basic
    composition). Epsilon and delta are bounded each by its own largest part: never too little,
    for a part's pair is at most that. It holds as well if later releases were chosen in the light
    of earlier ones, because every part's own sum is bounded whatever comes.
    Requires: neighbours differ by the records of one person, added or removed; no person has
    records in two parts, and the parts were fixed without looking at the data.
    """
    epsilon, delta = whole.epsilon, whole.delta
    of_parts = list(parts)
    return Budget(
        epsilon + max((part.epsilon for part in of_parts), default=0 * epsilon),
        delta + max((part.delta for part in of_parts), default=0 * delta),
    )
