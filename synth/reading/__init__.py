"""A release opened: its rows, counts and noisy tables, and intervals for what they say."""

from synth.reading.answers import Answer, Method, answer_all, intervals
from synth.reading.quantities import Asked
from synth.reading.release import Release

__all__ = ["Answer", "Asked", "Method", "Release", "answer_all", "intervals"]
