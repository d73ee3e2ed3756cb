"""Whole runs from a database, and everything that can go wrong with one."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from synth.bookkeeping import Ledger
from synth.config import load_config
from synth.job import pipeline
from tests import command_line

from .conftest import PASSWORD, counts_of

CANARY = "CANARY7391"
COLUMNS = {"age": "int", "sex": "text", "town": "text"}
PEOPLE = [(34, "Female", "Nord"), (67, "Male", "Süd"), (12, None, CANARY)] * 40


def synth(*words: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return command_line.synth(*words, environment={**os.environ, **environment})


def spent(path: Path) -> str:
    return json.loads(synth("ledger", path, "--json").stdout)["spent"]["epsilon"]


def from_table(project, server, table: str, **changes) -> Path:
    place = {"path": None, "url": server.url(), "table": table}
    if table in VIEWS:
        place["view_reason"] = "every row is one of the table"
    return project(people=None, source=place, **changes)


VIEWS = ("slow", "part_of_people", "loud")


def require_clean(finished: subprocess.CompletedProcess[str], server) -> None:
    """One expected failure in words of the configuration: nobody's value, password or address."""
    assert finished.returncode == 1, finished.stderr
    for secret in (CANARY, PASSWORD, str(server.directory), "FATAL", "ERROR", "Traceback"):
        assert secret not in finished.stdout + finished.stderr, finished.stderr


def test_a_table_becomes_a_verified_release_that_names_it_and_no_place(project, server):
    server.fill("people_of_reader", COLUMNS, PEOPLE)
    server.execute("GRANT SELECT ON people_of_reader TO reader")
    path = from_table(project, server, "public.people_of_reader")
    finished = synth("run", path, PGUSER="reader", PGPASSWORD=PASSWORD)
    assert finished.returncode == 0, finished.stderr
    folder = path.parent / "outputs" / "small"
    assert synth("verify", folder).returncode == 0
    assert np.array_equal(counts_of(path), counts_of_rows(PEOPLE))
    source = json.loads((folder / "manifest.json").read_text())["configuration"]["source"]
    assert (source["kind"], source["table"]) == ("postgresql", "public.people_of_reader")
    words = [PASSWORD, str(server.directory), "postgresql://", CANARY]
    written = [file for file in path.parent.rglob("*") if file.is_file() and file != path]
    assert len(written) > 5
    for word in words:
        assert word not in finished.stdout + finished.stderr
        assert [file for file in written if word.encode() in file.read_bytes()] == [], word
    again = synth("run", path, PGUSER="nobody")
    assert again.returncode == 0, "a published release opens no database"


def counts_of_rows(rows) -> np.ndarray:
    counts = np.zeros((5, 3, 3), dtype=np.int64)
    for age, sex, town in rows:
        where = {"Female": 0, "Male": 1}.get(sex, 2), {"Nord": 0, "Süd": 1}.get(town, 2)
        counts[(min(age // 20, 4), *where)] += 1
    return counts


def counting(server) -> list[int]:
    return [
        pid
        for (pid,) in server.execute(
            "SELECT pid FROM pg_stat_activity WHERE application_name = 'synth' "
            "AND state = 'active' AND query LIKE 'COPY%'"
        )
    ]


@pytest.mark.parametrize("how", ["the backend is terminated", "the server stops", "it is killed"])
def test_a_count_that_is_cut_off_is_resumed_with_the_same_charge(project, server, how):
    server.fill("people", COLUMNS, PEOPLE)
    server.execute("DROP VIEW IF EXISTS slow")
    server.execute("CREATE VIEW slow AS SELECT * FROM people WHERE pg_sleep(1) IS NOT NULL")
    path = from_table(project, server, "slow")
    with subprocess.Popen(
        [*command_line.words_of_synth(), "run", str(path)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            end = time.monotonic() + 200
            while not counting(server) and time.monotonic() < end and process.poll() is None:
                time.sleep(0.05)
            (backend,) = counting(server)
            if how == "the server stops":
                server.stop()
                server.start()
            elif how == "it is killed":
                process.kill()
                process.wait()
                server.execute("SELECT pg_terminate_backend(%s)", backend)
            else:
                server.execute("SELECT pg_terminate_backend(%s)", backend)
            out, errors = process.communicate(timeout=60)
        finally:
            process.kill()
    if how != "it is killed":
        finished = subprocess.CompletedProcess([], process.returncode, out, errors)
        require_clean(finished, server)
        assert "stopped before all records of slow were counted" in errors
    assert spent(path) == "1"
    assert not (path.parent / "outputs" / "small").exists()
    server.execute("CREATE OR REPLACE VIEW slow AS SELECT * FROM people")
    finished = synth("run", path)
    assert finished.returncode == 0, finished.stderr
    assert spent(path) == "1"
    assert synth("verify", path.parent / "outputs" / "small").returncode == 0


@pytest.fixture
def prepared(server):
    """Objects that a run should not get through."""
    server.fill("people", COLUMNS, PEOPLE)
    server.fill("no_town", {"age": "int", "sex": "text"}, [])
    server.fill("arrays", {"age": "int", "sex": "text[]", "town": "text"}, [])
    server.fill("times", {"age": "time", "sex": "text", "town": "text"}, [])
    server.fill("bytes", {"age": "int", "sex": "bytea", "town": "text"}, [])
    server.execute("REVOKE ALL ON ALL TABLES IN SCHEMA public FROM reader")
    server.execute("DROP SCHEMA IF EXISTS hidden CASCADE")
    server.execute("CREATE SCHEMA hidden CREATE TABLE people (age int, sex text, town text)")
    server.execute("GRANT SELECT (age, sex) ON no_town TO reader")
    server.execute("DROP VIEW IF EXISTS part_of_people")
    server.execute("CREATE VIEW part_of_people AS SELECT * FROM people")
    server.execute("GRANT SELECT (age, sex) ON part_of_people TO reader")
    server.execute("CREATE OR REPLACE VIEW plain_view AS SELECT * FROM people")
    return server


READER = {"PGUSER": "reader", "PGPASSWORD": PASSWORD}
REFUSED = {
    "wrong password": ("people", {**READER, "PGPASSWORD": "wrong"}, "cannot be reached, or does"),
    "no password": ("people", {"PGUSER": "reader"}, "cannot be reached, or does not accept"),
    "no such user": ("people", {"PGUSER": CANARY}, "cannot be reached, or does not accept"),
    "no such service": ("people", {"PGSERVICE": CANARY}, "cannot be reached, or does not"),
    "no such table": ("public.nothing", {}, "has no table or view public.nothing"),
    "no such schema": ("nowhere.people", {}, "has no table or view nowhere.people"),
    "an index": ("pg_catalog.pg_class_oid_index", {}, "has no table or view"),
    "capital letters": ("People", {}, "has no table or view People"),
    "no such column": ("no_town", {}, "the source no_town has no column 'town'"),
    "an array": ("arrays", {}, "'sex' in a type that cannot be counted"),
    "a time": ("times", {}, "'age' in a type that cannot be counted"),
    "bytes": ("bytes", {}, "'sex' in a type that cannot be counted"),
    "no permission": ("people", READER, "let this user read 'age', 'sex', 'town' of people"),
    "a view without a reason": ("plain_view", {}, "plain_view is a view or a foreign table"),
    "a column without permission": ("part_of_people", READER, "let this user read 'town' of"),
    "a schema without permission": ("hidden.people", READER, "does not let this user read hidden"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_the_database_refuses_is_one_clean_error(project, prepared, kind):
    table, environment, message = REFUSED[kind]
    path = from_table(project, prepared, table)
    finished = synth("measure", path, **environment)
    require_clean(finished, prepared)
    assert message in finished.stderr
    assert "no record was read and nothing was charged" in finished.stderr
    assert not (path.parent / "state" / "ledger.sqlite").exists()


def test_before_the_charge_the_database_is_asked_for_no_record(project, server, log, monkeypatch):
    """By the server's own log: its catalogue, and one statement that takes no row."""
    server.fill("people", COLUMNS, PEOPLE)
    config = load_config(from_table(project, server, "people"))
    said, asked = server.directory / "log", []
    reserve = Ledger.reserve

    def reserving(ledger, **charge):
        asked.extend(statements(said.read_text()[begin:]))
        return reserve(ledger, **charge)

    monkeypatch.setattr(Ledger, "reserve", reserving)
    server.execute("ALTER ROLE synth SET log_statement = 'all'")
    try:
        begin = len(said.read_text())
        pipeline.measure(config, log=log)
    finally:
        server.execute("ALTER ROLE synth RESET log_statement")
    of_records = [each for each in asked if '"people"' in each and "to_regclass" not in each]
    assert len(of_records) == 1, asked
    assert of_records[0].endswith("LIMIT 0")
    assert any("pg_attribute" in each for each in asked)
    rest = statements(said.read_text()[begin:])[len(asked) :]
    assert sum(each.startswith("COPY") for each in rest) == 1, "what is logged is what is sent"


def statements(text: str) -> list[str]:
    """Those that a server wrote down, in their order."""
    found = re.split(r"^[0-9-]+ [0-9:.]+ \w+ \[\d+\] (\w+):  ", text, flags=re.MULTILINE)
    said = [
        entry.strip() for kind, entry in zip(found[1::2], found[2::2], strict=True) if kind == "LOG"
    ]
    return [re.sub(r"^(statement|execute [^:]+): ", "", entry) for entry in said]


def test_no_server_at_all_is_one_clean_error(project, server, tmp_path):
    place = {"path": None, "url": f"postgresql:///db?host={tmp_path}", "table": "t"}
    finished = synth("measure", project(people=None, source=place))
    require_clean(finished, server)
    assert "cannot be reached" in finished.stderr


FUNCTIONS = {
    "a notice": ("RAISE NOTICE 'seen %', v; RETURN v;", 0),
    "an error with a value": ("RAISE EXCEPTION 'seen %', v;", 1),
    "a write": ("INSERT INTO public.written VALUES (v); RETURN v;", 1),
}


@pytest.mark.parametrize("kind", FUNCTIONS)
def test_what_a_view_says_or_does_stays_in_the_database(project, server, kind):
    body, code = FUNCTIONS[kind]
    server.fill("people", COLUMNS, PEOPLE)
    server.execute("DROP VIEW IF EXISTS loud; DROP TABLE IF EXISTS written")
    server.execute("CREATE TABLE written (v text)")
    server.execute(
        f"CREATE OR REPLACE FUNCTION says(v text) RETURNS text LANGUAGE plpgsql AS "
        f"$$ BEGIN {body} END $$"
    )
    server.execute("CREATE VIEW loud AS SELECT age, sex, public.says(town) AS town FROM people")
    finished = synth("measure", from_table(project, server, "loud"))
    assert finished.returncode == code, finished.stderr
    assert CANARY not in finished.stdout + finished.stderr
    assert server.execute("SELECT count(*) FROM written") == [(0,)]
    if code:
        require_clean(finished, server)


def test_functions_of_the_database_do_not_take_the_place_of_those_of_the_server(project, server):
    """Otherwise whoever may create a function could choose which records of a person count."""
    server.fill("owned", {"person": "text", **COLUMNS}, [("a", *row) for row in PEOPLE])
    server.execute(
        "CREATE OR REPLACE FUNCTION public.md5(v text) RETURNS text LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'taken'; END $$"
    )
    server.execute("ALTER ROLE synth SET search_path = public, pg_catalog")
    try:
        path = from_table(
            project, server, "owned", privacy={"unit": {"column": "person", "max_records": 2}}
        )
        assert counts_of(path).sum() == 2
    finally:
        server.execute("ALTER ROLE synth RESET search_path")
        server.execute("DROP FUNCTION public.md5(text)")


@pytest.mark.parametrize(
    "kind", ["numeric", "numeric(10, 2)", "citext", "float8", "text COLLATE blind"]
)
def test_a_column_that_may_write_one_person_in_two_ways_is_no_person_column(project, server, kind):
    server.execute("CREATE EXTENSION IF NOT EXISTS citext")
    server.execute(
        "CREATE COLLATION IF NOT EXISTS blind "
        "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    server.execute("DROP TABLE IF EXISTS odd_people")
    server.execute(f"CREATE TABLE odd_people (person {kind}, age int, sex text, town text)")
    path = from_table(
        project, server, "odd_people", privacy={"unit": {"column": "person", "max_records": 2}}
    )
    finished = synth("measure", path)
    require_clean(finished, server)
    assert "one person written in two ways would count as two" in finished.stderr


def test_a_role_with_a_time_limit_does_not_decide_how_a_run_ends(project, server):
    server.fill("people", COLUMNS, PEOPLE)
    server.execute(
        "CREATE OR REPLACE VIEW slow AS SELECT * FROM people WHERE pg_sleep(0.001) IS NOT NULL"
    )
    server.execute("ALTER ROLE synth SET statement_timeout = 5")
    try:
        assert synth("measure", from_table(project, server, "slow")).returncode == 0
    finally:
        server.execute("ALTER ROLE synth RESET statement_timeout")


def test_settings_of_a_role_change_no_text(project, server):
    """Floats, dates and backslashes are written in one way, whatever the role prefers."""
    server.fill("styled", {"age": "int", "sex": "date", "town": "float8"},
                [(1, "2020-01-31", 0.1 + 0.2)])  # fmt: skip
    domain = [
        {"name": "sex", "type": "categorical", "levels": ["2020-01-31", "a\\b", "x"],
         "out_of_domain": "x", "source": "t"},
        {"name": "town", "type": "categorical", "levels": ["0.30000000000000004", "0.3"],
         "out_of_domain": "0.3", "source": "t"},
    ]  # fmt: skip
    for setting in (
        "extra_float_digits = 0", "datestyle = 'German'", "standard_conforming_strings = off"
    ):  # fmt: skip
        server.execute(f"ALTER ROLE synth SET {setting}")
    try:
        path = from_table(project, server, "styled", domain=domain, workload={"marginals": 1})
        assert counts_of(path).tolist() == [[1, 0], [0, 0], [0, 0]]
    finally:
        server.execute("ALTER ROLE synth RESET ALL")


def test_texts_compare_by_their_bytes_whatever_the_collation(project, server):
    server.execute("DROP TABLE IF EXISTS collated; DROP COLLATION IF EXISTS loose")
    server.execute(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
    )
    server.fill("collated", {"age": "int", "sex": "text", "town": "text COLLATE loose"},
                [(1, "Male", "Nord"), (1, "Male", "NORD"), (1, "Male", "nord")])  # fmt: skip
    assert server.execute("SELECT count(*) FROM collated WHERE town = 'Nord'") == [(3,)]
    assert counts_of(from_table(project, server, "collated"))[0, 1].tolist() == [1, 0, 2]


def test_types_of_the_database_itself(project, server):
    server.execute("DROP TABLE IF EXISTS own; DROP DOMAIN IF EXISTS years, old_years")
    server.execute("DROP TYPE IF EXISTS town_kind")
    server.execute("CREATE DOMAIN years AS smallint; CREATE DOMAIN old_years AS years")
    server.execute("CREATE TYPE town_kind AS ENUM ('Nord', 'Süd', 'Rom')")
    server.fill("own", {"age": "old_years", "sex": "char(8)", "town": "town_kind"},
                [(34, "Female", "Nord"), (99, "Male", "Süd"), (None, None, "Rom")])  # fmt: skip
    expected = np.zeros((5, 3, 3), dtype=np.int64)
    expected[1, 0, 0] = expected[4, 1, 1] = expected[0, 2, 2] = 1
    assert np.array_equal(counts_of(from_table(project, server, "own")), expected)


def test_names_that_sql_would_read_otherwise(project, server):
    name = 'Odd "name"; DROP TABLE people; --'
    server.execute('DROP TABLE IF EXISTS "Odd ""table""; --"')
    server.fill('"Odd ""table""; --"', {name.replace('"', '""'): "text"}, [("it's",), ("a\\b",)])
    domain = [
        {"name": name, "type": "categorical", "levels": ["it's", "a\\b", "other"],
         "out_of_domain": "other", "source": "t"},
    ]  # fmt: skip
    path = from_table(project, server, 'Odd "table"; --', domain=domain, workload={"marginals": 1})
    assert counts_of(path).tolist() == [1, 1, 0]


@pytest.mark.parametrize("unit", ["real", "double precision"])
def test_a_person_written_as_a_float_is_refused(project, server, unit):
    server.fill("owned", {"person": unit, **COLUMNS}, [])
    path = from_table(
        project, server, "owned", privacy={"unit": {"column": "person", "max_records": 2}}
    )
    finished = synth("measure", path)
    require_clean(finished, server)
    assert "'person' as whole numbers, or as text" in finished.stderr


@pytest.mark.parametrize(
    "source",
    [
        {"path": None, "url": f"postgresql://reader:{PASSWORD}@h/db", "table": "t"},
        {"path": None, "url": f"postgresql://h/db?password={PASSWORD}", "table": "t"},
        {"path": None, "url": f"postgresql://reader:{PASSWORD}@h/db"},
        {"path": f"postgresql://reader:{PASSWORD}@h/db"},
        {"path": None, "url": [f"postgresql://reader:{PASSWORD}@h/db"], "table": "t"},
        {"url": f"postgresql://reader:{PASSWORD}@h/db"},
    ],
    ids=str,
)
def test_a_password_in_the_configuration_is_refused_and_not_shown(project, source):
    finished = synth("check", project(people=None, source=source))
    assert finished.returncode == 2
    assert PASSWORD not in finished.stdout + finished.stderr
