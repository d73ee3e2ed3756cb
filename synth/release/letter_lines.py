"""CSV lines of which every field is one letter: written and read as a matrix, without a parser.

Tables of codes often have such columns only. A field and the comma or line feed behind it are two
bytes, so a line is a row of as many 16-bit numbers as there are columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import IO, TYPE_CHECKING, TypeAlias

from synth.release.columns import Column
from synth.release.rows import RowBlock

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LINES_AT_ONCE = 1 << 12
"""Lines that are written together: they stay in the cache while column after column is set."""

LINES_READ_AT_ONCE = 1 << 16
BYTES_READ_AT_ONCE = 1 << 22
"""Fewer lines where they are long: a list holds the codes of all columns of what is read."""

_SPECIAL = frozenset(',"\r\n')
_NO_CODE = -1


CodedRows: TypeAlias = "Iterator[tuple[int, Iterator[NDArray[np.int64]]]]"
"""Consecutive rows: how many, and the codes of column after column, to be taken in order."""


class OtherLayoutError(ValueError):
    """The bytes are not lines of known letters; a parser of CSV tells what they are."""


class LetterLines:
    """The pairs of a letter and its separator, by column and code, and the way back."""

    def __init__(self, columns: Sequence[Column]) -> None:
        """For the columns of a table.

        Requires: `are_letters(columns)`.
        """
        import numpy as np

        self._pairs: list[NDArray[np.uint16]] = []
        self._codes: list[NDArray[np.int16]] = []
        for number, column in enumerate(columns, 1):
            separator = ord("\n" if number == len(columns) else ",")
            letters = [ord(text) for text in column.texts]
            pairs = np.array([letter | separator << 8 for letter in letters], dtype="<u2")
            codes = np.full(1 << 16, _NO_CODE, dtype=np.int16)
            codes[pairs] = np.arange(len(pairs))
            self._pairs.append(pairs)
            self._codes.append(codes)

    def written(self, block: RowBlock) -> memoryview:
        """The lines of a block of rows."""
        import numpy as np

        lines = np.empty((block.size, len(self._pairs)), dtype="<u2")
        for start in range(0, block.size, LINES_AT_ONCE):
            part = slice(start, start + LINES_AT_ONCE)
            for position, pairs in enumerate(self._pairs):
                lines[part, position] = pairs[block.codes[position][part]]
        return lines.data.cast("B")

    def read(self, file: IO[bytes]) -> CodedRows:
        """The rest of a file: so many lines at once, and the codes of their columns.

        Raises: OtherLayoutError, also while the codes are taken, if there is anything else in it.
        """
        import numpy as np

        width = 2 * len(self._pairs)
        at_once = width * max(1, min(LINES_READ_AT_ONCE, BYTES_READ_AT_ONCE // width))
        while content := file.read(at_once):
            if len(content) % width:
                raise OtherLayoutError("the last line is not as long as the others")
            lines = np.frombuffer(content, dtype="<u2").reshape(-1, len(self._pairs))
            yield len(lines), map(partial(self._column, lines), range(len(self._pairs)))

    def _column(self, lines: NDArray[np.uint16], position: int) -> NDArray[np.int64]:
        import numpy as np

        codes = self._codes[position][lines[:, position]]
        if (codes == _NO_CODE).any():
            raise OtherLayoutError("a field is no letter of its column")
        return codes.astype(np.int64)


def are_letters(columns: Sequence[Column]) -> bool:
    """Whether every field of a table is one byte, never quoted and never missing."""
    return all(
        column.published_type == "text"
        and not column.attribute.has_missing
        and all(len(text.encode()) == 1 and text not in _SPECIAL for text in column.texts)
        for column in columns
    )
