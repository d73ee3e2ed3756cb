"""synth: publish a sensitive table once, as differentially private synthetic data.

The public API: everything else is private and may change. Names are imported when they are first
used, so that `import synth` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synth import errors

if TYPE_CHECKING:
    from synth.config import load_config
    from synth.job.pipeline import run, verify
    from synth.job.rehearsal import rehearse
    from synth.planning import forecast
    from synth.reading import Release, intervals

__all__ = ["Release", "errors", "forecast", "intervals", "load_config", "rehearse", "run", "verify"]

_PLACES = {
    "Release": ("synth.reading", "Release"),
    "forecast": ("synth.planning", "forecast"),
    "intervals": ("synth.reading", "intervals"),
    "load_config": ("synth.config", "load_config"),
    "rehearse": ("synth.job.rehearsal", "rehearse"),
    "run": ("synth.job.pipeline", "run"),
    "verify": ("synth.job.pipeline", "verify"),
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module 'synth' has no attribute {name!r}")
    module, attribute = _PLACES[name]
    return getattr(import_module(module), attribute)


def __dir__() -> list[str]:
    return __all__
