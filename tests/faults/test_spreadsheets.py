"""A published CSV, opened in a spreadsheet: no cell is run, and every one says what it says."""

import csv
import io
import shutil
import subprocess
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from hypothesis import event, example, given, settings
from hypothesis import strategies as st

from synth.config import load_config
from synth.domain.counts import Counts
from synth.errors import ConfigError
from synth.release.rows.columns import published_columns
from synth.release.rows.csv_file import csv_chunks, quote_field

GOOD = Path(__file__).parents[1] / "configs" / "good" / "small.yaml"

STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What makes a spreadsheet take a cell for a formula, at its beginning or behind blanks."""

CALCULATIONS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(1;1)",
    "=cmd|' /C calc'!A0",
    '=HYPERLINK("http://example.org";"x")',
    "=WEBSERVICE(1)",
    " =1+1",
    "\t=1+1",
    "\r=1+1",
    "\n=1+1",
    "\u00a0=1+1",
    "\u2003@x",
    "\ufeff=1+1",
    "\u200b=1+1",
    "\uff1d1+1",
    "\uff0b1+1",
    "\uff0d1+1",
    "\uff20x",
    "=",
    "--1",
    "+-1",
    "-1-1",
    "-1e5x",
    "+1 2",
]
HARMLESS = [
    "-5",
    "+5",
    "-0.5",
    "1e-3",
    "a=b",
    "x,=1",
    'a"=1',
    ";=1",
    "a\u00a0=",
    "'=1",
    "--"[:0] + "R-1",
]


def domain_with(levels: list[str], name: str = "word") -> dict:
    return {"name": name, "type": "categorical", "levels": levels, "source": "test"} | {
        "out_of_domain": levels[-1]
    }


def accepted(project, *domain) -> bool:
    try:
        load_config(project(domain=list(domain)))
    except ConfigError:
        return False
    return True


@pytest.mark.parametrize("text", CALCULATIONS)
def test_a_formula_is_no_level_and_no_name(project, text):
    assert not accepted(project, domain_with(["a", text]))
    assert not accepted(project, domain_with(["a", "b"], name=text))


@pytest.mark.parametrize("text", HARMLESS)
def test_what_is_no_formula_is_a_level(project, text):
    assert accepted(project, domain_with([text, "b"]))


def rows_of(config) -> bytes:
    columns = published_columns(config.universe, "uniform")
    counts = Counts.of_all(np.full(config.universe.size, 2), config.universe.shape)
    return b"".join(map(bytes, csv_chunks(counts, columns, seed=1)))


@settings(max_examples=30)
@example(["a", "x,=1"])
@given(st.lists(st.text(st.sampled_from("=+-@'\",;|\t\r \u00a0a1.e"), min_size=1, max_size=6)))
def test_no_accepted_level_is_a_formula_in_the_file(tmp_path_factory, levels):
    levels = list(dict.fromkeys([*levels, "last"]))
    path = tmp_path_factory.mktemp("levels") / "release.yaml"
    tree = yaml.load(GOOD.read_text(encoding="utf-8"), Loader=yaml.BaseLoader) | {
        "domain": [domain_with(levels), domain_with(["x", "-5"], name="other")]
    }
    path.write_text(yaml.safe_dump(tree, allow_unicode=True))
    try:
        config = load_config(path)
    except ConfigError:
        assert levels != ["a", "x,=1", "last"], "the example is good"
        event("refused")
        return
    content = rows_of(config).decode()
    for separator in ",;\t":  # a reader may take another separator than the writer
        for row in csv.reader(io.StringIO(content, newline=""), delimiter=separator):
            for cell in row if separator == "," else row[:1]:
                assert not is_formula(cell)


def is_formula(cell: str) -> bool:
    text = cell.strip()
    try:
        float(text)
    except ValueError:
        return text.startswith(STARTS)
    return False


def test_the_writer_quotes_what_would_end_a_field():
    cells = ["a,=1", 'a"=1', "a\n=1", "", "plain"]
    line = ",".join(map(quote_field, cells)) + "\n"
    assert next(csv.reader(io.StringIO(line, newline=""))) == cells


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_libreoffice_shows_every_cell_as_it_is_and_calculates_none(project, tmp_path):
    levels = [text for text in HARMLESS if text.strip()]
    config = load_config(project(domain=[domain_with(levels), domain_with(["x", "-5"], "other")]))
    content = rows_of(config)
    (tmp_path / "synthetic.csv").write_bytes(content + b"=1+1,=2+3\n")
    cells = SimpleNamespace(formulas=[], texts=[])
    command = ["soffice", "--headless", f"-env:UserInstallation=file://{tmp_path}/profile"]
    command += ["--convert-to", "fods", "--infilter=CSV:44,34,76,1,,0,false,true,false,false"]
    command += ["--outdir", str(tmp_path), str(tmp_path / "synthetic.csv")]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    read_flat(tmp_path / "synthetic.fods", cells)
    rows = list(csv.reader(io.StringIO(content.decode(), newline="")))
    assert len(cells.formulas) == 2, "the planted formulas, and nothing else"
    texts = [text for row in rows for text in row]
    shown = cells.texts[: len(texts)]
    assert [plain(text) for text in shown] == [plain(text) for text in texts]


def plain(text: str) -> str:
    try:
        return str(float(text))
    except ValueError:
        return text


def read_flat(path: Path, cells: SimpleNamespace) -> None:
    """The formulas of a flat spreadsheet, and its cells in order."""
    import xml.etree.ElementTree as ElementTree

    table = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
    office = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
    for row in ElementTree.parse(path).iter(f"{table}table-row"):
        again = int(row.get(f"{table}number-rows-repeated", "1"))
        if again > 1_000:
            continue
        found = []
        for cell in row.iter(f"{table}table-cell"):
            wide = int(cell.get(f"{table}number-columns-repeated", "1"))
            if wide > 100:
                continue
            if cell.get(f"{table}formula") is not None:
                cells.formulas.append(cell.get(f"{table}formula"))
            text = cell.get(f"{office}value") or "".join(cell.itertext()).strip("\n ")
            found += [text] * wide
        cells.texts += found * again
