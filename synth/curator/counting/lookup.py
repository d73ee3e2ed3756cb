"""Looking up: the codes of columns with many levels, by a join with a table of the configuration.

A chain of comparisons has a branch per level. That is quick for a few; with 20,000 it takes more
than a minute to write down, and every record goes through it. A join looks at each record once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import ibis
import ibis.expr.types as ir
import pyarrow as pa
import pyarrow.compute as pc

from synth.curator.counting.encode import (
    encode_attribute,
    encode_texts,
    encode_words,
    is_float,
    is_nan,
    is_whole,
    known_code,
    known_texts,
)
from synth.curator.counting.moments import iso_text, moment_columns
from synth.curator.engine import Engine, Key, Records
from synth.domain import Attribute, Universe

COMPARED_TEXTS = 64
"""A column with more texts than this in the configuration is looked up."""


def encode_records(
    engine: Engine,
    records: Records,
    universe: Universe,
    *,
    person: str | None,
    period: Attribute | None = None,
) -> ibis.Table:
    """One row per record: the words of its cell, and as `person` the text of that column.

    With a column of dates, the code of its period is `period`.

    Privacy: a record that a join left out or doubled would be counted wrongly. So records come
    first in an outer join, and what they are joined with is grouped by what it is joined on.
    Which columns are looked up depends on the configuration alone.
    Ensures: every record has the codes that `encode_attribute` gives it, or those of the engine.
    """
    kept = {} if person is None else {"person": records.table[person].cast("string")}
    table = record_codes(engine, records, universe, kept, period=period)
    found = {each.name: table[f"code_{number}"] for number, each in enumerate(universe.attributes)}
    beside = {name: table[name] for name in kept}
    if period is not None:
        beside["period"] = engine.computed_once(table["period"])
    return table.select(**encode_words(found, universe), **beside)


def record_codes(
    engine: Engine,
    records: Records,
    universe: Universe,
    kept: Mapping[str, ir.Value],
    *,
    period: Attribute | None = None,
) -> ibis.Table:
    """One row per record: its codes as `code_0`, `code_1`, ..., and what is kept beside them.

    See `encode_records`. Words of the configuration mean nothing in the column of the `period`.
    """
    columns: dict[str, ir.Value] = dict(kept)
    levels: dict[int, ibis.Table] = {}
    moments: list[tuple[int, Attribute]] = []
    for number, attribute in enumerate(universe.attributes):
        if attribute.name in records.coded:
            columns[f"code_{number}"] = records.table[attribute.name]
            continue
        if attribute.calendar is not None:
            column = records.table[attribute.name]
            columns[f"given_{number}"] = known_code(column, attribute)
            columns[f"text_{number}"] = iso_text(column, attribute.calendar)
            moments.append((number, attribute))
            continue
        texts = known_texts(attribute)
        keys = _keys(records.table[attribute.name], texts)
        if len(texts) <= COMPARED_TEXTS or not keys:
            columns[f"code_{number}"] = encode_attribute(records, attribute)
            continue
        rest = [(text, code) for text, code in texts if text not in keys]
        columns[f"code_{number}"] = encode_texts(records, attribute, rest)
        columns[f"key_{number}"] = _key(records.table[attribute.name])
        first = {keys[text]: code for text, code in reversed(texts) if text in keys}
        levels[number] = engine.lookup(first)
    if period is not None and period.calendar is not None:
        place = len(universe.attributes)
        columns[f"given_{place}"] = ibis.null("int32")
        columns[f"text_{place}"] = iso_text(records.table[period.name], period.calendar)
        moments.append((place, period))
    table = records.table.select(**columns)
    for number, codes in levels.items():
        table = _joined(table, codes, number)
    coded = moment_columns(table, moments)
    return coded if period is None else coded.rename(period=f"code_{len(universe.attributes)}")


def _keys(column: ir.Column, texts: Sequence[tuple[str, int]]) -> dict[str, Key]:
    """The texts that a value equals by `==`, each as the engine has it: not nulls, not NaN."""
    if column.type().is_integer():
        return {text: int(text) for text, _ in texts if is_whole(text)}
    if column.type().is_floating():
        numbers = {text: float(text) for text, _ in texts if is_float(text)}
        return {text: number for text, number in numbers.items() if not math.isnan(number)}
    return {text: text for text, _ in texts if text != ""}


def _key(column: ir.Column) -> ir.Column:
    """What is compared with the keys; null for NaN, which some engines take for equal to itself."""
    return is_nan(column).ifelse(None, column) if column.type().is_floating() else column


def _joined(table: ibis.Table, codes: ibis.Table, number: int) -> ibis.Table:
    """The records with the codes of one column: that of its key, else the one it had before."""
    once = codes.group_by("key").aggregate(found=codes.code.min())
    joined = table.left_join(once, table[f"key_{number}"] == once.key)
    others = {name: table[name] for name in table.columns if name != f"key_{number}"}
    code = ibis.coalesce(once.found, table[f"code_{number}"])
    return joined.select(**{**others, f"code_{number}": code})


@dataclass(frozen=True)
class TextCodes:
    """The code of every text of a column: of those that the configuration knows, and of others."""

    known: Mapping[str, int]
    other: int

    def of(self, values: pa.DictionaryArray) -> pa.Array:
        """The code of each value as int32, never null; a null counts as the empty text.

        Total on every dictionary of texts. Which code a value gets depends on that value alone.
        Ensures: the codes that comparing value by value would give (`encode.encode_attribute`).
        """
        texts = pa.array(self.known, values.dictionary.type)
        codes = pa.array(self.known.values(), pa.int32())
        places = pc.index_in(values.dictionary.fill_null(""), value_set=texts)
        of_words = codes.take(places).fill_null(self.other)
        return of_words.take(values.indices).fill_null(self.known.get("", self.other))


def text_codes(attribute: Attribute) -> TextCodes | None:
    """The codes of a column of texts; None for one whose other texts are read as numbers."""
    if attribute.is_ordered:
        return None
    known = dict(reversed(known_texts(attribute)))  # the first counts
    return TextCodes(known, attribute.unreadable_code)


def codes_of_texts(universe: Universe) -> dict[str, TextCodes]:
    """The codes of all columns of texts, by the names of the attributes."""
    found = {attribute.name: text_codes(attribute) for attribute in universe.attributes}
    return {name: codes for name, codes in found.items() if codes is not None}
