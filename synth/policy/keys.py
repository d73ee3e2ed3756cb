"""Every key of a policy, once: the loader, the schema and the reference follow it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from synth.config.choices import MapOf
from synth.config.limits import MAX_DELTA
from synth.config.problems import Path, Report
from synth.config.rules import NOT_EMPTY, ONE_LINE
from synth.config.scalars import INVALID, Choice, Exact, Flag, Invalid, Text, Whole
from synth.config.shapes import Key, ListOf, Record
from synth.config.texts import label, line
from synth.config.tree import Node
from synth.signatures import PublicKey

ZERO, ONE = Fraction(0), Fraction(1)
MAX_HOLDERS = 100


@dataclass(frozen=True)
class PublicKeyLine:
    """An Ed25519 public key in one line."""

    description: str

    def read(self, node: Node, path: Path, report: Report) -> PublicKey | Invalid:
        """The key."""
        text = Text(self.description, (NOT_EMPTY, ONE_LINE)).read(node, path, report)
        if isinstance(text, Invalid):
            return INVALID
        try:
            return PublicKey.from_line(text)
        except ValueError:
            report.add(
                path,
                expected="an Ed25519 public key: 60 characters that begin with MCowBQYDK2VwAyEA",
                fix="copy the line that `synth keygen` printed, or the middle line of NAME.pub.pem",
            )
            return INVALID

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


HOLDER = Record(
    "Somebody whose signature counts",
    (
        Key("name", line("Who holds the key, for messages"), required=True),
        Key(
            "public_key",
            PublicKeyLine("The public key in one line, as `synth keygen` prints it"),
            required=True,
        ),
    ),
)

POPULATION = Record(
    "The most that all releases about one population may spend together",
    (
        Key(
            "epsilon_cap",
            Exact("The largest `ledger.epsilon_cap`", ZERO, Fraction(10**6), above_minimum=True),
            required=True,
        ),
        Key(
            "delta_cap",
            Exact("The largest `ledger.delta_cap`", ZERO, ONE, below_maximum=True),
            default=ZERO,
        ),
        Key(
            "ledger",
            Text(
                "The one ledger that keeps the account, relative to this file; without it a new "
                "ledger elsewhere starts from nothing",
                (NOT_EMPTY, ONE_LINE),
                1_000,
            ),
        ),
        Key(
            "disjoint_parts",
            ListOf(
                "The parts of the population that may be counted in parallel, as in "
                "`ledger.disjoint_part.name`; none if left out",
                line("The name of a part"),
                minimum=0,
                maximum=1_000,
                noun="parts",
            ),
            default=(),
        ),
    ),
)

APPROVALS = Record(
    "Who must have approved a configuration before it is measured",
    (
        Key(
            "required",
            Whole("How many different keys must have approved it", 1, MAX_HOLDERS),
            required=True,
        ),
        Key(
            "keys",
            ListOf("Whose approvals count", HOLDER, minimum=1, maximum=MAX_HOLDERS, noun="keys"),
            required=True,
        ),
    ),
)

SIGNING = Record(
    "Whether releases are signed",
    (
        Key("required", Flag("Whether an unsigned release is refused"), required=True),
        Key(
            "keys",
            ListOf("The keys that may sign; none means any", HOLDER, maximum=MAX_HOLDERS),
            default=[],
        ),
    ),
)


def _some(description: str, *words: str) -> ListOf:
    return ListOf(description, Choice("One of them", words), minimum=1, maximum=len(words))


POLICY = Record(
    "What an organisation allows; a configuration has to keep to all of it",
    (
        Key("policy_version", Whole("The version of this format", 1, 1), required=True),
        Key(
            "epsilon",
            Exact("The largest epsilon of one release", ZERO, Fraction(1000), above_minimum=True),
            required=True,
        ),
        Key("delta", Exact("The largest delta of one release", ZERO, MAX_DELTA), default=ZERO),
        Key(
            "populations",
            MapOf(
                "The populations that may be charged, by name",
                POPULATION,
                minimum=1,
                noun="populations",
                example="from population to its caps, such as {residents: {epsilon_cap: 4}}",
                key=label("The population, as in `ledger.population`"),
            ),
            required=True,
        ),
        Key("units", _some("The allowed units of privacy", "record", "person"), required=True),
        Key(
            "neighbours",
            _some("The allowed neighbouring relations", "add-remove", "replace-one"),
            required=True,
        ),
        Key(
            "disposal",
            _some("What may become of the raw data", "keep", "delete"),
            required=True,
        ),
        Key("approvals", APPROVALS),
        Key("signing", SIGNING),
    ),
)
