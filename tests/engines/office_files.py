"""One table in every kind of file that is read as texts, or by the types that it declares.

Libraries of other formats are loaded where a file is written: they belong to the extra `files`.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.feather as feather
import pyarrow.parquet as pq

Rows = Sequence[tuple[str, ...]]
"""Records as CSV would have them; an empty text is no value."""


def as_csv(names: Sequence[str], rows: Rows) -> bytes:
    frame = pd.DataFrame(list(rows), columns=list(names), dtype=str)
    return frame.to_csv(index=False).encode()


def typed(names: Sequence[str], rows: Rows) -> pd.DataFrame:
    """Columns that hold numbers alone are numbers, and empty texts are missing."""
    frame = pd.DataFrame(list(rows), columns=list(names), dtype=object).replace("", None)
    for name in names:
        filled = frame[name].dropna()
        if all(value.lstrip("-").replace(".", "", 1).isdigit() for value in filled):
            frame[name] = frame[name].astype("float64")
    return frame


def write_excel(path: Path, names: Sequence[str], rows: Rows) -> None:
    import openpyxl

    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(list(names))
    for row in typed(names, rows).astype(object).itertuples(index=False):
        sheet.append([None if pd.isna(value) else value for value in row])
    book.save(path)


def write_json_lines(path: Path, names: Sequence[str], rows: Rows) -> None:
    frame = typed(names, rows).astype(object)
    lines = [
        json.dumps({n: (None if pd.isna(v) else int(v) if v == v // 1 else v)
                    if not isinstance(v, str) else v for n, v in zip(names, row, strict=True)})
        for row in frame.itertuples(index=False)
    ]  # fmt: skip
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def write_arrow(path: Path, names: Sequence[str], rows: Rows) -> None:
    table = pa.Table.from_pandas(typed(names, rows), preserve_index=False)
    feather.write_feather(table, str(path), compression="uncompressed", chunksize=2)


def write_feather(path: Path, names: Sequence[str], rows: Rows) -> None:
    table = pa.Table.from_pandas(typed(names, rows), preserve_index=False)
    place = table.schema.get_field_index(names[-1])
    table = table.set_column(place, names[-1], table.column(place).dictionary_encode())
    feather.write_feather(table, str(path), compression="zstd")


def write_stream(path: Path, names: Sequence[str], rows: Rows) -> None:
    table = pa.Table.from_pandas(typed(names, rows), preserve_index=False)
    with pa.ipc.new_stream(str(path), table.schema) as writer:
        writer.write_table(table, max_chunksize=3)


def statistics(write: str, **options: object) -> Callable[[Path, Sequence[str], Rows], None]:
    def written(path: Path, names: Sequence[str], rows: Rows) -> None:
        import pyreadstat

        frame = typed(names, rows)
        for name in names:
            if frame[name].dtype == object:
                frame[name] = frame[name].fillna("")
        getattr(pyreadstat, write)(frame, str(path), **options)

    return written


def write_old_stata(path: Path, names: Sequence[str], rows: Rows) -> None:
    """As Windows wrote it: one byte for every character of western Europe."""
    statistics("write_dta", version=10)(path, names, rows)
    path.write_bytes(path.read_bytes().replace("ü".encode() + b"d", "üd".encode("cp1252") + b"\0"))


def packed(pack: Callable[[bytes], bytes]) -> Callable[[Path, Sequence[str], Rows], None]:
    return lambda path, names, rows: path.write_bytes(pack(as_csv(names, rows))) and None


def zipped(content: bytes, *others: str) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("folder/", b"")
        archive.writestr("folder/people.csv", content)
        archive.writestr("__MACOSX/folder/._people.csv", b"none of the table")
        for name in others:
            archive.writestr(name, content)
    return target.getvalue()


def zipped_nothing() -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w"):
        pass
    return target.getvalue()


def zstd(content: bytes) -> bytes:
    return bytes(pa.Codec("zstd").compress(content, asbytes=True))


WRITERS: dict[str, Callable[[Path, Sequence[str], Rows], None]] = {
    "csv": packed(bytes),
    "csv.gz": packed(gzip.compress),
    "csv.bz2": packed(bz2.compress),
    "csv.xz": packed(lzma.compress),
    "csv.zst": packed(zstd),
    "csv.zip": packed(zipped),
    "zip": packed(zipped),
    "jsonl": write_json_lines,
    "parquet": lambda path, names, rows: pq.write_table(
        pa.Table.from_pandas(typed(names, rows), preserve_index=False), path
    ),
    "arrow": write_arrow,
    "feather": write_feather,
    "stream.arrow": write_stream,
    "xlsx": write_excel,
    "sav": statistics("write_sav"),
    "zsav": statistics("write_sav", compress=True),
    "dta": statistics("write_dta"),
    "old.dta": write_old_stata,
    "xpt": statistics("write_xport"),
}
"""By the ending of the name."""
