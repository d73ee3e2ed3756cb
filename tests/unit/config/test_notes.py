"""Notes on accepted configurations: each appears when it should, and only then."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.config import load_config, warnings

GOOD = Path(__file__).parents[2] / "configs" / "good"
SMALL = (GOOD / "small.yaml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("written", "otherwise", "note"),
    [
        ("epsilon: 1\n", "epsilon: 11\n", "privacy.epsilon is 11: that protects very little"),
        ("epsilon: 1\n", "epsilon: 1\n  delta: 1e-9\n", "privacy.delta is above ledger.delta_cap"),
        ("epsilon: 1\n", "epsilon: 2.5\n", "privacy.epsilon is above ledger.epsilon_cap"),
        ("unit: record", "unit: {column: age, max_records: 2}", "age: identifies persons"),
        (
            "output:",
            "workload: {marginals: 4}\noutput:",
            "workload.marginals is 4, but there are 3 columns",
        ),
        ("[Female, Male]", '[Female, "female "]', "sex: the levels `Female` and `female `"),
    ],
)
def test_a_note(tmp_path: Path, written: str, otherwise: str, note: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(SMALL.replace(written, otherwise), encoding="utf-8")
    before = warnings(load_config(GOOD / "small.yaml"))
    after = warnings(load_config(path))
    new = [sentence for sentence in after if sentence not in before]
    assert any(sentence.startswith(note) for sentence in new)


def notes_on_delta(folder: Path, delta: str, *, cap: str = "0.1", rest: str = "") -> list[str]:
    text = SMALL.replace("epsilon: 1\n", f"epsilon: 1\n  delta: {delta}\n")
    text = text.replace("epsilon_cap: 2}", f"epsilon_cap: 2, delta_cap: {cap}}}")
    path = folder / "config.yaml"
    path.write_text(text + rest, encoding="utf-8")
    return [note for note in warnings(load_config(path)) if "delta" in note]


def test_a_delta_that_is_of_no_use_is_noted(tmp_path: Path) -> None:
    (note,) = notes_on_delta(tmp_path, "1e-9", cap="0", rest="strategy: identity\n")
    assert "strategy identity is pure" in note
    assert notes_on_delta(tmp_path, "0", rest="strategy: identity\n") == []


def test_a_delta_within_the_cap_is_no_note(tmp_path: Path) -> None:
    assert notes_on_delta(tmp_path, "1e-9", cap="1e-9") == []
    (note,) = notes_on_delta(tmp_path, "1e-9", cap="9e-10")
    assert note.endswith("a run that spends it will be refused")


def test_a_delta_that_would_allow_to_show_a_record_is_noted(tmp_path: Path) -> None:
    expected = "workload: {expected_records: 5000}\n"
    (note,) = notes_on_delta(tmp_path, "1/5000", rest=expected)
    assert note.startswith("privacy.delta is not below 1 / workload.expected_records")
    assert notes_on_delta(tmp_path, "1/5001", rest=expected) == []


def test_clamping_without_a_missing_level_is_noted() -> None:
    (note,) = warnings(load_config(GOOD / "small.yaml"))
    assert note.startswith("height: a value that is empty or no number counts in the first bin")


def test_as_many_columns_as_there_are_and_the_default_are_no_note(tmp_path: Path) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"{SMALL}workload: {{marginals: 3}}\n", encoding="utf-8")
    assert len(warnings(load_config(path))) == 1
    assert "marginals" not in str(warnings(load_config(GOOD / "one-column.yaml")))
