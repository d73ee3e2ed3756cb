"""The reference lists every command and option, every exit code, every key, every field.

That keys and fields stand in order, each with its text: tests/configs/test_reference.py,
tests/docs/test_signing_page.py and tests/unit/release/test_documents.py.
"""

import re
import runpy
from collections.abc import Iterator

import typer

from synth import errors
from synth.cli import app
from synth.config import json_schema
from synth.policy import policy_schema
from synth.release.manifest.build import manifest_schema
from tests.docs.test_signing_page import DOCS

COMMANDS = (DOCS / "commands.md").read_text(encoding="utf-8")


def test_the_list_of_commands_is_up_to_date():
    written = runpy.run_path(str(DOCS / "site" / "commands.py"))
    _, listed = COMMANDS.split(written["MARKER"])
    assert listed == f"\n{written['command_reference']()}", "python docs/site/commands.py"


def test_every_command_and_every_option_of_the_parser_is_listed():
    """As the parser sees them, not as the page's own script does."""
    parser = typer.main.get_command(app)
    assert len(parser.commands) >= 14
    for name, command in parser.commands.items():
        section = re.search(rf"^## `synth {name}`\n(.*?)(?=^## |\Z)", COMMANDS, re.DOTALL | re.M)
        assert section, name
        assert f"](#synth-{name})" in COMMANDS, f"{name} is not in the table of tasks"
        for parameter in command.params:
            if parameter.hidden:
                assert parameter.opts[0] not in section[1]
                continue
            words = parameter.opts if parameter.param_type_name == "option" else []
            for word in [*words, parameter.metavar or ""]:
                assert word in section[1], f"{name}: {word}"
            assert len(parameter.help) > 5


def test_every_exit_code_is_listed():
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type)]
    codes = {kind.exit_code for kind in kinds if issubclass(kind, errors.SynthError)}
    codes |= {0, errors.EXIT_INTERRUPTED}
    listed = re.findall(r"^\| `(\d+)` \|", COMMANDS, re.MULTILINE)
    assert sorted(map(int, listed)) == sorted(codes)


def names_in(node: object) -> Iterator[str]:
    """Every key that a schema declares, however deep."""
    if isinstance(node, dict):
        yield from node.get("properties", {})
        for inner in node.values():
            yield from names_in(inner)
    elif isinstance(node, list):
        for inner in node:
            yield from names_in(inner)


def test_every_key_and_every_field_is_listed():
    manifest = manifest_schema()
    del manifest["properties"]["configuration"]["properties"]  # that of configuration.md
    for page, schema, least in (
        ("configuration.md", json_schema(), 70),
        ("signing.md", policy_schema(), 10),
        ("reference/manifest-fields.md", manifest, 150),
    ):
        text = (DOCS / page).read_text(encoding="utf-8")
        listed = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`\n]+)`", text))))
        names = set(names_in(schema))
        assert len(names) >= least, page
        assert names <= listed, (page, sorted(names - listed))


def test_the_pages_that_the_reference_names_are_in_the_site():
    text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    site = (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
    pages = set(re.findall(r"\]\(\.\./([\w-]+\.md)", text))
    assert len(pages) >= 10
    for page in pages:
        assert (DOCS / page).exists()
        assert f": {page}\n" in site
