"""What a Spark session is told, so that it says nothing and leaves nothing."""

from __future__ import annotations

import os
import re
from pathlib import Path

LOCAL_MEMORY_BYTES = 4 << 30
NO_LOG = """\
status = off
rootLogger.level = off
"""


def options(master: str | None, scratch: Path) -> dict[str, str]:
    """What the session is told, whatever the surrounding configuration of Spark says.

    Privacy: no log, progress bar, page or event log, for they tell row counts and values; what
    spills is encrypted and lies in `scratch`. No value can make an expression fail: ANSI mode
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
        "spark.local.dir": str(scratch),
        "spark.driver.extraJavaOptions": " ".join(_java_options(scratch)),
        "spark.driver.maxResultSize": "0",
        "spark.sql.warehouse.dir": (scratch / "warehouse").as_uri(),
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


def _java_options(scratch: Path) -> list[str]:
    """No log, no dump of memory, no attaching, and every file that Java makes in `scratch`."""
    return [
        f"-Djava.io.tmpdir={scratch}",
        f"-Dderby.system.home={scratch}",
        f"-Dderby.stream.error.file={scratch}/derby.log",
        f"-Dlog4j2.configurationFile={(scratch / 'log4j2.properties').as_uri()}",
        f"-Dlog4j.configurationFile={(scratch / 'log4j2.properties').as_uri()}",
        f"-XX:ErrorFile={scratch}/error.log",
        f"-XX:HeapDumpPath={scratch}",
        "-XX:-HeapDumpOnOutOfMemoryError",
        "-XX:+ExitOnOutOfMemoryError",
        "-XX:-UsePerfData",
        "-XX:+DisableAttachMechanism",
    ]


def _local_memory_bytes() -> int:
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return min(LOCAL_MEMORY_BYTES, memory // 4)
