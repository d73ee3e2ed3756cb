"""Names of columns that a user gives: checked, with what was probably meant; and written."""

from __future__ import annotations

from collections.abc import Sequence

from synth.domain import Universe
from synth.errors import QueryError


def check_columns(names: Sequence[str], universe: Universe) -> None:
    """Refuse a list of columns that is no table. Raises: QueryError."""
    for name in names:
        if name not in universe.names:
            raise unknown_column(name, universe)
    if not names or len(set(names)) < len(names):
        raise QueryError(
            "a marginal needs one column or more, each once", fix="name the columns, as `sex,race`"
        )


def written(text: str, *, ordered: bool = False) -> str:
    """A name or label as the grammar reads it back: in quotes where signs would be misread."""
    plain = text == text.strip() and text and not set(text) & set(',"={}')
    return text if ordered or plain else '"' + text.replace('"', '""') + '"'


def unknown_column(name: str, universe: Universe) -> QueryError:
    """What is said of a name that is no column, with the column that was probably meant."""
    import difflib

    from synth.domain.listing import shorten

    close = difflib.get_close_matches(name[:100], universe.names, n=1)
    columns = ", ".join(shorten(map(written, universe.names), 20))
    return QueryError(
        f"the release has no column {name[:80]!r}",
        fix=f"did you mean {written(close[0])}?" if close else f"name one of: {columns}",
    )
