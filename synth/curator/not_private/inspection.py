"""How the raw data fit the declared domain: private, and never part of a run.

`synth inspect` and `synth evaluate` show it to the keeper. Records come through the reader of a
run, and `lookup.record_codes` says what becomes of every value, so that what is said here is what
a run does. Distinct values of a column are gathered with their counts; whenever there are many,
they are judged and forgotten, so that memory does not grow with the source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import ibis
import pyarrow as pa
import pyarrow.compute as pc

from synth.config import Config, FileSource, PersonUnit, SourceConfig
from synth.config.source_files import CSV
from synth.curator.counting.encode import missing_texts
from synth.curator.counting.lookup import record_codes
from synth.curator.engine import Records
from synth.curator.files.duckdb_engine import DuckDBEngine, as_number, duckdb_engine
from synth.curator.files.readable_texts import CUT
from synth.curator.not_private.exact_cells import exact_cells
from synth.curator.not_private.inference import counted_values
from synth.curator.not_private.misfits import OUTSIDE, Misfits, Reason, looks_like_data
from synth.curator.not_private.source_texts import (
    ELSEWHERE,
    LeftOut,
    SelectedTexts,
    SourceTexts,
    counted_kind,
    open_texts,
)
from synth.curator.seal import with_source_open
from synth.domain import Attribute, Universe
from synth.domain.attribute import CLAMP, MISSING
from synth.domain.counts import Counts

MOST_VALUES = 1 << 16
"""So many distinct values of a column are held before they are judged."""
MOST_EXAMPLES = 1 << 10
"""So many values are held for each reason; the most frequent of them are shown."""
EXAMPLES = 5
ID_LIKE = re.compile(
    "(?:^|[^a-zA-Z])(?:id|pid|person|patient|subject|member|customer)(?:$|[^a-zA-Z])|Id$|ID$"
    "|(?:person|patient|subject|member|customer)(?:id|nr|no|number)$",
)
"""Names of columns that are likely to say whose a record is."""
MOST_IDS = 5
UNUSED = CUT
"""A text that no source holds by itself and no configuration may name."""


@dataclass
class MisfitCount:
    """Values that fit nowhere for one reason. Secret."""

    reason: Reason
    records: int = 0
    becomes: Counter[str] = field(default_factory=Counter)
    """The labels that these values count as."""
    examples: Counter[str] = field(default_factory=Counter)

    def add(self, text: str, label: str, records: int) -> None:
        """Count so many records with one value."""
        self.records += records
        self.becomes[label] += records
        self.examples[text[:100]] += records
        if len(self.examples) > 2 * MOST_EXAMPLES:
            self.examples = Counter(dict(self.examples.most_common(MOST_EXAMPLES)))


@dataclass
class InspectedColumn:
    """How the values of one configured column fit. Secret: every count comes from the records."""

    name: str
    fits: int = 0
    declared_missing: int = 0
    below: int = 0
    above: int = 0
    clamps: bool = False
    nowhere: int = 0
    """Neither a level or number of the domain, nor declared missing."""
    misfits: dict[str, MisfitCount] = field(default_factory=dict)

    @property
    def records(self) -> int:
        """All records."""
        return self.fits + self.declared_missing + self.below + self.above + self.nowhere

    @property
    def reasons(self) -> list[MisfitCount]:
        """The reasons, the most frequent first."""
        return sorted(self.misfits.values(), key=lambda each: -each.records)


@dataclass(frozen=True)
class RepeatedIds:
    """How often the values of a column that may name people repeat. Secret."""

    name: str
    records: int
    without_id: int
    ids: int
    repeated: int
    """Ids with more than one record."""
    most: int
    """The most records of one id."""
    bound: int | None = None
    """`max_records`, where this is the column of the persons."""
    beyond_bound: int = 0
    """Records that the bound leaves out."""


@dataclass(frozen=True)
class Declared:
    """A number of records that the configuration declares, and how many there are. Secret."""

    cells: str
    """As `sex=Male, age=17`."""
    total: int
    """0 of impossible cells."""
    records: int


@dataclass(frozen=True)
class Inspection:
    """What the keeper is told. Secret but for the names."""

    records: int
    left_out: LeftOut
    columns: tuple[InspectedColumn, ...]
    person: RepeatedIds | None
    id_like: tuple[RepeatedIds, ...]
    names_like_data: tuple[str, ...]
    """Names of the header that are numbers or empty."""
    names_are_values: bool
    """Every configured column of texts holds its own name as a value in the first records."""
    absent: tuple[str, ...] = ()
    """Configured columns that no record at the beginning has, where no file states its columns."""
    of_other_periods: int = 0
    """Records with a date that is in no period of the release."""
    undated: int = 0
    """Records without a date, where dates select them."""
    dates: str = ""
    """The column whose dates select records."""
    declared: tuple[Declared, ...] = ()
    """Public totals and impossible cells that the records contradict."""


def inspect_source(
    config: Config, source: SourceConfig, files: Sequence[Path], *, directory: Path
) -> Inspection:
    """Look at every configured column of a source, in the records that a run counts.

    Privacy: none. For the keeper of the raw data alone. Exceptions carry words of the
    configuration only.
    Ensures: nothing is printed, and what spills goes to a private directory under `directory`,
    which is gone when this returns or raises. Memory grows with the filled cells where totals or
    impossible cells are declared, and never with the records.
    Raises: SourceError, SynthError, always raised afresh.
    """
    found = with_source_open(directory, lambda spill: _inspect(config, source, files, spill))
    return replace(found, declared=_contradicted(config, source, files, directory))


def _contradicted(
    config: Config, source: SourceConfig, files: Sequence[Path], directory: Path
) -> tuple[Declared, ...]:
    """What is declared of numbers of records and does not hold; the source is read again."""
    universe = config.universe
    wanted = [(each.where, each.total) for each in config.public_totals]
    wanted += [(where, 0) for where in universe.impossible]
    if not wanted:
        return ()
    selection = config.selection()
    selections = () if selection is None else (selection,)
    cells = exact_cells(config, source, files, directory=directory, selections=selections)
    counts = Counts(cells.columns, cells.counts)
    declared = (
        Declared(where.describe(universe), total, counts.inside(universe, where))
        for where, total in wanted
    )
    return tuple(each for each in declared if each.total != each.records)


def _inspect(
    config: Config, source: SourceConfig, files: Sequence[Path], spill: Path
) -> Inspection:
    universe, unit = config.universe, config.privacy.unit
    is_csv = isinstance(source, FileSource) and source.kind == CSV
    dialect = source.dialect if isinstance(source, FileSource) and is_csv else None
    columns = [
        _Column(
            attribute,
            Misfits(
                attribute,
                dialect.encoding if dialect else "",
                dialect.decimal if dialect else ".",
            ),
        )
        for attribute in universe.attributes
    ]
    person = unit.column if isinstance(unit, PersonUnit) else None
    needed = list(dict.fromkeys([*universe.names, *([] if person is None else [person])]))
    records, names_are_values = 0, False
    selection = config.selection()
    with open_texts(source, files, spill, as_counted=True) as opened:
        selected = None if selection is None else SelectedTexts(opened, selection, spill)
        texts: SourceTexts = opened if selected is None else selected
        with duckdb_engine(ELSEWHERE, (), spill) as engine, texts.streams(needed) as readers:
            for reader in readers:
                for batch in reader:
                    if not records and dialect is not None and dialect.header is None:
                        names_are_values = _names_are_values(batch, universe.names)
                    records += batch.num_rows
                    for column in columns:
                        column.gather(batch.column(column.attribute.name), engine)
            for column in columns:
                column.judge(engine)
        left_out = texts.left_out
        elsewhere = (0, 0) if selected is None else (selected.of_other_periods, selected.undated)
        found = texts.find_columns()
        if person is not None:
            bound = unit.max_records if isinstance(unit, PersonUnit) else None
            ids: tuple[RepeatedIds, ...] = (_repeated(source, texts, person, spill, bound),)
        else:
            likely = [name for name in found.names if ID_LIKE.search(name)]
            ids = tuple(_repeated(source, texts, name, spill) for name in likely[:MOST_IDS])
    is_named = dialect is not None and dialect.header is None
    read = dict.fromkeys([*needed, *([] if selection is None else [selection.column])])
    return Inspection(
        records=records,
        left_out=left_out,
        columns=tuple(column.found for column in columns),
        person=ids[0] if person is not None else None,
        id_like=() if person is not None else tuple(each for each in ids if each.repeated),
        names_like_data=tuple(looks_like_data(found.names)) if is_named else (),
        names_are_values=names_are_values,
        absent=tuple(name for name in read if name not in found.names),
        of_other_periods=elsewhere[0],
        undated=elsewhere[1],
        dates="" if selection is None else selection.column,
    )


def _names_are_values(batch: pa.RecordBatch, names: Sequence[str]) -> bool:
    return all(pc.any(pc.equal(batch.column(name), name)).as_py() for name in names)


class _Column:
    """One column: distinct values that wait, and what was found so far."""

    def __init__(self, attribute: Attribute, misfits: Misfits) -> None:
        self.attribute = attribute
        self.found = InspectedColumn(
            attribute.name, clamps=attribute.is_ordered and attribute.out_of_domain == CLAMP
        )
        self._misfits = misfits
        self._waiting: dict[pa.DataType, Counter[Any]] = {}

    def gather(self, values: pa.Array, engine: DuckDBEngine) -> None:
        """Count the distinct values of a batch."""
        counted = values.value_counts()
        distinct = counted.field("values")
        waiting = self._waiting.setdefault(counted_kind(distinct.type), Counter())
        for value, count in zip(
            distinct.to_pylist(), counted.field("counts").to_pylist(), strict=True
        ):
            waiting[value] += count
        if sum(map(len, self._waiting.values())) > MOST_VALUES:
            self.judge(engine)

    def judge(self, engine: DuckDBEngine) -> None:
        """Let the encoder decide about all values that wait, and forget them."""
        for kind, waiting in self._waiting.items():
            values = list(waiting)
            for place, code, fits, is_token, side in _codes(
                engine, self.attribute, values, kind, self._misfits.decimal
            ):
                value = values[place]
                self._count(value, waiting[value], code, fits, is_token, side)
        self._waiting = {}

    def _count(
        self, value: Any, records: int, code: int, fits: bool, is_token: bool, side: str
    ) -> None:
        found, attribute = self.found, self.attribute
        if is_token:
            found.declared_missing += records
            return
        if fits:
            found.fits += records
            return
        text = "" if value is None else str(value)
        if side == "below":
            found.below += records
        elif side == "above":
            found.above += records
        else:
            found.nowhere += records
        reason = OUTSIDE[side](attribute) if side else self._misfits.reason(text)
        count = found.misfits.setdefault(reason.words, MisfitCount(reason))
        count.add(text, attribute.label(code), records)


def _codes(
    engine: DuckDBEngine,
    attribute: Attribute,
    values: Sequence[Any],
    kind: pa.DataType,
    decimal: str,
) -> list[tuple[int, int, bool, bool, str]]:
    """For each value its place, its code, and how the encoder came to it.

    The encoder is asked four times, about variants of the attribute in which what it decides
    shows in the code: whether the value is in the domain, whether it is a word for a missing
    one, and on which side of the domain a number lies.
    """
    fits = replace(attribute, name="fits", missing=(UNUSED,), out_of_domain=MISSING, hierarchy=())
    word = Attribute(
        "word", "categorical", (UNUSED,), missing=(*missing_texts(attribute), UNUSED),
        out_of_domain=UNUSED,
    )  # fmt: skip
    variants = [replace(attribute, name="code", hierarchy=()), fits, word]
    low = attribute.edges[0] if attribute.is_ordered else None
    if attribute.calendar is not None and low is not None:
        two = replace(fits, name="side", edges=(low, low + 1, low + 1), out_of_domain=CLAMP)
        variants.append(two)
    elif low is not None:
        variants.append(
            Attribute("side", "number", edges=(low - 1, low, low + 1), missing=(UNUSED,),
                      out_of_domain=CLAMP)
        )  # fmt: skip
    name = "inspected"
    held = pa.table(
        {"value": pa.array(values, kind), "place": pa.array(range(len(values)), pa.int64())}
    )
    engine.connection.register(name, held)
    source = ibis.table(ibis.Schema.from_pyarrow(held.schema), name=name)
    table = source.select(**{each.name: source.value for each in variants}, place=source.place)
    records = Records(table, partial(as_number, table, decimal=decimal))
    coded = record_codes(engine, records, Universe(tuple(variants)), {"place": table.place})
    wide = coded.select(**{each: coded[each].cast("int64") for each in coded.columns})
    found = []
    for batch in engine.batches(wide):
        rows = batch.to_pydict()
        sides = rows.get("code_3", [2] * batch.num_rows)
        for place, code, inside, is_word, side in zip(
            rows["place"], rows["code_0"], rows["code_1"], rows["code_2"], sides, strict=True
        ):
            side_name = ("below", "above", "")[side]
            found.append(
                (place, code, inside != fits.missing_code, is_word == word.missing_code, side_name)
            )
    engine.connection.unregister(name)
    return found


def _repeated(
    source: SourceConfig, texts: SourceTexts, name: str, spill: Path, bound: int | None = None
) -> RepeatedIds:
    """How often the values of one column repeat; what it takes to sort spills."""
    records, without_id, ids, repeated, most, beyond = counted_values(
        source, texts, name, spill, bound or 1
    )
    return RepeatedIds(
        name, records, without_id, ids, repeated, most, bound, 0 if bound is None else beyond
    )
