"""A query: a text that names a set of cells, whose records are counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from synth.domain import Conjunction, Universe
from synth.errors import QueryError
from synth.named_columns import check_columns, written


@dataclass(frozen=True)
class Query:
    """How many records lie in a set of cells.

    `where` names the codes of every column that the query restricts, in universe order; a column
    of which it takes all codes is not named.
    """

    text: str
    where: Conjunction

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that the query restricts, in universe order."""
        return tuple(self.where.codes)


def query_of(text: str, codes: dict[str, tuple[int, ...]], universe: Universe) -> Query:
    """The query for these codes, written in the one form that queries are compared in."""
    kept = {
        attribute.name: tuple(sorted(codes[attribute.name]))
        for attribute in universe.attributes
        if len(codes.get(attribute.name, ())) not in (0, attribute.size)
    }
    return Query(text, Conjunction(kept))


def marginal_queries(names: Sequence[str], universe: Universe, *, limit: int) -> list[Query]:
    """One query per cell of the table over these columns, in cell order.

    Raises: QueryError for a column that is not there or named twice, and for too many cells.
    """
    import math
    from itertools import product

    check_columns(names, universe)
    attributes = [universe.attribute(name) for name in names]
    cells = math.prod(attribute.size for attribute in attributes)
    if cells > limit:
        raise QueryError(
            f"the marginal of {', '.join(names)} has {cells:,} cells, more than {limit:,}",
            fix="name fewer columns, or ask for single counts with queries",
        )
    found = []
    for codes in product(*(range(attribute.size) for attribute in attributes)):
        text = ", ".join(
            f"{written(a.name)}={written(a.label(code), ordered=a.is_ordered)}"
            for a, code in zip(attributes, codes, strict=True)
        )
        by_name: dict[str, tuple[int, ...]] = {
            a.name: (code,) for a, code in zip(attributes, codes, strict=True)
        }
        found.append(query_of(text, by_name, universe))
    return found
