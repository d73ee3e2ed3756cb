"""The noise stream: AES-256 in counter mode under a key of the operating system."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Iterator
from typing import NoReturn, Self

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, CipherContext, algorithms, modes
from numpy.typing import NDArray

from synth.errors import BugError

KEY_BYTES = 32
BLOCK_BYTES = 16
CELLS_PER_BLOCK = 8
"""A block of 16 bytes serves eight cells with 16 bits each."""
LANES = 1 << 16
TABLES = 1 << 32
ROUNDS = 1 << 16
CELLS = 1 << 63
SELECTION_LANE = LANES - 1
"""The lane of private choices. Noise has a lane pair for each of its few parts, from 0 on."""
_SELECTION_BLOCKS = 64


def counter_block(lane: int, table: int, round_number: int, index: int) -> bytes:
    """The 16 bytes that are encrypted: four big-endian fields of 2, 4, 2 and 8 bytes.

    Privacy: the fields have fixed widths and do not overlap, so different quadruples give
    different blocks; AES under one key is a permutation, so they give different random blocks.
    Lane 2p holds the 16-bit words of part p of the noise, `index` being the cell divided by 8;
    lane 2p+1 holds its refinement words, `index` being the cell. The last lane holds the words of
    private choices, `table` being the number of the choice. Counter mode adds 1 per block;
    with index + blocks <= 2^64 it never carries into the round, the table or the lane.
    Raises: BugError when a field does not fit.
    """
    fields = ((lane, LANES), (table, TABLES), (round_number, ROUNDS), (index, 1 << 64))
    if any(type(field) is not int or not 0 <= field < limit for field, limit in fields):
        raise BugError("a counter of the noise stream is out of range")
    return b"".join(field.to_bytes((limit.bit_length() - 1) // 8, "big") for field, limit in fields)


def encryptor(key: bytes | bytearray, mode: modes.CTR | modes.ECB) -> CipherContext:
    """The one place where the cipher is chosen: AES under a key of 256 bits."""
    return Cipher(algorithms.AES(key), mode).encryptor()


class NoiseStream:
    """Random words that are a function of a secret key and of (lane, table, round, index).

    Privacy: the noise of a cell depends on the key, the table's number and the cell's number
    only: not on the data, nor on how the work is cut into chunks, threads or requests. The words
    are indistinguishable from uniform ones as long as AES-256 is not broken. No cell is handed
    out twice: noise that is reused would cancel out.
    Requires: one stream per run; the object stays in the process that made it.
    """

    __slots__ = (
        "__weakref__", "_claimed", "_closed", "_key", "_lock", "_process", "_selections",
    )  # fmt: skip

    def __init__(self, *, key: bytes) -> None:
        """Take 32 bytes as the key; everything but a test uses `from_operating_system`."""
        if len(key) != KEY_BYTES:
            raise BugError("a noise stream needs a key of 32 bytes")
        self._key = bytearray(key)
        self._closed = False
        self._process = os.getpid()
        self._claimed: dict[int, list[tuple[int, int]]] = {}
        self._selections: set[int] = set()
        self._lock = threading.Lock()

    @classmethod
    def from_operating_system(cls) -> Self:
        """A stream under a fresh key of 256 bits from the operating system's generator."""
        return cls(key=os.urandom(KEY_BYTES))

    def claim(self, table: int, start: int, count: int) -> None:
        """Note that the noise of cells start .. start+count-1 of a table is handed out.

        Raises: BugError if any of it was handed out before, or a number is out of range.
        """
        if any(type(number) is not int or number < 0 for number in (table, start, count)):
            raise BugError("tables and cells have whole numbers from 0")
        stop = start + count
        if table >= TABLES or stop > CELLS:
            raise BugError("a table or cell number is beyond the noise stream")
        if not count:
            return
        with self._lock:
            claimed = self._claimed.setdefault(table, [])
            if any(start < its_stop and its_start < stop for its_start, its_stop in claimed):
                raise BugError("the noise of a cell was asked for twice")
            if claimed and claimed[-1][1] == start:
                start = claimed.pop()[0]
            claimed.append((start, stop))

    def words_of_selection(self, number: int) -> Iterator[int]:
        """Words of 64 bits without end for private choice `number`, from a lane of their own.

        Privacy: handed out once, and to nothing else.
        Raises: BugError if the choice had its words before, or its number is out of range.
        """
        if type(number) is not int or not 0 <= number < TABLES:
            raise BugError("a private choice has a whole number from 0")
        with self._lock:
            if number in self._selections:
                raise BugError("the words of a private choice were asked for twice")
            self._selections.add(number)
        return self._selection_words(number)

    def _selection_words(self, number: int) -> Iterator[int]:
        for start in itertools.count(0, _SELECTION_BLOCKS):
            indices = np.arange(start, start + _SELECTION_BLOCKS, dtype=np.int64)
            words = self.blocks(lane=SELECTION_LANE, table=number, round_number=0, indices=indices)
            yield from words.ravel().tolist()

    def keystream(self, *, lane: int, table: int, index: int) -> Keystream:
        """Consecutive blocks of a lane, from block `index` on."""
        return Keystream(self._encryptor(modes.CTR(counter_block(lane, table, 0, index))))

    def blocks(
        self, *, lane: int, table: int, round_number: int, indices: NDArray[np.int64]
    ) -> NDArray[np.uint64]:
        """Single blocks, each as two 64-bit words.

        Shapes and units: `indices` has n numbers; the result has n rows of 2 words.
        """
        if not len(indices):
            return np.empty((0, 2), dtype=np.uint64)
        counters = np.empty((len(indices), 2), dtype=">u8")
        counters[:, 0] = int.from_bytes(counter_block(lane, table, round_number, 0)[:8], "big")
        counters[:, 1] = indices
        # the cipher asks for one block more than it writes
        words = np.empty((len(indices) + 1, 2), dtype="<u8")
        # the code book mode, block by block, is what counter mode does with its counters
        cipher = self._encryptor(modes.ECB())  # noqa: S305
        cipher.update_into(counters.data.cast("B"), words.data.cast("B"))
        return words[:-1].astype(np.uint64, copy=False)

    def close(self) -> None:
        """Overwrite the key; nothing can be drawn afterwards."""
        self._closed = True
        self._key[:] = bytes(KEY_BYTES)

    def _encryptor(self, mode: modes.CTR | modes.ECB) -> CipherContext:
        if self._closed:
            raise BugError("the noise stream is closed")
        if os.getpid() != self._process:
            raise BugError("the noise stream was carried into another process")
        return encryptor(self._key, mode)

    def __repr__(self) -> str:
        return "NoiseStream(key withheld)"

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a noise stream is neither copied nor stored")

    def __copy__(self) -> NoReturn:
        raise TypeError("a noise stream is neither copied nor stored")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError("a noise stream is neither copied nor stored")


class Keystream:
    """Consecutive 16-bit words of one lane of one table."""

    __slots__ = ("_encryptor",)

    def __init__(self, encryptor: CipherContext) -> None:
        """Read on with an encryptor that stands at the first wanted block."""
        self._encryptor = encryptor

    def words(self, count: int, memory: WordMemory | None = None) -> NDArray[np.uint16]:
        """The next `count` words; in `memory`, where they stay until it is used again.

        Requires: count is a multiple of 8 and fits the memory.
        """
        memory = memory or WordMemory(count)
        self._encryptor.update_into(memory.zeros[: 2 * count], memory.room)
        return memory.words[:count]


class WordMemory:
    """Room for random words, used again and again: fresh memory costs more than the words."""

    __slots__ = ("room", "words", "zeros")

    def __init__(self, count: int) -> None:
        """Room for `count` words."""
        self.zeros = memoryview(bytes(2 * count))
        # the cipher asks for one block more than it writes
        self.words = np.empty(count + CELLS_PER_BLOCK, dtype="<u2")
        self.room = self.words.data.cast("B")
