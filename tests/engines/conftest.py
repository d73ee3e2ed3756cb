"""A PostgreSQL server of the tests' own, and one set of records on every engine."""

from __future__ import annotations

import contextlib
import csv
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import Config, load_config
from synth.config.source_files import source_files
from synth.curator.counting.tabulate import counted_cells, every_cell, tabulate
from synth.curator.seal import quiet_libraries

PASSWORD = "canary-password-7319"
"""Of the role `reader`; it must stand in no output."""


def _programs() -> Path | None:
    """Where the programs of a PostgreSQL server are."""
    on_path = shutil.which("initdb")
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = [Path(on_path)] if on_path else found
    return found[-1].parent if found else None


class Server:
    """A running server that only this process's tests know; it ends with them."""

    def __init__(self, directory: Path, programs: Path) -> None:
        self.directory, self._programs = directory, programs
        self._as: dict[str, object] = {}
        if os.geteuid() == 0:  # a server refuses to run as root
            names = {entry.pw_name for entry in pwd.getpwall()}
            user = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            self._as = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []}
            os.chown(directory, user.pw_uid, user.pw_gid)
        self._data = directory / "data"
        self._run("initdb", "-D", self._data, "-U", "synth", "-A", "trust", "--no-sync",
                  "-E", "UTF8", "--locale=C")  # fmt: skip
        with (self._data / "pg_hba.conf").open("w") as rules:
            rules.write("local all synth trust\nlocal all all scram-sha-256\n")
        self.start()
        self.execute(f"CREATE ROLE reader LOGIN PASSWORD '{PASSWORD}'")

    def _run(self, program: str, *words: object) -> None:
        subprocess.run(
            [self._programs / program, *map(str, words)],
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, cwd=self.directory, timeout=120, **self._as,
        )  # fmt: skip

    def start(self) -> None:
        settings = f"-k {self.directory} -c listen_addresses= -c fsync=off -c max_connections=20"
        self._run("pg_ctl", "-D", self._data, "-w", "-l", self.directory / "log", "-o", settings,
                  "start")  # fmt: skip

    def stop(self) -> None:
        self._run("pg_ctl", "-D", self._data, "-w", "-m", "immediate", "stop")

    def url(self, database: str = "postgres") -> str:
        return f"postgresql:///{database}?host={self.directory}"

    def connect(self, database: str = "postgres") -> psycopg.Connection:
        return psycopg.connect(self.url(database), user="synth", autocommit=True)

    def execute(self, statement: str, *parameters: object) -> list[tuple]:
        with self.connect() as connection:
            cursor = connection.execute(statement, parameters or None)
            return cursor.fetchall() if cursor.description else []

    def fill(self, table: str, columns: Mapping[str, str], rows: Sequence[Sequence]) -> None:
        """Make a table anew, with the declared types, and fill it."""
        declared = ", ".join(f'"{name}" {kind}' for name, kind in columns.items())
        with self.connect() as connection, connection.transaction():
            connection.execute(f"DROP TABLE IF EXISTS {table} CASCADE")
            connection.execute(f"CREATE TABLE {table} ({declared})")
            with connection.cursor().copy(f"COPY {table} FROM STDIN") as copied:
                for row in rows:
                    copied.write_row(row)


@contextlib.contextmanager
def running_server() -> Iterator[Server | None]:
    """A server for as long as it is needed; None where no PostgreSQL is installed."""
    programs = _programs()
    if programs is None:
        yield None
        return
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    running = None
    try:
        running = Server(directory, programs)
        yield running
    finally:
        if running is not None:
            with contextlib.suppress(subprocess.CalledProcessError):
                running.stop()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    with running_server() as running:
        if running is None:
            pytest.skip("no PostgreSQL server is installed (no initdb)")
        yield running


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing of the surroundings says how to connect; the user is that of the test server."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PGUSER", "synth")


def write_csv(path: Path, names: Sequence[str], rows: Sequence[Sequence]) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream, quoting=csv.QUOTE_ALL)
        writer.writerows([names, *(["" if v is None else v for v in row] for row in rows)])


def write_parquet(path: Path, kinds: Mapping[str, pa.DataType], rows: Sequence[Sequence]) -> None:
    columns = {
        name: pa.array([row[index] for row in rows], kind)
        for index, (name, kind) in enumerate(kinds.items())
    }
    pq.write_table(pa.table(columns), path)


def counts_of(path: Path) -> np.ndarray:
    """The exact counts of a configured source, in the shape of the universe."""
    config = load_config(path)
    files = source_files(config.source)
    with quiet_libraries():
        held = tabulate(config, config.source, files, path.parent).consume()
    return every_cell(held, config.universe).reshape(config.universe.shape)


def filled_cells_of(config: Config, spill: Path) -> dict[tuple[int, ...], int]:
    """The same for a universe of any size: the codes of the cells that hold records."""
    found: dict[tuple[int, ...], int] = {}
    files = source_files(config.source)
    with quiet_libraries(), counted_cells(config, config.source, files, spill) as blocks:
        for block in blocks.consume():
            cells = zip(*(codes.tolist() for codes in block.columns), strict=True)
            found |= dict(zip(cells, block.counts.tolist(), strict=True))
    assert list(found) == sorted(found)
    return found
