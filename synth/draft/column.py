"""One column of a draft: what its entry says, and what of it is still to be confirmed."""

from __future__ import annotations

from dataclasses import dataclass

from synth.config.schema.yaml_tree import TAG
from synth.draft.yaml_text import flow_list, yaml_text

Value = str | int | tuple[str, ...]
"""A word or text, a whole number, or a list of texts; numbers that are not whole stand as text."""


@dataclass(frozen=True)
class Number:
    """A number as it is written."""

    text: str


@dataclass(frozen=True)
class Numbers:
    """A list of numbers as they are written."""

    texts: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """One key of a column, with a value that is confirmed or not; None is still to be given."""

    key: str
    value: Value | Number | Numbers | None
    confirmed: bool = False

    def line(self) -> str:
        """The key and its value as YAML."""
        mark = "" if self.confirmed else f"{TAG} "
        if self.value is None:
            text = ""
        elif isinstance(self.value, Number):
            text = self.value.text
        elif isinstance(self.value, Numbers):
            text = f"[{', '.join(self.value.texts)}]"
        elif isinstance(self.value, tuple):
            text = flow_list(self.value)
        else:
            text = yaml_text(str(self.value))
        return f"{self.key}: {mark}{text}".rstrip()


@dataclass(frozen=True)
class DraftColumn:
    """A column of the domain, or one that is left out and why."""

    name: str
    entries: tuple[Entry, ...] = ()
    advice: tuple[str, ...] = ()
    left_out: str = ""
    """Why it is no part of the domain; empty if it is."""
