"""The manifest: closed schema, a basis for every number, and figures that are what they say."""

import importlib.metadata
import json
import math
import re
from decimal import Decimal
from fractions import Fraction

import jsonschema
import numpy as np
import pytest
from threadpoolctl import ThreadpoolController

from synth.config import config_from_public
from synth.measurements import Disposal
from synth.measurements.receipt import (
    NO_TEMPORARY_FILE,
    SOURCE_ABSENT,
    SOURCE_GONE_BEFORE,
    SOURCE_KEPT,
)
from synth.privacy import Budget
from synth.privacy.meaning import (
    exact_number,
    group_delta,
    posterior_bounds,
    smallest_false_negative_rate,
)
from synth.release.manifest.build import LINE_BY_LINE, manifest_schema, schema_file
from synth.release.manifest.figures import read_figures
from synth.release.manifest.guarantee import build_meaning, rare
from synth.release.manifest.implementation import (
    arithmetic_fingerprint,
    bill_of_materials,
    current_versions,
    source_commit,
)
from synth.release.manifest.publication import build_security
from tests.release_folder import contents_of, files_of


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))


def nodes(schema, path="manifest"):
    yield path, schema
    for part in ("properties", "$defs"):
        for name, child in schema.get(part, {}).items():
            yield from nodes(child, f"{path}.{name}")
    for key in ("items", "additionalProperties", "propertyNames"):
        if isinstance(schema.get(key), dict):
            yield from nodes(schema[key], f"{path}.{key}")
    for key in ("anyOf", "oneOf"):
        for number, child in enumerate(schema.get(key, [])):
            yield from nodes(child, f"{path}.{key}{number}")


def test_the_schema_is_valid_and_every_node_is_described_and_closed():
    schema = manifest_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    for path, node in nodes(schema):
        assert node.get("description"), path
        if node.get("type") == "object":
            assert "additionalProperties" in node, path
            assert node["additionalProperties"] is not True, path


@pytest.mark.parametrize("kind", ["small", "busy"])
def test_a_manifest_fits_its_schema_and_ships_it(released, busy, kind):
    made = released(**(busy if kind == "busy" else {}))
    shipped = json.loads((made.folder / "manifest.schema.json").read_text(encoding="utf-8"))
    assert shipped == manifest_schema()
    jsonschema.Draft202012Validator(shipped).validate(manifest_of(made))


def test_manifest_and_schema_are_short_enough_to_be_read(released, busy):
    """Of figures per query the manifest holds the best and the worst, the schema its terms once."""
    made = released(**(busy | {"workload": {"marginals": 3}}))
    schemas = [len(schema_file(version)) for version in LINE_BY_LINE.values()]
    assert (made.folder / "manifest.schema.json").stat().st_size in schemas
    assert max(schemas) < 70_000
    text = (made.folder / "manifest.json").read_text(encoding="utf-8")
    assert all(text.count(f'"{name}"') <= 12 for name in ("sd_records", "rms_residual_records"))


def numbers_without_basis(value, path="", basis=None):
    if isinstance(value, dict):
        basis = value.get("basis", basis)
        for key, item in value.items():
            yield from numbers_without_basis(item, f"{path}.{key}", basis)
    elif isinstance(value, list):
        for item in value:
            yield from numbers_without_basis(item, f"{path}[]", basis)
    elif isinstance(value, (int, float)) and not isinstance(value, bool) and basis is None:
        yield path


def test_every_number_has_a_basis_and_the_configuration_is_public(released, busy):
    manifest = manifest_of(released(**busy))
    described = manifest_schema()["properties"]["configuration"]["description"]
    assert "public" in described
    del manifest["configuration"]
    assert list(numbers_without_basis(manifest)) == []
    assert list(numbers_without_basis({"a": {"b": [1]}})) == [".a.b[]"]


def test_the_configuration_can_be_read_back(released, busy):
    made = released(**busy)
    manifest = manifest_of(made)
    config = config_from_public(manifest["configuration"])
    assert config.hash == made.config.hash == manifest["implementation"]["configuration_hash"]
    assert config.universe == made.config.universe


def test_nothing_of_the_machine_is_in_the_folder(released, tmp_path, monkeypatch):
    for name in ("USER", "LOGNAME", "HOSTNAME", "HOME"):
        monkeypatch.setenv(name, f"/canary-{name}")
    monkeypatch.setattr("socket.gethostname", lambda: "canary-host")
    monkeypatch.setattr("platform.node", lambda: "canary-host")
    monkeypatch.setattr("sys.argv", ["canary-argument"])
    made = released()
    secrets = ["canary", str(tmp_path), tmp_path.name, "people.csv", "ledger.sqlite"]
    for path in files_of(made.folder).values():
        content = path.read_bytes()
        for secret in secrets:
            assert secret.encode() not in content, (path.name, secret)
        if path.suffix in (".json", ".md"):
            assert not re.search(r"(?<!\d)\d\d:\d\d", content.decode()), path.name


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(10)])
@pytest.mark.parametrize("prior", [Fraction(1, 100), Fraction(1, 2)])
def test_posteriors_follow_from_bayes_rule(prior, epsilon):
    smallest, largest = posterior_bounds(prior, epsilon)
    for ratio, bound in ((math.exp(epsilon), largest), (math.exp(-epsilon), smallest)):
        exact = float(prior) * ratio / (float(prior) * ratio + 1 - float(prior))
        assert abs(bound - exact) < 1.1e-6
    assert (
        largest
        >= float(prior) * math.exp(epsilon) / (float(prior) * math.exp(epsilon) + 1 - float(prior))
        - 1e-12
    )
    assert smallest <= float(prior) <= largest


@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1), Fraction(3)])
def test_the_trade_off_is_the_lower_hull_of_both_inequalities(epsilon):
    for rate in (Fraction(1, 100), Fraction(1, 4), Fraction(1, 2)):
        q = smallest_false_negative_rate(rate, epsilon)
        growth = math.exp(epsilon)
        best = max(0, 1 - growth * float(rate), (1 - float(rate)) / growth)
        assert best - 1.1e-6 < q <= best


@pytest.mark.parametrize("delta", ["0", "1e-9", "1/100"])
@pytest.mark.parametrize("epsilon", [Fraction(1, 10), Fraction(1)])
def test_no_test_of_randomised_response_beats_the_trade_off(epsilon, delta):
    """The mechanism that attains (epsilon, delta) exactly; its tests are enumerated."""
    delta = Fraction(delta)
    high = (1 - float(delta)) * math.exp(epsilon) / (1 + math.exp(epsilon))
    low = 1 - float(delta) - high
    under_0, under_1 = [float(delta), high, low, 0.0], [0.0, low, high, float(delta)]
    for rejected in range(16):
        inside = [bool(rejected >> k & 1) for k in range(4)]
        p = sum(mass for mass, reject in zip(under_0, inside, strict=True) if reject)
        q = sum(mass for mass, reject in zip(under_1, inside, strict=True) if not reject)
        assert q >= smallest_false_negative_rate(Fraction(p), epsilon, delta) - 1e-12
    bound = smallest_false_negative_rate(Fraction(low), epsilon, delta)
    assert bound == pytest.approx(low, abs=1.1e-6)


def test_the_delta_of_a_group_is_that_of_a_chain_of_neighbours():
    budget = Budget(Fraction(1, 2), Fraction(1, 10**9))
    chain = Fraction(budget.delta)
    for units in range(2, 8):
        # P0 <= e^eps P1 + delta, and P1 <= e^((units - 1) eps) P_units + (delta so far)
        chain = budget.delta + Fraction(math.exp(0.5)) * chain
        assert float(chain) <= group_delta(units, budget) <= float(chain) * (1 + 1.1e-5)
    assert group_delta(10, Budget(Fraction(10), Fraction(1, 10**9))) == 1.0
    assert group_delta(10, Budget(Fraction(10), Fraction(0))) == 0.0


def test_delta_is_told_in_words_and_pure_guarantees_have_no_exception():
    assert rare(Fraction(1, 10**9)) == "at most once in 1,000,000,000 releases"
    assert rare(Fraction(3, 10)) == "at most once in 3 releases"
    assert build_meaning(Budget(Fraction(1), Fraction(0)))["exception"].startswith("never")
    meaning = build_meaning(Budget(Fraction(1), Fraction(1, 10**6)))
    assert "at most once in 1,000,000 releases" in meaning["exception"]
    assert meaning["membership_tests"]["inequalities"][0] == "p + e^epsilon q >= 1 - delta"


def test_exact_numbers_never_understate():
    assert exact_number(Fraction(1, 10)) == {"fraction": "1/10", "decimal": "0.1"}
    third = exact_number(Fraction(1, 3))
    assert third["fraction"] == "1/3"
    assert Fraction(third["decimal"]) > Fraction(1, 3)
    assert Decimal(third["decimal"]) - Decimal(1) / 3 < Decimal("1e-15")


def test_the_fingerprint_is_stable_and_versions_are_those_installed():
    with ThreadpoolController().limit(limits=1, user_api="blas"):
        by_one_thread = arithmetic_fingerprint.__wrapped__()
    assert arithmetic_fingerprint.__wrapped__() == arithmetic_fingerprint() == by_one_thread
    assert current_versions()["numpy"] == np.__version__


def test_the_bill_of_materials_follows_the_requirements_and_nothing_else():
    bill = bill_of_materials()
    assert list(bill) == sorted(bill)
    for name in ("synth-publisher", "numpy", "duckdb", "sqlglot", "markupsafe", "ibis-framework"):
        assert bill[name] == importlib.metadata.version(name)
    assert not {"pytest", "ruff", "frictionless", "pip"} & set(bill)


@pytest.mark.parametrize(
    ("recorded", "expected"),
    [
        (None, None),
        ('{"url": "file:///somewhere", "dir_info": {}}', None),
        ('{"vcs_info": {"commit_id": "/somewhere"}}', None),
        ('{"vcs_info": {"commit_id": "%s"}}' % ("ab" * 20), "ab" * 20),
    ],
)
def test_the_commit_is_what_the_installer_recorded(monkeypatch, recorded, expected):
    monkeypatch.setattr(
        importlib.metadata.PathDistribution, "read_text", lambda *_: recorded, raising=True
    )
    assert source_commit() == expected


DECLARED = {
    "keywords": ["surveys", "synthetic data"],
    "language": "de",
    "homepage": "https://example.org/data/",
    "cite_as": "Office. People.",
    "supersedes": ["people-2019"],
    "temporal_coverage": "2019/2020",
    "publisher": "Printing house",
    "registry_authors": ["A. Clerk"],
    "approvals": ["Board"],
    "sources": ["A paper"],
    "out_of_scope_use": ["Ranking of towns"],
    "limitations": ["Children were not asked"],
    "biases": ["No telephone, no answer"],
    "derived_from": "Survey of people",
    "collection": "By telephone",
    "personal_sensitive_information": "Income",
    "data_source_type": "Dynamic",
    "release_type": "Many releases",
    "preprocessing": "Edited by hand",
    "access_controls": "Two clerks",
    "retention": "Ten years",
    "maintenance": "One a year",
    "errata": "On the page",
    "withdrawal": "Told on the page",
}


def test_what_the_curator_declares_is_in_the_manifest(released):
    made = released(release=DECLARED)
    manifest = manifest_of(made)
    identity, people = manifest["identity"], manifest["people"]
    for name in ("homepage", "cite_as", "supersedes", "language"):
        assert identity[name] == DECLARED[name]
    assert identity["keywords"][:2] == ["differential privacy", "synthetic data"]
    assert identity["keywords"].count("synthetic data") == 1
    assert identity["keywords"][-1] == "surveys"
    for name in ("publisher", "registry_authors", "approvals", "sources"):
        assert people[name] == DECLARED[name]
    purpose, source = manifest["purpose"], manifest["source"]
    for name in ("out_of_scope_use", "limitations", "biases"):
        assert purpose[name][-1:] == DECLARED[name]
    assert purpose["temporal_coverage"] == "2019/2020"
    assert (source["derived_from"], source["collection"]) == ("Survey of people", "By telephone")
    assert source["personal_sensitive_information"].endswith(". Income")
    assert source["data_source_type"] == "Dynamic"
    assert manifest["deployment_model"]["data_source_type"] == "Dynamic"
    assert manifest["deployment_model"]["release_type"] == "Many releases"
    assert manifest["accounting"]["preprocessing_and_hyperparameter_tuning"].endswith(
        "Before synth: Edited by hand"
    )
    security, life = manifest["security_and_disposal"], manifest["life_cycle"]
    assert security["raw_access_controls"].endswith(". Two clerks")
    assert security["retention"] == "Ten years"
    assert life["maintenance"].endswith(". One a year")
    assert (life["errata"], life["withdrawal"].endswith(". Told on the page")) == (
        "On the page",
        True,
    )
    jsonschema.Draft202012Validator(manifest_schema()).validate(manifest)


def test_what_the_curator_does_not_declare_is_left_out_or_said_to_be_unknown(released):
    manifest = manifest_of(released())
    for section, name in (
        ("identity", "homepage"),
        ("identity", "supersedes"),
        ("people", "approvals"),
        ("people", "sources"),
        ("purpose", "temporal_coverage"),
        ("source", "derived_from"),
    ):
        assert name not in manifest[section]
    assert "states nothing" in manifest["accounting"]["preprocessing_and_hyperparameter_tuning"]
    curators = ", ".join(manifest["people"]["data_curators"])
    assert manifest["identity"]["cite_as"].startswith(f"{curators} (2026). ")
    assert manifest["people"]["publisher"] == manifest["people"]["data_curators"][0]


def test_person_units_and_replaced_records_are_told_apart(released):
    person = {"unit": {"column": "person", "max_records": 3}}
    manifest = manifest_of(released(privacy=person))
    assert manifest["guarantee"]["max_records_per_unit"] == 3
    assert manifest["guarantee"]["sensitivity_l1"] == 3
    assert "person" in manifest["guarantee"]["privacy_unit"]
    assert manifest["accounting"]["events"][0]["noise_scale_records"]["fraction"] == "3/1"


def test_the_prediction_is_that_of_the_planner(released):
    made = released()
    from synth.planning import forecast

    expected = forecast(made.config)
    prediction = manifest_of(made)["quality"]["prediction"]
    assert prediction["noise_sd_per_cell"] == expected.noise_sd_per_cell
    with (made.folder / "quality.parquet").open("rb") as file:
        told = [figures for figures in read_figures(file) if figures.kind == "marginal"]
    assert [figures.sd_records for figures in told] == [
        query.sd_records for query in expected.queries
    ]
    for order in prediction["queries"]:
        alike = [each for each in told if len(each.attributes) == order["columns"]]
        assert order["number"] == len(alike)
        assert order["best"]["sd_records"] == min(each.sd_records for each in alike)
        assert order["worst"]["sd_records"] == max(each.sd_records for each in alike)
    assert manifest_of(made)["accounting"]["events"][0]["variance"] == pytest.approx(
        expected.noise_sd_per_cell**2
    )


def test_public_quantities_say_which_total_and_where_it_is_from(released, busy):
    quantities = manifest_of(released(**busy))["guarantee"]["public_quantities"]
    assert "the number of records with town=<Other>, 40: a count from elsewhere" in quantities


def test_the_guarantee_says_what_a_record_is(released):
    details = manifest_of(released())["guarantee"]["privacy_unit_details"]
    assert details.startswith("It compares two data sets of which one is the other with one record")
    assert "a quote that is never closed joins the lines after it" in details


REASON = "Every row is one visit: a join with a list of hospitals that has each once"
DATABASE = {"path": None, "url": "postgresql://db.example.org/registry", "table": "visits"}


def test_the_reason_for_a_view_stands_where_the_guarantee_is_told(released):
    made = released(source={**DATABASE, "view_reason": REASON})
    manifest = manifest_of(made)
    details = manifest["guarantee"]["privacy_unit_details"]
    assert "The records are the rows of the PostgreSQL table visits." in details
    assert details.endswith(f"is stated by the curator, who says why: {REASON}")
    assert "a quote that is never closed" not in details
    assert manifest["source"]["view_reason"] == REASON
    assert manifest["configuration"]["source"]["view_reason"] == REASON
    for page in ("README.md", "index.html", "registry.yaml"):
        text = re.sub(r"\s+", " ", (made.folder / page).read_text(encoding="utf-8"))
        assert REASON in text, page
    assert b"db.example.org" not in b"".join(contents_of(made.folder).values())


@pytest.mark.parametrize(
    ("source", "records"),
    [
        (DATABASE, "the rows of the PostgreSQL table visits"),
        ({"path": None, "spark": {"table": "health.visits"}}, "the rows of the Spark table"),
        ({"path": "people.parquet"}, "the rows of Parquet files."),
        ({"quote": ""}, "those of CSV files with delimiter ',', no quote, encoding utf-8."),
    ],
)
def test_every_kind_of_source_says_what_its_records_are(released, source, records):
    manifest = manifest_of(released(source=source))
    details = manifest["guarantee"]["privacy_unit_details"]
    assert f"The records are {records}" in details
    assert "a quote that is never closed" not in details
    assert "view_reason" not in manifest["source"]


def test_the_schema_says_where_the_steps_are_explained_and_what_a_stop_means():
    steps = manifest_schema()["properties"]["post_processing"]["properties"]["steps"]
    assert "docs/estimation.md" in steps["description"]
    names = steps["items"]["properties"]["parameters"]["items"]["properties"]["name"]
    assert "iteration limit" in names["description"]
    assert "`name[0]`" in names["description"]


@pytest.mark.parametrize(
    ("method", "about", "remaining"),
    [
        ("keep", SOURCE_KEPT, "the curator keeps"),
        ("delete", SOURCE_ABSENT, "nothing that this program read"),
        ("delete", SOURCE_GONE_BEFORE, "not known"),
    ],
)
def test_what_remains_is_what_the_disposal_found_out(measured, method, about, remaining):
    disposal = Disposal(method, "", (about, NO_TEMPORARY_FILE))
    assert disposal.is_possible
    assert build_security(measured().config.release, disposal)["remaining"].startswith(remaining)
