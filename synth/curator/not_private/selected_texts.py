"""The records of a period as texts, for the keeper of the data: the same that a run counts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

import ibis
import pyarrow as pa

from synth.config.series import PeriodSelection
from synth.curator.counting.lookup import record_codes
from synth.curator.counting.moments import iso_text
from synth.curator.counting.selection import first_looked_at, period_attribute
from synth.curator.engine import Records
from synth.curator.files.duckdb_engine import DuckDBEngine, as_number, duckdb_engine
from synth.curator.files.text_tables import FileCodebook
from synth.curator.not_private.inference import ELSEWHERE
from synth.curator.not_private.source_texts import (
    FoundColumns,
    LeftOut,
    SourceTexts,
    counted_kind,
)
from synth.domain import Universe

VALUES = "dates_of_a_batch"


class SelectedTexts:
    """An open source, of which only the records of some periods are seen."""

    def __init__(self, texts: SourceTexts, selection: PeriodSelection, spill: Path) -> None:
        """Nothing is read yet."""
        self._texts, self._selection, self._spill = texts, selection, spill
        self.of_other_periods = 0
        """How many records the streams read last have left out by their dates. Secret."""
        self.undated = 0
        """How many of them hold no date at all. Secret."""

    def find_columns(self) -> FoundColumns:
        """See `SourceTexts.find_columns`."""
        return self._texts.find_columns()

    def codebooks(self) -> dict[str, FileCodebook]:
        """See `SourceTexts.codebooks`."""
        return self._texts.codebooks()

    @property
    def left_out(self) -> LeftOut:
        """See `SourceTexts.left_out`."""
        return self._texts.left_out

    @contextmanager
    def streams(self, names: Sequence[str]) -> Iterator[Sequence[pa.RecordBatchReader]]:
        """See `SourceTexts.streams`."""
        self.of_other_periods = self.undated = 0
        place = self._spill / "selection"
        place.mkdir(exist_ok=True)
        needed = list(dict.fromkeys([*names, self._selection.column]))
        with (
            duckdb_engine(ELSEWHERE, (), place) as engine,
            self._texts.streams(needed) as readers,
        ):
            yield [self._selected(reader, list(names), engine) for reader in readers]

    def _selected(
        self, reader: pa.RecordBatchReader, names: list[str], engine: DuckDBEngine
    ) -> pa.RecordBatchReader:
        def batches() -> Iterator[pa.RecordBatch]:
            for batch in reader:
                column = batch.column(self._selection.column).dictionary_encode()
                inside, dated = self._judged(column.dictionary, engine)
                place = column.indices.fill_null(len(inside) - 1)
                chosen = pa.array(inside).take(place)
                has_date = pa.array(dated).take(place)
                self.undated += has_date.false_count
                self.of_other_periods += chosen.false_count - has_date.false_count
                yield batch.select(names).filter(chosen)

        schema = pa.schema([reader.schema.field(name) for name in names])
        return pa.RecordBatchReader.from_batches(schema, batches())

    def _judged(self, values: pa.Array, engine: DuckDBEngine) -> tuple[list[bool], list[bool]]:
        """Whether each value is in a period of the selection, and whether it is a date.

        One more of both, for nulls, is False.
        """
        attribute = replace(period_attribute(self._selection), name="date")
        held = pa.table(
            {
                "date": values.cast(counted_kind(values.type)),
                "place": pa.array(range(len(values)), pa.int64()),
            }
        )
        engine.connection.register(VALUES, held)
        table = ibis.table(ibis.Schema.from_pyarrow(held.schema), name=VALUES)
        is_date = iso_text(table.date, self._selection.calendar).notnull()
        coded = record_codes(
            engine,
            Records(table, partial(as_number, table)),
            Universe(()),
            {"place": table.place, "is_date": is_date},
            period=attribute,
        )
        periods = {number for number, _ in self._selection.weights}
        first = first_looked_at(self._selection)
        inside, dated = [False] * (len(values) + 1), [False] * (len(values) + 1)
        for batch in engine.batches(
            coded.select(**{n: coded[n].cast("int64") for n in coded.columns})
        ):
            for row in batch.to_pylist():
                inside[row["place"]] = first + row["period"] in periods
                dated[row["place"]] = bool(row["is_date"])
        engine.connection.unregister(VALUES)
        return inside, dated
