"""Plots of single columns: what is drawn, what is added up, and where noise is warned of."""

from fractions import Fraction

import pytest

from synth.release.page.column_plot import (
    BY_AREA,
    LONGEST_LABEL,
    MOST_BARS,
    MOST_LEVELS,
    MOST_STEPS,
    UNEQUAL_BARS,
    bin_widths,
    plot_column,
)


def column(labels, edges=(), *, missing=False, kind="number"):
    return {
        "name": "c",
        "kind": kind,
        "title": "",
        "description": "",
        "labels": list(labels),
        "edges": list(edges),
        "has_missing": missing,
    }


@pytest.mark.parametrize(
    ("labels", "counts", "short"),
    [(["0", "12345678"], [90, 50], True), (["0", "123456789"], [90, 50], False),
     (["0", "1"], [90, 5], False)],
)  # fmt: skip
def test_short_labels_leave_their_room_to_the_bars(labels, counts, short):
    """Those beside which nothing warns of noise."""
    assert plot_column(column(labels), counts, half_width=10).has_short_labels == short


def test_bars_reach_to_their_count_and_lines_over_the_noise():
    plot = plot_column(column("abc"), [90, 10, 3], half_width=10)
    assert [(bar.length, bar.low, bar.high) for bar in plot.bars] == [
        ("90.00", "80.00", "100.00"),
        ("10.00", "0.00", "20.00"),
        ("3.00", "0.00", "13.00"),
    ]
    assert [bar.mostly_noise for bar in plot.bars] == [False, True, True]
    assert [bar.share for bar in plot.bars] == ["87.4 %", "9.7 %", "2.9 %"]


def test_without_a_figure_nothing_is_called_noise():
    plot = plot_column(column("ab"), [0, 5], half_width=None)
    assert not any(bar.mostly_noise for bar in plot.bars)
    assert plot.bars[1].low == plot.bars[1].high == plot.bars[1].length == "100.00"


@pytest.mark.parametrize(
    ("count", "share"), [(0, "0.0 %"), (1, "< 0.1 %"), (4, "< 0.1 %"), (5, "0.1 %")]
)
def test_only_no_rows_are_no_share(count, share):
    plot = plot_column(column("ab"), [count, 5000 - count], half_width=None)
    assert plot.bars[0].share == share


def test_no_rows_and_no_scale():
    plot = plot_column(column("ab"), [0, 0], half_width=0)
    assert [bar.length for bar in plot.bars] == ["0.00", "0.00"]
    assert [bar.share for bar in plot.bars] == ["0.0 %", "0.0 %"]


def test_of_many_levels_the_largest_are_drawn():
    labels = [f"level {number}" for number in range(MOST_BARS + 6)]
    counts = [number % 7 for number in range(len(labels))]
    plot = plot_column(column(labels), counts, half_width=2)
    order = sorted(range(len(labels)), key=lambda code: (-counts[code], code))[:MOST_LEVELS]
    assert [bar.label for bar in plot.bars] == [labels[code] for code in order]
    rest = sum(counts) - sum(counts[code] for code in order)
    assert f"10 more have {rest} rows together" in plot.note


def test_many_bins_are_a_histogram_with_missing_values_apart():
    bins = MOST_STEPS
    labels = [str(number) for number in range(bins)] + ["missing"]
    edges = [str(number) for number in range(bins + 1)]
    counts = [*range(bins), 12]
    plot = plot_column(column(labels, edges, missing=True), counts, half_width=3)
    assert not plot.bars
    assert [step.bar.count for step in plot.steps] == list(range(bins))
    assert plot.ends == ("0", str(bins))
    assert plot.half_width == 3
    assert plot.note == "12 rows have no value (missing)."


def test_neighbouring_bins_are_added_up_and_then_no_noise_is_claimed():
    bins = 2 * MOST_STEPS + 1
    labels = [str(number) for number in range(bins)]
    edges = [str(number) for number in range(bins + 1)]
    plot = plot_column(column(labels, edges), list(range(bins)), half_width=3)
    assert sum(step.bar.count for step in plot.steps) == sum(range(bins))
    assert [step.bar.label for step in plot.steps[:2]] == ["0 to 2", "3 to 5"]
    assert plot.steps[-1].bar.label == "120"
    assert len(plot.steps) <= MOST_STEPS
    assert plot.half_width is None
    assert plot.note == "3 neighbouring bins are drawn as one."


def test_long_labels_are_cut():
    plot = plot_column(column(["x" * 500, "y"]), [1, 2], half_width=None)
    assert plot.bars[0].label == "x" * (LONGEST_LABEL - 1) + "…"


def test_bins_of_unequal_width_are_drawn_by_their_area():
    plot = plot_column(column("abc", ["0", "10", "30", "40"]), [10, 40, 5], half_width=10)
    assert [(step.left, step.width) for step in plot.steps] == [
        ("0.00", "25.00"),
        ("25.00", "50.00"),
        ("75.00", "25.00"),
    ]
    # counts per unit of width: 1, 2 and 0.5, with noise of 1, 0.5 and 1; the scale ends at 2.5
    assert [step.height for step in plot.steps] == ["40.00", "80.00", "20.00"]
    assert [(step.low, step.high) for step in plot.steps] == [
        ("0.00", "80.00"),
        ("60.00", "100.00"),
        ("0.00", "60.00"),
    ]
    assert plot.note == BY_AREA
    assert plot.ends == ("0", "40")


@pytest.mark.parametrize(
    ("edges", "by_area", "note"),
    [
        (["0", "10", "20", "25"], False, ""),  # a last bin that is cut off
        (["0", "10", "24"], False, ""),
        (["0", "10", "26"], True, BY_AREA),
        (["0", "1", "10", "1000"], False, UNEQUAL_BARS),  # nobody would see the first bin
    ],
)
def test_bins_nearly_equal_or_too_narrow_stay_a_list(edges, by_area, note):
    labels = "abc"[: len(edges) - 1]
    plot = plot_column(column(labels, edges), [5] * len(labels), half_width=1)
    assert (bool(plot.steps), plot.note) == (by_area, note)


def test_widths_count_what_a_bin_holds():
    """Of whole numbers and periods the last edge belongs to the last bin."""
    assert bin_widths(column("ab", ["1", "2", "3.5"])) == [1, Fraction(3, 2)]
    assert bin_widths(column("abc", ["1", "2", "3", "3"], kind="integer")) == [1, 1, 1]
    months = column("ab", ["2020-01", "2020-04", "2021-12"], kind="date")
    assert bin_widths(months | {"resolution": "month"}) == [3, 21]
    assert bin_widths(column("ab", kind="categorical")) == []
