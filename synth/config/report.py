"""What `synth check` tells about an accepted configuration."""

from __future__ import annotations

from typing import Any

from synth.config.labels import listed
from synth.config.notes import warnings
from synth.config.source_kind import records_in_words
from synth.config.types import Config
from synth.domain import format_number
from synth.domain.listing import shorten


def describe(config: Config) -> dict[str, Any]:
    """The universe as plain values: cells; name, type, codes and coarser levels of each column."""
    return {
        "cells": config.universe.size,
        "impossible_rules": len(config.universe.impossible),
        "public_totals": len(config.public_totals),
        "columns": [
            {
                "name": attribute.name,
                "type": attribute.kind,
                "codes": attribute.size,
                "hierarchy": [
                    {"name": level.name, "groups": level.size} for level in attribute.hierarchy
                ],
            }
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
    product = " x ".join(shorten(map(str, universe.shape), 6))
    product += f" ({len(universe.shape)} columns)" if product.endswith("...") else ""
    lines = [
        f"{config.name}: no problem",
        f"release   {config.release.id}, epsilon {format_number(config.privacy.epsilon)}",
        f"records   {records_in_words(config.public['source'])}",
        *_view(config),
        f"universe  {product} = {universe.size:,} cells",
    ]
    for attribute in universe.attributes:
        lines.append(f"  {attribute.name:<{width}}  {attribute.size:>7,}  {listed(attribute, 6)}")
        if attribute.hierarchy:
            named = (f"{level.name} ({level.size:,})" for level in attribute.hierarchy)
            depth = "1 level" if attribute.depth == 2 else f"{attribute.depth - 1} levels"
            lines.append(f"  {'':<{width}}  hierarchy of {depth}: {', '.join(shorten(named, 6))}")
    for rule in universe.impossible:
        lines.append(f"impossible  {rule.describe(universe)}")
    lines.extend(f"note: {note}" for note in warnings(config))
    return lines


def _view(config: Config) -> list[str]:
    """The argument for a view, where there is one: the guarantee rests on it."""
    reason = config.public["source"].get("view_reason")
    return (
        []
        if reason is None
        else [f"view      every row comes from one record: {' '.join(reason.split())}"]
    )
