"""Random tables of PostgreSQL, each counted with and without one unit of stored records.

A seed makes a source (`RandomSource`): a plain table, partitions or child tables up to three deep,
some of them foreign, policies, a view or a materialised view above it; and somebody who reads it.
Then one unit is stored that was not there: a record or a person's records, in the table or in
another that a policy or a view looks at. The counts must move by no more than the sensitivity that
the configuration states, or both must be refused with one exit code and one message. What must be
refused and what must be counted is known of every source.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, Protocol

import psycopg
import yaml

from random_sources.outcome import Outcome, configuration, end_of, judged
from synth.config import load_config

PASSWORD = "made-up"
SCHEMA = "random_source"
ROLES = {
    "synth": "SUPERUSER",
    "random_reader": "NOSUPERUSER",
    "random_holder": "NOSUPERUSER",
    "random_exempt": "NOSUPERUSER BYPASSRLS",
}
"""Who reads: all rights, those to read, those of the table's owner, and none of the policies."""

AGES = ("int", "smallint", "numeric", "text", "double precision", "random_source.years")
POLICIES = {
    "everything": "true",
    "a query": "(SELECT count(*) FROM random_source.apart) % 2 = 0",
    "a cast": "note::int >= 0",
}
VIEWS = {
    "renamed": "SELECT * FROM {table}",
    "filtered": "SELECT * FROM {table} WHERE age IS NOT NULL",
    "crossed": "SELECT a.* FROM {table} AS a, {table} AS b",
    "looking aside": "SELECT a.* FROM {table} AS a, random_source.apart",
    "casting": "SELECT * FROM {table} WHERE note::int >= 0",
}
HONEST = ("renamed", "filtered")
"""Of these a reason is true; the others are given none, and so must be refused."""

REFUSALS = ("row-level security applies", "not all rows of", "is a view or a foreign table")


class Server(Protocol):
    """A server of our own, and the words for it; see `tests/engines/conftest.py`."""

    directory: Path

    def url(self, database: str = ...) -> str: ...  # noqa: D102
    def execute(self, statement: str, *parameters: object) -> list[tuple]: ...  # noqa: D102


class RandomSource:
    """A source in its own schema, which is made anew; all but the server is up to the seed."""

    def __init__(self, server: Server, seed: int) -> None:
        """Nothing is made yet."""
        self._server, self._chance = server, Random(seed)
        self.person_records = self._chance.choice((0, 0, 1, 3))
        self.role = self._chance.choice(list(ROLES))
        self.made_of: list[str] = []
        self.is_as_stored, self.is_refused = True, False
        self._places: list[tuple[str, int]] = []
        """Where records can be stored, and with which number of a part."""
        self._stored_tables: list[str] = []

    def make(self) -> None:
        """The schema, the table with what is below and above it, and some records."""
        chance = self._chance
        age = chance.choice(AGES)
        self._columns = f"person text, age {age}, sex text, town text, part int, note text"
        self._run(
            f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; CREATE SCHEMA {SCHEMA};"
            f"CREATE DOMAIN {SCHEMA}.years AS int CHECK (VALUE >= 0);"
            f"CREATE TABLE {SCHEMA}.apart ({self._columns})"
        )
        shape = chance.choice(("plain", "partitioned", "partitioned", "inherited", "inherited"))
        self.made_of.append(shape)
        self.table = f"{SCHEMA}.people"
        has_foreign = chance.random() < 0.4
        if shape == "partitioned":
            self._partition(self.table, "", 0, chance.randint(2, 5), 3, has_foreign)
        else:
            self._run(f"CREATE TABLE {self.table} ({self._columns})")
            self._places.append((self.table, 0))
            self._stored_tables.append(self.table)
            if shape == "inherited":
                self._inherit(chance.randint(1, 4), has_foreign)
        self._store([self._record(number) for number in range(chance.randint(0, 40))])
        self._run(f"INSERT INTO {SCHEMA}.apart (note) SELECT '1' FROM generate_series(1, 10)")
        if chance.random() < 0.4:
            self._restrict()
        if chance.random() < 0.4:
            self._see()
        for role in ROLES:
            self._run(
                f"GRANT USAGE ON SCHEMA {SCHEMA} TO {role};"
                f"GRANT SELECT ON ALL TABLES IN SCHEMA {SCHEMA} TO {role}"
            )
        self.gives_reason = self._reason_is_true and chance.random() < 0.6
        self.is_refused |= not (self.is_as_stored or self.gives_reason)
        self.made_of += [f"read by {self.role}", "with a reason" if self.gives_reason else ""]

    _reason_is_true = True

    def store_a_unit(self) -> None:
        """One record more; or a person more, with as many records as it likes."""
        number = self._chance.randint(1, 6) if self.person_records else 1
        records = [self._record(-1) for _ in range(number)]
        if self._chance.random() < 0.3:
            self._insert(f"{SCHEMA}.apart", records[:1])
        else:
            self._store(records)

    def refresh(self) -> None:
        """What is stored of a view follows its tables."""
        if "materialised" in self.made_of:
            self._run(f"REFRESH MATERIALIZED VIEW {SCHEMA}.seen")

    def _run(self, statement: str) -> None:
        self._server.execute(statement)

    def _record(self, owner: int) -> Sequence[str]:
        chance = self._chance
        return (
            "new" if owner < 0 else f"p{owner % 9}",
            str(chance.randint(0, 99)),
            chance.choice(("Female", "Male", "", "odd")),
            chance.choice(("Nord", "Süd", "Rom")),
            chance.choice(("1", "1", "1", "x")),
        )

    def _store(self, records: Sequence[Sequence[str]]) -> None:
        for record in records:
            table, part = self._chance.choice(self._places)
            self._insert(table, [record], part)

    def _insert(self, table: str, records: Sequence[Sequence[str]], part: int = 0) -> None:
        for record in records:
            *most, note = [f"'{value}'" for value in record]
            self._run(f"INSERT INTO {table} VALUES ({', '.join(most)}, {part}, {note})")

    def _partition(
        self, name: str, above: str, low: int, high: int, depth: int, has_foreign: bool
    ) -> None:
        """The parts from `low` to below `high`, by ranges of ranges; each leaf is one part."""
        of = f"PARTITION OF {above} FOR VALUES FROM ({low}) TO ({high})" if above else ""
        if above and (depth == 0 or high - low == 1):
            if has_foreign and (low == 0 or self._chance.random() < 0.3):
                self._foreign(name, of, low)
            else:
                self._run(f"CREATE TABLE {name} {of}")
                self._places.append((name, low))
                self._stored_tables.append(name)
            return
        self._run(f"CREATE TABLE {name} {of or f'({self._columns})'} PARTITION BY RANGE (part)")
        self._stored_tables.append(name)
        middle = self._chance.randint(low + 1, high - 1)
        for number, ends in enumerate(((low, middle), (middle, high))):
            self._partition(f"{name}_{number}", name, *ends, depth - 1, has_foreign)

    def _inherit(self, number: int, has_foreign: bool) -> None:
        """Child tables of one or two of those before."""
        for child in range(number):
            parents = self._chance.sample(
                self._stored_tables, min(len(self._stored_tables), self._chance.choice((1, 1, 2)))
            )
            name, of = f"{SCHEMA}.child_{child}", f"() INHERITS ({', '.join(parents)})"
            if has_foreign and (child == 0 or self._chance.random() < 0.3):
                self._foreign(name, of, 0)
            else:
                self._run(f"CREATE TABLE {name} {of}")
                self._places.append((name, 0))
                self._stored_tables.append(name)

    def _foreign(self, name: str, of: str, part: int) -> None:
        """Another table of this server, or a view of it, as if it were elsewhere."""
        kind = self._chance.choice(["stored", *VIEWS])
        self.made_of.append(f"foreign, {kind}")
        self.is_as_stored = False
        self._reason_is_true &= kind in ("stored", *HONEST)
        behind = f"{name}_behind"
        self._run(f"CREATE TABLE {behind} ({self._columns})")
        self._places.append((behind, part))
        if kind != "stored":
            self._run(f"CREATE VIEW {behind}_view AS {VIEWS[kind].format(table=behind)}")
            behind += "_view"
        self._run(
            f"CREATE FOREIGN TABLE {name} {of} SERVER random_loop "
            f"OPTIONS (schema_name '{SCHEMA}', table_name '{behind.split('.')[1]}')"
        )

    def _restrict(self) -> None:
        """Policies on one of the tables; `_see` may hide from us that they apply."""
        table, kind = self._chance.choice(self._stored_tables), self._chance.choice([*POLICIES])
        is_forced = self._chance.random() < 0.5
        self.made_of.append(f"policy, {kind}")
        self._run(
            f"CREATE POLICY p ON {table} USING ({POLICIES[kind]});"
            f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY;"
            f"ALTER TABLE {table} {'' if is_forced else 'NO '}FORCE ROW LEVEL SECURITY"
        )
        for each in self._stored_tables:
            self._run(f"ALTER TABLE {each} OWNER TO random_holder")
        self._restricted = table
        self._applies = self.role == "random_reader" or (self.role == "random_holder" and is_forced)
        self.is_refused |= self._applies

    _restricted, _applies = "", False

    def _see(self) -> None:
        """A view above the table; its owner has all rights, so its reader's may not count."""
        kind = self._chance.choice([*VIEWS])
        form = self._chance.choice(("view", "materialised", "of its reader"))
        self.made_of += [kind, form]
        words = {
            "view": "VIEW {} AS",
            "materialised": "MATERIALIZED VIEW {} AS",
            "of its reader": "VIEW {} WITH (security_invoker) AS",
        }[form]
        query = VIEWS[kind].format(table=self.table)
        seen = f"{SCHEMA}.seen"
        no_data = " WITH NO DATA" if form == "materialised" else ""
        self._run(f"CREATE {words.format(seen)} {query}{no_data}")
        if self._restricted:  # of a view, only the policies of the table that it names apply
            self.is_refused = (
                self._applies and form == "of its reader" and self._restricted == self.table
            )
        self.is_as_stored = False
        self._reason_is_true &= kind in HONEST
        self.table = seen


@contextmanager
def prepared(server: Server) -> Iterator[None]:
    """The roles and the way back to the server, gone afterwards."""
    for role, rights in ROLES.items():
        if role != "synth":
            server.execute(f"CREATE ROLE {role} LOGIN PASSWORD '{PASSWORD}' {rights}")
    server.execute(
        f"""
        CREATE EXTENSION IF NOT EXISTS postgres_fdw;
        CREATE SERVER random_loop FOREIGN DATA WRAPPER postgres_fdw
            OPTIONS (host '{server.directory}', dbname 'postgres');
        CREATE USER MAPPING FOR PUBLIC SERVER random_loop
            OPTIONS (user 'synth', password_required 'false');
        """
    )
    try:
        yield
    finally:
        server.execute(f"DROP SCHEMA IF EXISTS {SCHEMA} CASCADE; DROP SERVER random_loop CASCADE")
        for role in ROLES:
            if role != "synth":
                server.execute(f"DROP ROLE {role}")


def tried(server: Server, seed: int, directory: Path) -> Outcome:
    """One random source and one random neighbour of it, counted by the engine.

    Requires: within `prepared`.
    """
    source = RandomSource(server, seed)
    source.make()
    path = directory / "random.yaml"
    path.write_text(yaml.safe_dump(_configuration(server, source), allow_unicode=True))
    config = load_config(path)
    ends = []
    for change in (None, source.store_a_unit):
        if change is not None:
            change()
        try:
            source.refresh()
        except (
            psycopg.Error
        ):  # a cast that fails: what a materialised view held before is still there
            if source.gives_reason:
                raise
        with _as_role(source.role):
            ends.append(end_of(config))
    made_of = ", ".join(part for part in source.made_of if part)
    outcome = judged(made_of, *ends, config=config, is_refused=source.is_refused)
    is_told = any(words in ends[0].said for words in REFUSALS)
    if outcome.problem is None and outcome.end == "refused" and not is_told:
        return replace(outcome, problem=f"refused: {ends[0].said}")
    return outcome


@contextmanager
def _as_role(role: str) -> Iterator[None]:
    environment = {"PGUSER": role, "PGPASSWORD": PASSWORD}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name) if value is None else os.environ.update({name: value})


def _configuration(server: Server, source: RandomSource) -> Mapping[str, Any]:
    place = {"url": server.url(), "table": source.table}
    if source.gives_reason:
        place["view_reason"] = "every row is one record of a table"
    age = {"name": "age", "type": "integer", "minimum": 0, "maximum": 99, "bin_width": 10}
    columns = [age | {"out_of_domain": "clamp"}] + [
        {"name": name, "type": "categorical", "levels": levels, "out_of_domain": "other"}
        for name, levels in {"sex": ["Female", "Male", "other"], "town": ["Nord", "other"]}.items()
    ]
    return configuration(place, columns, max_records=source.person_records)
