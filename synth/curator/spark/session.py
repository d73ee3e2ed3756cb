"""A Spark session that says nothing and leaves nothing: its process, from start to end."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext, java_gateway
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from synth.errors import SourceError

EXIT_SECONDS = 30
UNSAFE_IN_OPTIONS = re.compile(r"""[\s"'\\,$%`]""")

UNWANTED_ENVIRONMENT = (
    "PYSPARK_GATEWAY_PORT",  # the process of somebody else, with logs of its own
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_SUBMIT_ARGS",  # these four would win over `spark_options`
    "SPARK_SUBMIT_OPTS",
    "JDK_JAVA_OPTIONS",
    "_JAVA_OPTIONS",
    "SPARK_TESTING",
    "SPARK_REMOTE",
    "SPARK_CONNECT_MODE_ENABLED",
)


@dataclass(frozen=True)
class SparkProcess:
    """An open session and the process of Java that drives it."""

    session: SparkSession
    process: subprocess.Popen[bytes]


@contextmanager
def spark_process(master: str | None, spill: Path) -> Iterator[SparkProcess]:
    """A session of its own, whose process has ended when this returns or raises.

    Requires: pyspark is installed; `spill` exists, is private, and is removed afterwards.
    Ensures: environment, signal handlers and the state of pyspark are as before.
    Raises: SourceError if Spark cannot start, or would spill elsewhere.
    """
    _require_plain_path(spill)
    if SparkContext._active_spark_context is not None:
        raise SourceError(
            "another Spark session is open in this process",
            why="its logs, pages and temporary files are not under the control of synth",
            fix="stop it first, or start `synth` as a command",
        )
    (spill / "log4j2.properties").write_text(NO_LOG)
    chosen = options(master, spill)
    with _environment(spill):
        process, session = None, None
        try:
            gateway = _launch(chosen)
            process = gateway.proc
            session = _start(gateway, chosen)
            _require_private_disk(session, spill, local=is_local(session.sparkContext.master))
            yield SparkProcess(session, process)
        finally:
            _end(process, session)


def _require_plain_path(spill: Path) -> None:
    if UNSAFE_IN_OPTIONS.search(str(spill)):
        raise SourceError(
            "the directory for temporary files has a name that Spark cannot be given",
            why="Spark takes blanks, commas, quotes, backslashes and the characters $ % ` apart",
            fix="keep the ledger (for a draft: the draft) in a directory without them",
        )


@contextmanager
def _environment(spill: Path) -> Iterator[None]:
    """The environment in which Spark starts; its temporary files are made in `spill`."""
    before, directory = dict(os.environ), tempfile.tempdir
    for name in UNWANTED_ENVIRONMENT:
        os.environ.pop(name, None)
    os.environ["SPARK_LOCAL_DIRS"] = str(spill)
    os.environ["SPARK_CONNECT_MODE"] = "0"
    tempfile.tempdir = str(spill)
    try:
        yield
    finally:
        tempfile.tempdir = directory
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _interpreter_state() -> Iterator[None]:
    """Put back what a Spark context replaces: where modules are found, what an interrupt does."""
    modules, is_main = list(sys.path), threading.current_thread() is threading.main_thread()
    interrupt = signal.getsignal(signal.SIGINT)
    try:
        yield
    finally:
        sys.path[:] = modules
        if is_main:
            signal.signal(signal.SIGINT, interrupt)


def _configuration(chosen: Mapping[str, str]) -> Any:
    return SparkConf(loadDefaults=False).setAll(list(chosen.items()))


def _launch(chosen: Mapping[str, str]) -> Any:
    """The process of Java; what it prints goes nowhere."""
    launch: Any = java_gateway.launch_gateway
    with suppress(OSError, PySparkException):
        return launch(
            _configuration(chosen),
            popen_kwargs={"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL},
        )
    raise SourceError(
        "Spark did not start",
        why="Java is missing or too old, or the configuration of Spark is not valid",
        fix="install Java 17 or newer and let JAVA_HOME name it; check SPARK_HOME and "
        "SPARK_CONF_DIR if they are set",
    )


def _start(gateway: Any, chosen: Mapping[str, str]) -> SparkSession:
    with suppress(OSError, EOFError, Py4JError, PySparkException):
        with _interpreter_state():
            context = SparkContext(gateway=gateway, conf=_configuration(chosen))
        return SparkSession(context)
    raise SourceError(
        "no Spark session could be opened",
        why="the master did not answer, refused the application, or lacks resources",
        fix="check source.spark.master and the configuration of Spark on this machine",
    )


def _require_private_disk(session: SparkSession, spill: Path, *, local: bool) -> None:
    """Refuse a session that would write its temporary blocks elsewhere than told."""
    jvm: Any = session.sparkContext._jvm
    manager = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    elsewhere = [path for path in manager.localDirsString() if not Path(path).is_relative_to(spill)]
    if elsewhere and local:
        raise SourceError(
            "Spark would write temporary files outside the directory of the run",
            why="records of the source could stay there",
            fix="remove SPARK_LOCAL_DIRS from spark-env.sh",
        )


def _end(process: subprocess.Popen[bytes] | None, session: SparkSession | None) -> None:
    """Stop the session, end its process, and let pyspark forget both."""
    if session is not None:
        with suppress(Exception):
            session.stop()
    context = SparkContext._active_spark_context
    if context is not None:
        with suppress(Exception):
            context.stop()
    gateway: Any = SparkContext._gateway
    if gateway is not None:
        with suppress(Exception):
            gateway.shutdown()
    if process is not None:
        _end_process(process)
    _forget()


def _end_process(process: subprocess.Popen[bytes]) -> None:
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()  # it ends itself when nobody can speak to it
    try:
        process.wait(EXIT_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _forget() -> None:
    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None


LOCAL_MEMORY_BYTES = 4 << 30
NO_LOG = """\
status = off
rootLogger.level = off
"""


def options(master: str | None, spill: Path) -> dict[str, str]:
    """What the session is told, whatever the surrounding configuration of Spark says.

    Privacy: no log, progress bar, page or event log, for they tell row counts and values; what
    spills is encrypted and lies in `spill`. No value can make an expression fail: ANSI mode
    is off, and old dates are taken as they are. What a text of the configuration looks like
    changes nothing: there is no substitution of variables. Partition values stay text, because
    a type that is guessed depends on the records. A cluster spills where its own configuration
    says, encrypted with a key that only this session holds.
    """
    chosen = {
        "spark.app.name": "synth",
        "spark.submit.deployMode": "client",
        "spark.log.level": "OFF",
        "spark.executor.syncLogLevel.enabled": "true",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.eventLog.enabled": "false",
        "spark.driver.log.persistToDfs.enabled": "false",
        "spark.io.encryption.enabled": "true",
        "spark.local.dir": str(spill),
        "spark.driver.extraJavaOptions": " ".join(_java_options(spill)),
        "spark.driver.maxResultSize": "0",
        "spark.sql.warehouse.dir": (spill / "warehouse").as_uri(),
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.ansi.enabled": "false",
        "spark.sql.caseSensitive": "true",
        "spark.sql.runSQLOnFiles": "false",
        "spark.sql.variable.substitute": "false",
        "spark.sql.parser.escapedStringLiterals": "false",
        "spark.sql.parser.quotedRegexColumnNames": "false",
        "spark.sql.ansi.doubleQuotedIdentifiers": "false",
        "spark.sql.files.ignoreCorruptFiles": "false",
        "spark.sql.files.ignoreMissingFiles": "false",
        "spark.sql.parquet.mergeSchema": "false",
        "spark.sql.sources.partitionColumnTypeInference.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": str(1 << 17),
    }
    for kind in ("parquet.datetime", "parquet.int96", "avro.datetime"):
        chosen[f"spark.sql.{kind}RebaseModeInRead"] = "CORRECTED"
    if master is not None:
        chosen["spark.master"] = master
    if is_local(master):
        chosen |= {
            "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.memory": f"{_local_memory_bytes() >> 20}m",
            "spark.sql.shuffle.partitions": str(4 * (os.cpu_count() or 1)),
        }
    return chosen


def is_local(master: str | None) -> bool:
    """Whether the session runs on this machine alone."""
    return master is not None and re.fullmatch(r"local(\[.*\])?", master) is not None


def _java_options(spill: Path) -> list[str]:
    """No log, no dump of memory, no attaching, and every file that Java makes in `spill`."""
    return [
        f"-Djava.io.tmpdir={spill}",
        f"-Dderby.system.home={spill}",
        f"-Dderby.stream.error.file={spill}/derby.log",
        f"-Dlog4j2.configurationFile={(spill / 'log4j2.properties').as_uri()}",
        f"-Dlog4j.configurationFile={(spill / 'log4j2.properties').as_uri()}",
        f"-XX:ErrorFile={spill}/error.log",
        f"-XX:HeapDumpPath={spill}",
        "-XX:-HeapDumpOnOutOfMemoryError",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-XX:+DisableAttachMechanism",
    ]


def _local_memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(LOCAL_MEMORY_BYTES, memory // 4)
