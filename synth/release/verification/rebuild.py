"""The release rebuilt from its measurements, and compared: counts, rows, manifest, card, page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import IO, Any

import pyarrow as pa

from synth.config import Config
from synth.domain.counts import Counts
from synth.measurements import Measurements
from synth.release.checksums import file_sha256
from synth.release.contents import (
    CSV,
    DATA_CARD,
    MANIFEST,
    PAGE,
    QUALITY,
    SIGNATURE,
    all_files,
    data_files,
    listed_files,
)
from synth.release.data_card import render_data_card
from synth.release.derivation import Derivation, moved_records
from synth.release.file_list import FileFacts, build_files
from synth.release.manifest.build import build_manifest
from synth.release.manifest.figures import COLUMNS as FIGURE_COLUMNS
from synth.release.manifest.figures import Figures, read_figures, write_figures
from synth.release.metadata.documents import metadata_documents
from synth.release.page import render_page
from synth.release.parquet_layout import rewriting_findings
from synth.release.side_by_side import both_side_by_side
from synth.release.verification.arithmetic import Arithmetic
from synth.release.verification.attested import ATTESTED_NOTE, read_attested
from synth.release.verification.comparison import differences, same
from synth.release.verification.folder import Folder
from synth.release.verification.report import Findings
from synth.release.verification.rows_check import (
    count_findings,
    csv_findings,
    parquet_findings,
    published_counts,
    rule_findings,
)
from synth.release.verification.trial_reading import Limits, require_readable

REAL_TOLERANCE = 1e-6
"""Relative: how far real numbers of the manifest may differ under other numeric libraries."""

WIDTH_TOLERANCE = 1e-4
"""Relative, but at least one record: half widths are the smallest whole steps whose miss is small
enough. A last digit can move them by one step, which is one record, or, where the forecast scales
a grid of 2^17 points over some 18 standard deviations, one part in 14,000."""

WIDTHS = re.compile(
    r"(quality\.prediction\.(queries|ranges)|quality\.parquet)\[\d+\]"
    r"(\.best|\.worst)?\.(half_width|simultaneous)_95_records"
)
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
        self._check_rows(data_files(self.config))
        expected_set = all_files(self.config)
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

    def _check_rows(self, names: Sequence[str]) -> None:
        """Read the data files back, and compare each with the expansion of the counts."""
        present = [name for name in names if name in self.folder.sizes]
        readings = [partial(self._published, name) for name in names]
        comparisons = [partial(self._expansion_findings, name) for name in present]
        published, compared = both_side_by_side(readings, comparisons)
        moved = 0
        if counts_read := [counts for counts, _ in published if counts is not None]:
            moved = self._adopt(counts_read[0])
        if moved:
            compared = [compare() for compare in comparisons]
        apart = dict(zip(present, compared, strict=True))
        for name, (counts, problems) in zip(names, published, strict=True):
            self.findings.conclude(f"{name}: every row is in the declared domain", problems)
            if counts is not None:
                self.findings.conclude(
                    f"{name}: impossible cells are empty, public totals are met",
                    list(rule_findings(name, counts, self.config)),
                )
                check = f"{name}: the counts are those rebuilt from the measurements"
                wrong = count_findings(name, counts, self.derived.counts, self.config.universe)
                if moved and not wrong:
                    self.findings.tolerate(
                        f"{check} but for {moved} that last digits moved by one step,"
                    )
                else:
                    self.findings.conclude(f"{check}, bit for bit", wrong)
            if name in apart:
                found, told = apart[name]
                unit = "value" if told else "byte"
                self.findings.conclude(
                    f"{name}: every {unit} is the expansion of the counts", found
                )
                if told:
                    self.findings.notes.append(f"{name}: {told}")

    def _published(self, name: str) -> tuple[Counts | None, list[str]]:
        return published_counts(self.folder, name, self.config, rows=self.derived.rows)

    def _expansion_findings(self, name: str) -> tuple[list[str], str]:
        counts, seed = self.derived.counts, self.derived.bins_seed
        if name == CSV:
            return csv_findings(self.folder, name, counts, self.config, seed=seed), ""
        return parquet_findings(self.folder, name, counts, self.config, seed=seed)

    def _adopt(self, counts: Counts) -> int:
        """Take published counts as rebuilt if last digits explain them; how many they moved."""
        if not self.arithmetic.explains_last_digits or not count_findings(
            "", counts, self.derived.counts, self.config.universe
        ):
            return 0
        moved = moved_records(self.measurements, self.config, counts)
        if not moved:
            return 0
        self.derived = replace(self.derived, counts=counts)
        return moved

    def _check_manifest(self) -> None:
        try:
            attested = read_attested(self.manifest)
        except (ValueError, ZeroDivisionError) as error:
            self.findings.found.append(f"{MANIFEST}: a date or fraction is malformed: {error}")
            return
        expected = build_manifest(self.config, self.measurements, self.derived, attested)
        if all(name in self.folder.sizes for name in listed_files(self.config)):
            facts = {name: self._facts(name) for name in listed_files(self.config)}
            expected["files"] = build_files(self.config, facts, self.derived)
        else:
            expected["files"] = self.manifest["files"]
        check = "every field of the manifest that can be rebuilt is the one rebuilt here"
        found = list(differences(self.manifest, expected))
        is_near = bool(found) and self.arithmetic.explains_last_digits
        if is_near:
            found = list(differences(self.manifest, expected, equal=_nearly))
        found = [f"{MANIFEST}: {finding}" for finding in found]
        if not found and list(self.manifest) != list(expected):
            found = [f"{MANIFEST}: the order of its sections was changed"]
        if is_near and not found:
            self.findings.tolerate(f"{check},")
        else:
            self.findings.conclude(check, found)
        self.findings.notes.append(ATTESTED_NOTE)
        figures = self._check_figures()
        # The card shows figures of the manifest, and their last digits were accepted above.
        shown = expected if found else self.manifest
        if DATA_CARD in self.folder.sizes:
            self.findings.conclude(
                f"{DATA_CARD} is the card of this manifest",
                []
                if self.folder.read(DATA_CARD) == render_data_card(shown)
                else [f"{DATA_CARD}: is not the card that the manifest gives"],
            )
        self._check_metadata(shown)
        if PAGE in self.folder.sizes:
            self.findings.conclude(
                f"{PAGE} is the page of this manifest and these rows",
                []
                if self.folder.read(PAGE) == render_page(shown, self.derived.counts, figures)
                else [f"{PAGE}: is not the page that the manifest and the rows give"],
            )

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

    def _check_metadata(self, manifest: dict[str, Any]) -> None:
        for name, content in metadata_documents(manifest).items():
            if name in self.folder.sizes:
                self.findings.conclude(
                    f"{name} is the projection of this manifest",
                    []
                    if self.folder.read(name) == content
                    else [f"{name}: is not what the manifest gives"],
                )

    def _facts(self, name: str) -> FileFacts:
        with self.folder.open(name) as file:
            digest = file_sha256(file, most_bytes=self.folder.sizes[name] + 1)
            return FileFacts(file.tell(), digest)


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
    if not (isinstance(found, float) and isinstance(expected, float)):
        return False
    return abs(found - expected) <= REAL_TOLERANCE * max(abs(found), abs(expected))
