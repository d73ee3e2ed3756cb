"""A draft from raw data: what the curator inferred, as entries that must all be confirmed."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from synth.config import FileSource, SourceConfig
from synth.config.bins import FARTHEST, LARGEST, MAX_LEVELS
from synth.config.columns import FALSE_TEXTS, TRUE_TEXTS
from synth.config.source_files import CSV
from synth.curator.not_private.inference import InferredColumn, InferredTable, infer
from synth.curator.not_private.misfits import keeps_bytes
from synth.domain import format_number
from synth.drafting.column import (
    DraftColumn,
    Entry,
    Number,
    Numbers,
    integer_bounds,
    labels_of,
    number_edges,
    publishable,
)

LIKE_IDENTIFIER = 0.9
"""So many different values for each filled one look like names of persons or records."""

FEWEST_FOR_IDENTIFIER = 20
NEARLY_ALL = 0.95
MOST_WORDS = 99
UNPUBLISHABLE = (
    "some levels cannot be published as they are written; rename them in a view or a copy"
)


@dataclass(frozen=True)
class FoundDraft:
    """A draft of raw data, and what its keeper should look at first."""

    columns: tuple[DraftColumn, ...]
    source: SourceConfig
    hints: tuple[str, ...]
    """Sentences without any name or value of the data."""
    may_lack_header: bool


def from_records(
    source: SourceConfig,
    files: Sequence[Path],
    *,
    directory: Path,
    max_levels: int,
    names_columns: bool = False,
) -> FoundDraft:
    """Open the raw data and draft a column for each of theirs.

    Privacy: none; see `curator.not_private`. Every entry that comes from the data is unconfirmed.
    Raises: SourceError, SynthError.
    """
    table = infer(
        source, files, directory=directory, max_levels=max_levels, names_columns=names_columns
    )
    columns = columns_of(table, max_levels)
    return FoundDraft(columns, table.source, tuple(_hints(table)), table.may_lack_header)


def _hints(table: InferredTable) -> Iterator[str]:
    """What the options of the command line may mend."""
    if table.may_lack_header:
        yield (
            "the first line looks like a record, not like names of columns: has the file no line "
            "of names? --no-header"
        )
    names = [*(column.name for column in table.columns), *table.uncountable, *table.repeated]
    for mark, word in ((";", "semicolon"), ("\t", "tab"), ("|", "pipe"), (",", "comma")):
        if len(names) == 1 and mark in names[0]:
            yield f"one column: is the delimiter {mark!r}? --delimiter {word}"
    if not isinstance(table.source, FileSource) or table.source.kind != CSV:
        return
    dialect = table.source.dialect
    if any(column.kept for column in table.columns) or any(map(keeps_bytes, names)):
        other = "windows-1252" if dialect.encoding == "utf-8" else "utf-8"
        yield f"some characters are not in encoding {dialect.encoding}: --encoding {other}?"
    if dialect.decimal == "." and any(_has_commas(column) for column in table.columns):
        yield 'some columns are numbers with a decimal comma: --decimal ,   (decimal: ",")'


def _has_commas(column: InferredColumn) -> bool:
    numbers = column.commas + column.numbers
    return column.commas > 0 and numbers >= NEARLY_ALL * column.filled


def columns_of(table: InferredTable, max_levels: int) -> tuple[DraftColumn, ...]:
    """The columns of a draft; those that cannot be used are left out with the reason."""
    refused = [
        DraftColumn(
            name,
            left_out="its type cannot be counted, or it may not be read; give a view or a copy",
        )
        for name in table.uncountable
    ]
    refused += [
        DraftColumn(name, left_out="the header has this name twice") for name in table.repeated
    ]
    return (*(_column(column, max_levels) for column in table.columns), *refused)


def _column(column: InferredColumn, max_levels: int) -> DraftColumn:
    name = column.name
    if not publishable(name):
        return DraftColumn(
            name, left_out="the name cannot be published; rename it in a view or a copy"
        )
    if _is_labelled(column):
        return _labelled(column)
    if not column.filled:
        return DraftColumn(name, left_out="no record has a value here; take levels from a codebook")
    if _has_one_form_of_date(column):
        return _date(column)
    is_numeric = column.numbers >= NEARLY_ALL * column.filled and not column.padded
    is_whole = is_numeric and column.whole == column.numbers
    if _looks_like_identifier(column) and (is_whole or not is_numeric):
        return DraftColumn(
            name,
            left_out="nearly every record has a value of its own, as identifiers, names and free "
            "text have: never publish those; a true measure needs bounds from a codebook",
        )
    if is_numeric and (column.levels is None or len(column.levels) > 2):
        return _ordered(column, is_whole=is_whole)
    if column.levels is not None and _are_truths(column.levels):
        return _boolean(column)
    return _categorical(column, max_levels)


def _missing(column: InferredColumn) -> tuple[str, ...]:
    """The words for missing values that were found, or that the file declares.

    Of the letters that numbers of Stata and SAS may have, those that were found or have a label.
    """
    labels = dict(column.codebook.labels)
    declared = (w for w in column.codebook.missing if w in labels or not w.startswith("."))
    return tuple(sorted({*column.missing_words, *declared}))[:MOST_WORDS]


def _is_labelled(column: InferredColumn) -> bool:
    """Whether the file has labels for every value that was found, and for one at least."""
    labels = dict(column.codebook.labels).keys() - {*_missing(column)}
    return bool(labels) and column.levels is not None and labels >= {*column.levels}


def _labelled(column: InferredColumn) -> DraftColumn:
    """The levels are the values with labels, in the order of the file, found or not."""
    words = _missing(column)
    levels = tuple(value for value, _ in column.codebook.labels if value not in words)
    missing = Entry("missing", ("", *words), confirmed=not words)
    entries, advice = _with_labels(column, levels, (Entry("type", "categorical"),))
    if not all(map(publishable, levels)):
        advice += (UNPUBLISHABLE,)
    entries = (entries[0], Entry("levels", levels), missing, *entries[1:])
    return DraftColumn(column.name, (*entries, *_rest("missing")), advice)


def _with_labels(
    column: InferredColumn, levels: Collection[str], entries: tuple[Entry, ...]
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The entries and those that the file says of the column: labels and a title; and advice."""
    labels, advice = labels_of(column.codebook.labels, levels, _missing(column))
    if labels is not None:
        entries += (Entry("labels", labels),)
    title = " ".join(column.codebook.title.split())[:200]
    return (*entries, *([Entry("title", title)] if title else [])), advice


def _has_one_form_of_date(column: InferredColumn) -> bool:
    return max(column.iso_dates, column.dotted_dates) >= NEARLY_ALL * column.filled


def _date(column: InferredColumn) -> DraftColumn:
    """Days between whole years: round bounds, which tell less than the first and the last day."""
    first, last = column.first_year or 1, column.last_year or 9999
    days = (last - first + 1) * 366 <= MAX_LEVELS
    entries = [
        Entry("type", "datetime" if column.times else "date"),
        Entry("first", Number(f"{first}-01-01" if days else f"{first}-01")),
        Entry("last", Number(f"{last}-12-31" if days else f"{last}-12")),
        Entry("resolution", "day" if days else "month"),
    ]
    if column.dotted_dates > column.iso_dates:
        entries.append(Entry("format", "%d.%m.%Y"))
    if column.missing_words or column.filled < column.records:
        entries.append(Entry("missing", ("", *column.missing_words)))
    else:
        entries.append(Entry("missing", ("",), confirmed=True))
    advice = ["take the resolution that will be asked for: day, week, month, quarter or year"]
    if column.times:
        advice.append("times with a known offset count by the clock of `time_zone`, else of UTC")
    return DraftColumn(column.name, (*entries, *_rest("missing")), tuple(advice))


def _are_truths(levels: tuple[str, ...]) -> bool:
    """Whether all levels are words for true and false, of one kind: not `t` beside `no`."""
    words = {level.lower() for level in levels}
    pairs = ({"true", "false"}, {"t", "f"}, {"yes", "no"}, {"y", "n"})
    return any(words <= pair for pair in pairs) and {*TRUE_TEXTS, *FALSE_TEXTS}.issuperset(levels)


def _boolean(column: InferredColumn) -> DraftColumn:
    missing = Entry("missing", ("", *column.missing_words), confirmed=not column.missing_words)
    return DraftColumn(column.name, (Entry("type", "boolean"), missing, *_rest("missing")))


def _looks_like_identifier(column: InferredColumn) -> bool:
    enough = column.filled > FEWEST_FOR_IDENTIFIER
    return enough and column.distinct >= LIKE_IDENTIFIER * column.filled


def _ordered(column: InferredColumn, *, is_whole: bool) -> DraftColumn:
    low, high = Fraction(column.minimum or 0), Fraction(column.maximum or 0)
    if max(abs(low), abs(high)) > (LARGEST if is_whole else FARTHEST) // 4:
        return DraftColumn(column.name, left_out="its numbers are too large to be put into bins")
    advice = []
    single: set[str] = set()
    if is_whole:
        minimum, maximum, width = integer_bounds(int(low), int(high))
        single = set(map(str, range(minimum, maximum + 1))) if width == 1 else single
        entries = [
            Entry("type", "integer"),
            Entry("minimum", Number(str(minimum))),
            Entry("maximum", Number(str(maximum))),
            Entry("bin_width", Number(str(width))),
        ]
    else:
        edges = number_edges(low, high)
        texts = tuple(map(format_number, edges))
        entries = [Entry("type", "number"), Entry("edges", Numbers(texts))]
        advice.append("where most values are small, use narrow bins there: 0, 1, 10, 100")
    if column.numbers < column.filled:
        advice.append("some values are no numbers: list the words for missing ones in `missing`")
    words = _missing(column)
    if words or column.filled < column.records:
        entries.append(Entry("missing", ("", *words)))
    found, further = _with_labels(column, single, tuple(entries))
    return DraftColumn(column.name, (*found, *_rest("clamp")), (*advice, *further))


def _categorical(column: InferredColumn, max_levels: int) -> DraftColumn:
    has_dates = column.dates >= NEARLY_ALL * column.filled
    dates = "dates in several forms, or in one that is not known here: give `type: date` a `format`"
    if column.levels is None:
        return DraftColumn(
            column.name,
            left_out=dates
            if has_dates
            else 'numbers with a decimal comma: write `decimal: ","` in source, or draft with '
            "--decimal ,"
            if _has_commas(column)
            else f"more than {max_levels} different values: group them in a view or a copy, "
            "or list the levels of a codebook with a `hierarchy` over them",
        )
    advice = [dates] if has_dates else []
    if _has_commas(column):
        advice.append('numbers with a decimal comma: write `decimal: ","` in source')
    if column.padded:
        advice.append("numbers with zeros in front are codes, so they are levels")
    if not all(map(publishable, column.levels)):
        advice.append(UNPUBLISHABLE)
    words = _missing(column)
    missing = Entry("missing", ("", *words), confirmed=not words)
    found = (Entry("type", "categorical"), Entry("levels", column.levels), missing)
    entries, further = _with_labels(column, column.levels, found)
    return DraftColumn(column.name, (*entries, *_rest("missing")), (*advice, *further))


def _rest(out_of_domain: str) -> tuple[Entry, ...]:
    return (Entry("out_of_domain", out_of_domain, confirmed=True), Entry("source", None))
