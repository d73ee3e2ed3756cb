"""The self-test passes, and each of its checks fires when what it guards is broken."""

import os
from fractions import Fraction

import numpy as np
import pytest

from synth.noise import (
    DiscreteGaussian,
    NoiseStream,
    TableSampler,
    block_table,
    self_test,
    self_tests,
    survivors,
)
from synth.noise.block_table import BlockTable
from synth.noise.quantile_table import QuantileTable
from synth.noise.survivors import BelowThreshold


def failed():
    return {name for name, passed in self_test() if not passed}


def test_everything_passes():
    results = self_test()
    assert isinstance(results, tuple)
    assert len({name for name, _ in results}) == len(results) == 13
    assert all(passed is True for _, passed in results)


def test_a_wrong_cipher_is_seen(monkeypatch):
    encryptor = self_tests.encryptor
    monkeypatch.setattr(self_tests, "encryptor", lambda key, mode: encryptor(key[:16], mode))
    assert failed() == {"AES-256 in counter mode gives the published answer"}


def test_wrong_blocks_are_seen(monkeypatch):
    blocks = NoiseStream.blocks
    monkeypatch.setattr(NoiseStream, "blocks", lambda self, **k: blocks(self, **k) ^ np.uint64(1))
    assert "single blocks equal the running stream" in failed()


def test_a_lost_threshold_is_seen(monkeypatch):
    build = QuantileTable.__init__

    def broken(self, law, step=1):
        build(self, law, step)
        if len(self.lower) > 4:
            self.lower[3], self.lower[4] = self.lower[4], self.lower[3]

    monkeypatch.setattr(QuantileTable, "__init__", broken)
    with np.errstate(over="ignore"):
        assert "masses of the noise table sum to 1" in failed()


def test_a_wrong_entry_is_seen(monkeypatch):
    build = QuantileTable.__init__

    def broken(self, law, step=1):
        build(self, law, step)
        self.values[np.flatnonzero(self.values == step)[:1]] = 2 * step

    monkeypatch.setattr(QuantileTable, "__init__", broken)
    assert "the noise table agrees with the exact law" in failed()


def test_other_noise_of_a_fixed_key_is_seen(monkeypatch):
    monkeypatch.setattr(self_tests, "GOLDEN_KEY", bytes(32))
    assert failed() == {
        "a fixed key gives the recorded noise",
        "a fixed key gives the recorded choices",
        "a fixed key gives the recorded wide noise",
        "a fixed key gives the recorded list",
    }


def test_another_width_of_gaussian_noise_is_seen(monkeypatch):
    rate = DiscreteGaussian.rate.func
    wrong = property(lambda law: rate(law) * Fraction(10**6 + 1, 10**6))
    monkeypatch.setattr(DiscreteGaussian, "rate", wrong)
    assert "the Gaussian table agrees with its law" in failed()


def test_a_wrong_gaussian_entry_is_seen(monkeypatch):
    build = QuantileTable.__init__

    def broken(self, law, step=1):
        build(self, law, step)
        if isinstance(law, DiscreteGaussian):
            self.values[np.flatnonzero(self.values == 2)[:3]] = -2

    monkeypatch.setattr(QuantileTable, "__init__", broken)
    assert failed() == {"the Gaussian table agrees with its law"}


def test_a_choice_that_ignores_its_flips_is_seen(monkeypatch):
    monkeypatch.setattr("synth.noise.selection.is_taken", lambda *_: True)
    assert failed() == {"a fixed key gives the recorded choices"}


def test_a_fixed_key_is_seen(monkeypatch):
    monkeypatch.setattr(os, "urandom", bytes)
    assert failed() == {"two streams of the operating system differ"}


def test_constant_noise_is_seen(monkeypatch):
    monkeypatch.setattr(
        TableSampler, "draw", lambda *_, count, **__: np.zeros(count, dtype=np.int64)
    )
    assert failed() == {
        "a fixed key gives the recorded noise",
        "a fixed key gives the recorded wide noise",
        "a fixed key gives the recorded list",
        "noise is not constant",
    }


def test_wide_noise_that_is_never_rejected_is_seen(monkeypatch):
    decide = block_table._decide

    def accept(*arguments):
        accepted, rejected = decide(*arguments)
        return accepted | rejected, np.zeros_like(rejected)

    monkeypatch.setattr(block_table, "_decide", accept)
    assert failed() == {"a fixed key gives the recorded wide noise"}


def test_blocks_without_room_are_seen(monkeypatch):
    build = BlockTable.__init__

    def broken(self, law):
        build(self, law)
        self.block[np.flatnonzero(self.block == 3)[:2]] = 4

    monkeypatch.setattr(BlockTable, "__init__", broken)
    assert "blocks of wide noise have room for its law" in failed()


def test_survivors_that_are_too_many_are_seen(monkeypatch):
    exact = BelowThreshold.survival_bounds

    def doubled(self, bits):
        low, high = exact(self, bits)
        return 2 * low, 2 * high

    survivors._digit_cdf.cache_clear()
    monkeypatch.setattr(BelowThreshold, "survival_bounds", doubled)
    assert failed() == {"a fixed key gives the recorded list"}
    survivors._digit_cdf.cache_clear()


@pytest.mark.parametrize("epsilon", list(self_tests.GOLDEN_DRAWS), ids=str)
def test_recorded_noise_is_not_trivial(epsilon):
    assert len(self_tests.GOLDEN_DRAWS[epsilon]) >= 24


@pytest.mark.parametrize("sigma", list(self_tests.GOLDEN_GAUSSIAN_DRAWS), ids=str)
def test_recorded_gaussian_noise_is_not_trivial(sigma):
    assert len(self_tests.GOLDEN_GAUSSIAN_DRAWS[sigma]) >= 24
