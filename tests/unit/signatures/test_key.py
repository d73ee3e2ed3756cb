"""Ed25519 keys: known vectors, separation of purposes, and a private half that stays hidden."""

import base64
import copy
import hashlib
import pickle
import subprocess

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth.signatures import FIELD, SMALL_ORDER, PrivateKey, PublicKey, Purpose, write_key_pair

SECRET = bytes.fromhex("9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60")
PUBLIC = bytes.fromhex("d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a")
"""Test 1 of RFC 8032, section 7.1."""


def key() -> PrivateKey:
    return PrivateKey(Ed25519PrivateKey.from_private_bytes(SECRET))


def test_the_public_half_is_that_of_the_standard():
    assert key().public.raw == PUBLIC


def test_the_signed_message_is_the_purpose_a_line_end_and_the_content():
    content = b'{"a": 1}\n'
    signature = key().sign(content, purpose=Purpose.MANIFEST)
    plain = Ed25519PrivateKey.from_private_bytes(SECRET)
    assert signature == plain.sign(b"synth manifest 1\n" + content)
    assert signature == key().sign(content, purpose=Purpose.MANIFEST), "not deterministic"


@pytest.mark.parametrize("signed_for", Purpose)
@pytest.mark.parametrize("asked_for", Purpose)
def test_a_signature_for_one_purpose_is_none_for_another(signed_for, asked_for):
    signature = key().sign(b"content", purpose=signed_for)
    fits = key().public.has_signed(b"content", signature, purpose=asked_for)
    assert fits is (signed_for is asked_for)


def test_no_first_line_of_a_purpose_begins_another():
    for one in Purpose:
        for other in Purpose:
            assert one is other or not other.message(b"").startswith(one.message(b""))


def test_every_changed_bit_voids_a_signature():
    signature = key().sign(b"content", purpose=Purpose.APPROVAL)
    for bit in range(8 * len(signature)):
        changed = bytearray(signature)
        changed[bit // 8] ^= 1 << bit % 8
        assert not key().public.has_signed(b"content", bytes(changed), purpose=Purpose.APPROVAL)
    for other in (b"", b"contenT", b"content "):
        assert not key().public.has_signed(other, signature, purpose=Purpose.APPROVAL)
    for wrong_size in (b"", signature[:-1], signature + b"\0"):
        assert not key().public.has_signed(b"content", wrong_size, purpose=Purpose.APPROVAL)


def test_a_key_is_read_back_from_its_line_and_named_by_the_hash_of_its_der_form():
    public = key().public
    assert PublicKey.from_line(public.line) == public
    der = base64.b64decode(public.line)
    assert public.key_id == hashlib.sha256(der).hexdigest()[:32]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Schlüssel",
        "not base64!",
        base64.b64encode(PUBLIC).decode(),
        key().public.line + "\n",
        key().public.line.rstrip("="),
        key().public.line[:-4],
        base64.b64encode(key().public.der + b"x").decode(),
        base64.b64encode(b"0*0\x05\x06\x03+ep\x03!\x01" + PUBLIC).decode(),
    ],
)
def test_any_other_line_is_no_key(text):
    with pytest.raises(ValueError):
        PublicKey.from_line(text)


def test_a_private_key_shows_and_gives_away_nothing():
    secret = key()
    for shown in (repr(secret), str(secret), f"{secret}"):
        assert SECRET.hex() not in shown
        assert "withheld" in shown
    for take in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError):
            take(secret)
    assert not hasattr(secret, "__dict__")


def test_openssl_reads_the_public_key_and_checks_a_signature(tmp_path):
    public_path, public = write_key_pair(tmp_path / "key.pem")
    from synth.signatures import read_private_key

    content = b"what is signed"
    signature = read_private_key(tmp_path / "key.pem").sign(content, purpose=Purpose.MANIFEST)
    (tmp_path / "signature").write_bytes(signature)
    (tmp_path / "message").write_bytes(b"synth manifest 1\n" + content)
    shown = subprocess.run(
        ["openssl", "pkey", "-pubin", "-in", public_path, "-outform", "DER"],
        capture_output=True,
        check=True,
    ).stdout
    assert shown == public.der
    command = ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", public_path, "-rawin"]
    command += ["-in", tmp_path / "message", "-sigfile", tmp_path / "signature"]
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("y", sorted(SMALL_ORDER))
@pytest.mark.parametrize("sign", [0, 1])
@pytest.mark.parametrize("spelling", [0, FIELD])
def test_a_key_whose_one_signature_fits_every_message_is_no_key(y, sign, spelling):
    if y + spelling >= 2**255:
        pytest.skip("has no second spelling")
    raw = (y + spelling + (sign << 255)).to_bytes(32, "little")
    key = PublicKey(raw)
    assert key.is_weak
    with pytest.raises(ValueError, match="no Ed25519"):
        PublicKey.from_line(key.line)
    assert not key.has_signed(b"anything", raw + bytes(32), purpose=Purpose.APPROVAL)
    doubled = (y * y + _x_squared(y)) * pow(1 - EDWARDS_D * _x_squared(y) * y * y, -1, FIELD)
    assert y in (0, 1, FIELD - 1) or doubled % FIELD == 0  # then the point has order 8


EDWARDS_D = -121665 * pow(121666, -1, FIELD)


def _x_squared(y):
    return (y * y - 1) * pow(EDWARDS_D * y * y + 1, -1, FIELD) % FIELD
