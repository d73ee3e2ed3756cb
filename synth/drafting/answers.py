"""What somebody types, as YAML; what YAML holds, as somebody would type it; and what is wrong."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from synth.config.loader import find_problems
from synth.config.schema.problems import Place
from synth.config.schema.yaml_tree import UnreadableTextError, parse
from synth.drafting.column import flow_list, yaml_text
from synth.drafting.marks import (
    Spot,
    as_if_confirmed,
    item_count,
    marks,
    spots_under,
    texts_at,
    with_value,
)
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
