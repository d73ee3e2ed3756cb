"""Policies are read as strictly as configurations, and every problem is reported at once."""

from fractions import Fraction

import jsonschema
import pytest
import yaml
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from synth.errors import ConfigError
from synth.policy import load_policy, policy_schema
from synth.signatures import PrivateKey

LINES = [
    PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([n] * 32))).public.line for n in (1, 2)
]
GOOD = {
    "policy_version": 1,
    "epsilon": "1/3",
    "delta": "1e-9",
    "populations": {"nobody": {"epsilon_cap": 4, "delta_cap": "1e-6", "ledger": "state/l.sqlite"}},
    "units": ["record", "person"],
    "neighbours": ["add-remove"],
    "disposal": ["delete"],
    "approvals": {
        "required": 2,
        "keys": [{"name": f"Holder {n}", "public_key": key} for n, key in enumerate(LINES)],
    },
    "signing": {"required": True, "keys": [{"name": "Press", "public_key": LINES[0]}]},
}
LEAST = {key: GOOD[key] for key in ("policy_version", "epsilon", "units", "neighbours", "disposal")}
LEAST |= {"populations": {"nobody": {"epsilon_cap": 1}}}


@pytest.fixture
def policy(tmp_path):
    def write(content):
        path = tmp_path / "policy.yaml"
        path.write_text(content if isinstance(content, str) else yaml.safe_dump(content))
        return path

    return write


def test_every_key_is_read(policy, tmp_path):
    found = load_policy(policy(GOOD))
    assert (found.epsilon, found.delta) == (Fraction(1, 3), Fraction(1, 10**9))
    caps = found.populations["nobody"]
    assert (caps.epsilon_cap, caps.delta_cap) == (4, Fraction(1, 10**6))
    assert caps.ledger == tmp_path / "state" / "l.sqlite"
    assert found.units == ("record", "person")
    assert found.neighbours == ("add-remove",)
    assert found.disposal == ("delete",)
    assert found.approvals.required == 2
    assert [holder.key.line for holder in found.approvals.holders] == LINES
    assert found.signing.required
    assert found.signing.holders[0].name == "Press"


def test_what_is_left_out_allows_nothing_more(policy):
    found = load_policy(policy(LEAST))
    assert found.delta == 0
    assert found.populations["nobody"].delta_cap == 0
    assert found.approvals is None
    assert found.signing is None


BAD = {
    "unknown key": (GOOD | {"epsilom": 1}, "epsilom", "epsilon"),
    "no epsilon": ({k: v for k, v in GOOD.items() if k != "epsilon"}, "epsilon", "the key"),
    "no units": ({k: v for k, v in GOOD.items() if k != "units"}, "units", "the key"),
    "epsilon zero": (GOOD | {"epsilon": 0}, "epsilon", "above 0"),
    "delta too large": (GOOD | {"delta": 0.5}, "delta", "at most 0.001"),
    "version": (GOOD | {"policy_version": 2}, "policy_version", "1"),
    "no population": (GOOD | {"populations": {}}, "populations", "1 to"),
    "population without a cap": (
        GOOD | {"populations": {"a": {}}},
        "populations.a.epsilon_cap",
        "key",
    ),
    "unit unknown": (GOOD | {"units": ["household"]}, "units[0]", "record"),
    "word twice": (GOOD | {"disposal": ["keep", "keep"]}, "disposal[1]", "once"),
    "no neighbours": (GOOD | {"neighbours": []}, "neighbours", "1 to 2"),
    "key twice": (
        GOOD
        | {
            "approvals": {
                "required": 1,
                "keys": [{"name": n, "public_key": LINES[0]} for n in "ab"],
            }
        },
        "approvals.keys[1].public_key",
        "once",
    ),
    "more approvals than keys": (
        GOOD | {"approvals": GOOD["approvals"] | {"required": 3}},
        "approvals.required",
        "at most 2",
    ),
    "no approval required": (
        GOOD | {"approvals": GOOD["approvals"] | {"required": 0}},
        "approvals.required",
        "1 to 100",
    ),
    "no keys": (GOOD | {"approvals": {"required": 1, "keys": []}}, "approvals.keys", "1 to 100"),
    "no key": (
        GOOD | {"signing": {"required": True, "keys": [{"name": "x", "public_key": "MCow"}]}},
        "signing.keys[0].public_key",
        "MCowBQYDK2VwAyEA",
    ),
    "signing neither true nor false": (GOOD | {"signing": {"required": "yes"}}, "signing", "true"),
    "a list": ("- epsilon\n", "the file", "a map"),
    "nothing": ("", "YAML", ""),
    "key repeated": ("policy_version: 1\nepsilon: 1\nepsilon: 50\n", "epsilon", "once"),
    "alias": ("policy_version: &a 1\nepsilon: *a\n", "YAML", "written out"),
}


@pytest.mark.parametrize("kind", BAD)
def test_a_bad_policy_is_refused_at_its_place(policy, kind):
    content, path, phrase = BAD[kind]
    with pytest.raises(ConfigError) as caught:
        load_policy(policy(content))
    assert caught.value.exit_code == 2
    assert any(
        problem.path.startswith(path) and phrase in f"{problem.expected} {problem.fix}"
        for problem in caught.value.problems
    ), str(caught.value)


def test_a_missing_policy_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="1 problem"):
        load_policy(tmp_path / "absent.yaml")


def test_every_problem_is_reported_at_once(policy):
    content = GOOD | {"epsilon": -1, "units": ["household"], "signing": {}}
    with pytest.raises(ConfigError) as caught:
        load_policy(policy(content))
    assert {problem.path for problem in caught.value.problems} == {
        "epsilon",
        "units[0]",
        "signing.required",
    }


STRUCTURE = [kind for kind in BAD if isinstance(BAD[kind][0], dict)]
RELATIONS = ("word twice", "key twice", "more approvals than keys")


def test_the_schema_accepts_what_is_accepted_and_refuses_what_has_the_wrong_structure():
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    validator = jsonschema.Draft202012Validator(policy_schema())
    for good in (GOOD, LEAST):
        assert validator.is_valid(good)
        assert validator.is_valid(yaml.safe_load(yaml.safe_dump(good)))
    for kind in STRUCTURE:
        if kind not in RELATIONS:
            assert not validator.is_valid(BAD[kind][0]), kind
