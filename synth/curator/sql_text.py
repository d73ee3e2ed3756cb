"""The text of a query, with no more of Ibis loaded than its dialect needs."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec, module_from_spec
from types import ModuleType
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import ibis.expr.types as ir

Dialect = Literal["duckdb", "postgres"]
_COMPILERS = "ibis.backends.sql.compilers"
_loaded: dict[Dialect, dict[str, ModuleType]] = {}


def sql_text(expression: ir.Expr, dialect: Dialect) -> str:
    """The query in a dialect of SQL."""
    import ibis

    with _only(dialect):
        return str(ibis.to_sql(expression, dialect=dialect))


@contextmanager
def _only(dialect: Dialect) -> Iterator[None]:
    """Let Ibis find the compiler of one dialect without loading those of twenty others.

    Its package of compilers loads them all, which takes half a second in every measuring process;
    here an empty package stands in for it. It is taken away again with all that it holds, so that
    who asks for the package gets the real one.
    """
    import ibis.backends.sql as parent

    spec = find_spec(_COMPILERS)
    if _COMPILERS in sys.modules or spec is None:
        yield
        return
    sys.modules.update(_loaded.setdefault(dialect, {_COMPILERS: module_from_spec(spec)}))
    parent.compilers = sys.modules[_COMPILERS]
    try:
        setattr(parent.compilers, dialect, import_module(f"{_COMPILERS}.{dialect}"))
        yield
    finally:
        for name in [name for name in sys.modules if f"{name}.".startswith(f"{_COMPILERS}.")]:
            _loaded[dialect][name] = sys.modules.pop(name)
        del parent.compilers
