"""Every family of tables that the planner weighs: measured, published and verified, whole runs.

Which family wins is a matter of figures; that each of them, once chosen, ends in a release that
stands is shown here. The planner is made to take a family that it weighed. Both units, both deltas
and a public total are measured of every family; one release of each is published. A family that it
weighs and that is not in the table fails a test below.
"""

import itertools
from collections.abc import Sequence

import pytest
import yaml

from synth.bookkeeping.run_directory import run_directory
from synth.config import load_config
from synth.job import pipeline
from synth.measurements import read_measurements
from synth.noise import NoiseStream
from synth.planning import weighing
from synth.planning.look import plan_look, problem_to_plan
from tests.conftest import SMALL, merged
from tests.end_to_end.test_whole_runs import FILLER, UNITS, published_and_stands
from tests.forgotten_plans import forget_plans

pytestmark = pytest.mark.usefixtures("laws_are_tabulated_once")

RECORDS = 1000
TOTAL = [{"where": {}, "total": RECORDS, "source": "a register"}]
RELATIONS = {
    "add-remove": ("add-remove", []),
    "add-remove, total known": ("add-remove", TOTAL),
    "replace-one": ("replace-one", TOTAL),
}
COLUMNS: dict[str, tuple[int, ...]] = {
    "well filled": (),
    "few codes": (2,) * 6,
    "thin": (10,) * 3,
    "wide": (10,) * 8,
    "wide, few codes": (2,) * 25,
    "few columns": (30,) * 5,
    "thin, in groups": (40, 10, 20),
    "wide, gathered": (10,) * 8,
    "wide, few codes, gathered": (2,) * 25,
}
"""The levels of the columns beside those of the small configuration. In groups: the first of them
has a hierarchy. Gathered: fifty records in a cell."""
PERSON = ("person", "add-remove", "0")
RECORD = ("record", "add-remove", "1e-6")
PERSON_KNOWN = ("person", "add-remove, total known", "0")
REPLACED = ("record", "replace-one", "1e-6")
TRIPLES = "1-way + all pairs + triples"
"""Weighed with Gaussian noise alone."""
FOUND = "1-way + all pairs + chosen triples"
"""Of up to eight columns."""
FAMILIES = {
    "well filled": {
        "universe (identity)": [PERSON, REPLACED],
        "universe + 1-way": [RECORD, PERSON_KNOWN],
        "universe + best marginals": [PERSON, REPLACED],
        "all 1-way alike": [RECORD, PERSON_KNOWN],
        "all 2-way alike": [PERSON, REPLACED],
        "best marginals": [RECORD, PERSON_KNOWN],
        "adaptive": [PERSON, REPLACED],
    },
    "few codes": {
        "universe + joined columns": [PERSON_KNOWN, RECORD],
        "all 3-way alike": [PERSON_KNOWN, REPLACED],
    },
    "wide, few codes": {"joined columns": [PERSON, REPLACED]},
    # These records, each in a cell of its own, speak against tables of cells once a look was taken,
    # but where each stands out (`SMALLER`); of universes that can be held, only a look tells which
    # are thin.
    "thin": {
        "1-way": [RECORD],
        "1-way + all pairs": [PERSON],
        "1-way + pairs asked for": [RECORD],
        "1-way + chosen pairs": [PERSON],
        "covering tables": [RECORD],
        "1-way + covering tables": [PERSON],
        FOUND: [PERSON],
        TRIPLES: [RECORD],
    },
    "wide": {
        "1-way": [PERSON_KNOWN],
        "1-way + all pairs": [REPLACED],
        "1-way + pairs asked for": [PERSON_KNOWN],
        "1-way + chosen pairs": [REPLACED],
        "covering tables": [PERSON_KNOWN],
        "1-way + covering tables": [REPLACED],
        TRIPLES: [("person", "add-remove, total known", "1e-6")],
    },
    "few columns": {FOUND: [REPLACED]},
    # Cells are listed where a look finds that most records share theirs.
    "wide, gathered": {
        "list + 1-way": [PERSON_KNOWN, REPLACED],
        "list + covering tables": [PERSON_KNOWN, REPLACED],
        "list + 1-way + all pairs": [PERSON_KNOWN, REPLACED],
        "list + 1-way + pairs asked for": [PERSON_KNOWN, REPLACED],
    },
    "wide, few codes, gathered": {"list + joined columns": [PERSON_KNOWN, REPLACED]},
    "thin, in groups": {"1-way + all pairs": [RECORD], "1-way + pairs asked for": [PERSON]},
}
SMALLER = {"thin": 2}
"""Epsilon where it is not 4."""
CASES = [
    (size, family, *choices)
    for size, families in FAMILIES.items()
    for family, tried in families.items()
    for choices in tried
]
NAMES = list(dict.fromkeys(family for _, family, *_ in CASES))


def is_published(case) -> bool:
    """The last and the first case of a family by turns: both have other choices."""
    of_family = [each for each in CASES if each[1] == case[1]]
    return case == of_family[NAMES.index(case[1]) % 2 - 1]


def is_grouped(size: str) -> bool:
    """Whether a column has a hierarchy."""
    return size.endswith("in groups")


def records(size: str) -> str:
    """Two records a person; where there are codes of ten levels, no two are alike, or fifty."""
    levels, alike = COLUMNS[size], 50 if size.endswith("gathered") else 1
    lines = ["person,age,sex,town" + "".join(f",code-{n}" for n in range(len(levels)))]
    for number in range(RECORDS):
        i = number - number % alike
        digits = [i % 10, i // 10 % 10, i // 100, *((i // n) % 10 for n in range(3, 25))]
        codes = (str(digit % many) for digit, many in zip(digits, levels, strict=False))
        cells = [f"p{number // 2}", str(i % 100), "Female" if i % 3 else "Male", "Nord"]
        lines.append(",".join([*cells, *codes]))
    return "\n".join(lines) + "\n"


def configured(place, size, unit, relation, delta):
    neighbours, totals = RELATIONS[relation]
    (place / "rows.csv").write_text(records(size), encoding="utf-8")
    codes = [
        {**FILLER[0], "name": f"code-{number}", "maximum": levels - 1}
        for number, levels in enumerate(COLUMNS[size])
    ]
    if is_grouped(size):
        codes[0] |= {"hierarchy": "dyadic"}
    more = [column["name"] for column in codes]
    singles = [[name] for name in more]
    asked = [["age", "sex", "town"], *singles, ["sex", *more[:2]]] if more else 2
    plain = merged(
        SMALL,
        {
            "source": {"path": "rows.csv"},
            "privacy": {"epsilon": SMALLER.get(size, 4), "delta": delta, "neighbours": neighbours}
            | {"unit": UNITS[unit]},
            "ledger": {"epsilon_cap": 4, "delta_cap": delta},
            "domain": [*SMALL["domain"], *codes],
            "public_totals": totals,
            "workload": {"marginals": asked},
        },
    )
    path = place / "small.yaml"
    path.write_text(yaml.safe_dump(plain, allow_unicode=True), encoding="utf-8")
    return load_config(path)


def taken(family: str, *, with_total: bool = False):
    """The planner's choice, but of one family; its own where that is not weighed.

    With a table of the number of records where that is asked for.
    """
    choose = weighing.choose

    def chosen(problem):
        found = choose(problem)
        fit = [each for each in found.weighed if each.spending.tables == family]
        if with_total:
            fit = [each for each in fit if any(not event.table for event in each.spending.events)]
        return weighing.Choice(next(iter(fit), found.chosen), found.weighed)

    return chosen


@pytest.mark.parametrize("case", CASES, ids=", ".join)
def test_a_release_of_every_family_stands(tmp_path, log, monkeypatch, case):
    size, family, *choices = case
    config = configured(tmp_path, size, *choices)
    monkeypatch.setattr(weighing, "choose", taken(family))
    pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(range(32))))
    measured = read_measurements(run_directory(config) / "measurements.parquet", config.universe)
    look = None if measured.look is None else measured.look.noisy_counts
    assert weighing.planned_way(config, look).tables == family
    assert any(any(each.event.coarsening) for each in measured.tables) == is_grouped(size)
    if is_published(case):
        published_and_stands(config, log)


@pytest.fixture
def any_that_cover(monkeypatch):
    """Tables that cover pairs are weighed however few they save."""
    monkeypatch.setattr("synth.planning.covering.FEWER", 0.99)
    forget_plans()
    yield
    forget_plans()


@pytest.mark.usefixtures("any_that_cover")
def test_rows_are_chosen_where_the_total_is_a_table_of_its_own(tmp_path, log, monkeypatch):
    config = configured(tmp_path, "wide", *PERSON)
    monkeypatch.setattr(weighing, "choose", taken("covering tables", with_total=True))
    pipeline.measure(config, log=log, stream=NoiseStream(key=bytes(range(32))))
    measured = read_measurements(run_directory(config) / "measurements.parquet", config.universe)
    assert not measured.tables[-1].event.table
    folder = published_and_stands(config, log)
    assert "keep one of every few points" in (folder / "manifest.json").read_text(encoding="utf-8")


def seen_of(config) -> Sequence[tuple[int, ...] | None]:
    """What a look may tell of a few and of many records, gathered and not, and of their pairs."""
    look = plan_look(config)
    if look is None:
        return (None,)
    return tuple(
        (records - part, part, *apart)
        for records in (0, RECORDS, 9 * RECORDS)
        for part in (0, records // 2)
        for apart in ([(0,), (records // 2,)] if look.event.pairs else [()])
    )


def test_every_family_is_published_once_and_so_is_every_other_choice():
    published = [case for case in CASES if is_published(case)]
    assert sorted(family for _, family, *_ in published) == sorted(NAMES)
    for tried, every in zip(zip(*published, strict=True), zip(*CASES, strict=True), strict=True):
        assert set(tried) == set(every)


def test_every_family_meets_both_units_and_deltas_and_a_public_total():
    for family in NAMES:
        tried = [case[2:] for case in CASES if case[1] == family]
        assert {unit for unit, _, _ in tried} == set(UNITS), family
        assert {relation for _, relation, _ in tried} - {"add-remove"}, family
        deltas = {"1e-6"} if family == TRIPLES else {"0", "1e-6"}
        assert {delta for *_, delta in tried} == deltas, family


def planned_alike() -> list[list[str]]:
    """The sizes by configuration: what is weighed does not depend on the records."""
    alike: dict[tuple[tuple[int, ...], bool], list[str]] = {}
    for size in FAMILIES:
        alike.setdefault((COLUMNS[size], is_grouped(size)), []).append(size)
    return list(alike.values())


@pytest.mark.parametrize("sizes", planned_alike(), ids=" and ".join)
def test_no_family_that_is_weighed_is_left_out(tmp_path, sizes):
    weighed = set()
    deltas = ("0", "1e-6", "1e-6", "0", "0", "1e-6")  # both units meet both
    choices = zip(itertools.cycle(UNITS), sorted((*RELATIONS, *RELATIONS)), deltas)
    for unit, relation, delta in choices:
        config = configured(tmp_path, sizes[0], unit, relation, delta)
        for seen in seen_of(config):
            problem = problem_to_plan(config, seen)
            weighed |= {each.spending.tables for each in weighing.choose(problem).weighed}
    assert weighed <= {each for families in FAMILIES.values() for each in families}
    assert {each for size in sizes for each in FAMILIES[size]} <= weighed
