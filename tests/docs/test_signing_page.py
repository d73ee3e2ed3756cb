"""The pages on signing and on schedules: commands are run, tables and lines are those of now."""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

from synth.policy import policy_schema
from tests.command_line import write_program
from tests.configs.test_reference import written

DOCS = Path(__file__).parents[2] / "docs"
SIGNING = (DOCS / "signing.md").read_text(encoding="utf-8")
SCHEDULED = (DOCS / "scheduled.md").read_text(encoding="utf-8")


def block(text, mark):
    found = re.search(rf"<!-- {re.escape(mark)} -->\n```\w*\n(.*?)```\n", text, re.DOTALL)
    assert found is not None, mark
    return found[1]


def rows(schema, path=""):
    """One row for every key below a schema node, free keys written as a star."""
    for name, inner in schema.get("properties", {}).items():
        here = f"{path}.{name}" if path else name
        default = f"`{written(inner['default'])}`" if "default" in inner else ""
        needed = "required" if name in schema["required"] else default
        yield f"| `{here}` | {needed} | {inner['description']} |"
        yield from rows(inner, here)
        yield from rows(inner.get("items", {}), f"{here}[]")
        free = inner.get("additionalProperties")
        yield from rows(free or {}, f"{here}.*")


def test_the_reference_of_policies_lists_every_key_in_order():
    listed = [line for line in SIGNING.splitlines() if re.match(r"\| `[a-z_]+", line)]
    assert listed == list(rows(policy_schema()))


def run(place, script):
    program = place / "bin" / "synth"
    if not program.exists():
        program.parent.mkdir()
        write_program(program)
    environment = dict(os.environ, PATH=f"{program.parent}:{os.environ['PATH']}")
    environment["PYTHONPATH"] = str(DOCS.parent)
    environment.pop("SYNTH_POLICY", None)
    return subprocess.run(
        ["/bin/sh", "-ec", script],
        cwd=place,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_commands_of_the_page_are_run_from_the_first_to_the_last(project):
    shutil.move(project(), project().with_name("release.yaml"))
    place = project().parent
    made = run(place, block(SIGNING, "commands: keys"))
    assert made.returncode == 0, made.stderr
    policy = block(SIGNING, "file: policy.yaml")
    for word, name in (("OFFICER", "officer"), ("PRESS", "press")):
        line = (place / f"{name}.pub.pem").read_text().splitlines()[1]
        policy = policy.replace(word, line)
    (place / "policy.yaml").write_text(policy)
    refused = run(place, block(SIGNING, "commands: run"))
    assert refused.returncode == 2
    assert "approvals" in refused.stderr
    for mark in ("approve", "run", "openssl"):
        done = run(place, block(SIGNING, f"commands: {mark}"))
        assert done.returncode == 0, done.stderr
    signed = (place / "message").read_bytes()
    assert signed == b"synth manifest 1\n" + (place / "outputs/small/manifest.json").read_bytes()


def test_the_lines_of_the_log_are_those_of_a_run(project):
    place = project().parent
    ran = run(place, "synth run small.yaml --log-json")
    assert ran.returncode == 0, ran.stderr
    shown = [json.loads(line) for line in block(SCHEDULED, "output: log").splitlines()]
    assert [json.loads(line) for line in ran.stderr.splitlines()] == shown


def test_every_file_of_deploy_is_named_on_the_page():
    for path in (DOCS / "deploy").iterdir():
        assert f"(deploy/{path.name})" in SCHEDULED
