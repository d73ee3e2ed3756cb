"""Codes of texts that are stored once: each distinct text is looked up, and not each record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.curator.counting.encode import known_texts
from synth.domain import Attribute, Universe

if TYPE_CHECKING:
    import pyarrow as pa


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
        import pyarrow as pa
        import pyarrow.compute as pc

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
