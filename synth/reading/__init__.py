"""A release opened: its rows, counts and noisy tables, and intervals for any count."""

from synth.reading.answers import Answer, Method, answer_all, intervals
from synth.reading.release import Release

__all__ = ["Answer", "Method", "Release", "answer_all", "intervals"]
