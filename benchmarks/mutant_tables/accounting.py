"""What noise costs: sensitivities, sums of budgets, conversions, and the audit of them."""

from __future__ import annotations

from .mutant import Mutant, broken

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/config/guarantee.py",
        (
            "a replaced unit is one change",
            '"replace-one": 2}',
            '"replace-one": 1}',
        ),
        by=("unit/privacy/test_sensitivity.py",),
    ),
    *broken(
        "synth/privacy/sensitivity.py",
        (
            "the L1 sensitivity of one record",
            "return UNITS_CHANGED[privacy.neighbours] * _records_per_unit(privacy.unit)\n",
            "return UNITS_CHANGED[privacy.neighbours]\n",
        ),
        (
            "the L2 sensitivity is not squared",
            "* _records_per_unit(privacy.unit) ** 2",
            "* _records_per_unit(privacy.unit)",
        ),
        (
            "max_records 0 is a bound",
            "and unit.max_records >= 1:",
            "and unit.max_records >= 0:",
        ),
        by=("unit/privacy/test_sensitivity.py",),
    ),
    *broken(
        "synth/privacy/population.py",
        (
            "parts that cost nothing beside everybody",
            "epsilon + max((part.epsilon for part in of_parts), default=0 * epsilon),",
            "max(epsilon, max((part.epsilon for part in of_parts), default=0 * epsilon)),",
        ),
        (
            "the cheapest part counts",
            "max((part.epsilon for part in of_parts), default=0 * epsilon)",
            "min((part.epsilon for part in of_parts), default=0 * epsilon)",
        ),
        (
            "delta of the cheapest part counts",
            "max((part.delta for part in of_parts), default=0 * delta)",
            "min((part.delta for part in of_parts), default=0 * delta)",
        ),
        by=("unit/privacy/test_parallel.py", "exact/test_parallel.py"),
    ),
    *broken(
        "synth/privacy/accounting.py",
        (
            "the last Gaussian table alone is paid for",
            "            rho += spent_rho\n",
            "            rho = spent_rho\n",
        ),
        (
            "the dearest pure event alone is paid for",
            "            pure += event.epsilon\n",
            "            pure = max(pure, event.epsilon)\n",
        ),
        (
            "choices cost no epsilon",
            "elif event.mechanism in (LAPLACE, PERMUTE_AND_FLIP) and event.epsilon is not None:\n"
            "            pure += event.epsilon\n",
            "elif event.mechanism in (LAPLACE, PERMUTE_AND_FLIP) and event.epsilon is not None:\n"
            "            pure += event.epsilon * (event.mechanism == LAPLACE)\n",
        ),
        (
            "a quarter of epsilon squared as rho",
            "as_rho += event.epsilon**2 / 2",
            "as_rho += event.epsilon**2 / 4",
        ),
        (
            "selections cost no delta",
            "selected += Budget(event.epsilon, event.delta)",
            "selected += Budget(event.epsilon, 0 * event.delta)",
        ),
        (
            "selections cost no epsilon",
            "selected += Budget(event.epsilon, event.delta)",
            "selected += Budget(0 * event.epsilon, event.delta)",
        ),
        (
            "delta of selections is spent twice",
            "left = delta - selected.delta",
            "left = delta",
        ),
        (
            "pure events are lost beside Gaussian ones",
            "epsilon = min(pure + rho_to_epsilon(rho, left), rho_to_epsilon(rho + as_rho, left))",
            "epsilon = min(rho_to_epsilon(rho, left), rho_to_epsilon(rho + as_rho, left))",
        ),
        (
            "pure events are not converted",
            "epsilon = min(pure + rho_to_epsilon(rho, left), rho_to_epsilon(rho + as_rho, left))",
            "epsilon = min(pure + rho_to_epsilon(rho, left), rho_to_epsilon(rho, left))",
        ),
        (
            "selections are lost beside Gaussian tables",
            "return Budget(epsilon + selected.epsilon, delta)",
            "return Budget(epsilon, delta)",
        ),
        (
            "a budget of 0 is an event",
            "if given <= 0 or min(whole) < 1:",
            "if given < 0 or min(whole) < 1:",
        ),
        (
            "a sensitivity of 0 is an event",
            "if given <= 0 or min(whole) < 1:",
            "if given <= 0 or min(whole) < 0:",
        ),
        (
            "a threshold of 0",
            "        if event.threshold < 1:\n",
            "        if event.threshold < 0:\n",
        ),
        (
            "a budget in floating point",
            "if type(self.epsilon) is not Fraction or type(self.delta) is not Fraction:",
            "if type(self.epsilon) is not Fraction:",
        ),
        (
            "Gaussian noise by twice its rho",
            "return self.sensitivity_l2_squared / (2 * self.rho)",
            "return self.sensitivity_l2_squared / (4 * self.rho)",
        ),
        by=(
            "unit/privacy/test_accounting.py",
            "unit/privacy/test_thresholds.py",
            "unit/privacy/test_concentrated.py",
        ),
    ),
    *broken(
        "synth/privacy/concentrated.py",
        (
            "epsilon without a margin",
            "MARGIN = Fraction(1, 10**40)",
            "MARGIN = Fraction(0)",
        ),
        (
            "epsilon is rounded down",
            "return _rounded(max(epsilon, SMALLEST), UP)",
            "return _rounded(max(epsilon, SMALLEST), DOWN)",
        ),
        (
            "rho is rounded up",
            "        if rho_to_epsilon(rho, delta) <= epsilon:\n",
            "        if rho_to_epsilon(rho, delta) <= epsilon * (1 + step):\n",
        ),
        (
            "the conversion without ln(alpha) / (alpha - 1)",
            "PRECISION.divide(log_alpha, x).copy_negate(),",
            "PRECISION.divide(log_alpha, x),",
        ),
        (
            "the conversion without ln(alpha)",
            "            log_alpha.copy_negate(),\n",
            "            log_alpha,\n",
        ),
        (
            "the conversion with alpha - 1 for alpha",
            "parts = [PRECISION.multiply(_plus_1(alpha_minus_1), exact_rho),",
            "parts = [PRECISION.multiply(alpha_minus_1, exact_rho),",
        ),
        (
            "delta of 1 for Gaussian noise",
            "if not SMALLEST_DELTA <= delta < 1:",
            "if not SMALLEST_DELTA <= delta <= 1:",
        ),
        (
            "digits of the caller",
            "PRECISION = Context(prec=60)",
            "PRECISION = Context(prec=14)",
        ),
        by=("unit/privacy/test_concentrated.py",),
    ),
    *broken(
        "synth/planning/rounds.py",
        (
            "a Laplace choice that the table does not pay",
            "OpenTableEvent(l1, each - choice)",
            "OpenTableEvent(l1, each)",
        ),
        (
            "a Gaussian choice that the table does not pay",
            "rho=each - choice**2 / 2,",
            "rho=each,",
        ),
        (
            "a round more than was paid for",
            "for number in range(count)\n",
            "for number in range(count + 1)\n",
        ),
        (
            "every choice among all candidates",
            "SelectionEvent(len(candidates) - number, choice)",
            "SelectionEvent(len(candidates), choice)",
        ),
        (
            "choices that are not charged",
            "for event in (each.selection, each.table))",
            "for event in (each.table,))",
        ),
        (
            "chosen Gaussian tables by the L1 sensitivity",
            "sensitivity_l2_squared=squared",
            "sensitivity_l2_squared=l1",
        ),
        by=(
            "unit/planning/test_adaptive.py",
            "exact/test_adaptive.py",
            "unit/release/test_planned.py",
        ),
    ),
    *broken(
        "synth/planning/spending.py",
        (
            "planned Laplace tables of one record",
            "cells, l1 = margin.cells(problem.universe), sensitivity_l1(problem.privacy)",
            "cells, l1 = margin.cells(problem.universe), 1",
        ),
        (
            "planned Gaussian tables by the L1 sensitivity",
            "sensitivity_l2_squared=sensitivity_l2_squared(problem.privacy),",
            "sensitivity_l2_squared=sensitivity_l1(problem.privacy),",
        ),
        by=("unit/planning/test_adaptive.py",),
    ),
    *broken(
        "synth/measurements/file.py",
        (
            "an event that is read with any threshold",
            "        if not keeps_its_delta(event):\n",
            "        if keeps_its_delta(event) is None:\n",
        ),
        by=("unit/measurements/test_event.py",),
    ),
    *broken(
        "synth/privacy/accounting.py",
        (
            "an event in a second spelling",
            "    if event.to_plain() != plain:",
            "    if event.to_plain().keys() != plain.keys():",
        ),
        by=("unit/measurements/test_event.py",),
    ),
    *broken(
        "synth/measurements/measurements.py",
        (
            "a hash without the counts",
            "        _update(digest, table.noisy_counts)\n",
            "        _update(digest, table.noisy_counts[:0])\n",
        ),
        (
            "a hash without the listed cells",
            "            _update(digest, table.codes)\n",
            "            _update(digest, table.codes[:0])\n",
        ),
        (
            "a hash without the choices",
            "        if self.selections:\n",
            "        if not self.selections:\n",
        ),
        by=(
            "unit/measurements/test_file.py",
            "unit/measurements/test_event.py",
            "unit/measurements/test_sparse_table.py",
        ),
    ),
    *broken(
        "synth/audit/canaries.py",
        (
            "a lower bound of one success more",
            "beta.ppf(miss, successes, trials - successes + 1)",
            "beta.ppf(miss, successes + 1, trials - successes)",
        ),
        (
            "a lower bound with ten times the chance to miss",
            "beta.ppf(miss, successes, trials - successes + 1)",
            "beta.ppf(min(1, 10 * miss), successes, trials - successes + 1)",
        ),
        (
            "an upper bound of one success less",
            "beta.isf(miss, successes + 1, trials - successes)",
            "beta.isf(miss, successes, trials - successes + 1)",
        ),
        by=("unit/audit/test_binomial_bounds.py",),
    ),
    *broken(
        "synth/audit/canaries.py",
        (
            "a Gaussian claim of twice the variance",
            "sigma_squared = self.sensitivity_l2_squared / (2 * rho)",
            "sigma_squared = self.sensitivity_l2_squared / rho",
        ),
        (
            "a Gaussian claim about one side",
            "inside = np.arange(-records // 2 + 1, records // 2 + 1)",
            "inside = np.arange(0, records // 2 + 1)",
        ),
        (
            "a Gaussian bound that is never above the claim",
            "while self.share_at(high) < share and high < self.rho * 2**20:",
            "while self.share_at(high) < share and high < self.rho:",
        ),
        (
            "a pure bound of half the evidence",
            "return math.log(share / (1 - share)) if share < 1 else math.inf",
            "return math.log(share) if share < 1 else math.inf",
        ),
        by=("unit/audit/test_claim.py",),
    ),
    *broken(
        "synth/audit/tables.py",
        (
            "tables together tell as much as the last",
            "evidence += _log_ratio(event, canaries, canaries.split(noisy, CANARIES))",
            "evidence = _log_ratio(event, canaries, canaries.split(noisy, CANARIES))",
        ),
        (
            "tables together are never over the budget",
            "exceeded=bound > epsilon * (1 + 1e-9),",
            "exceeded=bound > 1000 * epsilon,",
        ),
        by=("unit/audit/test_faults.py::test_a_plan_that_spends_too_much_is_seen_only_together",),
    ),
    *broken(
        "synth/privacy/population.py",
        (
            "everybody is a part",
            "return sums[None], tuple(",
            "return NOTHING, tuple(",
        ),
        (
            "the last charge of a part alone",
            "        sums[charge.part] += charge.budget\n",
            "        sums[charge.part] = charge.budget\n",
        ),
        (
            "promises that do not add up are added",
            "    common_promise(charge.promise for charge in every)\n",
            "",
        ),
        (
            "one promise of several is enough",
            "for promise in every}) > 1:",
            "for promise in every}) > 2:",
        ),
        (
            "parts are disjoint where one is replaced",
            'if charge.part is not None and charge.promise and charge.promise.neighbours != "add-remove":',
            "if charge.part is not None and charge.promise and not charge.promise.neighbours:",
        ),
        (
            "nothing is taken from what is left",
            "return Budget(cap.epsilon - total.epsilon, cap.delta - total.delta)",
            "return Budget(cap.epsilon, cap.delta - total.delta)",
        ),
        by=(
            "unit/bookkeeping/test_promises.py",
            "unit/bookkeeping/test_parts.py",
            "unit/bookkeeping/test_reservation.py",
            "end_to_end/test_disjoint_parts.py::test_parts_share_a_cap_that_their_sum_would_break",
        ),
    ),
    *broken(
        "synth/privacy/population.py",
        (
            "of a series one part more than may be shared is forgotten",
            "reverse=True)[: composition.most]",
            "reverse=True)[: composition.most - 1]",
        ),
        (
            "of a series the cheapest parts count",
            "(getattr(budget, name) for budget in of_parts), reverse=True)",
            "(getattr(budget, name) for budget in of_parts), reverse=False)",
        ),
        (
            "a window that is a period short",
            "if end - composition.most < number <= end),",
            "if end - composition.most + 1 < number <= end),",
        ),
        (
            "a window of charged parts, not of consecutive ones",
            "    numbers = sorted(parts)\n",
            "    numbers = list(range(len(parts)))\n"
            "    parts = dict(enumerate(parts[number] for number in sorted(parts)))\n",
        ),
        (
            "a sum that counts the largest part alone",
            "    if composition.most is None:\n        return sum(of_parts, NOTHING)\n",
            "    if composition.most is None:\n        composition = Composition('largest', 1)\n",
        ),
        (
            "two charges of one part differ",
            "        if parts.setdefault(series.part, charge.budget) != charge.budget:\n",
            "        if parts.setdefault(series.part, charge.budget) is None:\n",
        ),
        (
            "parts of other series of the same name",
            "        if not same_series(first, series):\n",
            "        if first.name != series.name:\n",
        ),
        (
            "parts that share replaced records",
            '        if series.rule == "largest" and neighbours != "add-remove":\n',
            '        if series.rule == "largest" and neighbours is None:\n',
        ),
        (
            "what a series costs is not added",
            "sum((account.spent for account in series_accounts(every)), sums[None])",
            "sums[None]",
        ),
        (
            "a series counts twice, in its account and by itself",
            "        if charge.series is None:\n            sums[charge.part]",
            "        if True:\n            sums[charge.part]",
        ),
        by=("unit/privacy/test_series.py",),
    ),
    *broken(
        "synth/bookkeeping/run.py",
        (
            "a further part of a series adds nothing",
            "Budget(after.epsilon - before.epsilon, after.delta - before.delta)",
            "Budget(0 * after.epsilon, after.delta - before.delta)",
        ),
        (
            "a part of a series is measured in two ways",
            "(run.tables, run.factorization) != (other.tables, other.factorization)",
            "run.charge != other.charge",
        ),
        by=("unit/bookkeeping/test_series.py",),
    ),
    *broken(
        "synth/bookkeeping/refusal.py",
        (
            "a series that divides the records otherwise goes on",
            "        if not same_series(run.series, asked):\n",
            "        if run.series.rule != asked.rule:\n",
        ),
        (
            "another delta within a part of a series",
            "(run.tables, run.factorization, run.charge) != (events, factorization, cost)",
            "(run.tables, run.factorization) != (events, factorization)",
        ),
        (
            "another plan within a part of a series",
            "(run.tables, run.factorization, run.charge) != (events, factorization, cost)",
            "(run.tables, run.charge) != (events, cost)",
        ),
        (
            "an earlier period of persons after a later one",
            "        if part.index > asked.index:\n",
            "        if part.index > asked.index + 1:\n",
        ),
        (
            "a later period of persons before one that is charged",
            "part.index < asked.index and run.state is RunState.RESERVED",
            "part.index < asked.index and run.state is RunState.VOIDED",
        ),
        by=("unit/bookkeeping/test_series.py",),
    ),
    *broken(
        "synth/bookkeeping/recount.py",
        (
            "another period's void frees the part",
            "            del of_series[name][event.release_id]\n",
            "            freed, _ = of_series[name][event.release_id]\n"
            "            of_series[name] = {\n"
            "                each: paid\n"
            "                for each, paid in of_series[name].items()\n"
            "                if paid[0]['part'] != freed['part']\n"
            "            }\n",
        ),
        (
            "the recount takes one part more",
            'range(len(left) if rule != "largest" else min(most, len(left)))',
            'range(len(left) if rule != "largest" else min(most + 1, len(left)))',
        ),
        (
            "the recount has longer windows",
            "range(start, start + most)",
            "range(start, start + most + 1)",
        ),
        by=("unit/bookkeeping/test_series.py",),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "the plan of a part of a series that was voided",
            "            if run.is_charged and run.series and",
            "            if run.series and",
        ),
        (
            "the plan of another part of a series",
            "(run.series.name, run.series.part) == (name, part)",
            "run.series.name == name",
        ),
        by=("unit/bookkeeping/test_series.py",),
    ),
    *broken(
        "synth/config/series.py",
        (
            "a person in several periods is charged once",
            "        if not self.is_about_persons and (self.rows",
            "        if (self.rows",
        ),
        (
            "the whole table again, charged once",
            '(self.rows == "new" or self.is_continual)',
            'self.rows in ("new", "all")',
        ),
        (
            "a window that is forgotten",
            "        if self.window is not None:\n            return Comp",
            "        if self.window == 0:\n            return Comp",
        ),
        (
            "the next horizon is not charged",
            "        part = self.cycle(index) if self.is_continual else index\n",
            "        part = 0 if self.is_continual else index\n",
        ),
        (
            "a horizon that is a period longer than its charge",
            "        return (index - 1) // self.horizon\n",
            "        return index // (self.horizon + 1)\n",
        ),
        (
            "a period after the horizon",
            "        if self.ends_after is not None and index > self.ends_after:\n",
            "        if self.ends_after is not None and index > self.ends_after + 1:\n",
        ),
        (
            "a period is published before it ends",
            "self.period_number(index) + 1, self.every)",
            "self.period_number(index), self.every)",
        ),
        by=("unit/config/test_series.py",),
    ),
    *broken(
        "synth/config/series_rules.py",
        (
            "new records that are the same ones every time",
            '    if series.rows == "new" and series.selected_by == "nothing":\n',
            '    if series.rows == "none" and series.selected_by == "nothing":\n',
        ),
        (
            "max_periods where nobody enforces it",
            '        elif series.rows != "new" or series.selected_by != "where":\n',
            '        elif series.rows != "new":\n',
        ),
        (
            "a horizon over the cap",
            "        if each and counted * each > cap and counted > 1:\n",
            "        if each and each > cap and counted > 1:\n",
        ),
        by=("configs/test_fixtures.py", "unit/config/test_series.py"),
    ),
    *broken(
        "synth/config/series_rules.py",
        (
            "another column of dates is the same series",
            '            "where": None if source.where is None else asdict(source.where),\n',
            "",
        ),
        (
            "another first period is the same series",
            '            "first": series.first,\n',
            "",
        ),
        (
            "another bound on periods is the same series",
            '            "max_periods": series.max_periods,\n',
            "",
        ),
        (
            "another horizon of one charge is the same series",
            '            "horizon": series.horizon if is_continual else None,\n',
            "",
        ),
        by=("unit/config/test_series.py",),
    ),
    *broken(
        "synth/config/config.py",
        (
            "a horizon that is counted from its second period",
            "        before_horizon = number - series.within_cycle(index)\n",
            "        before_horizon = number - series.within_cycle(index) + 1\n",
        ),
        (
            "new records of another period",
            "            weights = [(series.within_cycle(index), 1)]\n",
            "            weights = [(series.within_cycle(index) + 1, 1)]\n",
        ),
        (
            "persons are bounded in each node alone",
            "is_bounded = series.is_continual and series.is_about_persons",
            "is_bounded = False",
        ),
        (
            "the bound on periods is not handed on",
            "            max_periods=series.max_periods,\n",
            "            max_periods=None,\n",
        ),
        by=("unit/config/test_series.py",),
    ),
    *broken(
        "synth/config/series_rules.py",
        (
            "an approval that ignores the horizon",
            '    del series["period"]\n',
            '    del series["period"], series["horizon"]\n',
        ),
        (
            "an approval that ignores what comes after the horizon",
            '    del series["period"]\n',
            '    del series["period"], series["renewal"]\n',
        ),
        (
            "an approval that ignores the rest of the configuration",
            '    of_series = {**public, "series"',
            '    of_series = {"series"',
        ),
        by=("unit/policy/test_approval.py",),
    ),
    *broken(
        "synth/policy/approval.py",
        (
            "an approval of a release is one of its series",
            "    return config.series_hash if whole_series else config.hash\n",
            "    return config.hash\n",
        ),
        (
            "an approval of a series by name alone",
            "        content = approved_content(self.release_id, approved)\n",
            "        content = approved_content(self.release_id, self.configuration_hash)\n",
        ),
        by=("unit/policy/test_approval.py",),
    ),
    *broken(
        "synth/policy/violations.py",
        (
            "a cap for windows of any length",
            "window < caps.shortest_window)",
            "window < 1)",
        ),
        by=("unit/policy/test_violations.py",),
    ),
    *broken(
        "synth/privacy/promise.py",
        (
            "epsilons of persons and records add up",
            "return self.neighbours, self.person_column",
            "return self.neighbours, None",
        ),
        (
            "epsilons of two relations add up",
            "return self.terms == other.terms",
            "return self.person_column == other.person_column",
        ),
        (
            "a promise of no records",
            "self.max_records < 1\n",
            "self.max_records < 0\n",
        ),
        by=("unit/bookkeeping/test_promises.py",),
    ),
    *broken(
        "synth/planning/spending.py",
        (
            "the others give nothing up for the total",
            "kept = 1 - spent / laplace",
            "kept = 1",
        ),
        (
            "Gaussian tables give nothing up for the total",
            "        kept = 1 - TOTAL_SHARE\n",
            "        kept = 1\n",
        ),
        by=("unit/planning/test_spending.py",),
    ),
    *broken(
        "synth/audit/counting.py",
        (
            "a change that is not the largest",
            "self.l1 = max(self.l1, l1)",
            "self.l1 = min(self.l1, l1)",
        ),
        (
            "neighbours that are none are compared",
            "return len(one ^ other) == 1",
            "return len(one ^ other) == 0",
        ),
        by=(
            "unit/audit/test_counting.py",
            "unit/audit/test_mutants.py",
        ),
    ),
    *broken(
        "synth/audit/findings.py",
        (
            "guesses that are never over their claim",
            "exceeded=share > claim.share_right * (1 + 1e-9),",
            "exceeded=share > 2,",
        ),
        by=(
            "unit/audit/test_faults.py",
            "unit/audit/test_mutants.py",
        ),
    ),
    *broken(
        "synth/audit/choices.py",
        (
            "a private choice by a unit that is always there",
            "heads=bit)",
            "heads=True)",
        ),
        by=(
            "unit/audit/test_faults.py",
            "unit/audit/test_mutants.py",
        ),
    ),
    *broken(
        "synth/audit/lists.py",
        (
            "a delta that is never exceeded by law",
            "exceeded=told > delta,",
            "exceeded=told > 1,",
        ),
        (
            "empty cells that are listed unseen",
            "        empty += len(cells) - int(np.count_nonzero(filled))\n",
            "",
        ),
        by=("unit/audit/test_faults.py",),
    ),
    *broken(
        "synth/privacy/population.py",
        (
            "what is charged to parts costs nothing",
            "    return parallel_total(whole, (budget for _, budget in of_parts))\n",
            "    return parallel_total(whole, (budget for _, budget in of_parts[:0]))\n",
        ),
        by=("unit/bookkeeping/test_promises.py",),
    ),
    *broken(
        "synth/audit/made_up_sources.py",
        (
            "made-up persons share an id",
            "text = ways[number % len(ways)](number // len(ways))",
            "text = ways[number % len(ways)](0)",
        ),
        by=("unit/audit/test_counting.py::test_no_two_persons_have_the_same_id",),
    ),
    *broken(
        "synth/audit/counting.py",
        (
            "neighbours that differ by nothing",
            "                largest_l1=table.l1,\n",
            "                largest_l1=0,\n",
        ),
        by=(
            "unit/audit/test_counting.py",
            "unit/audit/test_mutants.py",
        ),
    ),
    *broken(
        "synth/audit/whole_run.py",
        (
            "a whole run whose canaries are always there",
            "there[::step] = bits",
            "there[::step] = True",
        ),
        by=("unit/audit/test_faults.py",),
    ),
    *broken(
        "synth/audit/lists.py",
        (
            "lists that are not sampled",
            "        findings += _by_sampling(number, sampled, pattern, scaled, trials)\n",
            "        pass\n",
        ),
        by=("unit/audit/test_faults.py",),
    ),
    *broken(
        "synth/audit/audit.py",
        (
            "the error of one bound is not counted",
            "whole_run, together, reuse = 1,",
            "whole_run, together, reuse = 0,",
        ),
        by=("unit/audit/test_counting.py::test_the_error_is_split_over_all_bounds",),
    ),
    *broken(
        "synth/audit/reuse.py",
        (
            "distances at which noise is used again are not looked at",
            "distance, excess = _worst_distance(signs, miss / 2)",
            "distance, excess = 0, 0",
        ),
        (
            "windows of noise that are used again are not looked at",
            "_repeated_windows(signs[signs != 0] > 0)",
            "0",
        ),
        (
            "signs of the first measurement alone",
            "signs = np.concatenate([*self._parts, np.empty(0, dtype=np.int8)])",
            "signs = np.concatenate([*self._parts[:1], np.empty(0, dtype=np.int8)])",
        ),
        by=("unit/audit/test_reuse.py",),
    ),
)
