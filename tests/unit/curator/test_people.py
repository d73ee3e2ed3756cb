"""People with many records: record and replay of the whole measuring process, and what breaks it.

Neighbours are measured with the same key, so the difference of the noisy tables is that of the
counts, and both must ask for the same random words.
"""

from fractions import Fraction

import ibis
import numpy as np
import pytest

from synth import curator
from synth.config import load_config
from synth.config.source_files import source_files
from synth.curator.counting import tabulate
from synth.noise import NoiseStream
from synth.privacy import TableEvent, sensitivity_l1, sensitivity_l2_squared

KEY = bytes(range(32))
MOST = 3
UNIT = {"unit": {"column": "id", "max_records": MOST}}
NAMES = ("age", "sex", "town")


def made_up_visits():
    """Six people with 1 to 12 records each, and records of nobody."""
    rng = np.random.default_rng(7)
    rows = []
    for person, number in {"a": 1, "b": 2, "c": 5, "d": 12, "e": 7, "": 4}.items():
        for _ in range(number):
            sex, town = rng.choice(["Female", "Male", ""]), rng.choice(["Nord", "Süd", "Rom"])
            rows.append((person, str(rng.integers(0, 99)), sex, town))
    return [rows[place] for place in rng.permutation(len(rows))]


VISITS = made_up_visits()
PEOPLE = sorted({row[0] for row in VISITS})


class RecordedStream(NoiseStream):
    """Notes what is asked of it."""

    def __init__(self):
        super().__init__(key=KEY)
        self.asked = []

    def claim(self, table, start, count):
        self.asked.append((table, start, count))
        super().claim(table, start, count)


def measured(project, tmp_path, rows):
    """The noisy tables of all kinds, and the words they asked for."""
    text = "\n".join(map(",".join, [("id", *NAMES), *rows])) + "\n"
    config = load_config(project(people=text, privacy=UNIT))
    l1, squared = sensitivity_l1(config.privacy), sensitivity_l2_squared(config.privacy)
    gaussian = {"rho": Fraction(1, 9), "sensitivity_l2_squared": squared}
    events = (
        TableEvent(NAMES, 45, l1, Fraction(1, 2)),
        TableEvent(("sex", "town"), 9, l1, None, "discrete-gaussian", **gaussian),
        TableEvent(("age",), 5, l1, Fraction(1, 4)),
        TableEvent((), 1, l1, Fraction(1, 4)),
    )
    stream = RecordedStream()
    found = curator.measure(
        config,
        config.source,
        events,
        files=source_files(config.source),
        stream=stream,
        directory=tmp_path,
    )
    return [table.noisy_counts for table in found.tables], stream.asked


def check_persons(project, tmp_path, persons, rows=VISITS):
    """With and without each person: at most MOST in L1 norm, and what the person adds alone."""
    with_person, words = measured(project, tmp_path, rows)
    nobody, _ = measured(project, tmp_path, [])
    for person in persons:
        own = [row for row in rows if row[0] == person]
        others = [row for row in rows if row[0] != person]
        without, same_words = measured(project, tmp_path, others)
        alone, _ = measured(project, tmp_path, own)
        assert words == same_words
        for one, other, single, noise in zip(with_person, without, alone, nobody, strict=True):
            change = one - other
            assert change.min() >= 0
            assert change.sum() == (min(MOST, len(own)) if person else 0)
            assert np.array_equal(change, single - noise), "others decide what of a person counts"


def test_a_person_changes_every_table_by_the_same_few_records(project, tmp_path):
    check_persons(project, tmp_path, PEOPLE)


def test_a_person_who_is_replaced_changes_no_more_than_two_people(project, tmp_path):
    others = [row for row in VISITS if row[0] != "d"]
    replaced = [*others, *[("new", "5", "Female", "Nord")] * 9]
    for one, other in zip(
        measured(project, tmp_path, VISITS)[0],
        measured(project, tmp_path, replaced)[0],
        strict=True,
    ):
        assert np.abs(one - other).sum() <= 2 * MOST


def test_people_whose_ids_begin_alike_are_several(project, tmp_path):
    """Each counts as often as if the other was not there, however late the ids differ."""
    ids = ["x" * length + end for length in (1_000, 5_000) for end in ("a", "b")]
    rows = [(person, "5", "Female", "Nord") for person in ids for _ in range(MOST + 1)]
    check_persons(project, tmp_path, ids, rows)


# -- the same tests see a wrong bound ---------------------------------------------------------


def first_records_of_all(table, unit):
    """As many records as people could have, the first ones by cell: others push somebody out."""
    known = table.filter(table.person != "")
    words = [known[name] for name in known.columns if name.startswith("word_")]
    window = ibis.window(order_by=[*words, known.person])
    ranked = known.mutate(record_rank=ibis.row_number().over(window))
    return ranked.filter(ranked.record_rank < 4 * unit.max_records)


def rank_among_all(table, unit):
    """The records of a person that are among the first ones of their cell."""
    known = table.filter(table.person != "")
    words = [known[name] for name in known.columns if name.startswith("word_")]
    window = ibis.window(group_by=words, order_by=[known.person])
    ranked = known.mutate(record_rank=ibis.row_number().over(window))
    return ranked.filter(ranked.record_rank < unit.max_records)


def one_more(table, unit):
    exact = tabulate.bound_contributions
    return exact(table, type(unit)(unit.column, unit.max_records + 1))


def nobody_is_a_person(table, unit):
    """Records without an id count as one person's."""
    named = table.person.nullif("").fill_null("nobody")
    return tabulate.bound_contributions(table.mutate(person=named), unit)


MUTANTS = {
    "the first records of all": (first_records_of_all, "d"),
    "the first records of a cell": (rank_among_all, "d"),
    "one record too many": (one_more, "d"),
    "records of nobody": (nobody_is_a_person, ""),
}
"""How the bound is wrong, and a person with whom that is seen."""


@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_bound_is_caught(project, tmp_path, name):
    exact = tabulate.bound_contributions
    with pytest.MonkeyPatch.context() as patch:
        mutant, person = MUTANTS[name]

        def broken(table, unit):
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr(tabulate, "bound_contributions", exact)
                return mutant(table, unit)

        patch.setattr(tabulate, "bound_contributions", broken)
        with pytest.raises(AssertionError):
            check_persons(project, tmp_path, [person])
