"""What `synth check` tells about an accepted configuration, and what is worth a second look."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from synth.config.config import Config
from synth.config.guarantee import PersonUnit
from synth.config.labels import listed
from synth.config.schema.problems import quoted
from synth.config.source import records_in_words
from synth.config.workload import DEFAULT_ORDER
from synth.domain import CLAMP, Attribute, format_number
from synth.domain.attribute import shorten

WIDEST_NAME = 40
"""Longer names push to the right what follows them."""


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
    width = min(max(len(each.name) for each in universe.attributes), WIDEST_NAME)
    product = " x ".join(shorten(map(str, universe.shape), 6))
    product += f" ({len(universe.shape)} columns)" if product.endswith("...") else ""
    lines = [
        f"{config.name}: no problem",
        f"release   {config.release.id}, epsilon {format_number(config.privacy.epsilon)}",
        f"records   {records_in_words(config.public['source'])}",
        *_view(config),
        *_series(config),
        f"universe  {product} = {universe.size:,} cells",
    ]
    for attribute in universe.attributes:
        lines.append(f"  {attribute.name:<{width}}  {attribute.size:>7,}  {_levels(attribute)}")
        if attribute.hierarchy:
            named = (f"{level.name} ({level.size:,})" for level in attribute.hierarchy)
            depth = "1 level" if attribute.depth == 2 else f"{attribute.depth - 1} levels"
            lines.append(f"  {'':<{width}}  hierarchy of {depth}: {', '.join(shorten(named, 6))}")
    for rule in universe.impossible:
        lines.append(f"impossible  {rule.describe(universe)}")
    lines.extend(f"note: {note}" for note in warnings(config))
    return lines


def _levels(attribute: Attribute) -> str:
    """The first levels or bins, with what they mean."""
    if not attribute.value_labels:
        return listed(attribute, 6)
    return ", ".join(shorten(map(attribute.described, range(attribute.size)), 6))


def _view(config: Config) -> list[str]:
    """The argument for a view, where there is one: the guarantee rests on it."""
    reason = config.public["source"].get("view_reason")
    return (
        []
        if reason is None
        else [f"view      every row comes from one record: {' '.join(reason.split())}"]
    )


def _series(config: Config) -> list[str]:
    """The series, and what a whole horizon costs those whom it is about."""
    series = config.series
    if series is None:
        return []
    return [f"series    {series.in_words()}", f"  costs   {cost_in_words(config)}"]


def cost_in_words(config: Config) -> str:
    """What one unit loses at most to a series. Requires: there is one."""
    series = config.series
    if series is None:
        raise ValueError("there is no series")
    composition, charges = series.composition, series.parts_in_horizon
    counted = composition.counted(charges)
    epsilon = config.privacy.epsilon
    each = "a horizon" if series.is_continual else "a period"
    costs = (
        f"epsilon {format_number(epsilon)} for {each}, {format_number(counted * epsilon)} at most"
    )
    within = f"{series.window} periods" if series.window is not None else "a horizon"
    return f"{costs} within {within}: {_COMPOSITIONS[composition.rule]}"


_COMPOSITIONS = {
    "largest": "the largest charges count",
    "window": "those of consecutive periods add up",
    "sum": "all charges add up",
}


def warnings(config: Config) -> tuple[str, ...]:
    """One sentence per note, in the order of the file."""
    return tuple(_notes(config))


def _notes(config: Config) -> Iterator[str]:
    privacy, ledger = config.privacy, config.ledger
    if privacy.epsilon > 10:
        yield f"privacy.epsilon is {format_number(privacy.epsilon)}: that protects very little"
    yield from _delta_notes(config)
    if ledger is not None and privacy.epsilon > ledger.epsilon_cap:
        yield "privacy.epsilon is above ledger.epsilon_cap: a run will be refused"
    for attribute in config.universe.attributes:
        yield from _attribute_notes(attribute)
    order, columns = config.workload.written, len(config.universe.attributes)
    if isinstance(order, int) and order > max(columns, DEFAULT_ORDER):
        yield (
            f"workload.marginals is {order}, but there are {columns} columns: "
            f"the workload is every table of up to {columns} columns"
        )
    unit = privacy.unit
    if isinstance(unit, PersonUnit) and unit.column in config.universe.names:
        yield f"{unit.column}: identifies persons (privacy.unit) and is a published column too"


def _delta_notes(config: Config) -> Iterator[str]:
    delta, ledger, expected = config.privacy.delta, config.ledger, config.workload.expected_records
    if not delta:
        return
    if config.strategy == "identity":
        yield (
            "privacy.delta is above 0, but strategy identity is pure: "
            "the release will claim, and the ledger charge, delta 0"
        )
    elif ledger is not None and delta > ledger.delta_cap:
        yield "privacy.delta is above ledger.delta_cap: a run that spends it will be refused"
    if expected is not None and delta * expected >= 1:
        yield (
            "privacy.delta is not below 1 / workload.expected_records: "
            "it would allow a release that shows one of the records as it is"
        )


def _attribute_notes(attribute: Attribute) -> Iterator[str]:
    where = attribute.name
    if attribute.is_ordered and attribute.out_of_domain == CLAMP and not attribute.has_missing:
        first = attribute.label(0)
        noun = "number" if attribute.calendar is None else "date"
        yield (
            f"{where}: a value that is empty or no {noun} counts in the first bin {first}; "
            'declare missing: [""] to keep such values apart'
        )
    if not attribute.is_ordered:
        spellings: dict[str, str] = {}
        for level in attribute.levels:
            same = spellings.setdefault(level.strip().casefold(), level)
            if same is not level:
                yield (
                    f"{where}: the levels {quoted(same)} and {quoted(level)} "
                    "differ in blanks or capitals"
                )
