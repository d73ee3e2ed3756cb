"""A plot of one column: bars with their noise, as positions on a scale from 0 to 100."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.domain.attribute import with_value_label

MOST_BARS = 24
"""With more codes, a column of numbers becomes a histogram, others show their largest levels."""

MOST_LEVELS = 20
MOST_STEPS = 60
"""Bins of a histogram; with more, neighbouring bins are added up."""

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
class ColumnPlot:
    """Everything that the page draws of one column.

    `half_width` is None where no interval is known for single values; `steps` are the bars of a
    histogram, else empty; `note` says what is not drawn one by one.
    """

    name: str
    title: str
    description: str
    half_width: int | None
    bars: tuple[Bar, ...]
    steps: tuple[Bar, ...]
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
    meanings = column.get("value_labels", {})
    labels = [
        shorten(with_value_label(label, meanings.get(label, ""))) for label in column["labels"]
    ]
    if len(labels) <= MOST_BARS:
        bars = _bars(labels, counts, half_width, total=sum(counts))
        return _plot(column, half_width, bars=bars)
    if column["edges"]:
        return _histogram(column, labels, counts, half_width)
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


def shorten(label: str) -> str:
    """A label that a table can bear."""
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _histogram(
    column: Mapping[str, Any], labels: list[str], counts: Sequence[int], half_width: int | None
) -> ColumnPlot:
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
    steps = _bars(names, sums, known, total=sum(counts))
    first, last = column["edges"][0], column["edges"][-1]
    return _plot(column, known, steps=steps, ends=(first, last), note=" ".join(notes))


def _plot(
    column: Mapping[str, Any],
    half_width: int | None,
    *,
    bars: tuple[Bar, ...] = (),
    steps: tuple[Bar, ...] = (),
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
