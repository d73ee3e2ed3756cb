"""One-way tables of a release with 95 % intervals, from its noisy measurements alone."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from synth.catalogue.folders import MALFORMED, Found, clean
from synth.config import Config, config_from_public
from synth.domain import Attribute, Conjunction
from synth.domain.attribute import interval_level
from synth.errors import SynthError
from synth.measurements import Measurements, read_measurements
from synth.measurements.file import ROWS_PER_GROUP
from synth.measurements.intervals import Interval, Intervals
from synth.release.contents import MEASUREMENTS, file_sha256
from synth.release.verification.folder import FolderError
from synth.release.verification.measurements_check import FIXED_COLUMNS
from synth.release.verification.trial_reading import Limits, require_readable

LEVEL = 0.95
MOST_GROUPS = 12
"""A column of more levels is shown by a coarser level of its hierarchy, or in runs of its bins."""

MOST_LEVELS = 250
"""A column of more unordered levels has no table in the index; so many are kept of others."""

MOST_COLUMNS = 40
MOST_CELLS = 2_000
"""Of all tables of one release together: the index stays small however many there are."""

MOST_ROWS = 1 << 25
MOST_FILE_BYTES = 1 << 28
MOST_LABEL = 120
MOST_CODES = 10_000
"""Columns of more codes have no table in the index."""

UNREADABLE_NOW = "its noisy tables could not be opened"
"""Why there are none where the next index may find some."""


@dataclass(frozen=True)
class Grouping:
    """How the codes of a column are shown: some of them under each label.

    `level` is the name of the level of its hierarchy, if they are the groups of one.
    """

    labels: tuple[str, ...]
    codes: tuple[tuple[int, ...], ...]
    level: str = ""


def one_way_tables(found: Found, manifest: dict[str, Any]) -> dict[str, Any]:
    """The number of records, and the one-way tables that the measurements answer.

    Privacy: post-processing of the published noisy tables and of the configuration.
    Ensures: `{"records": ..., "tables": [...]}`, with the same under `increment` where a release of
    all records so far has measured those of its last period alone; or `{"why": ...}` where there
    are none: a file that is not the one that the manifest lists, or needs too much memory, gives
    none. No reason holds a path.
    """
    try:
        config = config_from_public(manifest["configuration"])
        measurements = _measurements(found, manifest, config)
        found_tables = tables_of(measurements, config)
        if (alone := _increment(measurements)) is not None:
            found_tables["increment"] = tables_of(alone, config)
        return found_tables
    except (FolderError, OSError, MemoryError):
        return {"why": UNREADABLE_NOW}
    except (SynthError, ValueError, pa.ArrowException) as error:  # also of a trial reading
        first = str(error).partition("\n")[0]
        return {"why": clean(f"its noisy tables cannot be read here: {first}")}
    except MALFORMED as error:
        return {"why": f"its noisy tables cannot be read here ({type(error).__name__})"}


def _measurements(found: Found, manifest: dict[str, Any], config: Config) -> Measurements:
    """The noisy tables, if they are those that the manifest lists."""
    folder = found.folder
    size = folder.sizes.get(MEASUREMENTS, 0)
    if size > MOST_FILE_BYTES:
        raise ValueError(f"{MEASUREMENTS} is larger than {MOST_FILE_BYTES >> 20} MB")
    listed = {entry["path"]: entry["sha256"] for entry in manifest["files"]}
    columns = FIXED_COLUMNS + len(config.universe.names)
    with folder.open(MEASUREMENTS) as file:
        if file_sha256(file, most_bytes=size + 1) != listed.get(MEASUREMENTS):
            raise ValueError(f"{MEASUREMENTS} is not the file that its manifest lists")
        require_readable(file, Limits(1, MOST_ROWS, ROWS_PER_GROUP, columns))
        measurements = read_measurements(file, config.universe)
    if (measurements.release_id, measurements.configuration_hash) != (found.name, config.hash):
        raise ValueError(f"{MEASUREMENTS} is of another release")
    return measurements


def _increment(measurements: Measurements) -> Measurements | None:
    """The noisy tables of the last period alone, where a series that is added up measured them.

    The first period has none: it holds all records from before the series.
    """
    continual = measurements.continual
    if continual is None or continual.index == 1:
        return None
    last = (continual.plan.within(continual.index), 1)
    for node in continual.nodes:
        if node.index == continual.index and node.node.weights == (last,):
            return Measurements(
                measurements.release_id, measurements.configuration_hash, node.tables
            )
    return None


def tables_of(measurements: Measurements, config: Config) -> dict[str, Any]:
    """The tables in JSON values; labels are clean texts of bounded length."""
    intervals = Intervals(measurements, config)
    whole = intervals.measured(Conjunction({}), level=LEVEL)
    if whole is None:
        return {"why": "its noisy tables list some cells only, and no sum of them is known"}
    tables: list[dict[str, Any]] = []
    cells = 0
    for attribute in config.universe.attributes[:MOST_COLUMNS]:
        grouping = grouped(attribute)
        if grouping is None or cells + len(grouping.labels) > MOST_CELLS:
            continue
        answers = intervals.of_sets(attribute.name, grouping.codes, level=LEVEL)
        known = [
            (label, answer)
            for label, answer in zip(grouping.labels, answers, strict=True)
            if answer is not None
        ]
        if not known:
            continue
        cells += len(known)
        tables.append(
            {
                "column": clean(attribute.name),
                "title": clean(attribute.title),
                "level": clean(grouping.level),
                "ordered": attribute.is_ordered,
                "labels": _told_apart([clean(label, MOST_LABEL) for label, _ in known]),
                **_series([answer for _, answer in known]),
            }
        )
    estimate, ends = whole[0].estimate, whole[1]
    return {"records": _series([(estimate, ends)]), "tables": tables}


def _told_apart(labels: Sequence[str]) -> list[str]:
    """The labels; one that is as another since both were shortened gets a number."""
    seen: dict[str, int] = {}
    found = []
    for label in labels:
        seen[label] = seen.get(label, 0) + 1
        found.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return found


def _series(answers: Sequence[tuple[float, Interval]]) -> dict[str, list[int]]:
    """Whole numbers; an estimate that lies outside of its interval is moved to its end."""
    return {
        "estimates": [
            min(max(math.floor(estimate + 0.5), low), high) for estimate, (low, high) in answers
        ],
        "lows": [low for _, (low, _) in answers],
        "highs": [high for _, (_, high) in answers],
    }


def grouped(attribute: Attribute) -> Grouping | None:
    """How a column is shown: by its codes, by a coarser level of few groups, or by runs of bins.

    None for a column of one code, or of very many levels without a hierarchy. It follows from the
    configuration alone.
    """
    if not 2 <= attribute.size <= MOST_CODES:
        return None
    if attribute.bin_count <= MOST_GROUPS:
        return _by_codes(attribute)
    for level in reversed(attribute.hierarchy):
        if 2 <= level.size <= MOST_GROUPS + attribute.has_missing:
            return _by_groups(level.labels, level.group_of, level.name)
    if attribute.is_ordered:
        bins = attribute.bin_count
        wide = -(-bins // MOST_GROUPS)
        level = interval_level(attribute, "", list(range(0, bins, wide)))
        return _by_groups(level.labels, level.group_of, "")
    return _by_codes(attribute) if attribute.size <= MOST_LEVELS else None


def _by_codes(attribute: Attribute) -> Grouping:
    codes = range(attribute.size)
    return Grouping(tuple(map(attribute.described, codes)), tuple((code,) for code in codes))


def _by_groups(labels: Sequence[str], group_of: Sequence[int], level: str) -> Grouping:
    codes: list[list[int]] = [[] for _ in labels]
    for code, group in enumerate(group_of):
        codes[group].append(code)
    return Grouping(tuple(labels), tuple(map(tuple, codes)), level)
