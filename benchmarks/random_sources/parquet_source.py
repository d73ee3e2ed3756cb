"""Random Parquet files: columns of every type, however they are stored, and texts of any bytes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from random_sources.file_source import PERSON, FileSource, Part

WHOLE = {
    "int8": pa.int8(), "int16": pa.int16(), "int32": pa.int32(), "int64": pa.int64(),
    "uint8": pa.uint8(), "uint16": pa.uint16(), "uint32": pa.uint32(), "uint64": pa.uint64(),
}  # fmt: skip
FLOATS = {"float16": pa.float16(), "float32": pa.float32(), "float64": pa.float64()}
DECIMALS = {
    "decimal(9, 0)": pa.decimal128(9, 0), "decimal(12, 2)": pa.decimal128(12, 2),
    "decimal(30, 9)": pa.decimal128(30, 9), "decimal256": pa.decimal256(50, 3),
}  # fmt: skip
TEXTS = ("text", "large text", "dictionary", "text view")
OTHERS = {"bool": pa.bool_(), "date": pa.date32(), "null": pa.null()}
REFUSED = {
    "bytes": pa.binary(), "list": pa.list_(pa.int8()), "timestamp": pa.timestamp("us"),
    "struct": pa.struct([("a", pa.int8())]),
}  # fmt: skip
COUNTED = (*WHOLE, *FLOATS, *DECIMALS, *TEXTS, *TEXTS, *OTHERS)
BYTES = (
    b"\xff",
    b"\xc3",
    b"\0",
    b"Female\xff",
    "ü".encode(),
    "\U000f0041".encode(),
    b"\xed\xa0\x80",
)
SPECIAL = (math.nan, math.inf, -math.inf, -0.0, 0.5, 1.5, 1.0, 99.9, 1e30)

Row = dict[str, Any]


class ParquetSource(FileSource[Row]):
    """Parquet files; each has types, an order of columns and a way of storing of its own."""

    def __init__(self, chance: Random, *, largest_field: int) -> None:
        """The files have no rows yet."""
        super().__init__(chance, largest_field=largest_field)
        self._kinds: list[dict[str, str]] = []
        self._stored: list[dict[str, Any]] = []
        self._is_twice = self._is_cut = False

    @property
    def place(self) -> Mapping[str, Any]:
        """The section `source`."""
        return {"path": "part-*.parquet" if len(self.parts) > 1 else "part-0.parquet"}

    def make(self) -> None:
        """The files and their rows."""
        chance = self.chance
        person = chance.choice((TEXTS, TEXTS, tuple(WHOLE), ("decimal(12, 2)",)))
        for _ in range(chance.choice((1, 1, 2, 4))):
            columns = [*self.needed, *chance.sample(("note", "other"), chance.randint(0, 2))]
            chance.shuffle(columns)
            kinds = {
                name: chance.choice(COUNTED if name in self.needed else (*COUNTED, *REFUSED))
                for name in columns
            }
            if self.max_records:
                kinds[PERSON] = chance.choice(person)
            self.parts.append(Part(columns))
            self._kinds.append(kinds)
            self._stored.append(self._storage(kinds))
        self._spoil()
        self.made_of.insert(0, f"parquet of {len(self.parts)} {self._kinds}")
        for _ in range(chance.choice((0, 1, 40, 40, 200))):
            part = chance.choice(self.parts)
            part.rows.append(self.row(part, None))

    def _storage(self, kinds: Mapping[str, str]) -> dict[str, Any]:
        chance = self.chance
        stored: dict[str, Any] = {
            "row_group_size": chance.choice((1, 3, 10, 1_000)),
            "compression": chance.choice(("none", "snappy", "gzip", "zstd")),
            "data_page_version": chance.choice(("1.0", "2.0")),
            "data_page_size": chance.choice((64, 1 << 20)),
            "use_dictionary": chance.random() < 0.6,
        }
        texts = [name for name, kind in kinds.items() if kind in TEXTS]
        if not stored["use_dictionary"] and texts and chance.random() < 0.5:
            encodings = ("PLAIN", "DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY")
            stored["column_encoding"] = {name: chance.choice(encodings) for name in texts}
        return stored

    def _spoil(self) -> None:
        chance = self.chance
        part, kinds = self.parts[-1], self._kinds[-1]
        what = chance.choice(("",) * 12 + ("type", "missing", "twice", "cut", "person"))
        if what == "type":
            kinds[chance.choice(self.needed)] = chance.choice([*REFUSED])
        elif what == "missing":
            part.columns.remove(chance.choice(self.needed))
        elif what == "twice":
            self._is_twice = True
        elif what == "cut":
            self._is_cut = True
        elif what == "person" and self.max_records:
            kinds[PERSON] = chance.choice([*FLOATS, "bytes"])
        self.is_refused = what in ("type", "missing", "twice", "cut")
        self.is_refused |= what == "person" and self.max_records > 0
        self.made_of.append(what)

    def row(self, part: Part[Row], person: str | None) -> Row:
        """A value for every column; a person has an id that the column can hold."""
        kinds = self._kinds[self.parts.index(part)]
        row = {name: self._value(name, kinds[name]) for name in part.columns}
        if person is not None and PERSON in row:
            number = int(person)
            row[PERSON] = {
                **dict.fromkeys(WHOLE, number),
                **dict.fromkeys(TEXTS, person.encode()),
                **dict.fromkeys(FLOATS, float(number)),
                **dict.fromkeys(REFUSED),
            }.get(kinds[PERSON], Decimal(number))
        return row

    def new_person(self) -> str:
        """An id in digits, so that columns of every type hold it."""
        return str(self.chance.randint(100, 127))

    def _value(self, name: str, kind: str) -> Any:
        chance = self.chance
        if kind in REFUSED or kind == "null" or chance.random() < 0.15:
            return None
        if kind in WHOLE:
            low = -5 if kind.startswith("int") and name != PERSON else 0
            large = 2 ** (8 * np.dtype(kind).itemsize - kind.startswith("int")) - 1
            values = (chance.randint(low, 99), chance.randint(0, 9), large)
            return chance.choice(values[:2] if name == PERSON else values)
        if kind in FLOATS:
            value = chance.choice((*SPECIAL, float(chance.randint(-5, 120))))
            with np.errstate(over="ignore"):
                return np.dtype(kind).type(value)
        if kind in DECIMALS:
            scale = DECIMALS[kind].scale
            return Decimal(chance.randint(-900, 12_000)).scaleb(-min(scale, 2))
        if kind == "bool":
            return chance.random() < 0.5
        if kind == "date":
            return date(2020, 2, chance.randint(1, 29))
        text = self.text(name).encode(errors="surrogateescape")
        if kind == "text view":  # it is made of whole characters only
            return text.decode(errors="replace").encode()
        if self.largest_field and chance.random() < 0.02:
            size = int(2 ** chance.uniform(12, math.log2(self.largest_field)))
            return (text + chance.choice(BYTES)) * (size // (len(text) + 4) + 1)
        return text + chance.choice(BYTES) if chance.random() < 0.2 else text

    def values(self, part: Part[Row], row: Row) -> Mapping[str, str]:
        """The texts that values of all types are compared as."""
        kinds = self._kinds[self.parts.index(part)]
        return {name: as_text(value, kinds[name]) for name, value in row.items()}

    def write(self, directory: Path) -> None:
        """The files, each with its own way of storing."""
        for number, part in enumerate(self.parts):
            kinds = self._kinds[number]
            arrays = [array([row[name] for row in part.rows], kinds[name]) for name in part.columns]
            names = list(part.columns)
            if self._is_twice and number == len(self.parts) - 1:
                repeated = names.index(self.needed[0])
                names.append(names[repeated])
                arrays.append(arrays[repeated])
            path = directory / f"part-{number}.parquet"
            pq.write_table(pa.Table.from_arrays(arrays, names), path, **self._stored[number])
            if self._is_cut and number == len(self.parts) - 1:
                path.write_bytes(path.read_bytes()[:-5])


def array(values: list[Any], kind: str) -> pa.Array:
    """The values in their type; texts may be of any bytes."""
    if kind == "text view":
        texts = [None if value is None else value.decode() for value in values]
        return pa.array(texts, pa.string_view())
    if kind == "large text":
        return pa.array(values, pa.large_binary()).view(pa.large_string())
    if kind == "text":
        return pa.array(values, pa.binary()).view(pa.string())
    if kind == "dictionary":
        found = pa.array(values, pa.binary()).dictionary_encode()
        return pa.DictionaryArray.from_arrays(found.indices, found.dictionary.view(pa.string()))
    kinds = {**WHOLE, **FLOATS, **DECIMALS, **OTHERS, **REFUSED}
    if kind in DECIMALS:
        scale = Decimal(1).scaleb(-DECIMALS[kind].scale)
        values = [None if value is None else value.quantize(scale) for value in values]
    return pa.array(values, kinds[kind])


def as_text(value: Any, kind: str) -> str:
    """A value as the documentation has it written."""
    if value is None:
        return ""
    if kind in TEXTS:
        return str(value.decode(errors="surrogateescape"))
    if kind in FLOATS:
        number = float(value)
        is_whole = -(2.0**63) <= number < 2.0**63 and number == int(number)
        return str(int(number)) if is_whole else repr(number)
    if kind in DECIMALS:
        return f"{value:.{DECIMALS[kind].scale}f}"
    return str(value).lower() if kind == "bool" else str(value)
