"""The audit: made-up neighbours, counted and measured as in a run, and what an attacker learns."""

from synth.audit.audit import CONFIDENCE, audit
from synth.audit.findings import AuditReport, Finding, render

__all__ = ["CONFIDENCE", "AuditReport", "Finding", "audit", "render"]
