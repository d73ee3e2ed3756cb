"""What the benchmark and a peer's driver hand each other: files in one folder.

The benchmark writes the records (one column per attribute, codes as integers), the number of codes
of each attribute and the request; the driver, in an environment of its own, writes the counts of
all cells. Both sides import this file, so it needs nothing but numpy and pandas.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray


@dataclass(frozen=True)
class Request:
    """One run of one mechanism. Not every peer can be given a seed; then it is only a number."""

    mechanism: str
    epsilon: float
    delta: float
    seed: int
    sizes: Mapping[str, int]


def write_request(folder: Path, request: Request, truth: NDArray[np.int64]) -> None:
    """Expand the counts of all cells to records in a random order, and write them."""
    shape = tuple(request.sizes.values())
    cells = np.repeat(np.arange(truth.size), truth)
    np.random.default_rng(0).shuffle(cells)
    columns = dict(zip(request.sizes, np.unravel_index(cells, shape), strict=True))
    pd.DataFrame(columns).to_csv(folder / "records.csv", index=False)
    (folder / "request.json").write_text(json.dumps(asdict(request)))


def read_request(folder: Path) -> tuple[Request, pd.DataFrame]:
    """The request and its records."""
    request = Request(**json.loads((folder / "request.json").read_text()))
    return request, pd.read_csv(folder / "records.csv", dtype=np.int64)


def write_records(folder: Path, request: Request, records: pd.DataFrame) -> None:
    """Count the synthetic records of every cell. A code out of its range stops the run."""
    codes = [records[name].to_numpy().astype(np.int64) for name in request.sizes]
    shape = tuple(request.sizes.values())
    write_counts(folder, np.bincount(np.ravel_multi_index(codes, shape), minlength=np.prod(shape)))


def write_counts(folder: Path, counts: NDArray[np.int64]) -> None:
    """The counts of all cells, in C order."""
    np.save(folder / "counts.npy", counts)


def read_counts(folder: Path) -> NDArray[np.int64]:
    """The counts of all cells, in C order."""
    return np.load(folder / "counts.npy")
