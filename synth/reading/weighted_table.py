"""A table as its distinct rows and how often each occurs, by one count or by many at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from synth.domain import Attribute, Universe
from synth.domain.counts import inside
from synth.domain.universe import Conjunction
from synth.errors import QueryError
from synth.release.rows.columns import published_columns

Floats = NDArray[np.float64]

DTYPES = {
    "text": "string",
    "boolean": "boolean",
    "date": "datetime64[s]",
    "datetime": "datetime64[s]",
    "integer": "Int64",
    "number": "Float64",
}
"""The pandas types of published columns; all of them know missing values."""


@dataclass(frozen=True, eq=False)
class WeightedTable:
    """Distinct rows with one weight of each for every table that they may stand for.

    Shapes and units: `codes` has one row per attribute of `universe`; `weights` is records, one
    row per table: of a release the published counts first, then each replicate.
    """

    universe: Universe
    codes: NDArray[np.int64]
    weights: Floats

    def reduced(self, names: Iterable[str]) -> WeightedTable:
        """The table over some columns alone, in universe order; equal rows are taken together."""
        wanted = set(names)
        axes = [axis for axis, name in enumerate(self.universe.names) if name in wanted]
        attributes = tuple(self.universe.attributes[axis] for axis in axes)
        universe = Universe(attributes)
        cells = math.prod(universe.shape)
        if cells < 1 << 62:
            place = np.zeros(self.codes.shape[1], dtype=np.int64)
            for axis, size in zip(axes, universe.shape, strict=True):
                place = place * size + self.codes[axis]
            first, groups = np.unique(place, return_index=True, return_inverse=True)[1:]
        else:
            _, first, groups = np.unique(
                self.codes[axes], axis=1, return_index=True, return_inverse=True
            )
        groups = groups.reshape(-1)
        summed = np.empty((len(self.weights), len(first)))
        for vector, weights in enumerate(self.weights):
            summed[vector] = np.bincount(groups, weights, minlength=len(first))
        return WeightedTable(universe, self.codes[axes][:, first], summed)

    def members(self, where: Conjunction) -> NDArray[np.bool_]:
        """Whether each row meets the conditions."""
        if not where.codes:
            return np.ones(self.codes.shape[1], dtype=bool)
        return inside(list(self.codes), self.universe, where)

    def numbers(self, name: str) -> Floats:
        """The number that each row has in a column; NaN where it is missing.

        Raises: QueryError for a column without numbers.
        """
        values = code_numbers(self.universe.attribute(name))
        if values is None:
            raise no_numbers(name)
        found: Floats = values[self.codes[self.universe.names.index(name)]]
        return found

    def labelled(self) -> pd.DataFrame:
        """The distinct rows in the types of `DTYPES`; a number stands for every bin."""
        pairs = zip(self.universe.attributes, self.codes, strict=True)
        return pd.DataFrame({each.name: _typed(each, codes) for each, codes in pairs})

    def is_missing(self, names: Sequence[str]) -> NDArray[np.bool_]:
        """Whether a row has the missing level in one of these columns."""
        found = np.zeros(self.codes.shape[1], dtype=bool)
        for name in names:
            code = self.universe.attribute(name).missing_code
            if code is not None:
                found |= self.codes[self.universe.names.index(name)] == code
        return found


def _typed(attribute: Attribute, codes: NDArray[np.int64]) -> pd.Series[Any]:
    """The values of codes: numbers of binned columns, texts and moments as published."""
    numbers = code_numbers(attribute)
    if numbers is not None:
        is_whole = bool((numbers == np.rint(numbers))[: attribute.bin_count].all())
        found = pd.Series(numbers[codes]).astype("Float64")
        return found.astype("Int64") if is_whole else found
    (column,) = published_columns(Universe((attribute,)), "midpoint")
    texts = pd.Series([*column.texts, *[None] * attribute.has_missing], dtype="string")
    kind = DTYPES[column.published_type]
    if kind == "boolean":
        values = texts.map({"true": True, "false": False})
    elif kind.startswith("datetime64"):
        values = pa.array(texts, pa.string()).cast(pa.timestamp("s")).to_pandas()
    else:
        values = texts
    typed: pd.Series[Any] = values.astype(pd.api.types.pandas_dtype(kind))
    return typed.iloc[codes].reset_index(drop=True)


def code_numbers(attribute: Attribute) -> Floats | None:
    """The number that stands for each code, as in `replicates.parquet`; NaN where it is missing.

    It is the value, or the middle of the bin, of whole numbers rounded down. None for a column
    whose values are no numbers.
    """
    (column,) = published_columns(Universe((attribute,)), "midpoint")
    if not column.is_numeric:
        return None
    found = [first / 10**column.decimals for first in column.first]
    return np.array(found + [math.nan] * attribute.has_missing)


def no_numbers(name: str) -> QueryError:
    """What is said of a column of texts where numbers are needed."""
    return QueryError(
        f"the column {name!r} has no numbers",
        why="its values are levels or periods; they have no mean, quantile or slope",
        fix=f"ask for the share of a condition on it, as `{name}=...`, or name a numeric column",
    )
