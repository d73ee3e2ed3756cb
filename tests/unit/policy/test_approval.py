"""Approvals: over the meaning of one configuration, by one key, and nothing else."""

import os
import stat
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth.config import load_config
from synth.config.summary import report_lines
from synth.errors import ConfigError, OutputError
from synth.job.explanation import explain, render_explanation
from synth.policy import approval_file, approve, in_plain_words, read_approvals, write_approvals
from synth.signatures import PrivateKey, Purpose
from tests.conftest import merged

KEY, OTHER = (PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([n] * 32))) for n in (1, 2))


def test_an_approval_is_a_signature_over_release_id_and_hash(project):
    config = load_config(project())
    approval = approve(config, KEY)
    content = f"small\n{config.hash}\n".encode()
    assert KEY.public.has_signed(content, approval.signature, purpose=Purpose.APPROVAL)
    assert approval.is_valid(config, KEY.public)
    assert not approval.is_valid(config, OTHER.public)


MEANINGS = {
    "epsilon": {"privacy": {"epsilon": "1.001"}},
    "cap": {"ledger": {"epsilon_cap": 3}},
    "population": {"ledger": {"population": "somebody"}},
    "release id": {"release": {"id": "small2"}},
    "title": {"release": {"title": "A small releasE"}},
    "neighbours": {
        "privacy": {"neighbours": "replace-one"},
        "public_totals": [{"where": {}, "total": 9, "source": "x"}],
    },
    "disposal": {"source": {"disposal": "delete"}},
    "delimiter": {"source": {"delimiter": ";"}},
    "kind of file": {"source": {"path": "people.parquet"}},
    "workload": {"workload": {"marginals": 1}},
    "strategy": {"strategy": "identity"},
    "rows": {"output": {"rows": 10}},
}


@pytest.mark.parametrize("meaning", MEANINGS)
def test_any_change_of_meaning_voids_it(project, meaning):
    approval = approve(load_config(project()), KEY)
    changed = load_config(project(**MEANINGS[meaning]))
    assert not approval.is_valid(changed, KEY.public)
    renamed = replace(approval, release_id=changed.release.id, configuration_hash=changed.hash)
    assert not renamed.is_valid(changed, KEY.public), "the words around the signature count"


@pytest.mark.parametrize(
    "spelling",
    [
        {"privacy": {"epsilon": "1.0"}},
        {"strategy": None},
        {"source": {"path": "elsewhere.csv"}},
        {"output": {"directory": "elsewhere"}},
        {"output": {"signing_key": "key.pem"}},
    ],
)
def test_spelling_and_paths_do_not(project, spelling):
    approval = approve(load_config(project()), KEY)
    assert approval.is_valid(load_config(project(**spelling)), KEY.public)


VIEW = {"path": None, "url": "postgresql://host/registry", "table": "people"}


@pytest.mark.parametrize("change", [{"table": "crossed"}, {"view_reason": "Because"}])
def test_another_table_or_a_reason_for_a_view_voids_it(project, change):
    approval = approve(load_config(project(source=VIEW)), KEY)
    moved = load_config(project(source={**VIEW, "url": "postgresql://elsewhere/registry"}))
    assert approval.is_valid(moved, KEY.public)
    assert not approval.is_valid(load_config(project(source={**VIEW, **change})), KEY.public)


def test_the_approver_reads_what_is_counted_and_why_a_view_may_be(project):
    reason = {"view_reason": "One row of it is one\nof the register"}
    words = in_plain_words(load_config(project(source={**VIEW, **reason})))
    assert "records:        the rows of the PostgreSQL table people\n" in words
    assert "view:           every row comes from one record: One row of it is one of the" in words
    words = in_plain_words(load_config(project(source={"delimiter": ";", "quote": ""})))
    assert "those of CSV files with delimiter ';', no quote, encoding utf-8\n" in words
    assert "view:" not in words


def test_a_board_reads_on_what_a_view_rests(project):
    path = project(source={**VIEW, "view_reason": "Its rows are visits"})
    explained = " ".join(render_explanation(explain(load_config(path))).split())
    assert "the curator's reason for it: Its rows are visits" in explained
    assert "view      every row comes from one record: Its rows are visits" in report_lines(
        load_config(path)
    )
    assert not [line for line in report_lines(load_config(project())) if "view" in line]


def test_another_period_is_another_release(project):
    path = project(release={"id": "small-{period}"}, source={"path": "people-{period}.csv"})
    approval = approve(load_config(path, period="2026-01"), KEY)
    assert approval.is_valid(load_config(path, period="2026-01"), KEY.public)
    later = load_config(path, period="2026-02")
    assert not approval.is_valid(later, KEY.public)
    assert not replace(approval, release_id=later.release.id).is_valid(later, KEY.public)


SERIES = {
    "release": {"id": "small-{period}"},
    "source": {"where": {"column": "seen_on", "within": "period"}},
    "series": {"every": "month", "first": "2026-01", "rows": "new", "horizon": 3},
}


def test_one_approval_of_a_series_covers_its_periods_and_later_horizons(project):
    path = project(**merged(SERIES, {"series": {"renewal": "next"}}))
    approval = approve(load_config(path, period="2026-02"), KEY, whole_series=True)
    assert approval.release_id == "small-{period}"
    for period in ("2026-01", "2026-02", "2026-03", "2026-04", "2027-12"):
        config = load_config(path, period=period)
        assert approval.is_valid(config, KEY.public)
        assert approval.is_of(config) == "series"
        assert not approval.is_valid(config, OTHER.public)
    alone = approve(load_config(path, period="2026-01"), KEY)
    assert alone.is_valid(load_config(path, period="2026-01"), KEY.public)
    assert not alone.is_valid(load_config(path, period="2026-02"), KEY.public)


@pytest.mark.parametrize(
    "change",
    [
        {"series": {"horizon": 4}},
        {"series": {"rows": "all"}},
        {"series": {"first": "2025-12"}},
        {"series": {"delay": 1}},
        {"series": {"renewal": "next"}},
        {"privacy": {"epsilon": 2}},
        {"ledger": {"epsilon_cap": 3}},
        {"source": {"where": {"column": "left_on"}}},
        {"source": {"where": {"time_zone": "Europe/Berlin"}}},
        {"release": {"title": "Another title"}},
    ],
)
def test_an_approval_of_a_series_holds_for_what_it_was_shown(project, change):
    approval = approve(load_config(project(**SERIES), period="2026-01"), KEY, whole_series=True)
    changed = load_config(project(**merged(SERIES, change)), period="2026-01")
    assert not approval.is_valid(changed, KEY.public)
    for name in (changed.release.id, changed.series.name):
        renamed = replace(approval, release_id=name, configuration_hash=changed.series_hash)
        assert not renamed.is_valid(changed, KEY.public)


def test_an_approval_of_a_release_is_none_of_its_series_nor_the_other_way(project):
    path = project(**SERIES)
    config = load_config(path, period="2026-01")
    for whole, name in ((True, config.release.id), (False, config.series.name)):
        approval = approve(config, KEY, whole_series=whole)
        assert not replace(approval, release_id=name).is_valid(config, KEY.public)
    with pytest.raises(ValueError, match="no series"):
        approve(load_config(project()), KEY, whole_series=True)


def test_the_words_of_a_series_say_what_it_costs_and_what_that_rests_on(project):
    others = {"population": "people-{cycle}", "source": "They leave school"}
    persons = {"privacy": {"unit": {"column": "person", "max_records": 3}}}
    bounded = {"series": {"max_periods": 2, "renewal": others}}
    config = load_config(project(**merged(merged(SERIES, persons), bounded)), period="2026-02")
    words = in_plain_words(config, whole_series=True)
    for said in (
        "release:        small-{period}: ",
        "series:         every month from 2026-01, 3 periods, the records of each; afterwards: "
        "other people (people-{cycle})",
        "its cost:       epsilon 1 for a period, 2 at most within a horizon",
        "its records:    by the date in seen_on",
        "its persons:    counted in their first 2 periods alone",
        "it rests on:    every record keeps its period, and no row of a person is deleted",
        "other people:   They leave school",
        f"whole series:   SHA-256 {config.series_hash}",
        "approves every period",
    ):
        assert said in words
    assert f"configuration:  SHA-256 {config.hash}" in in_plain_words(config)


def test_the_file_is_read_back_and_replaced_in_one_step(project):
    config = load_config(project())
    path = approval_file(config)
    assert path.name == "small.yaml.approval"
    assert read_approvals(path) == ()
    for approvals in ((approve(config, KEY),), (approve(config, KEY), approve(config, OTHER))):
        write_approvals(path, approvals)
        assert read_approvals(path) == approvals
        assert stat.S_IMODE(path.stat().st_mode) == 0o644
    names = {entry.name for entry in path.parent.iterdir()}
    assert names == {"people.csv", "small.yaml", "small.yaml.approval"}


def test_a_file_that_cannot_be_written_leaves_the_old_one(project, monkeypatch):
    config = load_config(project())
    path = approval_file(config)
    write_approvals(path, [approve(config, KEY)])
    before = path.read_bytes()

    def full(_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OutputError, match="No space left"):
        write_approvals(path, [approve(config, OTHER)])
    assert path.read_bytes() == before
    assert not list(path.parent.glob(".small*"))


ENTRY = {
    "release_id": "small",
    "configuration_hash": '"' + "0" * 64 + '"',
    "key_id": '"' + "0" * 32 + '"',
    "signature": '"' + "A" * 86 + '=="',
}


def written(**changes):
    entry = "\n    ".join(f"{k}: {v}" for k, v in (ENTRY | changes).items() if v is not None)
    return f"approvals:\n  - {entry}\n"


def test_the_made_up_file_of_the_next_test_is_well_formed(tmp_path):
    (tmp_path / "a").write_text(written())
    (found,) = read_approvals(tmp_path / "a")
    assert found.signature == bytes(64)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "approvals: yes\n",
        "[]\n",
        written(signature='"AAAA"'),
        written(signature='"' + "!" * 86 + '=="'),
        written(key_id="x"),
        written(configuration_hash='"' + "0" * 63 + '"'),
        written(release_id="../x"),
        written(signature=None),
        written(more="1"),
        written() + "approvals: []\n",
        written() + "again: 1\n",
        written() + "--- {}\n",
        "approvals:\n" + written().split("\n", 1)[1] * 10_001,
    ],
)
def test_any_other_file_is_refused(tmp_path, text):
    (tmp_path / "a").write_text(text)
    with pytest.raises(ConfigError):
        read_approvals(tmp_path / "a")


def test_a_link_that_leads_nowhere_is_no_absent_file(tmp_path):
    (tmp_path / "a").symlink_to("nowhere")
    with pytest.raises(ConfigError):
        read_approvals(tmp_path / "a")


def test_the_words_name_what_counts(project):
    config = load_config(
        project(
            privacy={"epsilon": "1/3", "delta": "1e-9", "unit": {"column": "id", "max_records": 7}},
            ledger={"delta_cap": "1e-6"},
            source={"disposal": "delete"},
        )
    )
    words = in_plain_words(config)
    for part in (
        "small",
        "Test Office",
        "epsilon 1/3",
        "delta 0.000000001",
        "add-remove",
        "one id",
        "at most 7",
        "nobody",
        "epsilon 2",
        "deleted",
        "age, sex, town",
        config.hash,
        "Not covered",
    ):
        assert part in words, part
