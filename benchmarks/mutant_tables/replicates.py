"""Replicates: noise of the law that was published, new for each of them, around what was published."""

from __future__ import annotations

from .mutant import Mutant, broken

SPREAD = "unit/estimate/test_replicates.py::test_full_cells_vary_by_the_noise_of_their_law"
SEEDS = (
    "unit/estimate/test_replicates.py::"
    "test_every_way_gives_the_same_again_and_another_with_another_seed"
)

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/estimate/noise_again.py",
        (
            "replicates with half the noise",
            "        rate = laplace_rate(event)\n",
            "        rate = 2 * laplace_rate(event)\n",
        ),
        (
            "replicates with noise to one side",
            "_geometric(generator, rate, cells) - _geometric(generator, rate, cells)",
            "_geometric(generator, rate, cells)",
        ),
        by=(SPREAD,),
    ),
    *broken(
        "synth/estimate/replicates.py",
        (
            "the same noise for all replicates",
            "        generator = np.random.Generator(np.random.Philox(seed).jumped())\n",
            "        generator = np.random.Generator(np.random.Philox(1).jumped())\n",
        ),
        by=(SPREAD, SEEDS),
    ),
)
