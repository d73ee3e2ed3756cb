"""The colours of the page: every text can be read on its ground, by light and by dark."""

import re
from pathlib import Path

import pytest

import synth.release.page

STYLE = (Path(synth.release.page.__file__).parent / "templates" / "style.css").read_text()
TEXTS = [
    *((ink, ground) for ink in ("ink", "soft", "link") for ground in ("paper", "raised")),
    ("warn", "paper"),
    ("ink", "warn-paper"),
    *((f"h{shade}-ink", f"h{shade}") for shade in range(10)),
]
SHAPES = [("bar", "paper"), ("noise", "paper")]


def colours(scheme):
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", part)) for part in blocks())
    return light if scheme == "light" else light | dark


def blocks():
    light = re.search(r"^:root \{(.*?)^\}", STYLE, flags=re.DOTALL | re.MULTILINE)
    dark = re.search(r"prefers-color-scheme: dark\) \{\s*:root \{(.*?)\}", STYLE, flags=re.DOTALL)
    return light[1], dark[1]


def luminance(colour):
    """Relative luminance as WCAG 2 defines it."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_contrast_of_known_colours():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_text_can_be_read(scheme):
    found = colours(scheme)
    for ink, ground in TEXTS:
        assert contrast(found[ink], found[ground]) >= 4.5, (ink, ground)
    for shape, ground in SHAPES:
        assert contrast(found[shape], found[ground]) >= 3, (shape, ground)


def test_both_schemes_define_every_colour():
    light, dark = blocks()
    names = [re.findall(r"--([\w-]+):", part) for part in (light, dark)]
    assert names[0] == names[1]
    assert {name for pair in (*TEXTS, *SHAPES) for name in pair} | {"line"} == set(names[0])


def test_no_colour_is_used_but_by_name():
    rules = STYLE.replace(blocks()[0], "").replace(blocks()[1], "")
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|\brgb|\bhsl", rules)
    used = set(re.findall(r"var\(--([\w-]+)\)", rules))
    assert used == set(colours("light"))
