"""Loading: a file to a Policy or every problem at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from synth.config.loader import read_tree
from synth.config.problems import Path as Place
from synth.config.problems import Report
from synth.config.scalars import Invalid
from synth.errors import ConfigError, Problem
from synth.policy.keys import POLICY
from synth.policy.policy import Approvals, KeyHolder, Policy, PopulationCaps, Signing


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read, check and freeze the file of a policy, as strictly as a configuration.

    Raises: ConfigError with every problem of the file, in the order of its lines.
    """
    name = os.fspath(path)
    problems: list[Problem] = []
    node = read_tree(path, problems)
    report = Report(problems)
    values = POLICY.read(node, (), report)
    if not isinstance(values, Invalid):
        _check_words(values, report)
        _check_holders(values, report)
    if report.problems() or isinstance(values, Invalid):
        raise ConfigError(name, report.problems())
    base = Path(os.path.abspath(path)).parent  # noqa: PTH100 - keeps symbolic links
    approvals, signing = values["approvals"], values["signing"]
    return Policy(
        name=name,
        epsilon=values["epsilon"],
        delta=values["delta"],
        populations={
            population: _caps(caps, base) for population, caps in values["populations"].items()
        },
        units=tuple(values["units"]),
        neighbours=tuple(values["neighbours"]),
        disposal=tuple(values["disposal"]),
        approvals=None
        if approvals is None
        else Approvals(approvals["required"], _holders(approvals["keys"])),
        signing=None
        if signing is None
        else Signing(signing["required"], _holders(signing["keys"])),
    )


def _caps(caps: dict[str, Any], base: Path) -> PopulationCaps:
    ledger = caps["ledger"]
    return PopulationCaps(
        caps["epsilon_cap"],
        caps["delta_cap"],
        None if ledger is None else (base / ledger).resolve(),
        tuple(caps["disjoint_parts"]),
    )


def _holders(holders: list[dict[str, Any]]) -> tuple[KeyHolder, ...]:
    return tuple(KeyHolder(holder["name"], holder["public_key"]) for holder in holders)


def _check_words(values: dict[str, Any], report: Report) -> None:
    """Report a word that is listed twice."""
    for key in ("units", "neighbours", "disposal"):
        words = values[key]
        for index, word in enumerate([] if isinstance(words, Invalid) else words):
            if not isinstance(word, Invalid) and word in words[:index]:
                report.add((key, index), expected="every word once")


def _check_holders(values: dict[str, Any], report: Report) -> None:
    """Report a key that is listed twice, and more required approvals than there are keys."""
    for section in ("approvals", "signing"):
        inside = values[section]
        if inside is None or isinstance(inside, Invalid) or isinstance(inside["keys"], Invalid):
            continue
        seen: dict[object, int] = {}
        for index, holder in enumerate(inside["keys"]):
            if isinstance(holder, Invalid) or isinstance(holder["public_key"], Invalid):
                continue
            earlier = seen.setdefault(holder["public_key"], index)
            if earlier != index:
                here: Place = (section, "keys", index, "public_key")
                report.add(
                    here,
                    expected="every key once",
                    why=f"{section}.keys[{earlier}] is the same key, and one key counts once",
                )
        required, listed = inside["required"], len(inside["keys"])
        if section == "approvals" and not isinstance(required, Invalid) and required > listed:
            report.add(
                (section, "required"),
                expected=f"at most {listed}, the number of keys",
                why="nothing could ever be approved",
            )
