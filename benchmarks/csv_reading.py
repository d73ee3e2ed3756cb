"""CSV to records, fields and counts: how quick, beside other parsers, and in how much memory.

    python benchmarks/csv_reading.py 300

Makes CSV files of about so many megabytes and eight columns in a temporary directory: fields
without quotes, all in quotes, and without quotes but for one within a field of every record (which
the quick way of splitting does not take). Prints one JSON line per file. `split`, `fields`,
`python` (its csv module) and `arrow` (pyarrow.csv.read_csv, one thread, line ends in fields
allowed) are megabytes per second of processor time on the first 64 MB; `counts` is the whole way
from the file to counts in a process of its own, per second of its processor time and on the clock.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
from engines import COUNT, blocks, configuration

from synth.config import Dialect
from synth.curator.files.csv_records import FieldParser, RecordSplitter
from synth.curator.files.unpacking import CHUNK_BYTES

SAMPLE_BYTES = 64 << 20
BYTES_PER_RECORD = 46
KINDS = ("unquoted", "quoted", "a quote in a field")


def write_file(path: Path, kind: str, rows: int) -> None:
    """Made-up records; a level with a quote is no level of the configuration, and is counted."""
    style = "all_valid" if kind == "quoted" else "none"
    with path.open("wb") as stream:
        for number, block in enumerate(blocks(rows)):
            texts = block.cast(pa.schema([(name, pa.string()) for name in block.column_names]))
            if number == 0:
                stream.write(",".join(texts.column_names).encode() + b"\n")
            sink = pa.BufferOutputStream()
            options = pyarrow.csv.WriteOptions(include_header=False, quoting_style=style)
            pyarrow.csv.write_csv(texts, sink, options)
            content = bytes(sink.getvalue())
            stream.write(content.replace(b"Region", b'5" wide') if "in a" in kind else content)


def taken(values: Iterable[object]) -> None:
    """Take everything and keep nothing."""
    for _ in values:
        pass


def speed(job: Callable[[], None], content: bytes) -> float:
    """Megabytes per second of processor time; the best of three."""
    seconds = []
    for _ in range(3):
        start = time.process_time()
        job()
        seconds.append(time.process_time() - start)
    return len(content) / min(seconds) / 1e6


def parsers(content: bytes) -> dict[str, float]:
    """Every parser on the same text."""
    chunks = [content[at : at + CHUNK_BYTES] for at in range(0, len(content), CHUNK_BYTES)]
    splitter, text = RecordSplitter(Dialect()), content.decode()
    whole = list(splitter.blocks(chunks))
    parser = FieldParser(Dialect(), 8, tuple(range(8)))
    options = {
        "read_options": pyarrow.csv.ReadOptions(use_threads=False, autogenerate_column_names=True),
        "parse_options": pyarrow.csv.ParseOptions(newlines_in_values=True),
        "convert_options": pyarrow.csv.ConvertOptions(
            column_types={f"f{number}": pa.string() for number in range(8)}
        ),
    }
    jobs: dict[str, Callable[[], None]] = {
        "split": lambda: taken(splitter.blocks(chunks)),
        "fields": lambda: taken(parser.table(block) for block in whole),
        "python": lambda: taken(csv.reader(io.StringIO(text, newline=""))),
        "arrow": lambda: taken([pyarrow.csv.read_csv(pa.BufferReader(content), **options)]),
    }
    return {name: round(speed(job, content)) for name, job in jobs.items()}


def counted(path: Path) -> dict[str, float]:
    """The whole way, from the file to counts."""
    command = [sys.executable, "-c", COUNT, str(configuration(path.parent, {"path": path.name}))]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    finished = subprocess.run(command, capture_output=True, text=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    result = json.loads(finished.stdout)
    size = path.stat().st_size / 1e6
    return {
        "records": result["records"],
        "counts": round(size / spent),
        "counts_on_the_clock": round(size / result["seconds"]),
        "peak_gb": round(result["peak_gb"], 2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("megabytes", type=float)
    arguments = parser.parse_args()
    rows = int(arguments.megabytes * 1e6 / BYTES_PER_RECORD)
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "rows.csv"
        for kind in KINDS:
            write_file(path, kind, rows)
            result = counted(path)
            if result.pop("records") != rows:
                raise SystemExit(f"{kind}: the counts do not add up to the rows")
            with path.open("rb") as stream:
                stream.readline()
                sample = stream.read(SAMPLE_BYTES)
            sample = sample[: sample.rindex(b"\n") + 1]
            found = {"file": kind, "megabytes": round(path.stat().st_size / 1e6)}
            print(json.dumps({**found, **parsers(sample), **result}), flush=True)


if __name__ == "__main__":
    main()
