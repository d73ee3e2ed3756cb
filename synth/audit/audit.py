"""The audit of a configuration: its counting, its noise and its choices, on made-up units."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from synth.audit.canaries import RULES, Canaries, Randomness, Streams, Trials
from synth.audit.choices import audit_choice, distinct_rounds
from synth.audit.counting import MOST_RECORDS, audit_counting
from synth.audit.findings import AuditReport, CountingReport
from synth.audit.lists import audit_list, bounds_of_list
from synth.audit.tables import audit_composition, audit_tables, planned_tables
from synth.audit.whole_run import audit_whole_run
from synth.config import Config
from synth.curator.boundary import LOOK_NUMBER
from synth.noise import NoiseStream
from synth.planning import Look, Schedule, plan_events, plan_look, plan_schedule
from synth.planning.rounds import Round
from synth.privacy import TableEvent
from synth.privacy.accounting import GAUSSIAN

CONFIDENCE = 0.999
"""All lower bounds of a report hold together with at least this probability."""
MOST_CANDIDATE_CELLS = 1 << 16
"""Of the candidates of an adaptive plan whose counting is audited, in all."""


@dataclass(frozen=True)
class AuditedPlan:
    """What is measured, and which parts of it each audit looks at."""

    schedule: Schedule | None
    """None unless tables are chosen in the run."""
    events: tuple[TableEvent, ...]
    """All measured tables, in the order of a run; a chosen one is the first candidate."""
    counted: tuple[TableEvent, ...]
    """The tables whose counting is audited: each once, and candidates."""
    choices: tuple[Round, ...]
    """One of every kind of private choice."""
    look: Look | None = None
    """What comes before the tables; then they are those for the expected number of records."""

    @classmethod
    def of(cls, config: Config) -> AuditedPlan:
        """The plan of a configuration. Raises: ConfigError for noise that cannot be drawn."""
        schedule, look = plan_schedule(config), plan_look(config)
        if schedule is None:
            events = plan_events(config)
            return cls(None, events, events, (), look)
        chosen = [each.event(schedule.candidates[0]) for each in schedule.rounds]
        counted, cells = list(schedule.first), 0
        for candidate in schedule.candidates if schedule.rounds else ():
            cells += candidate.cells
            if cells <= MOST_CANDIDATE_CELLS:
                counted.append(schedule.rounds[0].event(candidate))
        return cls(
            schedule,
            (*schedule.first, *chosen),
            tuple(counted),
            tuple(distinct_rounds(schedule)),
            look,
        )

    @property
    def tables(self) -> list[tuple[int, TableEvent]]:
        """The tables that list every cell, with their numbers, and the look as one of them."""
        look = [] if self.look is None else [(LOOK_NUMBER, self.look.event.as_table)]
        return [*planned_tables(self.events), *look]

    @property
    def lists(self) -> list[tuple[int, TableEvent]]:
        """The tables of which only heavy cells are told, with their numbers."""
        return [(n, event) for n, event in enumerate(self.events) if event.threshold is not None]

    def bounds(self, canaries: Canaries) -> int:
        """How many sampled bounds there are at most: so many parts the allowed error has."""
        tables = len(self.tables)
        lists = sum(bounds_of_list(event, canaries) for _, event in self.lists)
        whole_run, together, reuse = 1, bool(tables), bool(tables)
        return len(RULES) * tables + lists + len(self.choices) + whole_run + together + reuse


def audit(
    config: Config,
    *,
    confidence: float = CONFIDENCE,
    streams: Streams = NoiseStream.from_operating_system,
    randomness: Randomness = os.urandom,
) -> AuditReport:
    """What made-up neighbours show of the planned counting, noise and choices.

    Exact: made-up sources that differ by one unit are counted by the code of a run, and every
    table must change by no more than its noise is made for. Statistical: units that are there or
    not by secret coins are measured by the code and the noise of a real run; the coins are guessed
    from the noisy counts, or from the choices, and the number of right guesses gives a lower bound
    (Steinke, Nasr, Jagielski 2023; Clopper, Pearson 1934). A bound above the claim shows a fault;
    one below it proves nothing.

    Privacy: opens no data but what it made up itself, and spends nothing.
    Ensures: if the noise is what is claimed, some bound is above its claim with probability at
    most 1 - `confidence`: the error is split evenly over all sampled bounds, and whether noise is
    used twice.
    Raises: ConfigError for noise that cannot be drawn; SourceError, SynthError if made-up files
    cannot be written or counted.
    """
    plan = AuditedPlan.of(config)
    canaries = Canaries.of(config.privacy)
    tables = plan.tables
    trials = Trials(canaries, (1 - confidence) / plan.bounds(canaries), streams, randomness)
    counting = audit_counting(config, plan.counted, look=plan.look, randomness=randomness)
    findings, reuse = audit_tables(tables, trials)
    for number, event in plan.lists:
        findings += audit_list(number, event, config.universe, trials)
    if plan.schedule is not None:
        findings += [audit_choice(plan.schedule, each, trials) for each in plan.choices]
    whole_run = audit_whole_run(config, plan.schedule or plan.events, trials, look=plan.look)
    findings += [] if whole_run is None else [whole_run]
    if tables:
        epsilon, delta = float(config.privacy.epsilon), float(config.privacy.delta)
        findings.append(audit_composition(tables, trials, epsilon=epsilon, delta=delta))
    missing = not_covered(plan, counting, whole_run=whole_run is not None)
    return AuditReport(
        config.release.id, confidence, counting, tuple(findings), reuse, tuple(missing)
    )


def not_covered(plan: AuditedPlan, counting: CountingReport, *, whole_run: bool) -> Sequence[str]:
    """What the audit of this plan says nothing of, in sentences."""
    found = ["Records other than those made up here; timing; the ledger; what is published."]
    if counting.in_place_of:
        found.append(f"How {counting.in_place_of} reads its records: files stood in for it.")
    if not counting.is_bounding_reached:
        found.append(
            f"The bound on the records of a person: none of more than {2 * MOST_RECORDS:,} records "
            "is made up."
        )
    if not whole_run:
        found.append("Canaries as records of a source: no table has cells that they could fill.")
    if plan.look is not None:
        found.append(
            "The plans to which other looks would lead: the tables here are those for the expected "
            "number of records."
        )
    if planned_tables(plan.events):
        found.append(
            "Noise used again in another order; of a large table or run all but its first values; "
            "of lists, choices and runs of all tables together."
        )
    if any(event.mechanism == GAUSSIAN for event in plan.events):
        found.append(
            "The delta of Gaussian tables: it follows from rho by a formula that is proved, and "
            "only rho, and epsilon at that delta, are bounded."
        )
    return found
