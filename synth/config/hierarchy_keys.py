"""The key that says at which coarser levels a column can be counted, too."""

from __future__ import annotations

from synth.config.choices import Either, MapOf, OneOrList
from synth.config.scalars import Choice, Whole
from synth.config.shapes import Key, ListOf, Record, Shape
from synth.config.texts import label, name

MAX_HIERARCHY_LEVELS = 30
MAX_BRANCHING = 1_024

_NAME = Key("name", name("The level"), required=True)


def categorical_hierarchy(maximum: int) -> Key:
    """The key of a categorical column with at most so many levels."""
    groups = MapOf(
        "Group to levels; every level of the column in one group",
        OneOrList("A level of the column, or a list of them", label("A level"), maximum=maximum),
        minimum=1,
        maximum=maximum,
        noun="groups",
        example="from group to levels, such as {North: [a, b], South: [c, d]}",
        key=name("One group"),
    )
    return Key(
        "hierarchy",
        _levels("One level", _NAME, Key("groups", groups, required=True)),
    )


def ordered_hierarchy(edge: Shape, bin_width: Shape, maximum: int) -> Key:
    """The key of an ordered column with at most so many bins."""
    edges = ListOf("Some of the column's edges, both ends with them", edge, 2, maximum + 1)
    return Key(
        "hierarchy",
        Either(
            "Coarser levels of the column: named ones, or a tree over its bins",
            "dyadic, {branching: ...}, or a list of levels",
            single=Choice("dyadic halves the bins again and again", ("dyadic",)),
            several=_levels(
                "One level: edges or bin_width",
                _NAME,
                Key("edges", edges),
                Key("bin_width", bin_width),
            ),
            record=Record(
                "A balanced tree over the bins",
                (
                    Key(
                        "branching",
                        Whole("The most parts that one part splits into", 2, MAX_BRANCHING),
                        required=True,
                    ),
                ),
            ),
        ),
    )


def _levels(description: str, *keys: Key) -> ListOf:
    return ListOf(
        "Coarser levels of the column, each of which splits the groups of a coarser one",
        Record(description, keys),
        minimum=1,
        maximum=MAX_HIERARCHY_LEVELS,
        noun="levels",
    )
