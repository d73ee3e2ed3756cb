"""The declared domain: columns, levels and bins, impossible cells and known totals."""

from __future__ import annotations

from typing import Any

from synth.config import Config
from synth.domain import CLAMP, Attribute, Conjunction, Universe
from synth.domain.attribute import with_value_label
from synth.domain.periods import RESOLUTIONS
from synth.release.manifest.schema_terms import (
    Schema,
    basis,
    flag,
    listing,
    mapping,
    one_of,
    record,
    sha256,
    text,
    whole,
)
from synth.release.rows.columns import Column
from synth.strict_json import canonical_hash


def _where(description: str) -> Schema:
    return mapping(
        description,
        listing("The labels that belong to the set.", text("A label.")),
        names="A column's name.",
    )


DOMAIN = record(
    "The universe: every combination of declared levels and bins.",
    columns=listing(
        "The columns, in the order of the data files and of the mixed radix.",
        record(
            "One column.",
            ("resolution", "reading_rule"),
            name=text("The column's name in the data files."),
            title=text("A title for readers; may be empty."),
            description=text("What the column holds; may be empty."),
            kind=one_of(
                "How the column was declared.",
                "categorical",
                "boolean",
                "integer",
                "number",
                "date",
                "datetime",
            ),
            resolution=one_of("How long the periods of dates and times are.", *RESOLUTIONS),
            published_type=one_of(
                "The type of the published values.",
                "text",
                "boolean",
                "date",
                "datetime",
                "integer",
                "number",
            ),
            codes=whole("The number of codes, the missing level included.", minimum=1),
            stride=whole("The weight of the code in the cell number.", minimum=1),
            labels=listing("The name of every code, in code order.", text("A label.")),
            edges=listing(
                "The edges of the bins; a bin holds its lower edge, the last one also its upper.",
                text("An edge, exactly."),
            ),
            has_missing=flag("Whether the last code is the missing level."),
            reading_rule=text("How raw values are read, where the labels do not say it."),
            missing_rule=text("Which raw values count as missing."),
            out_of_domain_rule=text("Where values outside the domain went."),
            unbinning_rule=text("How a published value is made from a code."),
            decimals=whole("The number of decimals of published values; 0 if not a number."),
            source=text("Where the levels, bins or bounds come from; never the raw data."),
            hierarchy=listing(
                "Coarser levels, coarsest first; each splits groups of the one before.",
                record(
                    "One level.",
                    name=text("The level's name."),
                    labels=listing("The name of every group, in order.", text("A label.")),
                    group_of=listing(
                        "The group of every code, in code order: its place in `labels`.",
                        whole("A group."),
                    ),
                ),
            ),
        ),
    ),
    universe_size=whole("The number of cells, impossible ones included.", minimum=1),
    impossible=listing(
        "Sets of cells that cannot occur, declared by the curator from public logic.",
        _where("One set: the conjunction over columns."),
    ),
    public_totals=listing(
        "Totals that are public knowledge; the published rows meet them exactly.",
        record(
            "One total.",
            where=_where("The rows counted; empty for all rows."),
            total=whole("The number of rows."),
            source=text("Where the total is published."),
        ),
    ),
    domain_hash=sha256("SHA-256 of the canonical JSON of `columns` and `impossible`."),
    basis=basis("public"),
)


def build_domain(config: Config, columns: tuple[Column, ...]) -> dict[str, Any]:
    """The section `domain`."""
    universe = config.universe
    described = [
        _describe(column, stride) for column, stride in zip(columns, universe.strides, strict=True)
    ]
    impossible = [_labels(rule, universe) for rule in universe.impossible]
    return {
        "columns": described,
        "universe_size": universe.size,
        "impossible": impossible,
        "public_totals": [
            {
                "where": _labels(entry.where, universe),
                "total": entry.total,
                "source": entry.source,
            }
            for entry in config.public_totals
        ],
        "domain_hash": canonical_hash({"columns": described, "impossible": impossible}),
        "basis": "public",
    }


def _describe(column: Column, stride: int) -> dict[str, Any]:
    attribute = column.attribute
    return {
        "name": attribute.name,
        "title": attribute.title,
        "description": attribute.description,
        "kind": attribute.kind,
        **({} if attribute.calendar is None else {"resolution": attribute.calendar.resolution}),
        "published_type": column.published_type,
        "codes": attribute.size,
        "stride": stride,
        "labels": list(attribute.labels),
        "edges": [attribute.written_edge(place) for place in range(len(attribute.edges))],
        "has_missing": attribute.has_missing,
        **({"reading_rule": rule} if (rule := _reading_rule(attribute)) else {}),
        "missing_rule": _missing_rule(attribute),
        "out_of_domain_rule": _out_of_domain_rule(attribute),
        "unbinning_rule": column.rule,
        "decimals": column.decimals,
        "source": attribute.source,
        "hierarchy": [
            {
                "name": level.name,
                "labels": list(level.labels),
                "group_of": list(level.group_of),
            }
            for level in attribute.hierarchy
        ],
    }


def _reading_rule(attribute: Attribute) -> str:
    if attribute.calendar is not None:
        written = attribute.calendar.format or "ISO 8601"
        return (
            f"texts are read as {written}; an instant of a known time zone counts by the clock of "
            f"{attribute.calendar.time_zone}, any other as it is written"
        )
    pairs = zip(attribute.levels, attribute.spellings, strict=False)
    return "; ".join(
        f"raw values written {', '.join(map(repr, texts))} are {level}" for level, texts in pairs
    )


def _missing_rule(attribute: Attribute) -> str:
    if not attribute.has_missing:
        return "there is no missing level"
    meanings = dict(attribute.value_labels)
    written = ", ".join(
        with_value_label(repr(word), meanings.get(word, "")) for word in attribute.missing
    )
    return f"raw values written {written} are the missing level"


def _out_of_domain_rule(attribute: Attribute) -> str:
    if attribute.out_of_domain == CLAMP:
        unreadable = attribute.label(attribute.unreadable_code)
        noun = "number" if attribute.calendar is None else "date or time"
        return f"to the nearest bin; what is no {noun} goes to {unreadable!r}"
    return f"to {attribute.out_of_domain!r}"


def _labels(conjunction: Conjunction, universe: Universe) -> dict[str, list[str]]:
    return {
        name: [universe.attribute(name).label(code) for code in codes]
        for name, codes in conjunction.codes.items()
    }
