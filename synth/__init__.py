"""synth: publish a sensitive table once, as differentially private synthetic data.

The public API: everything else is private and may change. Names are imported when they are first
used, so that `import synth` costs next to nothing.

Two names are modules that can also be called: `synth.errors(release, ...)` gives intervals while
`synth.errors.ConfigError` is an exception, and `synth.plan(config)` gives a forecast.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import synth.errors  # noqa: F401 (called and imported from; see _Errors)

if TYPE_CHECKING:
    import pandas as pd

    from synth.config import load_config
    from synth.pipeline import plan, run, verify
    from synth.reading import Method, Release

__all__ = ["Release", "errors", "load_config", "plan", "run", "verify"]

_PLACES = {
    "Release": ("synth.reading", "Release"),
    "load_config": ("synth.config", "load_config"),
    "run": ("synth.pipeline", "run"),
    "verify": ("synth.pipeline", "verify"),
}


class _Errors(ModuleType):
    """The module of the exceptions, which can also be called."""

    def __call__(
        self,
        release: str | Path | Release,
        *,
        queries: Iterable[str] | str = (),
        marginal: Sequence[str] | str = (),
        level: float = 0.95,
        method: Method = "auto",
        draws: int = 20,
    ) -> pd.DataFrame:
        """Estimates and intervals for counts; see `synth.reading.errors`."""
        from synth.reading import errors

        return errors(
            release, queries=queries, marginal=marginal, level=level, method=method, draws=draws
        )


errors: _Errors
sys.modules["synth.errors"].__class__ = _Errors


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name == "plan":
        return import_module("synth.plan")
    if name not in _PLACES:
        raise AttributeError(f"module 'synth' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)
