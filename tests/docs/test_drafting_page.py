"""The page on drafting: its commands are run, and its example is refused as it says."""

import json
import re

import yaml

from tests.conftest import PEOPLE
from tests.docs.test_signing_page import DOCS, block, run

PAGE = (DOCS / "drafting.md").read_text(encoding="utf-8")


def test_the_commands_of_the_page_do_what_it_says(tmp_path):
    (tmp_path / "people.csv").write_text(PEOPLE)
    fields = [{"name": "sex", "constraints": {"enum": ["Female", "Male"]}}]
    (tmp_path / "datapackage.json").write_text(json.dumps({"fields": fields}))
    for mark in ("codebook", "data"):
        done = run(tmp_path, block(PAGE, f"commands: {mark}"))
        assert done.returncode == 0, done.stderr
    refused = run(tmp_path, block(PAGE, "commands: check"))
    assert refused.returncode == 2
    marked = (tmp_path / "config.yaml").read_text().count(": !CONFIRM")
    assert len(re.findall(r"^  line \d+", refused.stderr, re.MULTILINE)) == marked


def test_the_example_is_what_a_draft_says(tmp_path):
    (tmp_path / "people.csv").write_text("sex\nFemale\nMale\n")
    assert run(tmp_path, block(PAGE, "commands: data")).returncode == 0
    (example,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    assert example in (tmp_path / "config.yaml").read_text()
    assert yaml.safe_load(example.replace("!CONFIRM", ""))[0]["levels"] == ["Female", "Male"]
