"""synth: publish a sensitive table once, as differentially private synthetic data.

The public API: everything else is private and may change. Names are imported when they are first
used, so that `import synth` costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from synth import errors

if TYPE_CHECKING:
    from synth.api.configuration import check, explain, ledger, plan
    from synth.api.keeper import draft, evaluate, inspect
    from synth.config import load_config
    from synth.job.pipeline import run, verify
    from synth.job.rehearsal import rehearse
    from synth.reading import Release, infer, intervals, statistics
    from synth.schedule.due import due
    from synth.schedule.status import status

__all__ = [
    "Release",
    "check",
    "draft",
    "due",
    "errors",
    "evaluate",
    "explain",
    "infer",
    "inspect",
    "intervals",
    "ledger",
    "load_config",
    "plan",
    "rehearse",
    "run",
    "statistics",
    "status",
    "verify",
]

_PLACES = {
    "Release": "synth.reading",
    "check": "synth.api.configuration",
    "draft": "synth.api.keeper",
    "due": "synth.schedule.due",
    "evaluate": "synth.api.keeper",
    "explain": "synth.api.configuration",
    "infer": "synth.reading",
    "inspect": "synth.api.keeper",
    "intervals": "synth.reading",
    "ledger": "synth.api.configuration",
    "load_config": "synth.config",
    "plan": "synth.api.configuration",
    "rehearse": "synth.job.rehearsal",
    "run": "synth.job.pipeline",
    "statistics": "synth.reading",
    "status": "synth.schedule.status",
    "verify": "synth.job.pipeline",
}
"""In which module each public name is."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used."""
    if name not in _PLACES:
        raise AttributeError(f"module 'synth' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
