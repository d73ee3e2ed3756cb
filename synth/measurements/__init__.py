"""What the curator measured and attests, and the file formats of both."""

from synth.measurements.file import read_measurements, write_measurements
from synth.measurements.measurements import (
    MeasuredLook,
    MeasuredTable,
    Measurements,
    public_seed,
)
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest

__all__ = [
    "Disposal",
    "LedgerPosition",
    "MeasuredLook",
    "MeasuredTable",
    "Measurements",
    "Receipt",
    "SelfTest",
    "public_seed",
    "read_measurements",
    "write_measurements",
]
