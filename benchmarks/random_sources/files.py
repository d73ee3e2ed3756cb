"""Random files, each counted as they are and with one unit more, less or another.

A seed makes a source (`csv_source.py`, `parquet_source.py`) and a neighbour of it. The counts must
move by no more than the sensitivity that the configuration states, and both must be those that the
records have in Python; or both must be refused with one exit code and one message.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from unittest.mock import patch

import numpy as np
import yaml

from random_sources.csv_source import CsvSource
from random_sources.file_source import FileSource
from random_sources.outcome import End, Outcome, configuration, end_of, judged
from random_sources.parquet_source import ParquetSource
from synth.config import load_config
from synth.curator.files import csv_source, parquet_source, unpacking

if TYPE_CHECKING:
    from synth.config import Config

LARGE_BYTES = 100_000_000
LARGE_SHARE = 0.04
PIECES = (1, 7, 100, 1 << 20)
"""Bytes of CSV, or rows of Parquet, that are read at once: small ones, so that records are cut."""
LONGEST_HEADER_BYTES = 100


def tried(seed: int, directory: Path, *, large: bool = True, by_command: bool = False) -> Outcome:
    """One random source of files and one random neighbour of it.

    With `by_command`, the command line runs on both as well: exit code and log must be the same.
    """
    chance = Random(seed)
    is_large = chance.random() < LARGE_SHARE and large
    kind = chance.choice(
        (CsvSource, CsvSource, CsvSource if is_large else ParquetSource, ParquetSource)
    )
    source: FileSource = kind(chance, largest_field=LARGE_BYTES if is_large else 0)
    source.make()
    configured = configuration(
        source.place,
        source.domain(),
        max_records=source.max_records,
        neighbours=source.neighbours,
    )
    sparse, command = chance.random() < 0.3, chance.choice(("measure", "run"))
    ends: list[End] = []
    problems: list[str] = []
    said = []
    change = ""
    for side in ("before", "after"):
        if side == "after":
            change = source.change()
        place = directory / f"{seed}-{side}"
        place.mkdir()
        source.write(place)
        path = place / "random.yaml"
        path.write_text(yaml.safe_dump(configured, allow_unicode=True))
        config = load_config(path)
        with read_in_pieces(1 << 20 if is_large else chance.choice(PIECES)):
            ends.append(end_of(config, sparse=sparse))
        problems += _not_as_expected(source, config, ends[-1], side)
        if by_command:
            said.append(_said(command, path))
        shutil.rmtree(place)
    made_of = [*source.made_of, f"unit of {source.max_records}", source.neighbours, change]
    if is_large:
        made_of.insert(0, "large")
    outcome = judged(
        ", ".join(part for part in made_of if part),
        *ends,
        config=config,
        is_refused=source.is_refused,
    )
    if by_command and said[0] != said[1]:
        problems.append(f"{command} tells neighbours apart: {said}")
    if by_command and (said[0][0] == 0) != (outcome.end == "counted"):
        problems.append(f"{command} ends otherwise than the engine: {said[0]}")
    problem = outcome.problem or "; ".join(problems) or None
    return Outcome(outcome.source, outcome.end, outcome.change_l1, outcome.sensitivity_l1, problem)


@contextmanager
def read_in_pieces(size: int) -> Iterator[None]:
    """Files are read in pieces of this size."""
    with (
        patch.object(unpacking, "CHUNK_BYTES", size),
        patch.object(csv_source, "HEADER_BYTES", max(size, LONGEST_HEADER_BYTES)),
        patch.object(parquet_source, "BATCH_ROWS", size),
    ):
        yield


def _not_as_expected(source: FileSource, config: Config, end: End, side: str) -> list[str]:
    """Whether the engine and Python count differently."""
    if end.counts is None or source.is_refused:
        return []
    expected = source.expected(config.universe)
    differing = np.flatnonzero(expected != end.counts)
    cells = {
        str(tuple(map(int, np.unravel_index(cell, config.universe.shape)))): (
            int(end.counts[cell]), int(expected[cell]),
        )
        for cell in differing[:5]
    }  # fmt: skip
    return [f"{side}: counted and expected {json.dumps(cells)}"] if cells else []


def _said(command: str, path: Path) -> tuple[int, str, str]:
    """Exit code, output and log of the command line, in a place that is called the same."""
    from tests.command_line import synth

    finished = synth(command, path.name, "--log-json", cwd=path.parent)
    texts = [text.replace(str(path.parent), "") for text in (finished.stdout, finished.stderr)]
    return finished.returncode, texts[0], texts[1]
