"""Entries of a configuration in plain words, as somebody is asked about them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence

from synth.config.columns import DOMAIN
from synth.config.config import CONFIGURATION
from synth.config.schema.problems import Place
from synth.config.schema.scalars import Choice
from synth.config.schema.shapes import Record, Variants

WIDTH = 79

QUESTIONS: dict[Place, str] = {
    ("release", "id"): "A short name for the release and its folder, for good: small letters, "
    "digits and hyphens, such as health-survey-2024.",
    ("source", "disposal"): "What happens to the source files after the release: keep them, or "
    "delete them (files only)?",
    ("source", "disposal_reason"): "Why is the source kept, or deleted? It is published.",
    ("source", "header"): "The names of all columns of the file, in their order. They are "
    "published: none may be a value of a person.",
    ("privacy", "epsilon"): "How much privacy this release spends. Smaller protects more and "
    "blurs more; 1 is a common choice, 0.1 is strict, above 3 is little protection.",
    ("privacy", "neighbours"): "add-remove hides whether somebody is in the table at all (take "
    "this one); replace-one hides what is said of them, and needs a public number of records.",
    ("privacy", "unit"): "What is protected as one: a `record`, or all records of one person. "
    "For persons type the column that tells them apart and how many records of one are "
    "counted at most: patient_id 5.",
    ("privacy", "justification"): "Why is this guarantee enough? For example who decided, and on "
    "what grounds. It is published.",
    ("ledger", "path"): "The file that keeps the account of what was spent.",
    ("ledger", "population"): "Who are the people in the table? One name for them, the same in "
    "every release about them, such as residents-of-examplia-2024.",
    ("ledger", "epsilon_cap"): "The most that all releases about these people may ever spend "
    "together. Leave room above epsilon if there may be another release or another try.",
    ("workload", "expected_records"): "About how many records are there, in round numbers? A "
    "public guess (a yearbook, a sample size), never counted in the data.",
}
"""What the description in the reference does not say plainly enough."""

KINDS: dict[str, tuple[str, ...]] = {
    "categorical": ("levels",),
    "boolean": (),
    "integer": ("minimum", "maximum", "bin_width"),
    "number": ("edges",),
    "date": ("first", "last", "resolution"),
    "datetime": ("first", "last", "resolution"),
}
"""What a column of each kind has to say."""

IN_WORDS = {"name", "type", "missing", "out_of_domain", "labels", "title", "source"}.union(
    *KINDS.values()
)
"""What `column_in_words` has a line of its own for."""

PUBLIC = {
    "categorical": "Everybody will see all these levels. Does a public source list them?",
    "boolean": "",
}
BOUNDS = "Everybody will see these bounds. Does a public source state them?"


def column_in_words(
    values: Mapping[str, Sequence[str]], raw: Mapping[str, str], advice: Sequence[str]
) -> Iterator[str]:
    """The lines that say what a column would hold, from its entries as texts and as YAML.

    Ensures: every entry is there, whole: whoever says yes confirms all that is marked.
    """
    kind = _one(values, "type")
    for label, words in (
        ("values", _values(kind, values)),
        ("missing", ", ".join(each or "an empty field" for each in values.get("missing", ()))),
        ("else", _otherwise(values)),
        ("labels", raw.get("labels", "")),
        ("title", _one(values, "title")),
        ("source", _one(values, "source")),
        *((key, words) for key, words in raw.items() if key not in IN_WORDS),
    ):
        if words:
            yield _lined(label, words)
    for sentence in advice:
        yield _lined("note", sentence)
    if public := PUBLIC.get(kind, BOUNDS):
        yield textwrap.fill(public, WIDTH, initial_indent="  ", subsequent_indent="  ")


def _one(values: Mapping[str, Sequence[str]], key: str) -> str:
    return "".join(values.get(key, ())[:1])


def _values(kind: str, values: Mapping[str, Sequence[str]]) -> str:
    if kind == "boolean":
        return "true or false"
    if kind == "categorical":
        return f"one of these levels: {', '.join(values.get('levels', ())) or 'none given yet'}"
    if kind in ("date", "datetime"):
        first, last, step = (_one(values, key) for key in ("first", "last", "resolution"))
        return f"{kind}s from {first} to {last}, counted by {step}"
    if edges := values.get("edges"):
        return (
            f"numbers from {edges[0]} to {edges[-1]}, in bins that begin at {', '.join(edges[:-1])}"
        )
    low, high, width = (_one(values, key) for key in ("minimum", "maximum", "bin_width"))
    if not low or not high:
        return "numbers whose bounds are not given yet"
    one_by_one = "each counted by itself" if width in ("", "1") else f"in bins of {width}"
    return f"whole numbers from {low} to {high}, {one_by_one}"


def _otherwise(values: Mapping[str, Sequence[str]]) -> str:
    rule = _one(values, "out_of_domain")
    if rule == "clamp":
        return "a value beyond these bounds counts in the nearest bin"
    if rule and "missing" not in values:
        return f"any other value, and an empty field, counts as {rule}"
    return f"any other value counts as {rule}" if rule else ""


def _lined(label: str, words: str) -> str:
    return textwrap.fill(
        f"{label:<9}{words}", WIDTH, initial_indent="  ", subsequent_indent=" " * 11
    )


def question(place: Place, kind: str = "") -> str:
    """What an entry means, in plain words; else as the reference describes it."""
    if place in QUESTIONS:
        return QUESTIONS[place]
    records = [record_of(kind)] if place[0] == "domain" and kind in KINDS else [CONFIGURATION]
    steps = place[2:] if place[0] == "domain" else place
    words = ""
    for step in steps:
        found = [key.shape for record in records for key in record.keys if key.name == step]
        records = [shape for shape in found if isinstance(shape, Record)]
        for shape in found:
            choices = f" ({', '.join(shape.words)})" if isinstance(shape, Choice) else ""
            words = f"{shape.description}{choices}."
    return words or "What is to stand here?"


def record_of(kind: str) -> Record:
    """The keys of a column of this type."""
    variants = DOMAIN.item
    if not isinstance(variants, Variants):
        raise TypeError("columns are of several kinds")
    return variants.records[kind]
