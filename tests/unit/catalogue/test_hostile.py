"""What anybody could put into the directory: the index names it or passes it over, and goes on."""

import json
import os
import re
import shutil
from pathlib import Path
from xml.etree.ElementTree import fromstring

import html5lib
import pytest

from synth.catalogue import INDEX_FILES, folders, index, rebuild
from synth.catalogue.tables import UNREADABLE_NOW
from synth.errors import OutputError
from tests.atom_feed import problems_of
from tests.unit.catalogue.conftest import MANIFEST, rewrite
from tests.unit.release.page.conftest import NASTY

CONTROLS = "a\x00b\x08c\x1bd\x85e\u202ef\ufffeg\ud800h]]>"


def document(directory):
    return json.loads((directory / "series.json").read_bytes())


def pages(directory):
    html = (directory / "index.html").read_text(encoding="utf-8")
    html5lib.HTMLParser(strict=True).parse(html)
    feed = (directory / "feed.xml").read_bytes()
    assert problems_of(feed) == []
    return html, feed


def left_out(directory):
    return {each["folder"]: each["why"] for each in document(directory)["left_out"]}


@pytest.mark.parametrize("word", [NASTY, CONTROLS, "x" * 100_000, "<![CDATA[", "&amp;&#0;"])
def test_words_cannot_become_markup_or_break_a_file(directory, word):
    def change(manifest):
        manifest["identity"] |= {"name": word, "description": word, "license": word}
        manifest["identity"] |= {"version": word, "language": word, "supersedes": [word]}
        manifest["people"] |= {"publisher": word, "contact_point": word}
        manifest["accounting"]["ledger"]["population"] = word
        manifest["guarantee"] |= {"privacy_unit": word, "neighbours": word}
        manifest["series"] = {"name": word, "period": word, "rows": word}

    for name in ("visits-2026-02", "visits-2026-04"):
        rewrite(directory / name, change, escaped=True)
    assert rebuild(directory).releases == 4
    html, _ = pages(directory)
    assert not re.search(r"<(script|img|b|iframe)\b", html)
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]", html)
    assert max(map(len, html.splitlines())) < 20_000


def test_labels_cannot_become_markup(directory):
    rebuild(directory)
    text = (directory / "series.json").read_text(encoding="utf-8")
    (directory / "series.json").write_text(text.replace('"Female"', json.dumps(NASTY)))
    assert rebuild(directory).read == 0, "as if the index before had read such labels"
    assert "<script" not in pages(directory)[0]


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)<", "a b", "Ärger", "..x", "UPPER", "%2e%2e", "a\nb", "\udcff", "x" * 250],
)
def test_folders_with_names_of_no_release_are_never_named_to_the_public(directory, name):
    shutil.copytree(directory / "census", directory / name)
    made = rebuild(directory)
    assert made.releases == 4
    assert [each.why for each in made.left_out if not name.startswith(".")] == (
        [] if name.startswith(".") else ["has no name of a release"]
    )
    assert not document(directory)["left_out"]
    assert all(each.folder.isprintable() for each in made.left_out)


def test_links_are_not_followed(directory):
    outside = directory.parent / "outside"
    (directory / "census").rename(outside)
    (directory / "census").symlink_to(outside)
    (directory / "loop").symlink_to(directory)
    made = rebuild(directory)
    assert (made.releases, {each.why for each in made.left_out}) == (3, {"is a symbolic link"})
    assert "census" not in "".join((directory / name).read_text() for name in INDEX_FILES)
    (directory / "census").unlink()
    (directory / "census").mkdir()
    for path in outside.iterdir():
        (directory / "census" / path.name).symlink_to(path)
    assert rebuild(directory).releases == 3
    assert left_out(directory) == {"census": "manifest.json: is missing"}


def test_a_manifest_of_a_gigabyte_is_not_read(directory, monkeypatch):
    os.truncate(directory / "census" / MANIFEST, 1 << 30)
    monkeypatch.setattr(folders.Folder, "read", only_small(folders.Folder.read))
    rebuild(directory)
    assert left_out(directory) == {"census": "its manifest is larger than 16 MB"}


def only_small(read):
    def checked(folder, name, **given):
        assert folder.sizes.get(name, 0) < 1 << 20
        return read(folder, name, **given)

    return checked


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda m: m.pop("identity"), "lacks what every version writes"),
        (lambda m: m.update(identity=[]), "lacks what every version writes"),
        (lambda m: m["identity"].update(date_published="2026-99-01"), "lacks what every"),
        (lambda m: m["identity"].update(name=7), "lacks what every version writes"),
        (lambda m: m["identity"].update(release_id="other"), "is named other than the release"),
        (lambda m: m["post_processing"]["rows"].update(number=-1), "no day of publication or"),
        (lambda m: m["post_processing"]["rows"].update(number="1"), "no day of publication or"),
        (
            lambda m: m["accounting"]["ledger"]["cap"]["epsilon"].update(fraction="1e999999999"),
            "lacks what every version writes",
        ),
        (
            lambda m: m["accounting"]["ledger"]["left"]["epsilon"].update(fraction="1/0"),
            "lacks what every version writes",
        ),
        (
            lambda m: m["guarantee"]["privacy_parameters"]["epsilon"].update(
                fraction="9" * 500 + "/1"
            ),
            "lacks what every version writes",
        ),
        (
            lambda m: m["configuration"]["source"].update(kind="made-up"),
            "is a rehearsal on made-up rows",
        ),
        (lambda m: m.pop("manifest_version"), "is none of a release"),
    ],
)
def test_a_manifest_that_is_not_as_any_version_writes_it(directory, change, why):
    rewrite(directory / "census", change)
    assert rebuild(directory).releases == 3
    assert why in left_out(directory)["census"]
    assert "census" in pages(directory)[0], "named"


@pytest.mark.parametrize("content", [b"", b"{", b"[" * 100_000, b"\xff", b'{"a": NaN}', b"7"])
def test_a_manifest_that_is_no_json(directory, content):
    def replaced(folder):
        (folder / MANIFEST).write_bytes(content)
        (folder / "SHA256SUMS").unlink()
        from tests.release_folder import seal

        seal(folder)

    replaced(directory / "census")
    assert rebuild(directory).releases == 3
    assert "its manifest is" in left_out(directory)["census"]


def test_a_manifest_that_its_hashes_do_not_know(directory):
    with (directory / "census" / MANIFEST).open("ab") as file:
        file.write(b"\n")
    rebuild(directory)
    assert left_out(directory) == {"census": "its manifest is not the one that SHA256SUMS lists"}


def test_a_manifest_of_an_older_version_is_shown(directory):
    def older(manifest):
        manifest["manifest_version"] = "1"
        manifest["configuration"] = {"schema_version": 0, "written": "otherwise"}
        for name in ("supersedes", "keywords", "signature_key_id"):
            manifest["identity"].pop(name, None)

    rewrite(directory / "visits-2026-02", older)
    rewrite(directory / "census", older)
    made = rebuild(directory)
    assert (made.releases, made.left_out) == (4, ())
    html, _ = pages(directory)
    assert "visits-2026-02 is in no picture: its noisy tables cannot be read here" in html
    assert rebuild(directory).read == 0


@pytest.mark.parametrize("content", [b"", b"PAR1" * 99, None])
def test_measurements_that_are_not_those_of_the_manifest(directory, content):
    path = directory / "visits-2026-02" / "measurements.parquet"
    if content is None:
        path.unlink()
    else:
        path.write_bytes(content)
    assert rebuild(directory).releases == 4
    whys = [each["why"] for each in document(directory)["releases"] if "why" in each]
    assert len(whys) == 1
    assert str(directory) not in whys[0]


def test_tables_that_could_not_be_opened_are_looked_for_again(directory, monkeypatch):
    def refuse(*_):
        raise PermissionError(13, "no", "/secret/path")

    with monkeypatch.context() as patch:
        patch.setattr("synth.catalogue.tables.require_readable", refuse)
        assert rebuild(directory).read == 4
    assert {each["why"] for each in document(directory)["releases"]} == {UNREADABLE_NOW}
    assert rebuild(directory).read == 4
    assert not [each for each in document(directory)["releases"] if "why" in each]


@pytest.mark.parametrize("moment", ["read_manifest", "release_facts", "one_way_tables"])
def test_a_folder_that_disappears_meanwhile(directory, monkeypatch, moment):
    real = getattr(index, moment)

    def vanishing(found, *rest):
        if found.name == "census":
            shutil.rmtree(directory / "census")
        return real(found, *rest)

    monkeypatch.setattr(index, moment, vanishing)
    made = rebuild(directory)
    assert (made.releases, made.left_out) == (3, ())
    assert "census" not in "".join((directory / name).read_text() for name in INDEX_FILES)


def test_a_folder_that_disappears_before_it_is_opened(directory, monkeypatch):
    class Vanishing(folders.Folder):
        def __init__(self, path):
            if path.name == "census":
                shutil.rmtree(path)
            super().__init__(path)

    monkeypatch.setattr(folders, "Folder", Vanishing)
    made = rebuild(directory)
    assert (made.releases, made.left_out) == (3, ())


def test_files_of_somebody_else_stay(directory):
    for name in ("index.html", "feed.xml"):
        path = directory / name
        path.write_text("<p>ours</p>")
        with pytest.raises(OutputError, match=f"{name} in the directory of releases is not one"):
            rebuild(directory)
        assert path.read_text() == "<p>ours</p>"
        path.unlink()
        secret = directory.parent / "secret"
        secret.write_text('content="synth index" <generator>synth')
        path.symlink_to(secret)
        with pytest.raises(OutputError):
            rebuild(directory)
        path.unlink()
        path.mkdir()
        with pytest.raises(OutputError):
            rebuild(directory)
        path.rmdir()
    rebuild(directory)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b'{"catalogue_version": "1", "releases": 7, "feed_id": "urn:uuid:x"}',
        b"\x00" * 1000,
    ],
)
def test_a_last_index_that_is_damaged_is_not_believed(directory, content):
    rebuild(directory)
    before = {name: (directory / name).read_bytes() for name in INDEX_FILES}
    (directory / "series.json").write_bytes(content)
    assert rebuild(directory).read == 4
    assert {name: (directory / name).read_bytes() for name in INDEX_FILES} == before


@pytest.mark.parametrize(
    "change",
    [
        lambda release: release.pop("title"),
        lambda release: release.update(rows="many"),
        lambda release: release["records"]["lows"].clear(),
        lambda release: release["tables"][0]["highs"].append(1),
        lambda release: release["tables"][0]["estimates"].__setitem__(0, "1"),
        lambda release: release["account"].update(cap={}),
        lambda release: release.update(more=1),
    ],
)
def test_an_entry_of_the_last_index_that_is_not_whole_is_read_again(directory, change):
    rebuild(directory)
    before = (directory / "series.json").read_bytes()
    altered = json.loads(before)
    change(altered["releases"][1])
    (directory / "series.json").write_text(json.dumps(altered))
    assert rebuild(directory).read == 1
    assert (directory / "series.json").read_bytes() == before


def test_what_a_killed_process_left_is_removed(directory):
    (directory / ".index-0123456789abcdef").write_text("half")
    rebuild(directory)
    assert not list(directory.glob(".*"))


def test_other_things_in_the_directory_are_passed_over(directory):
    (directory / "notes.txt").write_text("x")
    (directory / ".staging-census-abc").mkdir()
    (directory / "empty").mkdir()
    os.mkfifo(directory / "pipe")
    made = rebuild(directory)
    assert [(each.folder, each.why) for each in made.left_out] == [("empty", "holds no manifest")]
    assert not document(directory)["left_out"]


def test_too_many_entries_are_refused(directory, monkeypatch):
    monkeypatch.setattr(folders, "MOST_ENTRIES", 3)
    with pytest.raises(OutputError, match="more than 3 entries"):
        rebuild(directory)


def test_another_process_that_never_ends_is_not_waited_for_forever(directory, monkeypatch):
    monkeypatch.setattr(index, "WAIT_SECONDS", 0)
    with index._lock(directory), pytest.raises(OutputError.__base__, match="another process"):
        rebuild(directory)


def test_the_feed_is_read_by_a_parser_whatever_is_in_it(directory):
    rewrite(directory / "census", lambda m: m["identity"].update(name=CONTROLS), escaped=True)
    rebuild(directory)
    titles = [each.text for each in fromstring(Path(directory / "feed.xml").read_bytes()).iter()]
    assert any("a�b�c" in (text or "") for text in titles)
