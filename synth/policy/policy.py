"""A policy: what an organisation allows, and whose signatures count."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

from synth.config.guarantee import MAX_DELTA
from synth.config.loader import read_tree
from synth.config.schema.problems import Place, Refused, Report
from synth.config.schema.scalars import (
    NOT_EMPTY,
    ONE_LINE,
    Choice,
    Exact,
    FilePath,
    Flag,
    Shape,
    Text,
    Whole,
    label,
    line,
)
from synth.config.schema.shapes import Key, ListOf, MapOf, record
from synth.config.schema.yaml_tree import Node
from synth.config.series import MOST_PERIODS
from synth.errors import ConfigError, Problem
from synth.signatures import PublicKey

ZERO, ONE = Fraction(0), Fraction(1)
MAX_HOLDERS = 100


@dataclass(frozen=True)
class PublicKeyLine(Shape):
    """An Ed25519 public key in one line."""

    def read(self, node: Node, path: Place, report: Report) -> PublicKey:
        """The key."""
        text = Text(self.description, (NOT_EMPTY, ONE_LINE)).read(node, path, report)
        try:
            return PublicKey.from_line(text)
        except ValueError:
            raise report.refusal(
                path,
                expected="an Ed25519 public key: 60 characters that begin with MCowBQYDK2VwAyEA",
                fix="copy the line that `synth keygen` printed, or the middle line of NAME.pub.pem",
            ) from None

    def plain(self, value: PublicKey) -> Any:
        """The key's line."""
        return value.line

    def schema(self) -> dict[str, Any]:
        """The JSON Schema of this place."""
        return {
            "description": self.description,
            "type": "string",
            "pattern": "^MCowBQYDK2VwAyEA[A-Za-z0-9+/]{43}=$",
        }


@dataclass(frozen=True)
class KeyHolder:
    """Somebody whose signature counts."""

    name: Annotated[str, line("Who holds the key, for messages")]
    key: Annotated[
        PublicKey,
        Key(
            PublicKeyLine("The public key in one line, as `synth keygen` prints it"),
            name="public_key",
        ),
    ]


@dataclass(frozen=True)
class PopulationCaps:
    """The most that all releases about one population may spend together."""

    epsilon_cap: Annotated[
        Fraction,
        Exact("The largest `ledger.epsilon_cap`", ZERO, Fraction(10**6), above_minimum=True),
    ]
    delta_cap: Annotated[
        Fraction, Exact("The largest `ledger.delta_cap`", ZERO, ONE, below_maximum=True)
    ] = ZERO
    ledger: Annotated[
        Path | None,
        FilePath(
            "The one ledger that keeps the account, relative to this file; without it a new "
            "ledger elsewhere starts from nothing",
            follows_links=True,
        ),
    ] = None
    disjoint_parts: Annotated[
        tuple[str, ...],
        ListOf(
            "The parts of the population that may be counted in parallel, as in "
            "`ledger.disjoint_part.name`; none if left out",
            line("The name of a part"),
            maximum=1_000,
            noun="parts",
        ),
    ] = ()
    """Somebody vouches that nobody is in two."""
    shortest_window: Annotated[
        int | None,
        Whole(
            "The shortest `series.renewal.window` for which alone the caps may hold; without it "
            "they hold for all releases together",
            1,
            MOST_PERIODS,
        ),
    ] = None


@dataclass(frozen=True)
class Approvals:
    """Who must have approved a configuration before it is measured."""

    required: Annotated[int, Whole("How many different keys must have approved it", 1, MAX_HOLDERS)]
    holders: Annotated[
        tuple[KeyHolder, ...],
        Key(
            ListOf(
                "Whose approvals count",
                record(KeyHolder),
                minimum=1,
                maximum=MAX_HOLDERS,
                noun="keys",
            ),
            name="keys",
        ),
    ]

    def checked(self, path: Place, report: Report) -> Approvals:
        """Every key once, and as many as are asked for."""
        _refuse_repeated_keys(self.holders, path, report)
        if self.required > len(self.holders):
            report.add(
                (*path, "required"),
                expected=f"at most {len(self.holders)}, the number of keys",
                why="nothing could ever be approved",
            )
        return self


@dataclass(frozen=True)
class Signing:
    """Whether releases are signed."""

    required: Annotated[bool, Flag("Whether an unsigned release is refused")]
    holders: Annotated[
        tuple[KeyHolder, ...],
        Key(
            ListOf(
                "The keys that may sign; none means any", record(KeyHolder), maximum=MAX_HOLDERS
            ),
            name="keys",
        ),
    ] = ()

    def checked(self, path: Place, report: Report) -> Signing:
        """Every key once."""
        _refuse_repeated_keys(self.holders, path, report)
        return self


def _refuse_repeated_keys(holders: tuple[KeyHolder, ...], path: Place, report: Report) -> None:
    first: dict[PublicKey, int] = {}
    for index, holder in enumerate(holders):
        earlier = first.setdefault(holder.key, index)
        if earlier != index:
            report.add(
                (*path, "keys", index, "public_key"),
                expected="every key once",
                why=f"{path[-1]}.keys[{earlier}] is the same key, and one key counts once",
            )


def _some(description: str, *words: str) -> ListOf:
    return ListOf(description, Choice("One of them", words), minimum=1, maximum=len(words))


@dataclass(frozen=True, kw_only=True)
class Policy:
    """What an organisation allows; a configuration has to keep to all of it.

    What a policy does not name is refused. `epsilon` and `delta` are those of one release.
    """

    name: str = ""
    """The file's name as the user gave it, for messages."""
    policy_version: Annotated[
        int, Key(Whole("The version of this format", 1, 1), required=True)
    ] = 1
    epsilon: Annotated[
        Fraction,
        Exact("The largest epsilon of one release", ZERO, Fraction(1000), above_minimum=True),
    ]
    delta: Annotated[Fraction, Exact("The largest delta of one release", ZERO, MAX_DELTA)] = ZERO
    populations: Annotated[
        Mapping[str, PopulationCaps],
        MapOf(
            "The populations that may be charged, by name",
            record(PopulationCaps),
            minimum=1,
            noun="populations",
            example="from population to its caps, such as {residents: {epsilon_cap: 4}}",
            key=label("The population, as in `ledger.population`"),
        ),
    ]
    units: Annotated[tuple[str, ...], _some("The allowed units of privacy", "record", "person")]
    neighbours: Annotated[
        tuple[str, ...],
        _some("The allowed neighbouring relations", "add-remove", "replace-one"),
    ]
    disposal: Annotated[tuple[str, ...], _some("What may become of the raw data", "keep", "delete")]
    approvals: Annotated[Approvals | None, record(Approvals)] = None
    signing: Annotated[Signing | None, record(Signing)] = None

    def checked(self, path: Place, report: Report) -> Policy:
        """Every word once."""
        for key in ("units", "neighbours", "disposal"):
            words = getattr(self, key)
            for index, word in enumerate(words):
                if word in words[:index]:
                    report.add((*path, key, index), expected="every word once")
        return self


POLICY = record(Policy)


def load_policy(path: str | os.PathLike[str]) -> Policy:
    """Read, check and freeze the file of a policy, as strictly as a configuration.

    Raises: ConfigError with every problem of the file, in the order of its lines.
    """
    problems: list[Problem] = []
    node = read_tree(path, problems)
    base = Path(os.path.abspath(path)).parent  # noqa: PTH100 - keeps symbolic links
    report = Report(problems, base=base)
    policy: Policy | None = None
    with suppress(Refused):
        policy = POLICY.read(node, (), report)
    if policy is None or report.count:
        raise ConfigError(os.fspath(path), report.problems())
    return replace(policy, name=os.fspath(path))


def policy_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) for editors.

    Ensures: refuses no file that `load_policy` accepts.
    """
    return POLICY.document("policy")
