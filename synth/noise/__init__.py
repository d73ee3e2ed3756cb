"""Exact whole-number noise: its law, its random words, its sampler and its self-test."""

from synth.noise.discrete_gaussian import DiscreteGaussian
from synth.noise.discrete_laplace import DiscreteLaplace
from synth.noise.mechanism import keeps_its_delta, noise_law, noise_variance
from synth.noise.selection import permute_and_flip
from synth.noise.self_tests import self_test
from synth.noise.stream import NoiseStream
from synth.noise.table_sampler import TableSampler

__all__ = [
    "DiscreteGaussian",
    "DiscreteLaplace",
    "NoiseStream",
    "TableSampler",
    "keeps_its_delta",
    "noise_law",
    "noise_variance",
    "permute_and_flip",
    "self_test",
]
