"""What an event of the accounting stands for: the law of its noise, its variance, its threshold."""

from __future__ import annotations

from dataclasses import replace

from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.partition_selection import is_private
from synth.privacy import LookEvent, OpenTableEvent, TableEvent
from synth.privacy.accounting import GAUSSIAN, LAPLACE, PARTITION_SELECTION


def noise_law(event: TableEvent | OpenTableEvent | LookEvent) -> DiscreteLaplace | DiscreteGaussian:
    """The law of the noise in every cell of a measured table.

    Privacy: the parameters of the law are those of the event, so what is drawn is what is paid.
    Quick: limits are compared, and nothing is tabulated.
    Raises: ValueError for a mechanism that is not known, noise too wide to be drawn, or a sum of
    noises, which is never drawn as such.
    """
    if isinstance(event, TableEvent) and event.summed != 1:
        raise ValueError("a sum of noisy tables is not measured")
    if event.mechanism in (LAPLACE, PARTITION_SELECTION) and event.epsilon is not None:
        return DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    if (
        not isinstance(event, LookEvent)
        and event.mechanism == GAUSSIAN
        and event.rho is not None
        and event.sensitivity_l2_squared is not None
    ):
        return DiscreteGaussian(event.rho, event.sensitivity_l2_squared)
    raise ValueError(f"no noise is known for mechanism {event.mechanism!r}")


def noise_variance(event: TableEvent) -> float:
    """The variance of the noise in one cell, in records squared.

    Raises: ValueError for noise that is never drawn, because it is too wide.
    """
    return event.summed * noise_law(replace(event, summed=1)).variance


def keeps_its_delta(event: TableEvent) -> bool:
    """Whether the threshold of a partition selection is high enough; True for any other event."""
    if event.delta is None or event.epsilon is None or event.threshold is None:
        return True
    law = DiscreteLaplace(event.epsilon, event.sensitivity_l1)
    return is_private(law, threshold=event.threshold, delta=event.delta)
