"""One column of a draft: what its entry says, how it is written, and bounds that are round.

Bounds and edges are proposed as public tables have them.
"""

from __future__ import annotations

import bisect
import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from synth.config.schema.scalars import MOST_OF_A_NAME, NO_FORMULA, NOT_EMPTY, ONE_LINE
from synth.config.schema.yaml_tree import TAG
from synth.domain import CLAMP, MISSING

UNPUBLISHABLE = (
    "some levels cannot be published as they are written; rename them in a view or a copy"
)
RESOLUTIONS = "take the resolution that will be asked for: day, week, month, quarter or year"
RESERVED = frozenset({MISSING, CLAMP})
"""Words that stand for themselves in a configuration."""

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
    chosen_by: str = ""
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
    wanted = {
        v: " ".join(text.split())[:MOST_OF_A_NAME] for v, text in pairs if v in levels or v in words
    }
    times = Counter(wanted.values())
    reserved = {*levels, *RESERVED}
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


MOST_BINS = 20
SINGLE_NUMBERS = 50
"""A range of at most so many whole numbers gets a bin for each."""

LARGEST_SHARE = 0.5
LARGEST_SHARE_OF_TWO = 0.85
"""Equal bins are left for others where one, or two, of them would hold more of the records."""


def round_width(span: Fraction, *, bins: int) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that covers the span in so many bins."""
    wanted = span / bins
    return Fraction(1) if wanted <= 0 else round_up(wanted)


def round_up(number: Fraction) -> Fraction:
    """The smallest of 1, 2 and 5 times a power of ten that is at least a positive number."""
    power = Fraction(10) ** math.floor(math.log10(number))
    return next(step * power for step in (1, 2, 5, 10, 20) if step * power >= number)


def round_down(number: Fraction) -> Fraction:
    """The largest of 1, 2 and 5 times a power of ten that is at most a positive number."""
    power = Fraction(10) ** math.ceil(math.log10(number))
    fractions = (1, Fraction(1, 2), Fraction(1, 5), Fraction(1, 10), Fraction(1, 20))
    return next(power * part for part in fractions if power * part <= number)


def nearest_round(number: int) -> int:
    """The nearest of 1, 2 and 5 times a power of ten, by ratio."""
    low, high = round_down(Fraction(number)), round_up(Fraction(number))
    return int(low if number / low <= high / number else high)


def integer_bounds(low: int, high: int) -> tuple[int, int, int]:
    """Minimum, maximum and bin width: multiples of the width, that hold both numbers.

    A largest number that is round, such as 100, is the maximum itself.
    """
    if high - low < SINGLE_NUMBERS:
        step = 1 if high - low < 10 else 5
        width = 1
    else:
        width = step = int(max(Fraction(1), round_width(Fraction(high - low), bins=MOST_BINS)))
    minimum = low // step * step
    if step == 1 or (high > 0 and high % step == 0 and nearest_round(high) == high):
        return minimum, high, width
    return minimum, (high // step + 1) * step - 1, width


def number_edges(low: Fraction, high: Fraction) -> tuple[Fraction, ...]:
    """Edges at multiples of one width, from at most `low` to at least `high`."""
    width = round_width(high - low, bins=MOST_BINS // 2)
    first = math.floor(low / width)
    last = max(math.ceil(high / width), first + 1)
    return tuple(width * number for number in range(first, last + 1))


def are_crowded(edges: Sequence[Fraction], quantiles: Sequence[Fraction]) -> bool:
    """Whether one or two bins would hold nearly all records; values beyond count in the last."""
    if not quantiles:
        return False
    bins = [0] * (len(edges) - 1)
    for number in quantiles:
        bins[min(max(bisect.bisect_right(edges, number) - 1, 0), len(bins) - 1)] += 1
    *_, second, first = sorted([0, *bins])
    share, of_two = first / len(quantiles), (first + second) / len(quantiles)
    return share > LARGEST_SHARE or of_two > LARGEST_SHARE_OF_TWO


def ladder(
    low: Fraction, high: Fraction, quantiles: Sequence[Fraction], *, least: Fraction | None = None
) -> tuple[Fraction, ...]:
    """Edges at 1, 2 and 5 times powers of ten, for numbers of which most are small.

    Zero has a bin of its own, up to where nearly all other values begin; far above nearly all
    values only powers of ten are edges. `least` is the smallest edge above zero.

    Ensures: edges increase strictly, and hold `low` and `high`.
    """
    above = _rungs([each for each in quantiles if each > 0], high, least)
    below = _rungs([-each for each in reversed(quantiles) if each < 0], -low, least)
    edges = [-edge for edge in reversed(below)]
    if below or not above or low < above[0]:
        edges.append(Fraction(0))
    edges += above
    return tuple(edges) if len(edges) > 1 else number_edges(low, high)


def _rungs(quantiles: Sequence[Fraction], high: Fraction, least: Fraction | None) -> list[Fraction]:
    """Positive edges from where nearly all of these numbers begin to at least `high`."""
    if high <= 0:
        return []
    start = round_down(quantiles[len(quantiles) // 20] if quantiles else high)
    start = start if least is None else max(start, least)
    end = max(round_up(high), start)
    common = quantiles[-1 - len(quantiles) // 20] if quantiles else high
    rungs = [edge for edge in _steps(start, end) if edge < common * 5 or _is_power(edge)]
    if len(rungs) > MOST_BINS:
        rungs = [edge for edge in rungs if edge == start or _is_power(edge)]
    return rungs if rungs[-1] >= end else [*rungs, end]


def _steps(start: Fraction, end: Fraction) -> Iterator[Fraction]:
    edge = start
    while edge <= end:
        yield edge
        edge = round_up(edge * Fraction(3, 2))


def _is_power(edge: Fraction) -> bool:
    return str(edge.numerator).strip("0") == "1" and str(edge.denominator).strip("0") == "1"


def equal_edges(minimum: int, maximum: int, width: int) -> tuple[Fraction, ...]:
    """The edges of equal bins of whole numbers, the last one included."""
    return (*map(Fraction, range(minimum, maximum + 1, width)), Fraction(maximum))
