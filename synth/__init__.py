"""synth: publish a sensitive table once, as differentially private synthetic data.

The public API: everything else is private and may change.
"""

from __future__ import annotations

from synth import errors
from synth.config import load_config
from synth.pipeline import plan, run, verify

__all__ = ["errors", "load_config", "plan", "run", "verify"]
