"""The budget ledger and run journal: charged first, measured once, published once."""

from synth.bookkeeping.file import LedgerEvent
from synth.bookkeeping.ledger import ChargeRequest, Ledger
from synth.bookkeeping.run import PopulationPosition, RunRecord, RunState
from synth.bookkeeping.run_directory import RunLock

__all__ = [
    "ChargeRequest",
    "Ledger",
    "LedgerEvent",
    "PopulationPosition",
    "RunLock",
    "RunRecord",
    "RunState",
]
