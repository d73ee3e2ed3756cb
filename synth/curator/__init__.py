"""The secret side: `measure` and `measure_nodes` are the only ways in which anything leaves.

`preflight` opens the source and reads no record; `discard` and `seal_process` deal with the raw
files and the process. They return nothing that was read.
"""

from synth.curator.disposal import discard, record_measured_files, require_unchanged
from synth.curator.measuring import measure, measure_nodes, preflight
from synth.curator.seal import remove_spilled, seal_process

__all__ = [
    "discard",
    "measure",
    "measure_nodes",
    "preflight",
    "record_measured_files",
    "remove_spilled",
    "require_unchanged",
    "seal_process",
]
