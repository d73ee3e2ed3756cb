"""The look before the plan: its profile, its charge, what is left, and what may depend on it."""

from __future__ import annotations

from .mutant import Mutant, broken

EXACT = ("exact/test_look.py",)

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/planning/look.py",
        (
            "the tables after a look get the whole epsilon, and the charge is more",
            "AfterLookEvent(privacy.epsilon - spent, privacy.delta)",
            "AfterLookEvent(privacy.epsilon, privacy.delta)",
        ),
        (
            "a look with the sensitivity of one record",
            "LookEvent((1, hidden + 1), pairs, look_sensitivity(privacy, pairs), spent)",
            "LookEvent((1, hidden + 1), pairs, 2 if pairs else 1, spent)",
        ),
        (
            "how far pairs depend is measured for nothing",
            "spent = LOOK_SHARE * privacy.epsilon * (2 if pairs else 1)\n",
            "spent = LOOK_SHARE * privacy.epsilon\n",
        ),
        (
            "the only pair is seen for ranges alone",
            "q.weight and (q.is_table or not only)",
            "q.weight",
        ),
        (
            "a look is allowed any plan",
            "return spent.epsilon <= self.after.epsilon and spent.delta <= self.after.delta\n",
            "return True\n",
        ),
        (
            "the plan after a look has the epsilon of all",
            "privacy = replace(problem.privacy, epsilon=look.after.epsilon, delta=look.after.delta)\n",
            "privacy = problem.privacy\n",
        ),
        (
            "a negative number of records",
            "records = min(max(found, 0), MOST_RECORDS)",
            "records = min(abs(found), MOST_RECORDS)",
        ),
        (
            "a noisy number in place of the public one",
            "found = sum(classes) if problem.total is None else problem.total",
            "found = sum(classes)",
        ),
        (
            "every cell of records that noise hides from a look, too",
            "0.0 if may_be_hidden(problem, likely) else None",
            "None",
        ),
        (
            "a number decides whatever its noise",
            "if records < max(SURE * deviation, 1):",
            "if records < 1:",
        ),
        (
            "the universe where hardly a record stands out",
            "!= left_out]",
            "== left_out]",
        ),
        (
            "the universe for single columns",
            "    if not left_out and not _asks_for_several(problem):\n        return drawable\n",
            "",
        ),
        (
            "the universe however wide the noise",
            "- BY_NOISE * noise",
            "+ BY_NOISE * noise",
        ),
        (
            "the universe however few the records",
            "math.log(problem.records)",
            "math.log(problem.universe.size)",
        ),
        (
            "the universe block by block as if it were fitted at once",
            "    if not is_held(problem.universe):\n        return visible <= TOGETHER\n",
            "",
        ),
        (
            "no universe of lone records, however little noise there is",
            "    if clear:\n",
            "    if not drawable:\n",
        ),
        (
            "a universe whose noise hides lone records",
            "scales * full.sensitivity_l1 < full.epsilon",
            "full.sensitivity_l1 < full.epsilon",
        ),
        by=("unit/planning/test_look.py", *EXACT),
    ),
    *broken(
        "synth/curator/boundary.py",
        (
            "a look with the noise of the first table",
            "event.as_table, number=LOOK_NUMBER, stream=stream)",
            "event.as_table, number=0, stream=stream)",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/planning/weighing.py",
        (
            "the plan of a guess, whatever the look says",
            "    problem = problem_to_plan(config, noisy_counts)\n",
            "    problem = problem_to_plan(config)\n",
        ),
        (
            "a look that is not charged",
            "    return look.events\n",
            "    return look.events[1:]\n",
        ),
        by=("unit/planning/test_look.py", "end_to_end/test_look.py"),
    ),
    *broken(
        "synth/curator/measuring.py",
        (
            "the planner is given the exact profile",
            "            seen = measure_look(exact, look.event, stream=stream)\n",
            "            exact = exact.consume()\n"
            "            seen = measure_look(Sensitive(exact.copy()), look.event, stream=stream)\n"
            "            plan_after = (lambda plan, counts: lambda look: plan(\n"
            "                replace(look, noisy_counts=tuple(counts.tolist()))\n"
            "            ))(plan_after, exact)\n",
        ),
        (
            "a plan after a look is not held against what is left",
            "        if not look.allows(plan.events if isinstance(plan, Schedule) else plan):\n",
            "        if False:\n",
        ),
        (
            "progress tells how many tables a look led to",
            "counted, stream, fit, told=False)",
            "counted, stream, fit)",
        ),
        by=(
            *EXACT,
            "end_to_end/test_look.py::test_nothing_but_noisy_numbers_depends_on_what_the_look_says",
        ),
    ),
    *broken(
        "synth/curator/measuring.py",
        (
            "pairs after a look are chosen by exact columns",
            "            guess = fit(measured)\n",
            "            exact = 9 * sensitive_tables[0].sum()\n"
            "            guess = lambda margin: np.full(margin.cells(universe), exact)\n",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/planning/look.py",
        (
            "choices after a look are not held against what is left",
            "        spent = total_budget(events, delta=self.after.delta)\n",
            "        events = [each for each in events if hasattr(each, 'cells')]\n"
            "        spent = total_budget(events, delta=self.after.delta)\n",
        ),
        by=("unit/planning/test_look.py",),
    ),
    *broken(
        "synth/job/pipeline.py",
        (
            "a look that is not durable before it is planned by",
            "        if seen is None:\n            with translate_write_errors",
            "        if False:\n            with translate_write_errors",
        ),
        (
            "a look that is kept and taken again",
            "            seen=seen,\n",
            "            seen=None,\n",
        ),
        by=("end_to_end/test_look.py::test_a_run_that_stops_after_its_look_takes_no_second_one",),
    ),
    *broken(
        "synth/bookkeeping/run_directory.py",
        (
            "a run that took its look can be voided",
            "for name in (MEASUREMENTS, RECEIPT, LOOK))",
            "for name in (MEASUREMENTS, RECEIPT))",
        ),
        by=("end_to_end/test_look.py::test_a_run_that_stops_after_its_look_takes_no_second_one",),
    ),
    *broken(
        "synth/curator/counting/look.py",
        (
            "a profile of the records of all cells that reach a place",
            "total += np.maximum(block - (first - 1), 0).sum()",
            "total += block[block >= first].sum()",
        ),
        (
            "a distance from independence that a record changes by two",
            "return apart // (4 * max(records, 1) * len(pairs))",
            "return apart // (2 * max(records, 1) * len(pairs))",
        ),
        (
            "the distances of all pairs, which a record changes all at once",
            "return apart // (4 * max(records, 1) * len(pairs))",
            "return apart // (4 * max(records, 1))",
        ),
        (
            "a distance that is rounded twice",
            "return int(filled.sum()) + records**2 - int(product.sum())",
            "return (int(filled.sum()) + records**2 - int(product.sum())) // 10 * 10",
        ),
        (
            "empty cells of a pair are left out of its distance",
            "return int(filled.sum()) + records**2 - int(product.sum())",
            "return int(filled.sum())",
        ),
        (
            "squares of many records in 64 bits",
            "_EXACT_IN_64_BITS = 1 << 31",
            "_EXACT_IN_64_BITS = 1 << 62",
        ),
        (
            "a look that leaves the dependence out",
            "found = np.append(found, dependence(held, event.pairs, universe))",
            "found = np.append(found, 0)",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/curator/counting/tabulate.py",
        (
            "only the first cells are compared with a product",
            "for start in range(0, len(held.counts), CELLS_AT_ONCE):",
            "for start in range(0, len(held.counts), 2 * CELLS_AT_ONCE):",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/privacy/sensitivity.py",
        (
            "a look of which only one count moves",
            "return (2 if pairs else 1) * sensitivity_l1(privacy)",
            "return sensitivity_l1(privacy)",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/audit/counting.py",
        (
            "the audit of a look has no kind of record that is rare",
            "neighbours += _compare_in_two_cells(counter, records, tables) if look.event.pairs else 0",
            "neighbours += 0",
        ),
        by=("unit/audit/test_look.py",),
    ),
    *broken(
        "synth/release/manifest/guarantee.py",
        (
            "the promise after a look is what its tables happened to cost",
            "    if look is not None:\n        events = (look.event, after_look_event(config, look))\n",
            "",
        ),
        by=("end_to_end/test_look.py",),
    ),
    *broken(
        "synth/release/verification/measurements_check.py",
        (
            "another look than the configuration asks for",
            "    if (None if found is None else found.event) != asked:\n",
            "    if False:\n",
        ),
        (
            "tables of a guess pass for those after a look",
            "            way = planned_way(config, measurements.look.noisy_counts)\n",
            "            way = planned_way(config)\n",
        ),
        by=("end_to_end/test_look.py",),
    ),
    *broken(
        "synth/bookkeeping/run.py",
        (
            "a look charged without what follows",
            "    if kinds != [LookEvent, AfterLookEvent]:\n",
            "    if False:\n",
        ),
        by=EXACT,
    ),
    *broken(
        "synth/privacy/accounting.py",
        (
            "what follows a look costs nothing",
            '        return Budget(self.epsilon, self.delta)\n\n    def to_plain(self) -> dict[str, Any]:\n        """JSON values; exact numbers as text.',
            '        return Budget(Fraction(0), self.delta)\n\n    def to_plain(self) -> dict[str, Any]:\n        """JSON values; exact numbers as text.',
        ),
        by=("unit/planning/test_look.py", *EXACT),
    ),
)
