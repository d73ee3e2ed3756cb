"""Every key of a configuration, once: the loader, the schema and the reference follow it."""

from __future__ import annotations

from synth.config.choices import WordOrWhole
from synth.config.domain_keys import DOMAIN, IMPOSSIBLE, PUBLIC_TOTALS
from synth.config.guarantee_keys import LEDGER, PRIVACY
from synth.config.release_keys import RELEASE
from synth.config.rules import NOT_EMPTY, ONE_LINE
from synth.config.scalars import Choice, Text, Whole
from synth.config.shapes import Key, ListOf, Record
from synth.config.source_keys import SOURCE
from synth.config.workload_keys import DEFAULT_WORKLOAD, STRATEGY, WORKLOAD

OUTPUT = Record(
    "Where the release goes and how its rows are written",
    (
        Key(
            "directory",
            Text("The folder of releases, relative to this file", (NOT_EMPTY, ONE_LINE), 1_000),
            required=True,
            private=True,
        ),
        Key(
            "formats",
            ListOf(
                "The data files",
                Choice("One format", ("csv", "parquet")),
                minimum=1,
                maximum=2,
                noun="formats",
            ),
            default=["csv", "parquet"],
        ),
        Key(
            "rows",
            WordOrWhole(
                "How many rows: estimated from the noisy counts, or a declared number",
                "estimated",
                Whole("A declared number of rows", 0, 10**10),
            ),
            default="estimated",
        ),
        Key(
            "bins",
            Choice(
                "What a row shows of a bin: a number drawn from it, the interval, the midpoint",
                ("uniform", "interval", "midpoint"),
            ),
            default="uniform",
        ),
        Key(
            "signing_key",
            Text(
                "The private key that signs the release: a PEM file, relative to this file",
                (NOT_EMPTY, ONE_LINE),
                1_000,
            ),
            private=True,
        ),
    ),
)

CONFIGURATION = Record(
    "One release of synth: what is published, from what, and under which guarantee",
    (
        Key("schema_version", Whole("The version of this format", 1, 1), required=True),
        Key("release", RELEASE, required=True),
        Key("source", SOURCE, required=True),
        Key("privacy", PRIVACY, required=True),
        Key("ledger", LEDGER, required=True),
        Key("domain", DOMAIN, required=True),
        Key("impossible", IMPOSSIBLE, default=[]),
        Key("public_totals", PUBLIC_TOTALS, default=[]),
        Key("workload", WORKLOAD, default=DEFAULT_WORKLOAD),
        Key("strategy", STRATEGY, default="auto"),
        Key("output", OUTPUT, required=True),
    ),
)
