"""Columns of very many levels: the time to count records of them, and of whole runs.

    python benchmarks/many_levels.py --levels 20000 --columns 1,3 --rows 1e6
    python benchmarks/many_levels.py --columns 1,3 --url postgresql:///postgres?host=/run/postgresql
    python benchmarks/many_levels.py --columns 1,3 --run

Made-up records of columns with as many levels (text), one record in a thousand of no level. Prints
one JSON line each: seconds on the clock and processor seconds of this process (not of a database)
to load the configuration, to write the statement, and to count the records, start of the engine
included. With `--compared` levels are compared one after another instead of looked up, as it was
done before. With `--url` a table `synth_benchmark` is made and dropped; user and password come
from the environment. With `--run` the processor seconds and memory of a whole `synth run` and the
time of `synth plan` follow. One column is counted cell by cell, several as a list of heavy cells.
"""

from __future__ import annotations

import argparse
import io
import json
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

CONFIGURATION = """
schema_version: 1
release: {id: many-levels, title: Many levels, description: For a benchmark.,
  curators: [Nobody], contact: nobody@example.org, intended_use: Benchmark, region: Nowhere,
  sector: Other, license: CC0-1.0}
privacy: {epsilon: 1, neighbours: add-remove, unit: record, justification: Made up}
ledger: {path: state/ledger.sqlite, population: nobody, epsilon_cap: 1}
workload: {marginals: 1}
output: {directory: outputs, formats: [csv, parquet]}
"""


def make_up(place: Path, columns: int, levels: int, rows: int) -> Path:
    """Write the records and their configuration."""
    generator = np.random.default_rng(1)
    words = [f"Municipality {number}" for number in range(levels)]
    records, domain = {}, []
    for number in range(columns):
        codes = (levels * generator.random(rows) ** 3).astype(np.int32)
        codes[generator.random(rows) < 0.001] = levels
        texts = pa.DictionaryArray.from_arrays(codes, [*words, "elsewhere"])
        records[f"m{number}"] = texts.cast(pa.string())
        domain.append(
            {
                "name": f"m{number}",
                "type": "categorical",
                "levels": list(words),
                "missing": [""],
                "out_of_domain": "missing",
                "source": "made up",
            }
        )
    pq.write_table(pa.table(records), place / "rows.parquet")
    content = yaml.safe_load(CONFIGURATION) | {
        "source": {"path": "rows.parquet", "disposal": "keep", "disposal_reason": "Made up"},
        "domain": domain,
        "strategy": "identity" if columns == 1 else "sparse",
    }
    path = place / "many.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def fill(url: str, place: Path) -> None:
    """Copy the records into the table `synth_benchmark`."""
    import psycopg

    table = pq.read_table(place / "rows.parquet")
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink, pyarrow.csv.WriteOptions(include_header=False))
    declared = ", ".join(f"{name} text" for name in table.column_names)
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS synth_benchmark")
        connection.execute(f"CREATE UNLOGGED TABLE synth_benchmark ({declared})")
        statement = "COPY synth_benchmark FROM STDIN WITH (FORMAT csv)"
        with connection.cursor() as cursor, cursor.copy(statement) as copied:
            copied.write(sink.getvalue())
        connection.execute("ANALYZE synth_benchmark")


class Clock:
    """Seconds on the clock and of the processor since it was last asked."""

    def __init__(self) -> None:
        """Start."""
        self._wall, self._processor = time.perf_counter(), time.process_time()

    def __call__(self) -> list[float]:
        """Both, and start again."""
        wall, processor = time.perf_counter() - self._wall, time.process_time() - self._processor
        self.__init__()
        return [round(wall, 2), round(processor, 2)]


def counted(path: Path, url: str | None) -> dict[str, object]:
    """Load the configuration and count the records, as a run does."""
    import ibis

    from synth.config import PostgresSource, load_config
    from synth.config.source_files import source_files
    from synth.curator.counting.tabulate import _bounded_records, counted_cells
    from synth.curator.engine import open_engine
    from synth.curator.seal import quiet_libraries

    clock = Clock()
    config = load_config(path)
    found: dict[str, object] = {"load": clock()}
    source, files = config.source, source_files(config.source)
    if url is not None:
        source, files = PostgresSource(url, "synth_benchmark", "keep", "made up"), ()
    with quiet_libraries():
        clock()
        with open_engine(source, files, path.parent, config.universe) as engine:
            ibis.to_sql(_bounded_records(engine, config), dialect="postgres" if url else "duckdb")
        found["write"] = clock()
        with counted_cells(config, source, files, path.parent) as blocks:
            found["records"] = sum(int(block.counts.sum()) for block in blocks.consume())
        found["count"] = clock()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--levels", type=int, default=20_000)
    parser.add_argument("--columns", default="1,3")
    parser.add_argument("--rows", type=float, default=1e6)
    parser.add_argument("--url", help="a PostgreSQL database to count the same records in")
    parser.add_argument("--compared", action="store_true")
    parser.add_argument("--run", action="store_true")
    options = parser.parse_args()
    if options.compared:
        from synth.curator.counting import lookup

        lookup.COMPARED_TEXTS = options.levels + 1
        sys.setrecursionlimit(100_000)
    for columns in map(int, options.columns.split(",")):
        with tempfile.TemporaryDirectory() as name:
            place = Path(name)
            path = make_up(place, columns, options.levels, int(options.rows))
            if options.url:
                fill(options.url, place)
            result: dict[str, object] = {"columns": columns, **counted(path, options.url)}
            if options.run:
                from whole_run import measured

                synth = [sys.executable, "-m", "synth"]
                for command in ("plan", "run"):
                    figures = measured([*synth, command, str(path)], place)
                    result[command] = [round(figure, 1) for figure in figures]
            print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
