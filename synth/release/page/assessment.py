"""The self-assessment: questions that privacy officers ask, answered from the manifest.

The questions are those of NIST SP 800-226, Guidelines for Evaluating Differential Privacy
Guarantees (March 2025), and the three of the Article 29 Working Party, Opinion 05/2014 on
Anonymisation Techniques, each in our words.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from synth.privacy.meaning import (
    group_delta,
    largest_advantage,
    largest_odds_factor,
    posteriors,
    significant_up,
)
from synth.release.manifest.accounting import stated_budget
from synth.release.manifest.figures import Figures
from synth.release.manifest.quality import useful_sentences
from synth.release.page.accuracy import errors_by_order, table_errors
from synth.release.page.group_bias import GroupBias
from synth.release.page.render import page_template

TEMPLATE = "assessment.html.jinja"

RECORDS = "record"
SHOWN_DIGITS = 3


def render_assessment(
    manifest: dict[str, Any], figures: Sequence[Figures], biases: Sequence[GroupBias]
) -> bytes:
    """Render the assessment from the manifest, the figures and the signed errors by group size.

    Privacy: a function of what is published beside it.
    Requires: the manifest has every section; of `files` nothing is read.
    Ensures: the same arguments give the same bytes, so a verifier can render it again; no text
    of the configuration can become markup; nothing is loaded from anywhere, no program is in it.
    """
    guarantee, ledger = manifest["guarantee"], manifest["accounting"]["ledger"]
    budget, cap = stated_budget(guarantee["privacy_parameters"]), stated_budget(ledger["cap"])
    # Another value is one replaced record, or one removed and another added.
    changes = 2 if guarantee["neighbours"] == "add-remove" else 1
    advantage = largest_advantage(budget)
    rows = manifest["post_processing"]["rows"]["number"]
    text = page_template(TEMPLATE).render(
        m=manifest,
        approximate=budget.delta != 0,
        add_remove=guarantee["neighbours"] == "add-remove",
        of_records=guarantee["privacy_unit"] == RECORDS,
        odds=_factor(budget.epsilon),
        advantage=advantage,
        right=(1 + advantage) / 2,
        capped=_factor(cap.epsilon),
        changes=changes,
        value_odds=_factor(changes * budget.epsilon),
        value_delta=group_delta(changes, budget),
        values=posteriors(changes * budget.epsilon),
        orders=errors_by_order(table_errors(figures, rows)),
        useful=useful_sentences(manifest),
        biases=[_shown(each) for each in biases],
        passed=sum(test["passed"] for test in manifest["implementation"]["self_tests"]),
    )
    return text.encode()


def _factor(epsilon: Fraction) -> str:
    """By how much odds change at most, with few digits, rounded up."""
    factor = Decimal(repr(largest_odds_factor(epsilon)))
    return f"{significant_up(factor, SHOWN_DIGITS):,g}"


def _shown(bias: GroupBias) -> dict[str, Any]:
    """One line of the table of signed errors, in words."""
    if bias.least == 0:
        size = "0"
    elif bias.most is None:
        size = f"{bias.least:,} and more"
    else:
        size = f"{bias.least:,} to {bias.most:,}"
    verdict = "not told from 0"
    if bias.is_clear:
        verdict = "too large" if bias.error > 0 else "too small"
    share = None
    if bias.least:
        error, blur = (100 * each / bias.mean_size for each in (bias.error, bias.blur))
        share = f"{_signed(error)} % ± {_few(blur)} %"
    return {
        "size": size,
        "groups": bias.groups,
        "records": f"{_signed(bias.error)} ± {_few(bias.blur)}",
        "share": share,
        "verdict": verdict,
        "is_clear": bias.is_clear,
    }


def _signed(number: float) -> str:
    sign = "−" if number < 0 else "+"
    return sign + _few(abs(number))


def _few(number: float) -> str:
    """A number with about two digits; a hundred and more as a whole one."""
    for decimals, limit in ((2, 1), (1, 100)):
        if number < limit:
            return f"{number:.{decimals}f}"
    return f"{number:,.0f}"
