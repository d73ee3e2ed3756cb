"""A file with many problems: all are reported at once, in the form that people read."""

from __future__ import annotations

from pathlib import Path

import pytest

from synth.config import load_config
from synth.errors import ConfigError

BAD = Path(__file__).parent / "bad"


def test_the_whole_report_is_as_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(BAD)
    with pytest.raises(ConfigError) as caught:
        load_config("many-problems.yaml")
    assert f"{caught.value}\n" == (BAD / "many-problems.txt").read_text(encoding="utf-8")


def test_a_problem_has_the_form_of_the_style_guide(tmp_path: Path) -> None:
    """The example that defines the form: two problems, found, expected, why, fix."""
    good = (BAD.parent / "good" / "small.yaml").read_text(encoding="utf-8")
    bad = good.replace("[0, 1.5, 1.8, 2.5]", "[0, 18, 18, 65]").replace("epsilon: 1", "epsilom: 1")
    path = tmp_path / "bad.yaml"
    path.write_text(bad, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    assert str(caught.value) == "\n".join(
        [
            f"{path}: 2 problems",
            "  line 17  privacy.epsilom",
            "    found:    unknown key",
            "    expected: one of: delta, epsilon, justification, neighbours, unit",
            "    fix:      did you mean `epsilon`?",
            '  line 38  domain[2] "height" → edges',
            "    found:    [0, 18, 18, 65]",
            "    expected: strictly increasing numbers",
            "    why:      equal edges make a bin that no record can enter",
            "    fix:      remove one of the two 18s",
        ]
    )
