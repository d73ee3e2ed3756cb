"""The ledger: charges, refusals, the chain, the order of states, tokens, and what is durable."""

from __future__ import annotations

from .mutant import Mutant, broken

INTERRUPTED = tuple(
    f"faults/test_interrupted_runs.py::{test}"
    for test in (
        "test_tampered_measurements_are_not_published",
        "test_measurements_of_another_ledger_are_not_taken_for_ours",
        "test_a_ledger_without_its_run_directory_draws_and_voids_nothing",
    )
)

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "a cap that is not looked at",
            "        if exceeds(position):\n",
            "        if exceeds(position) is None:\n",
        ),
        (
            "every start is charged anew",
            "if run is None or not run.is_charged:",
            "if run is None or run.is_charged:",
        ),
        (
            "a release without a charge",
            "    if cost.epsilon <= 0:\n",
            "    if cost.epsilon < 0:\n",
        ),
        (
            "another release is taken up",
            '    check_same_release(\n        run, asked["configuration_hash"], population, tuple(asked["events"]), part, promise\n    )\n',
            "",
        ),
        (
            "an attempt that is not recorded",
            '                self._append("attempt", population, release_id, {})\n',
            "                pass\n",
        ),
        (
            "a reservation by what was read before",
            "            self._follow()\n            known = _admitted(",
            "            known = _admitted(",
        ),
        (
            "a charge without delta",
            'return total_budget(asked["events"], delta=asked.get("delta", NO_DELTA))',
            'return Budget(total_budget(asked["events"], delta=asked.get("delta", NO_DELTA)).epsilon, NO_DELTA)',
        ),
        (
            "any division of a population",
            "        check_division(division_of(charged), part, population)\n",
            "",
        ),
        by=(
            "unit/bookkeeping/test_reservation.py",
            "unit/bookkeeping/test_gaussian_charges.py",
            "unit/bookkeeping/test_parts.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "any step of a run",
            "            check_step(run, state)\n",
            "",
        ),
        (
            "a step done twice in two ways",
            "                check_done_once(run, dict(details or {}))\n",
            "",
        ),
        (
            "a run that was measured is voided",
            "            check_voidable(run, noise_exists=noise_exists(lock.path.parent))\n",
            "            check_voidable(run, noise_exists=False)\n",
        ),
        (
            "any run is voided",
            "                check_voidable(run, noise_exists=noise_exists(lock.path.parent))\n",
            "",
        ),
        (
            "a run under way is voided",
            "        with lock:\n",
            "        if lock:\n",
        ),
        (
            "a run is voided without a reason",
            "        if not reason.strip():\n",
            "        if not reason:\n",
        ),
        by=("unit/bookkeeping/test_journal.py",),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "an attempt in any directory",
            "    if run.state is RunState.RESERVED:\n        require_token(path, run)\n",
            "",
        ),
        (
            "voided from any directory",
            "                require_token(self._file.path, run)\n",
            "",
        ),
        by=INTERRUPTED,
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "no recount when a ledger is opened",
            "            check_totals(self._book, file.events_after(0))\n",
            "",
        ),
        (
            "an event that is chained to the first",
            "            previous_hash=head,\n",
            "            previous_hash=self._book.head,\n",
        ),
        (
            "a header that the events do not tell of",
            "        if version != self._book.schema_version:\n",
            "        if version < self._book.schema_version:\n",
        ),
        by=("unit/bookkeeping/test_chain.py", "unit/bookkeeping/test_parts.py"),
    ),
    *broken(
        "synth/bookkeeping/book.py",
        (
            "a missing event",
            "        if event.seq != self.seq + 1:\n",
            "        if event.seq <= self.seq:\n",
        ),
        (
            "a chain without the hash before",
            "if event.previous_hash != self.head or event.hash != event.expected_hash:",
            "if event.hash != event.expected_hash:",
        ),
        (
            "an event of any content",
            "if event.previous_hash != self.head or event.hash != event.expected_hash:",
            "if event.previous_hash != self.head:",
        ),
        (
            "voided runs count",
            "if run.population == population and run.is_charged",
            "if run.population == population",
        ),
        (
            "runs of other populations count",
            "if run.population == population and run.is_charged",
            "if run.is_charged",
        ),
        (
            "an event for another population",
            "        if event.population != run.population:\n",
            "        if not event.population:\n",
        ),
        (
            "a charge that is not that of its tables",
            "if total_budget(run.tables, delta=charge.delta) != charge or exceeds(position):",
            "if exceeds(position):",
        ),
        (
            "a reservation over the cap is read",
            "if total_budget(run.tables, delta=charge.delta) != charge or exceeds(position):",
            "if total_budget(run.tables, delta=charge.delta) != charge:",
        ),
        (
            "reserved twice",
            "            if earlier.is_charged:\n",
            "            if not earlier.is_charged and earlier.is_charged:\n",
        ),
        (
            "any order of states is read",
            "        if NEXT_STATE.get(run.state) is not state:\n",
            "        if state not in NEXT_STATE.values():\n",
        ),
        (
            "a measured run is voided when read",
            "            if run.state is not RunState.RESERVED:\n",
            "            if run.state is RunState.VOIDED:\n",
        ),
        (
            "a second first event",
            'if event.seq != 1 or payload["schema_version"] not in SCHEMA_VERSIONS:',
            'if payload["schema_version"] not in SCHEMA_VERSIONS:',
        ),
        by=("unit/bookkeeping/test_chain.py", "unit/bookkeeping/test_reservation.py"),
    ),
    *broken(
        "synth/bookkeeping/file.py",
        (
            "a hash without the hash before",
            "canonical_json(list(fields)).encode",
            "canonical_json([fields[0], *fields[2:]]).encode",
        ),
        (
            "a hash without the payload",
            "canonical_json(list(fields)).encode",
            "canonical_json(list(fields[:-1])).encode",
        ),
        by=("unit/bookkeeping/test_chain.py",),
    ),
    *broken(
        "synth/strict_json.py",
        (
            "an event in two spellings",
            "value, sort_keys=True, separators",
            "value, sort_keys=False, separators",
        ),
        by=("unit/bookkeeping/test_chain.py",),
    ),
    *broken(
        "synth/bookkeeping/run.py",
        (
            "epsilon over the cap is allowed",
            "return position.left.epsilon < 0 or position.left.delta < 0",
            "return position.left.delta < 0",
        ),
        (
            "delta over the cap is allowed",
            "return position.left.epsilon < 0 or position.left.delta < 0",
            "return position.left.epsilon < 0",
        ),
        (
            "the cap itself is refused",
            "return position.left.epsilon < 0 or position.left.delta < 0",
            "return position.left.epsilon <= 0 or position.left.delta < 0",
        ),
        (
            "other parts for the same reason",
            "return (part.parts, part.source) == (other.parts, other.source)",
            "return part.source == other.source",
        ),
        (
            "the same parts for another reason",
            "return (part.parts, part.source) == (other.parts, other.source)",
            "return part.parts == other.parts",
        ),
        by=(
            "unit/bookkeeping/test_reservation.py",
            "unit/bookkeeping/test_gaussian_charges.py",
            "unit/bookkeeping/test_parts.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/recount.py",
        (
            "the recount forgets what was voided",
            "            account[:] = map(_less, account, charge)\n",
            "            account[:] = account\n",
        ),
        (
            "the recount adds up parts",
            "        elif _less(account[which], largest)[0] > 0:\n            largest = account[which]\n",
            "        else:\n            largest = _add(largest, account[which])\n",
        ),
        (
            "the recount takes the smallest part",
            "elif _less(account[which], largest)[0] > 0:",
            "elif _less(account[which], largest)[0] < 0:",
        ),
        (
            "the recount believes every Gaussian charge",
            "    if reached > log_delta + SLACK:\n",
            "    if reached > log_delta + 1e9:\n",
        ),
        (
            "the recount forgets the choices",
            '            pure = _add(pure, _ratio(event["epsilon"]))\n',
            '            pure = _add(pure, _ratio(event["epsilon"] if "table" in event else "0"))\n',
        ),
        (
            "the recount forgets delta of selections",
            '            selected_delta = _add(selected_delta, _ratio(event["delta"]))\n',
            "            selected_delta = _add(selected_delta, (0, 1))\n",
        ),
        (
            "the recount converts with half of the pure events",
            "_log_delta(rho + squares / 2, _float(for_the_others)),",
            "_log_delta(rho + squares / 8, _float(for_the_others)),",
        ),
        (
            "the recount takes the delta of all for the rest",
            "    left = _less(loss, selected_delta)\n",
            "    left = loss\n",
        ),
        by=(
            "unit/bookkeeping/test_recount.py",
            "unit/bookkeeping/test_reservation.py",
            "unit/bookkeeping/test_gaussian_charges.py",
            "unit/bookkeeping/test_partition_selection.py",
            "unit/bookkeeping/test_parts.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/book.py",
        (
            "two sums may differ",
            "        if added != (epsilon, delta):\n",
            "        if added is None:\n",
        ),
        (
            "a ledger without events",
            "        if book.seq == 0:\n",
            "        if book.seq < 0:\n",
        ),
        (
            "a recount that fails is no reason",
            '        raise BugError("a charge of the ledger does not cover its tables") from error\n',
            "        return\n",
        ),
        by=(
            "unit/bookkeeping/test_chain.py",
            "unit/bookkeeping/test_gaussian_charges.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/refusal.py",
        (
            "another configuration of a release",
            "if (run.configuration_hash, run.population) != (configuration_hash, population):",
            "if run.population != population:",
        ),
        (
            "another population of a release",
            "if (run.configuration_hash, run.population) != (configuration_hash, population):",
            "if run.configuration_hash != configuration_hash:",
        ),
        (
            "other tables of a reservation",
            "elif run.state is RunState.RESERVED and run.tables != tables:",
            "elif run.state is RunState.VOIDED and run.tables != tables:",
        ),
        (
            "another part of a release",
            "    elif run.part != part:\n",
            "    elif run.part is None and part is not None:\n",
        ),
        (
            "noise that exists is voided",
            "if run.state is not RunState.RESERVED or noise_exists:",
            "if run.state is not RunState.RESERVED:",
        ),
        (
            "details of a state may change",
            "    if details and details != run.recorded(run.state):\n",
            "    if details and not run.recorded(run.state):\n",
        ),
        by=(
            "unit/bookkeeping/test_reservation.py",
            "unit/bookkeeping/test_journal.py",
            "unit/bookkeeping/test_parts.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/run.py",
        (
            "published before the source is disposed of",
            "    RunState.MEASURED: RunState.DISCARDED,\n    RunState.DISCARDED: RunState.PUBLISHED,\n",
            "    RunState.MEASURED: RunState.PUBLISHED,\n    RunState.PUBLISHED: RunState.DISCARDED,\n",
        ),
        (
            "a voided run is charged",
            "return self.state is not RunState.VOIDED",
            "return self.state is not RunState.PLANNED",
        ),
        by=("unit/bookkeeping/test_journal.py", "unit/bookkeeping/test_reservation.py"),
    ),
    *broken(
        "synth/bookkeeping/file.py",
        (
            "commits that a power cut may undo",
            'self._connection.execute("PRAGMA synchronous = EXTRA")',
            'self._connection.execute("PRAGMA synchronous = NORMAL")',
        ),
        (
            "an error inside a transaction is committed",
            '                    self._connection.execute("ROLLBACK")\n            raise\n',
            '                    self._connection.execute("COMMIT")\n            raise\n',
        ),
        (
            "triggers are not looked at",
            "if sorted(str(sql) for (sql,) in statements) != sorted(SCHEMA):",
            "if not statements:",
        ),
        (
            "a database of another program",
            "        if application != APPLICATION_ID:\n",
            "        if application is None:\n",
        ),
        (
            "a ledger of another schema",
            "        if version not in SCHEMA_VERSIONS:\n",
            "        if version is None:\n",
        ),
        by=(
            "unit/bookkeeping/test_file.py",
            "unit/bookkeeping/test_chain.py",
            "unit/bookkeeping/test_parts.py",
        ),
    ),
    *broken(
        "synth/bookkeeping/run_directory.py",
        (
            "any directory is the one of the reservation",
            "    if _token(run_directory_of(ledger_path, run.release_id)) != run.token:\n",
            "    if not run.token:\n",
        ),
        (
            "measurements of another ledger are taken over",
            "    if noise_exists(directory):\n",
            "    if False:\n",
        ),
        by=(
            *INTERRUPTED,
            "unit/bookkeeping/test_reservation.py::"
            "test_measurements_that_were_not_charged_here_are_not_taken_over",
        ),
    ),
    *broken(
        "synth/bookkeeping/run_directory.py",
        (
            "measurements that were changed are published",
            "    if digest != receipt.measurements_sha256:\n",
            "    if not digest:\n",
        ),
        by=INTERRUPTED,
    ),
    *broken(
        "synth/bookkeeping/run_directory.py",
        (
            "a lock that is shared",
            "fcntl.LOCK_EX | fcntl.LOCK_NB",
            "fcntl.LOCK_SH | fcntl.LOCK_NB",
        ),
        (
            "a lock that is let go at once",
            "        return descriptor\n",
            "        os.close(descriptor)\n        return os.dup(0)\n",
        ),
        by=("unit/bookkeeping/test_lock.py",),
    ),
    *broken(
        "synth/measurements/receipt.py",
        (
            "what is left without this release",
            "        after = self.spent_after\n",
            "        after = self.spent_before\n",
        ),
        (
            "the sum without what was spent",
            "for budget in (self.spent_before, self.spent_now)",
            "for budget in (self.spent_now,)",
        ),
        by=("unit/bookkeeping/test_reservation.py",),
    ),
    *broken(
        "synth/privacy/population.py",
        (
            "a release about everybody is charged to nobody",
            "return replace(self, whole=self.whole + charge)",
            "return replace(self, whole=self.whole)",
        ),
        (
            "a release about a part is charged to the others",
            "(name, budget + charge if name == self.part else budget)",
            "(name, budget if name == self.part else budget + charge)",
        ),
        by=("unit/bookkeeping/test_parts.py",),
    ),
    *broken(
        "synth/measurements/durable.py",
        (
            "a file is replaced before it is whole",
            "    partial = _write_partial(path, write)\n    try:\n        partial.replace(path)\n",
            '    partial = path\n    path.write_bytes(b"")\n    with path.open("wb") as stream:\n'
            "        write(stream)\n    try:\n        partial.replace(path)\n",
        ),
        (
            "files that others can read, in spite of the umask",
            "    os.fchmod(stream.fileno(), 0o600)\n",
            "    os.fchmod(stream.fileno(), 0o644)\n",
        ),
        (
            "directories that others can enter",
            "            directory.chmod(0o700)\n",
            "            directory.chmod(0o755)\n",
        ),
        (
            "what was half written stays",
            "    except BaseException:\n        partial.unlink(missing_ok=True)\n        raise\n"
            "    return partial\n",
            "    except BaseException:\n        raise\n    return partial\n",
        ),
        by=("unit/measurements/test_durable.py",),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "another promise of a population",
            "        check_promise(charged, promise, population)\n",
            "",
        ),
        (
            "two spellings are two populations",
            "        check_spelling(book.charged_populations(), population)\n",
            "",
        ),
        by=("unit/bookkeeping/test_promises.py",),
    ),
    *broken(
        "synth/bookkeeping/refusal.py",
        (
            "no promise was kept and none is missed",
            "    if known is None:\n        raise BudgetRefusedError(",
            '    if known is None and population == "":\n        raise BudgetRefusedError(',
        ),
        (
            "any promise adds up",
            "    if known.adds_up_with(asked):\n",
            "    if known:\n",
        ),
        (
            "a spelling is its letters",
            "if as_read(name) == as_read(population)]",
            "if name == population]",
        ),
        by=("unit/bookkeeping/test_promises.py",),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "a lost ledger is begun anew",
            "    if traces:\n        raise ledger_gone(path, traces[0].release_id)\n",
            "",
        ),
        (
            "a restored ledger is taken for whole",
            "            if not is_known:\n                raise ledger_behind(",
            "            if is_known is None:\n                raise ledger_behind(",
        ),
        (
            "how far the chain came is not noted",
            "        keep_head(self._file.path, release_id, self._book.head)\n",
            "",
        ),
        by=("faults/test_lost_and_restored.py",),
    ),
    *broken(
        "synth/bookkeeping/run_directory.py",
        (
            "a head that is not kept",
            'stream.write(f"{token}\\n{head}".encode())',
            "stream.write(token.encode())",
        ),
        (
            "runs that leave no traces",
            "        if drawn or (directory / TOKEN).exists():\n",
            "        if drawn and directory.is_file():\n",
        ),
        by=("faults/test_lost_and_restored.py",),
    ),
    *broken(
        "synth/bookkeeping/statement.py",
        (
            "any hash of a reservation",
            'if position.reservation_hash != published["reservation_hash"]:',
            "if not position.reservation_hash:",
        ),
        (
            "any account is anchored",
            "        if published[key] != value:\n",
            "        if published[key] is None:\n",
        ),
        (
            "a second draw for one charge",
            "    elif measured != measurements_sha256:\n",
            "    elif not measured:\n",
        ),
        by=("end_to_end/test_anchor.py",),
    ),
    *broken(
        "synth/bookkeeping/ledger.py",
        (
            "room by an empty book",
            "                book = ledger._book\n",
            "                pass\n",
        ),
        by=(
            "unit/bookkeeping/test_reservation.py",
            "unit/bookkeeping/test_stateful.py",
        ),
    ),
)
