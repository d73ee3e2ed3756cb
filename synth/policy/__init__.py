"""Policies: what an organisation allows, whoever writes the configuration, and who must agree."""

from synth.policy.approval import (
    Approval,
    approval_file,
    approve,
    in_plain_words,
    read_approvals,
    write_approvals,
)
from synth.policy.policy import Policy, load_policy, policy_schema
from synth.policy.violations import require_allowed, require_signed_by

__all__ = [
    "Approval",
    "Policy",
    "approval_file",
    "approve",
    "in_plain_words",
    "load_policy",
    "policy_schema",
    "read_approvals",
    "require_allowed",
    "require_signed_by",
    "write_approvals",
]
