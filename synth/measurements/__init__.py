"""What the curator measured and attests, and the file formats of both."""

from synth.measurements.measurements import MeasuredTable, Measurements
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest

__all__ = ["Disposal", "LedgerPosition", "MeasuredTable", "Measurements", "Receipt", "SelfTest"]
