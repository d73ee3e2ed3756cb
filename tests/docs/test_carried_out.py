"""A page whose blocks do not do what it says is refused."""

import pytest

from tests.docs.carried_out import carry_out, replace_sections


def block(mark, text, kind="sh"):
    return f"Text.\n\n<!-- {mark} -->\n```{kind}\n{text}\n```\n"


def carried_out(place, *parts):
    page = place / "page.md"
    page.write_text("\n".join(parts))
    return carry_out(page, place)


def test_a_page_that_is_true(tmp_path):
    parts = (
        block("file: a.txt", "one 1.5\ntwo 22"),
        block("run", "cat a.txt"),
        block("output", "one 1.5\ntwo 22", "text"),
        block("excerpt", "two 22", "text"),
        block("output, noise", "one   3\ntwo 4", "text"),
        block("run, exit 3", "exit 3"),
        block("python", ">>> x = 1\n", "python"),
        block("python, noise", ">>> print(x, 'a')\n7   a\n", "python"),
    )
    assert len(carried_out(tmp_path, *parts)) == len(parts)


@pytest.mark.parametrize(
    "parts",
    [
        ("```sh\nexit 0\n```\n",),
        (block("rum", "exit 0"),),
        (block("run", "exit 1"),),
        (block("run, exit 2", "exit 1"),),
        (block("run", "echo one; echo two"), block("output", "one", "text")),
        (block("run", "echo one; echo two"), block("excerpt", "two\none", "text")),
        (block("run", "echo one 1"), block("excerpt", "one 2", "text")),
        (block("run", "echo one 1"), block("output, noise", "two 1", "text")),
        (block("python", ">>> 1 + 1\n3\n", "python"),),
        (block("python, noise", ">>> print('a', 1)\nb 1\n", "python"),),
        (block("same: docs/deploy/crontab", "not there", "text"),),
    ],
)
def test_a_page_that_is_not(tmp_path, parts):
    with pytest.raises(AssertionError):
        carried_out(tmp_path, *parts)


def test_sections_take_the_place_of_those_of_the_same_name(tmp_path):
    path = tmp_path / "a.yaml"
    path.write_text("a:\n  b: 1\nc: 2\n")
    replace_sections(path, "a: {b: 3}\nd: 4\n")
    assert path.read_text() == "a: {b: 3}\nc: 2\nd: 4\n"
