"""The tables of `benchmarks/inference.py`, and what is asked of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray
from tables import ROOT, real

from synth import load_config
from synth.config import Config, OutputConfig, WorkloadConfig
from synth.domain import Attribute, Margin, Universe
from synth.reading import statistics as st

Table = NDArray[np.int64]


def levels(name: str, *texts: str) -> Attribute:
    """A categorical column."""
    return Attribute(name, "categorical", texts)


def numbers(name: str, first: int, last: int, width: int = 1) -> Attribute:
    """A column of whole numbers in bins."""
    edges = [*range(first, last + 1, width), last]
    return Attribute(name, "integer", edges=tuple(map(Fraction, edges)))


def small() -> tuple[tuple[Attribute, ...], Table]:
    """500 members of a club: 72 cells."""
    attributes = (
        numbers("age", 20, 79, 10),
        levels("sex", "f", "m"),
        numbers("visits", 0, 5),
    )
    generator = np.random.default_rng(11)
    age = np.arange(6)[:, None, None]
    sex = np.arange(2)[None, :, None]
    visits = np.arange(6)[None, None, :]
    rate = np.exp(0.5 - 0.15 * age + 0.4 * sex)
    law = np.exp(-rate) * rate**visits * (6 - abs(age - 2)) * (1 + 0.2 * sex)
    return attributes, generator.multinomial(500, (law / law.sum()).ravel())


def wages() -> tuple[tuple[Attribute, ...], Table]:
    """6,000 employees with known laws of wage and of membership: 960 cells."""
    attributes = (
        numbers("age", 20, 59, 10),
        levels("sex", "f", "m"),
        levels("region", "north", "south", "isles"),
        numbers("school", 1, 4),
        numbers("wage", 10, 59, 10),
        levels("member", "no", "yes"),
    )
    generator = np.random.default_rng(12)
    people = 6000
    age = generator.choice(4, people, p=[0.25, 0.3, 0.27, 0.18])
    sex = generator.integers(0, 2, people)
    region = generator.choice(3, people, p=[0.6, 0.37, 0.03])
    school = np.clip(np.rint(generator.normal(1.8 - 0.15 * age, 0.9)), 0, 3).astype(int)
    wage = 1.2 + 0.5 * age + 0.8 * school + 0.5 * sex - 0.3 * (region == 1)
    wage = np.clip(np.floor(wage + generator.normal(0, 1.3, people)) / 2, 0, 4).astype(int)
    odds = -1.4 + 0.25 * age + 0.5 * (region == 0) - 0.3 * sex + 0.05 * wage
    member = (generator.random(people) < 1 / (1 + np.exp(-odds))).astype(int)
    return attributes, counted(attributes, (age, sex, region, school, wage, member))


def clinic() -> tuple[tuple[Attribute, ...], Table]:
    """6,000 patients, ten columns that hang together by four hidden classes: 2,304 cells."""
    attributes = (
        numbers("age", 20, 79, 20),
        levels("sex", "f", "m"),
        numbers("stays", 0, 2),
        *(levels(name, "no", "yes") for name in YES_OR_NO),
    )
    generator = np.random.default_rng(13)
    people = 6000
    hidden = generator.choice(4, people, p=[0.45, 0.3, 0.17, 0.08])
    columns = []
    for attribute in attributes:
        laws = generator.dirichlet(np.full(attribute.size, 1.2), size=4)
        drawn = generator.random(people)
        codes = (drawn[:, None] > laws.cumsum(axis=1)[hidden]).sum(axis=1)
        columns.append(np.minimum(codes, attribute.size - 1))
    return attributes, counted(attributes, columns)


def counted(attributes: Sequence[Attribute], columns: Sequence[Table]) -> Table:
    """The records of every cell."""
    shape = [attribute.size for attribute in attributes]
    return np.bincount(np.ravel_multi_index(columns, shape), minlength=math.prod(shape))


MADE_UP = {"small": small, "wages": wages, "clinic": clinic}
FEWER = {
    "adult-4": ("adult", ("sex", "race", "income", "education-num")),
    "nltcs-10": ("nltcs", tuple(range(10))),
}


@cache
def table(name: str, epsilon: str) -> tuple[Config, Table]:
    """A configuration with this budget, and the true counts of its cells."""
    if name in MADE_UP:
        attributes, counts = MADE_UP[name]()
        config = load_config(ROOT / "configs" / "nltcs.yaml")
        workload = WorkloadConfig((), cells=True)
    else:
        whole, kept = FEWER.get(name, (name, ()))
        config, counts = real(whole)
        attributes, workload = config.universe.attributes, config.workload
        if kept:
            names = [config.universe.names[k] if isinstance(k, int) else k for k in kept]
            attributes = tuple(each for each in attributes if each.name in names)
            margin = Margin(tuple(each.name for each in attributes), (0,) * len(attributes))
            counts = margin.sums(config.universe, counts)
            asked = (each for each in workload.marginals if set(each.attributes) <= set(names))
            workload = replace(workload, marginals=tuple(asked))
    config = replace(
        config,
        privacy=replace(config.privacy, epsilon=Fraction(epsilon)),
        universe=Universe(attributes),
        public_totals=(),
        workload=workload,
        output=OutputConfig(None, ("csv",), None, "uniform"),
    )
    return config, counts


def asked_of_small() -> list[st.Statistic]:
    shares = [st.share(f"age=[{a}, {b})") for a, b in ((20, 30), (40, 50), (60, 70))]
    shares += [st.share("age in [60, 79]", within="sex=f"), st.share("visits=5")]
    shares += [st.share("visits=0", within="sex=m"), st.share("sex=f, age=[20, 30), visits=0")]
    totals = [st.total(), st.total(within="sex=f"), st.total("visits")]
    means = [st.mean("age"), st.mean("visits"), st.mean("visits", within="sex=f")]
    return [
        *shares,
        *totals,
        *means,
        st.mean("age", within="visits in {0, 1}"),
        *(st.quantile("age", p) for p in (0.25, 0.5, 0.75)),
        st.quantile("visits", 0.5),
        st.difference(means[2], st.mean("visits", within="sex=m")),
        st.difference(st.share("visits=0", within="sex=f"), shares[5]),
        st.ratio(totals[1], st.total(within="sex=m")),
        st.correlation("age", "visits"),
        st.ols("visits", ["age", "sex"]),
        st.logistic("visits=0", ["age", "sex"]),
    ]


def asked_of_wages() -> list[st.Statistic]:
    isles, north = "region=isles", "region=north"
    return [
        st.total(),
        st.total(within="member=yes, sex=f"),
        st.total("wage", within=isles),
        st.share(isles),
        st.share("school=4", within=isles),
        st.share("member=yes", within=isles),
        st.share("member=yes", within="region=isles, sex=f"),
        st.share("age=[50, 59], school=4"),
        st.share("wage in [50, 59]", within="sex=f"),
        st.share("wage=[10, 20)", within="school=1, age=[20, 30)"),
        st.mean("wage"),
        st.mean("wage", within=isles),
        st.mean("wage", within="sex=f, school=4"),
        st.mean("age", within="member=yes"),
        *(st.quantile("wage", p) for p in (0.1, 0.5, 0.9)),
        st.quantile("wage", 0.5, within=isles),
        st.difference(st.mean("wage", within="sex=m"), st.mean("wage", within="sex=f")),
        st.difference(st.mean("wage", within=isles), st.mean("wage", within=north)),
        st.difference(
            st.share("member=yes", within="sex=m"), st.share("member=yes", within="sex=f")
        ),
        st.ratio(st.total("wage", within="sex=f"), st.total("wage", within="sex=m")),
        st.correlation("age", "wage"),
        st.correlation("school", "wage", within=isles),
        st.ols("wage", ["sex"]),
        st.ols("wage", ["age", "sex", "school", "region"]),
        st.logistic("member=yes", ["sex"]),
        st.logistic("member=yes", ["age", "sex", "region", "wage"]),
    ]


YES_OR_NO = ("asthma", "sugar", "pressure", "heart", "smokes", "ward", "home")


def asked_of_clinic() -> list[st.Statistic]:
    both = st.share("heart=yes, sugar=yes")
    return [
        st.total(),
        *(st.share(f"{name}=yes") for name in YES_OR_NO),
        both,
        st.share("heart=yes, sugar=yes, asthma=yes"),
        st.share("heart=yes", within="sugar=yes, smokes=yes"),
        st.share("pressure=yes", within="age=[60, 79], sex=f"),
        st.share("ward=yes, home=yes, asthma=yes, sex=m"),
        st.mean("age"),
        st.mean("age", within="heart=yes"),
        st.mean("stays", within="sugar=yes"),
        st.mean("stays", within="asthma=yes, smokes=yes"),
        *(st.quantile("age", p) for p in (0.25, 0.5, 0.9)),
        st.difference(st.mean("stays", within="sex=m"), st.mean("stays", within="sex=f")),
        st.difference(
            st.share("heart=yes", within="smokes=yes"), st.share("heart=yes", within="smokes=no")
        ),
        st.ratio(both, st.share("sugar=yes")),
        st.correlation("age", "stays"),
        st.ols("stays", ["age", "sex"]),
        st.ols("stays", ["age", "sex", "smokes", "heart"]),
        st.logistic("heart=yes", ["age", "sex"]),
        st.logistic("heart=yes", ["age", "sex", "smokes", "sugar", "pressure"]),
    ]


def asked_of_adult(*, whole: bool) -> list[st.Statistic]:
    rich = "income=>50K"
    women, men = "sex=Female", "sex=Male"
    found = [
        st.total(),
        st.total(within="race=Amer-Indian-Eskimo"),
        st.share(rich),
        st.share(rich, within=women),
        st.share(rich, within="race=Black, sex=Female"),
        st.share(rich, within="race=Other"),
        st.share(rich, within="education-num=16"),
        st.share(rich, within="education-num=7, sex=Female"),
        st.share("race=Amer-Indian-Eskimo"),
        st.share("education-num=2", within=men),
        st.share("education-num=1"),
        st.share("education-num in [14, 17)", within="race=Asian-Pac-Islander"),
        st.mean("education-num"),
        st.mean("education-num", within="race=Black"),
        st.mean("education-num", within="income=>50K, sex=Female"),
        *(st.quantile("education-num", p) for p in (0.1, 0.5, 0.9)),
        st.quantile("education-num", 0.5, within="race=Other"),
        st.difference(st.share(rich, within=men), st.share(rich, within=women)),
        st.difference(
            st.mean("education-num", within="race=White"),
            st.mean("education-num", within="race=Black"),
        ),
        st.ratio(st.share(rich, within=women), st.share(rich, within=men)),
        st.ols("education-num", ["sex", "race"]),
        st.ols("education-num", ["sex", "race", "income"]),
        st.logistic(rich, ["sex", "education-num"]),
        st.logistic(rich, ["sex", "education-num", "race"]),
    ]
    if whole:
        found += [
            st.share(rich, within="workclass=Self-emp-inc"),
            st.share("workclass=Federal-gov", within="race=Black"),
            st.share("relationship=Unmarried", within="sex=Female, race=Black"),
            st.share("marital-status=Widowed", within=men),
            st.mean("education-num", within="marital-status=Separated, sex=Male"),
            st.logistic(rich, ["sex", "education-num", "workclass"]),
        ]
    return found


def asked_of_nltcs(universe: Universe) -> list[st.Statistic]:
    a, b, c, d, e, f, g, h, *_ = universe.names
    return [
        st.total(),
        *(st.share(f"{name}=1") for name in universe.names),
        st.share(f"{a}=1, {b}=1"),
        st.share(f"{c}=1, {d}=1, {e}=0"),
        st.share(f"{a}=1", within=f"{b}=1"),
        st.share(f"{a}=1", within=f"{f}=1, {g}=1, {h}=0"),
        st.share(f"{g}=1", within=f"{a}=0, {b}=0, {c}=0, {d}=0"),
        st.total(within=f"{a}=1, {b}=1, {c}=1, {d}=1, {e}=1, {f}=1"),
        st.difference(st.share(f"{a}=1", within=f"{g}=1"), st.share(f"{a}=1", within=f"{g}=0")),
        st.difference(st.share(f"{h}=1", within=f"{b}=1"), st.share(f"{h}=1", within=f"{b}=0")),
        st.ratio(st.share(f"{a}=1"), st.share(f"{b}=1")),
        st.logistic(f"{a}=1", [b, g]),
        st.logistic(f"{g}=1", [a, b, c, d]),
        st.logistic(f"{h}=1", [a, b, c, d, e, f]),
    ]


def asked(name: str, universe: Universe) -> list[st.Statistic]:
    """The statistics of a table."""
    if name.startswith("adult"):
        return asked_of_adult(whole=name == "adult")
    if name.startswith("nltcs"):
        return asked_of_nltcs(universe)
    made_up = {"small": asked_of_small, "wages": asked_of_wages, "clinic": asked_of_clinic}
    return made_up[name]()
