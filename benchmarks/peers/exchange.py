"""What the benchmark and a peer's driver hand each other: files in one folder.

The benchmark writes the records (one column per attribute, codes as integers), the number of codes
of each attribute and the request; the driver, in an environment of its own, writes its records, or
the counts of all cells. Both sides import this file, so it needs nothing but numpy and pandas.
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


def expanded(truth: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The counts of all cells as records in a random order: one row each, one column of codes."""
    cells = np.repeat(np.arange(truth.size), truth)
    np.random.default_rng(0).shuffle(cells)
    return np.stack(np.unravel_index(cells, shape), axis=1)


def write_request(folder: Path, request: Request, records: NDArray[np.int64]) -> None:
    """Write the records and what is asked for."""
    pd.DataFrame(records, columns=list(request.sizes)).to_csv(folder / "records.csv", index=False)
    (folder / "request.json").write_text(json.dumps(asdict(request)))


def read_request(folder: Path) -> tuple[Request, pd.DataFrame]:
    """The request and its records."""
    request = Request(**json.loads((folder / "request.json").read_text()))
    return request, pd.read_csv(folder / "records.csv", dtype=np.int64)


def write_records(folder: Path, request: Request, records: pd.DataFrame) -> None:
    """Write the codes of the synthetic records."""
    codes = [records[name].to_numpy().astype(np.int64) for name in request.sizes]
    np.save(folder / "rows.npy", np.stack(codes, axis=1))


def write_counts(folder: Path, counts: NDArray[np.int64]) -> None:
    """The counts of all cells, in C order."""
    np.save(folder / "counts.npy", counts)


def read_counts(folder: Path, shape: tuple[int, ...]) -> NDArray[np.int64]:
    """The counts of all cells, in C order. A code out of its range stops the run."""
    if (folder / "counts.npy").exists():
        return np.load(folder / "counts.npy")
    cells = np.ravel_multi_index(tuple(read_rows(folder).T), shape)
    return np.bincount(cells, minlength=np.prod(shape))


def read_rows(folder: Path) -> NDArray[np.int64]:
    """The codes of the synthetic records, one row each."""
    return np.load(folder / "rows.npy")
