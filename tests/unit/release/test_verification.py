"""Parts of verification: other arithmetic, the budget's own arithmetic, comparison, the folder."""

import hashlib
import json
import os
from dataclasses import replace
from fractions import Fraction

import pyarrow.parquet as pq
import pytest

from synth.domain.counts import Counts
from synth.errors import OtherVersionError, VerificationError
from synth.measurements.receipt import (
    NO_CORE_DUMP,
    NO_TEMPORARY_FILE,
    SOURCE_ABSENT,
    SOURCE_KEPT,
)
from synth.noise import DiscreteLaplace
from synth.release.contents import checksum_lines, parse_checksums
from synth.release.manifest import build
from synth.release.verification import findings, verify_folder
from synth.release.verification.findings import SHOWN, Findings, differences
from synth.release.verification.manifest_check import (
    ATTESTED_NOTE,
    ATTESTED_ONLY,
    attested_findings,
)
from synth.release.write import write_release
from synth.strict_json import write_folded_json
from tests.release_folder import seal
from tests.unit.release.budget_oracle import budget_findings


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text(encoding="utf-8"))


def moved(made, records):
    """A derivation that, on this machine, gives counts with some records in another cell."""

    def derive(measurements, config, *_):
        derived = made.derive(measurements, config)
        counts = derived.counts.of_every_cell(config.universe.shape)
        counts[0] -= records
        counts[1] += records
        report = derived.report | {"residual": 0.25}
        counts = Counts.of_all(counts, config.universe.shape)
        return replace(derived, counts=counts, report=report)

    return derive


@pytest.fixture
def other_arithmetic(monkeypatch):
    """The verifier's fingerprint and processor are not those of the release."""
    monkeypatch.setattr(findings, "arithmetic_fingerprint", lambda: "0" * 64)
    monkeypatch.setattr(findings, "processor", lambda: "another")


def test_another_row_is_a_finding_under_the_same_arithmetic(released):
    made = released()
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=moved(made, 1))
    assert "synthetic.csv: byte " in str(caught.value)


@pytest.mark.usefixtures("other_arithmetic")
def test_another_row_is_a_finding_under_other_arithmetic_that_names_the_processor(released):
    made = released()
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=moved(made, 1))
    assert "synthetic.csv: byte " in str(caught.value)
    assert "(here another): a fit that ends elsewhere" in str(caught.value)


def test_another_fingerprint_by_the_same_libraries_is_a_finding_where_rows_differ(
    released, monkeypatch
):
    made = released()
    monkeypatch.setattr(findings, "arithmetic_fingerprint", lambda: "0" * 64)
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=moved(made, 1))
    assert "arithmetic_fingerprint: is not that of the libraries" in str(caught.value)
    report = verify_folder(made.folder, derivation=made.derive)
    assert report.is_bit_for_bit
    assert "the same libraries and processor as here" in report.notes[-1]


@pytest.mark.usefixtures("other_arithmetic")
def test_the_same_rows_under_other_arithmetic_are_the_same_bit_for_bit(released):
    made = released()
    report = verify_folder(made.folder, derivation=made.derive)
    assert report.is_bit_for_bit
    assert report.to_plain()["bit_for_bit"] is True
    assert report.notes == (ATTESTED_NOTE, report.notes[1])
    assert "nothing was accepted on that account" in report.notes[1]
    assert "within tolerance" not in str(report)


def other_forecast(made, *, factor=1.0, wider=0):
    """A derivation whose forecast comes from other floating-point functions."""

    def derive(measurements, config, *_):
        derived = made.derive(measurements, config)
        queries = tuple(
            replace(
                query,
                sd_records=query.sd_records * factor,
                half_width_95=query.half_width_95 + wider,
                simultaneous_95=query.simultaneous_95 + wider,
            )
            for query in derived.forecast.queries
        )
        told = replace(
            derived.forecast,
            noise_sd_per_cell=derived.forecast.noise_sd_per_cell * factor,
            phantom_records_if_clipped=derived.forecast.phantom_records_if_clipped * factor,
            queries=queries,
        )
        return replace(derived, forecast=told, report=derived.report | {"gain": 0.5})

    return derive


def with_stop(made):
    """The same release, told what its search gained."""

    def derive(measurements, config, *_):
        derived = made.derive(measurements, config)
        return replace(derived, report=derived.report | {"gain": 0.25})

    return derive


@pytest.fixture
def stopped(measured):
    made = measured()
    write_release(
        made.folder,
        config=made.config,
        measurements_file=made.measurements_file,
        receipt=made.receipt,
        derivation=with_stop(made),
    )
    return made


@pytest.mark.usefixtures("other_arithmetic")
def test_last_digits_of_the_forecast_are_accepted_under_other_arithmetic(stopped):
    derivation = other_forecast(stopped, factor=1 + 1e-9, wider=1)
    report = verify_folder(stopped.folder, derivation=derivation)
    assert str(report).startswith("small: verified within tolerance, not bit for bit\n")
    assert report.to_plain()["bit_for_bit"] is False
    said = report.to_plain()["within_tolerance"]
    assert [each.split()[0] for each in said] == ["every", "quality.parquet:"]
    for each in said:
        assert any(check.startswith(each) and "not bit for bit" in check for check in report.checks)


@pytest.mark.usefixtures("other_arithmetic")
@pytest.mark.parametrize("outcome", ["3 words of somebody", 1, True, None])
def test_an_outcome_of_another_kind_is_a_finding_under_other_arithmetic(released, outcome):
    made = released()
    manifest = manifest_of(made)
    parameters = [p for step in manifest["post_processing"]["steps"] for p in step["parameters"]]
    residual = next(each for each in parameters if each["name"] == "residual")
    assert residual["value"] == 0.125
    residual["value"] = outcome
    reseal(made, manifest)
    with pytest.raises(VerificationError, match=r"post_processing\.steps.*value: found"):
        verify_folder(made.folder, derivation=made.derive)


@pytest.mark.usefixtures("other_arithmetic")
@pytest.mark.parametrize(
    ("change", "field"),
    [({"factor": 1.001}, "prediction.noise_sd_per_cell"), ({"wider": 2}, "half_width_95_records")],
)
def test_another_forecast_is_a_finding_under_other_arithmetic(stopped, change, field):
    with pytest.raises(VerificationError, match=rf"{field}: found"):
        verify_folder(stopped.folder, derivation=other_forecast(stopped, **change))


@pytest.mark.parametrize("change", [{"factor": 1 + 1e-9}, {"wider": 1}])
def test_another_forecast_is_a_finding_under_the_same_arithmetic(stopped, change):
    with pytest.raises(VerificationError, match=r"quality\.p.*: found|quality.parquet: byte"):
        verify_folder(stopped.folder, derivation=other_forecast(stopped, **change))


def test_a_report_claims_no_more_than_was_rebuilt(released):
    made = released()
    report = verify_folder(made.folder, derivation=made.derive)
    assert (
        "every field of the manifest that can be rebuilt is the one rebuilt here" in report.checks
    )
    assert report.notes == (ATTESTED_NOTE,)
    for field in ATTESTED_ONLY:
        assert field in report.notes[0]


@pytest.mark.parametrize(
    "checks",
    [
        (),
        (SOURCE_KEPT,),
        (SOURCE_ABSENT, NO_TEMPORARY_FILE),
        (NO_TEMPORARY_FILE, SOURCE_KEPT),
        (SOURCE_KEPT, NO_TEMPORARY_FILE, NO_CORE_DUMP, "The curator is honest."),
    ],
)
def test_a_disposal_states_only_what_its_method_allows(released, checks):
    manifest = manifest_of(released())
    assert attested_findings(manifest) == []
    manifest["security_and_disposal"]["disposal"]["checks"] = list(checks)
    (finding,) = attested_findings(manifest)
    assert finding.startswith("security_and_disposal.disposal.checks: are not what synth states")


def reseal(made, manifest):
    (made.folder / "manifest.json").write_bytes(write_folded_json(manifest))
    seal(made.folder)


def by_another_version(made):
    """The release as a version that words its schema in another way would have written it."""
    schema = made.folder / "manifest.schema.json"
    schema.write_bytes(schema.read_bytes().replace(b"The guarantee, exactly.", b"The guarantee."))
    manifest = manifest_of(made)
    manifest["implementation"]["versions"]["synth-publisher"] = "9.8.7"
    entry = next(e for e in manifest["files"] if e["path"] == schema.name)
    entry["bytes"] = len(schema.read_bytes())
    entry["sha256"] = hashlib.sha256(schema.read_bytes()).hexdigest()
    reseal(made, manifest)


def by_an_older_manifest(made, **changes):
    """The release as an older manifest_version would have told it: fewer fields, its own schema."""
    folder, manifest = made.folder, manifest_of(made)
    schema = json.loads((folder / "manifest.schema.json").read_bytes())
    del schema["properties"]["what_it_means"], manifest["what_it_means"]
    schema["required"].remove("what_it_means")
    schema["properties"]["manifest_version"]["pattern"] = "^1$"
    schema |= changes
    manifest["manifest_version"] = "1"
    manifest["implementation"]["versions"]["synth-publisher"] = "0.0.9"
    (folder / "manifest.schema.json").write_bytes(write_folded_json(schema))
    relist(made, manifest)


def test_a_release_from_before_lines_were_folded_verifies_in_its_own_spelling_alone(
    released, monkeypatch
):
    with monkeypatch.context() as before:
        before.setattr(build, "MANIFEST_VERSION", "2")
        made = released(release={"id": "before-lines-were-folded"})
    content = (made.folder / "manifest.json").read_bytes()
    assert content.startswith(b'{\n  "manifest_version": "2",\n')
    assert verify_folder(made.folder, derivation=made.derive).is_bit_for_bit
    reseal(made, manifest_of(made))
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert list(caught.value.findings) == ["manifest.json: spaces or escapes were changed"]


def relist(made, manifest):
    """Do all that a tamperer can do to make changed files look right."""
    for entry in manifest["files"]:
        content = (made.folder / entry["path"]).read_bytes()
        entry["bytes"], entry["sha256"] = len(content), hashlib.sha256(content).hexdigest()
    reseal(made, manifest)


@pytest.mark.parametrize("formats", [["csv"], ["parquet"], ["csv", "parquet"]])
def test_an_older_release_holds_in_all_but_the_rebuild_which_is_no_success(released, formats):
    made = released(output={"formats": formats})
    by_an_older_manifest(made)
    with pytest.raises(OtherVersionError, match="everything but the rebuild holds") as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert caught.value.exit_code == 1
    assert "pip install synth-publisher==0.0.9," in str(caught.value)


def test_an_intact_release_of_another_version_holds_in_all_but_the_rebuild(released):
    made = released()
    by_another_version(made)
    with pytest.raises(OtherVersionError, match=r"written by synth 9\.8\.7"):
        verify_folder(made.folder, derivation=made.derive)


def cheaper_total(manifest):
    total = manifest["accounting"]["total"]
    total["epsilon"] = {"decimal": "0.01", "fraction": "1/100"}


def smaller_promise(manifest):
    parameters = manifest["guarantee"]["privacy_parameters"]
    parameters["epsilon"] = {"decimal": "0.01", "fraction": "1/100"}


def less_sensitive(manifest):
    manifest["accounting"]["events"][0]["sensitivity"] += 1


def dearer_event(manifest):
    manifest["accounting"]["events"].append(manifest["accounting"]["events"][0])


def below_the_cap(manifest):
    spent = manifest["accounting"]["ledger"]["spent_before"]
    spent["epsilon"] = {"decimal": "100.0", "fraction": "100/1"}


def more_rows(manifest):
    manifest["post_processing"]["rows"]["number"] += 1


def endless_rows(manifest):
    manifest["post_processing"]["rows"]["number"] = 10**15


def other_epsilon(manifest):
    manifest["configuration"]["privacy"]["epsilon"] = "3"


def no_configuration(manifest):
    manifest["configuration"] = {}


def another_field(manifest):
    manifest["note"] = "verified"


def other_hash(manifest):
    manifest["files"][0]["sha256"] = "0" * 64


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (cheaper_total, "accounting.total: is not what the listed events"),
        (smaller_promise, "guarantee.privacy_parameters: is not what"),
        (less_sensitive, "malformed"),
        (dearer_event, "cost more than the configuration promises"),
        (below_the_cap, "more epsilon was spent than the cap allows"),
        (more_rows, "rows, manifest.json says"),
        (endless_rows, "no number of rows that can be read"),
        (other_epsilon, "configuration: its hash is"),
        (no_configuration, "manifest.json: "),
        (another_field, "'note' was unexpected"),
        (other_hash, "synthetic.csv: is not the file that manifest.json lists"),
    ],
)
def test_a_changed_manifest_of_an_older_version_is_refuted(released, change, told):
    made = released()
    by_an_older_manifest(made)
    manifest = manifest_of(made)
    change(manifest)
    reseal(made, manifest)
    assert_refuted(made, told)


def assert_refuted(made, told):
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert caught.value.exit_code == 5
    assert "synth 0.0.9 and must be verified with that version" in caught.value.findings[0]
    assert told in "\n".join(caught.value.findings[1:])


@pytest.mark.parametrize(
    "schema",
    [
        {"additionalProperties": {"$ref": "https://example.org/schema"}},
        {"additionalProperties": {"pattern": "^(a+)+$"}},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$defs": {"a": {"$ref": "#/$defs/a"}}, "properties": {}, "type": "nothing"},
    ],
    ids=["address", "pattern", "twice", "type"],
)
def test_a_schema_that_is_not_made_of_our_terms_is_not_followed(released, schema):
    made = released()
    by_an_older_manifest(made, **schema)
    assert_refuted(made, "manifest.schema.json: is no schema as any version writes it")


def test_definitions_that_refer_to_one_another_end(released):
    made = released()
    by_an_older_manifest(made)
    schema = json.loads((made.folder / "manifest.schema.json").read_bytes())
    schema["$defs"]["round"] = {"$ref": "#/$defs/round"}
    schema["properties"]["people"] = {"$ref": "#/$defs/round"}
    (made.folder / "manifest.schema.json").write_bytes(write_folded_json(schema))
    relist(made, manifest_of(made))
    assert_refuted(made, "malformed")


@pytest.mark.parametrize("data", ["synthetic.csv", "synthetic.parquet"])
def test_rows_of_an_older_version_outside_the_domain_or_in_one_file_alone_are_refuted(
    released, busy, data
):
    made = released(**busy, output={"formats": ["csv", "parquet"]})
    by_an_older_manifest(made)
    path = made.folder / data
    if path.suffix == ".csv":
        lines = path.read_bytes().splitlines(keepends=True)
        lines[-1] = b"200,1.0,x|y\n"
        path.write_bytes(b"".join(lines))
        told = "synthetic.csv: "
    else:
        pq.write_table(pq.read_table(path)[:-1], path)
        told = "synthetic.parquet: "
    relist(made, manifest_of(made))
    assert_refuted(made, told)


def test_rows_of_an_older_version_against_a_public_total_are_refuted(released, busy):
    made = released(**busy, output={"formats": ["csv"]})
    by_an_older_manifest(made)
    manifest, path = manifest_of(made), made.folder / "synthetic.csv"
    lines = path.read_bytes().splitlines(keepends=True)
    manifest["post_processing"]["rows"]["number"] -= 1
    dropped = next(n for n, line in enumerate(lines) if b"<Other>" in line)
    path.write_bytes(b"".join([*lines[:dropped], *lines[dropped + 1 :]]))
    relist(made, manifest)
    assert_refuted(made, "expected 40 from the public total")


@pytest.mark.parametrize("text", ["9.8.7; rm -rf", "latest", "9.8.7\n", "-r https"])
def test_a_version_that_is_none_is_not_told_as_one(released, text):
    made = released()
    by_another_version(made)
    manifest = manifest_of(made)
    manifest["implementation"]["versions"]["synth-publisher"] = text
    reseal(made, manifest)
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert "pip install" not in str(caught.value)


def test_a_damaged_release_of_another_version_says_both(released):
    made = released()
    by_another_version(made)
    (made.folder / "synthetic.csv").write_bytes(b"")
    with pytest.raises(VerificationError) as caught:
        verify_folder(made.folder, derivation=made.derive)
    assert caught.value.findings[0].startswith("written by synth 9.8.7 and must be verified")
    assert "synthetic.csv: its bytes were changed" in caught.value.findings[1]


@pytest.mark.usefixtures("other_arithmetic")
def test_fields_are_still_compared_under_other_arithmetic(released):
    made = released()
    path = made.folder / "manifest.json"
    path.write_text(path.read_text().replace("add-remove", "replace-one", 1))
    with pytest.raises(VerificationError, match=r"guarantee\.neighbours: found"):
        verify_folder(made.folder, derivation=made.derive)


def changed_budget(manifest, change):
    change(manifest)
    return "\n".join(budget_findings(manifest))


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("events.0.sensitivity", 2, "sensitivity: found 2, expected 1"),
        ("events.0.variance", 1.0, "variance: found 1.0, expected 1.8413"),
        ("events.0.epsilon.fraction", "1/2", "noise_scale_records: is not"),
        ("events.0.epsilon.fraction", "0/1", "epsilon: is not a positive fraction"),
        ("events.0.epsilon.fraction", "1/0", "epsilon: is not a positive fraction"),
        ("events.0.epsilon.fraction", "1/" + "9" * 50, "is too small for any noise"),
        ("events.0.epsilon.fraction", "9" * 50 + "/1", "variance: found 1.84"),
        ("total.epsilon.fraction", "1/2", "total.epsilon: the events add up to 1"),
        ("ledger.spent_now.epsilon.fraction", "1/2", "spent_now.epsilon: found 1/2, expected 1"),
        ("ledger.cap.epsilon.fraction", "9/1", "cap.epsilon: is not the cap"),
        ("ledger.spent_now.epsilon.fraction", "1/0", "are not exact fractions"),
        ("ledger.spent_now.epsilon.fraction", "9/1", "more epsilon was spent than the cap allows"),
        ("ledger.population", "others", "population: is not that of the configuration"),
    ],
)
def test_the_budget_is_recomputed(released, path, value, message):
    manifest = manifest_of(released())
    assert list(budget_findings(manifest)) == []
    node = manifest["accounting"]
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        node = node[part]
    node[last] = value
    assert message in "\n".join(budget_findings(manifest))


RATES = ["1/1000000000000", "0.000001", "1/3", "50", "255.5", "256", "257", "333", "1000", "1e9"]


@pytest.mark.parametrize("rate", [Fraction(rate) for rate in RATES])
def test_the_variance_may_differ_by_the_last_digit_of_a_double(released, rate):
    manifest = manifest_of(released())
    event = manifest["accounting"]["events"][0]
    event["epsilon"] = {"fraction": f"{rate.numerator}/{rate.denominator}"}
    stated = DiscreteLaplace(rate, 1).variance

    def found(variance):
        event["variance"] = variance
        return [finding for finding in budget_findings(manifest) if "variance" in finding]

    assert found(stated) == []
    assert found(stated * (1 - 2**-51)) != []
    assert found(stated * (1 + 2**-49)) != []


def test_a_claim_below_the_events_is_found(released):
    manifest = manifest_of(released())
    manifest["guarantee"]["privacy_parameters"]["epsilon"]["fraction"] = "1/2"
    assert "promises less privacy loss" in "\n".join(budget_findings(manifest))


@pytest.mark.parametrize(
    ("found", "expected", "finding"),
    [
        ({"a": 1}, {"a": 2}, "a: found 1, expected 2"),
        ({"a": 1}, {"a": 1.0}, "a: found 1, expected 1.0"),
        ({"a": True}, {"a": 1}, "a: found true, expected 1"),
        ({"a": [1, {"b": "x"}]}, {"a": [1, {"b": "y"}]}, 'a[1].b: found "x", expected "y"'),
        ({"a": [1]}, {"a": [1, 2]}, "a: found 1 items, expected 2"),
        ({}, {"a": "x"}, 'a: is missing, expected "x"'),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, "a.c: does not belong there"),
        ({"a": None}, {"a": {}}, "a: found null, expected {}"),
    ],
)
def test_a_difference_names_path_found_and_expected(found, expected, finding):
    assert list(differences(found, expected)) == [finding]
    assert list(differences(expected, expected)) == []


def test_many_findings_are_counted_after_some():
    findings = Findings()
    assert not findings.conclude("check", [str(number) for number in range(SHOWN + 5)])
    assert len(findings.found) == SHOWN + 1
    assert findings.found[-1] == "and 5 more of the same kind"
    assert findings.checks == []


@pytest.mark.parametrize(
    "content",
    [b"", b"x", b"\xff", b"a" * 64 + b"  b\n" + b"a" * 64 + b"  a\n", b"a" * 64 + b" *a\n"],
)
def test_checksums_have_one_spelling(content):
    assert parse_checksums(content) is None
    good = {"b": "0" * 64, "a": "f" * 64}
    assert parse_checksums(checksum_lines(good)) == good
    assert parse_checksums(checksum_lines(good) + b"\n") is None


def test_a_file_that_cannot_be_read_is_a_finding(released, monkeypatch):
    made = released()
    real = os.open

    def refuses(path, *arguments, **named):
        if str(path).endswith("synthetic.csv"):
            raise PermissionError(13, "Permission denied")
        return real(path, *arguments, **named)

    monkeypatch.setattr(os, "open", refuses)
    with pytest.raises(VerificationError, match=r"synthetic.csv: cannot be opened: Permission"):
        verify_folder(made.folder, derivation=made.derive)


def test_an_estimate_that_fails_is_a_finding(released):
    made = released()

    def fails(*_):
        raise ValueError("no fit")

    with pytest.raises(VerificationError, match="cannot be rebuilt from the measurements: no fit"):
        verify_folder(made.folder, derivation=fails)


def test_another_version_says_who_wrote_the_release(released):
    made = released()
    path = made.folder / "manifest.json"
    path.write_text(path.read_text().replace('"synth-publisher": "', '"synth-publisher": "9.'))
    with pytest.raises(VerificationError, match=r"written by synth 9\..*verified with that"):
        verify_folder(made.folder, derivation=made.derive)


def test_a_third_of_epsilon_adds_up_exactly(released):
    made = released(privacy={"epsilon": "1/3"})
    manifest = manifest_of(made)
    total = manifest["accounting"]["total"]["epsilon"]
    assert total["fraction"] == "1/3"
    assert Fraction(total["decimal"]) > Fraction(1, 3)
    verify_folder(made.folder, derivation=made.derive)


@pytest.mark.parametrize(
    ("change", "finding"),
    [
        (lambda i: i["versions"].update(note="1"), "versions: are not those of the libraries"),
        (lambda i: i["versions"].update(numpy="1 Jane Doe"), "versions.numpy: is no distribution"),
        (lambda i: i["versions"].update(numpy="1" * 99), "versions.numpy: is no distribution"),
        (lambda i: i["bill_of_materials"].update({"Jane Doe": "1"}), "Jane Doe: is no distribut"),
        (
            lambda i: i["bill_of_materials"].update({f"p{n}": "1" for n in range(301)}),
            "bill_of_materials: names more than 300 distributions",
        ),
        (
            lambda i: i.update(processor="x86_64: Jane Doe, 1961"),
            "processor: is no kind of processor",
        ),
        (lambda i: i.update(commit="Jane Doe"), "commit: is no commit"),
        (lambda i: i["self_tests"][0].update(name="x" * 201), "self_tests: are more, or longer"),
    ],
)
def test_attested_words_have_their_form_and_no_room_for_others(released, change, finding):
    made = released()
    manifest = manifest_of(made)
    assert attested_findings(manifest) == []
    change(manifest["implementation"])
    assert any(finding in found for found in attested_findings(manifest))
