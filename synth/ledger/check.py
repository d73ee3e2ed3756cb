"""What is checked of a ledger before anything is believed: every event, and every total twice."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from synth.errors import BugError
from synth.ledger.book import Book, BrokenChainError
from synth.ledger.event import LedgerEvent
from synth.ledger.file import damaged
from synth.ledger.recount import recount


def fold_all(book: Book, events: Sequence[LedgerEvent], *, path: Path) -> None:
    """Take `events` into the book; raises LedgerError that names the first one that fails."""
    try:
        for event in events:
            book.fold(event)
        if book.seq == 0:
            raise BrokenChainError("event 1 is missing")
    except BrokenChainError as error:
        raise damaged(path, str(error)) from error


def check_totals(book: Book, events: Sequence[LedgerEvent]) -> None:
    """Compare the book's totals with the independent recount of all its events.

    Raises: BugError if they disagree: then one of the two is wrong, and nothing may be spent.
    """
    try:
        recounted = recount(events[: book.seq])
    except ValueError as error:
        raise BugError("a charge of the ledger does not cover its tables") from error
    for population, (epsilon, delta) in recounted.items():
        spent = book.spent(population)
        added = spent.epsilon.as_integer_ratio(), spent.delta.as_integer_ratio()
        if added != (epsilon, delta):
            raise BugError("two ways of adding up the ledger disagree")
