"""The page on the code shows the rooms that there are, and the imports between them."""

import re
import runpy
from xml.etree import ElementTree

from tests.docs.carried_out import ROOT
from tests.docs.test_signing_page import DOCS
from tests.secrecy.test_imports import PACKAGE, RANK, imported_parts, part_of

PAGE = (DOCS / "architecture.md").read_text(encoding="utf-8")
PICTURE = DOCS / "images" / "rooms.svg"
DRAWN = [node.attrib for node in ElementTree.parse(PICTURE).iter()]
ROOMS = {node["data-room"] for node in DRAWN if "data-room" in node}
ARROWS = {(node["data-from"], node["data-to"]) for node in DRAWN if "data-from" in node}
(GROUND,) = (set(node["data-ground"].split()) for node in DRAWN if "data-ground" in node)


def followed(pairs):
    """The pairs, and all that follow from them."""
    while more := {(a, d) for a, b in pairs for c, d in pairs if b == c} - pairs:
        pairs = pairs | more
    return pairs


def test_the_picture_has_every_room_and_the_ground_holds_what_imports_no_room():
    assert ROOMS - {"synth"} | GROUND == set(RANK) - {"__init__", "__main__"}
    assert ROOMS - {"synth"} == {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    for name in GROUND:
        assert imported_parts((PACKAGE / f"{name}.py").read_text()) <= GROUND


def test_the_arrows_say_which_room_imports_which_and_none_can_be_left_out():
    imports = set()
    for path in PACKAGE.rglob("*.py"):
        room = "synth" if path == PACKAGE / "__init__.py" else part_of(path)
        imports |= {(room, other) for other in imported_parts(path.read_text()) - {room}}
    among = {pair for pair in imports if set(pair) <= ROOMS}
    assert len(among) > 50
    assert among >= ARROWS
    assert followed(ARROWS) == followed(among)
    for arrow in ARROWS:
        assert arrow not in followed(ARROWS - {arrow}), arrow


def test_nothing_leads_from_the_boundary_to_what_comes_after_or_back():
    reached = followed(ARROWS)
    for after in ("estimate", "release", "reading"):
        assert ("curator", after) not in reached
        assert (after, "curator") not in reached


def test_the_picture_is_up_to_date_and_stands_on_the_page():
    drawn = runpy.run_path(str(DOCS / "site" / "rooms.py"))
    assert PICTURE.read_text(encoding="utf-8") == drawn["picture"](), "python docs/site/rooms.py"
    assert f"](images/{PICTURE.name})" in PAGE


def test_the_table_names_every_room_in_the_order_of_imports():
    section = PAGE.split("## The rooms")[1].split("\n## ")[0]
    named = re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)
    assert sorted(named) == sorted(set(RANK) - {"__init__", "__main__"})
    assert named == sorted(named, key=RANK.__getitem__)


def test_every_file_that_the_page_names_exists():
    for place in re.findall(r"`((?:synth|tests|docs)/[\w/.-]+)`", PAGE):
        assert (ROOT / place).exists(), place


def test_arrows_that_follow_from_others_are_found():
    assert followed({("a", "b"), ("b", "c")}) == {("a", "b"), ("b", "c"), ("a", "c")}
