"""What relates columns: impossible cells and known totals."""

from __future__ import annotations

from typing import Any

from synth.config.attributes import Declared
from synth.config.labels import refuse_column, refuse_label
from synth.config.problems import Path, Report
from synth.config.scalars import Invalid
from synth.domain import Attribute, Conjunction, PublicTotal


def build_conjunction(
    values: dict[str, Any], declared: Declared, path: Path, report: Report
) -> Conjunction | None:
    """The cells that a map from column to levels describes, in the order of the domain."""
    codes: dict[str, tuple[int, ...]] = {}
    fine = True
    for name, labels in values.items():
        here = (*path, name)
        attribute = declared.get(name)
        if name not in declared:
            refuse_column(name, list(declared), here, report)
            fine = False
        elif (
            attribute is None
            or isinstance(labels, Invalid)
            or any(isinstance(item, Invalid) for item in labels)
        ):
            fine = False
        else:
            found = [attribute.code_of(label) for label in labels]
            for label, code in zip(labels, found, strict=True):
                if code is None:
                    refuse_label(label, attribute, here, report)
                    fine = False
            codes[name] = tuple(sorted({code for code in found if code is not None}))
    if not fine:
        return None
    return Conjunction({name: codes[name] for name in declared if name in codes})


def plain_conjunction(
    conjunction: Conjunction, attributes: tuple[Attribute, ...]
) -> dict[str, list[str]]:
    """The conjunction as a map from column to labels, in its normal form."""
    by_name = {attribute.name: attribute for attribute in attributes}
    return {
        name: [by_name[name].label(code) for code in codes]
        for name, codes in conjunction.codes.items()
    }


def build_impossible(
    items: list[Any], declared: Declared, report: Report
) -> tuple[Conjunction, ...]:
    """The rules without a problem."""
    rules = [
        build_conjunction(item, declared, ("impossible", index), report)
        for index, item in enumerate(items)
        if not isinstance(item, Invalid)
    ]
    return tuple(rule for rule in rules if rule is not None)


def build_totals(items: list[Any], declared: Declared, report: Report) -> tuple[PublicTotal, ...]:
    """The totals without a problem."""
    totals = []
    for index, item in enumerate(items):
        if isinstance(item, Invalid) or isinstance(item["where"], Invalid):
            continue
        path: Path = ("public_totals", index, "where")
        where = build_conjunction(item["where"], declared, path, report)
        total, source = item["total"], item["source"]
        if where is None or isinstance(total, Invalid) or isinstance(source, Invalid):
            continue
        totals.append(PublicTotal(where, total, source))
    return tuple(totals)
