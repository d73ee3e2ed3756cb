"""JSON for people: what fits into a line stands in it, and every reader reads the same."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from synth.strict_json import write_folded_json

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=40),
    lambda inner: st.lists(inner, max_size=8) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=30,
)


@given(VALUES)
@settings(max_examples=50)  # nested lists and objects, empty ones, and lines that are too long
def test_every_value_is_read_back_in_the_order_given(value):
    text = write_folded_json(value).decode()
    assert json.dumps(json.loads(text)) == json.dumps(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({}, "{}"),
        ({"fraction": "3/5", "decimal": "0.6"}, '{"fraction": "3/5", "decimal": "0.6"}'),
        (["a" * 60, "b" * 60], f'[\n "{"a" * 60}",\n "{"b" * 60}"\n]'),
        ([111] * 30, f"[\n {', '.join(['111'] * 20)},\n {', '.join(['111'] * 10)}\n]"),
        (
            {"k": [["x" * 50], ["y" * 50]]},
            f'{{\n "k": [\n  ["{"x" * 50}"],\n  ["{"y" * 50}"]\n ]\n}}',
        ),
        ("line\nend", '"line\\nend"'),
        ((111,) * 30, f"[\n {', '.join(['111'] * 20)},\n {', '.join(['111'] * 10)}\n]"),
    ],
)
def test_what_fits_into_a_line_stands_in_it(value, text):
    assert write_folded_json(value).decode() == text + "\n"


def test_what_is_no_json_is_refused():
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_folded_json([float("nan")])
    with pytest.raises(TypeError, match="keys"):
        write_folded_json({1: 2})
