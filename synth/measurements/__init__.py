"""What the curator measured and attests, and the file formats of both."""

from synth.measurements.content import content_hash, public_seed
from synth.measurements.event import (
    event_from_plain,
    event_to_plain,
    noise_variance,
    selection_from_plain,
    selection_to_plain,
)
from synth.measurements.file import read_measurements, write_measurements
from synth.measurements.measurements import MeasuredTable, Measurements
from synth.measurements.receipt import Disposal, LedgerPosition, Receipt, SelfTest

__all__ = [
    "Disposal",
    "LedgerPosition",
    "MeasuredTable",
    "Measurements",
    "Receipt",
    "SelfTest",
    "content_hash",
    "event_from_plain",
    "event_to_plain",
    "noise_variance",
    "public_seed",
    "read_measurements",
    "selection_from_plain",
    "selection_to_plain",
    "write_measurements",
]
