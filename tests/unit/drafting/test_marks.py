"""The marks in a text: what is answered changes, and not one character beside it."""

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from synth.drafting.column import DraftColumn, DraftUnit, Entry, Number, Numbers
from synth.drafting.marks import (
    _root,
    as_if_confirmed,
    is_in_lines,
    item_count,
    marks,
    spots_under,
    texts_at,
    with_key,
    with_value,
    without_item,
    without_key,
    without_mark,
    without_private_comments,
)
from synth.drafting.render import Place, render

TEXT = """\
# top
release:
  id: !CONFIRM my-release   # a comment stays
  title: !CONFIRM
domain:
  - name: "ä #1"
    # note
    type: !CONFIRM categorical
    levels: !CONFIRM [a, "b, c"]
    source: !CONFIRM
  - name: age   # of people
    type: integer
    edges: !CONFIRM
      - 0
      - 1

output: {directory: out}
"""


@pytest.fixture(params=["parser in C", "parser in Python"], autouse=True)
def parser(request, monkeypatch):
    """Marks are found alike by either parser."""
    _root.cache_clear()
    if request.param == "parser in Python":
        monkeypatch.delattr(yaml, "CBaseLoader", raising=False)


def spot(text, *place):
    return spots_under(text, place[:-1])[str(place[-1])]


def test_every_mark_is_found_where_it_stands():
    found = [(each.place, each.line, TEXT[each.value : each.end]) for each in marks(TEXT)]
    assert found == [
        (("release", "id"), 3, "my-release"),
        (("release", "title"), 4, ""),
        (("domain", 0, "type"), 8, "categorical"),
        (("domain", 0, "levels"), 9, '[a, "b, c"]'),
        (("domain", 0, "source"), 10, ""),
        (("domain", 1, "edges"), 13, "\n      - 0\n      - 1"),
    ]
    assert [each.is_empty for each in marks(TEXT)] == [False, True, False, False, True, False]


def test_an_answer_changes_its_own_characters_alone():
    confirmed = without_mark(TEXT, spot(TEXT, "release", "id"))
    assert confirmed == TEXT.replace("!CONFIRM my-release", "my-release")
    given_title = with_value(TEXT, spot(TEXT, "release", "title"), '"T: 1"')
    assert given_title == TEXT.replace("title: !CONFIRM", 'title: "T: 1"')
    levels = with_value(TEXT, spot(TEXT, "domain", 0, "levels"), "[x]")
    assert levels == TEXT.replace('!CONFIRM [a, "b, c"]', "[x]")
    edges = with_value(TEXT, spot(TEXT, "domain", 1, "edges"), "[0, 5]")
    assert edges == TEXT.replace("!CONFIRM\n      - 0\n      - 1", "[0, 5]")


def test_entries_and_columns_come_and_go_with_their_lines():
    assert with_key(TEXT, ("domain", 0), "missing", '[""]') == TEXT.replace(
        "source: !CONFIRM\n", 'source: !CONFIRM\n    missing: [""]\n'
    )
    assert with_key(TEXT, ("output",), "rows", "5") == TEXT.replace("out}", "out, rows: 5}")
    assert without_key(TEXT, spot(TEXT, "domain", 0, "levels")) == TEXT.replace(
        '    levels: !CONFIRM [a, "b, c"]\n', ""
    )
    first = TEXT[TEXT.index('  - name: "ä') : TEXT.index("  - name: age")]
    assert without_item(TEXT, ("domain", 0)) == TEXT.replace(first, "")
    last = TEXT[TEXT.index("  - name: age") : TEXT.index("\noutput")]
    assert without_item(TEXT, ("domain", 1)) == TEXT.replace(last, "")
    assert item_count(TEXT, ("domain",)) == 2
    assert texts_at(TEXT, ("domain", 0, "levels")) == ["a", "b, c"]
    assert texts_at(TEXT, ("nowhere", 0)) == []
    assert (is_in_lines(TEXT, ("domain", 0)), is_in_lines(TEXT, ("output",))) == (True, False)


def test_texts_without_a_last_line_end_are_answered_too():
    crlf = "a: !CONFIRM ü\r\nb: !CONFIRM 😀 # c\r\n"
    assert without_mark(crlf, spot(crlf, "b")) == "a: !CONFIRM ü\r\nb: 😀 # c\r\n"
    text = "a: 1\nb: !CONFIRM"
    assert with_value(text, spot(text, "b"), "2") == "a: 1\nb: 2"
    assert with_key(text, (), "c", "3") == "a: 1\nb: !CONFIRM\nc: 3"


def test_a_check_sees_no_mark_and_no_empty_place():
    plain = yaml.safe_load(as_if_confirmed(TEXT))
    assert plain["release"] == {"id": "my-release", "title": "to be given"}
    assert plain["domain"][1]["edges"] == [0, 1]


WORDS = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
VALUES = st.one_of(
    WORDS, st.none(), st.lists(WORDS, max_size=3).map(tuple),
    st.integers().map(lambda n: Number(str(n))), st.just(Numbers(("0", "2.5"))),
)  # fmt: skip


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(WORDS, st.lists(st.tuples(VALUES, st.booleans()), max_size=3)), max_size=3),
    WORDS,
)
def test_whatever_a_draft_holds_its_marks_come_off_one_by_one(found, advice):
    columns = [
        DraftColumn(
            name,
            tuple(Entry(f"k{n}", value, done) for n, (value, done) in enumerate(entries)),
            (advice,),
        )
        for name, entries in found
    ]
    text = render(columns, Place(None), reads_raw_data=True, unit=DraftUnit(advice, 5))
    expected = yaml.safe_load(text.replace("!CONFIRM", ""))
    left = marks(text)
    assert len(left) == sum(line.count(": !CONFIRM") for line in text.splitlines()
                            if not line.strip().startswith("#"))  # fmt: skip
    while left:
        text = without_mark(text, left[0])
        assert len(marks(text)) == len(left) - 1
        left = marks(text)
    assert yaml.safe_load(text) == expected


def test_private_comments_go_and_others_stay():
    columns = [DraftColumn("a", (Entry("type", "integer"),), ("private",))]
    left_out = DraftColumn("b", left_out="private", chosen_by="private")
    text = render([*columns, left_out], Place(None), reads_raw_data=True)
    cleaned = without_private_comments(text)
    assert "private" not in cleaned.lower()
    assert "What this release spends" in cleaned
    assert "# Combinations that cannot occur" in cleaned
    marked = ("!CONFIRM", "")
    assert yaml.safe_load(cleaned.replace(*marked)) == yaml.safe_load(text.replace(*marked))


@pytest.mark.parametrize("text", ["- !CONFIRM a\n- b\n", "!CONFIRM a\n"])
def test_marks_in_odd_places_come_off_too(text):
    assert without_mark(text, marks(text)[0]) == text.replace("!CONFIRM ", "")
