"""The budget ledger and run journal: charged first, measured once, published once."""

from synth.ledger.event import LedgerEvent
from synth.ledger.ledger import ChargeRequest, Ledger
from synth.ledger.lock import RunLock
from synth.ledger.position import PopulationPosition
from synth.ledger.run import RunRecord, RunState

__all__ = [
    "ChargeRequest",
    "Ledger",
    "LedgerEvent",
    "PopulationPosition",
    "RunLock",
    "RunRecord",
    "RunState",
]
