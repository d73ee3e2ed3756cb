"""Audits that give the same every time: keyed streams and coins, and fewer canaries."""

import functools
import hashlib
import itertools

import pytest

from synth.audit import audit as audit_configuration
from synth.audit import choices, counting, lists, tables, whole_run
from synth.config import load_config
from synth.noise import NoiseStream, table_sampler


def keyed_streams():
    """A stream of its own at every call, the same in every test."""
    numbers = itertools.count()
    return lambda: NoiseStream(key=hashlib.sha256(b"stream %d" % next(numbers)).digest())


def keyed_bytes():
    numbers = itertools.count()
    return lambda count: hashlib.shake_256(b"coins %d" % next(numbers)).digest(count)


SIZES = {
    tables: {"MOST_CANARIES": 1 << 15, "RUNS_AS_PLANNED": 2, "CANARIES": 1 << 14}
    | {"CHOOSING_RUNS": 1, "RUNS": 1},
    lists: {"MOST_CELLS": 1 << 14, "MOST_RUNS": 1, "LONE_CANARIES": 1 << 14, "WANTED": 4},
    counting: {"GROUPS": 1, "UNITS": 1, "CROWD": 40},
    choices: {"STREAMS": 4, "CHOICES": 1 << 8},
    whole_run: {"MOST_RUNS": 2},
}


@pytest.fixture
def small_audits(monkeypatch):
    """Enough canaries to see a fault, in little time; a law is tabulated once in a test."""
    monkeypatch.setattr(table_sampler, "_table", functools.cache(table_sampler._table))
    for module, sizes in SIZES.items():
        for name, size in sizes.items():
            monkeypatch.setattr(module, name, size)


@pytest.fixture
def run_audit(project, small_audits):  # noqa: ARG001
    """Audit a changed configuration."""

    def run(period=None, **changes):
        if changes.get("privacy", {}).get("neighbours") == "replace-one":
            changes["public_totals"] = [{"where": {}, "total": 120, "source": "test"}]
        config = load_config(project(**changes), period=period)
        return audit_configuration(config, streams=keyed_streams(), randomness=keyed_bytes())

    return run
