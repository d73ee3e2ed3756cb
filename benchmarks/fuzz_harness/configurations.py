"""Random configurations with their records: small, odd, and mostly acceptable."""

from __future__ import annotations

import csv
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import yaml

LARGEST_UNIVERSE = 20_000
LARGE_UNIVERSES = (300_000, 3_000_000)
"""Some universes that are held are larger, and hardly filled."""
LISTED_UNIVERSES = (10**10, 10**12, 10**16, 10**22, 10**30)
"""What a third of the universes exceed: too large to hold."""
RECORDS = (0, 1, 5, 50, 500, 5_000)
RECORDS_OF_ANY_SIZE = (0, 1, 5, 50, 500, 500, 5_000, 5_000, 100_000)
EPSILONS = ("1", "0.1", "0.01", "3", "10", "1/3", "0.01", "0.003", "50", "0.001")
NEIGHBOURS = ("add-remove", "replace-one")
DELTAS = ("0", "0", "1e-6", "1e-9")
STRATEGIES = ("auto", "auto", "auto", "identity", "adaptive", "sparse", "tables")
ODD_LABELS = ("a,b", 'say "x"', "über", "1.0", "null", "-7", "x y", "中", "a|b", "#", "NaN", "~")
RELEASE = {
    "id": "random",
    "title": "Random",
    "description": "Made up",
    "curators": ["Fuzzing"],
    "contact": "data@example.org",
    "intended_use": "Tests",
    "region": "Nowhere",
    "sector": "Government",
    "license": "CC-BY-4.0",
}

Column = dict[str, Any]


def write_project(directory: Path, seed: int, *, any_size: bool = False) -> Path:
    """Write `random.yaml` and `rows.csv`, a function of the seed; returns the configuration.

    With `any_size` universes may be large, or too large to hold, and records many.
    """
    chance = Random(seed)
    records = chance.choice(RECORDS_OF_ANY_SIZE if any_size else RECORDS)
    columns = _columns(chance, any_size)
    values = [_values(chance, column, records) for column in columns]
    names = [column["name"] for column in columns]
    has_people = chance.random() < 0.25
    if has_people:
        names = [*names, "person"]
        values.append([f"p{chance.randrange(max(1, records // 2))}" for _ in range(records)])
    with (directory / "rows.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(names)
        writer.writerows(zip(*values, strict=True))
    person = {"column": "person", "max_records": chance.choice((1, 3))}
    constraints = _constraints(chance, columns, records)
    totals = constraints.get("public_totals", ())
    number_is_public = any(not entry["where"] for entry in totals)
    configuration = {
        "schema_version": 1,
        "release": RELEASE,
        "source": {"path": "rows.csv", "disposal": "keep", "disposal_reason": "made up"},
        "privacy": {
            "epsilon": chance.choice(EPSILONS),
            "delta": chance.choice(DELTAS),
            "neighbours": chance.choice(NEIGHBOURS[: 1 + number_is_public]),
            "unit": person if has_people else "record",
            "justification": "Made up",
        },
        "ledger": {
            "path": "state/ledger.sqlite",
            "population": "nobody",
            "epsilon_cap": 100,
            "delta_cap": "1e-3",
        },
        "domain": columns,
        "workload": _workload(chance, columns, number_is_public),
        "strategy": _strategy(chance, columns),
        "output": _output(chance),
        **constraints,
    }
    path = directory / "random.yaml"
    path.write_text(yaml.safe_dump(configuration, sort_keys=False))
    return path


def _columns(chance: Random, any_size: bool) -> list[Column]:
    """A few columns, or so many that their universe cannot be held."""
    columns = [_column(chance, f"c{i}") for i in range(chance.choice((1, 1, 2, 2, 3, 3, 4, 5)))]
    size = chance.random() if any_size else 1.0
    if size < 1 / 3:
        least = chance.choice(LISTED_UNIVERSES)
        while prod(map(_fewest_codes, columns)) <= least:
            columns.append(_column(chance, f"c{len(columns)}"))
        return columns
    largest = chance.choice(LARGE_UNIVERSES) if size < 0.5 else LARGEST_UNIVERSE
    if largest > LARGEST_UNIVERSE:
        columns += [_column(chance, f"c{len(columns) + i}") for i in range(3)]
    while prod(map(_most_codes, columns)) > largest:
        columns.pop()
    return columns or [_column(chance, "c0")]


def _column(chance: Random, name: str) -> Column:
    kind = chance.choice(("categorical", "categorical", "integer", "number"))
    column: Column = {"name": name, "type": kind, "source": "made up"}
    if kind == "categorical":
        levels = [f"{name}-{i}" for i in range(chance.choice((1, 2, 2, 3, 4, 6, 9)))]
        if chance.random() < 0.2:
            levels = chance.sample(ODD_LABELS, len(levels))
        column |= {"levels": levels, "out_of_domain": chance.choice(levels)}
        if chance.random() < 0.4:
            column |= {"missing": [""], "out_of_domain": "missing"}
        if len(levels) >= 4 and chance.random() < 0.5:
            cut = chance.randrange(1, len(levels))
            groups = {"low": levels[:cut], "high": levels[cut:]}
            if "missing" in column:
                groups[chance.choice(("low", "high"))].append("missing")
            column["hierarchy"] = [{"name": "half", "groups": groups}]
        return column
    bins = chance.choice((1, 2, 4, 8, 16, 32, 64))
    column |= {"out_of_domain": "clamp"}
    if kind == "integer":
        width = 2 if bins > 4 and chance.random() < 0.3 else 1
        column |= {"minimum": 0, "maximum": bins - 1, "bin_width": width}
    else:
        width = 1
        column["edges"] = sorted(chance.sample(range(2 * bins), bins + 1))
    if chance.random() < 0.3:
        column["missing"] = [""]
    if bins // width > 2 and chance.random() < 0.6:
        column["hierarchy"] = _hierarchy(chance, column)
    return column


def _hierarchy(chance: Random, column: Column) -> Any:
    """Halves of halves, parts of parts, or one level of unequal parts."""
    edges = column.get("edges") or range(0, column["maximum"] + 1, column["bin_width"])
    last = column.get("maximum", edges[-1])
    cuts = sorted(chance.sample(edges[1:-1], min(2, len(edges) - 2)))
    named = [{"name": "unequal", "edges": [edges[0], *cuts, last]}]
    return chance.choice(("dyadic", {"branching": chance.choice((2, 3, 4))}, named))


def _most_codes(column: Column) -> int:
    levels = column.get("levels") or column.get("edges") or range(column["maximum"] + 1)
    return len(levels) + 1


def _fewest_codes(column: Column) -> int:
    return max(1, (_most_codes(column) - 2) // column.get("bin_width", 1))


def _values(chance: Random, column: Column, records: int) -> list[str]:
    if column["type"] == "categorical":
        weights = [chance.gammavariate(0.4, 1) + 1e-9 for _ in column["levels"]]
        strange = ["", "nobody knows"]
        drawn = chance.choices(column["levels"], weights, k=records)
        return [chance.choice(strange) if chance.random() < 0.02 else value for value in drawn]
    mean = (column["edges"][-1] if "edges" in column else column["maximum"]) / 2 + 0.3
    drawn = [f"{chance.gammavariate(0.7, mean):.3f}" for _ in range(records)]
    if column["type"] == "integer":
        drawn = [value.partition(".")[0] for value in drawn]
    return ["" if chance.random() < 0.05 else value for value in drawn]


def _workload(chance: Random, columns: list[Column], number_is_public: bool) -> dict[str, Any]:
    workload: dict[str, Any] = {"cells": chance.random() < 0.6}
    if chance.random() < 0.8:
        workload["marginals"] = chance.randint(1, min(3, len(columns)))
    ordered = [column["name"] for column in columns if column["type"] != "categorical"]
    if ordered and chance.random() < 0.6:
        chosen = chance.sample(ordered, chance.randint(1, min(2, len(ordered))))
        workload["ranges"] = [{"columns": chosen, "kind": chance.choice(("prefix", "range"))}]
    if chance.random() < 0.5 and not number_is_public:
        workload["expected_records"] = chance.choice((10, 1_000, 100_000))
    return workload


def _strategy(chance: Random, columns: list[Column]) -> str | dict[str, Any]:
    word = chance.choice(STRATEGIES)
    if word != "tables":
        return word
    tables: list[list[str]] = []
    for _ in range(chance.randint(1, 3)):
        size = chance.randint(1, len(columns))
        table = [columns[i]["name"] for i in sorted(chance.sample(range(len(columns)), size))]
        if table not in tables:
            tables.append(table)
    return {"tables": tables}


def _output(chance: Random) -> dict[str, Any]:
    output: dict[str, Any] = {"directory": "outputs"}
    output["bins"] = chance.choice(("uniform", "uniform", "interval", "midpoint"))
    if chance.random() < 0.15:
        output["rows"] = chance.choice((0, 1, 77, 2_000))
    if chance.random() < 0.3:
        output["formats"] = [chance.choice(("csv", "parquet"))]
    return output


def _constraints(chance: Random, columns: list[Column], records: int) -> dict[str, Any]:
    """Impossible cells and public totals."""
    found: dict[str, Any] = {}
    choosable = [column for column in columns if len(column.get("levels", ())) > 1]
    impossible = []
    for _ in range(chance.choice((0, 0, 1, 2)) if choosable else 0):
        chosen = chance.sample(choosable, chance.randint(1, min(2, len(choosable))))
        impossible.append({column["name"]: _some(chance, column) for column in chosen})
    if impossible:
        found["impossible"] = impossible
    totals = []
    if chance.random() < 0.25:
        total = chance.choice((0, records, records + 7, 1_000))
        totals.append({"where": {}, "total": total, "source": "made up"})
    if choosable and chance.random() < 0.2:
        column = chance.choice(choosable)
        where = {column["name"]: [chance.choice(column["levels"])]}
        total = chance.choice((0, 3, records // 2))
        totals.append({"where": where, "total": total, "source": "made up"})
    if totals:
        found["public_totals"] = totals
    return found


def _some(chance: Random, column: Column) -> list[str]:
    return chance.sample(column["levels"], chance.randint(1, len(column["levels"])))
