"""Draws the plots of "growth" in docs/benchmarks.md, and prints its tables.

    python benchmarks/scale_plots.py
    python benchmarks/scale_plots.py --markdown

Reads `benchmarks/scale_results.jsonl`; of a point that was measured several times the last counts.
Processor seconds are drawn, not wall-clock time: the machine may be busy with other things.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from matplotlib import rcParams
from matplotlib.axes import Axes
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

HERE = Path(__file__).parent
RESULTS = HERE / "scale_results.jsonl"
IMAGES = HERE.parent / "docs" / "images"
Result = dict[str, Any]

FAMILIES = {
    "cells": ("cells of the universe (100,000 rows)", lambda one: one["cells"]),
    "rows": ("rows (100,000 cells)", lambda one: one["rows"]),
    "columns": ("columns (1,048,576 cells, 100,000 rows)", lambda one: one["columns"]),
    "sparse": ("cells of the universe (100,000 rows)", lambda one: one["cells"]),
}
PEERS = {
    "synth": ("synth measure", "#0072b2", "o-"),
    "opendp": ("OpenDP (bincount, discrete Laplace)", "#d55e00", "s--"),
    "diffprivlib": ("diffprivlib histogramdd", "#009e73", "^:"),
}
"""Name, colour and line of every way that is drawn (colours of Okabe and Ito 2008)."""
MEASURES = (("cpu_s", "processor seconds"), ("peak_mb", "peak memory, MB"))


def results() -> list[Result]:
    """The last finished run of every point, small ones first."""
    last: dict[tuple[Any, ...], Result] = {}
    for line in RESULTS.read_text().splitlines():
        one = json.loads(line)
        point = (one["family"], one["columns"], one["levels"], one["rows"], one["way"])
        last[*point, one.get("kind", "falling")] = one
    done = [one for one in last.values() if one["status"] == "done"]
    return sorted(done, key=lambda one: (one["cells"], one["rows"], one["columns"]))


def new_figure(panels: int) -> tuple[Figure, list[Axes]]:
    """A figure of panels side by side."""
    figure = Figure(figsize=(4.5 * panels, 3.6), layout="constrained")
    FigureCanvasSVG(figure)
    return figure, list(figure.subplots(1, panels, squeeze=False)[0])


def curve(
    axes: Axes,
    points: Iterable[Result],
    place: Callable[[Result], float],
    measure: str,
    **look: Any,
) -> None:
    """One curve on two logarithmic axes."""
    pairs = sorted((float(place(one)), one[measure]) for one in points)
    axes.plot(*zip(*pairs, strict=True), **look)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.grid(visible=True, alpha=0.3)


def draw_family(found: list[Result], family: str) -> None:
    """Time and memory of whole runs of a family, and where the time goes."""
    label, place = FAMILIES[family]
    figure, panels = new_figure(2)
    for axes, (measure, name) in zip(panels, MEASURES, strict=True):
        curve(axes, found, place, measure, color="#0072b2", marker="o")
        axes.set_xlabel(label)
        axes.set_ylabel(name)
    panels[0].set_title("whole run: time", fontsize=10)
    panels[1].set_title("whole run: largest process", fontsize=10)
    save(figure, family)


def draw_peers(found: list[Result]) -> None:
    """Counting and noise: ours beside the peers'."""
    figure, panels = new_figure(2)
    for axes, (measure, name) in zip(panels, MEASURES, strict=True):
        for way, (label, colour, line) in PEERS.items():
            points = [one for one in found if one["way"] == way]
            if points:
                look = {"color": colour, "marker": line[0], "ls": line[1:], "label": label}
                curve(axes, points, lambda one: one["cells"], measure, **look)
        axes.set_xlabel("cells of the universe (1,000,000 rows)")
        axes.set_ylabel(name)
    panels[0].legend(fontsize=8)
    save(figure, "peers")


def save(figure: Figure, name: str) -> None:
    """Write one SVG file, the same bytes for the same figures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    rcParams["svg.hashsalt"] = name
    figure.savefig(IMAGES / f"scale-{name}.svg", metadata={"Date": None})


def number(value: float) -> str:
    """A size in digits, or as a power of ten where there are too many."""
    return f"{value:,.0f}" if value < 10**10 else f"{value:.0e}".replace("e+", "e")


def print_markdown(everything: list[Result]) -> None:
    """All figures as tables."""
    print("| family | cells | rows | columns | wall s | processor s | peak MB | largest stages |")
    print("|---|---|---|---|---|---|---|---|")
    for one in everything:
        stages = sorted(one.get("stages", {}).items(), key=lambda pair: -pair[1])[:3]
        total = sum(one.get("stages", {}).values())
        shares = ", ".join(f"{name} {100 * seconds / total:.0f} %" for name, seconds in stages)
        name = one["family"] if one["way"] == "run" else f"{one['family']}: {one['way']}"
        sizes = f"{number(one['cells'])} | {one['rows']:,} | {one['columns']}"
        cost = f"{one['wall_s']:.1f} | {one['cpu_s']:.1f} | {one['peak_mb']:,}"
        print(f"| {name} | {sizes} | {cost} | {shares} |")


def main() -> None:
    """Read the command line; draw, or print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--markdown", action="store_true", help="the tables, and no plots")
    everything = results()
    if parser.parse_args().markdown:
        print_markdown(sorted(everything, key=lambda one: (one["family"], one["way"])))
        return
    for family in FAMILIES:
        found = [one for one in everything if one["family"] == family]
        if found:
            draw_family(found, family)
    draw_peers([one for one in everything if one["family"] == "peers"])


if __name__ == "__main__":
    main()
