"""The audit of a configuration: what its noise gives away of made-up units."""

from __future__ import annotations

import os

from synth.audit.canaries import RULES, Canaries, Randomness
from synth.audit.composition import audit_composition
from synth.audit.lists import audit_list
from synth.audit.report import AuditReport, Finding
from synth.audit.tables import Streams, audit_tables, planned_tables
from synth.config.types import Config
from synth.noise import NoiseStream
from synth.plan import plan_events, plan_schedule
from synth.privacy import TableEvent

CONFIDENCE = 0.999
"""All lower bounds of a report hold together with at least this probability."""


def audit(
    config: Config,
    *,
    confidence: float = CONFIDENCE,
    streams: Streams = NoiseStream.from_operating_system,
    randomness: Randomness = os.urandom,
) -> AuditReport:
    """Lower bounds of the privacy loss of the planned tables, from made-up neighbours.

    Units that are there or not by secret coins are measured by the code and the noise of a real
    run; the coins are guessed from the noisy counts, and the number of right guesses gives a lower
    bound (Steinke, Nasr, Jagielski 2023; Clopper, Pearson 1934). A bound above the claim shows a
    fault; one below it proves nothing.

    Privacy: opens no data and spends nothing.
    Ensures: if the noise is what is claimed, some bound is above its claim with probability at
    most 1 - `confidence`.
    Raises: ConfigError for noise that cannot be drawn.
    """
    events, choices = audited_events(config)
    canaries = Canaries.of(config.privacy)
    tables = planned_tables(events)
    lists = [(number, event) for number, event in enumerate(events) if event.threshold is not None]
    bounds = len(RULES) * len(tables) + 2 * len(lists) + bool(tables)
    miss = (1 - confidence) / bounds
    findings: list[Finding] = audit_tables(
        tables, canaries, miss=miss, streams=streams, randomness=randomness
    )
    for number, event in lists:
        findings += audit_list(
            number,
            event,
            config.universe,
            canaries,
            miss=miss,
            streams=streams,
            randomness=randomness,
        )
    if tables:
        findings.append(
            audit_composition(
                tables,
                canaries,
                epsilon=float(config.privacy.epsilon),
                delta=float(config.privacy.delta),
                miss=miss,
                streams=streams,
                randomness=randomness,
            )
        )
    return AuditReport(config.release.id, confidence, tuple(findings), choices)


def audited_events(config: Config) -> tuple[tuple[TableEvent, ...], int]:
    """All tables that a run measures, in its order, and the number of private choices.

    A table that is chosen in the run stands for any: it is audited over the first candidate.
    """
    schedule = plan_schedule(config)
    if schedule is None:
        return plan_events(config), 0
    chosen = [each.event(schedule.candidates[0]) for each in schedule.rounds]
    return (*schedule.first, *chosen), len(schedule.rounds)
