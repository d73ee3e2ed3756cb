"""Data fission: noisy tables are cut in two, one to fit models to, one to judge them by.

With noise z of the variance v of a table, Y + z / 2 and Y - 2 z have noise that is uncorrelated,
and for Gaussian noise independent (Leiner, Duan, Wasserman, Ramdas 2023): the first has 1.25 v, so
a model that fits it well fits Y well; the second has 5 v, and knows nothing of what the model took
from the noise of the first. So how far a model is from the second, less its noise, is how far it
is from the truth, by and large. Nothing is spent: both are made of what was measured.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import sqrt

import numpy as np
from numpy.typing import NDArray

from synth.estimate.listed.penalty import PLAIN, Severity
from synth.estimate.listed.tables import SumTable

SEVERITIES = (PLAIN, Severity(3.0, 0.1), Severity(1.0, 0.3))
"""From the strictest to the most lenient: the second holds back what is weak and lets classes know
more where records depend on each other strongly; the third lets them know more everywhere."""
_PART = 0.5
"""Of the standard deviation of the noise, what is added to the tables that are fitted."""
JUDGED_VARIANCE = 1.0 + 1.0 / _PART**2
_WORTH = 0.04
"""What a more lenient one must gain, as a part of the variance of the noise of a cell. Less means
little for the total variation: in large tables it is a few records in cells of many."""
_DEVIATIONS = 2.0
_CLEAR = 4_000
"""With fewer degrees of freedom the noise of one trial says too much, and a second is made."""
_SEED = 0xF155
_GRID = 2.0**-20


def trials(number: int) -> int:
    """How often tables of so many degrees of freedom are cut in two."""
    return 1 if number >= _CLEAR else 2


def halves(tables: Sequence[SumTable], trial: int) -> tuple[list[SumTable], list[SumTable]]:
    """The tables to fit, and those to judge by. Ensures: the same for the same input."""
    generator = np.random.Generator(np.random.Philox(_SEED + trial))
    to_fit, to_judge = [], []
    for table in tables:
        normal = np.rint(generator.standard_normal(table.values.shape) / _GRID) * _GRID
        noise: NDArray[np.float64] = normal * sqrt(table.variance)
        nearer, farther = table.values + _PART * noise, table.values - noise / _PART
        nearer_variance = table.variance * (1.0 + _PART**2)
        to_fit.append(replace(table, values=nearer, variance=nearer_variance))
        to_judge.append(replace(table, values=farther, variance=table.variance * JUDGED_VARIANCE))
    return to_fit, to_judge


def best_severity(
    misfit: Callable[[Severity, int], float], number: int, severities: Sequence[Severity]
) -> Severity:
    """Which of these, the plain one first, makes the fit that is nearest to the truth.

    A more lenient one only if it clearly is.

    `misfit(severity, trial)` is the mean square of what the fit of one half is off by in the other
    one, by its noise, over so many degrees of freedom (`number`). Where the plain fit is off by no
    more than noise there is nothing to gain, and no other is tried.
    """
    chance = _DEVIATIONS * sqrt(2.0 / number)
    found = np.zeros(len(severities))
    for trial in range(trials(number)):
        found[0] += misfit(PLAIN, trial)
        if JUDGED_VARIANCE * (found[0] / (trial + 1) - 1.0 + chance) < _WORTH:
            return PLAIN
        found[1:] += [misfit(severity, trial) for severity in severities[1:]]
    best = 0
    for other in range(1, len(severities)):
        if JUDGED_VARIANCE * (found[best] - found[other]) > _WORTH * trials(number):
            best = other
    return severities[best]
