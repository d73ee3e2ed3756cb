"""One stored record is one row of a table, or the table is refused; and nothing comes between."""

from __future__ import annotations

import os

import psycopg
import pytest

import synth.curator.postgres.engine as engine_module
from synth.config import load_config
from synth.curator.counting.tabulate import _bounded_records, _counted
from synth.curator.postgres.engine import postgres_engine
from synth.errors import BugError, SourceError
from tests import command_line

from .conftest import PASSWORD, counts_of

COLUMNS = "part int, age int, sex text, town text"
ROWS = "(0, 34, 'Female', 'Nord'), (1, 67, 'Male', 'Süd'), (1, 12, 'Male', 'Süd')"
FOREIGN = "SERVER loop OPTIONS (schema_name 'kept', table_name 'crossed')"
READER = {"PGUSER": "reader", "PGPASSWORD": PASSWORD}


@pytest.fixture
def kept(server):
    """A schema with a table `apart`, a view in which each row of it shows often, and a way back."""
    server.execute(
        f"""
        CREATE EXTENSION IF NOT EXISTS postgres_fdw;
        DROP SERVER IF EXISTS loop CASCADE;
        CREATE SERVER loop FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '{server.directory}', dbname 'postgres');
        CREATE USER MAPPING FOR PUBLIC SERVER loop
            OPTIONS (user 'synth', password_required 'false');
        DROP SCHEMA IF EXISTS kept CASCADE;
        CREATE SCHEMA kept;
        GRANT USAGE ON SCHEMA kept TO reader;
        CREATE TABLE kept.apart ({COLUMNS});
        INSERT INTO kept.apart VALUES {ROWS.replace("(0", "(1")};
        CREATE VIEW kept.crossed AS SELECT a.* FROM kept.apart AS a, kept.apart AS b;
        """
    )
    return server


def source_of(project, server, table, **changes):
    place = {"path": None, "url": server.url(), "table": table}
    return project(people=None, source=place | changes)


PARTED = f"CREATE TABLE kept.people ({COLUMNS}) PARTITION BY LIST (part);"
HALF = "CREATE TABLE kept.half PARTITION OF kept.people FOR VALUES IN (0)"
PARENT = f"CREATE TABLE kept.people ({COLUMNS});"
CHILD = "CREATE TABLE kept.child () INHERITS (kept.people);"
OTHER_METHOD = """
    DROP ACCESS METHOD IF EXISTS other CASCADE;
    CREATE ACCESS METHOD other TYPE TABLE HANDLER heap_tableam_handler;
"""

NOT_AS_STORED = {
    "a foreign partition": f"{PARTED} CREATE FOREIGN TABLE kept.f PARTITION OF kept.people "
    f"FOR VALUES IN (1) {FOREIGN}",
    "a foreign partition of a partition": f"{PARTED} {HALF} PARTITION BY LIST (part); "
    f"CREATE FOREIGN TABLE kept.f PARTITION OF kept.half FOR VALUES IN (0) {FOREIGN}",
    "a foreign child": f"{PARENT} CREATE FOREIGN TABLE kept.f () INHERITS (kept.people) {FOREIGN}",
    "a foreign grandchild": f"{PARENT} {CHILD} CREATE FOREIGN TABLE kept.f () "
    f"INHERITS (kept.child) {FOREIGN}",
    "another access method": f"{OTHER_METHOD} CREATE TABLE kept.people ({COLUMNS}) USING other",
    "a child of another access method": f"{OTHER_METHOD} {PARENT} "
    "CREATE TABLE kept.child () INHERITS (kept.people) USING other",
    # as PostgreSQL 18 has it; an older server reads the column as if it were stored
    "a column computed when it is read": f"{PARENT} {CHILD} SET allow_system_table_mods = on; "
    "UPDATE pg_attribute SET attgenerated = 'v' WHERE attname = 'age' "
    "AND attrelid = 'kept.child'::regclass",
}


@pytest.mark.parametrize("kind", NOT_AS_STORED)
def test_a_table_whose_rows_are_not_as_stored_needs_a_reason(project, kept, kind):
    kept.execute(NOT_AS_STORED[kind])
    with pytest.raises(SourceError, match=r"not all rows of kept\.people are read as they were"):
        counts_of(source_of(project, kept, "kept.people"))
    shown = kept.execute("SELECT count(*) FROM kept.people")
    given = source_of(project, kept, "kept.people", view_reason="as a test says")
    assert [(counts_of(given).sum(),)] == shown


STORED = {
    "partitions of partitions": f"{PARTED} {HALF} PARTITION BY LIST (part); "
    "CREATE TABLE kept.leaf PARTITION OF kept.half FOR VALUES IN (0); "
    "CREATE TABLE kept.rest PARTITION OF kept.people DEFAULT; "
    f"INSERT INTO kept.people VALUES {ROWS}",
    "a child of another owner": f"{PARENT} {CHILD} ALTER TABLE kept.child OWNER TO synth_other; "
    f"INSERT INTO kept.child VALUES {ROWS}",
    "one child of two parents": f"{PARENT} {CHILD} "
    "CREATE TABLE kept.other () INHERITS (kept.people); "
    "CREATE TABLE kept.both () INHERITS (kept.child, kept.other); "
    f"INSERT INTO kept.both VALUES {ROWS}",
    "rules and triggers, which reading does not call": f"{PARENT} INSERT INTO kept.people "
    f"VALUES {ROWS}; CREATE RULE r AS ON INSERT TO kept.people DO INSTEAD NOTHING",
}


@pytest.mark.parametrize("kind", STORED)
def test_every_stored_row_counts_once_however_deep_it_lies(project, kept, kind):
    kept.execute("DROP ROLE IF EXISTS synth_other; CREATE ROLE synth_other")
    kept.execute(STORED[kind])
    kept.execute("GRANT SELECT ON kept.people TO reader")
    try:
        with pytest.MonkeyPatch.context() as environment:
            for name, value in READER.items():
                environment.setenv(name, value)
            assert counts_of(source_of(project, kept, "kept.people")).sum() == 3
    finally:
        kept.execute("DROP SCHEMA kept CASCADE; DROP ROLE synth_other")


POLICIES = {
    "a query": "(SELECT count(*) FROM kept.apart) > 2",
    "a cast": "kept.people.sex::int > 0",
    "everything": "true",
}


def with_policy(kept, policy: str, table: str = "people") -> None:
    kept.execute(
        f"{PARENT} {CHILD} INSERT INTO kept.people VALUES {ROWS};"
        f"CREATE POLICY p ON kept.{table} USING ({policy});"
        f"ALTER TABLE kept.{table} ENABLE ROW LEVEL SECURITY;"
        "GRANT SELECT ON ALL TABLES IN SCHEMA kept TO reader"
    )


@pytest.mark.parametrize("kind", POLICIES)
def test_a_table_with_policies_is_refused_alike_whatever_is_stored(project, kept, kind):
    with_policy(kept, POLICIES[kind])
    path = source_of(project, kept, "kept.people", view_reason="policies have no reason")
    ends = []
    for change in (
        "SELECT",
        "INSERT INTO kept.people VALUES (1, 1, '1', 'Nord')",
        "DELETE FROM kept.apart",
    ):
        kept.execute(change)
        ended = command_line.synth("measure", path, environment={**os.environ, **READER})
        ends.append((ended.returncode, ended.stderr))
    assert ends == [ends[0]] * 3
    assert ends[0][0] == 1
    assert "row-level security applies to this user's reading of kept.people" in ends[0][1]


def test_policies_of_a_child_are_refused_too(project, kept, monkeypatch):
    with_policy(kept, "true", "child")
    for name, value in READER.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match="row-level security applies"):
        counts_of(source_of(project, kept, "kept.people"))


@pytest.mark.parametrize("option", ["security_invoker = true", "security_barrier = true"])
def test_policies_below_a_view_are_refused_by_the_server_itself(project, kept, monkeypatch, option):
    """The policies that apply are those for the reader, or those for the owner of the view."""
    with_policy(kept, "true")
    kept.execute(f"CREATE VIEW kept.seen WITH ({option}) AS SELECT * FROM kept.people")
    kept.execute("GRANT SELECT ON kept.seen TO reader")
    if "invoker" not in option:
        kept.execute("ALTER VIEW kept.seen OWNER TO reader")
    for name, value in READER.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(SourceError, match="row-level security applies"):
        counts_of(source_of(project, kept, "kept.seen", view_reason="it is the table"))


def test_policies_that_do_not_apply_to_the_reader_do_not_matter(project, kept, monkeypatch):
    with_policy(kept, "false")
    path = source_of(project, kept, "kept.people")
    assert counts_of(path).sum() == 3, "a superuser"
    for name, value in READER.items():
        monkeypatch.setenv(name, value)
    kept.execute("ALTER ROLE reader BYPASSRLS")
    try:
        assert counts_of(path).sum() == 3
    finally:
        kept.execute("ALTER ROLE reader NOBYPASSRLS")
    kept.execute("ALTER TABLE kept.people OWNER TO reader")
    assert counts_of(path).sum() == 3, "the owner"
    kept.execute("ALTER TABLE kept.people FORCE ROW LEVEL SECURITY")
    with pytest.raises(SourceError, match="row-level security applies"):
        counts_of(path)


def test_a_type_with_a_cast_of_its_own_is_refused(project, kept):
    """The cast could be a query over all records."""
    kept.execute(
        """
        CREATE TYPE kept.town AS ENUM ('Nord', 'Süd');
        CREATE TABLE kept.people (age int, sex text, town kept.town);
        INSERT INTO kept.people VALUES (1, 'Male', 'Nord');
        """
    )
    path = source_of(project, kept, "kept.people")
    assert counts_of(path)[0, 1, 0] == 1
    kept.execute(
        """
        CREATE FUNCTION kept.said(v kept.town) RETURNS text LANGUAGE sql AS
            $$ SELECT CASE WHEN (SELECT count(*) FROM kept.people) > 1 THEN 'x' ELSE 'Nord' END $$;
        CREATE CAST (kept.town AS text) WITH FUNCTION kept.said (kept.town);
        """
    )
    with pytest.raises(SourceError, match="'town' in a type with a cast of its own"):
        counts_of(path)


def test_a_cast_between_the_types_that_numbers_take_is_refused(project, kept):
    """Texts become numbers through `numeric`: a function there would see every value."""
    kept.execute(
        """
        CREATE TABLE kept.people (age text, sex text, town text);
        INSERT INTO kept.people VALUES ('1', 'Male', 'Nord');
        CREATE FUNCTION kept.read(v text) RETURNS numeric LANGUAGE plpgsql AS
            $$ BEGIN IF v = '3' THEN RAISE 'no'; END IF; RETURN 1; END $$;
        """
    )
    path = source_of(project, kept, "kept.people")
    counts_of(path)
    kept.execute("CREATE CAST (text AS numeric) WITH FUNCTION kept.read (text)")
    try:
        with pytest.raises(SourceError, match="in a type with a cast of its own"):
            counts_of(path)
    finally:
        kept.execute("DROP CAST (text AS numeric)")


def test_objects_of_the_database_do_not_take_the_place_of_the_catalogue(project, kept):
    """Otherwise whoever may create a table could hide what a table is made of."""
    kept.execute(NOT_AS_STORED["a foreign child"])
    kept.execute("CREATE TABLE kept.pg_inherits (inhrelid oid, inhparent oid)")
    kept.execute("ALTER ROLE synth SET search_path = kept, pg_catalog")
    try:
        with pytest.raises(SourceError, match="not all rows of people are read as they were"):
            counts_of(source_of(project, kept, "people"))
    finally:
        kept.execute("ALTER ROLE synth RESET search_path")


class Opened:
    """A source whose records are judged, and counted later."""

    def __init__(self, path) -> None:
        self.config = load_config(path)
        self.engine = postgres_engine(self.config.source)

    def __enter__(self):
        self.entered = self.engine.__enter__()
        self.counted = _counted(_bounded_records(self.entered, self.config, None))
        return self

    def __exit__(self, *how):
        return self.engine.__exit__(*how)

    def total(self) -> int:
        batches = list(self.entered.batches(self.counted))
        return sum(batch.column("records").to_numpy().sum() for batch in batches)


@pytest.mark.parametrize("isolation", ["read committed", "repeatable read", "serializable"])
def test_a_foreign_partition_attached_in_between_is_no_part_of_a_count(project, kept, isolation):
    """An older look at the catalogue would not show what the server has read by the newer one."""
    kept.execute(f"{PARTED} {HALF}; INSERT INTO kept.people VALUES (0, 1, 'Male', 'Nord')")
    kept.execute(f"CREATE FOREIGN TABLE kept.f ({COLUMNS}) {FOREIGN}")
    path = source_of(project, kept, "kept.people")
    kept.execute(f"ALTER ROLE synth SET default_transaction_isolation = '{isolation}'")
    try:
        with Opened(path) as opened:
            kept.execute("ALTER TABLE kept.people ATTACH PARTITION kept.f FOR VALUES IN (1)")
            with pytest.raises(SourceError, match="not all rows of kept"):
                opened.total()
    finally:
        kept.execute("ALTER ROLE synth RESET default_transaction_isolation")
    kept.execute("ALTER TABLE kept.people DETACH PARTITION kept.f")
    kept.execute("CREATE TABLE kept.rest PARTITION OF kept.people DEFAULT")
    with Opened(path) as opened:
        assert opened.total() == 1


@pytest.mark.parametrize("kind", ["COLUMN", "POLICY", "VIEW", "BELOW"])
def test_what_was_judged_cannot_be_altered_before_it_is_counted(project, kept, kind):
    kept.execute(f"{PARENT} INSERT INTO kept.people VALUES {ROWS}")
    kept.execute("CREATE VIEW kept.seen AS SELECT * FROM kept.people")
    change = {
        "COLUMN": "ALTER TABLE kept.people ALTER COLUMN age TYPE text",
        "POLICY": "ALTER TABLE kept.people ENABLE ROW LEVEL SECURITY",
        "VIEW": "CREATE OR REPLACE VIEW kept.seen AS SELECT a.* FROM kept.people AS a, kept.apart",
        "BELOW": "ALTER TABLE kept.people RENAME TO others",
    }[kind]
    table = "kept.people" if kind in ("COLUMN", "POLICY") else "kept.seen"
    with Opened(source_of(project, kept, table, view_reason="the table")) as opened:
        with kept.connect() as other:
            other.execute("SET lock_timeout = 100")
            with pytest.raises(psycopg.errors.LockNotAvailable):
                other.execute(change)
        assert opened.total() == 3


ALTERED = {
    "another table": "ALTER TABLE kept.people RENAME TO moved; "
    "CREATE VIEW kept.people AS SELECT * FROM kept.crossed",
    "another type, whose values stop a cast": "ALTER TABLE kept.people ALTER COLUMN age TYPE text; "
    "UPDATE kept.people SET age = 'x'",
}


@pytest.mark.parametrize("kind", ALTERED)
def test_what_is_altered_while_it_is_judged_is_refused(project, kept, monkeypatch, kind):
    """After the first look, and before the lock."""
    kept.execute(f"{PARENT} INSERT INTO kept.people VALUES {ROWS}")
    path = source_of(project, kept, "kept.people")
    selected = engine_module.selected

    def altered_meanwhile(*arguments):
        kept.execute(ALTERED[kind])
        return selected(*arguments)

    monkeypatch.setattr(engine_module, "selected", altered_meanwhile)
    with pytest.raises(SourceError, match=r"kept\.people was altered while it was opened"):
        counts_of(path)


def test_one_statement_reads_all_records(project, kept):
    """It sees one moment; a second one would see what was stored in between."""
    kept.execute(f"{PARENT} INSERT INTO kept.people VALUES {ROWS}")
    with Opened(source_of(project, kept, "kept.people")) as opened:
        assert opened.total() == 3
        kept.execute(f"INSERT INTO kept.people VALUES {ROWS}")
        with pytest.raises(BugError, match="at another moment"):
            opened.total()


def test_the_server_sends_no_notice(project, kept):
    kept.execute(
        f"""
        {PARENT} INSERT INTO kept.people VALUES {ROWS};
        CREATE FUNCTION kept.says(v text) RETURNS text LANGUAGE plpgsql AS
            $$ BEGIN RAISE NOTICE 'seen %', v; RAISE WARNING 'seen %', v; RETURN v; END $$;
        CREATE VIEW kept.loud AS SELECT age, kept.says(sex) AS sex, town FROM kept.people;
        """
    )
    path = source_of(project, kept, "kept.loud", view_reason="every row is one of the table")
    said = []
    with Opened(path) as opened:
        opened.entered.connection.add_notice_handler(said.append)
        assert opened.total() == 3
    assert said == []
