"""The budget ledger and run journal: charged first, measured once, published once."""

from synth.ledger.event import LedgerEvent
from synth.ledger.ledger import Ledger
from synth.ledger.lock import RunLock
from synth.ledger.position import PopulationPosition
from synth.ledger.run import RunRecord, RunState

__all__ = [
    "Ledger",
    "LedgerEvent",
    "PopulationPosition",
    "RunLock",
    "RunRecord",
    "RunState",
]
