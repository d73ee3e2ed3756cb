"""Lists of heavy cells: survivors, where they are, and the thresholds."""

from __future__ import annotations

from .mutant import Mutant, broken

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/noise/survivors.py",
        (
            "the flag beyond all digits is ignored",
            "stop = min(int(np.searchsorted(ranks, empty_cells)), *np.flatnonzero(over)[:1], size)",
            "stop = min(int(np.searchsorted(ranks, empty_cells)), size)",
        ),
        (
            "a survivor beyond the last empty cell",
            "stop = min(int(np.searchsorted(ranks, empty_cells)), *",
            'stop = min(int(np.searchsorted(ranks, empty_cells, side="right")), *',
        ),
        (
            "ranks without the step of a survivor",
            "ranks = position + np.cumsum(gaps + 1)",
            "ranks = position + np.cumsum(gaps)",
        ),
        (
            "limbs of a gap overlap",
            "gaps += limb.astype(object) << (LIMB_BITS * place)",
            "gaps += limb.astype(object) << ((LIMB_BITS - 1) * place)",
        ),
        (
            "an empty cell left out between two blocks of gaps",
            "start, position = start + size, ranks[-1]",
            "start, position = start + size, ranks[-1] + 1",
        ),
        (
            "limbs that share their words",
            "table=stream_table(number, 3 + place), start=start",
            "table=stream_table(number, 3), start=start",
        ),
        (
            "the flag has the words of the values",
            "stream_table(number, 2), start=start, count=size)",
            "stream_table(number, 1), start=start, count=size)",
        ),
        (
            "survivors begin above the threshold",
            "excess += threshold",
            "excess += threshold + 1",
        ),
        (
            "survivors of another rate",
            "sampler = TableSampler(Geometric(law.alpha))",
            "sampler = TableSampler(Geometric(law.alpha**2))",
        ),
        (
            "a filled cell just before an empty one is not passed",
            "middle.astype(object) <= ranks[searching]",
            "middle.astype(object) < ranks[searching]",
        ),
        (
            "empty cells before a filled one counted with it",
            "passed = (filled[middle] - middle.astype(object)",
            "passed = (filled[middle] - middle.astype(object) - 1",
        ),
        (
            "the threshold is not the smallest",
            "_power_is_at_most(law.alpha, threshold, limit)",
            "_power_is_at_most(law.alpha, threshold + 1, limit)",
        ),
        (
            "more false cells than were asked for",
            "limit = false_cells / cells * (1 + law.alpha)",
            "limit = 2 * false_cells / cells * (1 + law.alpha)",
        ),
        (
            "uses of one table share words",
            "return use << NUMBER_BITS | number",
            "return use << (NUMBER_BITS - 1) | number",
        ),
        by=("unit/noise/test_survivors.py", "exact/test_sparse.py"),
    ),
    *broken(
        "synth/noise/survivors.py",
        (
            "digits of a gap at the first place",
            "Part(BASE**place, Digit(self.ratio, self.first * BASE**place, BASE))",
            "Part(BASE**place, Digit(self.ratio, self.first, BASE))",
        ),
        (
            "the flag by another probability",
            "return Rest(self.ratio, self.step).cdf_bounds(value, bits)",
            "return Rest(self.ratio, 2 * self.step).cdf_bounds(value, bits)",
        ),
        (
            "an empty cell survives as if noise had one sign",
            "high = -(-high * one // both)",
            "high = high",
        ),
        (
            "bounds of survival rounded inwards",
            "return low * one // both >> _GUARD, -(-high >> _GUARD)",
            "return -(-low * one // both >> _GUARD), -(-high >> _GUARD)",
        ),
        (
            "powers of a ratio without rounding out",
            "factor_low, factor_high = (1 << work) - survival_high, (1 << work) - survival_low",
            "factor_low, factor_high = (1 << work) - survival_low, (1 << work) - survival_low",
        ),
        (
            "a digit by the law of its number",
            "return _digit_cdf(self.ratio, self.step, self.base, bits)[value]",
            "return _digit_cdf(self.ratio, 1, self.base, bits)[value]",
        ),
        (
            "the rest is off by one",
            "self.ratio.power_bounds(self.step * (value + 1), bits)",
            "self.ratio.power_bounds(self.step * value, bits)",
        ),
        by=("unit/noise/test_survivors.py", "exact/test_sparse.py"),
    ),
    *broken(
        "synth/noise/mechanism.py",
        (
            "a threshold at the sensitivity",
            "if threshold <= changed:",
            "if threshold < changed:",
        ),
        (
            "delta for many cells is that of one",
            "law, threshold - 1, delta / changed\n",
            "law, threshold - 1, delta\n",
        ),
        (
            "delta for one cell of many records is forgotten",
            "return _reaches(law, threshold - changed, delta) and _reaches(",
            "return _reaches(",
        ),
        (
            "the threshold of a selection one too low",
            "threshold: is_private(law, threshold=threshold, delta=delta)",
            "threshold: is_private(law, threshold=threshold + 1, delta=delta)",
        ),
        (
            "a selection as private as its lower bound",
            "    _, high = power_bounds(law.alpha, exponent, bits)",
            "    high, _ = power_bounds(law.alpha, exponent + 1, bits)",
        ),
        by=("exact/test_sparse.py", "unit/planning/test_listed.py"),
    ),
    *broken(
        "synth/planning/listed.py",
        (
            "a list for neighbours of one record",
            "law = DiscreteLaplace(epsilon, sensitivity)\n    threshold",
            "law = DiscreteLaplace(epsilon, 1)\n    threshold",
        ),
        (
            "ten times the false cells",
            "false_cells=allowed_false_cells(cells))",
            "false_cells=10 * allowed_false_cells(cells))",
        ),
        (
            "the higher of two thresholds",
            "if selecting <= threshold:",
            "if selecting >= threshold:",
        ),
        (
            "a threshold from the expected number of records",
            "threshold = smallest_threshold(law, cells=cells,",
            "threshold = smallest_threshold(law, cells=max(1, problem.records),",
        ),
        by=("unit/planning/test_listed.py",),
    ),
    *broken(
        "synth/planning/wide.py",
        (
            "the tables get what the list has",
            "purse = Purse(epsilon * (1 - part), noise)",
            "purse = Purse(epsilon, noise)",
        ),
        (
            "the list and the tables each get all of delta",
            "                delta = kept\n",
            "",
        ),
        (
            "the list gets delta that Gaussian tables need",
            "listed = (listing_event(problem, epsilon * part, delta - kept),)",
            "listed = (listing_event(problem, epsilon * part, delta),)",
        ),
        (
            "pairs as if the 1-way tables got nothing",
            "first + _alike(chosen, 1 - part)",
            "first + _alike(chosen, 1.0)",
        ),
        (
            "triples as if the pairs got nothing",
            "_alike(pairs, 1 - part - of_triples)",
            "_alike(pairs, 1 - part)",
        ),
        (
            "the largest pairs first",
            "key=lambda margin: sizes[margin])",
            "key=lambda margin: -sizes[margin])",
        ),
        by=("unit/planning/test_wide.py",),
    ),
    *broken(
        "synth/curator/boundary.py",
        (
            "cells at the threshold are left out",
            "heavy = noisy >= threshold",
            "heavy = noisy > threshold",
        ),
        (
            "cells are heavy by their count",
            "heavy = noisy >= threshold",
            "heavy = cells.counts >= threshold",
        ),
        (
            "the list has the true counts",
            "noisy += cells.counts\n",
            "noisy = cells.counts.copy()\n",
        ),
        (
            "filled cells first",
            "order = cell_order(cell_words(wide, universe.shape))",
            "order = np.arange(len(values))",
        ),
        (
            "impossible cells are listed",
            "    order = order[possible[order]]\n",
            "    order = order[possible[order] | True]\n",
        ),
        (
            "as many empty cells as cells",
            "empty_cells=universe.size - len(filled),",
            "empty_cells=universe.size,",
        ),
        (
            "selections list empty cells",
            "if event.mechanism != PARTITION_SELECTION:",
            'if event.mechanism != "":',
        ),
        (
            "any threshold for any delta",
            "    if not keeps_its_delta(event):\n",
            "    if keeps_its_delta(event) is None:\n",
        ),
        (
            "lists of coarser cells",
            "if event.table != universe.names or any(event.coarsening) or",
            "if event.table != universe.names or",
        ),
        (
            "every list has the noise of table 0",
            "stream, table=stream_table(number, 0), start=0",
            "stream, table=stream_table(0, 0), start=0",
        ),
        by=("unit/curator/test_sparse.py",),
    ),
    *broken(
        "synth/curator/counting/tabulate.py",
        (
            "filled cells without the last block",
            "        for block in blocks.consume():\n",
            "        for block in list(blocks.consume())[:-1]:\n",
        ),
        (
            "every filled cell counts once in sums",
            "np.add.at(sums, places, held.counts[some])",
            "np.add.at(sums, places, 1)",
        ),
        (
            "sums of cells that are overwritten",
            "np.add.at(sums, places, held.counts[some])",
            "sums[places] = held.counts[some]",
        ),
        by=("unit/curator/test_sparse.py",),
    ),
    *broken(
        "synth/curator/counting/tabulate.py",
        (
            "the rest of very many cells is left out of sums",
            "for start in range(0, len(held.counts), CELLS_AT_ONCE):",
            "for start in range(0, min(1, len(held.counts)), CELLS_AT_ONCE):",
        ),
        (
            "of many filled cells only the first ones are counted",
            "                np.add.at(counts, cells, records)\n",
            "                pass\n",
        ),
        (
            "a record that stands twice in a batch counts once",
            "                np.add.at(counts, cells, records)\n",
            "                counts[cells] += records\n",
        ),
        (
            "of many filled cells only the last ones are counted",
            "                    counts[places] = numbers\n",
            "                    counts[places] = 0\n",
        ),
        (
            "records that were gathered before others count once",
            "np.add.at(sums, which, numbers)",
            "sums[which] = numbers",
        ),
        by=("unit/curator/test_margins.py",),
    ),
)
