"""What a release promises, and to whom: the terms in which epsilons of several releases add up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, get_args

from synth.config import PersonUnit, PrivacyConfig
from synth.config.guarantee import Neighbours


@dataclass(frozen=True)
class Promise:
    """The neighbouring relation and the privacy unit of one release.

    Privacy: the epsilon of a release bounds how far it tells two tables apart that are neighbours
    by its own relation, for its own unit. Two such bounds add up (basic composition) if every
    pair of tables that are neighbours for the one are neighbours for the other, as
    `adds_up_with` decides. The bound `max_records` is no part of that: whatever it is, neighbours
    differ by everything that one person has in the table.
    Raises: ValueError for a relation that is unknown, and unless persons have a column and a
    bound, and records neither.
    """

    neighbours: Neighbours
    person_column: str | None
    """The column whose values are the persons; None: the unit is a record."""
    max_records: int | None
    """The most records that count for a person; None: the unit is a record."""

    def __post_init__(self) -> None:
        if self.neighbours not in get_args(Neighbours):
            raise ValueError(f"no promise is known for neighbours {self.neighbours!r}")
        if (self.person_column is None) != (self.max_records is None):
            raise ValueError("persons have a column and a bound, records neither")
        if self.max_records is not None and (
            type(self.max_records) is not int or self.max_records < 1
        ):
            raise ValueError("a person has a whole number of records, at least 1")

    @staticmethod
    def of(privacy: PrivacyConfig) -> Promise:
        """The promise that a configuration asks for."""
        unit = privacy.unit
        if isinstance(unit, PersonUnit):
            return Promise(privacy.neighbours, unit.column, unit.max_records)
        return Promise(privacy.neighbours, None, None)

    @property
    def terms(self) -> tuple[Neighbours, str | None]:
        """What must be the same for epsilons to add up: the relation, and whose records."""
        return self.neighbours, self.person_column

    def adds_up_with(self, other: Promise) -> bool:
        """Whether the two speak of the same neighbours, so that their epsilons add up."""
        return self.terms == other.terms

    def to_plain(self) -> dict[str, Any]:
        """JSON values; for records the column and the bound are left out."""
        plain: dict[str, Any] = {"neighbours": self.neighbours, "unit": "record"}
        if self.person_column is not None:
            plain |= {
                "unit": "person",
                "person_column": self.person_column,
                "max_records": self.max_records,
            }
        return plain

    @staticmethod
    def from_plain(plain: dict[str, Any]) -> Promise:
        """Read a promise back; raises ValueError, KeyError or TypeError if it is damaged."""
        if not isinstance(plain, dict):
            raise TypeError("a promise is an object")
        column = plain.get("person_column")
        promise = Promise(plain["neighbours"], column, plain.get("max_records"))
        if promise.to_plain() != plain or not (column is None or isinstance(column, str)):
            raise ValueError("no promise is spelled like this")
        return promise

    def __str__(self) -> str:
        """In words: `one record added or removed`, `one person (column id) replaced`."""
        unit = "record" if self.person_column is None else f"person (column {self.person_column})"
        how = "added or removed" if self.neighbours == "add-remove" else "replaced"
        return f"one {unit} {how}"
