"""What a policy does not allow of a configuration: everything at once, before anything is opened.

Privacy: a function of the configuration, the policies and the approvals; no data are near.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from synth.config import Config, LedgerConfig
from synth.config.schema.problems import quoted
from synth.domain import format_number
from synth.errors import PolicyError, Problem
from synth.policy.approval import Approval
from synth.policy.policy import Approvals, Policy
from synth.signatures import PublicKey

BUDGET_PATHS = frozenset(
    {"privacy.epsilon", "privacy.delta", "ledger.epsilon_cap", "ledger.delta_cap"}
)
"""Ceilings whose violation is a refused budget."""


def require_allowed(
    config: Config, policies: Sequence[Policy], *, approvals: Sequence[Approval] | None
) -> None:
    """Refuse a configuration that any of the policies does not allow.

    Without `approvals` (None) those that a policy asks for are not looked at: before approving.

    Rounding: none; ceilings are compared as exact fractions.
    Raises: PolicyError with every violation of every policy.
    """
    problems: list[Problem] = []
    for policy in policies:
        problems += _ceilings(config, policy)
        problems += _words(config, policy)
        if policy.approvals is not None and approvals is not None:
            problems += _missing_approvals(config, policy, policy.approvals, approvals)
    _refuse(config, problems)


def require_signed_by(config: Config, policies: Sequence[Policy], key: PublicKey | None) -> None:
    """Refuse to publish unsigned, or with another key, what a policy wants signed.

    Raises: PolicyError.
    """
    problems = []
    for policy in policies:
        signing = policy.signing
        if signing is None:
            continue
        if key is None:
            if signing.required:
                problems.append(
                    Problem(
                        None,
                        "output.signing_key",
                        "nothing",
                        "a key that signs the release",
                        why=_of(policy, "releases must be signed"),
                        fix="name a private key in `output.signing_key` or with --sign-key",
                    )
                )
        elif signing.holders and key not in [holder.key for holder in signing.holders]:
            names = ", ".join(quoted(holder.name) for holder in signing.holders)
            problems.append(
                Problem(
                    None,
                    "output.signing_key",
                    f"the key {key.key_id}",
                    f"the key of: {names}",
                    why=_of(policy, "only these keys may sign"),
                )
            )
    _refuse(config, problems)


def _refuse(config: Config, problems: list[Problem]) -> None:
    if problems:
        over_budget = any(problem.path in BUDGET_PATHS for problem in problems)
        raise PolicyError(config.name, problems, over_budget=over_budget)


def _ceilings(config: Config, policy: Policy) -> Iterator[Problem]:
    yield from _at_most("privacy.epsilon", config.privacy.epsilon, policy.epsilon, policy)
    yield from _at_most("privacy.delta", config.privacy.delta, policy.delta, policy)
    ledger = config.ledger
    caps = None if ledger is None else policy.populations.get(ledger.population)
    if ledger is None or caps is None:
        yield _unknown_population(ledger, policy)
        return
    yield from _at_most("ledger.epsilon_cap", ledger.epsilon_cap, caps.epsilon_cap, policy)
    yield from _at_most("ledger.delta_cap", ledger.delta_cap, caps.delta_cap, policy)
    part = ledger.disjoint_part
    if part is not None and part.name not in caps.disjoint_parts:
        yield Problem(
            None,
            "ledger.disjoint_part",
            quoted(part.name),
            "a part that the policy lists under `disjoint_parts` of this population",
            why=_of(policy, "parts that are counted in parallel multiply what may be spent"),
            fix="leave `disjoint_part` out: then the release is charged to everybody",
        )
    window = None if config.series is None else config.series.window
    if window is not None and (caps.shortest_window is None or window < caps.shortest_window):
        yield Problem(
            None,
            "series.renewal.window",
            str(window),
            "no window" if caps.shortest_window is None else f"at least {caps.shortest_window}",
            why=_of(policy, "a cap for every window alone bounds no person's loss for ever"),
            fix="write another `renewal`, or ask for `shortest_window` in the policy",
        )
    if caps.ledger is not None and caps.ledger != ledger.path:
        yield Problem(
            None,
            "ledger.path",
            str(ledger.path),
            str(caps.ledger),
            why=_of(policy, f"the account of {quoted(ledger.population)} is kept there"),
        )


def _at_most(path: str, asked: Fraction, ceiling: Fraction, policy: Policy) -> Iterator[Problem]:
    if asked > ceiling:
        yield Problem(
            None,
            path,
            format_number(asked),
            f"at most {format_number(ceiling)}",
            why=_of(policy, "no more is allowed"),
        )


def _unknown_population(ledger: LedgerConfig | None, policy: Policy) -> Problem:
    return Problem(
        None,
        "ledger.population",
        "nothing" if ledger is None else ledger.population,
        "one of: " + ", ".join(policy.populations),
        why=_of(policy, "no other population may be charged"),
    )


def _words(config: Config, policy: Policy) -> Iterator[Problem]:
    unit = "record" if config.privacy.unit == "record" else "person"
    found = [
        ("privacy.unit", unit, policy.units),
        ("privacy.neighbours", config.privacy.neighbours, policy.neighbours),
    ]
    if config.source is not None:
        found.append(("source.disposal", config.source.disposal, policy.disposal))
    for path, word, allowed in found:
        if word not in allowed:
            expected = allowed[0] if len(allowed) == 1 else "one of: " + ", ".join(allowed)
            yield Problem(None, path, word, expected, why=_of(policy, "nothing else is allowed"))


def _missing_approvals(
    config: Config, policy: Policy, asked: Approvals, approvals: Sequence[Approval]
) -> Iterator[Problem]:
    """Too few different listed keys have signed just this configuration."""
    valid = [
        holder
        for holder in asked.holders
        if any(approval.is_valid(config, holder.key) for approval in approvals)
    ]
    if len(valid) >= asked.required:
        return
    missing = [holder for holder in asked.holders if holder not in valid]
    tried = [approval for approval in approvals if approval.is_of(config) is not None]
    ids = {approval.key_id for approval in tried}
    outdated = [holder.name for holder in missing if holder.key.key_id in ids]
    unknown = ids - {holder.key.key_id for holder in asked.holders}
    reasons = []
    if outdated:
        reasons.append(
            "not of this configuration as it is now, or changed: the approval of "
            + ", ".join(map(quoted, outdated))
        )
    if unknown:
        reasons.append("not listed: the key " + ", ".join(sorted(unknown)))
    names = f", by {', '.join(quoted(holder.name) for holder in valid)}" if valid else ""
    yield Problem(
        None,
        "approvals",
        f"{len(valid)} valid{names}",
        f"{asked.required} by different holders of listed keys",
        why=_of(policy, "; ".join(reasons)),
        fix="`synth approve CONFIG --key PRIVATE.pem` by: "
        + ", ".join(quoted(holder.name) for holder in missing),
    )


def _of(policy: Policy, reason: str) -> str:
    return f"{policy.name}: {reason}" if reason else f"{policy.name} asks for that"
