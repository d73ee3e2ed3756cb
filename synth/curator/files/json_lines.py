"""JSON lines: one object in every line of UTF-8, each a record by itself."""

from __future__ import annotations

import codecs
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa

from synth.curator.files.csv_records import RECORD_LIMIT_BYTES
from synth.curator.files.text_tables import FileCodebook
from synth.curator.files.unpacking import unpacked
from synth.curator.files.value_texts import texts

BATCH_RECORDS = 1 << 14
LOOKED_AT = 1_000
"""So many records at the beginning say which columns there are, where that is asked."""


@dataclass
class JsonLines:
    """One file; see `text_tables.TextTable`.

    Privacy: a line that is no object, or is longer than a record may be, is left out for what it
    is itself; an object without a key has no value there. Numbers stay as they are written.
    """

    path: Path
    states_its_columns: bool = False
    left_out: int = 0

    def names(self) -> list[str]:
        """The keys of the first records, in the order in which they come up."""
        found: dict[str, None] = {}
        for keys in islice(self._records(list), LOOKED_AT):
            found |= dict.fromkeys(keys)
        return list(found)

    def uncountable(self) -> list[str]:
        """See `TextTable.uncountable`: such a file declares no types."""
        return []

    def codebook(self) -> dict[str, FileCodebook]:
        """See `TextTable.codebook`: such a file has none."""
        return {}

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.Array]]:
        """See `TextTable.batches`."""
        self.left_out = 0
        records = self._records(lambda record: [_plain(record.get(column)) for column in columns])
        while rows := list(islice(records, BATCH_RECORDS)):
            yield [texts(row[place] for row in rows) for place in range(len(columns))]

    def _records(self, take: Callable[[dict[str, Any]], list[Any]]) -> Iterator[list[Any]]:
        """What is taken out of every object.

        An object is read and taken from at once: one that is nested too deeply for either is none.
        """
        for line in self._lines():
            if not line.strip():
                continue
            taken = None
            try:
                text = line.decode()
                found = json.loads(text, parse_int=str, parse_float=str, parse_constant=str)
                taken = take(found) if isinstance(found, dict) else None
            except (ValueError, RecursionError):
                pass
            if taken is None:
                self.left_out += 1
            else:
                yield taken

    def _lines(self) -> Iterator[bytes]:
        """The lines; of one that is too long the first bytes, which are no object."""
        kept: list[bytes] = []
        size, is_first = 0, True
        for chunk in unpacked(self.path):
            text = chunk.removeprefix(codecs.BOM_UTF8) if is_first else chunk
            head, *others = text.split(b"\n")
            is_first = False
            size += len(head)
            kept = [*kept, head] if size <= RECORD_LIMIT_BYTES else [b"-"]
            for other in others:
                yield b"".join(kept)
                kept, size = [other], len(other)
        yield b"".join(kept)


def _plain(value: Any) -> Any:
    """A value as a text has it: what holds other values is written as JSON, and is no level."""
    return json.dumps(value) if isinstance(value, dict | list) else value
