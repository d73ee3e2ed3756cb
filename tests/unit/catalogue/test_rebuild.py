"""The index: what stands in it, from which files, and that it is the same for the same folders."""

import json
import os
import re
import shutil
import stat
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path

import html5lib
import pytest
from jsonschema import Draft202012Validator

from synth.catalogue import INDEX_FILES, rebuild
from synth.catalogue.schema import catalogue_schema
from synth.errors import OutputError
from synth.reading import intervals
from tests.atom_feed import problems_of
from tests.command_line import synth
from tests.unit.catalogue.conftest import copy_as, rewrite

ROOT = Path(__file__).parents[3]


def contents(directory):
    return {name: (directory / name).read_bytes() for name in INDEX_FILES}


def document(directory):
    return json.loads((directory / "series.json").read_bytes())


def test_releases_stand_in_series_by_their_periods(directory):
    made = rebuild(directory)
    assert (made.releases, made.read, made.left_out) == (4, 4, ())
    found = document(directory)
    Draft202012Validator(catalogue_schema()).validate(found)
    series = {each["name"]: each for each in found["series"]}
    assert [each["period"] for each in series["visits-{period}"]["releases"]] == [
        "2026-01",
        "2026-02",
        "2026-04",
    ]
    assert series["census"]["releases"] == [{"release_id": "census", "period": ""}]
    assert list(series) == ["visits-{period}", "census"], "the newest release first"
    assert found["updated"] == "2026-04-30"


def test_trends_are_the_intervals_of_the_noisy_tables(directory):
    rebuild(directory)
    (release,) = (r for r in document(directory)["releases"] if r["release_id"] == "visits-2026-02")
    (sex,) = (table for table in release["tables"] if table["column"] == "sex")
    asked = intervals(directory / "visits-2026-02", marginal=["sex"], method="measured")
    assert sex["labels"] == ["Female", "Male", "missing"]
    assert sex["lows"] == asked["low"].tolist()
    assert sex["highs"] == asked["high"].tolist()
    assert sex["estimates"] == asked["estimate"].round().clip(asked["low"]).astype(int).tolist()
    whole = intervals(directory / "visits-2026-02", queries=["all records"], method="measured")
    assert release["records"]["lows"] == whole["low"].tolist()


def test_the_account_is_what_the_cap_leaves(directory):
    rebuild(directory)
    (account,) = document(directory)["accounts"]
    manifest = json.loads((directory / "census" / "manifest.json").read_bytes())
    stated = manifest["accounting"]["ledger"]
    assert account["population"] == stated["population"]
    cap, left = (eval(stated[each]["epsilon"]["fraction"]) for each in ("cap", "left"))
    assert eval(account["spent"]["epsilon"]["fraction"]) == cap - left
    assert len(account["releases"]) == 4


def test_the_same_folders_give_the_same_bytes_and_nothing_is_touched(directory):
    rebuild(directory)
    before, files = contents(directory), [(directory / n).stat().st_ino for n in INDEX_FILES]
    again = rebuild(directory)
    assert (again.releases, again.read) == (4, 0)
    assert contents(directory) == before
    assert [(directory / name).stat().st_ino for name in INDEX_FILES] == files
    for name in INDEX_FILES:
        assert stat.S_IMODE((directory / name).stat().st_mode) == 0o644
    (directory / "series.json").unlink()
    assert rebuild(directory).read == 4
    assert contents(directory) == before, "without the last index, too"
    assert not list(directory.glob(".*"))


def test_a_new_release_is_read_alone_and_ids_stay(directory):
    rebuild(directory)
    before = (directory / "feed.xml").read_text()
    copy_as(directory / "census", "visits-2025-12", days="2026-05-01")
    assert rebuild(directory).read == 1
    ids = re.findall("<id>.*</id>", before)
    after = re.findall("<id>.*</id>", (directory / "feed.xml").read_text())
    assert set(ids) < set(after)
    assert after[0] == ids[0], "that of the feed, although an older period came"
    shutil.rmtree(directory / "visits-2026-01")
    assert rebuild(directory).releases == 4
    assert "visits-2026-01" not in (directory / "index.html").read_text()


def test_a_manifest_that_changed_is_read_again(directory):
    rebuild(directory)
    rewrite(directory / "census", lambda m: m["identity"].update(name="Everybody"))
    assert rebuild(directory).read == 1
    assert "Everybody" in (directory / "index.html").read_text()


def test_the_feed_is_atom(directory):
    rebuild(directory)
    content = (directory / "feed.xml").read_bytes()
    assert problems_of(content) == []
    hrefs = re.findall('<link rel="alternate"[^>]* href="([^"]*)"', content.decode())
    assert hrefs[:2] == ["index.html", "visits-2026-04/index.html"]
    for href in hrefs:
        assert (directory / href).is_file()


def test_a_base_address_makes_the_feed_whole_and_moves_no_id(directory):
    rebuild(directory)
    ids = re.findall("<id>.*</id>", (directory / "feed.xml").read_text())[2:]
    rewrite(
        directory / "visits-2026-04",
        lambda m: m["configuration"]["output"].update(base_url="https://example.org/data"),
    )
    rebuild(directory)
    content = (directory / "feed.xml").read_bytes()
    assert problems_of(content) == []
    assert (
        b'<link rel="self" type="application/atom+xml" href="https://example.org/data/feed.xml'
        in (content)
    )
    assert b'href="https://example.org/data/census/index.html"' in content
    assert re.findall("<id>.*</id>", content.decode())[2:] == ids


class Seen(HTMLParser):
    """Everything that a page would load or lead to."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.addresses = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.addresses += [value for name, value in attrs if name in ("href", "src")]


def test_the_page_is_valid_loads_nothing_and_every_link_leads_somewhere(directory):
    rebuild(directory)
    text = (directory / "index.html").read_text()
    html5lib.HTMLParser(strict=True).parse(text)
    seen = Seen(text)
    assert seen.tags.isdisjoint({"script", "img", "iframe", "object", "form", "base"})
    for address in seen.addresses:
        if address.startswith("#"):
            assert f'id="{address[1:]}"' in text
        elif not address.startswith(("data:,", "mailto:")):
            assert (directory / address).exists(), address
    assert "Records in each period" in text
    assert text.count('class="panel"') == 5 + 3 + 3, "every value of every column"


def test_a_series_of_the_manifest_gathers_releases_of_other_names(directory):
    for name, period in (("census", "2026-03"), ("visits-2026-04", "2026-04")):
        rewrite(
            directory / name,
            lambda m, period=period: m.update(
                series={"name": "visits-{period}", "period": period, "rows": "all", "index": 3}
            ),
        )
    rebuild(directory)
    (series,) = document(directory)["series"]
    assert [each["release_id"] for each in series["releases"]] == [
        "visits-2026-01",
        "visits-2026-02",
        "census",
        "visits-2026-04",
    ]
    assert series["is_cumulative"]
    assert "all records so far" in (directory / "index.html").read_text()


def test_nothing_but_files_of_releases_is_opened(directory):
    """By the interpreter's own report of what is opened, in a process of its own."""
    private = directory.parent / "state"
    private.mkdir()
    (private / "ledger.sqlite").write_text("CANARY")
    (directory / "census" / "synthetic.csv").write_text("CANARY")
    (directory / "notes.txt").write_text("CANARY")
    code = (
        "import sys\n"
        "from synth.catalogue import rebuild\n"
        "import synth.catalogue.page as page\n"
        "page._environment().get_template(page.TEMPLATE)\n"
        "import synth.release.verification.trial_reading\n"
        "told = []\n"
        "sys.addaudithook(lambda event, given: event == 'open' and told.append(given))\n"
        "rebuild(sys.argv[1])\n"
        "for path, _, flags in tuple(told):\n"
        "    print(path, flags)\n"
        "raise SystemExit(0)\n"
    )
    done = synth(directory, program=code)
    assert done.returncode == 0, done.stderr
    ours = {line.rpartition(" ")[0] for line in done.stdout.splitlines() if "outputs" in line}
    names = {Path(each).name for each in ours} - {*INDEX_FILES, "outputs"}
    folders = {each.name for each in directory.iterdir() if each.is_dir()}
    assert {n for n in names if not n.startswith(".index-")} == folders
    relative = [line.rpartition(" ")[0] for line in done.stdout.splitlines()]
    allowed = {"manifest.json", "SHA256SUMS", "manifest.sig", "measurements.parquet"}
    assert {each for each in relative if "/" not in each and not each.isdigit()} <= allowed
    assert not [each for each in relative if "state" in each]
    told = b"".join(contents(directory).values())
    for word in (b"CANARY", str(directory).encode(), os.uname().nodename.encode()):
        assert word not in told


def test_many_releases_are_read_once_and_the_page_stays_small(directory, monkeypatch):
    monkeypatch.setattr("synth.catalogue.tables.require_readable", lambda *_: None)
    slim = directory / "census"
    for path in slim.iterdir():
        if path.name not in ("manifest.json", "measurements.parquet"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    rewrite(slim, dict)
    for number in range(60):
        year, month = divmod(number, 12)
        copy_as(directory / "census", f"old-{2000 + year}-{month + 1:02}", more=number)
    assert rebuild(directory).read == 64
    again = rebuild(directory)
    assert (again.releases, again.read, again.left_out) == (64, 0, ())
    assert (directory / "index.html").stat().st_size < 150_000
    assert (directory / "series.json").stat().st_size < 300_000
    assert 'class="band"' in (directory / "index.html").read_text()


def test_publishers_who_rebuild_at_once_lose_nothing(directory):
    waiting = directory.parent / "waiting"
    waiting.mkdir()
    for number in range(1, 9):
        copy_as(directory / "census", f"late-2026-{number:02}").rename(waiting / str(number))

    def publish(number):
        (waiting / str(number)).rename(directory / f"late-2026-{number:02}")
        rebuild(directory)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(publish, range(1, 9)))
    assert len(document(directory)["releases"]) == 12
    before = contents(directory)
    rebuild(directory)
    assert contents(directory) == before


def test_the_command_says_where_the_page_is_and_what_was_left_out(directory):
    (directory / "broken").mkdir()
    (directory / "broken" / "manifest.json").write_text("{")
    (directory / "broken" / "SHA256SUMS").write_text("")
    done = synth("index", str(directory))
    assert (done.returncode, done.stdout) == (0, f"{directory / 'index.html'}\n")
    assert "left out: broken: its manifest is not the one that SHA256SUMS lists" in done.stderr
    told = json.loads(synth("index", str(directory), "--json").stdout)
    assert (told["releases"], told["read"]) == (4, 0)
    assert told["left_out"][0]["folder"] == "broken"


def test_where_there_is_no_release_there_is_no_index(tmp_path):
    for place, word in ((tmp_path, "holds no release"), (tmp_path / "no", "no directory")):
        done = synth("index", str(place))
        assert done.returncode == 1
        assert word in done.stderr
    assert not list(tmp_path.iterdir())


def test_a_directory_that_cannot_be_written_is_said(directory, monkeypatch):
    def refuse(*_, **__):
        raise PermissionError(13, "no")

    monkeypatch.setattr("synth.catalogue.index._replace", refuse)
    with pytest.raises(OutputError, match="the index of releases could not be written"):
        rebuild(directory)


def test_the_schema_in_the_documentation_is_this_one():
    written = json.loads((ROOT / "docs" / "schemas" / "series.schema.json").read_bytes())
    assert written == catalogue_schema()
    Draft202012Validator.check_schema(written)
