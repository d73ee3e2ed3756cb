"""The how-to page on PostgreSQL: its SQL, its configuration and its commands."""

from pathlib import Path

from tests.docs.carried_out import carry_out
from tests.docs.test_how_to import INSTALL
from tests.docs.test_signing_page import DOCS, run

ADDRESS = "postgresql://db.example.org:5432/registry?sslmode=verify-full"


def test_the_page_on_postgresql_is_carried_out(tmp_path, server):
    server.execute("drop table if exists visits cascade")  # other tests of the server have one

    def sql(_place: Path, text: str) -> str:
        server.execute(text)
        return ""

    def where_the_database_is(place: Path, text: str) -> str:
        config = place / "visits.yaml"
        written = config.read_text()
        assert ADDRESS in written
        config.write_text(written.replace(ADDRESS, server.url()))
        done = run(place, f"exec 2>&1\n{text}")
        assert done.returncode == 0, done.stdout
        return done.stdout

    others = INSTALL | {"sql": sql, "run in the database's place": where_the_database_is}
    marks = carry_out(DOCS / "how-to" / "postgresql.md", tmp_path, others)
    assert others.keys() <= set(marks)
    assert (tmp_path / "outputs" / "visits-2025" / "index.html").exists()
