"""The text of a query with one dialect loaded, in an interpreter of its own."""

import subprocess
import sys

CODE = """
import sys
import ibis
from synth.curator.sql_text import sql_text

def compilers():
    return [name for name in sys.modules if name.startswith("ibis.backends.sql.compilers")]

table = ibis.table({"a": "string", "n": "float64"}, name="t")
query = table.group_by(code=ibis.ifelse(table.a == "x", 1, 2)).agg(records=table.count())
first = [sql_text(query, dialect) for dialect in ("duckdb", "postgres", "duckdb")]
assert compilers() == []
usual = [str(ibis.to_sql(query, dialect=dialect)) for dialect in ("duckdb", "postgres", "duckdb")]
assert first == usual, (first, usual)
assert "ibis.backends.sql.compilers.snowflake" in compilers()
assert [sql_text(query, dialect) for dialect in ("duckdb", "postgres", "duckdb")] == usual
assert "GROUP BY" in str(ibis.duckdb.connect().compile(query))
"""


def test_a_query_is_written_as_ibis_writes_it_and_ibis_stays_whole():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
