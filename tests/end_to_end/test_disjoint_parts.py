"""Releases about disjoint parts of one population, by the command line's own functions."""

import io
import json
import shutil
from fractions import Fraction

import pytest
from rich.console import Console

from synth.bookkeeping import Ledger
from synth.bookkeeping.statement import ledger_report, render_ledger
from synth.config import load_config
from synth.errors import BudgetRefusedError, VerificationError
from synth.job import pipeline
from synth.job.explanation import explain, render_explanation
from synth.policy.approval import in_plain_words
from synth.release import verify_release
from synth.strict_json import write_folded_json
from tests.conftest import PEOPLE
from tests.release_folder import seal

SOURCE = "Everybody has one main residence on 1 January"


def job(project, name, **changes):
    """The configuration of a release about one part, or about everybody."""
    part = None if name is None else {"name": name, "parts": ["south", "north"], "source": SOURCE}
    ledger = {"epsilon_cap": 2, "disjoint_part": part, **changes.pop("ledger", {})}
    return project(release={"id": f"small-{name or 'all'}"}, ledger=ledger, **changes)


def published(config, log):
    pipeline.measure(config, log=log)
    return pipeline.publish(config, log=log).path


def test_parts_share_a_cap_that_their_sum_would_break(project, log):
    folders = {}
    for name in ("north", "south", None):
        config = load_config(job(project, name))
        folders[name] = published(config, log)
    with pytest.raises(BudgetRefusedError):
        published(load_config(one_more(project)), log)
    for name, folder in folders.items():
        ledger = json.loads((folder / "manifest.json").read_text())["accounting"]["ledger"]
        # of a part, what its own people can have lost: nothing of the other part
        before, left = (ledger[key]["epsilon"]["fraction"] for key in ("spent_before", "left"))
        assert (before, left) == {None: ("1/1", "0/1")}.get(name, ("0/1", "1/1"))
        assert ("disjoint_part" in ledger) == (name is not None)
        if name is not None:
            part = ledger["disjoint_part"]
            assert (part["name"], part["source"]) == (name, SOURCE)
            assert part["parts"] == ["north", "south"]
            assert part["composition"].startswith("parallel: ")
    with Ledger.open_existing(config.ledger.path) as opened:
        report = ledger_report(opened, "nobody")
        stream = io.StringIO()
        render_ledger(opened, "nobody", Console(file=stream, width=100))
    assert report["spent"] == {"epsilon": "2", "delta": "0"}
    assert [run["part"] for run in report["runs"]] == ["north", "south", None]
    assert report["disjoint_parts"]["parts"][1] == {
        "name": "south",
        "spent": {"epsilon": "1", "delta": "0"},
    }
    text = " ".join(stream.getvalue().split())
    assert "everybody 1, and of the parts the most: 1 (north 1, south 1)" in text
    assert "2 spent of 2, 0 left" in text
    assert SOURCE in text


def one_more(project):
    """One more release about the north."""
    return project(
        release={"id": "one-more"},
        ledger={
            "epsilon_cap": 2,
            "disjoint_part": {"name": "north", "parts": ["north", "south"], "source": SOURCE},
        },
    )


def test_what_is_said_of_parts_before_and_after_a_release(project, log):
    config = load_config(job(project, "north"))
    text = " ".join(render_explanation(explain(config)).split())
    assert f"The curator states: {SOURCE}" in text
    assert 'The parts are: north, south. This release is charged to the part "north".' in text
    assert "Spent so far, of epsilon" not in text
    plain = explain(config).to_plain()["population"]
    assert plain["disjoint_part"] == {
        "name": "north",
        "parts": ["north", "south"],
        "source": SOURCE,
    }
    assert plain["disjoint_parts"] is None
    pipeline.measure(config, log=log)
    everybody = explain(load_config(job(project, None)))
    text = " ".join(render_explanation(everybody).split())
    assert "This release is charged to everybody." in text
    assert "Spent so far, of epsilon: everybody 0; north 1; south 0." in text
    assert everybody.to_plain()["population"]["disjoint_parts"]["parts"][0]["spent"] == {
        "epsilon": "1",
        "delta": "0",
    }


def test_an_approver_reads_of_the_part(project):
    said = in_plain_words(load_config(job(project, "north")))
    assert "part:           north, one of 2; only the most expensive part counts" in said
    assert SOURCE in said
    assert "part: " not in in_plain_words(load_config(job(project, None)))


def test_without_parts_nothing_is_said_of_them(project, log):
    config = load_config(project())
    assert (
        "part"
        not in json.loads((published(config, log) / "manifest.json").read_text())["accounting"][
            "ledger"
        ]
    )
    assert "Of releases about one part" not in render_explanation(explain(config))


def test_several_periods_of_one_configuration_charge_the_same_people(project, log):
    changes = {
        "release": {"id": "small-{period}"},
        "source": {"path": "people-{period}.csv"},
        "ledger": {"epsilon_cap": 2},
    }
    for period, before in (("2020", 0), ("2021", 1)):
        project().with_name(f"people-{period}.csv").write_text(PEOPLE)
        config = load_config(project(**changes), period=period)
        pipeline.measure(config, log=log)
        with Ledger.open_existing(config.ledger.path) as opened:
            assert opened.state(f"small-{period}").position.spent_before.epsilon == before
    with pytest.raises(BudgetRefusedError):
        pipeline.measure(load_config(project(**changes), period="2022"), log=log)


def test_several_periods_that_are_declared_disjoint_count_once(project, log):
    part = {"name": "{period}", "parts": ["2020", "2021", "2022"], "source": "Born once"}
    changes = {
        "release": {"id": "small-{period}"},
        "source": {"path": "people-{period}.csv"},
        "ledger": {"epsilon_cap": 1, "disjoint_part": part},
    }
    for period in ("2020", "2021", "2022"):
        project().with_name(f"people-{period}.csv").write_text(PEOPLE)
        pipeline.measure(load_config(project(**changes), period=period), log=log)
    with Ledger.open_existing(load_config(project()).ledger.path) as opened:
        assert opened.position("nobody").spent.epsilon == Fraction(1)
    with pytest.raises(BudgetRefusedError):
        pipeline.measure(
            load_config(project(release={"id": "all"}, ledger={"epsilon_cap": 1})), log=log
        )


def test_a_false_account_in_the_manifest_is_found(project, log, tmp_path):
    folder = published(load_config(job(project, "north")), log)
    forged = shutil.copytree(folder, tmp_path / "forged")
    for section, key, value in (
        ("disjoint_part", "name", "south"),
        ("cap", "epsilon", {"fraction": "9/1", "decimal": "9"}),
    ):
        manifest = json.loads((folder / "manifest.json").read_text())
        manifest["accounting"]["ledger"][section][key] = value
        (forged / "manifest.json").write_text(write_folded_json(manifest).decode())
        seal(forged)
        with pytest.raises(VerificationError, match=r"accounting\.ledger"):
            verify_release(forged)
