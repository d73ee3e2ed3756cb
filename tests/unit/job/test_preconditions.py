"""What memory or disks cannot hold is refused before anything is spent, with advice."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from synth.errors import SynthError
from synth.job import preconditions
from synth.plan import costs
from synth.plan.costs import Costs


def config_in(tmp_path):
    return SimpleNamespace(
        release=SimpleNamespace(id="r"),
        output=SimpleNamespace(directory=tmp_path / "not" / "there"),
        ledger=SimpleNamespace(path=tmp_path / "state" / "ledger.sqlite"),
    )


@pytest.fixture(name="machine")
def _machine(monkeypatch):
    def make(*, needs, memory, disks):
        monkeypatch.setattr("synth.plan.forecast", lambda _: SimpleNamespace(costs=needs))
        monkeypatch.setattr(costs, "present_memory_bytes", lambda: memory)
        monkeypatch.setattr(preconditions, "free_disk_bytes", lambda place: disks[place.name])

    return make


@pytest.mark.parametrize(
    ("memory", "there", "state", "words"),
    [
        (99, 50, 50, "of memory"),
        (100, 49, 50, "the output directory has"),
        (100, 50, 49, "the directory of the ledger has"),
    ],
)
def test_the_first_thing_that_is_short_is_named(tmp_path, machine, memory, there, state, words):
    machine(needs=Costs(100, 50, 1.0), memory=memory, disks={"there": there, "state": state})
    with pytest.raises(SynthError, match=words) as caught:
        preconditions.require_resources(config_in(tmp_path))
    assert caught.value.exit_code == 1
    assert "fewer or coarser attributes" in str(caught.value)


def test_what_fits_is_not_refused(tmp_path, machine):
    machine(needs=Costs(100, 50, 1.0), memory=100, disks={"there": 50, "state": 50})
    preconditions.require_resources(config_in(tmp_path))


def test_space_is_looked_up_where_a_directory_will_be(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        preconditions.shutil, "disk_usage", lambda p: asked.append(p) or SimpleNamespace(free=7)
    )
    assert preconditions.free_disk_bytes(tmp_path / "a" / "b") == 7
    assert asked == [tmp_path]
    assert preconditions.free_disk_bytes(Path("certainly-not-there")) == 7


def test_the_memory_of_a_machine_is_positive():
    assert costs.present_memory_bytes() > 1 << 20
