"""What a column of a draft holds: text that is text whatever it says."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from synth.drafting.column import DraftColumn, Entry, flow_list, yaml_text
from synth.drafting.render import Place, render

TEXT = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=20)


@given(TEXT)
def test_text_is_read_back_as_it_was_and_stands_in_one_line(text):
    written = yaml_text(text)
    assert yaml.safe_load(f"key: {written}") == {"key": text}
    assert len(written.splitlines()) == 1


@given(st.lists(TEXT, max_size=5))
def test_lists_are_read_back_as_they_were(texts):
    assert yaml.safe_load(f"key: {flow_list(texts)}") == {"key": texts}


@given(TEXT, TEXT)
def test_no_name_or_advice_breaks_out_of_its_place(name, advice):
    columns = [
        DraftColumn(name, (Entry("type", "integer", confirmed=True),), (advice,)),
        DraftColumn(name, left_out=advice),
    ]
    text = render(columns, Place(None), reads_raw_data=True).replace("!CONFIRM", "")
    assert yaml.safe_load(text)["domain"] == [{"name": name, "type": "integer"}]
