"""Two columns of many codes, at once and by blocks: whole runs whose prior was learned."""

import itertools
import json

import pytest

from synth.config import load_config
from synth.estimate import any_size
from synth.job import pipeline
from synth.noise import NoiseStream
from tests.end_to_end.test_whole_runs import UNITS, published_and_stands

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

CODES, RECORDS = (24, 20), 1200
STRATEGIES = {
    "cells": {"tables": [["from", "to"]]},
    "cells and columns": {"tables": [["from", "to"], ["from"], ["to"]]},
    "auto": "auto",
}
KNOWN = [{"where": {}, "total": RECORDS, "source": "a register"}]
EMPTY = [{"from": "0", "to": "19"}]
CHOICES = {
    "record": ("record", "add-remove", [], []),
    "person, impossible cells": ("person", "add-remove", [], EMPTY),
    "replace-one": ("record", "replace-one", KNOWN, []),
    "total known, impossible cells": ("record", "add-remove", KNOWN, EMPTY),
}
CASES = [
    (strategy, way, choice)
    for number, (strategy, way) in enumerate(
        itertools.product(STRATEGIES, ("at once", "by blocks"))
    )
    for choice in list(CHOICES)[number % 2 :: 2]
]


def configured(project, strategy, choice):
    """A quarter of the records in one cell; half follow a line; the rest lie anywhere."""
    unit, neighbours, totals, impossible = CHOICES[choice]
    lines = ["person,from,to"]
    for i in range(RECORDS):
        first = 7 if i % 4 == 0 else i * i % CODES[0]
        second = 3 if i % 4 == 0 else first % 18 if i % 4 < 3 else i // 4 % 18
        lines.append(f"p{i // 2},{first},{second}")
    column = {"type": "integer", "minimum": 0, "bin_width": 1, "out_of_domain": "clamp"}
    domain = [
        {**column, "name": name, "maximum": size - 1, "source": "test"}
        for name, size in zip(("from", "to"), CODES, strict=True)
    ]
    path = project(
        people="\n".join(lines) + "\n",
        strategy=STRATEGIES[strategy],
        domain=domain,
        public_totals=totals,
        impossible=impossible,
        workload={"marginals": 2},
        privacy={"epsilon": 4, "unit": UNITS[unit], "neighbours": neighbours},
        output={"replicates": 4},
        ledger={"epsilon_cap": 4},
    )
    return load_config(path)


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_a_release_of_two_columns_stands(project, log, monkeypatch, case):
    strategy, way, choice = case
    config = configured(project, strategy, choice)
    if way == "by blocks":
        monkeypatch.setattr(any_size, "is_held", lambda _: False)
    pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(range(32))))
    folder = published_and_stands(config, log)
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    steps = manifest["post_processing"]["steps"]
    learned = [step for step in steps if step["description"].startswith("learn how far")]
    assert len(learned) == 4 or strategy == "auto"  # which may take columns alone
    named = {each["name"]: each["value"] for step in learned[-1:] for each in step["parameters"]}
    weights = [value for name, value in named.items() if name.startswith("weights")]
    assert not learned or sum(weights) == pytest.approx(1.0)
