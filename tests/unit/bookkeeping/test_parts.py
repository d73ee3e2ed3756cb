"""Disjoint parts of a population: the largest counts, and one division; old ledgers move on."""

import sqlite3
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.bookkeeping import Ledger, RunState
from synth.bookkeeping.file import LedgerEvent
from synth.bookkeeping.recount import recount
from synth.config import DisjointPart
from synth.errors import BudgetRefusedError, LedgerError, PublishedDifferentlyError
from synth.privacy import Budget, Promise, TableEvent

NAMES = ("north", "south", "west")
SOURCE = "Everybody has one main residence on 1 January"


def part(name, names=NAMES, source=SOURCE):
    return None if name is None else DisjointPart(name, tuple(names), source)


def charge(ledger, release_id, epsilon, disjoint_part, cap="2", population="people"):
    return ledger.reserve(
        release_id=release_id,
        configuration_hash="c0ffee",
        population=population,
        promise=Promise("add-remove", None, None),
        cap=Budget(Fraction(cap), Fraction(0)),
        events=[TableEvent(("age",), 6, 1, Fraction(epsilon))],
        disjoint_part=disjoint_part,
    )


def spent(ledger):
    ledger.verify_chain()
    return ledger.position("people").spent.epsilon


def test_the_largest_part_counts_on_top_of_everybody(ledger):
    charge(ledger, "n", "1", part("north"))
    charge(ledger, "s", "3/2", part("south"))
    assert spent(ledger) == Fraction(3, 2)
    _, position = charge(ledger, "all", "1/2", None)
    assert (position.spent_before.epsilon, position.left.epsilon) == (Fraction(3, 2), 0)
    _, position = charge(ledger, "n2", "1/2", part("north"))
    assert position.spent_before.epsilon == 2
    assert position.spent_after.epsilon == 2
    assert dict(position.divided.parts)["north"].epsilon == 1
    assert position.earlier_releases == ("n", "s", "all")
    assert recount(ledger.history()) == {"people": ((2, 1), (0, 1))}
    account = ledger.position("people").divided
    assert [(name, budget.epsilon) for name, budget in account.parts] == [
        ("north", Fraction(3, 2)),
        ("south", Fraction(3, 2)),
        ("west", 0),
    ]
    assert (account.part, account.whole.epsilon) == (None, Fraction(1, 2))


@pytest.mark.parametrize("name", ["north", None])
def test_over_the_cap_of_its_own_part_is_refused(ledger, name):
    charge(ledger, "n", "1", part("north"))
    charge(ledger, "all", "1", None)
    with pytest.raises(BudgetRefusedError, match="epsilon 1/100 asked for, 0 left of 2"):
        charge(ledger, "x", "1/100", part(name))
    charge(ledger, "s", "1", part("south"))
    assert spent(ledger) == 2


@pytest.mark.parametrize(
    "other",
    [
        part("north", ("north", "south")),
        part("women", ("men", "women")),
        part("north", source="Because we think so"),
    ],
)
def test_a_second_division_is_refused(ledger, other):
    charge(ledger, "n", "1/100", part("north"))
    before = ledger.history()
    with pytest.raises(BudgetRefusedError, match="divided otherwise") as refusal:
        charge(ledger, "x", "1/100", other)
    assert refusal.value.exit_code == 4
    assert "leave `disjoint_part` out" in refusal.value.fix
    assert ledger.history() == before


def test_a_division_that_nothing_was_charged_by_binds_nobody(ledger):
    charge(ledger, "n", "1", part("north"))
    ledger.void("n", "wrong parts")
    assert spent(ledger) == 0
    assert ledger.position("people").divided is None
    charge(ledger, "w", "1", part("women", ("men", "women")))
    assert spent(ledger) == 1


def test_another_population_has_its_own_parts(ledger):
    charge(ledger, "n", "1", part("north"))
    ledger.reserve(
        release_id="f",
        configuration_hash="c",
        population="firms",
        promise=Promise("add-remove", None, None),
        cap=Budget(Fraction(1), Fraction(0)),
        events=[TableEvent(("age",), 6, 1, Fraction(1))],
        disjoint_part=part("small", ("large", "small")),
    )
    assert ledger.position("firms").spent.epsilon == 1


def test_the_same_again_is_no_second_charge_and_another_part_is_refused(ledger):
    charge(ledger, "n", "1", part("north"))
    assert charge(ledger, "n", "1", part("north"))[0] is RunState.RESERVED
    assert spent(ledger) == 1
    with pytest.raises(PublishedDifferentlyError, match="another part"):
        charge(ledger, "n", "1", part("south"))
    with pytest.raises(PublishedDifferentlyError, match="another part"):
        charge(ledger, "n", "1", None)


CHARGES = st.tuples(
    st.sampled_from([None, *NAMES]),
    st.fractions(min_value=Fraction(1, 12), max_value=1, max_denominator=12),
    st.booleans(),
)


@settings(max_examples=40)
@given(st.lists(CHARGES, max_size=9))
def test_any_sequence_against_every_persons_own_sum(tmp_path_factory, charges):
    """Each person adds up what they are in; the cap holds for the one who lost most."""
    lost = dict.fromkeys(NAMES, Fraction(0))
    with Ledger.open(tmp_path_factory.mktemp("state") / "ledger.sqlite") as ledger:
        for number, (name, epsilon, freed) in enumerate(charges):
            after = {p: sum_ + (epsilon if name in (None, p) else 0) for p, sum_ in lost.items()}
            if max(after.values()) > 2:
                with pytest.raises(BudgetRefusedError):
                    charge(ledger, f"r{number}", epsilon, part(name))
                continue
            _, position = charge(ledger, f"r{number}", epsilon, part(name))
            assert position.spent_before.epsilon == max(lost.values())
            assert position.left.epsilon == 2 - max(after.values())
            if freed:
                ledger.void(f"r{number}", "a reason")
            else:
                lost = after
            assert spent(ledger) == max(lost.values())


@pytest.fixture
def old(make_old):
    """The path of a ledger of schema 1 with one charge."""
    return make_old(1, {"before": "1/2"})


def version_of(path):
    connection = sqlite3.connect(path)
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    connection.close()
    return version


def test_an_old_ledger_moves_on_with_its_next_charge(old):
    with Ledger.open(old) as ledger:
        before = ledger.history()
        assert spent(ledger) == Fraction(1, 2)
        assert version_of(old) == 1
        charge(ledger, "n", "1", part("north"), population="firms")
        assert [event.kind for event in ledger.history()[len(before) :]] == ["migrated", "reserve"]
        assert ledger.history()[: len(before)] == before
        assert version_of(old) == 3
    with Ledger.open(old) as ledger:
        charge(ledger, "s", "1", part("south"), population="firms")
        assert [event.kind for event in ledger.history()].count("migrated") == 1
        assert spent(ledger) == Fraction(1, 2)
        assert ledger.position("firms").spent.epsilon == 1


def test_an_old_ledger_with_parts_is_read_as_it_is(make_old):
    with Ledger.open(make_old(2, {"a": "1/2", "b": "1/3"}, part("north"))) as ledger:
        assert spent(ledger) == Fraction(5, 6)
        assert dict(ledger.position("people").divided.parts)["south"].epsilon == 0


def test_a_charge_that_fails_leaves_an_old_ledger_old(old, monkeypatch):
    with Ledger.open(old) as ledger:
        before = ledger.history()
        monkeypatch.setattr(
            "synth.bookkeeping.file.LedgerFile.append", lambda *_: (_ for _ in ()).throw(OSError())
        )
        with pytest.raises(OSError, match=r"^$"):
            charge(ledger, "n", "1", part("north"), population="firms")
        assert ledger.history() == before
    assert version_of(old) == 1
    with Ledger.open(old) as ledger:
        assert ledger.history() == before


@pytest.mark.parametrize(("found", "advice"), [(6, "or a newer one"), (0, "from a backup")])
def test_an_unknown_schema_is_refused_with_what_to_do(old, found, advice):
    connection = sqlite3.connect(old)
    connection.execute(f"PRAGMA user_version = {found}")
    connection.close()
    with pytest.raises(LedgerError, match=f"ledger schema {found} is not known") as refusal:
        Ledger.open(old)
    assert advice in refusal.value.fix


def test_a_header_that_the_events_do_not_tell_of_is_refused(old):
    connection = sqlite3.connect(old)
    connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(LedgerError, match="its schema is not the one that its events tell of"):
        Ledger.open(old)


def forged(path, change):
    """Rewrite the last event with a fresh hash, as somebody would who may write the file."""
    connection = sqlite3.connect(path, isolation_level=None)
    row = connection.execute("SELECT * FROM events ORDER BY seq DESC LIMIT 1").fetchone()
    event = LedgerEvent(*row)
    again = LedgerEvent.chained(
        seq=event.seq,
        previous_hash=event.previous_hash,
        kind=event.kind,
        population=event.population,
        release_id=event.release_id,
        day=event.day,
        payload=change(event.read()),
    )
    sql = connection.execute(
        "SELECT sql FROM sqlite_schema WHERE name = 'events_no_update'"
    ).fetchone()[0]
    connection.execute("DROP TRIGGER events_no_update")
    connection.execute(
        "UPDATE events SET payload = ?, hash = ? WHERE seq = ?",
        (again.payload, again.hash, again.seq),
    )
    connection.execute(sql)
    connection.close()


def into_part(name, names, source=SOURCE):
    declared = {"name": name, "parts": names, "source": source}
    return lambda payload: payload | {"disjoint_part": declared}


@pytest.mark.parametrize(
    "change",
    [
        into_part("east", ["north", "south", "west"]),
        into_part("north", ["north", "south"]),
        into_part("north", list(NAMES), "another reason"),
        into_part("north", ["north", "north", "south", "west"]),
        into_part("north", "north"),
        lambda payload: payload | {"disjoint_part": "north"},
        lambda payload: payload | {"disjoint_part": None},
        lambda payload: {key: item for key, item in payload.items() if key != "disjoint_part"},
    ],
)
def test_a_reservation_that_makes_no_sense_is_refused_even_with_a_fresh_hash(path, ledger, change):
    charge(ledger, "all", "1", None)
    charge(ledger, "n", "1", part("north"))
    charge(ledger, "s", "1", part("south"))
    ledger.close()
    forged(path, change)
    with pytest.raises(LedgerError, match="event 4 makes no sense here"):
        Ledger.open(path)


def test_an_old_schema_knows_no_parts(old):
    forged(old, into_part("north", list(NAMES)))
    with pytest.raises(LedgerError, match="event 2 makes no sense here"):
        Ledger.open(old)


@pytest.mark.parametrize("column", ["kind", "population", "release_id", "day", "payload", "hash"])
@pytest.mark.parametrize("seq", [1, 2, 3, 4])
def test_any_change_of_any_event_breaks_the_chain(old, seq, column):
    with Ledger.open(old) as ledger:
        charge(ledger, "n", "1", part("north"), population="firms")
        assert [event.kind for event in ledger.history()] == [
            "created", "reserve", "migrated", "reserve",
        ]  # fmt: skip
    connection = sqlite3.connect(old, isolation_level=None)
    triggers = connection.execute(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'trigger'"
    ).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(f"UPDATE events SET {column} = {column} || ' ' WHERE seq = ?", (seq,))
    for _, sql in triggers:
        connection.execute(sql)
    connection.close()
    with pytest.raises(LedgerError, match=f"broken at event {seq}"):
        Ledger.open(old)
