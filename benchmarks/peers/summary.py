"""Prints the best peer for each table, epsilon and measure, and every run, in Markdown.

    python benchmarks/peers/summary.py
    python benchmarks/peers/summary.py --all

A figure is the median over the runs of one peer. The best of few runs of many peers flatters the
peers a little; that is the safe side for a comparison with ours. The last measure of tables of
`wide.py` and `thin_peers.py` is not the joint table, but the mean over those of three columns with
up to 10,000 cells.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable
from fractions import Fraction
from statistics import median

from results import Result, load

MEASURES = ("1-way", "2-way", "3-way", "joint")
TABLES = (
    *("adult", "nltcs", "diamonds", "flights", "adult-wide", "adult-coarse", "adult-digits"),
    *("thin-chain", "thin-classes", "thin-adult"),
)


def by_setting(results: Iterable[Result]) -> dict[tuple[str, Fraction], dict[str, list[Result]]]:
    """The runs of every peer, for each table and epsilon, in the order of TABLES."""
    found: dict[tuple[str, Fraction], dict[str, list[Result]]] = {}
    for result in sorted(results, key=lambda one: (TABLES.index(one.table), one.budget)):
        setting = found.setdefault((result.table, result.budget), defaultdict(list))
        setting[result.peer].append(result)
    return found


def print_best() -> None:
    """One line for each table and epsilon: per measure, the best median and whose it is."""
    print(f"| table | epsilon | {' | '.join(MEASURES)} |")
    print("|---|---|---|---|---|---|")
    for (name, epsilon), runs_of in by_setting(load()).items():
        medians = {
            peer: [median(values) for values in zip(*(run.tvd for run in done), strict=True)]
            for peer, runs in runs_of.items()
            if (done := [run for run in runs if run.status == "done"])
        }
        if not medians:
            continue
        cells = []
        for measure in range(len(MEASURES)):
            peer = min(medians, key=lambda one: medians[one][measure])
            cells.append(f"{medians[peer][measure]:.4f} {peer}")
        print(f"| {name} | {float(epsilon):g} | {' | '.join(cells)} |")


def print_all() -> None:
    """One line for each table, epsilon and peer."""
    columns = "table, epsilon, peer, runs, 1-way, 2-way, 3-way, joint, cpu s, peak MB"
    print(f"| {columns.replace(', ', ' | ')} |")
    print(f"|{'---|' * 10}")
    for (name, epsilon), runs_of in by_setting(load()).items():
        for peer, runs in runs_of.items():
            done = [run for run in runs if run.status == "done"]
            shown = done or runs
            figures = (
                [f"{median(values):.4f}" for values in zip(*(run.tvd for run in done), strict=True)]
                if done
                else [runs[0].status, "", "", ""]
            )
            seconds = median(run.cpu_seconds for run in shown)
            peak = max(run.peak_megabytes for run in shown)
            print(
                f"| {name} | {float(epsilon):g} | {peer} | {len(shown)} | {' | '.join(figures)} |"
                f" {seconds:.0f} | {peak} |"
            )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--all", action="store_true", help="every peer, not only the best")
    if parser.parse_args().all:
        print_all()
    else:
        print_best()
