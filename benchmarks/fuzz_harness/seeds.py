"""The small job and the small files from which the fuzzers start."""

from __future__ import annotations

import gzip
import io
import subprocess
import sys
from pathlib import Path

CONFIGURATION = """schema_version: 1
release:
  id: fuzzed
  title: Made-up people
  description: For the fuzzers
  curators: [Test Office]
  contact: data@example.org
  intended_use: Testing
  region: Nowhere
  sector: Government
  license: CC-BY-4.0
source: {path: people.csv, disposal: keep, disposal_reason: made up}
privacy: {epsilon: 0.5, neighbours: add-remove, unit: record, justification: A test.}
ledger: {path: state/ledger.sqlite, population: nobody, epsilon_cap: 2}
domain:
  - {name: age, type: integer, edges: [0, 18, 65, 99], out_of_domain: clamp, source: test}
  - {name: sex, type: categorical, levels: [Female, Male], missing: [""],
     out_of_domain: missing, source: test}
impossible:
  - {age: "[65, 99]", sex: missing}
workload: {marginals: 1}
output: {directory: outputs}
"""

PERSON = CONFIGURATION.replace("unit: record", "unit: {column: id, max_records: 2}")

PEOPLE = "id,age,sex\n" + "1,34,Female\n2,67,Male\n2,12,\n" * 3

HOSTILE_YAML = (
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
    "[" * 100,
    "{" * 100,
    "privacy: {epsilon: 1e999999999}\n",
    "privacy: {epsilon: " + "9" * 5000 + "}\n",
    "a: 1\na: 2\n<<: {a: 3}\n",
    "x: !!python/object/apply:os.system [true]\n",
    "%YAML 9.9\n--- !<tag:x> a\n...\n---\nb\n",
    "\ufeffa: \x00\n",
    '? [a, b]\n: "\\ud800"\n',
    "a: |\n  b\n c: >-\n\t d\n",
)

HOSTILE_CSV = (
    'id,age,sex\n1,"34\n,Female\n2,67,Male\n',
    "id,age,sex\r\n1,=cmd|' /C calc'!A0,\x00\r\n",
    "\ufeffid;age;sex\n1;1e308;Süd\n1;nan;\udcff\n",
    '"id","age","sex","sex"\n',
    "age\n" * 5,
    "id,age,sex" + ",x" * 2000 + "\n1,2,Male\n",
    "",
)


def make_release(place: Path) -> Path:
    """A small release, made by the command line."""
    (place / "people.csv").write_text(PEOPLE * 20, encoding="utf-8")
    (place / "release.yaml").write_text(CONFIGURATION, encoding="utf-8")
    command = [sys.executable, "-m", "synth", "run", str(place / "release.yaml")]
    subprocess.run(command, check=True, capture_output=True, text=True)
    return place / "outputs" / "fuzzed"


def config_seeds(good: Path) -> list[bytes]:
    """Valid files of the test suite, the small job, and files that were made to hurt."""
    files = [path.read_bytes() for path in sorted(good.glob("*.yaml"))]
    texts = [CONFIGURATION, PERSON, *HOSTILE_YAML]
    return [*files, *(text.encode("utf-8", "surrogatepass") for text in texts)]


def csv_seeds() -> list[bytes]:
    """One byte that chooses how the file is read, then the file; see `targets.CsvTarget`."""
    texts = [text.encode("utf-8", "surrogatepass") for text in (PEOPLE, *HOSTILE_CSV)]
    plain = [bytes([mode]) + text for mode in (0, 1, 4, 8) for text in texts]
    zipped = [bytes([2]) + gzip.compress(text) for text in texts]
    return [*plain, *zipped, b"\x02" + gzip.compress(b"id,age,sex\n" + b"1,2,Male\n" * 10_000)]


def parquet_seeds() -> list[bytes]:
    """Whole files in several types and encodings; the first byte 0 says that it is a file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    ids, ages, sexes = [1, 2, 2], [34, None, 250], ["Female", "", None]
    tables = [
        pa.table({"id": ids, "age": ages, "sex": sexes}),
        pa.table({"id": ["a", "b", "b"], "age": ["1", "x", ""], "sex": pa.array(sexes)}),
        pa.table({"id": ids, "age": [1.5, None, float("nan")], "sex": [b"M", b"\xff", None]}),
        pa.table({"id": ids, "age": pa.array([1, 2, 3], pa.uint64()), "sex": [[1], [2], [3]]}),
        pa.table({"id": ids, "age": [True, False, None], "sex": [{"a": 1}] * 3}),
        pa.table({"age": ages, "sex": pa.array(sexes).dictionary_encode(), "id": ids}),
    ]
    found = []
    for table in tables:
        for options in (
            {"compression": "none"},
            {"compression": "zstd", "store_schema": False},
            {"compression": "snappy", "use_dictionary": False, "data_page_version": "2.0"},
        ):
            stream = io.BytesIO()
            pq.write_table(table, stream, **options)
            found.append(b"\x00" + stream.getvalue())
    return [*found, *(bytes([1, number]) + bytes(range(40)) for number in range(12))]


def verify_seeds(release: Path) -> list[bytes]:
    """Every file of a release as it is, resealed or not, and changes of the manifest."""
    names = sorted(path.name for path in release.iterdir())
    whole = [
        bytes([seal, number]) + (release / name).read_bytes()
        for number, name in enumerate(names)
        for seal in (0, 1)
    ]
    return [*whole, *(bytes([2, number, 0]) + b"\x01" * 12 for number in range(0, 250, 10))]
