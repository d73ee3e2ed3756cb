"""A plot of one column: bars with their noise, as positions on a scale from 0 to 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate, pairwise
from typing import Any

from synth.domain.attribute import with_value_label
from synth.domain.periods import read_period

MOST_BARS = 24
"""With more codes, a column of numbers becomes a histogram, others show their largest levels."""

MOST_LEVELS = 20
MOST_STEPS = 60
"""Bins of a histogram; with more, neighbouring bins are added up."""

UNEQUAL = Fraction(3, 2)
"""Bins are drawn by their widths where the widest is more than so many times the narrowest..."""

NARROWEST = Fraction(1, 150)
"""...and no bin is narrower than this part of the axis, which nobody would see."""

LONGEST_LABEL = 90
SHORT_LABEL = 8


@dataclass(frozen=True)
class Bar:
    """One line of the plot: places are per cent of the scale, with two decimals."""

    label: str
    count: int
    share: str
    length: str
    low: str
    high: str
    mostly_noise: bool


@dataclass(frozen=True)
class Step:
    """A bar of a histogram: its line in the table, and where it stands.

    Places are per cent of the axis and of the scale. Where widths differ the height is the density.
    """

    bar: Bar
    left: str
    width: str
    height: str
    low: str
    high: str


@dataclass(frozen=True)
class ColumnPlot:
    """Everything that the page draws of one column.

    `half_width` is None where no interval is known for single values; `steps` are the bars of a
    histogram, else empty; `note` says what is not drawn one by one, and what a height means.
    """

    name: str
    title: str
    description: str
    half_width: int | None
    bars: tuple[Bar, ...]
    steps: tuple[Step, ...]
    ends: tuple[str, str]
    note: str

    @property
    def has_short_labels(self) -> bool:
        """Whether what stands before the bars is short, so that they can be longer."""
        return all(len(bar.label) <= SHORT_LABEL and not bar.mostly_noise for bar in self.bars)


def plot_column(
    column: Mapping[str, Any], counts: Sequence[int], *, half_width: int | None
) -> ColumnPlot:
    """Lay out the counts of a column of the manifest, beside what its values mean.

    `half_width` is that of the predicted 95 % interval of one count of this column, in records.
    """
    labels = shown_labels(column)
    widths = bin_widths(column)
    by_width = _differ(widths)
    if by_width and min(widths) >= NARROWEST * sum(widths):
        return _histogram(column, labels, counts, half_width, widths)
    if len(labels) <= MOST_BARS:
        bars = _bars(labels, counts, half_width, total=sum(counts))
        note = UNEQUAL_BARS if by_width else ""
        return _plot(column, half_width, bars=bars, note=note)
    if column["edges"]:
        return _histogram(column, labels, counts, half_width, None)
    order = sorted(range(len(counts)), key=lambda code: (-counts[code], code))
    shown, rest = order[:MOST_LEVELS], order[MOST_LEVELS:]
    bars = _bars(
        [labels[code] for code in shown],
        [counts[code] for code in shown],
        half_width,
        total=sum(counts),
    )
    others = sum(counts[code] for code in rest)
    note = f"The {MOST_LEVELS} largest values; {len(rest):,} more have {others:,} rows together."
    return _plot(column, half_width, bars=bars, note=note)


UNEQUAL_BARS = "Bins differ in width: read the bars as counts, not as a shape."
BY_AREA = "Bins differ in width: the area of a bar, not its height, is its count."


def shown_labels(column: Mapping[str, Any]) -> list[str]:
    """The values of a column of the manifest, each with what it means."""
    meanings = column.get("value_labels", {})
    return [shorten(with_value_label(label, meanings.get(label, ""))) for label in column["labels"]]


def bin_widths(column: Mapping[str, Any]) -> list[Fraction]:
    """The widths of the bins of an ordered column of the manifest; none of another one.

    Shapes and units: in its own unit. Of whole numbers and periods, how many a bin holds; the last
    one holds its upper edge.
    """
    edges = [_number(column, text) for text in column["edges"]]
    widths = [high - low for low, high in pairwise(edges)]
    if widths and column["kind"] != "number":
        widths[-1] += 1
    return widths


def _number(column: Mapping[str, Any], edge: str) -> Fraction:
    if "resolution" in column:
        return Fraction(read_period(edge, column["resolution"]) or 0)
    return Fraction(edge)


def _differ(widths: Sequence[Fraction]) -> bool:
    """Whether widths differ; a last bin that is cut off does not count."""
    return len(widths) > 1 and max(widths) > UNEQUAL * min(widths[:-1])


def shorten(label: str) -> str:
    """A label that a table can bear."""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _histogram(
    column: Mapping[str, Any],
    labels: list[str],
    counts: Sequence[int],
    half_width: int | None,
    widths: Sequence[Fraction] | None,
) -> ColumnPlot:
    """Bars of equal width or, with `widths`, of these: then their areas are the counts."""
    bins = len(counts) - bool(column["has_missing"])
    wide = -(-bins // MOST_STEPS)
    starts = range(0, bins, wide)
    ends = [min(start + wide, bins) for start in starts]
    names = [
        labels[start] if stop == start + 1 else f"{labels[start]} to {labels[stop - 1]}"
        for start, stop in zip(starts, ends, strict=True)
    ]
    sums = [sum(counts[start:stop]) for start, stop in zip(starts, ends, strict=True)]
    known = half_width if wide == 1 else None
    notes = []
    if wide > 1:
        notes.append(f"{wide} neighbouring bins are drawn as one.")
    if bins < len(counts):
        notes.append(f"{counts[bins]:,} rows have no value ({labels[bins]}).")
    if widths is not None:
        notes.append(BY_AREA)
    spans = [
        Fraction(1) if widths is None else sum(widths[start:stop], Fraction())
        for start, stop in zip(starts, ends, strict=True)
    ]
    bars = _bars(names, sums, known, total=sum(counts))
    steps = _steps(bars, spans, known or 0)
    first, last = column["edges"][0], column["edges"][-1]
    return _plot(column, known, steps=steps, ends=(first, last), note=" ".join(notes))


def _steps(bars: Sequence[Bar], spans: Sequence[Fraction], reach: int) -> tuple[Step, ...]:
    """Bars side by side, as wide as their spans and as high as counts per unit of width."""
    whole = sum(spans, Fraction())
    highest = max((bar.count + reach) / span for bar, span in zip(bars, spans, strict=True))
    scale = highest or Fraction(1)
    lefts = accumulate(spans[:-1], initial=Fraction())
    return tuple(
        Step(
            bar,
            left=_part(left, whole),
            width=_part(span, whole),
            height=_part(bar.count / span, scale),
            low=_part(max(0, bar.count - reach) / span, scale),
            high=_part((bar.count + reach) / span, scale),
        )
        for bar, span, left in zip(bars, spans, lefts, strict=True)
    )


def _plot(
    column: Mapping[str, Any],
    half_width: int | None,
    *,
    bars: tuple[Bar, ...] = (),
    steps: tuple[Step, ...] = (),
    ends: tuple[str, str] = ("", ""),
    note: str = "",
) -> ColumnPlot:
    return ColumnPlot(
        name=column["name"],
        title=column["title"],
        description=column["description"],
        half_width=half_width,
        bars=bars,
        steps=steps,
        ends=ends,
        note=note,
    )


def _bars(
    labels: Sequence[str], counts: Sequence[int], half_width: int | None, *, total: int
) -> tuple[Bar, ...]:
    reach = half_width or 0
    scale = max(1, max(counts, default=0) + reach)
    return tuple(
        Bar(
            label=label,
            count=count,
            share=_share(count, total),
            length=_place(count, scale),
            low=_place(max(0, count - reach), scale),
            high=_place(count + reach, scale),
            mostly_noise=half_width is not None and count <= half_width,
        )
        for label, count in zip(labels, counts, strict=True)
    )


def _share(count: int, total: int) -> str:
    """A share in per cent; only 0 is written as 0."""
    if 0 < 1000 * count < total:
        return "< 0.1 %"
    return f"{100 * count / max(1, total):.1f} %"


def _place(count: int, scale: int) -> str:
    return f"{100 * count / scale:.2f}"


def _part(part: Fraction, whole: Fraction) -> str:
    return f"{float(100 * part / whole):.2f}"
