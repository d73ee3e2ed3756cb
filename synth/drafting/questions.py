"""The questions of `synth confirm`: every mark of a configuration, asked in plain words.

Opens no data. After every answer the text is saved, so that whoever stops goes on from there. What
somebody types becomes YAML, and what YAML holds is shown as somebody would type it.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from synth.config.loader import find_problems
from synth.config.schema.problems import Place
from synth.config.schema.yaml_tree import UnreadableTextError, parse
from synth.drafting.column import flow_list, yaml_text
from synth.drafting.marks import (
    Spot,
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
)
from synth.drafting.wording import KINDS, WIDTH, column_in_words, question, record_of
from synth.errors import Problem

LISTS = {"levels", "missing", "edges", "curators", "header", "true_values", "false_values"}
NUMBERS = {"minimum", "maximum", "bin_width", "first", "last", "epsilon", "epsilon_cap",
           "delta", "delta_cap", "expected_records", "max_records"}  # fmt: skip
"""Keys whose value stands without quotes."""

MAPS = {"labels", "unit", "hierarchy"}
"""Keys whose value may be written in brackets."""

ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^,]*?)\s*,')
NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?(e-?[0-9]+)?|[0-9]{4}(-[0-9]{2}){1,2}")


def shown_value(text: str, spot: Spot) -> str:
    """A value as somebody would type it."""
    raw = text[spot.value : spot.end]
    if raw.startswith("{"):
        unit = spots_under(text, spot.place)
        if spot.place == ("privacy", "unit") and {*unit} == {"column", "max_records"}:
            return " ".join(texts_at(text, (*spot.place, key))[0] for key in unit)
        return raw
    texts = texts_at(text, spot.place)
    if spot.place[-1] not in LISTS:
        return texts[0] if texts else raw
    return ", ".join(map(_quoted, texts))


def _quoted(text: str) -> str:
    is_plain = text and not re.search(r'[,"\[{]|^\s|\s$', text)
    return text if is_plain else '"' + text.replace('"', '""') + '"'


def _items(answer: str) -> list[str]:
    """The words between commas; in double quotes they keep commas and blanks at their ends."""
    items = [match[1] for match in ITEM.finditer(f"{answer},")]
    return [
        item[1:-1].replace('""', '"') if len(item) > 1 and item[0] == item[-1] == '"' else item
        for item in items
    ]


def written(place: Place, answer: str) -> str:
    """An answer as YAML: lists from words between commas, texts in quotes where they need them."""
    key = str(place[-1])
    if (key in MAPS and answer[:1] in ("{", "[")) or (key in LISTS and answer.startswith("[")):
        return answer
    persons = re.fullmatch(r"(\S.*?)[ ,]+([0-9]+)", answer)
    if place == ("privacy", "unit") and persons is not None:
        return f"{{column: {yaml_text(persons[1])}, max_records: {persons[2]}}}"
    if key in LISTS:
        texts = _items(answer)
        return f"[{', '.join(texts)}]" if key == "edges" else flow_list(texts)
    return answer if key in NUMBERS and NUMBER.fullmatch(answer) else yaml_text(answer)


def renamed(text: str, before: Sequence[str], after: Sequence[str]) -> str:
    """The text with columns, and the unit, called as the list of all columns now calls them."""
    names = dict(zip(before, after, strict=False))
    places: list[Place] = [("domain", n, "name") for n in range(item_count(text, ("domain",)))]
    for place in (*places, ("privacy", "unit", "column")):
        for name in texts_at(text, place):
            if names.get(name, name) != name:
                spot = spots_under(text, place[:-1])[str(place[-1])]
                text = with_value(text, spot, yaml_text(names[name]))
    return text


def problems_at(text: str, place: Place, *, base: Path) -> list[Problem]:
    """What is wrong at a place, and under it, but for what is still marked.

    Everything else of the text is taken for confirmed, so that rules between entries apply.
    """
    try:
        parse(text, [])
    except UnreadableTextError as error:
        return [error.problem]
    marked = {spot.place for spot in marks(text)}
    prefix = ".".join(map(str, place)) if place[0] != "domain" else f"domain[{place[1]}]"
    relevant = []
    for problem in find_problems(as_if_confirmed(text), base=base):
        rest = problem.path.removeprefix(prefix)
        if not problem.path.startswith(prefix) or rest[:1] not in ("", " ", ".", "["):
            continue
        key = re.split(r"[.\[]", rest.rpartition(" → ")[2])[0]
        if place[0] != "domain" or (*place, key) not in marked:
            relevant.append(problem)
    return relevant


YES_OR_NO = {"y", "yes", "n", "no", "c", "s", "q"}
"""No source is called so: somebody has taken this question for another."""

MENU = "y yes, c change, l leave the column out, s skip, q quit > "


class Screen(Protocol):
    """Where the questions are asked."""

    def say(self, text: str) -> None:
        """Show some lines."""

    def ask(self, prompt: str, written: str = "") -> str:
        """An answer of one line; `written` is there already, to be changed. Raises: EOFError."""


class Leave(Exception):  # noqa: N818 - no error: somebody has had enough for now
    """Ends the questions."""


def confirm(text: str, screen: Screen, save: Callable[[str, str], None], *, base: Path) -> str:
    """Ask for every mark of a configuration; the text as it is in the end.

    `save` gets the text before and after every answer. `base` is the directory of the file.

    Requires: the text is YAML without any problem but marks.
    """
    talk = _Talk(text, screen, save, base)
    with suppress(Leave, EOFError):
        while (place := talk.next_place()) is not None:
            talk.ask_about(place)
    return talk.text


@dataclass
class _Talk:
    text: str
    screen: Screen
    save: Callable[[str, str], None]
    base: Path
    skipped: set[Place] = field(default_factory=set)
    source: str = ""
    """The source of all further columns, once somebody has said so."""
    asks_for_all: bool = True
    """Whether to ask if a source is that of all further columns: once is enough."""

    def next_place(self) -> Place | None:
        """The next entry, or column, with a mark that nobody has skipped."""
        for spot in marks(self.text):
            place = spot.place[:2] if spot.place[0] == "domain" else spot.place
            if self._known_as(place) not in self.skipped:
                return place
        return None

    def ask_about(self, place: Place) -> None:
        """One question; it ends with an answer that is taken, or left for later."""
        self.screen.say("")
        if place == ("domain",):
            self._say("No column could be drafted: write the list `domain` with an editor.")
            self.skipped.add(place)
        elif place[0] == "domain":
            self._ask_column(int(place[1]))
        else:
            self._ask_entry(place)

    def _known_as(self, place: Place) -> Place:
        """What stays the same of a place while columns before it are left out."""
        if place[0] == "domain" and len(place) > 1:
            return ("domain", *texts_at(self.text, (*place, "name")))
        return place

    def _say(self, sentence: str, *, indent: str = "") -> None:
        self.screen.say(
            textwrap.fill(sentence, WIDTH, initial_indent=indent, subsequent_indent=indent)
        )

    def _ask_entry(self, place: Place) -> None:
        spot = next(each for each in marks(self.text) if each.place == place)
        shown = shown_value(self.text, spot)
        self.screen.say(f"{'.'.join(map(str, place))}   (line {spot.line})")
        self._say(question(place), indent="  ")
        prompt = "a value, s skip, q quit > "
        if shown:
            self._say(f"drafted: {shown}", indent="  ")
            prompt = "y as drafted, c change it, or another value; s skip, q quit > "
        while True:
            answer = self.screen.ask(prompt).strip()
            if answer == "c":
                answer = self.screen.ask("new value > ", shown).strip()
            if answer in ("", "s"):
                self.skipped.add(place)
                return
            if answer == "q":
                raise Leave
            if answer == "y" and not shown:
                self.screen.say("  Nothing is drafted here: type the value.")
                continue
            changed = (
                without_mark(self.text, spot)
                if answer == "y"
                else with_value(self.text, spot, written(place, answer))
            )
            if place == ("source", "header"):
                before, after = texts_at(self.text, place), texts_at(changed, place)
                if len(before) != len(after):
                    self.screen.say(f"  The file has {len(before)} columns, not {len(after)}.")
                    continue
                changed = renamed(changed, before, after)
            if self._takes(changed, place):
                return

    def _takes(self, changed: str, place: Place) -> bool:
        """Whether the changed text is right at this place; if so, it is saved."""
        wrong = problems_at(changed, place, base=self.base)
        for problem in wrong:
            self._say_wrong(problem)
        if not wrong:
            self.save(self.text, changed)
            self.text = changed
        return not wrong

    def _say_wrong(self, problem: Problem) -> None:
        self._say(f"Not yet: {problem.path}: found {problem.found}; expected {problem.expected}")
        for label, sentence in (("why", problem.why), ("fix", problem.fix)):
            if sentence:
                self._say(f"{label}: {sentence}", indent="  ")

    def _ask_column(self, number: int) -> None:
        place: Place = ("domain", number)
        while any(spot.place[:2] == place for spot in marks(self.text)):
            count = item_count(self.text, ("domain",))
            spots = spots_under(self.text, place)
            values = {key: texts_at(self.text, (*place, key)) for key in spots}
            raw = {key: self.text[spot.value : spot.end] for key, spot in spots.items()}
            self.screen.say(f"Column {number + 1} of {count}: {''.join(values.get('name', []))}")
            if "name" in spots and spots["name"].is_marked:
                self.screen.say("  Its name is published, and may be a value of the data.")
            for line in column_in_words(values, raw, self._advice(number)):
                self.screen.say(line)
            answer = self.screen.ask(MENU).strip()
            if answer in ("", "s"):
                self.skipped.add(self._known_as(place))
                return
            if answer == "q":
                raise Leave
            if answer == "y" and self._confirm_column(place):
                return
            if answer == "c" or answer in spots:
                self._change_column(place, "" if answer == "c" else answer)
            elif answer == "l" and count == 1:
                self.screen.say("  It is the only column: a release needs one.")
            elif answer == "l" and not is_in_lines(self.text, ("domain",)):
                self.screen.say("  The list `domain` is in brackets: take it out with an editor.")
            elif answer == "l":
                changed = without_item(self.text, place)
                self.save(self.text, changed)
                self.text = changed
                return
            elif answer != "y":
                self.screen.say("  Answer with one of the letters y, c, l, s, q.")

    def _advice(self, number: int) -> list[str]:
        """The comments of the draft on a column."""
        spots = list(spots_under(self.text, ("domain", number)).values())
        lines = self.text.splitlines()[spots[0].line - 1 : spots[-1].line] if spots else []
        return [line.strip(" #") for line in lines if line.strip().startswith("#")]

    def _confirm_column(self, place: Place) -> bool:
        """Confirm all entries of a column, after asking for what is not given."""
        changed = self.text
        for key, spot in spots_under(self.text, place).items():
            if not spot.is_marked or not (spot.is_empty or shown_value(self.text, spot) == ""):
                continue
            answer = self._source(place) if key == "source" else self._value(place, key)
            if not answer:
                return False
            changed = _set(changed, place, key, answer)
        for spot in reversed(marks(changed)):
            if spot.place[:2] == place:
                changed = without_mark(changed, spot)
        return self._takes(changed, place)

    def _value(self, place: Place, key: str, shown: str = "") -> str:
        """A new value of one entry of a column, as YAML; empty if none is given."""
        self._say(f"{key}: {question((*place, key), _kind(self.text, place))}", indent="  ")
        if key in LISTS:
            self._say('separated by commas; "" is an empty field', indent="  ")
        answer = self.screen.ask(f"{key} > ", shown).strip()
        return written((*place, key), answer) if answer else ""

    def _source(self, place: Place) -> str:
        """Where levels and bounds come from, as YAML; asked once for all columns, if so wished."""
        if self.source:
            return yaml_text(self.source)
        known = [
            texts_at(self.text, (*place[:1], number, "source"))
            for number in range(item_count(self.text, place[:1]))
        ]
        before = next((texts[0] for texts in reversed(known) if texts and texts[0]), "")
        self._say(
            "Which public source says so: a codebook, a questionnaire, a law? It is published. "
            "What only the data show is no source: change it, or leave the column out.",
            indent="  ",
        )
        if before:
            self._say(f"Enter alone: {before}", indent="  ")
        answer = self.screen.ask("source > ").strip() or before
        while answer.lower() in YES_OR_NO:
            self.screen.say("  Type its name, such as: codebook of 2024, table 3")
            answer = self.screen.ask("source > ").strip() or before
        if answer and self.asks_for_all:
            self.asks_for_all = False
            every = self.screen.ask("The same for all further columns? y, n > ").strip()
            self.source = answer if every == "y" else ""
        return yaml_text(answer) if answer else ""

    def _change_column(self, place: Place, key: str) -> None:
        """Another value of one entry, which is asked for if none is named."""
        spots = spots_under(self.text, place)
        kind = _kind(self.text, place)
        known = [key.name for key in record_of(kind).keys] if kind in KINDS else [*spots]
        if not key:
            self._say(f"the entries: {', '.join(known)}", indent="  ")
            key = self.screen.ask("which one > ").strip()
        if not key:
            return
        if key not in known:
            self.screen.say("  There is no such entry.")
            return
        shown = shown_value(self.text, spots[key]) if key in spots else ""
        if key in spots and key not in ("name", "type"):
            self.screen.say("  (a - alone takes the entry out)")
        answer = self.screen.ask(f"{key} > ", shown).strip()
        if (answer == "-" or key == "type") and not is_in_lines(self.text, place):
            self.screen.say("  The column is in brackets: change that with an editor.")
        elif answer == "-" and key in spots:
            self._takes(without_key(self.text, spots[key]), place)
        elif answer and key == "type" and answer in KINDS and answer != kind:
            self._change_kind(place, answer)
        elif answer:
            self._takes(_set(self.text, place, key, written((*place, key), answer)), place)

    def _change_kind(self, place: Place, kind: str) -> None:
        """Another type of column: what it has to say is asked, what it cannot say goes."""
        changed = _set(self.text, place, "type", kind)
        allowed = {key.name for key in record_of(kind).keys}
        for key, spot in reversed(spots_under(changed, place).items()):
            if key not in allowed:
                changed = without_key(changed, spot)
        is_ordered = kind not in ("categorical", "boolean")
        for key in (*KINDS[kind], *(() if is_ordered else ("out_of_domain",))):
            if key not in spots_under(changed, place) or key == "out_of_domain":
                self._say(f"{key}: {question((*place, key), kind)}", indent="  ")
                answer = self.screen.ask(f"{key} > ").strip()
                if not answer:
                    return
                changed = _set(changed, place, key, written((*place, key), answer))
        if is_ordered and texts_at(changed, (*place, "out_of_domain")) != ["missing"]:
            changed = _set(changed, place, "out_of_domain", "clamp")
        self._takes(changed, place)


def _kind(text: str, place: Place) -> str:
    return "".join(texts_at(text, (*place, "type")))


def _set(text: str, place: Place, key: str, written_value: str) -> str:
    spot = spots_under(text, place).get(key)
    if spot is None:
        return with_key(text, place, key, written_value)
    return with_value(text, spot, written_value)
