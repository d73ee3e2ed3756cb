"""A series over its whole horizon: days pass, a timer fires, jobs are struck, promises are kept.

What is due is reckoned here from the calendar alone, and what is published is read off the folder
of releases; every start of the job is held against these two.
"""

from __future__ import annotations

import hashlib
import json
import random
import statistics
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date, timedelta
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import yaml

from schedule_harness.growing_table import GrowingTable
from schedule_harness.timer import Ended, Timer, kill
from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.recount import recount
from synth.release import verify_release
from tests.atom_feed import ATOM, problems_of
from tests.engines.conftest import Server

TABLE = "visits"
POPULATION = "visitors"
WARNED_AHEAD = 3
"""Periods before the end of the horizon from which on a start that publishes may say so."""
MOST_STARTS = 12
"""A period that so many starts did not publish will never be."""
MONTHS = {"month": 1, "quarter": 3, "year": 12}


class LostError(Exception):
    """A promise that did not hold."""


@dataclass(frozen=True)
class Asked:
    """What is simulated."""

    every: str
    horizon: int
    rows: str
    table: GrowingTable
    epsilon: str = "1"
    delta: str = "0"
    delay: int = 5
    first_year: int = 2026
    pairs: bool = False
    """Whether all pairs of columns are measured, and nothing else; with a delta, Gaussian noise."""

    def first_day(self, index: int) -> date:
        """When a period begins; the first has the index 1."""
        months = (index - 1) * MONTHS[self.every]
        return date(self.first_year + months // 12, months % 12 + 1, 1)

    def due_on(self, index: int) -> date:
        """The day from which its release is due."""
        return self.first_day(index + 1) + timedelta(self.delay)

    def label(self, index: int) -> str:
        """How the period is called in names of releases."""
        day = self.first_day(index)
        forms = {
            "month": f"{day:%Y-%m}",
            "quarter": f"{day.year}-q{(day.month + 2) // 3}",
            "year": str(day.year),
        }
        return forms[self.every]

    def configuration(self, url: str) -> dict[str, Any]:
        """The configuration of the series."""
        return {
            "schema_version": 1,
            "release": {
                "id": "visits-{period}",
                "title": "Visits to clinics, synthetic",
                "description": "Made-up visits of a table that grows",
                "curators": ["Example Health Board"],
                "contact": "data@example.org",
                "intended_use": "A simulation of two years",
                "region": "Exampleland",
                "sector": "Healthcare",
                "license": "CC-BY-4.0",
            },
            "source": {
                "url": url,
                "table": f"public.{TABLE}",
                "where": {"column": "visit_date", "within": "period"},
                "disposal": "keep",
                "disposal_reason": "made up",
            },
            "series": {
                "every": self.every,
                "first": self.label(1).upper(),
                "rows": self.rows,
                "horizon": self.horizon,
                "delay": self.delay,
                "renewal": "end",
            },
            "privacy": {
                "epsilon": self.epsilon,
                "delta": self.delta,
                "neighbours": "add-remove",
                "unit": "record",
                "justification": "Made-up visits need none.",
            },
            "ledger": {
                "path": "state/ledger.sqlite",
                "population": POPULATION,
                "epsilon_cap": self.epsilon,
                "delta_cap": self.delta,
            },
            "domain": self.table.domain,
            "workload": {"marginals": 2},
            "strategy": {"tables": [list(pair) for pair in combinations(self.table.names, 2)]}
            if self.pairs
            else "auto",
            "output": {"directory": "outputs"},
        }


@dataclass
class Schedule:
    """The years of one series in a directory."""

    asked: Asked
    place: Path
    server: Server
    timer: Timer
    seed: int
    struck_share: float = 0.5
    """How many of the first starts of a period are struck; of the later ones half as many."""
    starts: Counter[str] = field(default_factory=Counter)
    """What became of the starts."""
    manifests: dict[str, str] = field(default_factory=dict)
    """The hash of every manifest, when its folder was first seen."""
    measured: dict[str, str] = field(default_factory=dict)
    """The hash of every file of noise, when it was first seen."""
    entries: dict[str, str] = field(default_factory=dict)
    """The time of every entry of the feed, when it was first seen."""
    warned: int = 0
    seconds: list[float] = field(default_factory=list)
    """Of starts that published one period undisturbed."""

    def __post_init__(self) -> None:
        self.choose = random.Random(self.seed)
        self.config = self.place / "visits.yaml"
        self.outputs = self.place / "outputs"
        text = yaml.safe_dump(self.asked.configuration(self.server.url()), sort_keys=False)
        self.config.write_text(text, encoding="utf-8")
        self.server.execute(f"DROP TABLE IF EXISTS {TABLE}")
        texts = ", ".join(f"{name} text" for name in self.asked.table.names[1:])
        self.server.execute(f"CREATE TABLE {TABLE} (visit_date date, age integer, {texts})")

    def pass_years(self, told: Callable[[str], None] = lambda _: None) -> None:
        """Let every period come, grow and fall due; the timer fires until it is published."""
        number = self.asked.horizon // 4  # periods in which the machine is off
        missed = set(self.choose.sample(range(2, self.asked.horizon), min(2, number)))
        for index in range(1, self.asked.horizon + 1):
            self.grow(index)
            due = self.asked.due_on(index)
            if index % 3 == 0 and index - 1 not in missed:
                self.require_nothing(due - timedelta(1))
            if index in missed:  # the machine is off until the next period falls due
                continue
            days = self.days(due)
            self.fire(next(days), share=self.struck_share)
            while len(self.published()) < index:
                self.fire(next(days), share=self.struck_share / 2)
            told(f"{self.asked.label(index)}: {dict(self.starts)}")
        self.require_nothing(self.asked.due_on(self.asked.horizon) + timedelta(30))

    def days(self, due: date) -> Iterator[date]:
        """The days on which the timer fires for a period; too many are a lost promise."""
        for number in range(MOST_STARTS):
            yield due + timedelta(number)
        raise LostError(f"{due}: still not published after {MOST_STARTS} starts")

    def grow(self, index: int) -> None:
        """The records of a period come into the table."""
        end = self.asked.first_day(index + 1) - timedelta(1)
        lines = self.asked.table.lines(index, (self.asked.first_day(index), end))
        with self.server.connect() as connection, connection.transaction():
            columns = ", ".join(("visit_date", *self.asked.table.names))
            copying = f"COPY {TABLE} ({columns}) FROM STDIN (FORMAT csv)"
            with connection.cursor().copy(copying) as copied:
                copied.write(lines)

    def published(self) -> set[str]:
        """The names of the folders of releases."""
        if not self.outputs.exists():
            return set()
        folders = {entry.name for entry in self.outputs.iterdir() if entry.is_dir()}
        return {name for name in folders if not name.startswith(".")}

    def due(self, today: date) -> set[str]:
        """The names of the releases that are due."""
        return {
            f"visits-{self.asked.label(index)}"
            for index in range(1, self.asked.horizon + 1)
            if self.asked.due_on(index) <= today
        }

    def fire(self, today: date, *, share: float) -> Ended:
        """One start of the job, perhaps struck, and all that must hold after it."""
        before = self.published()
        what = self.choose.choice(STRIKES) if self.choose.random() < share else "nothing"
        if not self.seconds:  # how long a start takes is not known yet
            what = "nothing"
        longest = statistics.median(self.seconds[-5:] or [0.0])
        arguments = ("due", str(self.config), "--today", today.isoformat())
        if what == "host away":
            self.server.stop()
            ended = self.timer.start(*arguments)
            self.server.start()
        elif what == "nothing":
            ended = self.timer.start(*arguments)
        else:
            strike = kill if what == "kill" else self._take_host_away
            instant = self.choose.uniform(0.02, 1.0) * longest
            ended = self.timer.start(*arguments, after=instant, strike=strike)
            self._bring_host_back()
        self.require(today, ended, what, before)
        return ended

    def _take_host_away(self, _job: subprocess.Popen[str]) -> None:
        self.server.stop()

    def _bring_host_back(self) -> None:
        with suppress(subprocess.CalledProcessError):  # it is there already
            self.server.start()

    def require(self, today: date, ended: Ended, what: str, before: set[str]) -> None:
        """After a start: alerts tell failures alone, and nothing is altered that was there."""
        story = f"{today}, {what}: exit code {ended.exit_code}\n{ended.said}"
        after, due = self.published(), self.due(today)
        if not before <= after <= due:
            raise LostError(f"{story}\nbefore {before}\nafter {after}\ndue {due}")
        whole = after == due
        if "Traceback" in ended.said or ended.exit_code == 3:
            raise LostError(f"a traceback: {story}")
        if ended.was_killed:
            self.starts["killed"] += 1
            if what != "kill":
                raise LostError(f"died by itself: {story}")
        elif not whole:
            self.starts["failed, told"] += 1
            if not (ended.sets_off_on_failure and ended.is_mailed):
                raise LostError(f"a failure without an alert: {story}")
            if ended.exit_code != 1:
                raise LostError(f"another exit code than 1: {story}")
            if what == "nothing":
                raise LostError(f"failed undisturbed: {story}")
        else:
            self.starts["done"] += 1
            if ended.exit_code:
                raise LostError(f"an alert without a failure: {story}")
            self._require_silence(ended, len(after), story)
            if left := [entry.name for entry in self.outputs.glob(".*") if entry.is_dir()]:
                raise LostError(f"left over: {left} {story}")
            if what == "nothing" and len(after - before) == 1:
                self.seconds.append(ended.seconds)
            self.require_public_index(after)
        self._require_kept(story)

    def _require_silence(self, ended: Ended, index: int, story: str) -> None:
        """Success says nothing, but that the horizon ends in some periods."""
        if not ended.is_mailed:
            return
        self.warned += 1
        if index < self.asked.horizon - WARNED_AHEAD or "horizon" not in ended.said:
            raise LostError(f"a mail without a failure: {story}")

    def _require_kept(self, story: str) -> None:
        """No release and no noise is ever another one than when it was first seen."""
        found = {
            folder: _sha256(self.outputs / folder / "manifest.json") for folder in self.published()
        }
        drawn = {
            path.parent.name: _sha256(path)
            for path in (self.place / "state" / "runs").glob("*/measurements.parquet")
        }
        for seen, now in ((self.manifests, found), (self.measured, drawn)):
            for name, sha256 in now.items():
                if seen.setdefault(name, sha256) != sha256:
                    raise LostError(f"{name} is another one than before: {story}")

    def require_nothing(self, today: date) -> None:
        """A start on a day on which nothing new is due does nothing and says nothing."""
        before = self.published()
        ended = self.timer.start("due", str(self.config), "--today", today.isoformat())
        self.starts["nothing due"] += 1
        if ended.exit_code or ended.said or self.published() != before:
            raise LostError(f"{today}, nothing due: exit code {ended.exit_code}\n{ended.said}")

    def require_public_index(self, folders: set[str]) -> None:
        """Index, feed and `series.json` tell of the published folders and of nothing else."""
        from xml.etree import ElementTree

        feed = (self.outputs / "feed.xml").read_bytes()
        if found := problems_of(feed):
            raise LostError(f"the feed is not valid: {found}")
        root = ElementTree.fromstring(feed)
        entries = {
            entry.findtext(f"{ATOM}id") or "": entry.findtext(f"{ATOM}updated") or ""
            for entry in root.findall(f"{ATOM}entry")
        }
        if len(entries) != len(folders):
            raise LostError(f"{len(entries)} entries of the feed, {len(folders)} folders")
        for name, updated in entries.items():
            if self.entries.setdefault(name, updated) != updated:
                raise LostError(f"the entry {name} has another time than before")
        page = (self.outputs / "index.html").read_text(encoding="utf-8")
        known = (self.outputs / "series.json").read_text(encoding="utf-8")
        json.loads(known)
        if missing := [name for name in folders if name not in page or name not in known]:
            raise LostError(f"the index does not tell of {missing}")

    def require_whole(self) -> dict[str, Any]:
        """At the end: every release stands, each was charged for as declared, nothing is open."""
        names = {f"visits-{self.asked.label(index + 1)}" for index in range(self.asked.horizon)}
        if self.published() != names:
            raise LostError(f"published {self.published()}, asked for {names}")
        for name in sorted(names):
            verify_release(self.outputs / name)
        if self.entries.keys() and len(self.entries) != len(names):
            raise LostError("an entry of the feed had another id at times")
        with Ledger.open_existing(self.place / "state" / "ledger.sqlite") as ledger:
            ledger.verify_chain()
            events = ledger.history()
            position = ledger.position(POPULATION)
            states = Counter(run.state for run in position.runs)
            counted = recount(events)[POPULATION]
        if states != {RunState.PUBLISHED: len(names)}:
            raise LostError(f"states of the runs: {states}")
        kinds = Counter((event.kind, event.release_id) for event in events)
        if twice := [
            key for key, number in kinds.items() if number > 1 and key[0] not in ("attempt", "void")
        ]:
            raise LostError(f"more than once in the ledger: {twice}")
        declared = Fraction(self.asked.epsilon)  # Gaussian tables are charged a little below it
        if not 0 <= declared - position.spent.epsilon <= declared / 10**9:
            raise LostError(f"charged epsilon {position.spent.epsilon}")
        if tuple(map(str, (position.spent.epsilon, position.spent.delta))) != tuple(
            f"{top}/{bottom}" if bottom != 1 else str(top) for top, bottom in counted
        ):
            raise LostError("the two accounts of the ledger do not agree")
        return {
            "periods": len(names),
            "starts": self.starts,
            "warnings of the end": self.warned,
            "charged epsilon": str(position.spent.epsilon),
            "charged delta": str(position.spent.delta),
        }

    def status(self, today: date, *options: str) -> Ended:
        """What `synth status` says."""
        return self.timer.start("status", str(self.config), "--today", today.isoformat(), *options)


STRIKES = ("kill", "kill", "kill", "host away", "host goes")


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
