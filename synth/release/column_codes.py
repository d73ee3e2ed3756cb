"""The codes of one column of published rows, every value checked against the declared domain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from synth.release.columns import Column

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

SHOWN_CHARACTERS = 80


class ReadbackError(ValueError):
    """A published file does not hold rows of the declared universe; says where and why."""


def column_codes(column: Column, values: Any, row: int, *, text: bool) -> NDArray[np.int64]:
    """The codes of one column of a batch whose first row is number `row` (from 0)."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    missing_code = column.attribute.bin_count if column.attribute.has_missing else -1
    if column.published_type == "text" and pa.types.is_string(values.type):
        codes: NDArray[np.int64] = _codes_of_letters(column, values)
        if values.null_count:
            codes[np.asarray(values.is_null())] = missing_code
    elif column.published_type == "text":
        known = pc.index_in(values.dictionary, value_set=pa.array(column.texts, pa.string()))
        known = np.append(np.asarray(known.fill_null(-1)).astype(np.int64), missing_code)
        indices = values.indices
        if indices.null_count:
            indices = indices.fill_null(len(known) - 1)
        codes = known.take(np.asarray(indices))
    else:
        grid, valid = _grid(column, values, text=text)
        first = np.array(column.first, dtype=np.int64)
        last = np.array(column.last, dtype=np.int64)
        codes = np.searchsorted(first, grid, side="right").astype(np.int64) - 1
        codes[~valid | (grid > last[codes])] = -1
        codes[np.asarray(values.is_null())] = missing_code
    if (codes < 0).any():
        place = int(np.argmax(codes < 0))
        found = values[place].as_py()
        shown = "a missing value" if found is None else repr(found)
        shown = shown if len(shown) <= SHOWN_CHARACTERS else shown[:SHOWN_CHARACTERS] + "..."
        raise ReadbackError(
            f"row {row + place + 1}, column {column.name!r}: {shown} is not in the declared domain"
        )
    return codes


def _has_letters(column: Column) -> bool:
    """Whether every text of a column is one byte, as codes of surveys often are."""
    return all(len(text.encode()) == 1 for text in column.texts)


def read_as(column: Column) -> Any:
    """The type that a column of a CSV file is read as: single bytes need no dictionary."""
    import pyarrow as pa

    if column.published_type != "text" or _has_letters(column):
        return pa.string()
    return pa.dictionary(pa.int32(), pa.string())


def _codes_of_letters(column: Column, values: Any) -> NDArray[np.int64]:
    """The codes of texts where every known one is a single byte; -1 for any other text."""
    import numpy as np

    code_of = np.full(256, -1, dtype=np.int64)
    code_of[[ord(text) for text in column.texts]] = np.arange(len(column.texts))
    _, bounds, characters = values.buffers()
    places = np.frombuffer(bounds, dtype=np.int32)[values.offset :][: len(values) + 1]
    letters = np.frombuffer(characters or b"", dtype=np.uint8)
    single = np.diff(places) == 1
    if single.all():
        return code_of[letters[places[0] : places[-1]]]
    codes = np.full(len(values), -1, dtype=np.int64)
    codes[single] = code_of[letters[places[:-1][single]]]
    return codes


def _grid(
    column: Column, values: Any, *, text: bool
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """The whole numbers k that numeric values stand for, and which values are well formed."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    decimals = column.decimals
    if text:
        fraction = rf"\.[0-9]{{{decimals}}}" if decimals else ""
        valid = pc.match_substring_regex(values, rf"^-?(0|[1-9][0-9]{{0,18}}){fraction}$")
        valid = valid.fill_null(False)
        digits = pc.if_else(valid, pc.replace_substring(values, ".", ""), "0")
        try:
            return np.asarray(digits.cast(pa.int64())), np.asarray(valid)
        except pa.ArrowInvalid:
            raise ReadbackError(f"column {column.name!r}: a number of too many digits") from None
    valid = np.asarray(values.is_valid())
    if column.published_type == "integer":
        return np.asarray(values.fill_null(0)), valid
    reals = np.asarray(values.fill_null(0.0))
    scale = 10.0**decimals
    valid = valid & np.isfinite(reals) & (np.abs(reals) < 1e18 / scale)
    grid = np.rint(np.where(valid, reals, 0.0) * scale).astype(np.int64)
    return grid, valid & (grid / scale == reals)
