"""Tabulation: from source files to exact counts, still secret."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from synth.config.types import Config, PersonUnit, SourceConfig
from synth.curator.encode import bound_contributions, encode_cell
from synth.curator.sensitive import Sensitive
from synth.curator.source import open_source

if TYPE_CHECKING:
    import numpy as np
    from ibis.backends.duckdb import Backend
    from numpy.typing import NDArray

MEMORY_LIMIT_BYTES = 4 << 30
SPILL_LIMIT_BYTES = 64 << 30


@contextmanager
def private_engine(scratch: Path) -> Iterator[Backend]:
    """An in-memory DuckDB that spills only into `scratch`, loads nothing and reports nothing."""
    import ibis

    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    connection = ibis.duckdb.connect(
        temp_directory=str(scratch),
        memory_limit=f"{min(MEMORY_LIMIT_BYTES, memory // 2) >> 20}MiB",
        max_temp_directory_size=f"{SPILL_LIMIT_BYTES >> 20}MiB",
        preserve_insertion_order=False,
        autoinstall_known_extensions=False,
        autoload_known_extensions=False,
        allow_community_extensions=False,
        enable_external_file_cache=False,
        threads=os.cpu_count() or 1,
    )
    try:
        connection.raw_sql("SET enable_progress_bar = false")
        connection.raw_sql("SET lock_configuration = true")
        yield connection
    finally:
        connection.disconnect()


def tabulate(
    config: Config, source: SourceConfig, files: Sequence[Path], scratch: Path
) -> Sensitive[NDArray[np.int64]]:
    """Count the records of every cell of the full universe.

    Privacy: exact counts; secret. Contributions are bounded first when the unit is a person.
    Shapes: int64, flat, one count per cell in C order, in records.
    """
    import ibis
    import numpy as np

    universe = config.universe
    unit = config.privacy.unit
    person = unit.column if isinstance(unit, PersonUnit) else None
    columns = list(dict.fromkeys([*universe.names, *([] if person is None else [person])]))
    with private_engine(scratch) as connection:
        parts = []
        for file in open_source(connection, source, files, columns, person_column=person):
            part = {"cell": encode_cell(file.records, universe, file.as_read)}
            if person is not None:
                part["person"] = file.records[person].cast("string")
            parts.append(file.records.select(**part))
        records = ibis.union(*parts, distinct=False) if len(parts) > 1 else parts[0]
        if isinstance(unit, PersonUnit):
            records = bound_contributions(records, unit)
        counted = records.group_by("cell").aggregate(records=records.count()).to_pyarrow()
    counts = np.zeros(universe.size, dtype=np.int64)
    counts[counted.column("cell").to_numpy()] = counted.column("records").to_numpy()
    return Sensitive(counts)
