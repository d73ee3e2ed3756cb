"""Folders that were tampered with, handed to the page: it tells of whatever it can see."""

import base64
import hashlib
import json
import shutil
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth.release.contents import checksum_lines, sign_manifest
from synth.signatures import PrivateKey
from synth.strict_json import write_folded_json

pytestmark = pytest.mark.xdist_group("chromium")


@pytest.fixture
def published(busy_release):
    """A release with every kind of column, an impossible rule and a public total."""
    return busy_release.folder


@pytest.fixture
def folder(published, tmp_path):
    return Path(shutil.copytree(published, tmp_path / "small"))


def checked(browser, folder):
    """What the page of a folder says of it: of every check its state and what it tells."""
    browser.open((folder / "explore.html").as_uri())
    return handed_over(browser, folder)


def handed_over(browser, folder):
    """The same for a page that is open."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    browser.evaluate("byId('files').value = '', verdict.replaceChildren()")
    browser.choose_files("#files", files)
    browser.evaluate(
        "new Promise((done, failed) => { setTimeout(failed, 20000, 'no verdict');"
        " const look = () => (document.querySelector('#verdict p') ? done() : setTimeout(look, 5));"
        " look(); })"
    )
    return browser.evaluate(
        "[...document.querySelectorAll('#checks > li')].map(line => [line.querySelector('b')"
        ".textContent, ...[...line.querySelectorAll('li')].map(each => each.textContent)])"
    )


def findings(results):
    return "\n".join(text for state, *texts in results if state == "fails" for text in texts)


def manifest_of(folder):
    return json.loads((folder / "manifest.json").read_text("utf-8"))


def reseal(folder, manifest=None):
    """New hashes of everything, in the manifest and in SHA256SUMS."""
    if manifest is None and (folder / "manifest.json").exists():
        manifest = manifest_of(folder)
    if manifest is not None:
        for entry in manifest["files"]:
            if (folder / entry["path"]).exists():
                content = (folder / entry["path"]).read_bytes()
                entry |= {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        text = write_folded_json(manifest).decode()
        (folder / "manifest.json").write_text(text, "utf-8")
    hashes = {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in folder.rglob("*")
        if path.is_file() and path.name != "SHA256SUMS"
    }
    (folder / "SHA256SUMS").write_bytes(checksum_lines(hashes))


def test_the_release_as_published_stands(published, browser):
    results = checked(browser, published)
    assert findings(results) == ""
    states = [state for state, *_ in results]
    assert states.count("holds") >= 7
    assert "not checked here" in states  # it is not signed
    assert browser.requests == [(published / "explore.html").as_uri()]
    assert browser.messages == []


ALL_WAYS = {"SHA256SUMS", "manifest.json", "synthetic.csv"}
"""Files that the page reads; the others are compared with their hash, one way each."""


def test_one_changed_byte_a_cut_and_a_removed_file_are_found(folder, browser):
    browser.open((folder / "explore.html").as_uri())
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    for number, path in enumerate(paths):
        name = path.relative_to(folder).as_posix()
        content = path.read_bytes()
        ways = [bytes([content[0] ^ 1]) + content[1:], content[: len(content) // 2], None]
        if name not in ALL_WAYS:
            ways = [ways[number % len(ways)]]
        for changed in ways:
            if changed is None:
                path.unlink()
                assert f"{name}: is missing" in findings(handed_over(browser, folder))
                continue
            path.write_bytes(changed)
            found = findings(handed_over(browser, folder))
            assert f"{name}: " in found or (name == "SHA256SUMS" and "bytes were changed" in found)
        path.write_bytes(content)
    assert findings(handed_over(browser, folder)) == ""


def removed(folder):
    (folder / "registry.yaml").unlink()
    reseal(folder)


def added(folder):
    (folder / "extra.txt").write_text("more")
    reseal(folder)


def listed_twice(folder):
    lines = (folder / "SHA256SUMS").read_text()
    (folder / "SHA256SUMS").write_text(lines + lines)


def listed_but_not_there(folder):
    with (folder / "SHA256SUMS").open("a") as file:
        file.write(f"{'0' * 64}  zzz.txt\n")


def other_measurements(folder):
    (folder / "measurements.parquet").write_bytes(b"PAR1")
    reseal(folder)


def changed_rows(change):
    def tamper(folder):
        path = folder / "synthetic.csv"
        path.write_text(change(path.read_text("utf-8")), "utf-8", newline="")
        reseal(folder)

    return tamper


def one_row_less(text):
    return text[: text.rindex("\n", 0, -1) + 1]


def one_row_twice(text):
    return text + text[text.rindex("\n", 0, -1) + 1 :]


def first_row(old, new):
    def change(text):
        head, line, rest = text.split("\n", 2)
        assert old in line
        return "\n".join([head, line.replace(old, new, 1), rest])

    return change


def renamed_column(text):
    return text.replace("age,", "years,", 1)


def changed_manifest(*path, value):
    def tamper(folder):
        manifest = manifest_of(folder)
        parent = manifest
        for part in path[:-1]:
            parent = parent[part]
        assert parent[path[-1]] != value
        parent[path[-1]] = value
        reseal(folder, manifest)

    return tamper


def budget(text):
    return {"fraction": text, "decimal": "1"}


def changed_table(folder):
    """A noisy count of the cell before the last, which can occur."""
    (path, *_) = sorted((folder / "tables").iterdir())
    [*lines, line, last] = path.read_text("utf-8").splitlines()
    labels, count, error = line.rsplit(",", 2)
    path.write_text("\n".join([*lines, f"{labels},{int(count) + 1},{error}", last, ""]), "utf-8")
    reseal(folder)


def changed_page(folder):
    path = folder / "explore.html"
    path.write_bytes(path.read_bytes().replace(b"UPPER_SHARE = 0.8", b"UPPER_SHARE = 0.1"))
    reseal(folder)


LEDGER = ("accounting", "ledger")
TAMPERINGS = {
    "a file was removed": (removed, "registry.yaml: is missing"),
    "a file was added": (added, "extra.txt: is not in the manifest's list"),
    "a line twice": (listed_twice, "SHA256SUMS: is not as synth writes it"),
    "a line for nothing": (listed_but_not_there, "zzz.txt: is missing"),
    "other measurements": (other_measurements, "not the file that this page was made from"),
    "one row less": (changed_rows(one_row_less), "have another number of rows than this page"),
    "one row twice": (changed_rows(one_row_twice), "have another number of rows than this page"),
    "an undeclared level": (
        changed_rows(lambda text: text.replace('"Nord, ""Süd"""', "Ost", 1)),
        "holds a value that is not declared",
    ),
    "a value above all bins": (
        changed_rows(lambda text: text.replace("\n", "\n999", 1)),
        "line 2 holds a value that is not declared",
    ),
    "an impossible combination": (
        changed_rows(lambda text: "\n".join([*text.split("\n")[:2], "18,,x|y", ""])),
        "is a combination that cannot occur",
    ),
    "a column renamed": (changed_rows(renamed_column), "its columns are not the declared ones"),
    "another release": (
        changed_manifest("identity", "release_id", value="other"),
        "is about another release",
    ),
    "another number of rows": (
        changed_manifest("post_processing", "rows", "number", value=7),
        "states 7 rows",
    ),
    "another label": (
        changed_manifest("domain", "columns", 2, "labels", 0, value="Ost"),
        "its column 3 is not that of this page",
    ),
    "another public total": (
        changed_manifest("domain", "public_totals", 0, "total", value=41),
        "its public totals are not those of this page",
    ),
    "other impossible cells": (
        changed_manifest("domain", "impossible", value=[]),
        "other combinations are impossible",
    ),
    "less noise stated": (
        changed_manifest("accounting", "events", 0, "variance", value=0.5),
        "noisy table 1 is not that of this page",
    ),
    "a smaller epsilon": (
        changed_manifest("accounting", "events", 0, "epsilon", value=budget("1/2")),
        "do not add up to the total",
    ),
    "more spent than the cap": (
        changed_manifest(*LEDGER, "spent_now", "epsilon", value=budget("9/1")),
        "more epsilon was spent than the cap allows",
    ),
    "more left than there is": (
        changed_manifest(*LEDGER, "left", "epsilon", value=budget("9/1")),
        "do not make up the cap",
    ),
    "a larger total": (
        changed_manifest("accounting", "total", "epsilon", value=budget("2/1")),
        "more epsilon was spent than the configuration promises",
    ),
    "a larger delta": (
        changed_manifest("accounting", "total", "delta", value=budget("1/1000")),
        "more delta was spent than the configuration promises",
    ),
    "no promise": (
        changed_manifest("configuration", "privacy", value=None),
        "cannot be read",
    ),
    "a noisy count in words": (changed_table, "is not what this page holds"),
    "a page with another program": (changed_page, "explore.html: holds other programs"),
}


@pytest.mark.parametrize("name", TAMPERINGS)
def test_what_was_tampered_with_and_resealed_is_found(folder, published, browser, name):
    """By a page that was had from elsewhere: one that is tampered with can say anything."""
    tamper, told = TAMPERINGS[name]
    tamper(folder)
    browser.open((published / "explore.html").as_uri())
    assert told in findings(handed_over(browser, folder))


@pytest.fixture
def signed(folder):
    """The same release, signed by a key; returns the folder and what signs a manifest."""
    key = PrivateKey(Ed25519PrivateKey.generate())
    manifest = manifest_of(folder)
    manifest["identity"]["signature_key_id"] = key.public.key_id

    def sign(content, *, by=key):
        (folder / "manifest.sig").write_bytes(sign_manifest(content, by))
        reseal(folder, manifest_of(folder))

    reseal(folder, manifest)
    sign((folder / "manifest.json").read_bytes())
    return folder, key, sign


def test_a_signature_is_checked_and_its_key_is_told(signed, browser):
    folder, key, _ = signed
    results = checked(browser, folder)
    assert findings(results) == ""
    assert key.public.key_id in str(results)


def test_signatures_that_do_not_fit_are_found(signed, browser):
    folder, _, sign = signed
    manifest = (folder / "manifest.json").read_bytes()
    sign(manifest + b" ")
    assert "manifest.sig: does not fit the manifest" in findings(checked(browser, folder))
    sign(manifest, by=PrivateKey(Ed25519PrivateKey.generate()))
    assert "is by another key than the manifest names" in findings(checked(browser, folder))
    stated = json.loads((folder / "manifest.sig").read_text())
    everything = bytes.fromhex("302a300506032b6570032100" + "00" * 32)
    stated["public_key"] = base64.b64encode(everything).decode()
    (folder / "manifest.sig").write_text(json.dumps(stated))
    reseal(folder)
    assert "holds no Ed25519 public key" in findings(checked(browser, folder))
    (folder / "manifest.sig").unlink()
    reseal(folder)
    assert "manifest.sig: is missing" in findings(checked(browser, folder))
