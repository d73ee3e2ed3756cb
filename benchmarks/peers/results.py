"""The results file: one JSON object per run, only ever appended to."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

FILE = Path(__file__).with_name("results.jsonl")
Status = Literal["done", "not done", "failed"]


@dataclass(frozen=True)
class Result:
    """One run. `not done` stands for a run that met the limit; `tvd` is then empty.

    `tvd` is the mean total variation distance of the tables of order 1, 2 and 3, and that of the
    joint table, each of shares.
    """

    peer: str
    versions: str
    table: str
    epsilon: str
    delta: str
    seed: int
    status: Status
    tvd: tuple[float, ...]
    rows: int | None
    cpu_seconds: float
    wall_seconds: float
    peak_megabytes: int
    limit_cpu_seconds: int
    error: str = ""

    @property
    def budget(self) -> Fraction:
        """Epsilon as an exact number."""
        return Fraction(self.epsilon)


def load() -> list[Result]:
    """All results so far."""
    if not FILE.exists():
        return []
    lines = FILE.read_text().splitlines()
    return [Result(**{**record, "tvd": tuple(record["tvd"])}) for record in map(json.loads, lines)]


def append(result: Result) -> None:
    """Add one result."""
    with FILE.open("a") as file:
        file.write(json.dumps(asdict(result)) + "\n")
