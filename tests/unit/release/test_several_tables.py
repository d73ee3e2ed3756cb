"""A release of several tables, Laplace and Gaussian, one of them coarser: written and verified."""

import functools
import hashlib
import json
import math
import re
import subprocess
import sys
from copy import deepcopy
from dataclasses import replace
from fractions import Fraction

import jsonschema
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.config import config_from_public
from synth.domain import Margin
from synth.domain.counts import Counts
from synth.errors import VerificationError
from synth.planning import forecast
from synth.planning.rounds import Schedule
from synth.planning.spending import Spending
from synth.privacy import SelectionEvent
from synth.release.contents import METADATA
from synth.release.documents import metadata_documents
from synth.release.documents.data_card import render_data_card
from synth.release.manifest.accounting import Account, build_accounting
from synth.release.manifest.build import manifest_schema
from synth.release.manifest.figures import build_figures, read_figures
from synth.release.manifest.guarantee import promised_budget
from synth.release.manifest.publication import build_purpose
from synth.release.manifest.quality import build_prediction
from synth.release.page.accuracy import crosstabs
from synth.release.page.assessment import render_assessment
from synth.release.page.group_bias import group_biases
from synth.release.page.render import render_page
from synth.release.page.summary import summarise
from synth.release.verification import verify_folder
from synth.strict_json import write_folded_json
from tests.release_folder import seal
from tests.unit.release.budget_oracle import delta_bound


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))


def reseal(made, manifest, derived=None):
    """Everything that a tamperer can make fit: card, sizes, hashes."""
    (made.folder / "README.md").write_bytes(render_data_card(manifest))
    derived = derived or made.derive(made.measurements, made.config)
    summary = summarise(derived.counts, made.config.universe.shape)
    tabs = crosstabs(
        made.config, made.measurements, derived.counts, summary=summary, figures=derived.figures
    )
    documents = metadata_documents(manifest)
    for entry in manifest["files"]:
        if entry["path"] in METADATA:
            (made.folder / entry["path"]).write_bytes(documents[entry["path"]])
        if entry["path"] == "assessment.html":
            biases = group_biases(made.config, made.measurements, derived.counts)
            (made.folder / "assessment.html").write_bytes(
                render_assessment(manifest, derived.figures, biases)
            )
        if entry["path"] == "index.html":
            (made.folder / "index.html").write_bytes(
                render_page(manifest, summary, derived.figures, tabs)
            )
        content = (made.folder / entry["path"]).read_bytes()
        entry["bytes"], entry["sha256"] = len(content), hashlib.sha256(content).hexdigest()
    (made.folder / "manifest.json").write_bytes(write_folded_json(manifest))
    seal(made.folder)


def findings_of(made, derivation=None):
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=derivation or made.derive)
    return "\n".join(caught.value.findings)


def test_it_verifies_and_fits_its_schema(several):
    manifest = manifest_of(several)
    jsonschema.Draft202012Validator(manifest_schema()).validate(manifest)
    report = verify_folder(several.folder, derivation=several.derive)
    assert any("what was spent with the cap" in check for check in report.checks)
    config = config_from_public(manifest["configuration"])
    assert config.universe == several.config.universe
    assert config.strategy == several.config.strategy


def test_every_event_is_told_with_its_own_budget(several):
    full, coarse, sex = manifest_of(several)["accounting"]["events"]
    assert full["mechanism"] == "discrete-laplace"
    assert full["epsilon"]["fraction"] == "3/5"
    assert full["noise_scale_records"]["fraction"] == "5/3"
    assert full["resolutions"] == ["codes"] * 3
    assert coarse["mechanism"] == sex["mechanism"] == "discrete-gaussian"
    assert coarse["table"] == ["age", "town"]
    assert coarse["resolutions"] == ["half", "line"]
    assert coarse["coarsening"] == [1, 1]
    assert coarse["rho"]["fraction"] == "1/1000"
    assert coarse["sigma_squared"]["fraction"] == "500/1"
    assert coarse["variance"] == 500
    assert coarse["sensitivity_norm"] == "squared L2"
    assert (coarse["cells"], sex["cells"]) == (6, 3)
    assert "epsilon" not in coarse
    assert "rho" not in full


def test_the_guarantee_is_approximate_and_says_what_that_means(several):
    manifest = manifest_of(several)
    guarantee, total = manifest["guarantee"], manifest["accounting"]["total"]
    assert guarantee["variant_name"] == "Approximate DP"
    assert guarantee["privacy_parameters"]["epsilon"]["fraction"] == "1/1"
    assert guarantee["privacy_parameters"]["delta"]["fraction"] == "1/1000000000"
    assert guarantee["statement"].endswith("times that for the other, plus 0.000000001.")
    assert "P(S) <= e^epsilon Q(S) + delta" in guarantee["delta_in_words"]
    assert "two steps" in guarantee["delta_in_words"]
    assert Fraction(guarantee["conversions"][0]["rho"]["fraction"]) == Fraction(1, 1000) + Fraction(
        1, 4000
    ) + Fraction(9, 50)
    epsilon = Fraction(total["epsilon"]["fraction"])
    assert Fraction(3, 5) < epsilon < 1
    gaussian = Fraction(1, 800)
    assert delta_bound(gaussian, epsilon - Fraction(3, 5)) <= Fraction(1, 10**9)
    assert "zero-concentrated" in manifest["accounting"]["composition"]
    names = [each["name"] for each in manifest["implementation"]["mechanisms"]]
    assert names == ["discrete-laplace", "discrete-gaussian"]
    group = manifest["what_it_means"]["groups"][0]
    assert group["delta"] == pytest.approx(1e-9 * (1 + math.e), rel=1e-5)


def test_pure_tables_make_a_pure_release_whatever_delta_was_allowed(released):
    manifest = manifest_of(released(privacy={"delta": "1e-9"}, ledger={"delta_cap": "1e-6"}))
    assert manifest["guarantee"]["variant_name"] == "Pure DP"
    assert manifest["guarantee"]["privacy_parameters"]["delta"]["fraction"] == "0/1"
    assert manifest["accounting"]["total"]["delta"]["fraction"] == "0/1"


def test_the_domain_holds_every_level_of_the_hierarchies(several):
    columns = manifest_of(several)["domain"]["columns"]
    age, sex, town = (column["hierarchy"] for column in columns)
    assert age == [
        {"name": "half", "labels": ["[0, 40)", "[40, 99]", "missing"]}
        | {"group_of": [0, 0, 1, 1, 1, 2]}
    ]
    assert sex == []
    assert town == [{"name": "line", "labels": ["x", "y"], "group_of": [0, 0, 1, 1]}]


def figures_of(made):
    with (made.folder / "quality.parquet").open("rb") as file:
        return read_figures(file)


def test_the_fit_is_told_for_every_table(several):
    tables = [each for each in figures_of(several) if each.kind == "noisy table"]
    counts = several.derive(several.measurements, several.config).counts
    universe = several.config.universe
    for told, table in zip(tables, several.measurements.tables, strict=True):
        margin = Margin(table.event.table, table.event.coarsening)
        apart = counts.sums(universe, margin) - table.noisy_counts
        assert told.noisy_total == table.noisy_counts.sum()
        rms = math.sqrt(np.mean(np.square(apart)))
        assert told.rms_residual_records == pytest.approx(rms, rel=1e-12)
        assert told.rms_residual_in_sd == pytest.approx(rms / math.sqrt(table.variance), rel=1e-12)


def test_a_query_is_compared_with_the_table_whose_sums_have_the_least_noise(several):
    queries = [each for each in figures_of(several) if each.kind == "marginal"]
    counts = several.derive(several.measurements, several.config).counts
    universe, tables = several.config.universe, several.measurements.tables
    assert len(queries) == len(several.config.workload.marginals)
    for told in queries:
        names = told.attributes
        apart = counts.of_every_cell(universe.shape) - tables[0].noisy_counts
        assert told.event == 0  # sigma^2 is 2,000 for sex alone, and 24 * 5 for its sums
        expected = Margin(names, (0,) * len(names)).sums(universe, apart)
        assert told.rms_residual_records == pytest.approx(
            math.sqrt(np.mean(np.square(expected))), rel=1e-12
        )


def test_queries_that_no_noisy_table_holds_are_left_out_of_the_fit(several):
    measurements = replace(several.measurements, tables=several.measurements.tables[1:])
    derived = several.derive(several.measurements, several.config)
    figures = build_figures(several.config, derived.forecast, measurements, derived.counts)
    limits = build_purpose(several.config, measurements)["limitations"]
    assert any("come from the model" in limit for limit in limits)
    assert "come from the model" not in str(manifest_of(several)["purpose"])
    (told,) = (each for each in figures if each.kind == "marginal" and each.event is not None)
    assert (told.attributes, told.event) == (("sex",), 1)
    assert told.rms_residual_records == figures[-1].rms_residual_records
    assert figures[-1].kind == "noisy table"


def test_the_prediction_has_an_entry_for_every_query_or_says_that_there_is_none(
    measured, hierarchical
):
    """Planned by the planner itself, from tables that do not answer everything."""
    asked = {"marginals": [["age"], ["sex", "town"], ["age", "sex"]]}
    ranges = {"ranges": [{"columns": ["age"], "kind": "prefix"}]}
    changes = {"strategy": {"tables": [["age"], ["sex", "town"]]}, "workload": asked | ranges}
    made = measured(**(hierarchical | changes))
    planned = forecast(made.config)
    universe = made.config.universe
    counts = Counts.of_all(np.zeros(universe.size, dtype=np.int64), universe.shape)
    figures = build_figures(made.config, planned, made.measurements, counts)
    assert [(each.kind, each.attributes) for each in figures] == [
        ("marginal", ("age",)),
        ("marginal", ("sex", "town")),
        ("prefix", ("age",)),
        ("unanswered", ("age", "sex")),
        ("noisy table", ("age",)),
        ("noisy table", ("sex", "town")),
    ]
    assert figures[2].cells == planned.ranges[0].cells == 5
    assert {each.law for each in figures[:2]} == {"scaled"}
    told = build_prediction(planned, figures)
    assert [each["best"]["attributes"] for each in told["queries"]] == [["age"], ["sex", "town"]]
    assert told["unanswered"] == 1
    assert [(each["kind"], each["number"]) for each in told["ranges"]] == [("prefix", 1)]
    assert "noise_sd_per_cell" not in told
    jsonschema.Draft202012Validator(part_of_schema("quality", "prediction")).validate(told)


def part_of_schema(*path):
    schema = manifest_schema()
    part = schema
    for name in path:
        part = part["properties"][name]
    return part | {"$defs": schema["$defs"]}


def test_selections_are_told_and_paid_for(several, monkeypatch):
    """Whether a selection of this epsilon was made is the business of the measuring side."""
    schedule = Schedule((), (), (), "what there is")
    monkeypatch.setattr("synth.release.manifest.accounting.plan_schedule", lambda *_: schedule)
    choices = (SelectionEvent(12, Fraction(1, 20)), SelectionEvent(11, Fraction(1, 20)))
    measurements = replace(several.measurements, selections=choices)
    told = build_accounting(several.config, measurements, Account.of(several.receipt.ledger))
    assert [each["candidates"] for each in told["selections"]] == [12, 11]
    plain = build_accounting(
        several.config, several.measurements, Account.of(several.receipt.ledger)
    )
    totals = [Fraction(each["total"]["epsilon"]["fraction"]) for each in (told, plain)]
    assert totals[0] - totals[1] == Fraction(1, 10)
    assert (
        "through the mechanism of `selections`" in told["preprocessing_and_hyperparameter_tuning"]
    )
    assert plain["preprocessing_and_hyperparameter_tuning"].startswith("none")
    spent = several.config.privacy.epsilon
    assert promised_budget(several.config, measurements).epsilon == spent >= totals[0]
    jsonschema.Draft202012Validator(part_of_schema("accounting")).validate(told)


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path


def changed(value):
    """Another value of the same kind that the schema accepts wherever it can."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, (int, float)):
        return value + 1
    if re.fullmatch(r"\d+/\d+", value):
        return f"{int(value.split('/')[0]) + 1}/{value.split('/')[1]}"
    return value[:-1] + ("1" if value[-1] != "1" else "2") if value[-1:].isdigit() else value + "x"


SECTIONS = [
    ("accounting", "events"),
    ("accounting", "total"),
    ("accounting", "composition"),
    ("guarantee", "privacy_parameters"),
    ("guarantee", "conversions"),
    ("guarantee", "delta_in_words"),
    ("quality", "fit"),
    ("implementation", "mechanisms"),
]


def dotted(path):
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)[1:]


def unnamed_of(made, derived, original, paths):
    """Leaves that no finding names: changed together, and those left again in ever fewer.

    What is written again to be compared depends on none of them, so each is found as if alone.
    """
    manifest = deepcopy(original)
    for *above, last in paths:
        parent = functools.reduce(lambda value, part: value[part], above, manifest)
        parent[last] = changed(parent[last])
    try:
        reseal(made, manifest, derived)
    except (LookupError, ValueError, ArithmeticError):  # no card or page of such a manifest
        (made.folder / "manifest.json").write_bytes(write_folded_json(manifest))
    found = findings_of(made, lambda *_: derived)
    left = [path for path in paths if f"manifest.json: {dotted(path)}: " not in found]
    if len(paths) == 1 or not left:
        return left
    half = (len(left) + 1) // 2
    parts = [part for part in (left[:half], left[half:]) if part]
    return [path for part in parts for path in unnamed_of(made, derived, original, part)]


@pytest.mark.parametrize("section", SECTIONS, ids=".".join)
def test_every_changed_leaf_is_found(several, section):
    original = manifest_of(several)
    derived = several.derive(several.measurements, several.config)
    node = functools.reduce(lambda value, part: value[part], section, original)
    paths = [(*section, *path) for path in leaves(node)]
    assert paths
    assert unnamed_of(several, derived, original, paths) == []


def rewritten(made, change):
    """The measurements with a column or the metadata changed, everything else made to fit."""
    path = made.folder / "measurements.parquet"
    table = pq.read_table(path)
    head = json.loads(table.schema.metadata[b"synth"])
    table = change(table, head)
    metadata = {b"synth": json.dumps(head, sort_keys=True).encode()}
    pq.write_table(table.replace_schema_metadata(metadata), path, store_schema=True)
    reseal(made, manifest_of(made))


@pytest.mark.parametrize("row", [0, 71, 72, 77, 78, 80])
def test_a_changed_noisy_count_of_any_table_is_found(several, row):
    def change(table, _):
        counts = table.column("noisy_count").to_pylist()
        counts[row] += 1
        values = pa.array(counts, pa.int32())
        return table.set_column(2, table.schema.field(2), [values])

    rewritten(several, change)
    assert "post_processing.measurements_content_hash" in findings_of(several)


@pytest.mark.parametrize("keep", [72, 78, 80])
def test_a_missing_table_or_cell_is_found(several, keep):
    rewritten(several, lambda table, _: table.slice(0, keep))
    assert "measurements.parquet: holds" in findings_of(several)


def test_a_table_that_was_dropped_with_its_event_is_found(several):
    def change(table, head):
        head["tables"].pop()
        return table.slice(0, 78)

    rewritten(several, change)
    assert "measurements.parquet: " in findings_of(several)


@pytest.mark.parametrize("number", [0, 1], ids=["Laplace", "Gaussian"])
def test_a_changed_event_of_the_file_is_found(several, number):
    original = (several.folder / "measurements.parquet").read_bytes()
    fields = json.loads(pq.read_schema(several.folder / "measurements.parquet").metadata[b"synth"])
    for field, value in fields["tables"][number].items():

        def change(table, head, field=field, value=value):
            if isinstance(value, list):
                replaced = value[::-1] if value[::-1] != value else [*value, value[0]]
            elif isinstance(value, int):
                replaced = value + 1
            elif value is None:
                replaced = 1
            else:
                replaced = "1/7" if re.fullmatch(r"[\d/]+", value) else value + "x"
            head["tables"][number][field] = replaced
            return table

        rewritten(several, change)
        assert "measurements.parquet: " in findings_of(several), field
        (several.folder / "measurements.parquet").write_bytes(original)


def test_other_events_than_planned_are_found(several, monkeypatch):
    planned = tuple(table.event for table in several.measurements.tables)[::-1]
    monkeypatch.setattr(
        "synth.release.verification.measurements_check.possible_plans",
        lambda _: [Spending("others", planned)],
    )
    assert "lists other events than the configuration asks for" in findings_of(several)


def test_the_card_lists_the_tables_with_their_noise(several):
    card = (several.folder / "README.md").read_text(encoding="utf-8")
    assert "with epsilon = 1 and delta = 0.000000001 for adding or removing\none" in card
    assert "The exception: for any two neighbouring data sets" in card
    assert "| 0 | `age`, `sex`, `town` | 72 | discrete Laplace, epsilon 0.6 | " in card
    coarse = "| 1 | `age` by `half`, `town` by `line` | 6 | discrete Gaussian, rho 0.001 | 22.4 |"
    assert coarse in card
    assert "| 2 | `sex` | 3 | discrete Gaussian, rho 0.00025 | 44.7 |" in card


def test_the_card_lists_range_queries(released):
    ranges = [{"columns": ["age"], "kind": "prefix"}]
    made = released(workload={"marginals": 1, "ranges": ranges})
    card = (made.folder / "README.md").read_text(encoding="utf-8")
    assert "| prefixes of 1 column | 1, the worst of `age` | " in card
    verify_folder(made.folder, derivation=made.derive)


def test_the_snippet_of_the_card_loads_any_table_with_its_labels(several):
    card = (several.folder / "README.md").read_text(encoding="utf-8")
    code = re.findall(r"```python\n(.*?)```", card, flags=re.DOTALL)[-1]
    assert code.count("number = 0") == 1
    code += "print(noisy.drop(columns=['table', 'cell']).to_json(orient='split'))\n"
    tables = several.measurements.tables
    codes = [code.replace("number = 0", f"number = {number}") for number in range(len(tables))]
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", "".join(codes)],
        cwd=several.folder,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    universe = several.config.universe
    for line, table in zip(done.stdout.splitlines(), tables, strict=True):
        loaded = json.loads(line)
        assert loaded["columns"] == ["noisy_count", *table.event.table]
        labels = [
            universe.attribute(name).hierarchy[-step].labels
            if step
            else universe.attribute(name).labels
            for name, step in zip(table.event.table, table.event.coarsening, strict=True)
        ]
        places = np.ndindex(*map(len, labels))
        expected = [
            [int(noisy), *(names[code] for names, code in zip(labels, place, strict=True))]
            for noisy, place in zip(table.noisy_counts, places, strict=True)
        ]
        assert loaded["data"] == expected
