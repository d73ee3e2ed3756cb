"""Lines that privacy rests on, each broken on purpose, and the tests that must see it."""

from __future__ import annotations

from . import (
    accounting,
    continual,
    curator,
    growth,
    ledger,
    lists,
    look,
    noise,
    replicates,
    verification,
)
from .mutant import Mutant

MUTANTS: tuple[Mutant, ...] = (
    *noise.MUTANTS,
    *lists.MUTANTS,
    *accounting.MUTANTS,
    *continual.MUTANTS,
    *curator.MUTANTS,
    *growth.MUTANTS,
    *ledger.MUTANTS,
    *look.MUTANTS,
    *replicates.MUTANTS,
    *verification.MUTANTS,
)

__all__ = ["MUTANTS", "Mutant"]
