"""What was spent: one event per noisy table, their total, and the population's ledger."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth.config import Config
from synth.domain import Universe
from synth.measurements import LedgerPosition, MeasuredLook, MeasuredTable, Measurements
from synth.planning import plan_schedule
from synth.privacy import Budget, Promise, left_of
from synth.privacy.accounting import GAUSSIAN, LAPLACE, PARTITION_SELECTION, PERMUTE_AND_FLIP
from synth.privacy.meaning import exact_budget, exact_number
from synth.release.manifest.guarantee import after_look_event, charged_budget
from synth.release.manifest.schema_terms import (
    attributes,
    basis,
    defined,
    exact,
    listing,
    one_of,
    real,
    record,
    text,
    whole,
)

PARALLEL = (
    "parallel: releases about different parts count once, at the loss of the part on which most "
    "was spent, because nobody belongs to two parts; that nobody does is stated by the curator and "
    "cannot be checked from what is published"
)

DISJOINT_PART = record(
    "The part of the population that the release is about; left out if it may be about everybody.",
    composition=text("How releases about different parts add up."),
    source=text("Why nobody belongs to two parts, and who says so."),
    name=text("The part."),
    parts=listing("All parts of the population.", text("A part.")),
)

FINEST = "codes"
"""The resolution of an attribute that is not coarsened."""

PURE = "sequential: the epsilons of all events add up, in exact fractions"
CONCENTRATED = (
    "sequential: the rho of all Gaussian events add up to one zero-concentrated guarantee, in "
    "exact fractions; it is converted to the delta of the total (Canonne, Kamath, Steinke 2020, "
    "corollary 13), either alone, the epsilons of the other events being added to the outcome, or "
    "together with them, each of the others counting as epsilon^2 / 2; the smaller epsilon is the "
    "total, rounded up"
)

NOT_TUNED = (
    "none by synth: the domain, the tables and the split of the budget follow from the "
    "configuration alone, and nothing was tuned on the raw data"
)
BEFORE_IS_NOT_STATED = "the curator states nothing, and no privacy loss was counted for it"
SELECTED = (
    "tables were chosen by looking at the raw data through the mechanism of `selections`, whose "
    "cost is part of the total; the domain, the candidates and the split of the budget follow "
    "from {known}, and nothing else was tuned on the raw data. Candidates: {rule}"
)


LOOKED = (
    "sequential: a look was taken before the tables were planned, and its epsilon and what was "
    "reserved for whatever it would lead to add up, in exact fractions. That is the total, fixed "
    "before the raw data were opened: the tables that were then planned by the noisy look cost no "
    "more than what was reserved, whatever the look said (adaptive composition: Dwork, Rothblum, "
    "Vadhan 2010; Rogers, Roth, Ullman, Vadhan 2016)"
)
LOOKED_FIRST = (
    "the tables to measure and the split of the budget follow from the configuration and from a "
    "noisy look at the raw data, `look`, whose cost is part of the total; the domain follows from "
    "the configuration alone, and nothing else was tuned on the raw data"
)


RELEASE_ID = r"^[a-z0-9][a-z0-9-]*$"


def build_disjoint_part(declared: dict[str, Any]) -> dict[str, Any]:
    """The section `accounting.ledger.disjoint_part`, as the configuration declares it."""
    return {
        "composition": PARALLEL,
        "source": declared["source"],
        "name": declared["name"],
        "parts": declared["parts"],
    }


def stated_budget(plain: Mapping[str, Any]) -> Budget:
    """A budget as the manifest states it, from its exact fractions."""
    return Budget(Fraction(plain["epsilon"]["fraction"]), Fraction(plain["delta"]["fraction"]))


@dataclass(frozen=True)
class Account:
    """What the ledger said when the release was charged, and nothing published can rebuild."""

    spent_before: Budget
    """On those whom the release is about: on everybody, and on its part if it has one."""
    earlier_releases: tuple[str, ...]
    reservation_hash: str
    added: Budget | None = None
    """What the charge added to the account, in a series, where that may be less than the charge."""

    @staticmethod
    def of(position: LedgerPosition) -> Account:
        """What is published of the position that a reservation found."""
        earlier, anchor = position.earlier_releases, position.reservation_hash
        return Account(position.lost_before, earlier, anchor, position.added)


ACCOUNTING = record(
    "Every use of the privacy budget.",
    composition=text("How the events add up."),
    events=listing(
        "One event for every noisy table; its place, from 0, is `table` in measurements.parquet.",
        record(
            "One noisy table.",
            (
                "threshold",
                "listed_cells",
                "epsilon",
                "delta",
                "rho",
                "noise_scale_records",
                "sigma_squared",
                "summed",
                "charged",
            ),
            table=attributes("The attributes of the table; all others are summed out."),
            resolutions=listing(
                "The resolution of each attribute: `codes`, or the name of a coarser level.",
                text("A resolution."),
            ),
            coarsening=listing(
                "The same as numbers: 0 for the codes, k for the k-th last of the column's "
                "`hierarchy` in `domain`.",
                whole("Steps above the codes."),
            ),
            cells=whole("The number of cells; each got its own noise.", minimum=1),
            threshold=whole(
                "Cells whose noisy count is below it are not listed; left out where all are. Set "
                "by public numbers alone.",
                minimum=1,
            ),
            listed_cells=whole("The number of cells that are listed, where there is a threshold."),
            mechanism=one_of(
                "The mechanism; `partition-selection` is discrete Laplace noise on the cells that "
                "are not empty, and lists no other.",
                LAPLACE,
                GAUSSIAN,
                PARTITION_SELECTION,
            ),
            sensitivity_norm=one_of("How sensitivity is measured.", "L1", "squared L2"),
            sensitivity=whole(
                "The most by which one unit changes the table: in records (L1), or in records "
                "squared (squared L2).",
                minimum=1,
            ),
            epsilon=exact("The privacy loss of the event, where the noise is Laplace."),
            delta=exact(
                "With `partition-selection`: the delta of the event, for cells that one unit fills."
            ),
            rho=exact("The zero-concentrated loss of the event, where the noise is Gaussian."),
            noise_scale_records=exact("Sensitivity divided by epsilon, for Laplace noise."),
            sigma_squared=exact("Sensitivity divided by 2 rho, for Gaussian noise."),
            charged=exact(
                "Where a table is a sum over periods: what it costs for the whole horizon, epsilon "
                "or rho, as the noise is. Then the event states the law of the noise alone."
            ),
            summed=whole(
                "Where a table is the sum of several that were measured: of how many, each with "
                "independent noise as stated.",
                minimum=2,
            ),
            variance=real("The variance of the noise in one cell, in records squared."),
        ),
    ),
    selections=listing(
        "One entry for every choice of a table to measure that looked at the raw data, with noise.",
        record(
            "One choice.",
            mechanism=one_of("The mechanism.", PERMUTE_AND_FLIP),
            candidates=whole("The number of tables that could be chosen.", minimum=1),
            chosen=whole("The place in `events`, from 0, of the table that was chosen."),
            epsilon=exact("The privacy loss of the choice."),
        ),
    ),
    total=defined("budget", "All events and choices together."),
    preprocessing_and_hyperparameter_tuning=text(
        "What was chosen by looking at the raw data before the noise, and what it cost."
    ),
    ledger=record(
        "The account that was charged, as the ledger stood. All its releases are about the same "
        "neighbours, for whom their epsilons and deltas add up.",
        ("added", "disjoint_part"),
        population=text("The population that the account is about."),
        promise=record(
            "What every release of the account promises, and this one too.",
            ("person_column", "max_records"),
            neighbours=one_of("The neighbouring relation.", "add-remove", "replace-one"),
            unit=one_of("The privacy unit.", "record", "person"),
            person_column=text("The column whose values are the persons."),
            max_records=whole(
                "The most records of a person that this release counts; other releases may have "
                "another bound.",
                minimum=1,
            ),
        ),
        cap=defined("budget", "The most that may ever be spent on the population."),
        spent_before=defined(
            "budget",
            "Spent by earlier releases on those whom this one is about: by those about everybody "
            "and, if it is about a part, by those about that part.",
        ),
        spent_now=defined("budget", "Charged for this release."),
        added=defined(
            "budget",
            "Of a series: by how much the charge raised what is spent. Charges of a series come "
            "together by its rule: records that are in one period only lose the largest of them.",
        ),
        left=defined("budget", "What the cap leaves for them after this release."),
        earlier_release_ids=listing(
            "The releases of the population that were charged before, published or not.",
            text("A release's id.", pattern=RELEASE_ID),
        ),
        reservation_hash=text(
            "The hash of this release's reservation in the chain of the ledger; it pins every "
            "event before it. `synth ledger CONFIG --release FOLDER` finds it there.",
            pattern="^[0-9a-f]{64}$",
        ),
        disjoint_part=DISJOINT_PART,
    ),
    basis=basis("public"),
)


LOOK = record(
    "The noisy look by which the tables were planned.",
    first_places=listing(
        "A record is the 1st, 2nd, ... of its cell. Of each class of places, the first; it ends "
        "where the next begins.",
        whole("A place.", minimum=1),
    ),
    pairs=listing(
        "The pairs of columns whose dependence was counted.",
        listing("A pair.", text("A column.")),
    ),
    noisy_counts=listing(
        "Of each class, the records in its places; with pairs, then half of those that a product "
        "of its columns puts into wrong cells of a pair, the mean, rounded down.",
        whole("A noisy count.", minimum=None),
    ),
    mechanism=one_of("The mechanism.", LAPLACE),
    sensitivity=whole(
        "The most by which one unit changes the counts together, in records.", minimum=1
    ),
    epsilon=exact("The privacy loss of the look."),
    noise_scale_records=exact("Sensitivity divided by epsilon."),
    variance=real("The variance of the noise of a count, in records squared."),
    reserved=defined("budget", "What was reserved for the tables that follow."),
    basis=basis("dp"),
)
ACCOUNTING_WITH_LOOK = {
    **ACCOUNTING,
    "properties": {**ACCOUNTING["properties"], "look": LOOK},
    "required": [*ACCOUNTING["required"], "look"],
}
"""The section of a release whose tables were planned by a look."""


def _build_look(config: Config, look: MeasuredLook) -> dict[str, Any]:
    event = look.event
    reserved = after_look_event(config, look)
    return {
        "first_places": list(event.firsts),
        "pairs": [list(pair) for pair in event.pairs],
        "noisy_counts": list(look.noisy_counts),
        "mechanism": event.mechanism,
        "sensitivity": event.sensitivity_l1,
        "epsilon": exact_number(event.epsilon),
        "noise_scale_records": exact_number(event.sensitivity_l1 / event.epsilon),
        "variance": look.variance,
        "reserved": exact_budget(Budget(reserved.epsilon, reserved.delta)),
        "basis": "dp",
    }


def resolution_names(
    universe: Universe, table: tuple[str, ...], coarsening: tuple[int, ...]
) -> list[str]:
    """The name of the resolution of each attribute of a table."""
    return [
        universe.attribute(name).hierarchy[-step].name if step else FINEST
        for name, step in zip(table, coarsening, strict=True)
    ]


def _events(measurements: Measurements, universe: Universe) -> list[dict[str, Any]]:
    """The tables of the release; of sums over periods, what each costs for the whole horizon."""
    listed = [_event(table, universe) for table in measurements.tables]
    if measurements.continual is not None:
        for plain, charged in zip(listed, measurements.continual.charged, strict=True):
            plain["charged"] = exact_number(charged.epsilon or charged.rho or Fraction(0))
    return listed


def _event(measured: MeasuredTable, universe: Universe) -> dict[str, Any]:
    event = measured.event
    plain: dict[str, Any] = {
        "table": list(event.table),
        "resolutions": resolution_names(universe, event.table, event.coarsening),
        "coarsening": list(event.coarsening),
        "cells": event.cells,
        "mechanism": event.mechanism,
    }
    if event.threshold is not None:
        plain |= {"threshold": event.threshold, "listed_cells": len(measured.noisy_counts)}
    if event.rho is not None:
        plain |= {
            "sensitivity_norm": "squared L2",
            "sensitivity": event.sensitivity_l2_squared,
            "rho": exact_number(event.rho),
            "sigma_squared": exact_number(event.sigma_squared),
        }
    elif event.epsilon is not None:
        plain |= {
            "sensitivity_norm": "L1",
            "sensitivity": event.sensitivity_l1,
            "epsilon": exact_number(event.epsilon),
            "noise_scale_records": exact_number(event.noise_scale_records),
        }
    if event.delta is not None:
        plain["delta"] = exact_number(event.delta)
    if event.summed != 1:
        plain["summed"] = event.summed
    return plain | {"variance": measured.variance}


def build_accounting(config: Config, measurements: Measurements, stated: Account) -> dict[str, Any]:
    """The section `accounting`; what came before is `stated` by the ledger."""
    account = config.public["ledger"]
    cap = Budget(Fraction(account["epsilon_cap"]), Fraction(account["delta_cap"]))
    look, total = measurements.look, charged_budget(config, measurements)
    promise = Promise.of(config.privacy)
    left = left_of(
        cap, (stated.spent_before, total if stated.added is None else stated.added), promise
    )
    composition, chosen = CONCENTRATED if total.delta else PURE, NOT_TUNED
    known, noisy_counts = "the configuration alone", None
    if look is not None:
        composition, chosen, noisy_counts = LOOKED, LOOKED_FIRST, look.noisy_counts
        known = "the configuration and a noisy look at the raw data, `look`, which is paid for, too"
    schedule = plan_schedule(config, noisy_counts)
    if schedule is not None and measurements.selections:
        chosen = SELECTED.format(known=known, rule=schedule.rule)
    return {
        "composition": composition,
        "events": _events(measurements, config.universe),
        "selections": [
            {
                "mechanism": selection.mechanism,
                "candidates": selection.candidates,
                "chosen": number,
                "epsilon": exact_number(selection.epsilon),
            }
            for number, selection in enumerate(
                measurements.selections,
                start=len(measurements.tables) - len(measurements.selections),
            )
        ],
        "total": exact_budget(total),
        "preprocessing_and_hyperparameter_tuning": ". ".join(
            [
                chosen,
                f"Before synth: {config.release.preprocessing or BEFORE_IS_NOT_STATED}",
            ]
        ),
        "ledger": {
            "population": account["population"],
            "promise": promise.to_plain(),
            "cap": exact_budget(cap),
            "spent_before": exact_budget(stated.spent_before),
            "spent_now": exact_budget(total),
            **({} if stated.added is None else {"added": exact_budget(stated.added)}),
            "left": exact_budget(left),
            "earlier_release_ids": list(stated.earlier_releases),
            "reservation_hash": stated.reservation_hash,
            **(
                {"disjoint_part": build_disjoint_part(account["disjoint_part"])}
                if "disjoint_part" in account
                else {}
            ),
        },
        "basis": "public",
        **({} if look is None else {"look": _build_look(config, look)}),
    }
