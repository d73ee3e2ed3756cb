"""A configuration of any shape, made without a file."""

from fractions import Fraction
from itertools import combinations

import pytest

from synth.config import (
    Config,
    OutputConfig,
    PrivacyConfig,
    ReleaseConfig,
    WeightedMarginal,
    WorkloadConfig,
)
from synth.domain import Attribute, Conjunction, PublicTotal, Universe


@pytest.fixture
def configure():
    def build(
        sizes,
        *,
        epsilon="1",
        neighbours="add-remove",
        unit="record",
        impossible=(),
        total=None,
        order=3,
        strategy="identity",
        delta="0",
        expected=None,
        cells=True,
        names=None,
    ):
        names = names or [f"column-{i}" for i in range(len(sizes))]
        attributes = tuple(
            Attribute(name, "categorical", tuple(map(str, range(size))))
            for name, size in zip(names, sizes, strict=True)
        )
        marginals = tuple(
            WeightedMarginal(chosen, Fraction(1))
            for count in range(1, order + 1)
            for chosen in combinations(names, count)
        )
        totals = (PublicTotal(Conjunction({names[0]: (0,)}), 7, "a register"),)
        if total is not None:
            totals += (PublicTotal(Conjunction({}), total, "a register"),)
        return Config(
            name="made.yaml",
            release=ReleaseConfig("made", "", "", (), "", "", "", "", ""),
            source=None,
            privacy=PrivacyConfig(
                epsilon=Fraction(epsilon),
                delta=Fraction(delta),
                neighbours=neighbours,
                unit=unit,
                justification="",
            ),
            ledger=None,
            universe=Universe(attributes, tuple(Conjunction(rule) for rule in impossible)),
            public_totals=totals,
            workload=WorkloadConfig(marginals, cells=cells, expected_records=expected),
            strategy=strategy,
            output=OutputConfig(None, ("csv", "parquet"), None, "uniform"),
            public={},
        )

    return build
