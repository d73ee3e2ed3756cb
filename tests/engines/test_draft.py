"""Drafts of a table in a database are those of the same table in a file."""

from __future__ import annotations

import os

import yaml

from tests.command_line import synth

from .conftest import PASSWORD, write_csv

CANARY = "CANARY7391"
COLUMNS = {
    "id": "bigint",
    "age": "int",
    "pay": "numeric(10, 2)",
    "rate": "float8",
    "sex": "text",
    "born": "date",
    "place": "point",
}
ROWS = [
    (n * 7919, 20 + n % 50, f"{n % 400}.25", n % 9 / 8, ["f", "m", None][n % 3],
     f"{1950 + n % 60}-02-03", "(1,2)")
    for n in range(300)
]  # fmt: skip


def draft(place, *words, **environment):
    return synth("draft", *words, cwd=place, environment={**os.environ, **environment})


def domain(path):
    columns = yaml.safe_load(path.read_text().replace("!CONFIRM", ""))["domain"]
    return {column["name"]: column for column in columns}


def test_a_table_and_a_file_give_the_same_draft(tmp_path, server):
    server.fill("drafted", COLUMNS, ROWS)
    names = list(COLUMNS)[:-1]
    write_csv(tmp_path / "drafted.csv", names, [row[:-1] for row in ROWS])
    done = draft(tmp_path, "--url", server.url(), "--table", "drafted", "-o", "table.yaml")
    assert done.returncode == 0, done.stderr
    assert "PRIVATE" in done.stderr
    assert draft(tmp_path, "drafted.csv", "-o", "file.yaml").returncode == 0
    found = domain(tmp_path / "table.yaml")
    assert found == domain(tmp_path / "file.yaml")
    assert list(found) == ["age", "pay", "rate", "sex", "born"]
    text = (tmp_path / "table.yaml").read_text()
    assert "# left out: id:" in text
    assert "# left out: place: its type cannot be counted" in text
    assert yaml.safe_load(text.replace("!CONFIRM", ""))["source"]["table"] == "drafted"


def test_what_a_database_refuses_is_said_without_its_words(tmp_path, server):
    server.fill("hidden", {"name": "text"}, [(CANARY,)])
    for words, environment in (
        (("--table", "nowhere"), {}),
        (("--table", "hidden"), {"PGUSER": "reader", "PGPASSWORD": PASSWORD}),
        (("--table", "hidden"), {"PGUSER": "reader", "PGPASSWORD": "wrong"}),
    ):
        refused = draft(tmp_path, "--url", server.url(), *words, "-o", "d.yaml", **environment)
        said = refused.stdout + refused.stderr
        assert "Traceback" not in said
        for secret in (CANARY, PASSWORD, "FATAL", "ERROR"):
            assert secret not in said
        assert refused.returncode == (0 if environment.get("PGPASSWORD") == PASSWORD else 1), said
    text = (tmp_path / "d.yaml").read_text()
    assert "# left out: name: its type cannot be counted" in text
    assert CANARY not in text
