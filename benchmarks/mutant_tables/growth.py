"""Cumulative releases: the records that are kept, and what verification sees of it."""

from __future__ import annotations

from .mutant import Mutant, broken

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/estimate/monotone.py",
        (
            "a count is lowered",
            "    return previous.plus(more, universe.shape)\n",
            "    return more.plus(more, universe.shape)\n",
        ),
        (
            "records are added that the fit does not have",
            "    gains = apart.found > apart.expected\n",
            "    gains = apart.found < apart.expected\n",
        ),
        (
            "sums are left as they are",
            "            weights = weights * np.clip(factor, 1.0 / MOST, MOST)[cells]\n",
            "            weights = weights * np.clip(factor, 1.0, 1.0)[cells]\n",
        ),
        by=("unit/estimate/test_monotone.py",),
    ),
    *broken(
        "synth/release/derivation.py",
        (
            "counts that contradict the measurements are kept",
            "    if not verdict.passes and not passed.is_excused:\n",
            "    if not verdict.passes and passed.is_excused:\n",
        ),
        (
            "records that are taken back are not told",
            "            passed, growth = grown, Growth(previous, taken)\n",
            "            passed, growth = grown, Growth(previous, 0)\n",
        ),
        (
            "the release before is looked at and not kept",
            "    return Gated(counts, passed.report | verdict.to_plain())\n",
            "    return Gated(passed.counts, passed.report | verdict.to_plain())\n",
        ),
        by=("unit/release/test_growth.py",),
    ),
    *broken(
        "synth/release/derivation.py",
        (
            "every release draws values inside bins anew",
            "    if config.series is None or not config.series.is_continual:\n",
            "    if config.series is None or config.series.is_continual:\n",
        ),
        by=("unit/release/test_previous.py",),
    ),
    *broken(
        "synth/release/rows/blocks.py",
        (
            "a value depends on the number of the row",
            "        yield RowBlock(columns, np.arange(start, stop) - before)\n",
            "        yield RowBlock(columns, np.arange(start, stop))\n",
        ),
        (
            "all cells draw the same values",
            "            number += codes.astype(np.uint64)\n",
            "            number += (0 * codes).astype(np.uint64)\n",
        ),
        by=("unit/release/test_data_files.py", "unit/release/test_public_stream.py"),
    ),
    *broken(
        "synth/release/verification/cell_counts_check.py",
        (
            "counts that are not those of the release before",
            "    if apart:\n",
            "    if apart > 2:\n",
        ),
        (
            "another release before of the same name",
            "    if before.manifest_sha256 != stated:\n",
            "    if not before.manifest_sha256:\n",
        ),
        (
            "rows of the release before that were changed",
            '    if folder.sha256(name) != stated["sha256"]:\n',
            '    if not folder.sha256(name) or not stated["sha256"]:\n',
        ),
        (
            "the release of another period",
            "    if theirs.release.id != config.previous_release_id:\n",
            "    if theirs.release.id == config.release.id:\n",
        ),
        (
            "cells in any order",
            "    if counts.size and (goes_back(words).any() or not new_cells(words).all()):\n",
            "    if counts.size and not new_cells(words).all():\n",
        ),
        (
            "cells without records",
            "    if (counts < 1).any():\n",
            "    if (counts < 0).any():\n",
        ),
        by=("unit/release/test_previous.py",),
    ),
)
