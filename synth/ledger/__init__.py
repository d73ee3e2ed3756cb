"""The budget ledger and run journal: charged first, measured once, published once."""

from synth.ledger.event import LedgerEvent
from synth.ledger.ledger import ChargeRequest, Ledger
from synth.ledger.run import PopulationPosition, RunRecord, RunState
from synth.ledger.run_directory import RunLock

__all__ = [
    "ChargeRequest",
    "Ledger",
    "LedgerEvent",
    "PopulationPosition",
    "RunLock",
    "RunRecord",
    "RunState",
]
