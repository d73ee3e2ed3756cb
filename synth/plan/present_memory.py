"""The memory that there is, held against the memory that a plan forecasts."""

from __future__ import annotations

import os
from pathlib import Path


def present_memory_bytes() -> int:
    """The memory of the machine, or of the control group that this process is confined to."""
    present = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = Path("/sys/fs/cgroup/memory.max")
    try:
        text = limit.read_text(encoding="ascii").strip()
    except OSError:
        return present
    return min(present, int(text)) if text.isdigit() else present
