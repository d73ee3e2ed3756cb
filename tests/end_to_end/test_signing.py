"""Signed releases through the command line: made, checked, tampered with, stripped, replayed."""

import base64
import json
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

from synth.errors import VerificationError
from synth.job.pipeline import verify
from synth.strict_json import write_folded_json
from tests.end_to_end.test_policy_and_approval import POLICY, keys_in, synth, written
from tests.release_folder import contents_of, files_of, seal

FILES = ("SHA256SUMS", "manifest.json", "manifest.sig", "synthetic.csv")


@pytest.fixture(scope="module")
def signed(tmp_path_factory) -> Path:
    """A place with keys, a configuration that names one, and the signed release."""
    from tests.conftest import PEOPLE, SMALL, merged

    place = tmp_path_factory.mktemp("signed")
    keys_in(place, "press", "other")
    (place / "people.csv").write_text(PEOPLE)
    content = merged(SMALL, {"output": {"signing_key": "press.pem"}})
    (place / "small.yaml").write_text(yaml.safe_dump(content, allow_unicode=True))
    finished = synth("run", place / "small.yaml")
    assert finished.returncode == 0, finished.stderr
    return place


@pytest.fixture
def release(signed, tmp_path) -> Path:
    """A copy of the release to tamper with."""
    return Path(shutil.copytree(signed / "outputs" / "small", tmp_path / "small"))


def refused(folder, *keys) -> str:
    """What `synth verify` says, with these files of trusted keys, and ends with 5."""
    with pytest.raises(VerificationError) as found:
        verify(folder, keys=keys)
    return str(found.value)


def test_the_trusted_key_is_demanded_and_found(signed):
    folder = signed / "outputs" / "small"
    trusted = synth("verify", folder, "--key", signed / "press.pub.pem")
    assert trusted.returncode == 0, trusted.stderr
    assert "manifest.json is signed by the trusted key" in trusted.stdout
    either = ["--key", signed / "other.pub.pem", "--key", signed / "press.pub.pem"]
    assert synth("verify", folder, *either).returncode == 0
    other = synth("verify", folder, "--key", signed / "other.pub.pem")
    assert other.returncode == 5
    assert "was asked for" in other.stderr


def test_without_a_key_it_is_said_that_nobody_was_trusted(signed):
    finished = synth("verify", signed / "outputs" / "small")
    assert finished.returncode == 0
    key_id = json.loads((signed / "outputs/small/manifest.sig").read_text())["key_id"]
    assert f"signed by the key {key_id}, which was not compared with a trusted" in finished.stdout
    assert "by the trusted key" not in finished.stdout
    plain = json.loads(synth("verify", signed / "outputs" / "small", "--json").stdout)
    assert plain["signature"] == {"state": "not compared", "key_id": key_id}
    trusted = ["--json", "--key", signed / "press.pub.pem"]
    plain = json.loads(synth("verify", signed / "outputs" / "small", *trusted).stdout)
    assert plain["signature"] == {"state": "trusted", "key_id": key_id}


def test_nothing_of_the_key_or_its_path_is_published_or_logged(signed):
    secret = (signed / "press.pem").read_text().splitlines()[1]
    raw = base64.b64decode(secret)[-32:]
    for path in files_of(signed / "outputs" / "small").values():
        content = path.read_bytes()
        for part in (secret.encode(), raw, raw.hex().encode(), b"press", b"signing_key"):
            assert part not in content or path.name == "manifest.schema.json", (path.name, part)
    schema = (signed / "outputs/small/manifest.schema.json").read_text()
    assert "signing_key" not in schema


def test_the_hash_of_the_configuration_does_not_know_the_key(signed, project):
    from synth.config import load_config

    assert load_config(signed / "small.yaml").hash == load_config(project()).hash


def test_the_checksums_cover_the_signature_too(signed):
    command = ["sha256sum", "--check", "--strict", "SHA256SUMS"]
    folder = signed / "outputs" / "small"
    checked = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert checked.returncode == 0
    assert "manifest.sig: OK" in checked.stdout


def test_openssl_can_check_it_without_synth(signed, tmp_path):
    folder = signed / "outputs" / "small"
    signature = json.loads((folder / "manifest.sig").read_text())["signature"]
    (tmp_path / "signature").write_bytes(base64.b64decode(signature))
    message = b"synth manifest 1\n" + (folder / "manifest.json").read_bytes()
    (tmp_path / "message").write_bytes(message)
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", signed / "press.pub.pem"]
    command += ["-rawin", "-in", tmp_path / "message", "-sigfile", tmp_path / "signature"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("name", FILES)
def test_one_changed_byte_is_found_with_and_without_new_checksums(signed, release, name):
    path = release / name
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    assert name in refused(release, signed / "press.pub.pem") or name == "SHA256SUMS"
    if name != "SHA256SUMS":
        seal(release)
        assert refused(release, signed / "press.pub.pem")


def test_an_attested_field_that_nothing_can_rebuild_is_protected_by_the_signature(signed, release):
    """With new checksums it passes in an unsigned release; never in a signed one."""
    manifest = json.loads((release / "manifest.json").read_text())
    manifest["implementation"]["self_tests"][0]["name"] = "a test that never ran"
    text = write_folded_json(manifest).decode()
    (release / "manifest.json").write_text(text)
    seal(release)
    for keys in ([], [signed / "press.pub.pem"]):
        found = refused(release, *keys)
        assert "manifest.sig: is no signature of manifest.json as it is now" in found
    del manifest["identity"]["signature_key_id"]
    make_unsigned(release, manifest)
    assert synth("verify", release).returncode == 0
    assert "manifest.sig: is missing" in refused(release, signed / "press.pub.pem")


def make_unsigned(release: Path, manifest: dict) -> None:
    """Write the manifest anew, and no signature."""
    text = write_folded_json(manifest).decode()
    (release / "manifest.json").write_text(text)
    (release / "manifest.sig").unlink(missing_ok=True)
    seal(release)


def test_a_stripped_signature_is_missed_because_the_manifest_names_the_key(signed, release):
    key_id = json.loads((release / "manifest.sig").read_text())["key_id"]
    (release / "manifest.sig").unlink()
    assert "manifest.sig: is missing" in refused(release)  # SHA256SUMS still lists it
    seal(release)
    for keys in ([], [signed / "press.pub.pem"]):
        found = refused(release, *keys)
        assert f"manifest.sig: is missing; manifest.json says that the key {key_id}" in found


def test_a_release_made_unsigned_is_said_to_be(signed, release):
    """Whoever rewrites the manifest can take the signature away, and cannot hide that it is."""
    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["identity"]["signature_key_id"]
    make_unsigned(release, manifest)
    finished = synth("verify", release)
    assert finished.returncode == 0, finished.stderr
    assert "unsigned: nothing shows who published it" in finished.stdout
    plain = json.loads(synth("verify", release, "--json").stdout)
    assert plain["signature"] == {"state": "unsigned", "key_id": None}
    assert "is not signed" in refused(release, signed / "press.pub.pem")


@pytest.mark.parametrize("named", [None, "0" * 32])
def test_a_signature_by_a_key_that_the_manifest_does_not_name_is_found(signed, release, named):
    from synth.release.contents import sign_manifest
    from synth.signatures import read_private_key

    manifest = json.loads((release / "manifest.json").read_text())
    del manifest["identity"]["signature_key_id"]
    if named is not None:
        manifest["identity"]["signature_key_id"] = named
    make_unsigned(release, manifest)
    key = read_private_key(signed / "other.pem")
    content = sign_manifest((release / "manifest.json").read_bytes(), key)
    (release / "manifest.sig").write_bytes(content)
    seal(release)
    found = refused(release)
    assert f"manifest.sig: is by the key {key.public.key_id}, and manifest.json names" in found


@pytest.mark.parametrize("forged", ["key", "key_id", "spelling", "link", "more", "text"])
def test_forged_files_of_signatures_are_found(signed, release, forged):
    path = release / "manifest.sig"
    entries = json.loads(path.read_text())
    if forged == "key":  # the signature of one key under the name of another
        entries["public_key"] = (signed / "other.pub.pem").read_text().splitlines()[1]
    elif forged == "key_id":
        entries["key_id"] = "0" * 32
    elif forged == "more":
        entries["comment"] = "trust me"
    content = json.dumps(entries, indent=None if forged == "spelling" else 2) + "\n"
    path.unlink()
    if forged == "link":
        path.symlink_to(signed / "outputs" / "small" / "manifest.sig")
    else:
        path.write_text("[" * 3000 if forged == "text" else content)
    seal(release)
    assert "manifest.sig: " in refused(release)
    if forged == "key":
        assert "manifest.sig: " in refused(release, signed / "press.pub.pem")


def test_an_approval_is_no_signature_of_a_release(signed, release):
    """Another purpose, another first line: what was signed for one never serves the other."""
    from synth.release.contents import ManifestSignature
    from synth.signatures import Purpose, read_private_key

    key = read_private_key(signed / "press.pem")
    manifest = (release / "manifest.json").read_bytes()
    approval = key.sign(manifest, purpose=Purpose.APPROVAL)
    (release / "manifest.sig").write_bytes(ManifestSignature(key.public, approval).content)
    seal(release)
    assert "is no signature of manifest.json" in refused(release)


def test_the_same_again_is_done_and_a_lost_folder_is_written_again_byte_for_byte(signed):
    before = contents_of(signed / "outputs/small")
    assert "nothing spent" in synth("run", signed / "small.yaml").stderr
    shutil.rmtree(signed / "outputs" / "small")
    assert synth("run", signed / "small.yaml").returncode == 0
    after = contents_of(signed / "outputs/small")
    assert after == before


def test_the_flag_goes_before_the_configured_key_and_publish_signs_too(project):
    path = project(output={"signing_key": "absent.pem"})
    place = path.parent
    holders = keys_in(place, "press", "other")
    policy = written(place, POLICY | {"signing": {"required": True, "keys": holders[:1]}})
    assert synth("measure", path, "--policy", policy).returncode == 0
    for key, exit_code, words in (
        (None, 2, "cannot be read"),
        ("other.pem", 2, "the key of: `press`"),
        ("press.pub.pem", 2, "others may use"),
        ("press.pem", 0, ""),
    ):
        options = [] if key is None else ["--sign-key", place / key]
        finished = synth("publish", path, "--policy", policy, *options)
        assert finished.returncode == exit_code, finished.stderr
        assert words in finished.stderr
        assert (place / "outputs" / "small").exists() is (exit_code == 0)
    verified = synth("verify", place / "outputs" / "small", "--key", place / "press.pub.pem")
    assert verified.returncode == 0


def test_a_key_that_cannot_sign_stops_the_run_before_anything_is_charged(project):
    path = project()
    keys_in(path.parent, "press")
    (path.parent / "press.pem").chmod(0o644)
    stopped = synth("run", path, "--sign-key", path.parent / "press.pem")
    assert stopped.returncode == 2
    assert not (path.parent / "state").exists()


def test_an_unsigned_release_does_not_satisfy_a_policy_that_came_later(project):
    path = project()
    place = path.parent
    keys_in(place, "press")
    assert synth("run", path).returncode == 0
    policy = written(place, POLICY | {"signing": {"required": True}})
    command = ("run", path, "--policy", policy, "--sign-key", place / "press.pem")
    stopped = synth(*command)
    assert stopped.returncode == 1
    assert "without the signature" in stopped.stderr
    shutil.move(place / "outputs" / "small", place / "unsigned")
    assert synth(*command).returncode == 0, "as the message advises"
    rows = [(place / f / "synthetic.csv").read_bytes() for f in ("unsigned", "outputs/small")]
    assert rows[0] == rows[1]


def test_a_key_file_that_is_none_is_a_wrong_command_not_a_failed_verification(signed):
    for wrong in ("press.pem", "absent.pub.pem", "people.csv"):
        finished = synth("verify", signed / "outputs" / "small", "--key", signed / wrong)
        assert finished.returncode == 2, finished.stderr
