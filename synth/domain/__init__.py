"""What can be counted: attributes, the universe of cells, and cells that cannot occur."""

from synth.domain.attribute import (
    CLAMP,
    MISSING,
    Attribute,
    HierarchyLevel,
    Kind,
    format_number,
)
from synth.domain.universe import DENSE_LIMIT_CELLS, Conjunction, Margin, PublicTotal, Universe

__all__ = [
    "CLAMP",
    "DENSE_LIMIT_CELLS",
    "MISSING",
    "Attribute",
    "Conjunction",
    "HierarchyLevel",
    "Kind",
    "Margin",
    "PublicTotal",
    "Universe",
    "format_number",
]
