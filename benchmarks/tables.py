"""The tables on which accuracy is measured: four public data sets and some made-up ones."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from math import prod
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth import load_config
from synth.config import Config, OutputConfig, WorkloadConfig
from synth.domain import Attribute, Universe

ROOT = Path(__file__).parents[1]
Counts = NDArray[np.int64]


def real(name: str) -> tuple[Config, Counts]:
    """A shipped configuration and the true counts of its universe."""
    config = load_config(ROOT / "configs" / f"{name}.yaml")
    with gzip.open(ROOT / "data" / f"{name}.csv.gz", "rt", newline="") as source:
        rows = pd.read_csv(source, dtype=str, keep_default_na=False)
    codes = [encode(rows[attribute.name], attribute) for attribute in config.universe.attributes]
    cells = np.ravel_multi_index(codes, config.universe.shape)
    return config, np.bincount(cells, minlength=config.universe.size)


def encode(values: pd.Series, attribute: Attribute) -> Counts:
    """The code of every value; outside the domain there are only numbers to clamp."""
    texts = values.str.strip()
    if not attribute.is_ordered:
        code_of = dict.fromkeys(attribute.missing, attribute.missing_code)
        code_of |= {label: code for code, label in enumerate(attribute.labels)}
        return texts.map(code_of).to_numpy(dtype=np.int64)
    is_missing = texts.isin(attribute.missing).to_numpy()
    numbers = texts.where(~is_missing, "0").astype(np.float64).to_numpy()
    edges = np.array([float(edge) for edge in attribute.edges])
    bins = np.searchsorted(edges, numbers, side="right") - 1
    codes = np.clip(bins, 0, attribute.bin_count - 1)
    return np.where(is_missing, attribute.bin_count, codes)


def made_up(shape: tuple[int, ...], probability: NDArray[np.float64], records: int) -> Counts:
    """A draw of records."""
    generator = np.random.default_rng([7, *shape])
    return generator.multinomial(records, probability / probability.sum())


def zipf(shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Independent attributes, level k with probability in proportion to 1 / k, shuffled."""
    generator = np.random.default_rng(1)
    table = np.ones(1)
    for size in shape:
        part = generator.permutation(1.0 / np.arange(1, size + 1))
        table = np.multiply.outer(table, part / part.sum()).reshape(-1)
    return table


def mixture(shape: tuple[int, ...], parts: int, concentration: float) -> NDArray[np.float64]:
    """A mixture of products: every interaction of every order, many nearly empty regions."""
    generator = np.random.default_rng(2)
    table = np.zeros(prod(shape))
    for weight in generator.dirichlet(np.ones(parts)):
        part = np.ones(1)
        for size in shape:
            drawn = generator.dirichlet(np.full(size, concentration))
            part = np.multiply.outer(part, drawn).reshape(-1)
        table += weight * part
    return table


SHAPES: dict[str, tuple[tuple[int, ...], int]] = {
    "zipf": ((10, 10, 10, 10, 10), 20_000),
    "mixture": ((10, 10, 10, 10, 10), 20_000),
    "binary": ((2,) * 14, 5_000),
    "large": ((4, 5, 6, 7, 8, 9, 8), 170_000),
}

PROBABILITIES: dict[str, Callable[[tuple[int, ...]], NDArray[np.float64]]] = {
    "zipf": zipf,
    "mixture": lambda shape: mixture(shape, 10, 0.3),
    "binary": lambda shape: mixture(shape, 6, 0.5),
    "large": lambda shape: mixture(shape, 30, 0.5),
}

NAMES = ("nltcs", "adult", "diamonds", "flights", *SHAPES)


def table(name: str) -> tuple[Config, Counts]:
    """A configuration and the true counts."""
    if name not in SHAPES:
        return real(name)
    shape, records = SHAPES[name]
    attributes = tuple(
        Attribute(f"a{i}", "categorical", tuple(str(code) for code in range(size)))
        for i, size in enumerate(shape)
    )
    config = replace(
        load_config(ROOT / "configs" / "nltcs.yaml"),
        universe=Universe(attributes),
        public_totals=(),
        workload=WorkloadConfig((), cells=True),
        output=OutputConfig(None, ("csv",), None, "uniform"),
    )
    return config, made_up(shape, PROBABILITIES[name](shape), records)
