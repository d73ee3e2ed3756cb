"""A small configuration that tests change piece by piece."""

import functools
import gc
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import hypothesis
import pytest
import yaml

from synth.job import measuring_process, pipeline, preconditions
from synth.job.log import Log, Record
from synth.noise import NoiseStream, self_test, table_sampler
from synth.release.verification import trial_reading
from tests.warm_trial import warm

# The same examples every time, and no time limit on a machine that others use too.
hypothesis.settings.register_profile("project", derandomize=True, deadline=None)
hypothesis.settings.load_profile("project")

# Hundreds of processes are started: each would compile the whole package anew.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# There is a process for every processor: further threads of each would wait for each other.
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

MEMORY = Path("/dev/shm")
ROOM_BYTES = 2 << 30


def has_room(place: Path) -> bool:
    """Whether tests can write there as much as they do, and carry out what they write."""
    if not os.access(place, os.W_OK):
        return False
    state = os.statvfs(place)
    return not state.f_flag & os.ST_NOEXEC and state.f_bavail * state.f_frsize >= ROOM_BYTES


# Thousands of ledgers and releases are forced to the disk: where it can be, that is memory.
if "TMPDIR" not in os.environ and has_room(MEMORY):
    os.environ["TMPDIR"] = str(MEMORY)
    tempfile.tempdir = None

SMALL: dict[str, Any] = {
    "schema_version": 1,
    "release": {
        "id": "small",
        "title": "A small release",
        "description": "Made-up people, for tests",
        "curators": ["Test Office"],
        "contact": "data@example.org",
        "intended_use": "Testing",
        "region": "Nowhere",
        "sector": "Government",
        "license": "CC-BY-4.0",
    },
    "source": {"path": "people.csv", "disposal": "keep", "disposal_reason": "made-up data"},
    "privacy": {
        "epsilon": 1,
        "neighbours": "add-remove",
        "unit": "record",
        "justification": "A test needs no more.",
    },
    "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
    "domain": [
        {
            "name": "age",
            "type": "integer",
            "minimum": 0,
            "maximum": 99,
            "bin_width": 20,
            "out_of_domain": "clamp",
            "source": "test",
        },
        {
            "name": "sex",
            "type": "categorical",
            "levels": ["Female", "Male"],
            "missing": [""],
            "out_of_domain": "missing",
            "source": "test",
        },
        {
            "name": "town",
            "type": "categorical",
            "levels": ["Nord", "Süd", "Other"],
            "out_of_domain": "Other",
            "source": "test",
        },
    ],
    "workload": {"marginals": 2},
    "strategy": "auto",
    "output": {"directory": "outputs"},
}

PEOPLE = "age,sex,town\n" + "34,Female,Nord\n67,Male,Süd\n12,,Other\n" * 40


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """What is collected stays: the collector of garbage need not look through it ever again."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def pytest_unconfigure() -> None:
    gc.unfreeze()


def merged(base: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """`base` with `changes` laid over it; None removes a key."""
    result = deepcopy(base)
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict) and isinstance(result.get(key), dict):
            result[key] = merged(result[key], value)
        else:
            result[key] = value
    return result


@pytest.fixture(scope="session", autouse=True)
def _the_same_noise_every_time() -> Iterator[None]:
    """What runs in the process of a test draws the same noise whenever the test is repeated.

    Commands that are started as processes of their own draw fresh noise.
    """
    drawn: Counter[str] = Counter()

    class SameNoise(NoiseStream):
        @classmethod
        def from_operating_system(cls) -> Self:
            test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
            drawn[test] += 1
            return cls(key=hashlib.sha256(f"{test} {drawn[test]}".encode()).digest())

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pipeline, "NoiseStream", SameNoise)
        yield


@pytest.fixture(scope="session", autouse=True)
def _one_self_test() -> Iterator[None]:
    """Every process of tests tests the noise once, when it starts, and not at every run.

    Commands that are executed do at every run. What follows if a test fails is tested in
    tests/unit/job/test_preconditions.py.
    """
    passed = self_test()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(preconditions, "self_test", lambda: passed)
        yield


@pytest.fixture(scope="session", autouse=True)
def _trials_are_forked() -> Iterator[None]:
    """Files are read on trial in processes that need not load Arrow anew."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_reading, "subprocess", warm(trial_reading))
        yield


def popen_of_forks(command: list[str], **given: Any) -> subprocess.Popen[bytes]:
    """A measuring process, forked where another one is warm; other programs are executed."""
    from tests.command_line import words_of_synth

    if command[:3] == [sys.executable, "-m", "synth"]:
        command = [*words_of_synth(), *command[3:]]
    return subprocess.Popen(command, **given)


@pytest.fixture(scope="session", autouse=True)
def _measuring_processes_are_forked() -> Iterator[None]:
    """Runs in the process of a test have measuring processes that need not load everything."""
    forking = SimpleNamespace(**{**vars(subprocess), "Popen": popen_of_forks})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(measuring_process, "subprocess", forking)
        yield


@pytest.fixture
def measuring_processes_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs have measuring processes as where no test runs."""
    monkeypatch.setattr(measuring_process, "subprocess", subprocess)


@pytest.fixture(scope="module")
def laws_are_tabulated_once() -> Iterator[None]:
    """For modules of many runs in this process that alter no law of noise."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table_sampler, "_table", functools.cache(table_sampler._table))
        yield


@pytest.fixture
def trials_are_executed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are read on trial as where no test runs."""
    monkeypatch.setattr(trial_reading, "subprocess", subprocess)


@pytest.fixture(scope="session")
def clone_after_tutorial(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that a clone would hold and the tutorial needs, after the tutorial: Adult is out.

    Its tests are of the group `adult-pages`, so that it is carried out once.
    """
    from tests.docs.carried_out import ROOT, carry_out
    from tests.docs.test_how_to import INSTALL

    place = tmp_path_factory.mktemp("clone")
    (place / "data").mkdir()
    shutil.copy(ROOT / "data" / "adult.csv.gz", place / "data")
    shutil.copytree(ROOT / "configs", place / "configs")
    assert "install" in carry_out(ROOT / "docs" / "tutorial.md", place, INSTALL)
    return place


def write_project(directory: Path, *, people: str | bytes | None = PEOPLE, **changes: Any) -> Path:
    """Writes a configuration and its source into a directory; returns the configuration's path."""
    if people is not None:
        raw = people.encode() if isinstance(people, str) else people
        (directory / "people.csv").write_bytes(raw)
    path = directory / "small.yaml"
    options = {"sort_keys": False, "allow_unicode": True, "Dumper": yaml.CSafeDumper}
    path.write_text(yaml.dump(merged(SMALL, changes), **options))
    return path


@pytest.fixture
def project(tmp_path: Path) -> Callable[..., Path]:
    """`write_project` into a directory of the test."""
    return functools.partial(write_project, tmp_path)


class RecordedLog(Log):
    """Collects the lines of a job."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def write(self, record: Record) -> None:
        self.lines.append(record.message)


@pytest.fixture
def log() -> RecordedLog:
    return RecordedLog()
