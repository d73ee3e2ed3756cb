"""The audit: what an attacker learns from the configured noise, measured on made-up tables."""

from synth.audit.audit import CONFIDENCE, audit
from synth.audit.report import AuditReport, Finding, render

__all__ = ["CONFIDENCE", "AuditReport", "Finding", "audit", "render"]
