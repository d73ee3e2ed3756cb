"""The noisy measurements of a release: their file's footer is looked at before its content."""

from __future__ import annotations

from synth.config import Config
from synth.errors import ConfigError
from synth.measurements import Measurements, read_measurements
from synth.measurements.sparse_table import MOST_LISTED
from synth.plan import Schedule, plan_events, plan_schedule
from synth.privacy import TableEvent
from synth.release.contents import MANIFEST, MEASUREMENTS
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.planned import plan_findings
from synth.release.verification.report import Findings

MAX_CELLS = 1 << 32
"""No larger table is unpacked."""

BYTES_PER_ROW = 40
"""The most that one row of the file (three whole numbers) can unpack to, with room to spare."""

BYTES_PER_CODE = 8
"""The same for every code of a table with a threshold."""


def read_measured(
    folder: Folder, config: Config, findings: Findings, *, other_arithmetic: bool
) -> Measurements | None:
    """The measurements, or None if they are not those of the configuration."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        planned, schedule = plan_events(config), plan_schedule(config)
    except ConfigError as error:
        findings.found.append(f"{MANIFEST}: configuration: {' '.join(str(error).split())}")
        return None
    try:
        with folder.open(MEASUREMENTS) as file:
            footer = pq.ParquetFile(file).metadata
            size = sum(footer.row_group(i).total_byte_size for i in range(footer.num_row_groups))
        _check_size(planned, schedule, footer.num_rows, size)
        measurements = read_measurements(folder.path / MEASUREMENTS, config.universe)
        if measurements.release_id != config.release.id:
            raise ValueError("belongs to another release")
        if measurements.configuration_hash != config.hash:
            raise ValueError("answers to another configuration than the manifest holds")
        found = plan_findings(planned, schedule, measurements, other_arithmetic=other_arithmetic)
        if reason := "; ".join(found):
            raise ValueError(reason)
    except (ValueError, OSError, pa.ArrowException) as error:
        if isinstance(error, FolderError):
            findings.found.append(str(error))
        else:
            reason = " ".join(str(error).split())
            findings.found.append(f"{MEASUREMENTS}: {reason}")
        return None
    findings.checks.append("the measurements answer to the configuration, cell by cell")
    return measurements


def _check_size(
    planned: tuple[TableEvent, ...], schedule: Schedule | None, rows: int, size_bytes: int
) -> None:
    """Refuse a file that cannot hold the tables of the configuration. Raises: ValueError.

    How many cells a table with a threshold lists, and how many were chosen, only the file says:
    the chosen ones between those of the smallest candidates and those of the largest. Its list
    of tables is checked against its rows when it is read.
    """
    least = most = sum(event.cells for event in planned if event.threshold is None)
    if any(event.threshold is not None for event in planned):
        most += MOST_LISTED
    if schedule is not None:
        sizes = sorted(candidate.cells for candidate in schedule.candidates)
        chosen = len(schedule.rounds)
        least, most = least + sum(sizes[:chosen]), most + sum(sizes[len(sizes) - chosen :])
    if not least <= rows <= most:
        expected = f"{least}" if least == most else f"{least} to {most}"
        raise ValueError(f"holds {rows} rows, expected {expected} cells")
    codes = max((len(e.table) for e in planned if e.threshold is not None), default=0)
    row_bytes = BYTES_PER_ROW + BYTES_PER_CODE * codes
    if rows > MAX_CELLS or size_bytes > rows * row_bytes + (1 << 20):
        raise ValueError(f"unpacks to {size_bytes} bytes, more than this version reads")
