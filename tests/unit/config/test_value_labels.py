"""Labels of values: what a configuration may say of its codes, and what follows from it."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest
import yaml

from synth.config import config_from_public, load_config
from synth.config.summary import report_lines
from synth.errors import ConfigError
from tests.conftest import SMALL, merged

CODES = {"name": "smokes", "type": "categorical", "levels": ["0", "1", "2"], "missing": ["", "9"]}
CODES |= {"out_of_domain": "missing", "source": "codebook"}
YEARS = {"name": "years", "type": "integer", "edges": [0, 1, 2, 10], "missing": ["99"]}
YEARS |= {"out_of_domain": "clamp", "source": "codebook"}


@pytest.fixture
def loaded(tmp_path):
    def load(column: dict[str, Any], labels: dict[str, str] | None):
        written = merged(SMALL, {"domain": [column | ({"labels": labels} if labels else {})]})
        path = tmp_path / "release.yaml"
        path.write_text(yaml.safe_dump(deepcopy(written), sort_keys=False), encoding="utf-8")
        return load_config(path)

    return load


LABELS = {"9": "refused", "1": "now and then", "missing": "not known", "0": "No"}


def test_labels_are_in_the_order_of_the_codes_however_they_are_written(loaded):
    config = loaded(CODES, LABELS)
    attribute = config.universe.attributes[0]
    assert attribute.value_labels == (
        ("0", "No"), ("1", "now and then"), ("missing", "not known"), ("9", "refused"),
    )  # fmt: skip
    turned = loaded(CODES, dict(reversed(LABELS.items())))
    assert (turned.hash, turned.public) == (config.hash, config.public)
    assert config_from_public(config.public).universe == config.universe


def test_labels_change_the_hash_and_nothing_of_the_cells(loaded):
    plain, labelled = loaded(CODES, None), loaded(CODES, LABELS)
    assert plain.hash != labelled.hash != loaded(CODES, LABELS | {"0": "never"}).hash
    assert plain.universe.attributes[0].labels == labelled.universe.attributes[0].labels


def test_a_code_is_described_by_its_label_where_it_has_one(loaded):
    attribute = loaded(CODES, LABELS).universe.attributes[0]
    found = [attribute.described(code) for code in range(attribute.size)]
    assert found == ["0 (No)", "1 (now and then)", "2", "missing (not known)"]
    assert [attribute.code_of_value_label(text) for text in ("No", "not known", "1")] == [
        0,
        3,
        None,
    ]


def test_single_numbers_of_an_integer_column_have_labels(loaded):
    config = loaded(YEARS, {"0": "less than one", "99": "not asked"})
    assert config.universe.attributes[0].value_label(0) == "less than one"
    (line,) = [line for line in report_lines(config) if line.strip().startswith("years")]
    assert "0 (less than one), 1, [2, 10], missing" in line


@pytest.mark.parametrize(
    ("column", "labels", "words"),
    [
        (YEARS, {"[2, 10]": "some"}, "one of the single numbers"),
        (YEARS, {"2": "two"}, "lies in .2, 10.: write"),
        (YEARS, {"0": "[0, 5)"}, "names nothing else"),
        (YEARS, {"0": "1"}, "names nothing else"),
        (CODES, {"0": "missing"}, "names nothing else"),
        (CODES, {"0": "No", "9": "No"}, "every label once"),
        (
            CODES | {"hierarchy": [{"name": "any", "groups": {"No": ["0"], "Yes": ["1", "2"]}}]},
            {"1": "Yes"},
            "names nothing else",
        ),
    ],
)
def test_a_label_that_could_mean_two_things_is_refused(loaded, column, labels, words):
    with pytest.raises(ConfigError, match=words):
        loaded(column, labels)


def test_a_level_is_its_own_label_where_somebody_writes_that(loaded):
    assert loaded(CODES, {"0": "0"}).universe.attributes[0].value_label(0) == "0"


def test_whoever_writes_a_label_for_a_level_is_told_the_level(tmp_path):
    total = {"where": {"smokes": "No"}, "total": 3, "source": "register"}
    column = CODES | {"labels": LABELS}
    written = merged(SMALL, {"domain": [column], "public_totals": [total]})
    path = tmp_path / "release.yaml"
    path.write_text(yaml.safe_dump(deepcopy(written)), encoding="utf-8")
    with pytest.raises(ConfigError, match="write the level that is labelled so: `0`"):
        load_config(path)
