"""Releases of attackers: each is refused with exit code 5 and clean sentences, and not unpacked."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.errors import VerificationError
from synth.reading import Release
from synth.release import verify_release
from synth.release.verification import folder as folder_module
from synth.release.verification import trial_reading
from synth.release.verification.trial_reading import (
    Limits,
    TrialError,
    blocks,
    require_readable,
)
from synth.strict_json import write_folded_json
from tests.command_line import synth
from tests.release_folder import seal

CONFIGURATION = """schema_version: 1
release: {id: hostile, title: T, description: D, curators: [C], contact: c@example.org,
  intended_use: Testing, region: Nowhere, sector: Government, license: CC-BY-4.0}
source: {path: people.csv, disposal: keep, disposal_reason: made up}
privacy: {epsilon: 0.5, neighbours: add-remove, unit: record, justification: A test.}
ledger: {path: state/ledger.sqlite, population: nobody, epsilon_cap: 2}
domain:
  - {name: age, type: integer, edges: [0, 18, 65, 99], out_of_domain: clamp, source: test}
  - {name: sex, type: categorical, levels: [Female, Male], missing: [""],
     out_of_domain: missing, source: test}
output: {directory: outputs}
"""
MOST_BYTES = 1_500_000_000
GIGABYTES = 2**31 - 1
HUNDREDS_OF_MILLIONS = 1 << 29
MANY = 2_000_000_000


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    place = tmp_path_factory.mktemp("published")
    (place / "people.csv").write_text("age,sex\n" + "34,Female\n67,Male\n12,\n" * 60)
    (place / "release.yaml").write_text(CONFIGURATION)
    done = synth("run", place / "release.yaml")
    assert done.returncode == 0, done.stderr
    return place / "outputs" / "hostile"


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(published, tmp_path / "hostile"))


def findings_of(folder: Path) -> list[str]:
    with pytest.raises(VerificationError) as caught:
        verify_release(folder)
    assert caught.value.exit_code == 5
    assert all(finding.isprintable() for finding in caught.value.findings)
    assert all(len(finding) < 2_000 for finding in caught.value.findings)
    return list(caught.value.findings)


# A new process inherits the peak of the one that started it: a small one starts and measures.
PEAK_OF = """
import os, sys
pid = os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ)
_, status, usage = os.wait4(pid, 0)
with open(sys.argv[1], "w") as file:
    file.write(str(usage.ru_maxrss * 1024))
sys.exit(os.waitstatus_to_exitcode(status))
"""


def verify_in_a_process(folder: Path) -> list[str]:
    """The lines that the command says; its peak of memory is held to a generous bound."""
    command = [sys.executable, "-m", "synth", "verify", str(folder)]
    with tempfile.NamedTemporaryFile("r") as peak:
        measured = [sys.executable, "-c", PEAK_OF, peak.name, *command]
        done = subprocess.run(measured, capture_output=True, text=True)
        peak_bytes = int(peak.read())
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert peak_bytes < MOST_BYTES
    return done.stderr.splitlines()


def reseal(folder: Path) -> None:
    """Make all hashes right again, as far as the manifest can be read."""
    text = (folder / "manifest.json").read_bytes()
    try:
        manifest = json.loads(text)
        for entry in manifest["files"]:
            content = (folder / entry["path"]).read_bytes()
            entry["bytes"], entry["sha256"] = len(content), hashlib.sha256(content).hexdigest()
        (folder / "manifest.json").write_bytes(write_folded_json(manifest))
    except (ValueError, TypeError, KeyError, RecursionError):
        pass
    seal(folder)


# --- Parquet, written by hand in the compact protocol of Thrift, so that it can lie. ---


def varint(number: int) -> bytes:
    found = b""
    while number > 127:
        found += bytes([number & 127 | 128])
        number >>= 7
    return found + bytes([number])


def whole(number: int) -> tuple[int, bytes]:
    return 6, varint(number << 1)


def short(number: int) -> tuple[int, bytes]:
    return 5, varint(number << 1)


def text(content: bytes) -> tuple[int, bytes]:
    return 8, varint(len(content)) + content


def struct(fields: dict[int, tuple[int, bytes]]) -> tuple[int, bytes]:
    found, before = b"", 0
    for number, (kind, content) in sorted(fields.items()):
        found += bytes([(number - before) << 4 | kind]) + content
        before = number
    return 12, found + b"\x00"


def many(*items: tuple[int, bytes]) -> tuple[int, bytes]:
    size = len(items)
    head = bytes([size << 4 | items[0][0]]) if size < 15 else bytes([240 | items[0][0]])
    head += b"" if size < 15 else varint(size)
    return 9, head + b"".join(content for _, content in items)


def zeros(size: int) -> bytes:
    """A frame of Zstandard that unpacks to so many zeros: four bytes for every 128 KiB."""
    frame = b"\x28\xb5\x2f\xfd\x00\x38"
    blocks = [1 << 17] * (size >> 17) + [size % (1 << 17)]
    for number, block in enumerate(blocks):
        last = number == len(blocks) - 1
        frame += (block << 3 | 1 << 1 | last).to_bytes(3, "little") + b"\x00"
    return frame


def page(kind: int, field: int, values: int, encoding: int, packed: bytes, unpacked: int) -> bytes:
    inner = {1: short(values), 2: short(encoding)}
    if kind == 0:
        inner |= {3: short(3), 4: short(3)}
    sizes = {1: short(kind), 2: short(unpacked), 3: short(len(packed))}
    return struct(sizes | {field: struct(inner)})[1] + packed


def run_of(values: int) -> bytes:
    """Codes of a dictionary, all 0, as one run; packed as one block that is not compressed."""
    return stored(b"\x01" + varint(values << 1) + b"\x00")


def stored(content: bytes) -> bytes:
    head = (len(content) << 3 | 1).to_bytes(3, "little")
    return b"\x28\xb5\x2f\xfd\x00\x38" + head + content


def hostile_parquet(
    names: list[str],
    *,
    rows: int,
    group_rows: int | None = None,
    dictionary: tuple[int, bytes, int] = (1, b"", 8),
    chunk: dict | None = None,
    writer: bytes = b"parquet-cpp-arrow version 20.0.0",
) -> bytes:
    """Columns of int64, each a dictionary and one run of its first value; sizes as told."""
    group_rows = rows if group_rows is None else group_rows
    entries, packed, unpacked = dictionary
    packed = packed or stored(bytes(8))
    content, chunks = b"PAR1", []
    codes = run_of(group_rows)
    for name in names:
        start = len(content)
        content += page(2, 7, entries, 0, packed, unpacked)
        data = len(content)
        content += page(0, 5, group_rows, 8, codes, len(codes) - 9)
        meta = {
            1: short(2),
            2: many(short(0), short(8)),
            3: many(text(name.encode())),
            4: short(6),
            5: whole(group_rows),
            6: whole(100),
            7: whole(len(content) - start),
            9: whole(data),
            11: whole(start),
        } | (chunk or {})
        chunks.append(struct({2: whole(0), 3: struct(meta)}))
    root = struct({4: text(b"schema"), 5: short(len(names))})
    leaves = [struct({1: short(2), 3: short(0), 4: text(name.encode())}) for name in names]
    group = struct({1: many(*chunks), 2: whole(100), 3: whole(group_rows)})
    footer = struct(
        {1: short(2), 2: many(root, *leaves), 3: whole(rows), 4: many(group), 6: text(writer)}
    )[1]
    return content + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_the_parquet_written_by_hand_is_one_and_its_lies_work(tmp_path):
    """Otherwise the bombs below would be refused for the wrong reason."""
    path = tmp_path / "x.parquet"
    path.write_bytes(hostile_parquet(["a", "b"], rows=5))
    assert pq.read_table(path).to_pydict() == {"a": [0] * 5, "b": [0] * 5}
    size = 50_000_000
    path.write_bytes(hostile_parquet(["a"], rows=5, dictionary=(size // 8, zeros(size), size)))
    assert path.stat().st_size < 3_000
    assert pq.read_table(path).num_rows == 5
    path.write_bytes(hostile_parquet(["a"], rows=5, group_rows=1_000_000))
    assert path.stat().st_size < 1_000
    assert pq.ParquetFile(path).read_row_group(0).num_rows == 1_000_000


BOMBS = {
    "a page that unpacks to gigabytes": {"dictionary": (1, zeros(GIGABYTES), GIGABYTES)},
    "a dictionary of more entries than it has bytes": {"dictionary": (GIGABYTES, b"", 8)},
    "a row group of billions of rows": {"group_rows": MANY},
    "pages of another number of rows": {"chunk": {5: whole(MANY)}},
    "a dictionary that other readers do not see": {"chunk": {11: short(4)}},
    "a column beyond the file": {"chunk": {7: whole(1 << 40)}},
    "the footer of another library": {"writer": b"parquet-mr 1.2.8"},
}
HARMLESS = {"pages of another number of rows", "the footer of another library"}
"""Not as a release is written, but of the rows that they should have; they may be read."""


@pytest.mark.parametrize(
    ("bomb", "name"),
    [
        *((bomb, name) for bomb in BOMBS for name in ("synthetic.parquet", "measurements.parquet")),
        ("a page that unpacks to gigabytes", "quality.parquet"),
    ],
)
def test_a_parquet_bomb_is_refused_without_being_opened(release, bomb, name, monkeypatch):
    file = pq.ParquetFile(release / name)
    rows, columns = file.metadata.num_rows, file.schema_arrow.names
    content = hostile_parquet(columns, rows=rows, **BOMBS[bomb])
    assert len(content) < 800_000
    (release / name).write_bytes(content)
    reseal(release)
    with (release / name).open("rb") as opened:
        limits = Limits(rows, rows, 1 << 17, len(columns))
        if bomb in HARMLESS:
            require_readable(opened, limits)
        else:
            with pytest.raises(TrialError):
                require_readable(opened, limits)
            if name == "measurements.parquet":
                opened = "the file was opened"
                monkeypatch.setattr(pq, "ParquetFile", lambda *_, **__: pytest.fail(opened))
    assert any(finding.startswith(f"{name}: ") for finding in findings_of(release))


def groups_of_one_row(path: Path, text_bytes: int, *, entries: int = 1, groups: int = 16) -> None:
    """Texts that pack well, so many in the dictionary of every row group."""
    texts = pa.array([f"{number:09d}" + "a" * (text_bytes - 9) for number in range(entries)])
    kind = pa.dictionary(pa.int32(), pa.string())
    with pq.ParquetWriter(
        path, pa.schema([("a", kind)]), compression="zstd", write_statistics=False,
        dictionary_pagesize_limit=1 << 30, store_schema=False,
    ) as writer:  # fmt: skip
        for _ in range(groups):
            column = pa.DictionaryArray.from_arrays(pa.array([0], pa.int32()), texts)
            writer.write_batch(pa.record_batch([column], names=["a"]), row_group_size=1)


def test_texts_that_fill_the_memory_over_many_row_groups_are_refused(tmp_path):
    """Each of them alone would not: a reader of the whole file holds them all."""
    groups_of_one_row(tmp_path / "x.parquet", 60 << 20)
    assert (tmp_path / "x.parquet").stat().st_size < 800_000
    with (tmp_path / "x.parquet").open("rb") as file, pytest.raises(TrialError, match=r"malloc|MB"):
        require_readable(file, Limits(16, 16, 16, 1))


def test_no_more_than_the_dictionary_of_one_row_group_is_held(tmp_path):
    groups_of_one_row(tmp_path / "x.parquet", 1 << 16, entries=64)
    with pq.ParquetFile(tmp_path / "x.parquet", read_dictionary=["a"]) as file:
        before = pa.total_allocated_bytes()
        peak = max(pa.total_allocated_bytes() - before for _ in blocks(file, 16))
    assert 4 << 20 <= peak < 20 << 20


def test_every_reader_takes_one_row_group_after_another_as_the_trial_does(release, monkeypatch):
    asked, read = [], pq.ParquetFile.iter_batches

    def iter_batches(self, batch_size=65536, row_groups=None, **options):
        asked.append(row_groups)
        return read(self, batch_size, row_groups, **options)

    monkeypatch.setattr(pq.ParquetFile, "iter_batches", iter_batches)
    verify_release(release)
    assert Release(release).first_rows(3)
    assert len(asked) >= 2  # noisy tables, rows
    assert all(groups is not None and len(groups) == 1 for groups in asked)


@pytest.mark.usefixtures("trials_are_executed")
def test_no_allocator_takes_all_the_memory_that_a_trial_may_have(tmp_path):
    """One that sets 1 GB aside, where that is just allowed, left nothing to read a row with."""
    limits = Limits(1, 1 << 20, 1 << 20, 16)
    assert limits.memory_bytes == 1 << 30
    pq.write_table(pa.table({"a": [1, 2, 3]}), tmp_path / "x.parquet")
    with (tmp_path / "x.parquet").open("rb") as file:
        require_readable(file, limits)


@pytest.mark.usefixtures("trials_are_executed")
def test_what_takes_too_long_is_ended(tmp_path, monkeypatch):
    path = tmp_path / "x.parquet"
    path.write_bytes(hostile_parquet(["a"], rows=HUNDREDS_OF_MILLIONS))
    monkeypatch.setattr(trial_reading, "LEAST_SECONDS", 1)
    monkeypatch.setattr(trial_reading, "ROWS_PER_SECOND", 2 * HUNDREDS_OF_MILLIONS)
    monkeypatch.setattr(trial_reading, "WALL_FACTOR", 200)  # however busy the machine is
    limits = Limits(1, HUNDREDS_OF_MILLIONS, HUNDREDS_OF_MILLIONS, 1)
    with path.open("rb") as file, pytest.raises(TrialError, match="or 1 s of processor time"):
        require_readable(file, limits)


def test_the_command_refuses_a_bomb_in_little_memory(release):
    """Executed as it is where no test runs, and its trials too."""
    name = "synthetic.parquet"
    file = pq.ParquetFile(release / name)
    rows, names = file.metadata.num_rows, file.schema_arrow.names
    bomb = hostile_parquet(names, rows=rows, dictionary=(1, zeros(GIGABYTES), GIGABYTES))
    (release / name).write_bytes(bomb)
    reseal(release)
    lines = verify_in_a_process(release)
    assert lines[0] == "hostile: verification failed"
    assert any(f"{name}: " in line for line in lines)


def test_texts_with_common_prefixes_are_refused(release):
    """A page of such texts may be a thousand times smaller than what it stands for."""
    path = release / "synthetic.parquet"
    table = pq.read_table(path)
    options = {"use_dictionary": False, "column_encoding": {"sex": "DELTA_BYTE_ARRAY"}}
    pq.write_table(table, path, store_schema=False, **options)
    reseal(release)
    assert any(line.startswith("synthetic.parquet: ") for line in findings_of(release))


def test_one_long_text_is_not_expanded_row_by_row(release):
    path = release / "synthetic.parquet"
    table = pq.read_table(path)
    texts = pa.array(["x" * 5_000] * table.num_rows).dictionary_encode()
    table = table.set_column(1, pa.field("sex", texts.type), texts)
    pq.write_table(table, path, store_schema=False, compression="zstd")
    reseal(release)
    found = findings_of(release)
    assert any(line.startswith("synthetic.parquet: ") for line in found)


OTHER_COLUMNS = {
    "numbers for texts": lambda rows: pa.array(range(rows)),
    "nothing": lambda rows: pa.nulls(rows),
    "lists": lambda rows: pa.array([["Male"]] * rows),
    "a text that is none": lambda rows: pa.array([b"\xff"] * rows, pa.binary()).view(pa.string()),
}


@pytest.mark.parametrize("other", OTHER_COLUMNS)
def test_columns_of_another_kind_are_a_finding(release, other):
    path = release / "synthetic.parquet"
    table = pq.read_table(path)
    values = OTHER_COLUMNS[other](table.num_rows)
    pq.write_table(table.set_column(1, "sex", values), path, store_schema=False)
    reseal(release)
    assert any(line.startswith("synthetic.parquet: ") for line in findings_of(release))


def test_columns_of_other_names_are_a_finding(release):
    path = release / "synthetic.parquet"
    pq.write_table(pq.read_table(path).rename_columns(["age", "gender"]), path, store_schema=False)
    reseal(release)
    found = findings_of(release)
    assert any(line.startswith("synthetic.parquet: ") for line in found)


def test_a_footer_of_too_many_values_is_refused(release, monkeypatch):
    monkeypatch.setattr("synth.strict_json.MAX_VALUES", 1 << 16)
    path = release / "measurements.parquet"
    schema = pq.read_schema(path)
    metadata = {b"synth": b'{"tables": [' + b"[]," * (1 << 16) + b"[]]}"}
    pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    assert pq.read_schema(path).names == schema.names
    reseal(release)
    found = [line for line in findings_of(release) if line.startswith("measurements.parquet: ")]
    assert any("more than 65536 values" in line for line in found), found


def test_a_configuration_that_needs_more_memory_than_there_is_is_refused(release, monkeypatch):
    monkeypatch.setattr(
        "synth.release.verification.measurements_check.present_memory_bytes", lambda: 10**7
    )
    assert any("GB of memory; this machine has 0.0 GB" in line for line in findings_of(release))


# --- JSON ---

JSON_BOMBS = {
    "deep lists": (b"[" * 100_000, "manifest.json: is not readable: "),
    "deep objects": (b'{"a":' * 100_000, "manifest.json: is not readable: "),
    "deep and closed": (b"[" * 500 + b"]" * 500, "manifest.json: is not readable: "),
    "a huge integer": (b'{"a": ' + b"9" * 10**6 + b"}", "more than 1000 digits"),
    "a huge real": (b'{"a": 1e999999999}', "too long or too large"),
    "a repeated key": (b'{"a": 1, "a": 2}', "a key is there twice"),
    "no number": (b'{"a": NaN}', "NaN is not a number"),
    "an infinity": (b'{"a": -Infinity}', "-Infinity is not a number"),
    "millions of lists": (b"[" + b"[]," * 3_000_000 + b"[]]", "more than 4194304 values"),
    "another encoding": ('{"a": "é"}'.encode("utf-16"), "is not UTF-8"),
    "a lone surrogate": (b'{"\\ud800": 1}', "manifest.json: "),
    "wrong items": (b'{"files": [' + b"1," * 30_000 + b"1]}", "and "),
}


@pytest.mark.parametrize("name", JSON_BOMBS)
def test_json_that_was_made_to_hurt(release, name):
    content, message = JSON_BOMBS[name]
    (release / "manifest.json").write_bytes(content)
    seal(release)
    assert any(message in finding for finding in findings_of(release))


def test_a_manifest_of_a_terabyte_of_holes_is_not_read(release):
    with (release / "manifest.json").open("r+b") as file:
        file.truncate(1 << 40)
    assert findings_of(release) == ["manifest.json: is larger than 67108864 bytes"]


# --- Names, links and what is no file ---

DIGEST = "0" * 64
SUMS = {
    "a way up": f"{DIGEST}  ../secret\n",
    "a way up from inside": f"{DIGEST}  tables/../../secret\n",
    "another folder": f"{DIGEST}  inner/manifest.json\n",
    "an absolute path": f"{DIGEST}  /etc/passwd\n",
    "a nul": f"{DIGEST}  a\x00b\n",
    "a carriage return": f"{DIGEST}  manifest.json\r\n",
    "a very long name": f"{DIGEST}  {'x' * 60_000}\n",
    "too many lines": f"{DIGEST}  x\n" * 2_000,
    "the same name twice": f"{DIGEST}  manifest.json\n{DIGEST}  manifest.json\n",
    "a letter that looks alike": f"{DIGEST}  m\u0430nifest.json\n",
    "a mark that turns text around": f"{DIGEST}  \u202enosj.tsefinam\n",
    "binary mode": f"{DIGEST} *manifest.json\n",
    "capital digits": f"{'A' * 64}  manifest.json\n",
    "a terminal sequence": f"{DIGEST}  \x1b[2Jmanifest.json\n",
}


@pytest.mark.parametrize("name", SUMS)
def test_tricks_in_the_list_of_hashes(release, name):
    path = release / "SHA256SUMS"
    for before in ("", path.read_text()):
        path.write_text(before + SUMS[name], encoding="utf-8", newline="")
        assert any("SHA256SUMS" in finding for finding in findings_of(release))


ENTRIES = {
    "a directory": lambda path, _: path.mkdir(),
    "a pipe": lambda path, _: os.mkfifo(path),
    "a link to a file": lambda path, saved: path.symlink_to(saved),
    "a link to itself": lambda path, _: path.symlink_to(path.name),
    "a link to nothing": lambda path, _: path.symlink_to("nowhere"),
    "a link to a device": lambda path, _: path.symlink_to("/dev/zero"),
}


@pytest.mark.parametrize("name", ["manifest.json", "SHA256SUMS", "synthetic.csv", "manifest.sig"])
@pytest.mark.parametrize("entry", ENTRIES)
def test_what_is_no_plain_file_is_not_opened(release, tmp_path, name, entry):
    path, saved = release / name, tmp_path / "saved"
    if path.exists():
        path.rename(saved)
    ENTRIES[entry](path, saved)
    found = findings_of(release)
    assert any(finding.startswith(f"{name}: is ") for finding in found)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a device")
def test_a_device_is_not_opened(release):
    (release / "synthetic.csv").unlink()
    try:
        os.mknod(release / "synthetic.csv", 0o600 | 0o020000, os.makedev(1, 5))
    except PermissionError:
        pytest.skip("this system lets nobody make a device")
    found = findings_of(release)
    assert "synthetic.csv: is no plain file; a release holds plain files only" in found


def test_a_hard_link_is_the_file_it_is(release, tmp_path):
    """It cannot be told from a copy, and is judged by its bytes."""
    os.link(release / "manifest.json", tmp_path / "other name")
    assert verify_release(release).release_id == "hostile"
    (release / "README.md").unlink()
    os.link(release / "manifest.json", release / "README.md")
    assert any("README.md: its bytes were changed" in line for line in findings_of(release))


@pytest.mark.parametrize(
    "extra", ["Manifest.json", "synthetic.CSV", ".hidden", "a\nb", "\x1b[2J", "m\u0430nifest.json"]
)
def test_a_file_that_nobody_listed_is_found(release, extra):
    (release / extra).write_text("x")
    with pytest.raises(VerificationError) as caught:
        verify_release(release)
    assert caught.value.exit_code == 5
    assert all(line.isprintable() for line in str(caught.value).split("\n"))


def test_the_name_of_the_folder_steers_no_terminal(tmp_path):
    folder = tmp_path / "\x1b[2Jrelease\udcff"
    folder.mkdir()
    with pytest.raises(VerificationError) as caught:
        verify_release(folder)
    assert caught.value.sentence == "\\x1b[2Jrelease\\udcff: verification failed"


def test_a_name_that_is_no_text_is_found(release):
    os.close(os.open(os.fsencode(release) + b"/\xff\xfe", os.O_CREAT | os.O_WRONLY))
    done = synth("verify", release)
    assert done.returncode == 5, done.stderr
    assert "Traceback" not in done.stdout + done.stderr
    assert done.stderr.startswith("hostile: verification failed\n")


def test_thousands_of_files_are_refused_unopened(release):
    for number in range(1_000):
        (release / "tables" / f"file{number}").touch()
    assert findings_of(release) == ["tables/ holds more than 1000 entries, more than any release"]
    for number in range(200):
        (release / f"file{number}").touch()
    assert findings_of(release) == ["holds more than 100 entries, more than any release"]


def test_a_table_of_a_terabyte_of_holes_is_not_read(release):
    with (release / "tables" / "000-age-sex.csv").open("r+b") as file:
        file.truncate(1 << 40)
    assert findings_of(release) == ["tables/000-age-sex.csv: is larger than 67108864 bytes"]


@pytest.mark.parametrize("name", ["synthetic.csv", "synthetic.parquet", "measurements.parquet"])
def test_a_data_file_of_a_terabyte_of_holes_is_not_read(release, name):
    with (release / name).open("r+b") as file:
        file.truncate(1 << 40)
    (line,) = findings_of(release)
    assert line.startswith(f"{name}: has 1099511627776 bytes, manifest.json says ")


def test_a_file_that_grows_while_it_is_read_is_another_one(release, monkeypatch):
    """The reader stops one byte behind the size that was seen, however long the file has become."""
    seen = folder_module.Folder.open

    def growing(self, name):
        if name == "synthetic.csv":
            with (self.path / name).open("ab") as file:
                file.truncate(1 << 40)
        return seen(self, name)

    monkeypatch.setattr(folder_module.Folder, "open", growing)
    found = findings_of(release)
    assert any(line.startswith("synthetic.csv: its bytes were changed") for line in found)
