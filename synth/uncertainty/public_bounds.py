"""What is known of a count without any measurement: public totals and impossible cells."""

from __future__ import annotations

from synth.config.types import Config
from synth.domain import Conjunction, Universe


def public_bounds(where: Conjunction, config: Config) -> tuple[int, int | None]:
    """The smallest and the largest count that public totals and impossible cells leave.

    A total over cells that hold those of the query bounds it above; one over some of them below.
    None: no upper bound. As true as the totals are, which come from public sources.
    """
    universe = config.universe
    if any(_holds(rule, where, universe) for rule in universe.impossible):
        return 0, 0
    totals = config.public_totals
    above = [total.total for total in totals if _holds(total.where, where, universe)]
    below = [total.total for total in totals if _holds(where, total.where, universe)]
    return max(below, default=0), min(above, default=None)


def _holds(outer: Conjunction, inner: Conjunction, universe: Universe) -> bool:
    """Whether every cell of the inner set is in the outer one."""
    for name, codes in outer.codes.items():
        every = range(universe.attribute(name).size)
        if not set(inner.codes.get(name, every)) <= set(codes):
            return False
    return True
