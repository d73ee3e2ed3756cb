"""Files as streams of texts, for a draft."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config import FileSource
from synth.config.source_files import is_parquet
from synth.curator.files.csv_source import CsvFile, CsvStream, open_csv, read_header, require_whole
from synth.curator.files.parquet_source import open_parquet
from synth.curator.not_private.source_texts import FoundColumns, LeftOut
from synth.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa


class FileTexts:
    """CSV or Parquet files; the first one says which columns there are."""

    def __init__(self, source: FileSource, files: Sequence[Path]) -> None:
        """Nothing is opened yet."""
        self._source, self._files = source, files
        self._is_parquet = is_parquet(files[0])
        self._csv: CsvStream | None = None

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`."""
        found = self._names()
        repeated = tuple(dict.fromkeys(name for name in found if found.count(name) > 1))
        single = [name for name in found if name not in repeated]
        uncountable = tuple(name for name in single if not self._is_countable(name))
        names = tuple(name for name in single if name not in uncountable)
        return FoundColumns(names, uncountable, repeated)

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`."""
        shown = self._source.shown
        if self._is_parquet:
            opened = open_parquet(shown, self._files, names, person_column=None)
            yield [stream.reader() for stream in opened]
            return
        csv = open_csv(shown, self._files, names, self._source.dialect)
        self._csv = csv
        yield [csv.reader()]
        require_whole(csv.files, shown)

    @property
    def left_out(self) -> LeftOut:
        """See `SourceTexts.left_out`."""
        if self._csv is None:
            return LeftOut()
        parsers = self._csv.parsers
        return LeftOut(
            sum(parser.short for parser in parsers),
            self._csv.too_long,
            sum(parser.long for parser in parsers),
        )

    def _names(self) -> list[str]:
        if not self._is_parquet:
            first = CsvFile(self._files[0], self._source.dialect)
            return read_header(first, self._source.shown)
        import pyarrow as pa
        import pyarrow.parquet as pq

        try:
            found: list[str] = pq.read_schema(self._files[0]).names
        except pa.ArrowException:
            found = []
        if not found:
            raise SourceError(
                f"the source {self._source.shown} is no readable Parquet file with columns",
                fix="check that the file is complete and in the format of its name",
            )
        return found

    def _is_countable(self, name: str) -> bool:
        if self._is_parquet:
            try:
                open_parquet(self._source.shown, self._files[:1], [name], person_column=None)
            except SourceError:
                return False
        return True
