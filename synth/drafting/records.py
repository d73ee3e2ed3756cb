"""A draft from raw data: what the curator inferred, as entries that must all be confirmed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from synth.config import FileSource, SourceConfig
from synth.config.columns import FALSE_TEXTS, TRUE_TEXTS
from synth.config.edges import FARTHEST, LARGEST, MAX_LEVELS
from synth.config.source_files import CSV
from synth.curator.not_private.inference import (
    NEARLY_ALL,
    InferredColumn,
    InferredTable,
    infer,
)
from synth.curator.not_private.misfits import keeps_bytes
from synth.curator.not_private.proposals import MOST_CODES, is_called_identifier
from synth.domain import format_number
from synth.drafting.column import (
    RESOLUTIONS,
    SINGLE_NUMBERS,
    UNPUBLISHABLE,
    DraftColumn,
    DraftUnit,
    Entry,
    Number,
    Numbers,
    are_crowded,
    equal_edges,
    integer_bounds,
    labels_of,
    ladder,
    nearest_round,
    number_edges,
    publishable,
    yaml_text,
)

LIKE_IDENTIFIER = 0.9
"""So many different values for each filled one look like names of persons or records."""

FEWEST_FOR_IDENTIFIER = 20
DENSE = 20
"""Whole numbers in a range of at most so many times their number look like running numbers."""

MOST_WORDS = 99
OTHER_WORDS = {"other", "others", "else", "andere", "sonstige", "sonstiges", "autre", "otro"}
SOURCE = Entry("source", None)
FEWEST_OF_A_CODE = 5
"""Records for each of the numbers, on average, that are taken for codes."""

YEARS = range(1800, 2200)


@dataclass(frozen=True)
class FoundDraft:
    """A draft of raw data, and what its keeper should look at first."""

    columns: tuple[DraftColumn, ...]
    source: SourceConfig
    hints: tuple[str, ...]
    """Sentences without any name or value of the data."""
    may_lack_header: bool
    unit: DraftUnit | None
    """The unit of privacy, where several records seem to be one person's."""
    expected_records: int | None
    """A round number near that of the records."""


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
    records = table.columns[0].records if table.columns else 0
    person = table.person
    return FoundDraft(
        columns_of(table, max_levels),
        table.source,
        tuple(_hints(table)),
        table.may_lack_header,
        None if person is None else DraftUnit(person.column, person.max_records, person.others),
        nearest_round(records) if records else None,
    )


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
    unit = "" if table.person is None else table.person.column
    refused += [
        DraftColumn(
            "",
            left_out="the header gives it no name, as programs write an index of rows",
            chosen_by="name it in a copy",
        )
    ] * table.has_unnamed
    return (
        *(
            DraftColumn(column.name, left_out="the unit of privacy: counted by, never published")
            if column.name == unit
            else _column(column, max_levels)
            for column in table.columns
        ),
        *refused,
    )


def _column(column: InferredColumn, max_levels: int) -> DraftColumn:
    name = column.name
    if not publishable(name):
        return DraftColumn(
            name, left_out="the name cannot be published; rename it in a view or a copy"
        )
    if _is_labelled(column):
        return _labelled(column)
    if not column.filled:
        return DraftColumn(
            name,
            left_out="no record has a value here",
            chosen_by=_line(name, "type: categorical, levels: [...]"),
        )
    if _has_one_form_of_date(column):
        return _date(column)
    if column.levels is None and _has_grouped_numbers(column):
        return DraftColumn(
            name,
            left_out="numbers with marks between thousands, which are not read",
            chosen_by="write them without these marks in a copy",
        )
    is_numeric = column.is_numeric and not column.padded
    is_whole = is_numeric and column.whole == column.numbers
    if _looks_like_identifier(column, is_numeric=is_numeric, is_whole=is_whole):
        return DraftColumn(
            name,
            left_out="nearly every record has a value of its own, as identifiers, names and free "
            "text have: never publish those",
            chosen_by=f"a true measure: {_line(name, 'type: integer, minimum: ..., maximum: ...')}"
            if is_whole
            else "",
        )
    if is_whole and _looks_coded(column):
        return _categorical(column, max_levels)
    if is_numeric and (column.levels is None or len(_levels(column)) > 2):
        return _ordered(column, is_whole=is_whole)
    if column.levels is not None and _are_truths(_levels(column)):
        return _boolean(column)
    return _categorical(column, max_levels)


def _has_grouped_numbers(column: InferredColumn) -> bool:
    numbers = column.grouped + column.commas + column.numbers
    is_read = column.is_numeric or _has_commas(column)
    return column.grouped > 0 and not is_read and numbers >= NEARLY_ALL * column.filled


def _line(name: str, kind: str) -> str:
    """What to write in the domain for a column that is left out."""
    return f"write - {{name: {yaml_text(name)}, {kind}, out_of_domain: ..., source: ...}}"


def _levels(column: InferredColumn) -> tuple[str, ...]:
    """The values but for codes of missing ones: whole numbers by size, then texts."""
    kept = (level for level in column.levels or () if level not in column.codes)
    return tuple(sorted(kept, key=lambda text: (not _is_plain(text), _size(text), text)))


def _is_plain(text: str) -> bool:
    return re.fullmatch("[+-]?[0-9]{1,15}", text) is not None


def _size(text: str) -> int:
    return int(text) if _is_plain(text) else 0


def _looks_coded(column: InferredColumn) -> bool:
    """Whether few whole numbers that repeat stand for something else than a quantity.

    Running numbers from 0 are counts, and those from any start but 0 and 1 are measured.
    """
    kept = _levels(column)
    enough = column.filled >= FEWEST_OF_A_CODE * len(kept)
    if not kept or not enough or len(kept) > MOST_CODES or not all(map(_is_number, kept)):
        return False
    first, last = int(kept[0]), int(kept[-1])
    if len(kept) <= 2:
        return True
    if first in YEARS and last in YEARS:
        return False
    is_running = last - first < len(kept)
    if first < 0 or (first == 0 and is_running):
        return first == -last or (first == 0 and len(kept) < 5)
    return first == 1 or not last - first < 2 * len(kept)


def _is_number(text: str) -> bool:
    """Whether this is how a whole number is written everywhere."""
    return _is_plain(text) and str(int(text)) == text


def _missing(column: InferredColumn) -> tuple[str, ...]:
    """The words for missing values that were found, or that the file declares.

    Of the letters that numbers of Stata and SAS may have, those that were found or have a label.
    """
    labels = dict(column.codebook.labels)
    declared = (w for w in column.codebook.missing if w in labels or not w.startswith("."))
    return tuple(sorted({*column.missing_words, *declared}))[:MOST_WORDS]


def _fits_nowhere(column: InferredColumn, levels: tuple[str, ...]) -> tuple[Entry, ...]:
    """A missing level where a value is missing; else some level takes what fits nowhere.

    That level is one for all others, or the first: which one it is tells nothing of the records.
    """
    words = (*_missing(column), *(code for code in column.codes if code not in levels))
    if words or column.filled < column.records:
        return Entry("missing", ("", *words)), Entry("out_of_domain", "missing", confirmed=True)
    others = [level for level in levels if level.lower() in OTHER_WORDS]
    return (Entry("out_of_domain", next(iter((*others, *levels)), None)),)


def _is_labelled(column: InferredColumn) -> bool:
    """Whether the file has labels for every value that was found, and for one at least."""
    labels = dict(column.codebook.labels).keys() - {*_missing(column)}
    return bool(labels) and column.levels is not None and labels >= {*column.levels}


def _labelled(column: InferredColumn) -> DraftColumn:
    """The levels are the values with labels, in the order of the file, found or not."""
    words = _missing(column)
    levels = tuple(value for value, _ in column.codebook.labels if value not in words)
    entries, advice = _with_labels(column, levels, (Entry("type", "categorical"),))
    if not all(map(publishable, levels)):
        advice += (UNPUBLISHABLE,)
    if any(code in levels for code in column.codes):
        advice += ("is a level far from the others a missing value? Then list it under `missing`",)
    entries = (entries[0], Entry("levels", levels), *_fits_nowhere(column, levels), *entries[1:])
    return DraftColumn(column.name, (*entries, SOURCE), advice)


def _with_labels(
    column: InferredColumn, levels: Collection[str], entries: tuple[Entry, ...]
) -> tuple[tuple[Entry, ...], tuple[str, ...]]:
    """The entries and those that the file says of the column: labels and a title; and advice."""
    words = (*_missing(column), *column.codes)
    labels, advice = labels_of(column.codebook.labels, levels, words)
    if labels is not None:
        entries += (Entry("labels", labels),)
    title = " ".join(column.codebook.title.split())[:200]
    return (*entries, *([Entry("title", title)] if title else [])), advice


def _has_one_form_of_date(column: InferredColumn) -> bool:
    return max(column.iso_dates, column.dotted_dates) >= NEARLY_ALL * column.filled


def _date(column: InferredColumn) -> DraftColumn:
    """Days between whole years: round bounds, which tell less than the first and the last day."""
    first, last = column.first_year or 9999, column.last_year or 9999
    days = (last - first + 1) * 366 <= MAX_LEVELS
    entries = [
        Entry("type", "datetime" if column.times else "date"),
        Entry("first", Number(f"{first}-01-01" if days else f"{first}-01")),
        Entry("last", Number(f"{last}-12-31" if days else f"{last}-12")),
        Entry("resolution", "day" if days else "month"),
    ]
    if column.dotted_dates > column.iso_dates:
        entries.append(Entry("format", "%d.%m.%Y"))
    advice = [RESOLUTIONS]
    if column.codes:
        advice.append("a day at the end of time is taken for a missing one: see `missing`")
    if column.times:
        advice.append("times with a known offset count by the clock of `time_zone`, else of UTC")
    return DraftColumn(column.name, (*entries, *_beyond(column), SOURCE), tuple(advice))


def _are_truths(levels: tuple[str, ...]) -> bool:
    """Whether all levels are words for true and false, of one kind: not `t` beside `no`."""
    words = {level.lower() for level in levels}
    pairs = ({"true", "false"}, {"t", "f"}, {"yes", "no"}, {"y", "n"})
    return any(words <= pair for pair in pairs) and {*TRUE_TEXTS, *FALSE_TEXTS}.issuperset(levels)


def _boolean(column: InferredColumn) -> DraftColumn:
    found = _fits_nowhere(column, ("false", "true"))
    return DraftColumn(column.name, (Entry("type", "boolean"), *found, SOURCE))


def _looks_like_identifier(column: InferredColumn, *, is_numeric: bool, is_whole: bool) -> bool:
    """Nearly all values differ; numbers must also be called so, or run, or have equal lengths."""
    if column.filled <= FEWEST_FOR_IDENTIFIER or column.distinct < LIKE_IDENTIFIER * column.filled:
        return False
    if not is_numeric:
        return True
    low, high = int(column.minimum or 0), int(column.maximum or 0)
    is_running = high - low <= DENSE * column.filled
    has_one_length = len(str(low)) == len(str(high))
    return is_whole and (is_called_identifier(column.name) or is_running or has_one_length)


def _ordered(column: InferredColumn, *, is_whole: bool) -> DraftColumn:
    low, high = Fraction(column.minimum or 0), Fraction(column.maximum or 0)
    if max(abs(low), abs(high)) > (LARGEST if is_whole else FARTHEST) // 4:
        return DraftColumn(column.name, left_out="its numbers are too large to be put into bins")
    quantiles = tuple(map(Fraction, column.quantiles))
    found, advice = (_whole_bins if is_whole else _bins)(low, high, quantiles)
    if column.numbers < column.filled:
        advice.append("some values are no numbers: list the words for missing ones in `missing`")
    single: set[str] = set()
    if is_whole and high - low < SINGLE_NUMBERS:
        single = set(map(str, range(int(low), int(high) + 1)))
    kind = Entry("type", "integer" if is_whole else "number")
    entries, further = _with_labels(column, single, (kind, *found, *_beyond(column)))
    return DraftColumn(column.name, (*entries, SOURCE), (*_codes(column), *advice, *further))


def _codes(column: InferredColumn) -> list[str]:
    """What to look at where numbers were taken for codes of missing values."""
    return ["is a number under `missing` a true value? Then take it out there"] * bool(column.codes)


def _beyond(column: InferredColumn) -> tuple[Entry, ...]:
    """Where values go that fit into no bin; a missing level where a value is missing."""
    words = (*_missing(column), *column.codes)
    is_missing = bool(words) or column.filled < column.records
    missing = (Entry("missing", ("", *words)),) if is_missing else ()
    return (*missing, Entry("out_of_domain", "clamp", confirmed=True))


LADDER = "most values are small: round edges that grow; take those of public tables, if there are"
TAILS = "a few values lie beyond these bounds and count in the nearest bin: compare a codebook"


def _whole_bins(
    low: Fraction, high: Fraction, quantiles: tuple[Fraction, ...]
) -> tuple[list[Entry], list[str]]:
    """Bins of whole numbers: equal ones if they part the records, else those of a ladder."""
    found, advice = integer_bounds(int(low), int(high)), []
    if found[2] > 1 and are_crowded(equal_edges(*found), quantiles):
        found = integer_bounds(int(quantiles[1]), int(quantiles[-2]))
        advice = [TAILS]
        if are_crowded(equal_edges(*found), quantiles):
            edges = ladder(low, high, quantiles, least=Fraction(1))
            return [Entry("edges", Numbers(tuple(map(format_number, edges))))], [LADDER]
    keys = ("minimum", "maximum", "bin_width")
    return [Entry(k, Number(str(v))) for k, v in zip(keys, found, strict=True)], advice


def _bins(
    low: Fraction, high: Fraction, quantiles: tuple[Fraction, ...]
) -> tuple[list[Entry], list[str]]:
    """Bins of other numbers: equal ones if they part the records, else those of a ladder."""
    edges, advice = number_edges(low, high), []
    if are_crowded(edges, quantiles):
        edges, advice = number_edges(quantiles[1], quantiles[-2]), [TAILS]
    if are_crowded(edges, quantiles):
        edges, advice = ladder(low, high, quantiles), [LADDER]
    return [Entry("edges", Numbers(tuple(map(format_number, edges))))], advice


def _categorical(column: InferredColumn, max_levels: int) -> DraftColumn:
    has_dates = column.dates >= NEARLY_ALL * column.filled
    dates = "dates in several forms, or in one that is not known here: give `type: date` a `format`"
    if column.levels is None:
        return _too_many(column, max_levels, dates if has_dates else "")
    levels = _levels(column)
    advice = [dates] if has_dates else []
    if _has_commas(column):
        advice.append('numbers with a decimal comma: write `decimal: ","` in source')
    if column.padded:
        advice.append("numbers with zeros in front are codes, so they are levels")
    elif len(levels) > 2 and all(map(_is_number, levels)):
        advice.append(
            "few whole numbers are taken for codes; for a count write type: integer, minimum, "
            "maximum, bin_width: 1"
        )
    if not all(map(publishable, levels)):
        advice.append(UNPUBLISHABLE)
    found = (
        Entry("type", "categorical"),
        Entry("levels", levels),
        *_fits_nowhere(column, levels),
    )
    entries, further = _with_labels(column, levels, found)
    return DraftColumn(column.name, (*entries, SOURCE), (*_codes(column), *advice, *further))


def _too_many(column: InferredColumn, max_levels: int, dates: str) -> DraftColumn:
    """A column with more values than a draft lists: why it is left out, and what would keep it."""
    name = column.name
    if dates:
        return DraftColumn(name, left_out=dates)
    if _has_commas(column):
        return DraftColumn(
            name,
            left_out="numbers with a decimal comma",
            chosen_by='draft with --decimal , or write `decimal: ","` in source',
        )
    return DraftColumn(
        name,
        left_out=f"more than {max_levels} different values",
        chosen_by="draft with a larger --levels, group them in a copy, or "
        + _line(name, "type: categorical, levels: [...], hierarchy: [...]"),
    )
