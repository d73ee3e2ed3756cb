"""Plans are kept by the planner; one made before a mutant would hide it, and its own would stay."""

from synth.planning import class_forecast, covering, wide
from synth.planning.adaptive import candidates_of, schedule_of
from synth.planning.weighing import _ways, choose


def forget_plans() -> None:
    """Every problem is planned anew from here on."""
    of_wide = wide._ways, wide._tables, covering._covering_tables, class_forecast._of_classes
    for kept in (choose, _ways, *of_wide, schedule_of, candidates_of):
        kept.cache_clear()
