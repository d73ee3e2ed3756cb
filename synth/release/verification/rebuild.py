"""The release rebuilt from its measurements, and compared: counts, rows, manifest, card, page."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from synth.config import Config
from synth.domain.sparse_counts import SparseCounts
from synth.measurements import Measurements
from synth.release.checksums import file_sha256
from synth.release.contents import (
    CSV,
    DATA_CARD,
    MANIFEST,
    PAGE,
    SIGNATURE,
    all_files,
    data_files,
    listed_files,
)
from synth.release.data_card import render_data_card
from synth.release.derivation import Derivation
from synth.release.file_list import FileFacts, build_files
from synth.release.manifest.build import build_manifest
from synth.release.metadata.documents import metadata_documents
from synth.release.page import render_page
from synth.release.rows import RowCounts
from synth.release.side_by_side import both_side_by_side, side_by_side
from synth.release.verification.attested import ATTESTED_NOTE, read_attested
from synth.release.verification.comparison import differences, same
from synth.release.verification.folder import Folder
from synth.release.verification.report import Findings
from synth.release.verification.rows_check import (
    CELL_TOLERANCE,
    TOTAL_VARIATION_TOLERANCE,
    count_findings,
    csv_findings,
    parquet_findings,
    published_counts,
    rule_findings,
    within_tolerance,
)

REAL_TOLERANCE = 1e-6
"""Relative: how far real numbers of the manifest may differ under other numeric libraries."""

WIDTH_TOLERANCE = 1e-4
"""Relative, but at least one record: half widths are the smallest whole steps whose miss is small
enough. A last digit can move them by one step, which is one record, or, where the forecast scales
a grid of 2^17 points over some 18 standard deviations, one part in 14,000."""

WIDTHS = re.compile(
    r"quality\.prediction\.(queries|ranges)\[\d+\]\.(half_width|simultaneous)_95_records"
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
    other_arithmetic: bool

    def check(self) -> None:
        """Compare everything; findings and checks are recorded."""
        if self.other_arithmetic:
            self.findings.notes.append(
                "the release was written with other numeric libraries (or another processor) than "
                "are installed here, so last digits may differ"
            )
        self._check_rows(data_files(self.config))
        expected_set = all_files(self.config)
        present = set(self.folder.sizes) - {SIGNATURE}
        self.findings.conclude(
            "the files are those of the configured formats",
            [f"{name}: does not belong to the release" for name in sorted(present - expected_set)]
            + [f"{name}: is missing" for name in sorted(expected_set - present)],
        )
        self._check_manifest()

    def _check_rows(self, names: Sequence[str]) -> None:
        """Read the data files back, and compare each with the expansion of the counts."""
        present = [name for name in names if name in self.folder.sizes]
        readings = [partial(self._published, name) for name in names]
        comparisons = [partial(self._expansion_findings, name) for name in present]
        if self.other_arithmetic:  # what is compared depends on what was published
            published = side_by_side(readings)
            for name, (counts, _) in zip(names, published, strict=True):
                if counts is not None:
                    self._adopt(name, counts)
            compared = side_by_side(comparisons)
        else:
            published, compared = both_side_by_side(readings, comparisons)
        apart = dict(zip(present, compared, strict=True))
        for name, (counts, problems) in zip(names, published, strict=True):
            self.findings.conclude(f"{name}: every row is in the declared domain", problems)
            if counts is not None:
                self.findings.conclude(
                    f"{name}: impossible cells are empty, public totals are met",
                    list(rule_findings(name, counts, self.config)),
                )
                self.findings.conclude(
                    f"{name}: the counts are those rebuilt from the measurements",
                    count_findings(name, counts, self.derived.counts, self.config.universe),
                )
            if name in apart:
                unit = "byte" if name == CSV else "value"
                self.findings.conclude(
                    f"{name}: every {unit} is the expansion of the counts", apart[name]
                )

    def _published(self, name: str) -> tuple[RowCounts | None, list[str]]:
        sparse = isinstance(self.derived.counts, SparseCounts)
        return published_counts(
            self.folder, name, self.config, rows=self.derived.rows, sparse=sparse
        )

    def _expansion_findings(self, name: str) -> list[str]:
        compare = csv_findings if name == CSV else parquet_findings
        return compare(
            self.folder, name, self.derived.counts, self.config, seed=self.derived.bins_seed
        )

    def _adopt(self, name: str, counts: RowCounts) -> None:
        """Under other arithmetic, take published counts that are within tolerance as rebuilt."""
        universe = self.config.universe
        if not self.other_arithmetic or not count_findings(
            name, counts, self.derived.counts, universe
        ):
            return
        if within_tolerance(counts, self.derived.counts, universe):
            self.findings.notes.append(
                f"{name}: the counts are not those rebuilt here to the last record, but differ by "
                f"at most {CELL_TOLERANCE} records in any cell and "
                f"{TOTAL_VARIATION_TOLERANCE:.1%} of all records"
            )
            self.derived = replace(self.derived, counts=counts)

    def _check_manifest(self) -> None:
        try:
            attested = read_attested(self.manifest)
        except ValueError as error:
            self.findings.found.append(f"{MANIFEST}: a date is malformed: {error}")
            return
        expected = build_manifest(self.config, self.measurements, self.derived, attested)
        if all(name in self.folder.sizes for name in listed_files(self.config)):
            facts = {name: self._facts(name) for name in listed_files(self.config)}
            expected["files"] = build_files(
                self.config,
                facts,
                rows=self.derived.rows,
                measurements=self.measurements,
            )
        else:
            expected["files"] = self.manifest["files"]
        equal = partial(_nearly, tolerance=REAL_TOLERANCE) if self.other_arithmetic else same
        found = [
            f"{MANIFEST}: {finding}"
            for finding in differences(self.manifest, expected, equal=equal)
        ]
        if not found and list(self.manifest) != list(expected):
            found = [f"{MANIFEST}: the order of its sections was changed"]
        self.findings.conclude(
            "every field of the manifest that can be rebuilt is the one rebuilt here", found
        )
        self.findings.notes.append(ATTESTED_NOTE)
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
                if self.folder.read(PAGE) == render_page(shown, self.derived.counts)
                else [f"{PAGE}: is not the page that the manifest and the rows give"],
            )

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


def _nearly(path: str, found: Any, expected: Any, *, tolerance: float) -> bool:
    """Equal up to last digits; outcomes of the fit are not comparable across arithmetic."""
    if same(path, found, expected):
        return True
    if OUTCOMES.fullmatch(path):
        return True
    if not all(type(value) in (int, float) for value in (found, expected)):
        return False
    if WIDTHS.fullmatch(path):
        return bool(abs(found - expected) <= max(1, WIDTH_TOLERANCE * abs(expected)))
    if not (isinstance(found, float) and isinstance(expected, float)):
        return False
    return abs(found - expected) <= tolerance * max(abs(found), abs(expected))
