"""Draws the plots of docs/accuracy.md, and prints its comparison with the best peers.

    python benchmarks/accuracy_plots.py
    python benchmarks/accuracy_plots.py --markdown

Ours are the lines of `benchmarks/accuracy_results.jsonl` (`accuracy.py --append`). Lines there with
a `source` are figures of peers, or of drawing the records anew, that were measured earlier on the
same data; the other peers are those of `benchmarks/peers/results.jsonl`. A figure that is null is
not known.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FormatStrFormatter, NullFormatter

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "peers"))

from results import load  # noqa: E402  (a module of the folder that was just added)

OURS = HERE / "accuracy_results.jsonl"
IMAGES = HERE.parent / "docs" / "images"
MEASURES = ("1-way", "2-way", "3-way", "joint")
TABLES = ("adult", "nltcs", "diamonds", "flights")
ONE_WAY = "1-way "
RESAMPLING = "resampling"
LOOKS = {
    "auto": ("synth, auto", "#0072b2", "o-"),
    "identity": ("synth, identity", "#56b4e9", "s--"),
    "private-pgm-mst": ("MST (private-pgm)", "#d55e00", "^-"),
    "dpmm-mst": ("MST (dpmm)", "#e69f00", "v"),
    "dpmm-aim": ("AIM (dpmm)", "#cc79a7", "D"),
    "dpsynth-swift": ("SWIFT (dpsynth)", "#009e73", "P"),
    "opendp-identity": ("clipped noise (OpenDP)", "#999999", "x:"),
}
"""Name, colour and line of every way that is drawn (colours of Okabe and Ito 2008)."""
SHORT = {"MST (dpmm)": "MST*", "clipped noise (OpenDP)": "clipped"}
"""Names in the comparison; the others are known by their first word."""
LOWEST = 1e-5
"""Smaller errors are drawn here."""
LEAST_BUDGETS = 3
"""A table is drawn if ours was measured at so many budgets."""
HARDLY_ANY = 2.5e-4
"""Errors below this are printed with one digit more."""


@dataclass(frozen=True)
class Figures:
    """The errors of one way on one table at one budget; `runs` is how many were averaged."""

    table: str
    epsilon: float | None
    delta: str
    way: str
    errors: tuple[float | None, ...]
    runs: int


def ours_and_noted() -> list[Figures]:
    """What stands in our file: our ways, and what is noted there of others."""
    found = []
    for line in OURS.read_text().splitlines():
        one = json.loads(line)
        epsilon = None if one["epsilon"] is None else float(one["epsilon"])
        key = (one["table"], epsilon, one["delta"], one["way"])
        found.append(Figures(*key, tuple(one["tvd"]), one["repeats"]))
    return found


def peers() -> list[Figures]:
    """The finished runs of the peers, as medians over the seeds."""
    runs: dict[tuple[str, float, str, str], list[tuple[float, ...]]] = defaultdict(list)
    for result in load():
        if result.status == "done":
            key = (result.table, float(result.epsilon), result.delta, result.peer)
            runs[key].append(result.tvd)
    return [
        Figures(*key, tuple(median(each) for each in zip(*tvds, strict=True)), len(tvds))
        for key, tvds in runs.items()
    ]


def everything() -> list[Figures]:
    """All figures. A peer that was measured earlier and again stands there twice."""
    return ours_and_noted() + peers()


def log_axis(axes: Axes, ticks: list[float]) -> None:
    """A logarithmic axis of budgets with plain numbers."""
    axes.set_xscale("log")
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(visible=True, alpha=0.3)


def save(figure: Figure, name: str) -> None:
    """Write one PNG file."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    figure.savefig(IMAGES / f"accuracy-{name}.png", dpi=90)


def draw_table(figures: list[Figures], table: str) -> None:
    """Error against epsilon, one panel per order. Ours with delta 0."""
    figure = Figure(figsize=(9, 7.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(2, 2).ravel()
    here = [one for one in figures if one.table == table]
    for measure, axes in enumerate(panels):
        for way, (label, colour, line) in LOOKS.items():
            is_ours = way in ("auto", "identity")
            points = sorted(
                (one.epsilon, max(error, LOWEST))
                for one in here
                if one.way == way and one.epsilon is not None
                if (error := one.errors[measure]) is not None
                if not is_ours or one.delta == "0"
            )
            if points:
                alone = len(points) == 1
                style = line[0] if alone else line
                axes.plot(*zip(*points, strict=True), style, color=colour, label=label, ms=5)
        for one in here:
            if one.way == RESAMPLING and one.errors[measure] is not None:
                name = "records drawn anew, no privacy"
                axes.axhline(one.errors[measure], color="black", lw=0.8, ls="-.", label=name)
        axes.set_yscale("log")
        log_axis(axes, [0.1, 0.3, 1, 3, 10])
        axes.set_title(MEASURES[measure], fontsize=10)
        axes.set_xlabel("epsilon")
        axes.set_ylabel("total variation distance")
    named: dict[str, object] = {}
    for axes in panels:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            named.setdefault(label, handle)
    figure.suptitle(f"{table}: error of the whole counts", fontweight="bold")
    figure.legend(
        list(named.values()), list(named), loc="outside lower center", ncols=4, fontsize=8
    )
    save(figure, table)


def shares(figures: list[Figures], table: str, epsilon: float) -> list[tuple[float, Figures]]:
    """The figures by the share of the one-way tables; 0 is the universe alone."""
    found = []
    for one in figures:
        if (one.table, one.epsilon, one.delta) == (table, epsilon, "0"):
            if one.way == "identity":
                found.append((0.0, one))
            elif one.way.startswith(ONE_WAY):
                found.append((float(one.way.removeprefix(ONE_WAY)), one))
    beside = [(share, one) for share, one in found if share < 1]  # 1: without the universe
    return sorted(beside, key=lambda pair: pair[0])


def draw_shares(figures: list[Figures]) -> None:
    """The errors by the share of the one-way tables, relative to the universe alone."""
    settings = (("adult", 0.1), ("adult", 1.0), ("nltcs", 1.0))
    figure = Figure(figsize=(9, 3.6), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, len(settings), sharey=True)
    for (table, epsilon), axes in zip(settings, panels, strict=True):
        by_share = shares(figures, table, epsilon)
        at_zero = by_share[0][1].errors
        for measure, colour in enumerate(("#0072b2", "#009e73", "#e69f00", "#d55e00")):
            ratios = [one.errors[measure] / at_zero[measure] for _, one in by_share]
            places = [share for share, _ in by_share]
            axes.plot(places, ratios, "o-", color=colour, label=MEASURES[measure], ms=5)
            single = [(s, r) for (s, one), r in zip(by_share, ratios, strict=True) if one.runs == 1]
            if single:
                axes.plot(*zip(*single, strict=True), "o", color=colour, mfc="white", ms=5)
        axes.axhline(1, color="black", lw=0.8)
        axes.set_yscale("log")
        axes.set_yticks([0.4, 0.6, 0.8, 1, 1.25, 1.5])
        axes.yaxis.set_major_formatter(FormatStrFormatter("%g"))
        axes.yaxis.set_minor_formatter(NullFormatter())
        axes.grid(visible=True, alpha=0.3)
        axes.set_title(f"{table}, epsilon {epsilon:g}", fontsize=10)
        axes.set_xlabel("share of the 1-way tables")
    panels[0].set_ylabel("error / error of the universe alone")
    panels[-1].legend(fontsize=8, loc="lower left")
    save(figure, "one-way-share")


def cell(figures: list[Figures], measure: int, delta: str) -> str:
    """Our error (auto, this delta) and that of the best peer, the smaller one in bold."""
    known = [one for one in figures if one.errors[measure] is not None]
    ours = next(one for one in known if (one.way, one.delta) == ("auto", delta)).errors[measure]
    others = [
        (one.errors[measure], LOOKS[one.way][0])
        for one in known
        if one.way in LOOKS and one.way not in ("auto", "identity")
    ]
    least, whose = min(others)
    digits = 4 if max(ours, least) > HARDLY_ANY else 5
    both = [f"{error:.{digits}f}".lstrip("0") for error in (ours, least)]
    if both[0] != both[1]:
        both[ours > least] = f"**{min(both)}**"
    return f"{both[0]} {both[1]} {SHORT.get(whose, whose.split(' (')[0])}"


def print_markdown(figures: list[Figures], delta: str) -> None:
    """Ours (auto) beside the best peer (delta 1e-9), for every table and epsilon."""
    print(f"| table | epsilon | {' | '.join(MEASURES)} |")
    print("|---|---|---|---|---|---|")
    for table in TABLES:
        for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0):
            here = [one for one in figures if (one.table, one.epsilon) == (table, epsilon)]
            if any((one.way, one.delta) == ("auto", delta) for one in here):
                cells = " | ".join(cell(here, measure, delta) for measure in range(len(MEASURES)))
                print(f"| {table} | {epsilon:g} | {cells} |")


def main() -> None:
    """Read the command line; draw, or print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="the comparison, and no plots")
    figures = everything()
    if parser.parse_args().markdown:
        print_markdown(figures, "0")
        print("\nOurs with delta 10<sup>-9</sup>, as the peers have it:\n")
        print_markdown(figures, "1e-9")
        return
    for table in TABLES:
        budgets = {one.epsilon for one in figures if (one.table, one.way) == (table, "auto")}
        if len(budgets) >= LEAST_BUDGETS:
            draw_table(figures, table)
    draw_shares(figures)


if __name__ == "__main__":
    main()
