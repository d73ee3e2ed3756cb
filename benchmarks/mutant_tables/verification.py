"""Verification: every check of a release that is not trusted."""

from __future__ import annotations

from .mutant import Mutant, broken

TAMPERED = "end_to_end/test_tampering.py::test_"

MUTANTS: tuple[Mutant, ...] = (
    *broken(
        "synth/release/verification/measurements_check.py",
        (
            "any tables first",
            "if not same and not (other_arithmetic and _alike(first, planned)):",
            "if len(first) != len(planned):",
        ),
        (
            "last digits may always differ",
            "if not same and not (other_arithmetic and _alike(first, planned)):",
            "if not same and not _alike(first, planned):",
        ),
        (
            "further tables",
            "        if later:\n",
            "        if not later and later:\n",
        ),
        (
            "private choices without a schedule",
            "        if measurements.selections:\n",
            "        if measurements.selections and later:\n",
        ),
        (
            "other choices than were planned",
            "if tuple(selections) != tuple(each.selection for each in schedule.rounds):",
            "if len(selections) != len(schedule.rounds):",
        ),
        (
            "a table that was chosen twice",
            "            left.remove(chosen)\n",
            "            left.count(chosen)\n",
        ),
        (
            "chosen tables with other noise",
            "        elif event != spending.event(chosen):\n",
            "        elif event.table != spending.event(chosen).table:\n",
        ),
        (
            "a round without its table",
            "    if len(later) != len(schedule.rounds):\n",
            "    if len(later) > len(schedule.rounds):\n",
        ),
        (
            "a split of the budget that is quite another",
            "if abs(_budget(one) - _budget(other)) > SPLIT_TOLERANCE * whole:",
            "if abs(_budget(one) - _budget(other)) > whole:",
        ),
        by=("unit/release/test_planned.py",),
    ),
    *broken(
        "synth/release/verification/folder.py",
        (
            "files that are not listed",
            "extra, absent = sorted(present - listed.keys()), sorted(listed.keys() - present)",
            "extra, absent = [], sorted(listed.keys() - present)",
        ),
        (
            "files that are missing",
            "extra, absent = sorted(present - listed.keys()), sorted(listed.keys() - present)",
            "extra, absent = sorted(present - listed.keys()), []",
        ),
        (
            "bytes that were changed",
            "        elif digest != listed[name]:\n",
            "        elif not digest:\n",
        ),
        (
            "links in the folder",
            'findings.conclude("the folder holds plain files only", folder.problems)',
            'findings.conclude("the folder holds plain files only", [])',
        ),
        by=(
            TAMPERED + "one_changed_byte_of_any_file_is_found",
            TAMPERED + "a_removed_file_is_found",
            TAMPERED + "a_line_for_a_file_that_is_not_there_is_found",
            TAMPERED + "an_added_file_is_found",
            TAMPERED + "other_entries_that_are_no_plain_files_are_found",
            TAMPERED + "the_command_says_what_it_found_and_ends_with_5",
        ),
    ),
    *broken(
        "synth/release/verification/rebuild.py",
        (
            "rows that are not the expansion of the counts",
            '[f"{name}: {each}" for each in found]',
            "[]",
        ),
        (
            "fields of the manifest that are not rebuilt",
            "        found = list(differences(stated, expected))\n",
            "        found = list(differences(expected, expected))\n",
        ),
        (
            "fields that nearly agree under the same arithmetic",
            "is_near = bool(found) and self.arithmetic.explains_last_digits",
            "is_near = bool(found)",
        ),
        (
            "a document of another manifest",
            "same_bytes = self.folder.read(name) == content",
            'same_bytes = self.folder.read(name) != b""',
        ),
        (
            "files that do not belong",
            "for name in sorted(present - expected_set)]",
            "for name in sorted(present - present)]",
        ),
        by=(
            "unit/release/test_verification.py",
            TAMPERED + "a_row_that_was_changed_and_resealed_is_found",
            TAMPERED + "a_value_inside_its_bin_that_was_changed_is_found",
            TAMPERED + "a_parquet_value_that_was_changed_is_found",
            TAMPERED + "a_document_of_another_manifest_is_found",
            TAMPERED + "an_added_file_is_found",
            TAMPERED + "metadata_that_say_more_than_the_manifest_are_found",
            TAMPERED + "every_changed_field_of_the_manifest_is_found_but_those_listed",
        ),
    ),
    *broken(
        "synth/release/verification/rebuild.py",
        (
            "rows of impossible cells",
            "        if rows:\n",
            "        if rows < 0:\n",
        ),
        (
            "totals that are not met",
            "        if rows != entry.total:\n",
            "        if rows > entry.total:\n",
        ),
        (
            "another number of rows",
            "if config.output.rows is not None and counts.total != config.output.rows:",
            "if config.output.rows is not None and counts.total > config.output.rows:",
        ),
        by=("unit/release/test_checked_content.py",),
    ),
    *broken(
        "synth/domain/counts.py",
        (
            "one record apart is equal",
            "    differ = left != right\n",
            "    differ = np.abs(left - right) > 1\n",
        ),
        by=("unit/domain/test_counts.py",),
    ),
    *broken(
        "synth/release/verification/findings.py",
        (
            "what comes after the last row",
            "        if not self._found and self._file.read(1):\n",
            "        if not self._found and self._file.read(0):\n",
        ),
        (
            "a byte that rewriting does not give",
            "            if found != wanted:\n",
            "            if len(found) != len(wanted):\n",
        ),
        by=(
            "unit/release/test_checked_content.py",
            "unit/release/test_verification.py",
        ),
    ),
    *broken(
        "synth/release/verification/trial_reading.py",
        (
            "a trial without a bound of memory",
            "        resource.setrlimit(resource.RLIMIT_AS, (most, most))\n",
            "        resource.getrlimit(resource.RLIMIT_AS)\n",
        ),
        (
            "a trial without a bound of time",
            "    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))\n",
            "    resource.getrlimit(resource.RLIMIT_CPU)\n",
        ),
        (
            "a trial whose outcome is not looked at",
            "    if done.returncode:\n",
            "    if done.returncode == 5:\n",
        ),
        by=("faults/test_hostile_releases.py",),
    ),
    *broken(
        "synth/release/verification/verify.py",
        (
            "whatever names another version stands",
            "            if not findings.found:\n                raise OtherVersionError",
            "            if True:\n                raise OtherVersionError",
        ),
        (
            "damaged bytes are another version's",
            "        if writer is not None and intact:\n",
            "        if writer is not None:\n",
        ),
        (
            "a configuration of another hash",
            "        if stated == config.hash\n",
            "        if stated\n",
        ),
        (
            "statements of the curator that are not looked at",
            "        attested_findings(manifest),\n",
            "        [],\n",
        ),
        (
            "findings without an error",
            "    if findings.found:\n        writer",
            "    if len(findings.found) > 1:\n        writer",
        ),
        (
            "rows that cannot be rebuilt",
            '        findings.found.append(f"the rows cannot be rebuilt from the measurements: {reason}")\n',
            '        findings.notes.append(f"the rows cannot be rebuilt from the measurements: {reason}")\n',
        ),
        by=(
            "unit/release/test_verification.py",
            TAMPERED + "more_spent_than_the_cap_allows_is_found",
            TAMPERED + "a_statement_that_contradicts_the_configuration_is_told_as_that",
        ),
    ),
    *broken(
        "synth/release/verification/manifest_check.py",
        (
            "a self-test that failed",
            '        if test["passed"] is not True:\n',
            '        if test["passed"] is None:\n',
        ),
        (
            "more than the cap allows",
            "    if before.epsilon + added.epsilon > cap.epsilon:\n",
            "    if before.epsilon > cap.epsilon:\n",
        ),
        (
            "an earlier release that is listed twice",
            "    if len(set(earlier)) < len(earlier):\n",
            "    if not set(earlier) <= set(earlier):\n",
        ),
        (
            "any statement of a disposal",
            "    if not stated.is_possible:\n",
            "    if not stated.checks:\n",
        ),
        (
            "another disposal than was configured",
            "        if disposal[name] != expected:\n",
            "        if not disposal[name]:\n",
        ),
        by=(
            "unit/release/test_verification.py",
            TAMPERED + "more_spent_than_the_cap_allows_is_found",
            TAMPERED + "every_changed_field_of_the_manifest_is_found_but_those_listed",
        ),
    ),
    *broken(
        "synth/release/verification/findings.py",
        (
            "1 and true are equal",
            "return type(found) is type(expected) and repr(found) == repr(expected)",
            "return bool(found == expected)",
        ),
        (
            "fields in any order",
            "and list(found) != list(expected):",
            "and sorted(found) != sorted(expected):",
        ),
        (
            "fields that do not belong there",
            "        for key in found.keys() - expected.keys():\n",
            "        for key in found.keys() - found.keys():\n",
        ),
        (
            "items that were left out",
            "        if len(found) != len(expected):\n",
            "        if len(found) > len(expected):\n",
        ),
        by=(
            "unit/release/test_verification.py",
            TAMPERED + "a_section_whose_fields_come_in_another_order_is_found",
            TAMPERED + "fields_that_were_removed_or_added_are_found",
            TAMPERED + "items_that_were_removed_are_found",
        ),
    ),
    *broken(
        "synth/release/verification/measurements_check.py",
        (
            "measurements of another release",
            "        if measurements.release_id != config.release.id:\n",
            "        if not measurements.release_id:\n",
        ),
        (
            "measurements of another configuration",
            "        if measurements.configuration_hash != config.hash:\n",
            "        if not measurements.configuration_hash:\n",
        ),
        (
            "measured tables that were not planned",
            '        elif found:\n            raise ValueError("; ".join(found))\n',
            "",
        ),
        by=("unit/release/test_checked_content.py",),
    ),
    *broken(
        "synth/release/verification/folder.py",
        (
            "no signature where one was asked for",
            "        if trusted:\n",
            "        if not trusted:\n",
        ),
        (
            "a signature of something else",
            "    if not found.fits(folder.read(MANIFEST)):\n",
            "    if not found:\n",
        ),
        (
            "any key is trusted",
            "            if found.key in trusted\n",
            "            if found.key\n",
        ),
        by=("end_to_end/test_signing.py",),
    ),
    *broken(
        "synth/release/verification/rebuild.py",
        (
            "a table that says something else than the measurements",
            'found += [f"{name}: {each}" for each in again.findings()]',
            "found += []",
        ),
        by=(TAMPERED + "a_noisy_count_that_was_changed_in_its_table_is_found",),
    ),
    *broken(
        "synth/release/verification/folder.py",
        (
            "a link is a plain file",
            "status, path = (place / name).lstat(),",
            "status, path = (place / name).stat(),",
        ),
        (
            "any number of files",
            "        if len(names) > most:\n",
            "        if len(names) < 0:\n",
        ),
        (
            "a folder inside that became a link",
            "(no_link if inside else 0)",
            "0",
        ),
        (
            "an empty folder inside",
            "        if inside and not names:\n",
            "        if inside and len(names) < 0:\n",
        ),
        by=(
            TAMPERED + "a_symbolic_link_is_never_followed",
            TAMPERED + "a_link_to_the_folder_of_tables_is_never_followed",
            TAMPERED + "an_empty_folder_of_tables_is_found",
            "faults/test_hostile_releases.py::test_thousands_of_files_are_refused_unopened",
        ),
    ),
    *broken(
        "synth/estimate/rounding.py",
        (
            "any cell within last digits",
            "apart.max(initial=0) > 1 or",
            "apart.max(initial=0) < 0 or",
        ),
        (
            "any number of records within last digits",
            " or apart.sum() > 2 * MOST_MOVED:",
            ":",
        ),
        (
            "records anywhere within last digits",
            "        if strays.any() or level[-1] != expected[cells].sum():\n",
            "        if level[-1] != expected[cells].sum():\n",
        ),
        by=("unit/estimate/test_last_digits.py",),
    ),
    *broken(
        "synth/estimate/balanced.py",
        (
            "published counts are followed anywhere",
            "followed is not None and 0 < ups[atom] < choices[atom] and abs(wish) <= near:",
            "followed is not None and 0 < ups[atom] < choices[atom]:",
        ),
        (
            "any number of ties turned",
            "if turned <= MOST_MOVED and np.array_equal(followed, found):",
            "if np.array_equal(followed, found):",
        ),
        (
            "no last digit turns a part of a record",
            "for shift in (0, -1, 1):",
            "for shift in (0,):",
        ),
        (
            "as many parts of a record whatever the records",
            "MOST_CELLS // max(1, records)",
            "MOST_CELLS",
        ),
        (
            "records of an atom beyond its total",
            "up = ups[atom] == choices[atom] or bool(ups[atom] and wish > 0)",
            "up = bool(wish > 0)",
        ),
        by=("unit/estimate/test_balanced.py",),
    ),
    *broken(
        "synth/release/verification/findings.py",
        (
            "other arithmetic is always assumed",
            "return self.is_other and self.differences != ()",
            "return True",
        ),
        (
            "a stated fingerprint explains everything",
            "return self.is_other and self.differences != ()",
            "return self.is_other",
        ),
        (
            "another library explains everything",
            "return self.is_other and self.differences != ()",
            "return self.differences != ()",
        ),
        by=(
            "unit/release/test_verification.py",
            "unit/release/test_last_digits.py",
        ),
    ),
    *broken(
        "synth/release/verification/rebuild.py",
        (
            "counts that are adopted without a reason",
            "        if not self.arithmetic.explains_last_digits or not present:\n",
            "        if not present:\n",
        ),
        by=(
            "unit/release/test_verification.py",
            "unit/release/test_last_digits.py",
        ),
    ),
    *broken(
        "synth/estimate/gate_limits.py",
        (
            "a Gaussian limit of half the noise",
            "math.sqrt(2.0 * noises * float(event.sigma_squared) * math.log(2.0 / miss))",
            "math.sqrt(0.5 * noises * float(event.sigma_squared) * math.log(2.0 / miss))",
        ),
        (
            "a limit of one tail for both",
            "return chernoff(rate, noises, miss / 2.0)",
            "return chernoff(rate, noises, 2e3 * miss)",
        ),
        by=("unit/estimate/test_gate.py",),
    ),
    *broken(
        "synth/release/verification/parquet_layout.py",
        (
            "bytes before the footer",
            "    if place != end:\n",
            "    if place > end:\n",
        ),
        (
            "bytes behind a compressed frame",
            "    if not last or at != end:\n",
            "    if not last:\n",
        ),
        by=("faults/test_parquet_slack.py",),
    ),
    *broken(
        "synth/release/verification/folder.py",
        (
            "a key that the manifest does not name",
            "    elif promised != found.key.key_id:\n",
            '    elif promised == "":\n',
        ),
        (
            "a stripped signature is not missed",
            "        if promised is not None:\n",
            '        if promised == "":\n',
        ),
        by=("end_to_end/test_signing.py",),
    ),
)
