"""A release that follows another one holds its counts, keeps them, and is checked against it."""

import json
import shutil
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pyarrow.parquet as pq
import pytest
import yaml

from synth.domain import Conjunction
from synth.domain.counts import Counts
from synth.errors import BugError, OutputError, VerificationError
from synth.estimate import records_taken_back
from synth.release import release_before, verify_release, write_release
from synth.release.contents import checksum_lines, file_sha256
from synth.release.derivation import derive
from synth.release.rows.parquet_files import write_counts
from synth.release.verification.folder import Folder
from synth.release.verification.other_version import _charge_findings
from synth.release.verification.readback import published_counts
from tests.unit.release.conftest import TODAY, measured_in

SERIES = {
    "release": {"id": "visits-{period}"},
    "source": {"where": {"column": "visited", "within": "period"}},
    "series": {"every": "month", "first": "2026-01", "rows": "all", "horizon": 4},
}
CSV = "synthetic.csv"


def written(folder, made, previous, derivation=derive):
    folder.mkdir(mode=0o700)
    write_release(
        folder,
        config=made.config,
        measurements_file=made.measurements_file,
        receipt=made.receipt,
        today=TODAY,
        previous=previous,
        derivation=derivation,
    )
    return replace(made, folder=folder)


@pytest.fixture(scope="session")
def first_three(tmp_path_factory):
    place = tmp_path_factory.mktemp("series")
    releases = []
    for period in ("2026-01", "2026-02", "2026-03"):
        work = place / f"work-{period}"
        work.mkdir()
        made = measured_in(work, period=period, **SERIES)
        previous = release_before(place, made.config)
        releases.append(written(place / made.config.release.id, made, previous))
    return releases


@pytest.fixture
def series(first_three, tmp_path):
    """A copy of the three releases, to be changed."""
    for made in first_three:
        shutil.copytree(made.folder, tmp_path / made.folder.name)
    return [replace(made, folder=tmp_path / made.folder.name) for made in first_three]


def counts_of(made):
    counts, problems = published_counts(Folder(made.folder), CSV, made.config, rows=0)
    assert not problems
    return counts


def manifest_of(made):
    return json.loads((made.folder / "manifest.json").read_text())


def lines_of(made):
    return (made.folder / CSV).read_text().splitlines()


def checksums_again(folder):
    names = [path for path in folder.rglob("*") if path.is_file() and path.name != "SHA256SUMS"]
    hashes = {}
    for path in names:
        with path.open("rb") as file:
            hashes[str(path.relative_to(folder))] = file_sha256(file)
    (folder / "SHA256SUMS").write_bytes(checksum_lines(hashes))


def findings(made, **options):
    with pytest.raises(VerificationError) as caught:
        verify_release(made.folder, **options)
    return "\n".join(caught.value.findings)


def test_no_count_decreases_and_every_row_that_is_kept_keeps_its_values(first_three):
    shape = first_three[0].config.universe.shape
    for earlier, later in pairwise(first_three):
        before = counts_of(earlier)
        assert records_taken_back(before, counts_of(later), shape) == 0
        left = lines_of(later)[1:]
        for line in lines_of(earlier)[1:]:
            left.remove(line)
        assert len(left) == counts_of(later).total - before.total > 0


def test_the_manifest_says_what_the_release_follows(first_three):
    assert "previous" not in manifest_of(first_three[0])["series"]
    assert manifest_of(first_three[0])["series"]["basis"] == "public"
    for earlier, later in pairwise(first_three):
        with (earlier.folder / "manifest.json").open("rb") as file:
            digest = file_sha256(file)
        section = manifest_of(later)["series"]
        assert section["previous"] == {
            "release_id": earlier.config.release.id,
            "manifest_sha256": digest,
            "records": counts_of(earlier).total,
            "taken_back": 0,
        }
        assert section["basis"] == "post-processing"
        listed = {entry["path"]: entry for entry in manifest_of(later)["files"]}
        assert listed["previous.parquet"]["rows"] == counts_of(earlier).values.size


def test_the_manifest_says_what_the_series_costs(first_three):
    section = manifest_of(first_three[2])["series"]
    assert (section["name"], section["period"], section["index"]) == (
        "visits-{period}",
        "2026-03",
        3,
    )
    assert section["most_lost"].keys() == {"release", "horizon", "for_ever"}
    assert {loss["epsilon"]["fraction"] for loss in section["most_lost"].values()} == {"1/1"}
    assert section["rule"] == "largest"
    assert section["cumulative"]["method"].startswith("Every period measures its own records")
    assert section["cumulative"]["noise"] > 1
    assert any("keeps its month" in sentence for sentence in section["conditions"])


def test_the_file_holds_the_counts_of_the_release_before(first_three):
    table = pq.read_table(first_three[1].folder / "previous.parquet")
    before = counts_of(first_three[0])
    assert table.column_names == ["age", "sex", "town", "release_count"]
    assert table["release_count"].to_pylist() == before.values.tolist()


def test_releases_beside_each_other_are_compared(series):
    report = verify_release(series[1].folder)
    assert any("which lies beside this one" in check for check in report.checks)
    shutil.rmtree(series[0].folder)
    alone = verify_release(series[1].folder)
    assert not any("beside" in check for check in alone.checks)
    assert any("visits-2026-01" in note and "directory" in note for note in alone.notes)


def test_a_lowered_count_is_found_without_the_release_before(series):
    made = series[1]
    shutil.rmtree(series[0].folder)
    path = made.folder / CSV
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(lines[:-1]))
    checksums_again(made.folder)
    assert f"{CSV}: " in findings(made)


def other_counts(counts):
    """The same with one record in another cell."""
    values = counts.values.copy()
    first = int(np.argmax(values > 1))
    values[first] -= 1
    values[first + 1] += 1
    return Counts(counts.columns, values)


def test_counts_that_are_not_those_of_the_release_before_are_found_where_it_is(series):
    made = series[1]
    true = release_before(made.folder.parent, made.config)
    shutil.rmtree(made.folder)
    alone = made.folder.parent / "alone"
    alone.mkdir()
    forged = written(
        alone / made.folder.name, made, replace(true, counts=other_counts(true.counts))
    )
    verify_release(forged.folder)
    shutil.copytree(forged.folder, made.folder)
    assert "has other counts than visits-2026-01 in 2 combinations" in findings(made)


def test_another_release_of_the_same_name_is_found(series):
    made = series[1]
    path = series[0].folder / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"2026-01-31", b"2026-01-30"))
    assert "visits-2026-01 beside this release has another one" in findings(made)


def test_a_release_before_whose_rows_were_changed_is_found(series):
    path = series[0].folder / CSV
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert f"{CSV} is not the file that its manifest lists" in findings(series[1])


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda v: np.where(np.arange(v.size) == 2, 0, v), "a cell has no record"),
        (lambda v: np.where(np.arange(v.size) == 2, -4, v), "a count is negative"),
        (lambda v: v + 1, "rows, and previous.parquet has"),
    ],
)
def test_a_changed_file_is_found(series, change, said):
    made = series[2]
    counts = counts_of(series[1])
    with (made.folder / "previous.parquet").open("wb") as file:
        write_counts(file, Counts(counts.columns, change(counts.values)), made.config)
    checksums_again(made.folder)
    assert said in findings(made)


def test_cells_that_do_not_ascend_are_found(series):
    made = series[2]
    counts = counts_of(series[1])
    turned = Counts(tuple(column[::-1] for column in counts.columns), counts.values[::-1])
    with (made.folder / "previous.parquet").open("wb") as file:
        write_counts(file, turned, made.config)
    checksums_again(made.folder)
    assert "its cells do not ascend" in findings(made)


def test_the_file_is_missed(series):
    (series[2].folder / "previous.parquet").unlink()
    checksums_again(series[2].folder)
    assert "previous.parquet: is missing" in findings(series[2])


def test_the_release_before_must_be_there(first_three, tmp_path):
    config = first_three[2].config
    assert release_before(tmp_path, first_three[0].config) is None
    with pytest.raises(OutputError, match="visits-2026-02, is not in the output directory"):
        release_before(tmp_path, config)
    shutil.copytree(first_three[0].folder, tmp_path / "visits-2026-02")
    with pytest.raises(OutputError, match="release of another period"):
        release_before(tmp_path, config)


def test_a_release_of_other_columns_is_not_followed(series):
    made = series[1]
    narrower = replace(made.config.universe, impossible=(Conjunction({"town": (0,)}),))
    with pytest.raises(OutputError, match="other columns"):
        release_before(made.folder.parent, replace(made.config, universe=narrower))
    other = replace(made.config, series=replace(made.config.series, horizon=5))
    with pytest.raises(OutputError, match="another series"):
        release_before(made.folder.parent, other)


def test_a_release_is_not_written_without_the_one_before(first_three, tmp_path):
    with pytest.raises(BugError, match="follows another one"):
        written(tmp_path / "x", first_three[1], None)
    previous = release_before(first_three[1].folder.parent, first_three[1].config)
    with pytest.raises(BugError, match="follows another one"):
        written(tmp_path / "y", first_three[0], previous)


def test_counts_that_contradict_the_measurements_are_taken_back_and_the_manifest_says_so(
    first_three, tmp_path
):
    made = first_three[1]
    before = release_before(made.folder.parent, made.config)
    wrong = replace(before, counts=Counts(before.counts.columns, before.counts.values * 40))
    again = written(tmp_path / made.folder.name, made, wrong)
    taken = manifest_of(again)["series"]["previous"]["taken_back"]
    assert taken == records_taken_back(wrong.counts, counts_of(again), made.config.universe.shape)
    assert taken > 0
    verify_release(again.folder)


def test_card_page_and_registry_say_what_is_cumulative_and_what_the_series_costs(first_three):
    made = first_three[2]
    wanted = (
        "It is release 3 of the series visits-{period}, for the period 2026-03",
        "Its counts are cumulative: of all records up to the end of 2026-03.",
        f"All {counts_of(first_three[1]).total:,} rows of the release before, visits-2026-02, are",
        "One charge covers all releases of a horizon",
        "What one record loses at most: one release epsilon 1; all 4 releases epsilon 1",
    )
    registry = yaml.safe_load((made.folder / "registry.yaml").read_text())
    (record,) = registry if isinstance(registry, list) else [registry]
    model = str(record)
    for text in ((made.folder / "README.md").read_text(), model):
        told = " ".join(text.replace("\\", "").split())
        assert [said for said in wanted if said not in told] == []
    page = " ".join((made.folder / "index.html").read_text().split())
    assert [said for said in wanted if said not in page] == []
    assert "Many releases" in model
    assert "Dynamic" in model


def test_what_the_tables_cost_for_the_whole_horizon_adds_up(first_three):
    for made in first_three:
        accounting = manifest_of(made)["accounting"]
        charged = sum(Fraction(each["charged"]["fraction"]) for each in accounting["events"])
        assert charged == Fraction(accounting["total"]["epsilon"]["fraction"])
    manifest = manifest_of(first_three[2])
    assert [each["summed"] for each in manifest["accounting"]["events"]] == [3]
    assert list(_charge_findings(first_three[2].config, manifest)) == []
    manifest["accounting"]["events"][0]["charged"]["fraction"] = "1/3"
    assert "accounting.total" in "; ".join(_charge_findings(first_three[2].config, manifest))
