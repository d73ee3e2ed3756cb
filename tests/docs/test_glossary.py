"""The glossary: one screen of words, one plain sentence each, true to what the program says."""

import re
from typing import get_args

from synth.config.strategy import StrategyWord
from synth.planning.usefulness import BELOW, NOISE
from tests.docs.test_signing_page import DOCS

PAGE = (DOCS / "glossary.md").read_text(encoding="utf-8")
WORDS = dict(re.findall(r"^\| ([^|]+?) \| ([^|]+) \|$", PAGE, re.MULTILINE)[1:])
MOST_WORDS = 25
WANTED = (
    "cell", "universe", "neighbours", "epsilon", "delta", "clamp", "total variation",
    "total records", "phantom records", "least squares", "strategy", "look", "latent classes",
    "disposal", "disjoint part",
)  # fmt: skip


def test_every_word_has_one_sentence_and_all_fit_a_screen():
    assert set(WANTED) <= set(WORDS)
    assert len(WORDS) <= MOST_WORDS
    for word, sentence in WORDS.items():
        plain = re.sub(r" \(\[.*?\]\(.*?\)\)", "", sentence)
        assert re.fullmatch(r"[A-Z][^.]*\.", plain), word


def test_every_strategy_is_named():
    assert set(get_args(StrategyWord)) | {"tables"} == set(
        re.findall(r"`(\w+)`", WORDS["strategy"])
    )


def test_the_words_for_accuracy_and_their_bounds_are_those_of_a_plan():
    entry = ", ".join((*BELOW, NOISE))
    assert [int(each) for each in re.findall(r"(\d+) %", WORDS[entry])] == [
        round(100 * below) for below in BELOW.values()
    ]


def test_pages_that_use_the_words_lead_to_it():
    for page in (DOCS / "index.md", DOCS / "release-folder.md", DOCS.parent / "README.md"):
        assert "glossary.md)" in page.read_text(encoding="utf-8"), page.name
    assert "glossary.md" in (DOCS / "site" / "mkdocs.yml").read_text(encoding="utf-8")
