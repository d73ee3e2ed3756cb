"""Tabulation: from the records of a source to exact counts, still secret."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config import Config, PersonUnit, SourceConfig
from synth.curator.counting.encode import bound_contributions, split_into_words
from synth.curator.counting.lookup import encode_records
from synth.curator.engine import Engine, Records, open_engine
from synth.curator.sensitive import Sensitive

if TYPE_CHECKING:
    import ibis
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class CountedCells:
    """Some cells that hold records: the codes of each, and its count."""

    codes: tuple[NDArray[np.int32], ...]
    """One array per attribute of the universe, in its order."""
    counts: NDArray[np.int64]


def tabulate(
    config: Config, source: SourceConfig, files: Sequence[Path], scratch: Path
) -> Sensitive[NDArray[np.int64]]:
    """Count the records of every cell of the full universe.

    Privacy: exact counts; secret. Contributions are bounded first when the unit is a person.
    Ensures: beside the counts, memory is bounded whatever the number of records.
    Shapes: int64, flat, one count per cell in C order, in records.
    """
    import numpy as np

    counts = np.zeros(config.universe.size, dtype=np.int64)
    with open_engine(source, files, scratch, config.universe) as engine:
        records = _bounded_records(engine, config)
        if engine.counts_where_records_lie:
            for batch in engine.batches(_counted(records)):
                counts[batch.column("word_0").to_numpy()] = batch.column("records").to_numpy()
        else:
            for batch in engine.batches(records.select("word_0")):
                np.add.at(counts, batch.column("word_0").to_numpy(), 1)
    return Sensitive(counts)


@contextmanager
def counted_cells(
    config: Config, source: SourceConfig, files: Sequence[Path], scratch: Path
) -> Iterator[Sensitive[Iterator[CountedCells]]]:
    """The cells that hold records, with their counts, in blocks; for a universe of any size.

    Privacy: exact counts; secret, and so are the number of blocks and of cells.
    Ensures: every such cell once, in ascending order of its number, so that nothing tells in
    which order the records came. Memory is bounded: the engine sorts, and spills.
    Example: `with counted_cells(...) as blocks: for block in blocks.consume(): ...`
    """
    with open_engine(source, files, scratch, config.universe) as engine:
        counted = _counted(_bounded_records(engine, config))
        words = [name for name in counted.columns if name != "records"]
        yield Sensitive(_blocks(engine, counted.order_by(words), config))


def _blocks(engine: Engine, counted: ibis.Table, config: Config) -> Iterator[CountedCells]:
    import numpy as np

    words = split_into_words(config.universe)
    for batch in engine.batches(counted):
        codes: list[NDArray[np.int32]] = []
        for number, word in enumerate(words):
            cells = batch.column(f"word_{number}").to_numpy()
            for size, stride in zip(word.sizes, word.strides, strict=True):
                codes.append(((cells // stride) % size).astype(np.int32))
        yield CountedCells(tuple(codes), batch.column("records").to_numpy())


def _counted(records: ibis.Table) -> ibis.Table:
    """One row per cell that holds records: the words of its number, and the records."""
    words = [name for name in records.columns if name.startswith("word_")]
    return records.group_by(words).aggregate(records=records.count())


def open_records(engine: Engine, config: Config) -> Sequence[Records]:
    """The columns of the universe, and that of the persons; no record is read.

    Raises: SourceError, in words of the configuration, for what concerns the whole source.
    """
    unit = config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    columns = dict.fromkeys([*config.universe.names, *([] if person is None else [person])])
    return engine.open_records(list(columns), person_column=person)


def _bounded_records(engine: Engine, config: Config) -> ibis.Table:
    """One row per record that counts: the words of its cell."""
    import ibis

    universe, unit = config.universe, config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    parts = [
        encode_records(engine, records, universe, person=person)
        for records in open_records(engine, config)
    ]
    bounded = ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
    if isinstance(unit, PersonUnit):
        bounded = bound_contributions(bounded, unit)
    return bounded
