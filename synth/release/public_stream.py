"""The public stream: reproducible choices after the noise, one word for each row and column.

Nothing here protects anybody. The seed is derived from the published measurements, and anyone
can repeat every draw; that is what makes the rows verifiable.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

WORDS_PER_COUNTER = 4
"""Philox 4x64 makes four 64-bit words from one counter value."""


def row_words(seed: int, *, column: int, start: int, count: int) -> NDArray[np.uint64]:
    """The 64-bit words of rows start, ..., start + count - 1 of one column.

    Ensures: the word of row i depends on (seed, column, i) alone, whatever the block it is
    drawn in. The Philox key is the first 128 bits of SHA-256 over "seed:column"; row i is word
    i mod 4 of counter i div 4.
    """
    import numpy as np

    digest = hashlib.sha256(f"{seed}:{column}".encode()).digest()
    stream = np.random.Philox(key=int.from_bytes(digest[:16], "little"))
    counter, skip = divmod(start, WORDS_PER_COUNTER)
    stream.advance(counter)
    words: NDArray[np.uint64] = stream.random_raw(skip + count)[skip:]
    return words


def scale_words(words: NDArray[np.uint64], widths: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The whole numbers floor(word * width / 2**64), each in 0, ..., width - 1.

    The upper half of the 128-bit product, in exact integer arithmetic. Each of the `width`
    outcomes has a probability within 2**-64 of 1 / width.
    """
    import numpy as np

    low_half, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    word_high, word_low = words >> half, words & low_half
    width_high, width_low = widths >> half, widths & low_half
    middle = word_high * width_low + (word_low * width_low >> half)
    carry = word_low * width_high + (middle & low_half)
    scaled: NDArray[np.uint64] = word_high * width_high + (middle >> half) + (carry >> half)
    return scaled
