"""What a draft looks at: the columns of a source as text, wherever its records lie."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from synth.config import FileSource, PostgresSource, SourceConfig
from synth.errors import SourceError

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class FoundColumns:
    """The columns of a source in their order: those that can be counted, and the others."""

    names: tuple[str, ...]
    uncountable: tuple[str, ...] = ()
    """Of a type that cannot be counted, or not to be read by this user."""
    repeated: tuple[str, ...] = ()

    @classmethod
    def judged(cls, names: Iterable[str], require: Callable[[str], object]) -> FoundColumns:
        """The columns as `require` judges them: SourceError says that one cannot be counted."""
        countable: list[str] = []
        uncountable: list[str] = []
        for name in names:
            try:
                require(name)
            except SourceError:
                uncountable.append(name)
            else:
                countable.append(name)
        return cls(tuple(countable), tuple(uncountable))


@dataclass(frozen=True)
class LeftOut:
    """How many records of CSV files do not count, or hold more than is read. Secret."""

    too_few_fields: int = 0
    too_long: int = 0
    more_fields: int = 0
    """Those are read; what is beyond the columns of the header is not."""


class SourceTexts(Protocol):
    """An open source whose columns can be read, as often as needed."""

    def find_columns(self) -> FoundColumns:
        """The names of the columns; no record is read.

        Raises: SourceError if the source is not there or cannot be counted as a whole.
        """

    @property
    def left_out(self) -> LeftOut:
        """What the streams that were read last have left out."""

    def streams(
        self, names: Sequence[str]
    ) -> AbstractContextManager[Sequence[pa.RecordBatchReader]]:
        """The named columns of all records, as texts or numbers, in bounded batches.

        Raises: SourceError if a part of the source lacks a column, or cannot be read to its end.
        """


@contextmanager
def open_texts(
    source: SourceConfig, files: Sequence[Path], scratch: Path, *, as_counted: bool = False
) -> Iterator[SourceTexts]:
    """The columns of a source; `files` are those that it names, `scratch` is for what spills.

    With `as_counted` they come in the kinds in which a run counts them, under its conditions.
    """
    if isinstance(source, FileSource):
        from synth.curator.not_private.file_texts import FileTexts

        yield FileTexts(source, files)
    elif isinstance(source, PostgresSource):
        from synth.curator.not_private.postgres_texts import PostgresTexts

        yield PostgresTexts(source, as_counted=as_counted)
    else:
        from synth.curator.not_private.spark_texts import spark_texts

        with spark_texts(source, scratch) as texts:
            yield texts
