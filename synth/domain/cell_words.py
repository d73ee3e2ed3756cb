"""Cell numbers of any size as columns of 64-bit words that compare like the numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from synth.domain.universe import Universe

LARGEST_WORD = 2**63
"""The product of the sizes of the attributes in one word is at most this."""


def word_axes(shape: Sequence[int]) -> list[tuple[int, int]]:
    """The attributes of every word as (first, end): runs of neighbours, the first most significant.

    Ensures: a universe of at most 2^63 cells has one word, the cell number itself.
    """
    runs: list[tuple[int, int]] = []
    first, product = 0, 1
    for axis, size in enumerate(shape):
        if product * size > LARGEST_WORD:
            runs.append((first, axis))
            first, product = axis, 1
        product *= size
    runs.append((first, len(shape)))
    return runs


def universe_words(universe: Universe) -> tuple[Universe, ...]:
    """The attributes of every word as a universe of its own, whose cell numbers are the words."""
    attributes = universe.attributes
    return tuple(Universe(attributes[first:end]) for first, end in word_axes(universe.shape))


def cell_words(columns: Sequence[NDArray[Any]], shape: Sequence[int]) -> list[NDArray[np.int64]]:
    """The words of every cell, most significant first; `columns` holds one array per attribute."""
    words = []
    for first, end in word_axes(shape):
        word = np.zeros(len(columns[0]) if columns else 0, dtype=np.int64)
        for axis in range(first, end):
            word *= shape[axis]
            word += columns[axis]
        words.append(word)
    return words


def cell_order(words: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    """The order that sorts cells by their number; equal cells stay in their order."""
    order = np.argsort(words[0])
    first = words[0][order]
    tied = np.zeros(len(order), dtype=bool)
    same = first[1:] == first[:-1]
    tied[1:] |= same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    if places.size:  # the sort above is not stable, so ties are put in order again
        rows = order[places]
        keys = [rows, *(word[rows] for word in reversed(words))]
        order[places] = rows[np.lexsort(tuple(keys))]
    return order


def new_cells(words: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """For cells in order: whether each one differs from the one before."""
    changed = np.zeros(len(words[0]), dtype=bool)
    changed[:1] = True
    for word in words:
        changed[1:] |= word[1:] != word[:-1]
    return changed


def goes_back(words: Sequence[NDArray[np.int64]]) -> NDArray[np.bool_]:
    """For every cell but the first: whether its number is smaller than that of the one before."""
    back = np.zeros(len(words[0]) - 1, dtype=bool)
    equal = np.ones(len(words[0]) - 1, dtype=bool)
    for word in words:
        back |= equal & (word[1:] < word[:-1])
        equal &= word[1:] == word[:-1]
    return back


def code_type(shape: Sequence[int]) -> type[np.unsignedinteger[Any]]:
    """The narrowest unsigned type that holds every code."""
    largest = max(shape, default=1) - 1
    for kind in (np.uint8, np.uint16):
        if largest <= np.iinfo(kind).max:
            return kind
    return np.uint32


def find_cells(
    words: Sequence[NDArray[np.int64]], wanted: Sequence[NDArray[np.int64]]
) -> NDArray[np.int64]:
    """The place of every wanted cell among cells in order, each there once; -1 if it is not there.

    Binary search for all of them at once, word by word.
    """
    size, number = len(words[0]), len(wanted[0])
    low, high = np.zeros(number, dtype=np.int64), np.full(number, size, dtype=np.int64)
    for _ in range(size.bit_length()):
        searching = low < high
        middle = np.minimum((low + high) // 2, max(size - 1, 0))
        below = np.zeros(number, dtype=bool)
        equal = np.ones(number, dtype=bool)
        for word, want in zip(words, wanted, strict=True):
            here = word[middle] if size else np.zeros(number, dtype=np.int64)
            below |= equal & (here < want)
            equal &= here == want
        low = np.where(searching & below, middle + 1, low)
        high = np.where(searching & ~below, middle, high)
    place = np.minimum(low, max(size - 1, 0))
    found = low < size
    for word, want in zip(words, wanted, strict=True):
        if size:
            found &= word[place] == want
    return np.where(found, place, -1)
