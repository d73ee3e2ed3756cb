"""What the curator measured and attests, and the file formats of both."""

from synth.measurements.file import (
    keep_look,
    kept_look,
    read_measurements,
    write_measurements,
)
from synth.measurements.measurements import (
    Continual,
    ContinualPlan,
    MeasuredLook,
    MeasuredNode,
    MeasuredTable,
    Measurements,
    public_seed,
    seed_of_text,
)
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest

__all__ = [
    "Continual",
    "ContinualPlan",
    "Disposal",
    "LedgerPosition",
    "MeasuredLook",
    "MeasuredNode",
    "MeasuredTable",
    "Measurements",
    "Receipt",
    "SelfTest",
    "keep_look",
    "kept_look",
    "public_seed",
    "read_measurements",
    "seed_of_text",
    "write_measurements",
]
