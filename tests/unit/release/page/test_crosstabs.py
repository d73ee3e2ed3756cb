"""Tables with intervals on the page: those of `synth errors`, of pairs that can be read."""

import re
from dataclasses import replace

import html5lib
import numpy as np
import pytest

from synth.reading import Release, intervals
from synth.release.page import accuracy as module
from synth.release.page.accuracy import CountWithInterval, crosstabs
from synth.release.page.render import render_page

HTML = "{http://www.w3.org/1999/xhtml}"


@pytest.fixture
def made(released):
    return released(workload={"marginals": 2})


def tabs_of(made, derived, **changes):
    given = {"summary": derived.summary, "figures": derived.figures} | changes
    return crosstabs(made.config, made.measurements, derived.counts, **given)


def test_counts_are_those_of_the_rows_and_intervals_those_of_synth_errors(made):
    derived = made.derive(made.measurements, made.config)
    found = tabs_of(made, derived)
    assert 1 <= len(found) <= module.MOST_CROSSTABS
    names = made.config.universe.names
    for tab in found:
        asked = intervals(Release(made.folder), marginal=[names[tab.down], names[tab.across]])
        shown = [cell for line in tab.lines for cell in line]
        assert [cell.rows for cell in shown] == asked["published"].tolist()
        assert [(cell.low, cell.high) for cell in shown] == list(
            zip(asked["low"], asked["high"], strict=True)
        )


def test_what_no_figure_is_known_of_is_not_shown(made):
    derived = made.derive(made.measurements, made.config)
    assert tabs_of(made, derived, figures=[]) == ()


def test_what_noise_drowns_is_not_shown(made):
    derived = made.derive(made.measurements, made.config)
    figures = [
        replace(each, half_width_95_records=derived.rows + 1)
        if each.half_width_95_records is not None
        else each
        for each in derived.figures
    ]
    assert tabs_of(made, derived, figures=figures) == ()


def test_a_table_that_nobody_could_read_is_not_shown(made, monkeypatch):
    derived = made.derive(made.measurements, made.config)
    monkeypatch.setattr(module, "MOST_LINES", 1)
    assert tabs_of(made, derived) == ()


def test_what_no_noisy_table_answers_is_not_shown(made):
    derived = made.derive(made.measurements, made.config)
    nothing = replace(made.measurements, tables=())
    given = {"summary": derived.summary, "figures": derived.figures}
    assert crosstabs(made.config, nothing, derived.counts, **given) == ()


def test_the_longer_column_stands_down_and_every_line_is_its_own_whole(made):
    derived = made.derive(made.measurements, made.config)
    shape = made.config.universe.shape
    for tab in tabs_of(made, derived):
        assert shape[tab.down] >= shape[tab.across]
        assert (len(tab.lines), len(tab.lines[0])) == (shape[tab.down], shape[tab.across])
        for line in tab.lines:
            total = sum(cell.rows for cell in line)
            shares = [cell.share_of_line for cell in line]
            assert np.allclose(shares, [cell.rows / max(1, total) for cell in line])


@pytest.mark.parametrize(
    ("rows", "low", "high", "outside", "noise"),
    [(5, 0, 9, False, True), (5, 6, 9, True, False), (0, 0, 0, False, False),
     (3, 0, 2, True, True)],
)  # fmt: skip
def test_what_is_marked(rows, low, high, outside, noise):
    cell = CountWithInterval(rows, low, high, 1.0)
    assert (cell.is_outside, cell.is_noise, cell.shade) == (outside, noise, 9)


def test_the_page_shows_them_and_how_to_ask_for_more(made, manifest_of):
    derived = made.derive(made.measurements, made.config)
    found = tabs_of(made, derived)
    page = render_page(manifest_of(made), derived.summary, derived.figures, found)
    assert page == (made.folder / "index.html").read_bytes()
    tree = html5lib.HTMLParser(strict=True).parse(page.decode())
    drawn = [t for t in tree.iter(f"{HTML}table") if t.get("class") == "crosstab"]
    assert len(drawn) == len(found)
    text = " ".join("".join(tree.itertext()).split())
    for tab in found:
        for cell in (cell for line in tab.lines for cell in line):
            assert f"{cell.low:,} to {cell.high:,}" in text
    assert re.search(r"pip install synth-publisher==\S+ synth errors \S+ --marginal \S+,\S+", text)
    without = render_page(manifest_of(made), derived.summary, derived.figures, ())
    assert "No pair of columns is both legible and small enough" in without.decode()
