"""The questions of `synth confirm`, answered by a made-up keeper."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.cli.keeper_commands import Terminal
from synth.config.loader import find_problems
from synth.drafting.column import DraftColumn, DraftUnit, Entry, Labels, Number
from synth.drafting.marks import as_if_confirmed, marks, spots_under
from synth.drafting.questions import confirm, shown_value, written
from synth.drafting.render import Place, render
from synth.drafting.wording import column_in_words

SOURCE = Entry("source", None)
COLUMNS = (
    DraftColumn(
        "schooling",
        (
            Entry("type", "categorical"),
            Entry("levels", ("1", "2", " x, y")),
            Entry("missing", ("", "99")),
            Entry("out_of_domain", "missing", confirmed=True),
            Entry("labels", Labels((("1", "none"),))),
            SOURCE,
        ),
        ("look at this",),
    ),
    DraftColumn(
        "age",
        (
            Entry("type", "integer"),
            Entry("minimum", Number("0")),
            Entry("maximum", Number("104")),
            Entry("bin_width", Number("5")),
            Entry("out_of_domain", "clamp", confirmed=True),
            SOURCE,
        ),
    ),
    DraftColumn(
        "smokes",
        (
            Entry("type", "categorical"),
            Entry("levels", ("0", "1")),
            Entry("out_of_domain", "0"),
            SOURCE,
        ),
    ),
)
DRAFT = render(COLUMNS, Place("p.csv"), reads_raw_data=True, expected_records=500)
HEAD = {
    "release.id": "visits-2024", "release.title": "Visits: a test", "release.description": "Visits",
    "release.curators": 'Office A, "Office, B"', "release.contact": "data@example.org",
    "release.intended_use": "Teaching", "release.region": "Examplia", "release.sector": "Health",
    "release.license": "y", "source.disposal": "y", "source.disposal_reason": "kept by law",
    "privacy.epsilon": "0.5", "privacy.neighbours": "y", "privacy.unit": "y",
    "privacy.justification": "decided by the board", "ledger.path": "y",
    "ledger.population": "patients", "ledger.epsilon_cap": "2", "workload.expected_records": "y",
    "Column schooling": "y", "Column age": "y", "Column smokes": "y",
    "source >": "codebook of 2024", "The same for all": "y",
}  # fmt: skip
"""What the keeper answers to each question."""


class Keeper:
    """Answers by what was shown last; a list is used up, one answer after the other."""

    def __init__(self, answers):
        self.answers = {
            key: list(value) if isinstance(value, list) else value for key, value in answers.items()
        }
        self.shown: list[str] = []
        self.asked: list[str] = []
        self.saved: list[str] = []
        self._about = ""

    def say(self, text):
        self.shown.append(text)
        assert all(len(line) <= 79 for line in text.splitlines()), text
        if text.startswith("Column "):
            self._about = f"Column {text.partition(': ')[2]}"
        elif "   (line " in text:
            self._about = text.partition(" ")[0]

    def ask(self, prompt, _written=""):
        self.asked.append(prompt)
        assert len(self.asked) < 200, self.shown[-10:]
        by_prompt = next(filter(prompt.startswith, self.answers), None)
        answer = self.answers.get(by_prompt or self._about)
        if isinstance(answer, list):
            answer = answer.pop(0) if answer else None
        if answer is None:
            raise EOFError
        return answer

    def save(self, before, after):
        assert before == (self.saved[-1] if self.saved else before)
        self.saved.append(after)


def talk(text, answers):
    keeper = Keeper(answers)
    after = confirm(text, keeper, keeper.save, base=Path())
    assert after == (keeper.saved[-1] if keeper.saved else text)
    return after, keeper


def test_a_draft_is_confirmed_whole_and_accepted():
    after, keeper = talk(DRAFT, HEAD)
    assert marks(after) == []
    assert find_problems(after, base=Path()) == ()
    plain = yaml.safe_load(after)
    assert plain["release"]["curators"] == ["Office A", "Office, B"]
    assert plain["privacy"]["epsilon"] == 0.5
    assert [column["source"] for column in plain["domain"]] == ["codebook of 2024"] * 3
    assert sum(prompt == "source > " for prompt in keeper.asked) == 1, "one source for all"
    assert "    # look at this\n" in after, "comments stay"
    unchanged = [line for line in DRAFT.splitlines() if "!CONFIRM" not in line]
    assert [line for line in unchanged if line not in after.splitlines()] == []
    assert "note     look at this" in "\n".join(keeper.shown)


def test_whoever_stops_goes_on_from_there():
    text, rounds = DRAFT, 0
    while marks(text):
        keeper = Keeper(HEAD)
        count = iter(range(3))

        def ask(prompt, written="", keeper=keeper, count=count):
            if next(count, None) is None:
                raise EOFError
            return Keeper.ask(keeper, prompt, written)

        keeper.ask = ask
        text = confirm(text, keeper, keeper.save, base=Path())
        rounds += 1
        assert rounds < 20
    assert find_problems(text, base=Path()) == ()
    assert rounds > 5


@pytest.mark.parametrize("word", ["s", ""])
def test_what_is_skipped_stays_marked_and_is_not_asked_again(word):
    after, keeper = talk(DRAFT, {**HEAD, "release.id": word, "Column age": word})
    assert marks(after)[0].place == ("release", "id")
    assert {mark.place[:2] for mark in marks(after)[1:]} == {("domain", 1)}
    assert sum(line.startswith("release.id") for line in keeper.shown) == 1


def test_quit_leaves_everything_else_as_it_is():
    after, keeper = talk(DRAFT, {**HEAD, "release.curators": "q"})
    assert len(keeper.saved) == 3
    assert len(marks(after)) == len(marks(DRAFT)) - 3


@pytest.mark.parametrize(
    ("question", "wrong", "right", "said"),
    [
        ("release.id", "Visits 2024", "visits-2024", "small letters"),
        ("privacy.epsilon", "one", "1", "privacy.epsilon"),
        ("privacy.epsilon", "0", "1", "privacy.epsilon"),
        ("privacy.neighbours", "remove", "add-remove", "replace-one"),
        ("privacy.unit", "person", "patient_id 5", "max_records"),
        ("privacy.unit", "patient_id 0", "patient_id 5", "max_records"),
        ("release.curators", '""', "Office", "curators"),
        ("release.title", "y", "Title", "type the value"),
        ("source.disposal", "burn", "keep", "keep, delete"),
        ("workload.expected_records", "many", "2000", "expected_records"),
    ],
)
def test_a_wrong_answer_is_told_at_once_and_asked_again(question, wrong, right, said):
    after, keeper = talk(DRAFT, {**HEAD, question: [wrong, right]})
    assert marks(after) == []
    assert find_problems(after, base=Path()) == ()
    assert said in " ".join("\n".join(keeper.shown).split())
    assert all(wrong not in text or wrong in right or wrong == "y" or wrong in DRAFT
               for text in keeper.saved if wrong not in ('""', "0", "one", "y"))  # fmt: skip


def change(column, *answers):
    """Answers that change entries of a column: menus, entries and values in their order."""
    menus = list(answers[0::3])
    return {**HEAD, f"Column {column}": [*menus, "y"], "which one": list(answers[1::3]),
            **{f"{key} >": [value] for key, value in zip(answers[1::3], answers[2::3],
                                                         strict=True)}}  # fmt: skip


def test_an_entry_is_changed_and_the_rest_confirmed():
    after, _ = talk(DRAFT, change("age", "c", "maximum", "99", "c", "title", "Age: in years"))
    age = yaml.safe_load(after)["domain"][1]
    assert (age["maximum"], age["minimum"], age["title"]) == (99, 0, "Age: in years")
    assert marks(after) == []
    assert find_problems(after, base=Path()) == ()


def test_levels_are_typed_as_words_between_commas_and_checked():
    after, keeper = talk(DRAFT, change("schooling", "c", "levels", '1, 2, 1, " x"'))
    assert "every level once" in " ".join("\n".join(keeper.shown).split())
    after, keeper = talk(DRAFT, change("schooling", "c", "levels", '1, 2, 3, " x", "a ""b"""'))
    assert yaml.safe_load(after)["domain"][0]["levels"] == ["1", "2", "3", " x", 'a "b"']


def test_an_entry_is_taken_out_where_the_rest_allows_it():
    after, keeper = talk(DRAFT, change("schooling", "c", "missing", "-"))
    assert "this column has no missing level" in " ".join("\n".join(keeper.shown).split())
    assert yaml.safe_load(after)["domain"][0]["missing"] == ["", "99"]
    after, _ = talk(DRAFT, change("schooling", "c", "labels", "-"))
    assert "labels" not in yaml.safe_load(after)["domain"][0]


def test_a_column_of_codes_becomes_one_of_counts():
    answers = {**HEAD, "Column smokes": ["c", "y"], "which one": "type", "type >": "integer",
               "minimum >": "0", "maximum >": "20", "bin_width >": "1"}  # fmt: skip
    after, _ = talk(DRAFT, answers)
    assert yaml.safe_load(after)["domain"][2] == {
        "name": "smokes", "type": "integer", "minimum": 0, "maximum": 20, "bin_width": 1,
        "out_of_domain": "clamp", "source": "codebook of 2024",
    }  # fmt: skip
    assert find_problems(after, base=Path()) == ()
    answers = {**HEAD, "Column age": ["c", "y"], "which one": "type", "type >": "categorical",
               "levels >": "young, old", "out_of_domain >": "old"}  # fmt: skip
    after, _ = talk(DRAFT, answers)
    assert yaml.safe_load(after)["domain"][1]["levels"] == ["young", "old"]
    assert find_problems(after, base=Path()) == ()


def test_a_column_is_left_out_but_not_the_last_one():
    after, _ = talk(DRAFT, {**HEAD, "Column schooling": "l", "Column smokes": "l"})
    assert [column["name"] for column in yaml.safe_load(after)["domain"]] == ["age"]
    assert find_problems(after, base=Path()) == ()
    after, keeper = talk(DRAFT, {**HEAD, "Column schooling": "l", "Column age": "l",
                                 "Column smokes": ["l", "y"]})  # fmt: skip
    assert "only column" in "\n".join(keeper.shown)
    assert len(yaml.safe_load(after)["domain"]) == 1


def test_a_word_for_another_question_is_no_source():
    after, keeper = talk(DRAFT, {**HEAD, "source >": ["y", "n", "codebook"]})
    assert yaml.safe_load(after)["domain"][2]["source"] == "codebook"
    assert "Type its name" in "\n".join(keeper.shown)


def test_each_column_may_have_a_source_of_its_own_or_the_last_one():
    answers = {**HEAD, "source >": ["codebook", "law", ""], "The same for all": "n"}
    after, keeper = talk(DRAFT, answers)
    sources = [column["source"] for column in yaml.safe_load(after)["domain"]]
    assert sources == ["codebook", "law", "law"]
    assert sum(prompt.startswith("The same for all") for prompt in keeper.asked) == 1


def test_names_given_for_a_file_without_a_header_reach_columns_and_unit():
    columns = [DraftColumn(name, COLUMNS[2].entries) for name in ("c2", "c3")]
    place = Place("p.csv", header=("c1", "c2", "c3"))
    text = render(columns, place, reads_raw_data=True, confirms_names=True, unit=DraftUnit("c1", 5))
    answers = {**HEAD, "source.header": ["id, sex", "id, sex, region, x", "id, sex, region"]}
    after, keeper = talk(text, {**answers, "Column sex": "y", "Column region": "y"})
    plain = yaml.safe_load(after)
    assert plain["source"]["header"] == ["id", "sex", "region"]
    assert [column["name"] for column in plain["domain"]] == ["sex", "region"]
    assert plain["privacy"]["unit"] == {"column": "id", "max_records": 5}
    assert "The file has 3 columns, not 2." in "\n".join(keeper.shown)
    assert find_problems(after, base=Path()) == ()


def test_what_a_codebook_lacks_is_asked_for():
    column = DraftColumn(
        "town",
        (
            Entry("type", "categorical", confirmed=True),
            Entry("levels", ()),
            Entry("missing", ("",), confirmed=True),
            Entry("out_of_domain", "missing", confirmed=True),
            Entry("source", "codebook", confirmed=True),
        ),
    )
    bounded = DraftColumn(
        "age",
        (
            Entry("type", "integer", confirmed=True),
            Entry("minimum", None),
            Entry("maximum", None),
            Entry("out_of_domain", "clamp", confirmed=True),
            Entry("source", "codebook", confirmed=True),
        ),
    )
    text = render([column, bounded], Place("p.csv"), reads_raw_data=False)
    answers = {**HEAD, "Column town": "y", "levels >": "Nord, Süd", "minimum >": "0",
               "maximum >": "99"}  # fmt: skip
    after, _ = talk(text, answers)
    town, age = yaml.safe_load(after)["domain"]
    assert town["levels"] == ["Nord", "Süd"]
    assert (age["minimum"], age["maximum"]) == (0, 99)
    assert find_problems(after, base=Path()) == ()


TEXTS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), max_size=12)


@settings(max_examples=25)
@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_a_list_that_is_shown_and_typed_again_is_the_same(texts):
    place = ("domain", 0, "levels")
    column = DraftColumn("a", (Entry("levels", tuple(texts)),))
    text = render([column], Place(None), reads_raw_data=True)
    shown = shown_value(text, spots_under(text, ("domain", 0))["levels"])
    assert yaml.safe_load(f"key: {written(place, shown)}")["key"] == texts


@settings(max_examples=25)
@given(TEXTS.filter(str.strip))
def test_whatever_is_typed_stands_in_its_place_or_is_refused(answer):
    before = yaml.safe_load(as_if_confirmed(DRAFT))
    after, _ = talk(DRAFT, {"release.id": "s", "release.title": [answer]})
    found = yaml.safe_load(as_if_confirmed(after))
    if found != before:
        assert found["release"].pop("title") == answer.strip()
        del before["release"]["title"]
        assert found == before


@pytest.mark.parametrize("key", ["levels", "missing", "edges"])
def test_everything_that_a_yes_confirms_is_shown(key):
    texts = [f"{number}" for number in range(1_000, 1_200)]
    kind = "number" if key == "edges" else "categorical"
    values = {"type": [kind], key: texts, "format": ["%d.%m.%Y"]}
    raw = {"type": kind, key: f"[{', '.join(texts)}]", "format": '"%d.%m.%Y"'}
    shown = " ".join(column_in_words(values, raw, ()))
    assert [each for each in texts if each not in shown] == []
    assert "%d.%m.%Y" in shown


def test_no_value_steers_the_terminal(capsys):
    Terminal().say("a\x1b[8mhidden\x9b2K\r\nä")
    assert capsys.readouterr().out == "a\\x1b[8mhidden\\x9b2K\\r\nä\n"
