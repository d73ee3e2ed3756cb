"""Authorisation: which policies are in force, and whether they allow what is about to happen."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from synth.config import Config
from synth.errors import ConfigError, PolicyError, Problem, PublishedDifferentlyError
from synth.policy import (
    Approval,
    Policy,
    approval_file,
    load_policy,
    read_approvals,
    require_allowed,
    require_signed_by,
    write_approvals,
)
from synth.policy import approve as signed_approval
from synth.release import published_signer
from synth.signatures import PrivateKey, read_private_key

POLICY_VARIABLE = "SYNTH_POLICY"


def policies_in_force(policy: Path | None) -> tuple[Policy, ...]:
    """The policy that the environment names and the one given: both must hold.

    Raises: ConfigError if one cannot be read, or the variable is there and empty.
    """
    paths = [] if policy is None else [policy]
    named = os.environ.get(POLICY_VARIABLE)
    if named is not None:
        paths.append(Path(named))
    if not paths:
        return ()
    if named is not None and not named.strip():
        problem = Problem(
            None,
            "the environment",
            "an empty variable",
            "the path of a policy",
            why="a job that loses its policy by accident should stop",
            fix=f"name the file, or unset {POLICY_VARIABLE} if no policy is meant",
        )
        raise ConfigError(POLICY_VARIABLE, [problem])
    return tuple(load_policy(path) for path in dict.fromkeys(paths))


def require_authorised(config: Config, *, policy: Path | None) -> None:
    """Refuse what a policy in force does not allow, or too few people have approved.

    A rehearsal needs nobody's leave: it opens no source and publishes nothing.
    Privacy: before the ledger and the source are opened; a function of public files.
    Raises: PolicyError with every violation; ConfigError if a policy or the file of approvals
    cannot be read.
    """
    policies = () if config.is_rehearsal else policies_in_force(policy)
    if not policies:
        return
    approvals: tuple[Approval, ...] = ()
    if any(each.approvals is not None for each in policies):
        approvals = read_approvals(approval_file(config))
    require_allowed(config, policies, approvals=approvals)


def counted_approvals(config: Config, *, policy: Path | None) -> tuple[int, int] | None:
    """How many approvals of a configuration count, and how many are asked for.

    None where no policy in force asks for any; of several policies that which lacks most.
    Raises: ConfigError if a policy or the file of approvals cannot be read.
    """
    asked = [each.approvals for each in policies_in_force(policy) if each.approvals is not None]
    if not asked:
        return None
    given = read_approvals(approval_file(config))
    counted = []
    for each in asked:
        keys = [holder.key for holder in each.holders]
        valid = [key for key in keys if any(one.is_valid(config, key) for one in given)]
        counted.append((len(valid), each.required))
    return min(counted, key=lambda pair: pair[0] - pair[1])


def signing_key(config: Config, *, policy: Path | None, sign_key: Path | None) -> PrivateKey | None:
    """The key that signs the release: the one given, else the configured one, else none.

    Ensures: no rehearsal is signed.
    Raises: KeyFileError if it cannot be used; PolicyError if a policy asks for another, or for
    one where there is none.
    """
    if config.is_rehearsal:
        return None
    policies = policies_in_force(policy)
    path = sign_key or config.output.signing_key
    if path is None and not policies:
        return None
    key = None if path is None else read_private_key(path)
    require_signed_by(config, policies, None if key is None else key.public)
    return key


def require_signed_as_asked(folder: Path, config: Config, *, policy: Path | None) -> None:
    """Refuse to call a release published if it lacks a signature that a policy asks for.

    Raises: PublishedDifferentlyError.
    """
    policies = policies_in_force(policy)
    if not policies:
        return
    try:
        require_signed_by(config, policies, published_signer(folder))
    except PolicyError:
        raise PublishedDifferentlyError(
            f"{folder.name} is already published, without the signature that the policy asks for",
            why="a release is never changed once it is published",
            fix="move the folder away and start the same command again: the same release is "
            "written from the same measurements, nothing is charged, and it is signed",
        ) from None


@dataclass(frozen=True)
class ApprovalState:
    """Who has approved a configuration, of those whom a policy lists."""

    policy: str
    required: int
    series: tuple[str, ...]
    """The holders who approved the whole series."""
    release: tuple[str, ...]
    """Those who approved the release of this period alone."""

    @property
    def is_enough(self) -> bool:
        """Whether the policy asks for no further approval."""
        return len({*self.series, *self.release}) >= self.required

    def in_words(self) -> str:
        """The state in a line."""
        alone = [name for name in self.release if name not in self.series]
        of_series = [f"the series by {name}" for name in self.series]
        approved = ", ".join([*of_series, *(f"this release by {name}" for name in alone)])
        return f"{len(self.series) + len(alone)} of {self.required}" + (
            f": {approved}" if approved else ""
        )


def approval_states(config: Config, *, policy: Path | None = None) -> tuple[ApprovalState, ...]:
    """The approvals of a configuration, for each policy in force that asks for any.

    Raises: ConfigError if a policy or the file of approvals cannot be read.
    """
    asking = [each for each in policies_in_force(policy) if each.approvals is not None]
    known = read_approvals(approval_file(config)) if asking else ()
    states = []
    for each in asking:
        holders = () if each.approvals is None else each.approvals.holders
        required = 0 if each.approvals is None else each.approvals.required
        valid = [
            (approval.is_of(config), holder.name)
            for holder in holders
            for approval in known
            if approval.is_valid(config, holder.key)
        ]
        series, release = (
            tuple(dict.fromkeys(name for of, name in valid if of == kind))
            for kind in ("series", "release")
        )
        states.append(ApprovalState(each.name, required, series, release))
    return tuple(states)


def approve(
    config: Config, key: PrivateKey, *, policy: Path | None, whole_series: bool = False
) -> tuple[Path, tuple[str, ...]]:
    """Sign the configuration, or its whole series, and put the approval into the file beside it.

    An earlier approval of the same release by the same key is replaced; others stay.
    Ensures: nothing that a policy in force does not allow is approved.
    Raises: PolicyError, ConfigError; OutputError if the file cannot be written.
    Returns: the file, and the ids of the keys with a valid signature in it.
    """
    require_allowed(config, policies_in_force(policy), approvals=None)
    path = approval_file(config)
    new = signed_approval(config, key, whole_series=whole_series)
    place = (new.release_id, new.key_id)
    kept = [each for each in read_approvals(path) if (each.release_id, each.key_id) != place]
    write_approvals(path, [*kept, new])
    current = (new.release_id, new.configuration_hash)
    same = [each for each in [*kept, new] if (each.release_id, each.configuration_hash) == current]
    return path, tuple(each.key_id for each in same)
