"""Metadata of a release: accepted by the validators of each format, and true to the folder."""

import csv
import hashlib
import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pyarrow.parquet as pq
import pytest
import yaml

from synth.release.contents import METADATA
from synth.release.documents import metadata_documents
from synth.release.documents.croissant import CONFORMS_TO
from synth.release.documents.datapackage import data_package
from synth.release.documents.facts import licence_of
from synth.release.documents.linked_data import linked_data
from synth.release.documents.registry import registry_record
from synth.strict_json import write_json
from tests.unit.release.conftest import BUSY, LABELLED, released_in

pytestmark = pytest.mark.xdist_group("metadata")  # programs of others are loaded once

REGISTRY_SCHEMA = Path(__file__).parent / "opendp_registry" / "deployments-schema.yaml"

RICH = {
    "homepage": "https://example.org/data/people/",
    "temporal_coverage": "2019/2020",
    "supersedes": ["people-2019"],
    "derived_from": "Survey of people",
    "sources": ["https://example.org/paper"],
    "sector": "Agriculture",
    "license": "As agreed with the office",
}


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))


def document_of(made, name):
    return yaml.safe_load((made.folder / name).read_text(encoding="utf-8"))


KINDS = {
    "busy": BUSY,
    "csv": {"output": {"formats": ["csv"]}},
    "parquet": {"output": {"formats": ["parquet"]}},
    "interval": BUSY | {"output": {"bins": "interval"}},
    "rich": {"release": RICH},
    "labelled": {"domain": LABELLED},
}


@pytest.fixture(scope="module", params=["small", *KINDS, "several"])
def made(request, tmp_path_factory, small_release, release_of_several):
    """Releases of every kind of column, format and optional field, each read by all tests."""
    if request.param == "small":
        return small_release
    if request.param == "several":
        return release_of_several
    return released_in(tmp_path_factory.mktemp(request.param), **KINDS[request.param])


def test_documents_are_what_the_manifest_gives_whatever_else_it_lists(made):
    manifest = manifest_of(made)
    written = {name: (made.folder / name).read_bytes() for name in METADATA}
    assert metadata_documents(manifest) == written
    manifest["files"] = [
        entry
        for entry in manifest["files"]
        if entry["path"].startswith(("synth", "measure", "quality", "tables"))
    ]
    assert metadata_documents(manifest) == written


def test_the_manifest_lists_the_documents_with_their_hashes(made):
    listed = {entry["path"]: entry for entry in manifest_of(made)["files"]}
    for name in METADATA:
        content = (made.folder / name).read_bytes()
        assert listed[name]["sha256"] == hashlib.sha256(content).hexdigest()
        assert listed[name]["bytes"] == len(content)


def test_the_record_fits_the_schema_of_the_registry(made):
    schema = yaml.safe_load(REGISTRY_SCHEMA.read_text(encoding="utf-8"))
    record = document_of(made, "registry.yaml")
    checker = jsonschema.Draft7Validator.FORMAT_CHECKER
    validator = jsonschema.Draft7Validator(schema, format_checker=checker)
    assert [error.message for error in validator.iter_errors(record)] == []
    assert record == registry_record(manifest_of(made))


def tier_three(schema, record, path=""):
    """Fields of the schema, with or without a tier, that a record leaves out."""
    for name, node in schema.get("properties", {}).items():
        if name not in record:
            yield f"{path}{name}"
        elif "properties" in node:
            yield from tier_three(node, record[name], f"{path}{name}.")


def test_the_record_is_complete(released):
    schema = yaml.safe_load(REGISTRY_SCHEMA.read_text(encoding="utf-8"))
    absent = set(tier_three(schema, document_of(released(), "registry.yaml")))
    place = "deployment.privacy_loss.privacy_parameters."
    assert absent == {
        f"{place}delta",
        f"{place}rho",
        "deployment.deployment_model.model_name_details",
        "deployment.administrative.sources",
    }


def test_the_record_tells_what_the_curator_declared(released):
    rich = document_of(released(release=RICH), "registry.yaml")["deployment"]
    assert "https://example.org/paper" in rich["administrative"]["sources"]
    assert "data_product_sector" not in rich["basic"]
    assert "Sector: Agriculture." in rich["administrative"]["notes"]


READERS = """
import importlib.util, json, os, sys
if importlib.util.find_spec("frictionless"):
    import frictionless
if importlib.util.find_spec("mlcroissant"):
    import mlcroissant

def data_package():
    package = frictionless.Package("datapackage.json")
    report = package.validate()
    tables = [each for each in package.resources if each.type == "table"]
    rows = {each.path: len(each.read_rows()) for each in tables}
    return [report.valid, report.flatten(["type", "note"]), rows]

def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    return value.item() if hasattr(value, "item") else value

def croissant():
    dataset = mlcroissant.Dataset(jsonld="croissant.json")
    issues = dataset.metadata.ctx.issues
    rows = [[plain(value) for value in row.values()] for row in dataset.records("rows")]
    counts = len(list(dataset.records("noisy_counts")))
    tables = {
        each.id: [[plain(value) for value in row.values()] for row in dataset.records(each.id)]
        for each in dataset.metadata.record_sets if each.id.startswith("tables/")
    }
    return [sorted(issues.errors), sorted(issues.warnings), rows, counts, tables]

answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
os.dup2(2, 1)
for line in sys.stdin:
    name, folder = json.loads(line)
    os.chdir(folder)
    print(json.dumps(globals()[name](), default=str), file=answers, flush=True)
os._exit(0)
"""


@pytest.fixture(scope="module")
def read_by():
    """What the programs of others read in a folder: one process, that loads them once.

    It ends without taking its libraries down: threads of theirs abort now and then while that is
    done, after all the work.
    """
    command = [sys.executable, "-c", READERS]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as reader:

        def read(name, folder):
            print(json.dumps([name, str(folder)]), file=reader.stdin, flush=True)
            answer = reader.stdout.readline()
            assert answer, reader.communicate()[1][-3000:]
            return json.loads(answer)

        yield read
        reader.communicate()
    assert reader.returncode == 0


def test_the_validator_of_data_packages_reads_the_rows(made, read_by):
    pytest.importorskip("frictionless", reason="frictionless is not installed")
    valid, problems, rows = read_by("data_package", made.folder)
    assert (valid, problems) == (True, [])
    listed = manifest_of(made)["files"]
    assert rows == {e["path"]: e["rows"] for e in listed if e["path"].endswith(".csv")}
    assert any(path.startswith("tables/") for path in rows)


def test_the_validator_of_data_packages_notices_a_row_outside_its_schema(released, read_by):
    pytest.importorskip("frictionless", reason="frictionless is not installed")
    made = released()
    path = made.folder / "synthetic.csv"
    header, first, rest = path.read_text(encoding="utf-8").split("\n", 2)
    cells = ["" if cell.isdigit() else "nobody" for cell in first.split(",")]
    path.write_text("\n".join([header, ",".join(cells), rest]), encoding="utf-8")
    valid, problems, _ = read_by("data_package", made.folder)
    assert not valid
    assert {"constraint-error", "hash-count"} <= {kind for kind, _ in problems}


def test_the_loader_of_croissant_accepts_the_description_and_reads_the_rows(made, read_by):
    pytest.importorskip("mlcroissant", reason="mlcroissant is not installed")
    errors, warnings, rows, noisy, tables = read_by("croissant", made.folder)
    assert (errors, warnings) == ([], [])
    manifest = manifest_of(made)
    listed = {entry["path"]: entry for entry in manifest["files"]}
    assert noisy == listed["measurements.parquet"]["rows"]
    assert {f"{name}.csv" for name in tables} == {name for name in listed if "tables/" in name}
    for name, lines in tables.items():
        with (made.folder / f"{name}.csv").open(encoding="utf-8", newline="") as file:
            _, *expected = csv.reader(file)
        assert [line[:-2] for line in lines] == [line[:-2] for line in expected]
        assert [float(line[-2]) for line in lines] == [float(line[-2]) for line in expected]
    assert len(rows) == manifest["post_processing"]["rows"]["number"]
    if (made.folder / "synthetic.parquet").exists():
        table = pq.read_table(made.folder / "synthetic.parquet")
        for values, row in zip(table.to_pylist()[:50], rows, strict=False):
            for expected, found in zip(values.values(), row, strict=True):
                assert expected is None or found == expected


def test_the_description_names_both_standards_and_every_field_on_responsible_ai(released):
    document = document_of(released(), "croissant.json")
    assert document["conformsTo"] == CONFORMS_TO
    assert {name for name in document if name.startswith("rai:")} == {
        "rai:dataCollection",
        "rai:dataCollectionRawData",
        "rai:dataCollectionMissingData",
        "rai:dataImputationProtocol",
        "rai:dataPreprocessingProtocol",
        "rai:dataManipulationProtocol",
        "rai:dataUseCases",
        "rai:dataLimitations",
        "rai:dataBiases",
        "rai:dataSocialImpact",
        "rai:personalSensitiveInformation",
        "rai:dataReleaseMaintenancePlan",
    }


def test_bounds_and_levels_of_the_table_schema_are_those_of_the_domain(released, busy):
    fields = {
        field["name"]: field
        for field in document_of(released(**busy), "datapackage.json")["resources"][0]["schema"][
            "fields"
        ]
    }
    assert fields["age"]["constraints"] == {"required": True, "minimum": 0, "maximum": 99}
    gain = fields["gain, in $"]
    assert (gain["type"], gain["constraints"]["required"]) == ("number", False)
    assert (gain["constraints"]["minimum"], gain["constraints"]["maximum"]) == (-2, 5000)
    town = fields["town"]
    assert town["constraints"]["enum"] == ['Nord, "Süd"', "x|y", "<Other>"]
    assert town["categoriesOrdered"] is False


@pytest.mark.parametrize(
    ("low", "high"), [("0.1", "0.3"), ("-0.7", "1/3"), ("1e-9", "12345678901234567.1")]
)
def test_bounds_never_exclude_a_value_of_the_domain(released, low, high):
    from fractions import Fraction

    manifest = manifest_of(released())
    column = manifest["domain"]["columns"][0]
    column |= {"published_type": "number", "edges": [str(Fraction(low)), str(Fraction(high))]}
    constraints = data_package(manifest)["resources"][0]["schema"]["fields"][0]["constraints"]
    assert Fraction(repr(constraints["minimum"])) <= Fraction(low)
    assert Fraction(repr(constraints["maximum"])) >= Fraction(high)
    assert constraints["minimum"] == pytest.approx(float(Fraction(low)))
    assert constraints["maximum"] == pytest.approx(float(Fraction(high)))


def test_a_licence_without_an_address_is_still_stated_everywhere(released):
    made = released(release=RICH)
    (licence,) = document_of(made, "datapackage.json")["licenses"]
    assert licence == {"path": "manifest.json", "title": RICH["license"]}
    assert document_of(made, "croissant.json")["license"] == RICH["license"]
    assert licence_of("CC-BY-4.0").address == "https://creativecommons.org/licenses/by/4.0/"
    assert licence_of("https://example.org/l").address == "https://example.org/l"


def test_linked_data_are_one_plain_node_with_every_data_file(made):
    manifest = manifest_of(made)
    node = linked_data(manifest)
    assert json.loads(write_json(node)) == node
    assert node["@type"] == ["Dataset", "dcat:Dataset"]
    assert set(node["@context"].values()) >= {"http://www.w3.org/ns/dcat#"}
    for name in ("name", "description", "license", "creator", "datePublished", "dct:title"):
        assert node[name]
    by_name = {each["name"]: each for each in node["distribution"]}
    assert set(by_name) == {
        path.name
        for path in made.folder.iterdir()
        if path.name.startswith("synthetic.")
        or path.name in ("measurements.parquet", "quality.parquet")
    }
    for name, each in by_name.items():
        content = (made.folder / name).read_bytes()
        assert each["sha256"] == hashlib.sha256(content).hexdigest()
        assert each["contentSize"] == f"{len(content)} B"


def test_linked_data_lead_to_the_homepage_where_there_is_one(released):
    node = linked_data(manifest_of(released(release=RICH)))
    assert node["url"] == node["dcat:landingPage"]["@id"] == RICH["homepage"]
    assert node["distribution"][0]["contentUrl"] == f"{RICH['homepage']}synthetic.csv"
    assert node["temporalCoverage"] == "2019/2020"
    assert node["dct:replaces"] == ["people-2019"]


def test_linked_data_have_no_address_where_none_was_declared(released):
    node = linked_data(manifest_of(released()))
    assert not {"url", "dcat:landingPage", "temporalCoverage", "dct:replaces"} & set(node)
    assert node["distribution"][0]["contentUrl"] == "synthetic.csv"


@pytest.mark.filterwarnings("ignore:ConjunctiveGraph is deprecated:DeprecationWarning")
def test_linked_data_are_read_as_a_graph_without_a_network(released):
    rdflib = pytest.importorskip("rdflib", reason="rdflib is not installed")
    text = write_json(linked_data(manifest_of(released()))).decode()
    graph = rdflib.Graph().parse(data=text, format="json-ld")
    dcat = rdflib.Namespace("http://www.w3.org/ns/dcat#")
    (dataset,) = graph.subjects(rdflib.RDF.type, dcat.Dataset)
    assert (dataset, rdflib.RDF.type, rdflib.URIRef("https://schema.org/Dataset")) in graph
    assert len(set(graph.subjects(rdflib.RDF.type, dcat.Distribution))) == 4
