"""The histograms of DPBench on which range queries are measured.

They are not part of this repository: data/README.md says where they come from and where to put
them. A file is accepted only if its bytes are the expected ones.
"""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]

DIRECTORY = Path(__file__).parents[2] / "data" / "dpbench"

FILES: dict[str, tuple[str, str]] = {
    "ADULTFRANK": (
        "ADULTFRANK.n4096.npy",
        "d85d9b9fe1ff128820cd103f710200affee71859f721ccb9ecc6e020325e4705",
    ),
    "Adult_2D": (
        "Adult_2D_256_256.npy",
        "dba1dc271efca6d3ee6539b4c130348ae86883d19053a58e2c3a7603f9c7235d",
    ),
    "BeijingTaxiS": (
        "BeijingTaxiS_256_256.npy",
        "ed55a0df58592e526477880b54e9cf4ea7c73796f4ec293b8bfc6a272440a2cc",
    ),
    "HEPTH": (
        "HEPTH.n4096.npy",
        "a39f1283608ac1eae6d1d5bc289e6eb7a42687b765f5f80af1b40566ff853884",
    ),
    "INCOME": (
        "INCOME.n4096.npy",
        "2bdb4bb9625d836ad923b280d303860dd12034ef3ae0cf9658e834cb95d8a0c5",
    ),
    "MEDCOST": (
        "MEDCOST.n4096.npy",
        "98ac6a1fb0ccdb0e249a7df49a238145eb971fdbebe1ee805174f99d28ef0dd3",
    ),
    "PATENT": (
        "PATENT.n4096.npy",
        "0dac5363cfc1e15189cf00ef3a817dcfeb39678d986b1951ba4f451b1cc6f864",
    ),
    "SEARCHLOGS": (
        "SEARCHLOGS.n4096.npy",
        "183561b0a8bd8a6cdd0622468830aaab491400a7ee58db2f46a4496e9a4e2621",
    ),
    "checkin": (
        "checkin_256_256.npy",
        "dc69bea21e80f50672f2d94da6dca598de37223dd9c27eba84462ee074abee2c",
    ),
}
"""Name: file and the SHA-256 of its bytes; 4,096 cells, or 256 x 256."""

ONE_DIMENSIONAL = ("ADULTFRANK", "HEPTH", "INCOME", "MEDCOST", "PATENT", "SEARCHLOGS")
TWO_DIMENSIONAL = ("Adult_2D", "BeijingTaxiS", "checkin")


def histogram(name: str, directory: Path = DIRECTORY) -> Counts:
    """The true counts, in records, with the shape of the data set.

    Raises: SystemExit if the file is not there or is another one.
    """
    file, expected = FILES[name]
    path = directory / file
    if not path.exists():
        raise SystemExit(f"{path} is missing: data/README.md says where to get it")
    content = path.read_bytes()
    if hashlib.sha256(content).hexdigest() != expected:
        raise SystemExit(f"{path} is not the expected file: its SHA-256 differs")
    values = np.load(io.BytesIO(content), allow_pickle=False)
    return values.astype(np.int64)
