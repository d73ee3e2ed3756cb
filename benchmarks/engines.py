"""Rows to counts: made-up Parquet files on DuckDB, and the same rows in a PostgreSQL table.

    python benchmarks/engines.py 1e7              # Parquet and gzipped CSV (a tenth of the rows)
    python benchmarks/engines.py 1e7 --url postgresql:///postgres?host=/run/postgresql

Prints one JSON line per source: rows, seconds, rows per second and peak memory of the process
that counts. The files are made in a temporary directory and removed. With `--url` a table
`synth_benchmark` is made and dropped; user and password come from the environment.
"""

from __future__ import annotations

import argparse
import gzip
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import yaml

BLOCK_ROWS = 1 << 20
WORDS = {
    "sex": ["Female", "Male", ""],
    "region": [f"Region {number}" for number in range(10)],
    "status": [f"status {number}" for number in range(5)],
}
NUMBERS = {"age": (0, 100, 1), "year": (1990, 2030, 1), "income": (0, 200, 500)}
CODES = {"score": 10, "kind": 8}

COUNT = """
import json, re, sys, time
from pathlib import Path
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.seal import quiet_libraries
from synth.curator.counting.tabulate import every_cell, tabulate
config = load_config(sys.argv[1])
start = time.perf_counter()
with quiet_libraries():
    held = tabulate(config, config.source, source_files(config.source), Path(sys.argv[1]).parent)
    counts = every_cell(held.consume(), config.universe)
seconds = time.perf_counter() - start
status = Path("/proc/self/status").read_text()  # of this program, not of who started it
peak = int(re.search(r"VmHWM:\\s+([0-9]+)", status)[1]) / 1e6
print(json.dumps({"records": int(counts.sum()), "seconds": seconds, "peak_gb": peak}))
"""


def blocks(rows: int) -> Iterator[pa.Table]:
    """Made-up records: three words as dictionaries, three numbers, two small codes."""
    rng = np.random.default_rng(1)
    for start in range(0, rows, BLOCK_ROWS):
        count = min(BLOCK_ROWS, rows - start)
        columns = {}
        for name, words in WORDS.items():
            codes = rng.integers(0, len(words), count, dtype=np.int8)
            columns[name] = pa.DictionaryArray.from_arrays(codes, words)
        for name, (low, high, step) in NUMBERS.items():
            columns[name] = pa.array(rng.integers(low, high, count, dtype=np.int32) * step)
        for name, size in CODES.items():
            columns[name] = pa.array(rng.integers(0, size, count, dtype=np.int8))
        yield pa.table(columns)


def domain() -> list[dict[str, object]]:
    """5.8 million cells."""
    said = {"source": "made up"}
    columns: list[dict[str, object]] = [
        {"name": name, "type": "categorical", "levels": [word for word in words if word],
         "missing": [""], "out_of_domain": "missing", **said}
        for name, words in WORDS.items()
    ]  # fmt: skip
    columns += [
        {"name": name, "type": "integer", "minimum": low * step, "maximum": (high - 1) * step,
         "bin_width": (high - low) * step // 8, "out_of_domain": "clamp", **said}
        for name, (low, high, step) in NUMBERS.items()
    ]  # fmt: skip
    return columns + [
        {"name": name, "type": "categorical", "levels": list(map(str, range(size))),
         "out_of_domain": "0", **said}
        for name, size in CODES.items()
    ]  # fmt: skip


def configuration(place: Path, source: dict[str, str]) -> Path:
    """A configuration of the source, in the directory of the files."""
    words = ("title", "description", "contact", "intended_use", "region", "sector", "license")
    content = {
        "schema_version": 1,
        "release": {"id": "benchmark", "curators": ["nobody"], **dict.fromkeys(words, "benchmark")},
        "source": {**source, "disposal": "keep", "disposal_reason": "made up"},
        "privacy": {"epsilon": 1, "neighbours": "add-remove", "unit": "record",
                    "justification": "made up"},
        "ledger": {"path": "ledger.sqlite", "population": "nobody", "epsilon_cap": 1},
        "domain": domain(),
        "strategy": "identity",
        "output": {"directory": "outputs"},
    }  # fmt: skip
    path = place / "benchmark.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def counted(place: Path, name: str, source: dict[str, str], rows: int) -> None:
    command = [sys.executable, "-c", COUNT, str(configuration(place, source))]
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    result = json.loads(finished.stdout)
    if result.pop("records") != rows:
        raise SystemExit(f"{name}: the counts do not add up to the rows")
    result["rows_per_second"] = round(rows / result["seconds"])
    rounded = {key: round(value, 2) for key, value in result.items()}
    print(json.dumps({"source": name, "rows": rows, **rounded}), flush=True)


def fill_table(url: str, rows: int) -> None:
    """The table `synth_benchmark` with the rows."""
    import psycopg

    names = [*WORDS, *NUMBERS, *CODES]
    kinds = ["text"] * len(WORDS) + ["int"] * (len(NUMBERS) + len(CODES))
    declared = ", ".join(f"{name} {kind}" for name, kind in zip(names, kinds, strict=True))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS synth_benchmark")
        connection.execute(f"CREATE UNLOGGED TABLE synth_benchmark ({declared})")
        statement = "COPY synth_benchmark FROM STDIN WITH (FORMAT csv)"
        with connection.cursor() as cursor, cursor.copy(statement) as copied:
            for block in blocks(rows):
                copied.write(as_csv(block, header=False))
        connection.execute("ANALYZE synth_benchmark")


def as_csv(block: pa.Table, *, header: bool) -> bytes:
    """A block as CSV."""
    sink = pa.BufferOutputStream()
    options = pyarrow.csv.WriteOptions(include_header=header)
    plain = block.cast(pa.schema([
        pa.field(field.name, pa.string() if field.name in WORDS else field.type)
        for field in block.schema
    ]))  # fmt: skip
    pyarrow.csv.write_csv(plain, sink, options)
    return bytes(sink.getvalue())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", type=float)
    parser.add_argument("--url", help="a PostgreSQL database to count the same rows in")
    arguments = parser.parse_args()
    rows = int(arguments.rows)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        if arguments.url is None:
            with pq.ParquetWriter(place / "rows.parquet", next(blocks(1)).schema) as writer:
                for block in blocks(rows):
                    writer.write_table(block)
            counted(place, "parquet", {"path": "rows.parquet"}, rows)
            (place / "rows.parquet").unlink()
            with gzip.open(place / "rows.csv.gz", "wb", compresslevel=1) as stream:
                for number, block in enumerate(blocks(rows // 10)):
                    stream.write(as_csv(block, header=number == 0))
            counted(place, "csv.gz", {"path": "rows.csv.gz"}, rows // 10)
        else:
            import psycopg

            fill_table(arguments.url, rows)
            place_of_table = {"url": arguments.url, "table": "synth_benchmark"}
            counted(place, "postgresql", place_of_table, rows)
            with psycopg.connect(arguments.url, autocommit=True) as connection:
                connection.execute("DROP TABLE synth_benchmark")


if __name__ == "__main__":
    main()
