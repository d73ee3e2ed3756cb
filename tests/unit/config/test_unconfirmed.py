"""Entries marked `!CONFIRM` are refused, all of them at their lines, and never shown."""

import pytest
import yaml

from synth.config import load_config
from synth.errors import ConfigError


def refused(path):
    with pytest.raises(ConfigError) as caught:
        load_config(path)
    return [(problem.line, problem.path) for problem in caught.value.problems], str(caught.value)


def test_every_marked_entry_is_listed_with_its_line_and_no_value(project):
    path = project()
    lines = path.read_text().splitlines()
    marked = []
    for number, line in enumerate(lines, start=1):
        key, colon, value = line.partition(": ")
        if colon and key.strip() in ("epsilon", "maximum", "title"):
            lines[number - 1] = f"{key}: !CONFIRM {value}"
            marked.append(number)
    path.write_text("\n".join(lines))
    found, message = refused(path)
    assert [line for line, _ in found] == marked
    assert [place for _, place in found] == [
        "release.title", "privacy.epsilon", 'domain[0] "age" → maximum'
    ]  # fmt: skip
    assert "A small release" not in message
    assert "99" not in message


@pytest.mark.parametrize("value", ["[Nord, {}]", "\n    - Nord\n    - {}", "", "{{a: {}}}"])
def test_lists_maps_and_empty_places_can_be_marked_and_hide_what_they_hold(tmp_path, value):
    path = tmp_path / "marked.yaml"
    text = value.format("canary-4711")
    path.write_text(f"domain:\n  - name: town\n    levels: !CONFIRM {text}\nbad key: canary-4712\n")
    found, message = refused(path)
    assert found == [(3, 'domain[0] "town" → levels')]
    assert "canary" not in message


def test_a_configuration_without_marks_is_accepted_and_other_tags_are_refused(project):
    path = project()
    load_config(path)
    path.write_text(path.read_text().replace("title: A", "title: !confirm A"))
    _, message = refused(path)
    assert "the tag !confirm" in message


def test_other_readers_of_yaml_refuse_the_mark_too(project):
    path = project()
    path.write_text(path.read_text().replace("epsilon: 1", "epsilon: !CONFIRM 1"))
    with pytest.raises(yaml.constructor.ConstructorError):
        yaml.safe_load(path.read_text())
