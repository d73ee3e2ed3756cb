"""The release written again from its measurements, and compared: every byte of every file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import isfinite
from typing import IO, Any

import pyarrow as pa

from synth.config import Config
from synth.domain.counts import Counts, difference
from synth.estimate.replicates import STEPS_OF_FACTOR
from synth.measurements import Measurements
from synth.release.contents import (
    CSV,
    MANIFEST,
    PARQUET,
    QUALITY,
    REPLICATES,
    SIGNATURE,
    all_files,
    data_files,
    described_files,
)
from synth.release.derivation import Derivation, moved_records
from synth.release.files import FileFacts, data_writers, documents, table_writers
from synth.release.manifest.build import LINE_BY_LINE, build_manifest
from synth.release.manifest.figures import COLUMNS as FIGURE_COLUMNS
from synth.release.manifest.figures import Figures, read_figures, write_figures
from synth.release.noisy_tables import TABLES
from synth.release.rows.parquet_files import write_replicates
from synth.release.verification.cell_counts_check import nearly_the_same
from synth.release.verification.findings import Arithmetic, Compared, Findings, differences, same
from synth.release.verification.folder import Folder
from synth.release.verification.manifest_check import ATTESTED_NOTE, read_attested
from synth.release.verification.parquet_layout import rewriting_findings
from synth.release.verification.readback import published_counts
from synth.release.verification.trial_reading import Limits, require_readable

REAL_TOLERANCE = 1e-6
"""Relative: how far real numbers of the manifest may differ under other numeric libraries."""

WIDTH_TOLERANCE = 1e-4
"""Relative, but at least one record: half widths are the smallest whole steps whose miss is small
enough. A last digit can move them by one step, which is one record, or, where the forecast scales
a grid of 2^17 points over some 18 standard deviations, one part in 14,000."""

VARIANCE_TOLERANCE = 2.0**-50
"""Relative: the variance of a law of noise takes a handful of operations."""

VARIANCES = re.compile(r"accounting\.events\[\d+\]\.variance")
WIDTHS = re.compile(
    r"(quality\.prediction\.(queries|ranges)|quality\.parquet)\[\d+\]"
    r"(\.best|\.worst)?\.(half_width|simultaneous)_95_records"
)
FACTOR = "post_processing.replicates.factor"
"""A whole number of hundredths, which a last digit can move by one."""
OUTCOMES = re.compile(r"post_processing\.steps\[\d+\]\.parameters\[\d+\]\.value")


@dataclass
class Rebuild:
    """One comparison of a folder with what its measurements give."""

    folder: Folder
    manifest: dict[str, Any]
    config: Config
    measurements: Measurements
    derived: Derivation
    findings: Findings
    arithmetic: Arithmetic

    def check(self) -> None:
        """Compare everything; findings and checks are recorded."""
        before = len(self.findings.found)
        self._check_rows()
        self._check_tables()
        self._check_replicates()
        expected_set = all_files(self.config, table_writers(self.derived))
        present = set(self.folder.sizes) - {SIGNATURE}
        self.findings.conclude(
            "the files are those of the configured formats",
            [f"{name}: does not belong to the release" for name in sorted(present - expected_set)]
            + [f"{name}: is missing" for name in sorted(expected_set - present)],
        )
        self._check_manifest()
        if len(self.findings.found) > before:
            self.findings.found += [f"{MANIFEST}: {said}" for said in self.arithmetic.findings]
        elif self.arithmetic.is_other and not self.findings.tolerated:
            self.findings.notes.append(self.arithmetic.note)

    def _check_rows(self) -> None:
        """Write the rows again, and compare; only where last digits may differ they are read."""
        compared = self._rows_compared()
        moved = 0
        if any(found for found, _ in compared.values()):
            moved = self._adopt()
        if moved:
            compared = self._rows_compared()
        self.findings.conclude(
            "impossible cells are empty, public totals are met",
            list(rule_findings(self.derived.counts, self.config)),
        )
        for name, (found, told) in compared.items():
            unit = "value" if told else "byte"
            check = f"{name}: every {unit} is the expansion of the counts"
            if moved and not found:
                self.findings.tolerate(
                    f"{check} rebuilt from the measurements but for {moved} that last digits moved,"
                )
            else:
                self.findings.conclude(
                    f"{check} rebuilt from the measurements", [f"{name}: {each}" for each in found]
                )
            if told:
                self.findings.notes.append(f"{name}: {told}")

    def _check_tables(self) -> None:
        """Write the tables with labels again, and compare."""
        found, compared = [], 0
        for name, write in table_writers(self.derived).items():
            if name in self.folder.sizes:
                with self.folder.open(name) as file:
                    again = Compared(file, lines=True)
                    write(again)
                    found += [f"{name}: {each}" for each in again.findings()]
                compared += 1
        if compared:
            self.findings.conclude(f"{TABLES}/: every byte is that of the noisy counts", found)

    def _rows_compared(self) -> dict[str, tuple[list[str], str]]:
        """By data file: how it differs from the rows written again, and what was not compared."""
        compared = {}
        for name, write in data_writers(self.derived).items():
            if name in (CSV, PARQUET) and name in self.folder.sizes:
                with self.folder.open(name) as file:
                    if name == PARQUET:
                        compared[name] = rewriting_findings(file, write)
                    else:
                        again = Compared(file, lines=True)
                        write(again)
                        compared[name] = again.findings(), ""
        return compared

    def _check_replicates(self) -> None:
        """Write the replicates again, and compare; other arithmetic may move a few records."""
        if REPLICATES not in self.folder.sizes or not self.config.output.replicates:
            return
        check = f"{REPLICATES}: every count is the one made again from the measurements"
        write = data_writers(self.derived)[REPLICATES]
        with self.folder.open(REPLICATES) as file:
            found, told = rewriting_findings(file, write)
            near = None
            if found and self.arithmetic.explains_last_digits:
                near = nearly_the_same(file, self.derived.replicates, self.config)
            if near is not None:
                theirs, moved = near
                again, told = rewriting_findings(
                    file, lambda stream: write_replicates(stream, theirs, self.config)
                )
                if not again:
                    self.derived = replace(self.derived, adopted=theirs)
                    self.findings.tolerate(f"{check} but for {moved} that last digits moved,")
                    return
        self.findings.conclude(check, [f"{REPLICATES}: {each}" for each in found])
        if told:
            self.findings.notes.append(f"{REPLICATES}: {told}")

    def _adopt(self) -> int:
        """Take published counts as rebuilt if last digits explain them; how many they moved."""
        present = [name for name in data_files(self.config) if name in self.folder.sizes]
        if not self.arithmetic.explains_last_digits or not present:
            return 0
        if self.derived.growth is not None:
            return 0  # what a moved record changes of those that are added is not followed
        counts, problems = published_counts(
            self.folder, present[0], self.config, rows=self.derived.rows
        )
        if counts is None:
            self.findings.found += problems
            return 0
        apart = difference(counts, self.derived.counts, self.config.universe.shape)
        moved = len(apart.found) and moved_records(self.measurements, self.config, counts)
        if moved:
            self.derived = replace(self.derived, counts=counts)
        return moved or 0

    def _check_manifest(self) -> None:
        try:
            attested = read_attested(self.manifest)
        except (ValueError, ZeroDivisionError) as error:
            self.findings.found.append(f"{MANIFEST}: a date or fraction is malformed: {error}")
            return
        expected = build_manifest(self.config, self.measurements, self.derived, attested)
        version = self.manifest["manifest_version"]
        if LINE_BY_LINE.get(version) == expected["manifest_version"]:
            expected["manifest_version"] = version
        stated = {name: value for name, value in self.manifest.items() if name != "files"}
        check = "every field of the manifest that can be rebuilt is the one rebuilt here"
        found = list(differences(stated, expected))
        is_near = bool(found) and self.arithmetic.explains_last_digits
        if is_near:
            found = list(differences(stated, expected, equal=_nearly))
        found = [f"{MANIFEST}: {finding}" for finding in found]
        if is_near and not found:
            self.findings.tolerate(f"{check},")
        else:
            self.findings.conclude(check, found)
        self.findings.notes.append(ATTESTED_NOTE)
        figures = self._check_figures()
        described = described_files(self.config, table_writers(self.derived))
        if all(name in self.folder.sizes for name in described):
            # The documents show figures of the manifest, and their last digits were accepted above.
            self._check_documents(expected if found else stated, figures)

    def _check_documents(self, manifest: dict[str, Any], figures: list[Figures]) -> None:
        """Write the documents again, and compare their bytes; of the manifest its list of files."""
        described = described_files(self.config, table_writers(self.derived))
        facts = {
            name: FileFacts(self.folder.sizes[name], self.folder.sha256(name)) for name in described
        }
        made, listing = documents(manifest, self.derived, facts, figures=figures)
        for name, content in made.items():
            if name in self.folder.sizes:
                same_bytes = self.folder.read(name) == content
                self.findings.conclude(
                    f"{name} is the one of this manifest and these rows",
                    [] if same_bytes else [f"{name}: is not the one that manifest and rows give"],
                )
        wrong = list(differences(self.manifest["files"], listing["files"], path="files"))
        check = f"{MANIFEST} lists every file with its bytes"
        self.findings.conclude(check, [f"{MANIFEST}: {finding}" for finding in wrong])

    def _check_figures(self) -> list[Figures]:
        """The figures to show: those of the file if they differ from ours by last digits alone."""
        ours = self.derived.figures
        if QUALITY not in self.folder.sizes:
            return ours
        check = f"{QUALITY}: every figure is the one computed here"
        with self.folder.open(QUALITY) as file:
            found, told = rewriting_findings(file, lambda stream: write_figures(stream, ours))
            if found and self.arithmetic.explains_last_digits:
                theirs, apart = self._figures_apart(file)
                if not apart:
                    again, told = rewriting_findings(
                        file, lambda stream: write_figures(stream, theirs)
                    )
                if not apart and not again:
                    self.findings.tolerate(f"{check},")
                    return theirs
                found = apart or again
        self.findings.conclude(check, [f"{QUALITY}: {finding}" for finding in found])
        if told:
            self.findings.notes.append(f"{QUALITY}: {told}")
        return ours

    def _figures_apart(self, file: IO[bytes]) -> tuple[list[Figures], list[str]]:
        """The figures in the file, and where they differ by more than last digits."""
        ours = self.derived.figures
        limits = Limits(len(ours), len(ours), len(ours), len(FIGURE_COLUMNS))
        try:
            require_readable(file, limits)
            theirs = read_figures(file)
        except (ValueError, TypeError, OSError, pa.ArrowException) as error:
            return ours, [str(error)]
        lines = ([each.to_plain() for each in figures] for figures in (theirs, ours))
        return theirs, list(differences(*lines, path=QUALITY, equal=_nearly))


def rule_findings(counts: Counts, config: Config) -> Iterator[str]:
    """Impossible cells that are not empty, public totals and row numbers that are not met."""
    universe = config.universe
    for rule in universe.impossible:
        rows = counts.inside(universe, rule)
        if rows:
            yield f"{rows} rows are impossible ({rule.describe(universe)})"
    for entry in config.public_totals:
        rows = counts.inside(universe, entry.where)
        if rows != entry.total:
            yield (
                f"{rows} rows with {entry.where.describe(universe)}, expected {entry.total} from "
                "the public total"
            )
    if config.output.rows is not None and counts.total != config.output.rows:
        yield f"{counts.total} rows, expected {config.output.rows} from the configuration"


def _nearly(path: str, found: Any, expected: Any) -> bool:
    """Equal up to last digits; numbers that tell how a fit went are not compared."""
    if same(path, found, expected):
        return True
    if not all(type(value) in (int, float) for value in (found, expected)):
        return False
    if OUTCOMES.fullmatch(path):
        return type(found) is type(expected)
    if WIDTHS.fullmatch(path):
        return bool(abs(found - expected) <= max(1, WIDTH_TOLERANCE * abs(expected)))
    if not (isinstance(found, float) and isinstance(expected, float) and isfinite(found)):
        return False
    if path == FACTOR:
        return abs(found - expected) <= 1.5 / STEPS_OF_FACTOR
    tolerance = VARIANCE_TOLERANCE if VARIANCES.fullmatch(path) else REAL_TOLERANCE
    return abs(found - expected) <= tolerance * max(abs(found), abs(expected))
