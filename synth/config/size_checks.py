"""What a strategy can do with a universe of this size."""

from __future__ import annotations

from synth.config.problems import Report
from synth.config.types import Strategy
from synth.domain import DENSE_LIMIT_CELLS, Universe

MOST_TOTAL_CELLS = 10**7
"""Public totals are checked and kept on a universe with no more cells, after merging alike ones."""
MOST_TABLE_CELLS = 10**8
"""No table that is measured in every cell beside a list is larger."""


def check_strategy_size(universe: Universe, strategy: Strategy, report: Report) -> None:
    """Refuse what needs a noisy count, or a guess, in every cell of a universe that is too large.

    Above `DENSE_LIMIT_CELLS` the planner lists the heavy cells instead (`auto`, `sparse`).
    """
    if universe.size <= DENSE_LIMIT_CELLS:
        return
    largest = sorted(universe.attributes, key=lambda attribute: -attribute.size)[:3]
    shown = ", ".join(f"{attribute.name} ({attribute.size:,})" for attribute in largest)
    if strategy in ("identity", "adaptive"):
        every = "a noisy count" if strategy == "identity" else "a guess"
        report.add(
            ("strategy",),
            found=f"{strategy} for {cells_in_words(universe)}",
            expected=f"auto, sparse or tables, or at most {DENSE_LIMIT_CELLS:,} cells, the product "
            "of all levels and bins",
            why=f"{strategy} needs {every} in every cell",
            fix="write strategy: auto, which lists the heavy cells and measures small tables; or "
            f"leave columns out or merge levels and bins; the largest: {shown}",
        )
    if isinstance(strategy, tuple):
        for index, table in enumerate(strategy):
            whole = table.names == universe.names and not any(table.coarsening)
            if not whole and table.cells(universe) > MOST_TABLE_CELLS:
                report.add(
                    ("strategy", "tables", index),
                    found=f"a table of {number_of_cells(table.cells(universe))} cells",
                    expected=f"at most {MOST_TABLE_CELLS:,} cells, or all columns",
                    why="every cell of it gets a noisy count; only the universe can be listed",
                    fix="leave columns out of the table, or name coarser levels",
                )


def cells_in_words(universe: Universe) -> str:
    """The size of a universe as messages say it."""
    return f"a universe of {number_of_cells(universe.size)} cells"


def number_of_cells(cells: int) -> str:
    """A number of cells, rounded to a power of ten where nobody would read it."""
    return f"{cells:,}" if cells < 10**15 else f"about 10^{len(str(cells)) - 1}"
