"""What `synth check` tells about an accepted configuration."""

from __future__ import annotations

from typing import Any

from synth.config.notes import warnings
from synth.config.types import Config
from synth.domain import format_number


def describe(config: Config) -> dict[str, Any]:
    """The universe as plain values: cells, and the name, type and codes of each column."""
    return {
        "cells": config.universe.size,
        "impossible_rules": len(config.universe.impossible),
        "public_totals": len(config.public_totals),
        "columns": [
            {"name": attribute.name, "type": attribute.kind, "codes": attribute.size}
            for attribute in config.universe.attributes
        ],
    }


def render(config: Config) -> None:
    """Print the same for people."""
    print("\n".join(report_lines(config)))


def report_lines(config: Config) -> list[str]:
    """The same for people, with the notes on the configuration."""
    universe = config.universe
    width = max(len(attribute.name) for attribute in universe.attributes)
    product = " x ".join(str(size) for size in universe.shape)
    lines = [
        f"{config.name}: no problem",
        f"release   {config.release.id}, epsilon {format_number(config.privacy.epsilon)}",
        f"universe  {product} = {universe.size:,} cells",
    ]
    for attribute in universe.attributes:
        shown = ", ".join(map(attribute.label, range(min(attribute.size, 6))))
        more = ", ..." if attribute.size > 6 else ""
        lines.append(f"  {attribute.name:<{width}}  {attribute.size:>7,}  {shown}{more}")
    for rule in universe.impossible:
        lines.append(f"impossible  {rule.describe(universe)}")
    lines.extend(f"note: {note}" for note in warnings(config))
    return lines
