"""What a policy refuses: each ceiling at its edge, all at once, and with the right exit code."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import given
from hypothesis import strategies as st

from synth.config import load_config
from synth.errors import PolicyError
from synth.policy import Policy, approve, require_allowed, require_signed_by
from synth.policy.policy import Approvals, KeyHolder, PopulationCaps, Signing
from synth.signatures import PrivateKey

KEYS = [PrivateKey(Ed25519PrivateKey.from_private_bytes(bytes([n] * 32))) for n in range(1, 5)]
HOLDERS = tuple(KeyHolder(f"holder {n}", key.public) for n, key in enumerate(KEYS))


def policy(**changes) -> Policy:
    generous = Policy(
        name="policy.yaml",
        epsilon=Fraction(1),
        delta=Fraction(0),
        populations={"nobody": PopulationCaps(Fraction(2), Fraction(0), None)},
        units=("record", "person"),
        neighbours=("add-remove", "replace-one"),
        disposal=("keep", "delete"),
        approvals=None,
        signing=None,
    )
    return replace(generous, **changes)


def refused(config, *policies, approvals=()):
    with pytest.raises(PolicyError) as caught:
        require_allowed(config, policies, approvals=approvals)
    return caught.value


def caps(epsilon, delta=Fraction(0), ledger=None):
    return {"nobody": PopulationCaps(Fraction(epsilon), delta, ledger)}


def test_parts_that_are_counted_in_parallel_must_be_named_by_the_policy(project):
    part = {"name": "north", "parts": ["north", "south"], "source": "the register of residents"}
    changes = {"unit": {"column": "person", "max_records": 1}}
    config = load_config(project(ledger={"disjoint_part": part}, privacy=changes))
    error = refused(config, policy())
    assert error.exit_code == 2
    assert "ledger.disjoint_part" in str(error)
    named = replace(caps(2)["nobody"], disjoint_parts=("north",))
    require_allowed(config, [policy(populations={"nobody": named})], approvals=())


def test_a_configuration_at_every_ceiling_is_allowed(project):
    require_allowed(load_config(project()), [policy()], approvals=())


@pytest.mark.parametrize(
    ("changes", "path", "exit_code"),
    [
        ({"epsilon": 1 - Fraction(1, 10**30)}, "privacy.epsilon", 4),
        ({"populations": caps("1.999")}, "ledger.epsilon_cap", 4),
        ({"populations": {"somebody": caps(2)["nobody"]}}, "ledger.population", 2),
        ({"populations": caps(2, ledger=Path("/other.sqlite"))}, "ledger.path", 2),
        ({"units": ("person",)}, "privacy.unit", 2),
        ({"neighbours": ("replace-one",)}, "privacy.neighbours", 2),
        ({"disposal": ("delete",)}, "source.disposal", 2),
    ],
)
def test_each_ceiling_is_one_problem(project, changes, path, exit_code):
    error = refused(load_config(project()), policy(**changes))
    assert [problem.path for problem in error.problems] == [path]
    assert error.exit_code == exit_code
    assert "policy.yaml" in str(error)


def test_delta_has_ceilings_of_its_own(project):
    config = load_config(project(privacy={"delta": "1e-9"}, ledger={"delta_cap": "1e-6"}))
    error = refused(config, policy())
    assert [problem.path for problem in error.problems] == ["privacy.delta", "ledger.delta_cap"]
    assert error.exit_code == 4
    delta, cap = Fraction(1, 10**9), Fraction(1, 10**6)
    require_allowed(config, [policy(delta=delta, populations=caps(2, cap))], approvals=())


def test_a_person_unit_is_a_person(project):
    config = load_config(project(privacy={"unit": {"column": "id", "max_records": 3}}))
    assert refused(config, policy(units=("record",))).problems[0].path == "privacy.unit"
    require_allowed(config, [policy(units=("person",))], approvals=())


def test_the_one_ledger_is_known_through_links(project, tmp_path):
    (tmp_path / "state").mkdir()
    (tmp_path / "linked").symlink_to(tmp_path / "state")
    config = load_config(project(ledger={"path": "linked/ledger.sqlite"}))
    at = tmp_path / "state" / "ledger.sqlite"
    require_allowed(config, [policy(populations=caps(2, ledger=at.resolve()))], approvals=())


def test_everything_is_reported_at_once_and_a_budget_decides_the_exit_code(project):
    strict = policy(epsilon=Fraction(1, 2), units=("person",), disposal=("delete",))
    error = refused(load_config(project()), strict)
    paths = [problem.path for problem in error.problems]
    assert paths == ["privacy.epsilon", "privacy.unit", "source.disposal"]
    assert error.exit_code == 4


def test_of_two_policies_both_must_hold(project):
    config = load_config(project())
    first, second = (
        policy(name="first", units=("person",)),
        policy(name="second", epsilon=Fraction(1, 2)),
    )
    assert refused(config, first, policy()).exit_code == 2
    assert refused(config, policy(), second).exit_code == 4
    error = refused(config, first, second)
    assert "first" in str(error)
    assert "second" in str(error)


@pytest.fixture(scope="module")
def config_of_small():
    return load_config(Path(__file__).parents[2] / "configs" / "good" / "small.yaml")


@given(
    st.sets(st.integers(0, 3), min_size=1),
    st.lists(st.integers(0, 3), max_size=6),
    st.integers(1, 4),
)
def test_as_many_different_listed_keys_as_required(config_of_small, listed, signed, required):
    """The slow definition: the size of the set of listed keys that signed."""
    holders = tuple(HOLDERS[n] for n in sorted(listed))
    people = {"people": PopulationCaps(Fraction(2), Fraction(0), None)}
    asked = policy(populations=people, approvals=Approvals(required, holders))
    approvals = [approve(config_of_small, KEYS[n]) for n in signed]
    if len(set(signed) & listed) >= required:
        require_allowed(config_of_small, [asked], approvals=approvals)
    else:
        error = refused(config_of_small, asked, approvals=approvals)
        assert [problem.path for problem in error.problems] == ["approvals"]
        assert error.exit_code == 2


def test_before_approving_the_ceilings_hold_and_approvals_are_not_looked_at(project):
    config = load_config(project())
    asked = Approvals(1, HOLDERS)
    require_allowed(config, [policy(approvals=asked)], approvals=None)
    strict = policy(approvals=asked, epsilon=Fraction(1, 2))
    with pytest.raises(PolicyError):
        require_allowed(config, [strict], approvals=None)


class TestSigning:
    def test_required_and_absent_is_refused(self, project):
        config = load_config(project())
        with pytest.raises(PolicyError, match="1 problem") as caught:
            require_signed_by(config, [policy(signing=Signing(True, ()))], None)
        assert caught.value.exit_code == 2

    def test_any_key_will_do_where_none_is_named(self, project):
        config = load_config(project())
        require_signed_by(config, [policy(signing=Signing(True, ()))], KEYS[3].public)

    def test_another_key_is_refused_even_where_signing_is_voluntary(self, project):
        config = load_config(project())
        for required in (True, False):
            asked = policy(signing=Signing(required, HOLDERS[:2]))
            require_signed_by(config, [asked], KEYS[1].public)
            with pytest.raises(PolicyError) as caught:
                require_signed_by(config, [asked], KEYS[2].public)
            assert "holder 0" in str(caught.value)

    def test_without_a_key_what_is_voluntary_is_allowed(self, project):
        config = load_config(project())
        require_signed_by(config, [policy(signing=Signing(False, HOLDERS)), policy()], None)


@pytest.mark.parametrize(("shortest", "window", "allowed"), [(None, 2, 0), (3, 2, 0), (2, 2, 1)])
def test_a_cap_for_windows_alone_is_allowed_by_name(project, shortest, window, allowed):
    series = {"every": "month", "first": "2026-01", "rows": "all", "horizon": 5}
    config = load_config(
        project(release={"id": "s-{period}"}, series={**series, "renewal": {"window": window}}),
        period="2026-01",
    )
    named = {"nobody": replace(caps(2)["nobody"], shortest_window=shortest)}
    if allowed:
        require_allowed(config, [policy(populations=named)], approvals=())
    else:
        error = refused(config, policy(populations=named))
        assert [problem.path for problem in error.problems] == ["series.renewal.window"]
