"""A published release, changed in every way: `synth verify` says what was changed, and where."""

import functools
import hashlib
import io
import json
import os
import re
import shutil
from contextlib import suppress
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from synth.config import load_config
from synth.domain.counts import Counts
from synth.errors import SynthError, VerificationError
from synth.measurements import read_measurements
from synth.reading.release import Release
from synth.release import verify_release
from synth.release.contents import METADATA
from synth.release.derivation import derive
from synth.release.documents import metadata_documents
from synth.release.documents.data_card import render_data_card
from synth.release.manifest.figures import read_figures, write_figures
from synth.release.page.accuracy import crosstabs
from synth.release.page.assessment import render_assessment
from synth.release.page.group_bias import group_biases
from synth.release.page.render import render_page
from synth.release.page.summary import summarise
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.manifest_check import ATTESTED_NOTE, ATTESTED_ONLY
from synth.strict_json import write_folded_json
from tests.command_line import synth
from tests.release_folder import seal

CONFIGURATION = {
    "schema_version": 1,
    "release": {
        "id": "tampered",
        "title": "Made-up people",
        "description": "For tests",
        "curators": ["Test Office"],
        "contact": "data@example.org",
        "intended_use": "Testing",
        "region": "Nowhere",
        "sector": "Government",
        "license": "CC-BY-4.0",
    },
    "source": {"path": "people.csv", "disposal": "keep", "disposal_reason": "made up"},
    "privacy": {
        "epsilon": "0.5",
        "neighbours": "add-remove",
        "unit": "record",
        "justification": "A test needs no more.",
    },
    "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
    "domain": [
        {"name": "age", "type": "integer", "edges": [0, 18, 65, 99], "out_of_domain": "clamp"}
        | {"source": "test"},
        {"name": "sex", "type": "categorical", "levels": ["Female", "Male"], "missing": [""]}
        | {"out_of_domain": "missing", "source": "test"},
    ],
    "impossible": [{"age": "[65, 99]", "sex": "missing"}],
    "workload": {"marginals": 1},
    "output": {"directory": "outputs", "replicates": 2},
}
PEOPLE = "age,sex\n" + "34,Female\n67,Male\n12,\n" * 60
FILES = (
    "README.md",
    "SHA256SUMS",
    "assessment.html",
    "croissant.json",
    "datapackage.json",
    "explore.html",
    "index.html",
    "manifest.json",
    "manifest.schema.json",
    "measurements.parquet",
    "quality.parquet",
    "registry.yaml",
    "replicates.parquet",
    "synthetic.csv",
    "synthetic.parquet",
    "tables/000-age-sex.csv",
)


@pytest.fixture(scope="module")
def published(tmp_path_factory) -> Path:
    """A release made by the command line, once."""
    place = tmp_path_factory.mktemp("published")
    (place / "people.csv").write_text(PEOPLE)
    (place / "release.yaml").write_text(yaml.safe_dump(CONFIGURATION, sort_keys=False))
    done = synth("run", place / "release.yaml")
    assert done.returncode == 0, done.stderr
    return place / "outputs" / "tampered"


@pytest.fixture
def release(published: Path, tmp_path: Path) -> Path:
    """A copy of the release to tamper with."""
    return Path(shutil.copytree(published, tmp_path / "tampered"))


@pytest.fixture(scope="module")
def verify_quickly(published: Path):
    """Verification that derives the rows once: for changes that leave the noisy counts alone."""
    from synth.config import config_from_public
    from synth.measurements import read_measurements
    from synth.release.verification import verify_folder

    config = config_from_public(manifest_of(published)["configuration"])
    measurements = read_measurements(published / "measurements.parquet", config.universe)
    derived = derive(measurements, config)
    return lambda folder: verify_folder(folder, derivation=lambda *_: derived)


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def findings_of(folder, verify=verify_release):
    with pytest.raises(VerificationError) as caught:
        verify(folder)
    assert caught.value.exit_code == 5
    return "\n".join(caught.value.findings)


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def summary_of(folder):
    """The counts that the page shows: of the rows as published, whatever the manifest says."""
    return summary_of_rows((folder / "synthetic.parquet").read_bytes())


@functools.cache
def summary_of_rows(content):
    return summarise(counts_of_rows(content), (3, 3))


@functools.cache
def counts_of_rows(content):
    rows = pq.read_table(pa.BufferReader(content)).to_pydict()
    age, sex = (
        [(age >= 18) + (age >= 65) for age in rows["age"]],
        [("Female", "Male", None).index(sex) for sex in rows["sex"]],
    )
    counts = np.bincount(np.asarray(age, dtype=np.int64) * 3 + sex, minlength=9)
    return Counts.of_all(counts, (3, 3))


def figures_of(folder):
    """The figures of the accuracy as published."""
    with (folder / "quality.parquet").open("rb") as file:
        return read_figures(file)


def shown_of(folder):
    """Tables with intervals, and signed errors of groups, of what was published."""
    names = ("measurements.parquet", "synthetic.parquet", "quality.parquet")
    return shown_of_files(*((folder / name).read_bytes() for name in names))


@functools.cache
def shown_of_files(measured, rows, quality):
    config, counts = load_config(CONFIGURATION), counts_of_rows(rows)
    measurements = read_measurements(io.BytesIO(measured), config.universe)
    figures = read_figures(io.BytesIO(quality))
    summary = summary_of_rows(rows)
    tabs = crosstabs(config, measurements, counts, summary=summary, figures=figures)
    return tabs, group_biases(config, measurements, counts)


def reseal(folder, manifest, *, card=True):
    """Do all that a tamperer without the measurements can do to make a change look right."""
    documents = {}
    if card:
        with suppress(KeyError, ValueError):  # no card for types or columns that do not exist
            (folder / "README.md").write_bytes(render_data_card(manifest))
        with suppress(LookupError, ValueError, ArithmeticError, TypeError):
            documents = metadata_documents(manifest)
        for entry in manifest["files"]:
            if entry["path"] in documents:
                (folder / entry["path"]).write_bytes(documents[entry["path"]])
            if entry["path"] == "assessment.html":
                with suppress(LookupError, ValueError, ArithmeticError, TypeError, SynthError):
                    page = render_assessment(manifest, figures_of(folder), shown_of(folder)[1])
                    (folder / "assessment.html").write_bytes(page)
            if entry["path"] == "index.html":
                with suppress(LookupError, ValueError, ArithmeticError, SynthError):
                    summary, figures = summary_of(folder), figures_of(folder)
                    page = render_page(manifest, summary, figures, shown_of(folder)[0])
                    (folder / "index.html").write_bytes(page)
            content = (folder / entry["path"]).read_bytes()
            entry["bytes"], entry["sha256"] = len(content), hashlib.sha256(content).hexdigest()
    (folder / "manifest.json").write_bytes(write_folded_json(manifest))
    seal(folder)


def test_the_release_as_published_stands(published):
    report = verify_release(published)
    assert report.release_id == "tampered"
    assert report.notes == (ATTESTED_NOTE,)
    assert any("every byte is the expansion" in check for check in report.checks)


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_of_any_file_is_found(release, verify_quickly, name):
    path = release / name
    content = path.read_bytes()
    last = len(content) - 1  # and before it, in SHA256SUMS, a letter of a name
    for place in (0, last // 2, last - 1, last):
        changed = bytearray(content)
        changed[place] ^= 0x01
        path.write_bytes(changed)
        found = findings_of(release, verify_quickly)
        own_line = name == "SHA256SUMS" and "manifest.json: its bytes were changed" in found
        assert re.search(rf"(^|\n){name}: |in {name}", found) or own_line, place
    path.write_bytes(content)
    verify_quickly(release)


@pytest.mark.parametrize(("name", "keep"), [*((name, 0.5) for name in FILES), ("README.md", 0)])
def test_a_truncated_file_is_found(release, verify_quickly, name, keep):
    content = (release / name).read_bytes()
    (release / name).write_bytes(content[: int(len(content) * keep)])
    assert f"{name}: " in findings_of(release, verify_quickly)


@pytest.mark.parametrize("name", ["synthetic.parquet", "measurements.parquet", "manifest.json"])
def test_a_truncated_file_with_new_checksums_is_found(release, name):
    content = (release / name).read_bytes()
    (release / name).write_bytes(content[: len(content) // 2])
    seal(release)
    assert f"{name}: " in findings_of(release)


@pytest.mark.parametrize(("name", "sealed"), [*((n, True) for n in FILES), ("README.md", False)])
def test_a_removed_file_is_found(release, verify_quickly, name, sealed):
    (release / name).unlink()
    if sealed and name != "SHA256SUMS":
        seal(release)
    assert name in findings_of(release, verify_quickly)


def test_a_line_for_a_file_that_is_not_there_is_found(release):
    sums = (release / "SHA256SUMS").read_text()
    (release / "SHA256SUMS").write_text(sums + f"{'0' * 64}  zzz.txt\n")
    assert findings_of(release) == "zzz.txt: is missing"


@pytest.mark.parametrize("sealed", [True, False])
@pytest.mark.parametrize("name", ["extra.txt", "tables/001-age.csv", "tables/.hidden"])
def test_an_added_file_is_found(release, sealed, name):
    (release / name).write_text("more")
    if sealed:
        seal(release)
    assert f"{name}: " in findings_of(release)


def test_a_noisy_count_that_was_changed_in_its_table_is_found(release):
    path = release / "tables" / "000-age-sex.csv"
    header, first, *rest = path.read_text().splitlines(keepends=True)
    labels, count, error = first.rsplit(",", 2)
    path.write_text("".join([header, f"{labels},{int(count) + 1},{error}", *rest]))
    reseal(release, manifest_of(release))
    assert re.search(r"tables/000-age-sex.csv: byte \d+ \(line 2\)", findings_of(release))


@pytest.mark.parametrize("name", FILES)
def test_a_symbolic_link_is_never_followed(release, verify_quickly, tmp_path, name):
    elsewhere = tmp_path / "elsewhere"
    (release / name).rename(elsewhere)
    (release / name).symlink_to(elsewhere)
    assert f"{name}: is a symbolic link" in findings_of(release, verify_quickly)


def test_a_link_to_the_folder_of_tables_is_never_followed(release, tmp_path):
    opened = Folder(release)
    (release / "tables").rename(tmp_path / "elsewhere")
    (release / "tables").symlink_to(tmp_path / "elsewhere", target_is_directory=True)
    found = findings_of(release)
    assert "tables: is a symbolic link" in found
    assert "tables/000-age-sex.csv: is missing" in found
    with pytest.raises(FolderError, match=r"tables/000-age-sex.csv: cannot be opened"):
        opened.open("tables/000-age-sex.csv")  # nor if it was a folder at first


def test_an_empty_folder_of_tables_is_found(release):
    (release / "tables" / "000-age-sex.csv").unlink()
    assert "tables: is an empty folder" in findings_of(release)


def test_other_entries_that_are_no_plain_files_are_found(release):
    (release / "inner").mkdir()
    (release / "tables" / "tables").mkdir()
    os.mkfifo(release / "tables" / "pipe")
    found = findings_of(release)
    assert "inner: is no plain file" in found
    assert "tables/tables: is no plain file" in found
    assert "tables/pipe: is no plain file" in found


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, item in value.items():
            yield from leaves(item, (*path, key))
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from leaves(item, (*path, number))
    else:
        yield path


def changed_leaf(value):
    """Another value of the same type, as harmless as possible to schema and parsers."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.0000001 + 1e-12
    if value is None:
        return 0
    if re.fullmatch(r"\d+/\d+", value):
        top, bottom = value.split("/")
        return f"{int(top) + 1}/{bottom}"
    if re.fullmatch(r"\d{4}-\d\d-\d\d", value):  # a day that every month has
        return value[:-2] + ("01" if value[-2:] != "01" else "02")
    if value[-1:].isdigit():
        return value[:-1] + str((int(value[-1]) + 1) % 10)
    if re.fullmatch(r"[0-9a-f]{64}", value):
        return value[:-1] + ("a" if value[-1] != "a" else "b")
    return value + "x"


def dotted(path):
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def is_attested_only(path):
    """Whether the documented list covers the path; `*` stands for one name or number."""
    patterns = [re.escape(item).replace(r"\*", r"[^.\[\]]+") for item in ATTESTED_ONLY]
    return any(re.fullmatch(pattern, dotted(path)) for pattern in patterns)


def most_leaves(manifest):
    """Every leaf; of long lists and of the bill of materials, all alike, the first two entries."""
    listed = ("implementation", "bill_of_materials")
    first = list(manifest["implementation"]["bill_of_materials"])[:2]
    for path in leaves(manifest):
        is_early = all(not isinstance(part, int) or part < 2 for part in path)
        if is_early and (path[:2] != listed or path[2] in first):
            yield path


READ = {"manifest_version", "schema_url", "identity", "life_cycle", "security_and_disposal"} | {
    *("accounting.ledger", "implementation.self_tests", "implementation.versions"),
    *("implementation.bill_of_materials", "implementation.processor", "implementation.commit"),
    *("implementation.arithmetic_fingerprint", "configuration", "files"),
}
"""Sections that the verifier reads before it writes the others again: changed field by field."""


def is_read(path):
    return bool({dotted(path[:length]) for length in range(1, len(path) + 1)} & READ)


def with_changed(manifest, paths):
    changed = deepcopy(manifest)
    for path in paths:
        *above, last = path
        parent = functools.reduce(lambda value, part: value[part], above, changed)
        parent[last] = changed_leaf(parent[last])
    return changed


def unnamed_of(release, verify, original, paths):
    """Fields that no finding names by their path: changed at once, and again in ever fewer.

    What is written again does not depend on them, so each is found as if it were changed alone.
    """
    reseal(release, with_changed(original, paths))
    found = findings_of(release, verify)
    left = [path for path in paths if f"manifest.json: {dotted(path)}: " not in f"{found}\n"]
    if len(paths) == 1 or not left:
        return left
    half = (len(left) + 1) // 2
    parts = [part for part in (left[:half], left[half:]) if part]
    return [path for part in parts for path in unnamed_of(release, verify, original, part)]


def test_every_changed_field_of_the_manifest_is_found_but_those_listed(release, verify_quickly):
    original = manifest_of(release)
    card = (release / "README.md").read_bytes()
    unnoticed, unnamed = set(), set()
    paths = list(most_leaves(original))
    listed = [path for path in paths if is_attested_only(path)]
    alone = [path for path in paths if is_read(path) and path not in listed]
    assert len(paths) > 300
    assert 100 < len(alone) < 200
    for path in alone:
        reseal(release, with_changed(original, [path]), card=path[0] != "files")
        try:
            verify_quickly(release)
            unnoticed.add(dotted(path))
        except VerificationError as error:
            names = {dotted(path), dotted(path[:-1]), dotted(path[:-2]), path[0]}
            if not any(name and name in str(error) for name in names):
                unnamed.add(dotted(path))
        (release / "README.md").write_bytes(card)
    assert unnamed == unnoticed == set()
    rebuilt = [path for path in paths if not is_read(path) and path not in listed]
    assert unnamed_of(release, verify_quickly, original, rebuilt) == []
    assert len(listed) > 10
    reseal(release, with_changed(original, listed))
    verify_quickly(release)  # what nothing can rebuild, changed at once


def test_the_finding_names_path_found_and_expected(release):
    manifest = manifest_of(release)
    worst = manifest["quality"]["prediction"]["queries"][0]["worst"]
    sd, worst["sd_records"] = worst["sd_records"], 0.5
    reseal(release, manifest)
    place = "quality.prediction.queries[0].worst.sd_records"
    line = f"manifest.json: {place}: found 0.5, expected {sd!r}"
    assert line in findings_of(release)


@pytest.mark.parametrize("figure", ["sd_records", "rms_residual_in_sd", "half_width_95_records"])
def test_a_figure_that_was_changed_is_found(release, figure):
    figures = figures_of(release)
    place = next(n for n, each in enumerate(figures) if getattr(each, figure) is not None)
    figures[place] = replace(figures[place], **{figure: getattr(figures[place], figure) + 1})
    with (release / "quality.parquet").open("wb") as file:
        write_figures(file, figures)
    reseal(release, manifest_of(release))
    assert "quality.parquet: " in findings_of(release)


def test_fields_that_were_removed_or_added_are_found(release):
    manifest = manifest_of(release)
    del manifest["what_it_means"]["formula"]
    manifest["guarantee"]["comment"] = "approved by everybody"
    reseal(release, manifest)
    found = findings_of(release)
    assert "what_it_means: 'formula' is a required property" in found
    assert "comment" in found


def upside_down(value):
    """The same JSON with the keys of every object in the other order."""
    if isinstance(value, dict):
        return {key: upside_down(value[key]) for key in reversed(value)}
    return [upside_down(item) for item in value] if isinstance(value, list) else value


def test_a_section_whose_fields_come_in_another_order_is_found(release):
    manifest = manifest_of(release)
    manifest["accounting"] = upside_down(manifest["accounting"])
    reseal(release, manifest)
    assert "manifest.json: accounting: the order of its fields was changed" in findings_of(release)


def test_a_manifest_that_is_spelt_otherwise_is_found(release):
    path = release / "manifest.json"
    path.write_bytes(path.read_bytes() + b"\n")
    seal(release)
    assert "manifest.json: spaces or escapes were changed" in findings_of(release)


def test_items_that_were_removed_are_found(release):
    manifest = manifest_of(release)
    manifest["what_it_means"]["not_promised"].pop()
    reseal(release, manifest)
    assert "what_it_means.not_promised: found 3 items, expected 4" in findings_of(release)


def test_a_smaller_epsilon_everywhere_is_found(release):
    """The claim is changed in the events, the total, the ledger and the configuration at once."""
    text = (release / "manifest.json").read_text()
    text = text.replace('"fraction": "1/2"', '"fraction": "1/4"')
    text = text.replace('"epsilon": "1/2"', '"epsilon": "1/4"')
    text = text.replace('"epsilon": "0.5"', '"epsilon": "0.25"')
    reseal(release, json.loads(text))
    found = findings_of(release)
    assert "measurements.parquet: answers to another configuration" in found


def test_more_spent_than_the_cap_allows_is_found(release):
    manifest = manifest_of(release)
    ledger = manifest["accounting"]["ledger"]
    ledger["spent_now"]["epsilon"] = {"fraction": "5/2", "decimal": "2.5"}
    ledger["earlier_release_ids"] = ["small", "other", "other"]
    reseal(release, manifest)
    found = findings_of(release)
    assert "accounting.ledger: more epsilon was spent than the cap allows" in found
    assert 'accounting.ledger.spent_now.epsilon.fraction: found "5/2", expected "1/2"' in found
    assert "accounting.ledger.earlier_release_ids: a release is listed twice" in found


def test_the_position_of_the_ledger_is_published_without_other_populations(release):
    ledger = manifest_of(release)["accounting"]["ledger"]
    assert set(ledger) == {
        *("population", "promise", "cap", "spent_before", "spent_now", "left"),
        *("earlier_release_ids", "reservation_hash"),
    }


@pytest.mark.parametrize("name", METADATA)
def test_metadata_that_say_more_than_the_manifest_are_found(release, verify_quickly, name):
    """Even if the manifest lists the changed bytes."""
    path = release / name
    content = path.read_bytes().replace(b"CC-BY-4.0", b"CC0-1.0  ").replace(b"/by/4.0", b"/by/4.1")
    if content == path.read_bytes():
        content = content.replace(b"epsilon: 0.5", b"epsilon: 0.1")
    assert content != path.read_bytes()
    path.write_bytes(content)
    manifest = manifest_of(release)
    for entry in manifest["files"]:
        if entry["path"] == name:
            entry["bytes"], entry["sha256"] = len(content), digest(path)
    reseal(release, manifest, card=False)
    assert f"{name}: is not the one that manifest and rows give" in findings_of(
        release, verify_quickly
    )


def test_a_row_that_was_changed_and_resealed_is_found(release):
    lines = (release / "synthetic.csv").read_text().splitlines(keepends=True)
    place = next(n for n, line in enumerate(lines) if line.endswith("Female\n"))
    lines[place] = lines[place].replace("Female", "Male")
    (release / "synthetic.csv").write_text("".join(lines))
    reseal(release, manifest_of(release))
    found = findings_of(release)
    assert "synthetic.csv: byte " in found
    assert f"(line {place + 1})" in found


def test_a_value_inside_its_bin_that_was_changed_is_found(release):
    lines = (release / "synthetic.csv").read_text().splitlines(keepends=True)
    age, rest = lines[1].split(",", 1)
    lines[1] = f"{(int(age) + 1) % 18},{rest}"
    (release / "synthetic.csv").write_text("".join(lines))
    reseal(release, manifest_of(release))
    assert "(line 2) is b" in findings_of(release)


def test_a_parquet_value_that_was_changed_is_found(release):
    path = release / "synthetic.parquet"
    table = pq.read_table(path)
    ages = table.column("age").to_pylist()
    ages[0] = (ages[0] + 1) % 18
    table = table.set_column(0, table.schema.field(0), [pa.array(ages)])
    pq.write_table(table, path, store_schema=False)
    reseal(release, manifest_of(release))
    found = findings_of(release)
    assert "synthetic.parquet: " in found
    assert "synthetic.csv" not in found


def test_a_replicate_that_was_changed_and_resealed_is_found(release, verify_quickly):
    path = release / "replicates.parquet"
    lines = pq.read_table(path)
    counts = lines.column("release_replicate_2").to_pylist()
    counts[0] += 1
    changed = pa.array(counts, pa.int64())
    place = lines.schema.get_field_index("release_replicate_2")
    field = lines.schema.field(place)
    write_parquet(lines.set_column(place, field, changed), path)
    reseal(release, manifest_of(release))
    assert "replicates.parquet: " in findings_of(release, verify_quickly)


@pytest.mark.parametrize("lie", ["more lines", "a negative count", "another number"])
def test_who_reads_replicates_believes_nothing_that_the_manifest_says_of_them(release, lie):
    path = release / "replicates.parquet"
    lines, manifest = pq.read_table(path), manifest_of(release)
    entry = next(each for each in manifest["files"] if each["path"] == path.name)
    assert len(Release(release).replicate_weights()) == len(lines)
    if lie == "more lines":
        lines = pa.concat_tables([lines] * 3)
        assert len(lines) > Release(release).config.universe.size
    if lie == "a negative count":
        place = lines.schema.get_field_index("release_count")
        counts = [-1, *lines.column(place).to_pylist()[1:]]
        lines = lines.set_column(place, lines.schema.field(place), pa.array(counts, pa.int64()))
    if lie == "another number":
        manifest["post_processing"]["replicates"]["number"] = 1 << 40
    write_parquet(lines.combine_chunks(), path)
    entry["rows"] = len(lines)
    reseal(release, manifest)
    if lie == "another number":
        assert len(Release(release).replicate_weights()) == len(lines)
        return
    with pytest.raises(VerificationError, match=r"replicates\.parquet: cannot be read"):
        Release(release).replicate_weights()


def test_replicates_for_which_there_is_no_memory_are_a_finding(release, monkeypatch):
    none = Mock(side_effect=MemoryError)
    monkeypatch.setattr("synth.release.derivation.replicates_of", none)
    assert "too little memory" in findings_of(release)


def write_parquet(lines, path):
    """In the form in which releases are written, so that nothing but values can differ."""
    pq.write_table(lines, path, compression="zstd", store_schema=False)


@pytest.mark.parametrize("columns", [1, 3])
def test_fewer_or_more_replicates_than_the_manifest_says_are_found(
    release, verify_quickly, columns
):
    path = release / "replicates.parquet"
    lines = pq.read_table(path)
    last = lines.column("release_replicate_2")
    lines = lines.drop_columns(["release_replicate_2"])
    for number in range(2, columns + 1):
        lines = lines.append_column(
            pa.field(f"release_replicate_{number}", pa.int64(), False), last
        )
    write_parquet(lines, path)
    reseal(release, manifest_of(release))
    assert "replicates.parquet: " in findings_of(release, verify_quickly)
    manifest = manifest_of(release)
    manifest["post_processing"]["replicates"]["number"] = columns
    reseal(release, manifest)
    assert "post_processing.replicates.number: " in findings_of(release, verify_quickly)


def test_an_impossible_row_is_found(release):
    lines = (release / "synthetic.csv").read_text()
    (release / "synthetic.csv").write_text(lines + "70,\n")
    reseal(release, manifest_of(release))
    assert "synthetic.csv: goes on behind its last byte" in findings_of(release)


@pytest.mark.parametrize("name", ["README.md", "assessment.html", "index.html"])
def test_a_document_of_another_manifest_is_found(release, verify_quickly, name):
    """All hashes are made right again, so that nothing but its words is wrong."""
    path = release / name
    content = path.read_bytes().replace(b"0.5", b"0.4")
    assert content != path.read_bytes()
    path.write_bytes(content)
    manifest = manifest_of(release)
    for entry in manifest["files"]:
        if entry["path"] == name:
            entry["bytes"], entry["sha256"] = len(content), digest(path)
    reseal(release, manifest, card=False)
    assert findings_of(release, verify_quickly).startswith(f"{name}: is not the ")


STATEMENTS = {
    "the hash of the configuration": (
        lambda m: m["implementation"].update(configuration_hash="0" * 64),
        "manifest.json: configuration: its hash is",
    ),
    "a self-test that failed": (
        lambda m: m["implementation"]["self_tests"][0].update(passed=False),
        "implementation.self_tests[0].passed: found false",
    ),
    "a disposal that was not configured": (
        lambda m: m["security_and_disposal"]["disposal"].update(reason="none"),
        "disposal.reason: found 'none', expected",
    ),
}


@pytest.mark.parametrize("what", STATEMENTS)
def test_a_statement_that_contradicts_the_configuration_is_told_as_that(
    release, verify_quickly, what
):
    change, finding = STATEMENTS[what]
    manifest = manifest_of(release)
    change(manifest)
    reseal(release, manifest)
    assert finding in findings_of(release, verify_quickly)


def test_a_noisy_count_that_was_changed_no_longer_gives_the_rows(release):
    path = release / "measurements.parquet"
    table = pq.read_table(path)
    counts = table.column("noisy_count").to_pylist()
    counts[0] += 40
    table = table.set_column(2, table.schema.field(2), [pa.array(counts, pa.int32())])
    pq.write_table(table, path)
    reseal(release, manifest_of(release))
    found = findings_of(release)
    assert "synthetic.csv: byte " in found
    assert "synthetic.parquet: " in found  # its length may be another, too
    assert "post_processing.measurements_content_hash" in found


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "manifest.json: is not readable: line 1"),
        (b"\xff", "is not readable: byte 1 is not UTF-8"),
        (b'{"a": 1, "a": 1}', "a key is there twice"),
        (b'{"a": NaN}', "NaN is not a number"),
        (b'{"a": 1e999}', "too long or too large"),
        (b'{"a": ' + b"9" * 5000 + b"}", "more than 1000 digits"),
        (b"[" * 100_000, "nested too deeply"),
        (b"[" * 60 + b"]" * 60, "nested more than 40 deep"),
        (b"[]", "[] is not of type 'object'"),
    ],
)
def test_a_manifest_that_is_not_one_is_refused_with_its_reason(release, content, message):
    (release / "manifest.json").write_bytes(content)
    seal(release)
    assert message in findings_of(release)


@pytest.mark.parametrize(
    ("columns", "message"),
    [(10, "measurements.parquet: holds 9 rows, expected"), (30, "configuration: ")],
)
def test_a_huge_universe_is_refused_before_it_is_built(release, columns, message):
    manifest = manifest_of(release)
    column = manifest["configuration"]["domain"][1]
    for number in range(columns):
        manifest["configuration"]["domain"].append(column | {"name": f"more{number}"})
    reseal(release, manifest)
    assert message in findings_of(release)


def test_what_is_no_release_is_refused(tmp_path):
    assert "there is no such folder" in findings_of(tmp_path / "nowhere")
    (tmp_path / "file").write_text("text")
    assert "is not a folder" in findings_of(tmp_path / "file")
    (tmp_path / "empty").mkdir()
    assert "is not a release: it holds no manifest.json" in findings_of(tmp_path / "empty")


def test_the_command_says_what_it_found_and_ends_with_5(release):
    fine = synth("verify", release)
    assert fine.returncode == 0, fine.stderr
    assert fine.stdout.startswith("tampered: verified\n  ok    ")
    plain = synth("verify", release, "--json")
    assert json.loads(plain.stdout) == verify_release(release).to_plain()
    with (release / "synthetic.csv").open("ab") as file:
        file.write(b"1,Male\n")
    found = synth("verify", release)
    assert found.returncode == 5
    assert "synthetic.csv: its bytes were changed" in found.stdout + found.stderr
    assert "Traceback" not in found.stderr
