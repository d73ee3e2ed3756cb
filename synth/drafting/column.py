"""One column of a draft: what its entry says, how it is written, and bounds that are round."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from synth.config.schema.scalars import NO_FORMULA, NOT_EMPTY, ONE_LINE
from synth.config.schema.yaml_tree import TAG
from synth.domain import CLAMP, MISSING

_PLAIN = re.compile("[A-Za-z][A-Za-z0-9_-]*")
_READ_OTHERWISE = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}

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
class Labels:
    """What values mean: pairs of a value and its label."""

    pairs: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Entry:
    """One key of a column, with a value that is confirmed or not; None is still to be given."""

    key: str
    value: Value | Number | Numbers | Labels | None
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
        elif isinstance(self.value, Labels):
            pairs = (f"{yaml_text(v)}: {yaml_text(label)}" for v, label in self.value.pairs)
            text = "{" + ", ".join(pairs) + "}"
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
    kept_by: str = ""
    """What would keep it, if it is left out."""


@dataclass(frozen=True)
class DraftUnit:
    """All records of one person as the unit of privacy, with a bound on their number."""

    column: str
    max_records: int
    others: tuple[str, ...] = ()
    """Further columns that might be meant."""


def labels_of(
    pairs: Iterable[tuple[str, str]], levels: Collection[str], words: Collection[str]
) -> tuple[Labels | None, tuple[str, ...]]:
    """The labels of a column that a configuration may hold, and advice on those left out.

    Left out are labels of other values, and those that cannot be published, that two values
    share, or that name a level themselves.
    """
    wanted = {v: " ".join(text.split())[:200] for v, text in pairs if v in levels or v in words}
    times = Counter(wanted.values())
    reserved = {*levels, MISSING, CLAMP}
    kept = tuple(
        (value, text)
        for value, text in wanted.items()
        if times[text] == 1 and publishable(text) and (text not in reserved or text == value)
    )
    left_out = len(wanted) - len(kept)
    advice = f"{left_out} labels left out: shared, names of levels, or not to be published as such"
    return Labels(kept) if kept else None, (advice,) if left_out else ()


def publishable(text: str) -> bool:
    """Whether a text may be the name of a column or level, or a label."""
    return all(re.search(rule.pattern, text) for rule in (NOT_EMPTY, ONE_LINE, NO_FORMULA))


def yaml_text(text: str) -> str:
    """A plain word as it is; anything else in double quotes, with what is invisible escaped."""
    if _PLAIN.fullmatch(text) and text.lower() not in _READ_OTHERWISE:
        return text
    return '"' + "".join(map(_escaped, text)) + '"'


def flow_list(texts: Sequence[str]) -> str:
    """A list of texts in one line."""
    return "[" + ", ".join(map(yaml_text, texts)) + "]"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character.isprintable():
        return character
    number = ord(character)
    return f"\\x{number:02x}" if number < 1 << 8 else f"\\U{number:08x}"
