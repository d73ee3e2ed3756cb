"""Errors of a release, told from its folder alone: estimates and intervals for any count."""

from synth.uncertainty.answers import Answer, answer_all, errors

__all__ = ["Answer", "answer_all", "errors"]
