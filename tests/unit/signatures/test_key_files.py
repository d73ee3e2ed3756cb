"""Files of keys: made for one user, read only while they are."""

import os
import stat

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.asymmetric.ed448 import Ed448PrivateKey

from synth.errors import KeyFileError, OutputError
from synth.signatures import Purpose, read_private_key, read_public_key, write_key_pair


def test_a_pair_is_read_back_and_fits_together(tmp_path):
    path = tmp_path / "officer.pem"
    public_path, public = write_key_pair(path)
    assert public_path == tmp_path / "officer.pub.pem"
    assert read_public_key(public_path) == public
    signature = read_private_key(path).sign(b"x", purpose=Purpose.APPROVAL)
    assert public.has_signed(b"x", signature, purpose=Purpose.APPROVAL)


@pytest.mark.parametrize("umask", [0o000, 0o077, 0o777])
def test_the_private_file_is_for_its_owner_alone_whatever_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        write_key_pair(tmp_path / "key.pem")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "key.pem").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "key.pub.pem").stat().st_mode) == 0o644


@pytest.mark.parametrize("taken", ["key.pem", "key.pub.pem"])
def test_no_key_is_ever_replaced(tmp_path, taken):
    (tmp_path / taken).symlink_to("nowhere")
    with pytest.raises(OutputError, match="already there"):
        write_key_pair(tmp_path / "key.pem")
    assert [path.name for path in tmp_path.iterdir()] == [taken]


def test_two_pairs_differ(tmp_path):
    assert write_key_pair(tmp_path / "a.pem")[1] != write_key_pair(tmp_path / "b.pem")[1]


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o644, 0o666, 0o700, 0o610, 0o601])
def test_a_private_key_that_others_may_use_is_refused(tmp_path, mode):
    path = tmp_path / "key.pem"
    write_key_pair(path)
    path.chmod(mode)
    with pytest.raises(KeyFileError, match="others may use") as caught:
        read_private_key(path)
    assert caught.value.exit_code == 2
    assert "PRIVATE" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_a_private_key_of_its_owner_alone_is_read(tmp_path, mode):
    path = tmp_path / "key.pem"
    _, public = write_key_pair(path)
    path.chmod(mode)
    assert read_private_key(path).public == public


def write(path, content, mode=0o600):
    path.write_bytes(content)
    path.chmod(mode)
    return path


def pem(key, *, public=False):
    if public:
        return key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        )
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def test_other_kinds_of_keys_and_other_files_are_refused_without_showing_them(tmp_path):
    rsa_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    contents = [b"", b"canary", b"-----BEGIN PRIVATE KEY-----\ncanary\n-----END PRIVATE KEY-----\n"]
    contents += [pem(rsa_key), pem(Ed448PrivateKey.generate())]
    for content in contents:
        with pytest.raises(KeyFileError, match="no Ed25519 private key") as caught:
            read_private_key(write(tmp_path / "key.pem", content))
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None
    for content in [b"", b"canary", pem(rsa_key, public=True), pem(rsa_key)]:
        with pytest.raises(KeyFileError, match="no Ed25519 public key") as caught:
            read_public_key(write(tmp_path / "key.pub.pem", content))
        assert "canary" not in str(caught.value)


def test_the_halves_are_not_mixed_up(tmp_path):
    public_path, _ = write_key_pair(tmp_path / "key.pem")
    with pytest.raises(KeyFileError, match="no Ed25519 public key"):
        read_public_key(tmp_path / "key.pem")
    public_path.chmod(0o600)
    with pytest.raises(KeyFileError, match="no Ed25519 private key"):
        read_private_key(public_path)


def test_what_is_no_readable_file_is_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("absent", "pipe", "."):
        for read in (read_private_key, read_public_key):
            with pytest.raises(KeyFileError):
                read(tmp_path / name)


def test_a_passphrase_is_asked_for_or_the_key_is_refused(tmp_path):
    path = tmp_path / "key.pem"
    _, public = write_key_pair(path, passphrase=b"correct horse")
    with pytest.raises(KeyFileError, match="passphrase"):
        read_private_key(path)
    with pytest.raises(KeyFileError, match="the passphrase is wrong"):
        read_private_key(path, passphrase=lambda: b"wrong")
    assert read_private_key(path, passphrase=lambda: b"correct horse").public == public


def test_a_public_key_that_is_not_there_is_to_be_asked_for(tmp_path):
    for path in (tmp_path / "none.pub.pem", tmp_path):
        with pytest.raises(KeyFileError) as caught:
            read_public_key(path)
        assert "that its owner hands out" in caught.value.fix
