"""Drafts: a configuration to start from, whose entries somebody must confirm.

Two ways lead here: `from_records` (raw data, through the curator: private) and `from_codebook`
(a public description of the table: opens no data).
"""

from synth.drafting.codebook import from_codebook
from synth.drafting.render import Place, render

__all__ = ["Place", "from_codebook", "render"]
