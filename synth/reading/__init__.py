"""A release opened: rows, counts, noisy tables; intervals, and statistics with errors."""

from synth.reading import statistics
from synth.reading.answers import Answer, Method, answer_all, intervals
from synth.reading.inference import infer
from synth.reading.quantities import Asked
from synth.reading.release import Release

__all__ = [
    "Answer",
    "Asked",
    "Method",
    "Release",
    "answer_all",
    "infer",
    "intervals",
    "statistics",
]
