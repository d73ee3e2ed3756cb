"""What random files of every format share: their neighbours, and how their records are counted.

The counts are known without the engine: `expected` reads every value of every record by the words
of docs/configuration.md, in Python, and adds up the cells.
"""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from synth.domain import Attribute, Universe

LEVELS = (
    "Female",
    "Male",
    "",
    "1",
    "1.5",
    "true",
    "2020-02-29",
    "nan",
    "0.50",
    "Süd",
    'a"b',
    "x,y",
)
AGES = (
    "-5", " 7 ", "\t8\n", "+3", "12.5", ".5", "1.", "1e1", "1E400", "-1e-400", "inf", "-Infinity",
    "nan", "", "abc", "1_0", "0x10", "1e", "٣", "5 5", "5\0", "0" * 999 + "7", "0" * 1_000 + "7",
)  # fmt: skip
"""Texts that are read as numbers by a rule of their own; most records hold a plain one."""
IDS = ("", "Ü", "e e", "q\"'", "two\nlines", "nul\0", "\udcff", "0", "7", "long " * 1_000, "a,b;c")
NUMBER = re.compile(
    r"[ \t\n\v\f\r]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?"
    r"|[+-]?(?:inf|infinity))[ \t\n\v\f\r]*",
    re.IGNORECASE,
)
NUMBER_CHARACTERS = 1_000
NEEDED = ("age", "sex", "town")
PERSON = "person"

Row = TypeVar("Row")


@dataclass
class Part(Generic[Row]):
    """A file: its columns in their order, and its rows."""

    columns: list[str]
    rows: list[Row] = field(default_factory=list)


class FileSource(ABC, Generic[Row]):
    """Some files under one name or pattern; everything is up to the seed."""

    def __init__(self, chance: Random, *, largest_field: int) -> None:
        """Nothing is made yet. Fields have at most about `largest_field` bytes."""
        self.chance, self.largest_field = chance, largest_field
        self.max_records = chance.choice((0, 0, 2, 3))
        self.neighbours = chance.choice(("add-remove", "replace-one"))
        self.needed = [*NEEDED, *([PERSON] if self.max_records else [])]
        self.parts: list[Part[Row]] = []
        self.made_of: list[str] = []
        self.is_refused = False

    @property
    @abstractmethod
    def place(self) -> Mapping[str, Any]:
        """The section `source` of the configuration."""

    @abstractmethod
    def make(self) -> None:
        """All parts and their rows."""

    @abstractmethod
    def write(self, directory: Path) -> None:
        """The files as they are now."""

    @abstractmethod
    def row(self, part: Part[Row], person: str | None) -> Row:
        """A row for this file; with a person, a record of that person or none."""

    @abstractmethod
    def values(self, part: Part[Row], row: Row) -> Mapping[str, str] | None:
        """The values of a record as text; None if there is none in the row."""

    def domain(self) -> list[dict[str, Any]]:
        """The columns; there may be so many levels that they are looked up."""
        chance = self.chance
        age = {"name": "age", "type": "integer", "minimum": 0, "maximum": 99, "bin_width": 10}
        age |= chance.choice(({}, {"missing": [""]}, {"missing": ["", "abc"]}))
        age["out_of_domain"] = chance.choice(("clamp", "[90, 99]"))
        many = [f"T{number}" for number in range(chance.choice((0, 0, 100)))]
        sex = {"name": "sex", "type": "categorical", "levels": [*LEVELS[:2], *LEVELS[3:7], "other"]}
        town = {"name": "town", "type": "categorical", "levels": [*LEVELS[7:], *many, "other"]}
        if chance.random() < 0.5:
            sex["missing"] = [""]
        return [age, sex | {"out_of_domain": "other"}, town | {"out_of_domain": "other"}]

    def text(self, name: str) -> str:
        """A value for a column that is counted; often one that is easily misread."""
        chance = self.chance
        if name == "age":
            return str(chance.randint(0, 99)) if chance.random() < 0.6 else chance.choice(AGES)
        if name == PERSON:
            return chance.choice((f"p{chance.randint(0, 8)}", chance.choice(IDS)))
        return chance.choice((*LEVELS, f"T{chance.randint(0, 120)}"))

    def change(self) -> str:
        """Make a neighbour of it; says how."""
        chance = self.chance
        removes = chance.random() < 0.5
        adds = self.neighbours == "replace-one" or not removes
        removes |= self.neighbours == "replace-one"
        if removes:
            removed = self._remove()
            adds |= not removed  # there was nobody: it is the other way round
            if self.neighbours == "replace-one" and not removed:
                return "nothing is there"
        if adds:
            self._add()
        return " and ".join(["removed"] * removes + ["added"] * adds)

    def _remove(self) -> bool:
        if not self.max_records:
            places = [(part, number) for part in self.parts for number in range(len(part.rows))]
            if places:
                part, number = self.chance.choice(places)
                del part.rows[number]
            return bool(places)
        owners = sorted({values.get(PERSON, "") for _, _, values in self._records()} - {""})
        if not owners:
            return False
        owner = self.chance.choice(owners)
        gone = {id(row) for _, row, values in self._records() if values.get(PERSON) == owner}
        for part in self.parts:
            part.rows = [row for row in part.rows if id(row) not in gone]
        return True

    def _add(self) -> None:
        """A record; or the records of a new person, scattered over the files."""
        number = self.chance.randint(1, 6) if self.max_records else 1
        person = self.new_person() if self.max_records else None
        for _ in range(number):
            part = self.chance.choice(self.parts)
            part.rows.insert(self.chance.randint(0, len(part.rows)), self.row(part, person))

    def new_person(self) -> str:
        """An id that nobody has, awkward if need be."""
        return "new " + self.chance.choice(IDS)

    def _records(self) -> Iterator[tuple[Part[Row], Row, Mapping[str, str]]]:
        for part in self.parts:
            for row in part.rows:
                values = self.values(part, row)
                if values is not None:
                    yield part, row, values

    def expected(self, universe: Universe) -> NDArray[np.int64]:
        """The counts of the universe, without the engine."""
        import numpy as np

        cells: dict[str, list[int]] = defaultdict(list)
        for _, _, values in self._records():
            codes = [code(each, values[each.name]) for each in universe.attributes]
            cell = int(np.ravel_multi_index(codes, universe.shape))
            cells[values.get(PERSON, "") if self.max_records else "all"].append(cell)
        counts = np.zeros(universe.size, np.int64)
        for person, own in cells.items():
            if self.max_records and person:
                own = kept(person, own, self.max_records)
            if person:
                np.add.at(counts, own, 1)
        return counts


def code(attribute: Attribute, text: str) -> int:
    """The code of a value as the documentation has it."""
    if attribute.missing_code is not None and text in attribute.missing:
        return attribute.missing_code
    if not attribute.is_ordered:
        known = text in attribute.levels
        return attribute.levels.index(text) if known else attribute.unreadable_code
    found = NUMBER.fullmatch(text) if len(text) <= NUMBER_CHARACTERS else None
    if found is None:
        return attribute.unreadable_code
    number, last = float(found[1]), attribute.bin_count - 1
    out = attribute.out_of_domain_code
    if number < attribute.edges[0]:
        return 0 if out is None else out
    if number > attribute.edges[-1]:
        return last if out is None else out
    return min(sum(number >= edge for edge in attribute.edges[1:]), last)


def kept(person: str, cells: Sequence[int], most: int) -> list[int]:
    """The cells of the records that count of one person.

    Its id is known by its first 1,000 characters; those that stand for kept bytes are kept as four.
    """
    person = re.sub("[\U000f0000-\U000f00ff]", "\udcff" * 4, person[:1_000])
    name = re.sub("[^ -~]+", "", person[:1_000])

    def order(cell: int) -> tuple[str, int]:
        hashed = hashlib.md5(f"{name}:{cell}".encode(), usedforsecurity=False)
        return hashed.hexdigest(), cell

    return sorted(cells, key=order)[:most]
