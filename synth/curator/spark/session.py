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
from typing import TYPE_CHECKING, Any

from synth.curator.spark.options import NO_LOG, is_local, options
from synth.errors import SourceError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
def spark_process(master: str | None, scratch: Path) -> Iterator[SparkProcess]:
    """A session of its own, whose process has ended when this returns or raises.

    Requires: pyspark is installed; `scratch` exists, is private, and is removed afterwards.
    Ensures: environment, signal handlers and the state of pyspark are as before.
    Raises: SourceError if Spark cannot start, or would spill elsewhere.
    """
    from pyspark import SparkContext

    _require_plain_path(scratch)
    if SparkContext._active_spark_context is not None:
        raise SourceError(
            "another Spark session is open in this process",
            why="its logs, pages and temporary files are not under the control of synth",
            fix="stop it first, or start `synth` as a command",
        )
    (scratch / "log4j2.properties").write_text(NO_LOG)
    chosen = options(master, scratch)
    with _environment(scratch):
        process, session = None, None
        try:
            gateway = _launch(chosen)
            process = gateway.proc
            session = _start(gateway, chosen)
            _require_private_disk(session, scratch, local=is_local(session.sparkContext.master))
            yield SparkProcess(session, process)
        finally:
            _end(process, session)


def _require_plain_path(scratch: Path) -> None:
    if UNSAFE_IN_OPTIONS.search(str(scratch)):
        raise SourceError(
            "the directory for temporary files has a name that Spark cannot be given",
            why="Spark takes blanks, commas, quotes, backslashes and the characters $ % ` apart",
            fix="keep the ledger (for a draft: the draft) in a directory without them",
        )


@contextmanager
def _environment(scratch: Path) -> Iterator[None]:
    """The environment in which Spark starts; its temporary files are made in `scratch`."""
    before, directory = dict(os.environ), tempfile.tempdir
    for name in UNWANTED_ENVIRONMENT:
        os.environ.pop(name, None)
    os.environ["SPARK_LOCAL_DIRS"] = str(scratch)
    os.environ["SPARK_CONNECT_MODE"] = "0"
    tempfile.tempdir = str(scratch)
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
    from pyspark import SparkConf

    return SparkConf(loadDefaults=False).setAll(list(chosen.items()))


def _launch(chosen: Mapping[str, str]) -> Any:
    """The process of Java; what it prints goes nowhere."""
    from pyspark import java_gateway
    from pyspark.errors import PySparkException

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
    from py4j.protocol import Py4JError
    from pyspark import SparkContext
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    with suppress(OSError, EOFError, Py4JError, PySparkException):
        with _interpreter_state():
            context = SparkContext(gateway=gateway, conf=_configuration(chosen))
        return SparkSession(context)
    raise SourceError(
        "no Spark session could be opened",
        why="the master did not answer, refused the application, or lacks resources",
        fix="check source.spark.master and the configuration of Spark on this machine",
    )


def _require_private_disk(session: SparkSession, scratch: Path, *, local: bool) -> None:
    """Refuse a session that would write its temporary blocks elsewhere than told."""
    jvm: Any = session.sparkContext._jvm
    manager = jvm.org.apache.spark.SparkEnv.get().blockManager().diskBlockManager()
    elsewhere = [
        path for path in manager.localDirsString() if not Path(path).is_relative_to(scratch)
    ]
    if elsewhere and local:
        raise SourceError(
            "Spark would write temporary files outside the directory of the run",
            why="records of the source could stay there",
            fix="remove SPARK_LOCAL_DIRS from spark-env.sh",
        )


def _end(process: subprocess.Popen[bytes] | None, session: SparkSession | None) -> None:
    """Stop the session, end its process, and let pyspark forget both."""
    from pyspark import SparkContext

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
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    SparkContext._active_spark_context = None
    SparkContext._gateway = None
    SparkContext._jvm = None
    SparkSession._instantiatedSession = None
    SparkSession._activeSession = None
