"""What memory or disks cannot hold is refused before anything is spent, and so is wrong noise."""

from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest

from synth.config import load_config
from synth.errors import BugError, SynthError
from synth.job import pipeline, preconditions
from synth.planning import costs
from synth.planning.costs import Costs

NEEDED = Costs(100, 50, 1.0)


@pytest.mark.parametrize(("memory", "refused"), [(99, True), (100, False)])
def test_memory_that_is_short_is_named(monkeypatch, memory, refused):
    monkeypatch.setattr(preconditions, "present_memory_bytes", lambda: memory)
    with pytest.raises(SynthError, match="of memory") if refused else nullcontext() as caught:
        preconditions.require_memory(NEEDED)
    if refused:
        assert caught.value.exit_code == 1
        assert "fewer or coarser attributes" in caught.value.fix


@pytest.mark.parametrize(("disk", "refused"), [(49, True), (50, False)])
def test_a_disk_that_is_short_is_named(monkeypatch, tmp_path, disk, refused):
    monkeypatch.setattr(preconditions, "free_disk_bytes", lambda _: disk)
    with pytest.raises(SynthError, match="a place has") if refused else nullcontext() as caught:
        preconditions.require_disk(NEEDED, tmp_path, "a place")
    if refused:
        assert caught.value.exit_code == 1
        assert "fewer or coarser attributes" in caught.value.fix


@pytest.mark.parametrize("short", ["present_memory_bytes", "free_disk_bytes"])
def test_measuring_alone_is_refused_too_before_anything_is_spent(project, log, monkeypatch, short):
    monkeypatch.setattr(preconditions, short, lambda *_: 7)
    path = project()
    with pytest.raises(SynthError, match="needs roughly"):
        pipeline.measure(load_config(path), log=log)
    assert log.lines == []
    assert not load_config(path).ledger.path.exists()


def test_noise_that_fails_a_test_of_its_own_measures_nothing(project, log, monkeypatch):
    tests = (("a whole table", True), ("the right law", False), ("fresh noise", False))
    monkeypatch.setattr(preconditions, "self_test", lambda: tests)
    path = project()
    with pytest.raises(BugError, match="self-test: the right law, fresh noise") as caught:
        pipeline.measure(load_config(path), log=log)
    assert caught.value.exit_code == 3
    assert "nothing was measured" in caught.value.why
    assert log.lines == []
    assert not load_config(path).ledger.path.exists()


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
