"""Random tables of PostgreSQL, each counted with and without one unit of stored records.

    python benchmarks/random_sources/postgres.py --cases 60

A seed makes a source (`RandomSource`): a plain table, partitions or child tables up to three deep,
some of them foreign, policies, a view or a materialised view above it; and somebody who reads it.
Then one unit is stored that was not there: a record or a person's records, in the table or in
another that a policy or a view looks at. The counts must move by no more than the sensitivity that
the configuration states, or both must be refused with one exit code and one message. What must be
refused and what must be counted is known of every source. With one wrong end the exit code is 1.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Protocol

import psycopg
import yaml

from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.measuring import quiet_libraries
from synth.curator.tabulate import tabulate
from synth.errors import SynthError

ROOT = Path(__file__).parents[2]
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


@dataclass(frozen=True)
class Outcome:
    """How a pair of neighbours ended."""

    source: str
    """What the source is made of."""
    end: str
    """`counted` or `refused`."""
    change_l1: int
    sensitivity_l1: int
    problem: str | None
    """What is wrong with it, if anything is."""


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
        ends.append(_end(path, source.role))
    (before, said), (after, then_said) = ends
    sensitivity = source.person_records or 1
    change_l1, problem = 0, None
    if (before is None) != (after is None) or said != then_said:
        problem = f"one record decides the end: {said} or {then_said}"
    elif before is None:
        if not source.is_refused or not any(words in said for words in REFUSALS):
            problem = f"refused: {said}"
    else:
        change_l1 = int(abs(after - before).sum())
        if source.is_refused:
            problem = "counted, although it cannot be trusted"
        elif change_l1 > sensitivity:
            problem = f"the counts move by {change_l1}, stated are {sensitivity}"
    end = "refused" if before is None else "counted"
    made_of = ", ".join(part for part in source.made_of if part)
    return Outcome(made_of, end, change_l1, sensitivity, problem)


def _end(path: Path, role: str) -> tuple[Any, str]:
    """The counts; or none, and the exit code and message of the refusal."""
    environment = {"PGUSER": role, "PGPASSWORD": PASSWORD}
    before = {name: os.environ.get(name) for name in environment}
    os.environ.update(environment)
    try:
        config = load_config(path)
        with quiet_libraries():
            counts = tabulate(config, config.source, source_files(config.source), path.parent)
        return counts.consume(), ""
    except SynthError as error:
        return None, f"exit {error.exit_code}: {error}"
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
    bound = {"column": "person", "max_records": source.person_records}
    return {
        "schema_version": 1,
        "release": {
            "id": "random", "title": "Random", "description": "Made up", "curators": ["Nobody"],
            "contact": "data@example.org", "intended_use": "Tests", "region": "Nowhere",
            "sector": "Government", "license": "CC-BY-4.0",
        },
        "source": place | {"disposal": "keep", "disposal_reason": "made up"},
        "privacy": {
            "epsilon": 1, "neighbours": "add-remove", "justification": "Nobody is in it.",
            "unit": bound if source.person_records else "record",
        },
        "ledger": {"path": "ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
        "domain": [column | {"source": "made up"} for column in columns],
        "workload": {"marginals": 1},
        "output": {"directory": "outputs"},
    }  # fmt: skip


def main() -> None:
    """Read the command line; try seed after seed on a server of our own."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=60)
    parser.add_argument("--first-seed", type=int, default=1)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    from tests.engines.conftest import running_server

    ends: Counter[str] = Counter()
    moved: Counter[int] = Counter()
    with running_server() as server, tempfile.TemporaryDirectory() as place:
        if server is None:
            raise SystemExit("no PostgreSQL server is installed (no initdb)")
        with prepared(server):
            for seed in range(options.first_seed, options.first_seed + options.cases):
                outcome = tried(server, seed, Path(place))
                ends["wrong" if outcome.problem else outcome.end] += 1
                if outcome.end == "counted":
                    moved[outcome.change_l1] += 1
                if outcome.problem:
                    print(f"seed {seed} ({outcome.source}): {outcome.problem}", flush=True)
    print(f"{options.cases} sources: {dict(ends)}; counts moved by {dict(sorted(moved.items()))}")
    if ends["wrong"]:
        raise SystemExit(1)


if __name__ == "__main__":
    main()
