"""A release folder, opened: rows, counts, noisy tables and manifest as Python objects."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from functools import cached_property
from html import escape
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from synth.config import Config, config_from_public
from synth.domain import DENSE_LIMIT_CELLS, Attribute, Margin, format_number
from synth.domain.counts import Counts
from synth.errors import ConfigError, VerificationError
from synth.measurements import Measurements
from synth.reading.queries import check_columns
from synth.reading.replicate_weights import Rule, Weights, no_replicates
from synth.reading.weighted_table import DTYPES, WeightedTable
from synth.release.contents import CSV, MANIFEST, PARQUET, REPLICATES, data_files
from synth.release.rows.columns import published_columns
from synth.release.verification.cell_counts_check import read_replicates
from synth.release.verification.findings import Arithmetic, Findings
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.manifest_check import read_manifest
from synth.release.verification.measurements_check import read_measured
from synth.release.verification.readback import ReadbackError, open_parquet, published_counts
from synth.release.verification.trial_reading import blocks

T = TypeVar("T")

ROWS_SHOWN, MOST_SHOWN = 5, 20
"""How many rows and columns a notebook shows of a release."""


class Release:
    """A release folder; files are read when they are first asked for, and kept in memory.

    Privacy: reads the published folder alone.
    Ensures: what is read is of the form that `synth` writes and in the declared domain. Whether it
    is what the measurements give, and whose it is, `synth.verify` says.
    Raises: VerificationError, also from every method, for a folder that is no release.
    """

    def __init__(self, path: str | Path) -> None:
        """Open a folder and read its manifest."""
        self.path = Path(path)
        try:
            self._folder = Folder(self.path)
            findings = Findings()
            manifest = read_manifest(self._folder, findings)
        except FolderError as error:
            found = [f"is not a release: {error}"]
            raise self._refused(found, fix=VerificationError.NO_RELEASE) from None
        if manifest is None or findings.found:
            raise self._refused(findings.found)
        self.manifest: dict[str, Any] = manifest
        """The manifest, as JSON values."""

        self._kept: dict[Callable[[Release], Any], Any] = {}

    def kept(self, make: Callable[[Release], T]) -> T:
        """What `make` makes of this release, made once; for what is costly to compute."""
        if make not in self._kept:
            self._kept[make] = make(self)
        found: T = self._kept[make]
        return found

    @property
    def id(self) -> str:
        """The release's name."""
        return str(self.manifest["identity"]["release_id"])

    @cached_property
    def config(self) -> Config:
        """The public part of the configuration: the universe, the budget, the workload."""
        try:
            return config_from_public(self.manifest["configuration"])
        except ConfigError as error:
            problems = " ".join(str(error).split())
            raise self._refused([f"{MANIFEST}: configuration: {problems}"]) from None

    @cached_property
    def measurements(self) -> Measurements:
        """The noisy tables: `tables[i].noisy_counts`, `.variance` and `.event` say all of each."""
        findings = Findings()
        other = Arithmetic.of(self.manifest).explains_last_digits
        found = read_measured(self._folder, self.config, findings, other_arithmetic=other)
        if found is None:
            raise self._refused(findings.found)
        return found

    def frame(self) -> pd.DataFrame:
        """The synthetic rows, in the types of `DTYPES`, never guessed.

        Quarters and months are text; other dates and times are without a time zone, in seconds.
        """
        name = PARQUET if "parquet" in self.config.output.formats else CSV
        rows = self.manifest["post_processing"]["rows"]["number"]
        try:
            frame = self._rows(name, rows)
        except (ValueError, OSError, pa.ArrowException):  # also pandas' own and ReadbackError
            raise self._refused(
                [f"{name}: cannot be read as rows of the declared columns"]
            ) from None
        if len(frame) != rows:
            raise self._refused([f"{name}: found {len(frame)} rows, expected {rows}"])
        return frame

    def _rows(self, name: str, rows: int) -> pd.DataFrame:
        columns = published_columns(self.config.universe, self.config.output.bins)
        types = {column.name: DTYPES[column.published_type] for column in columns}
        with self._opened(name) as file:
            if name == PARQUET:
                open_parquet(file, columns, rows=rows)  # of the declared schema, and no bomb
                file.seek(0)
                return pd.read_parquet(file, dtype_backend="numpy_nullable").astype(types)
            moments = [name for name, kind in types.items() if kind.startswith("datetime64")]
            frame = pd.read_csv(
                file,
                dtype=types | dict.fromkeys(moments, "string"),
                keep_default_na=False,
                na_values=[""],
                skip_blank_lines=False,
            )
        if list(frame.columns) != list(types):
            raise ReadbackError("the header is not that of the declared columns")
        if not isinstance(frame.index, pd.RangeIndex):  # pandas takes a field too many for it
            raise ReadbackError("lines have more fields than there are columns")
        for name in moments:  # by Arrow, which guesses no form
            frame[name] = pa.array(frame[name], pa.string()).cast(pa.timestamp("s")).to_pandas()
        return frame

    def counts(self) -> pd.DataFrame:
        """The cells that have rows: the label of every column, and `count`."""
        codes = [column.astype(np.int64) for column in self.cell_counts.columns]
        return self._labelled(codes, self.config.universe.attributes, self.cell_counts.values)

    def marginal(self, columns: Sequence[str]) -> pd.DataFrame:
        """The published counts of every cell of the table over some columns, empty ones too.

        Raises: QueryError for a name that is no column.
        """
        universe = self.config.universe
        check_columns(columns, universe)
        names = [name for name in universe.names if name in columns]
        margin = Margin(tuple(names), (0,) * len(names))
        table = self.cell_counts.sums(universe, margin).reshape(margin.shape(universe))
        table = table.transpose([names.index(name) for name in columns])
        codes = np.unravel_index(np.arange(table.size), table.shape)
        return self._labelled(codes, [universe.attribute(n) for n in columns], table.ravel())

    @cached_property
    def cell_counts(self) -> Counts:
        """The published rows of each cell that has any."""
        rows = self.manifest["post_processing"]["rows"]["number"]
        (name, *_) = reversed(data_files(self.config))
        found, problems = published_counts(self._folder, name, self.config, rows=rows)
        if found is None:
            raise self._refused(problems)
        return found

    def replicate_weights(self) -> pd.DataFrame:
        """The distinct published rows with their count and the counts of every replicate.

        Columns of bins are numbers that stand for the bin: the value, or its middle. The counts
        stand in `release_count` and `release_replicate_1`, `release_replicate_2`, ...; what to do
        with them says docs/how-to/statistics-with-errors.md.

        Raises: QueryError for a release without replicates; VerificationError.
        """
        return self.weights.frame()

    @cached_property
    def weights(self) -> Weights:
        """The replicates with their factor and their rule; see `synth.infer`."""
        section = self.manifest["post_processing"].get("replicates")
        if section is None:
            raise no_replicates(self.id)
        codes, counts = self._replicate_counts()
        rule = Rule.of(
            self.measurements.tables,
            calibrated_columns=section["calibrated_columns"],
            largest_shift=section["largest_shift"],
        )
        table = WeightedTable(self.config.universe, codes, counts.astype(np.float64))
        return Weights(table, section["factor"], rule)

    def _replicate_counts(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Codes and counts of every line.

        How much is read follows from the domain or from the rows: what the manifest says of this
        file bounds nothing, for a stranger wrote it.
        """
        size, number = self.config.universe.size, self.config.output.replicates
        most = size if size <= DENSE_LIMIT_CELLS else self.cell_counts.values.size
        try:
            with self._opened(REPLICATES) as file:
                return read_replicates(file, self.config, number, least=0, most=most)
        except (ValueError, OSError, TypeError, pa.ArrowException):  # also of a trial reading
            found = [f"{REPLICATES}: cannot be read as counts of the declared columns"]
            raise self._refused(found) from None

    def _labelled(
        self,
        codes: Sequence[NDArray[np.int64]],
        attributes: Sequence[Attribute],
        counts: NDArray[np.int64],
    ) -> pd.DataFrame:
        columns: dict[str, Any] = {
            attribute.name: pd.Categorical.from_codes(
                code, pd.Index(attribute.labels), ordered=attribute.is_ordered
            )
            for code, attribute in zip(codes, attributes, strict=True)
        }
        name = next(word for word in ("count", "rows", "counted rows") if word not in columns)
        return pd.DataFrame(columns | {name: counts})

    def _opened(self, name: str) -> Any:
        try:
            return self._folder.open(name)
        except FolderError as error:
            raise self._refused([str(error)]) from None

    def _refused(
        self, findings: Sequence[str], *, fix: str = VerificationError.FIX
    ) -> VerificationError:
        return VerificationError(self.path.name or str(self.path), findings, fix=fix)

    def first_rows(self, count: int) -> list[list[str]]:
        """The first synthetic rows as texts, a missing value as an empty one; no others are read.

        Raises: VerificationError.
        """
        name = PARQUET if "parquet" in self.config.output.formats else CSV
        rows = self.manifest["post_processing"]["rows"]["number"]
        columns = published_columns(self.config.universe, self.config.output.bins)
        try:
            with self._opened(name) as file:
                if name == CSV:
                    lines = csv.reader(io.TextIOWrapper(file, encoding="utf-8", newline=""))
                    return list(islice(lines, 1, count + 1))
                found: list[dict[str, Any]] = []
                for batch in blocks(open_parquet(file, columns, rows=rows), count):
                    found += batch.slice(0, count - len(found)).to_pylist()
                    if len(found) == count:
                        break
        except (ValueError, OSError, pa.ArrowException, csv.Error):
            raise self._refused([f"{name}: cannot be read as rows"]) from None
        return [list(map(_as_text, row.values())) for row in found]

    def __repr__(self) -> str:
        return f"Release({str(self.path)!r})"

    def _repr_html_(self) -> str:
        """What a notebook shows: title, guarantee, the first rows, and how exact counts are.

        Ensures: every name and value is escaped, so that none can be markup.
        """
        config, rows = self.config, self.manifest["post_processing"]["rows"]["number"]
        columns = published_columns(config.universe, config.output.bins)
        shown = [column.name for column in columns][:MOST_SHOWN]
        first = [row[:MOST_SHOWN] for row in self.first_rows(ROWS_SHOWN)]
        left_out = len(columns) - len(shown)
        queries = self.manifest["quality"]["prediction"]["queries"]
        accuracy = [
            [str(each["columns"]), *(_exactness(each[which]) for which in ("best", "worst"))]
            for each in queries
        ]
        privacy = config.privacy
        delta = f", delta {format_number(privacy.delta)}" if privacy.delta else ""
        unit = "one record" if privacy.unit == "record" else "all records of one person"
        return "".join(
            [
                f"<h3>{escape(config.release.title)}</h3>",
                f"<p>{rows:,} synthetic rows, {len(columns)} columns. Differentially private: ",
                f"epsilon {format_number(privacy.epsilon)}{delta}, {privacy.neighbours}, ",
                f"protects {unit}. No row is a person.</p>",
                _html_table(shown, first),
                f"<p>and {left_out} more columns</p>" if left_out else "",
                "<p>How exact a count of combinations of so many columns is, 95 %, in records: ",
                "the most and the least exact table</p>" if accuracy else "not predicted</p>",
                _html_table(["columns", "most exact", "least exact"], accuracy),
            ]
        )


def _as_text(value: object) -> str:
    """A value of Parquet as CSV would have it."""
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value is None else str(value)


def _exactness(query: dict[str, Any]) -> str:
    return f"{', '.join(query['attributes'])}: ±{query['half_width_95_records']:,}"


def _html_table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    if not rows:
        return ""
    head = "".join(f"<th>{escape(text)}</th>" for text in headings)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
