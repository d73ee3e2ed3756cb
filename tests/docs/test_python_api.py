"""The examples of docs/python-api.md are run, and its tables name what there is."""

import doctest
import re
from pathlib import Path

import synth
from synth.reading.answers import COLUMNS

PAGE = (Path(__file__).parents[2] / "docs" / "python-api.md").read_text(encoding="utf-8")


def test_the_examples_do_what_the_page_shows(project, monkeypatch, capsys):
    path = project()
    monkeypatch.chdir(path.parent)
    text = "\n".join(re.findall(r"```python\n(>>>.*?)```", PAGE, re.DOTALL))
    examples = doctest.DocTestParser().get_doctest(text, {}, "python-api.md", None, 0)
    assert len(examples.examples) > 20
    results = doctest.DocTestRunner().run(examples)
    assert results.failed == 0, capsys.readouterr().out


def test_every_public_name_is_documented_and_every_column():
    named = set(re.findall(r"^\| `synth\.(\w+)", PAGE, re.MULTILINE))
    assert named == set(synth.__all__)
    listed = re.findall(r"^\| (`[a-z_`, ]+`) \|", PAGE, re.MULTILINE)
    assert set(COLUMNS) <= set(re.findall(r"\w+", " ".join(listed)))
