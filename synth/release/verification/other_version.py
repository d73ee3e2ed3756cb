"""A release of another version, held against everything that needs no rebuild.

Another version may word or compute some fields in another way, so its files cannot be told here
from changed ones. What every version means alike is checked all the same: the list of files, the
rows in the declared domain, what is known of them beforehand, and what was charged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from importlib.metadata import version
from typing import Any

from jsonschema import Draft202012Validator, SchemaError

from synth.config import Config, config_from_public
from synth.domain.counts import difference
from synth.errors import DISTRIBUTION, ConfigError
from synth.privacy import (
    AfterLookEvent,
    Budget,
    LookEvent,
    SelectionEvent,
    TableEvent,
    look_sensitivity,
    sensitivity_l1,
    sensitivity_l2_squared,
    total_budget,
)
from synth.release.contents import CHECKSUMS, MANIFEST, SIGNATURE, data_files
from synth.release.manifest.accounting import stated_budget
from synth.release.manifest.build import (
    MANIFEST_VERSIONS,
    SCHEMA_FILE,
    manifest_schema,
    schema_file,
)
from synth.release.verification.folder import Folder, FolderError
from synth.release.verification.manifest_check import ledger_findings, schema_findings
from synth.release.verification.readback import published_counts
from synth.release.verification.rebuild import rule_findings
from synth.strict_json import JsonError, parse_json

VERSION = re.compile(r"[0-9]{1,4}(\.[0-9]{1,6}){1,3}", re.ASCII)
VERSION_PATTERN = re.compile(r'"\^[0-9]{1,4}\$"', re.ASCII)
"""Of `manifest_version`, in JSON."""

DEFINITION = re.compile(r"[a-z_-]{1,60}")
MOST_ROWS = 1 << 30

SCHEMA_KEYWORDS = {
    *("$schema", "title", "description", "type", "required", "enum", "minimum", "pattern"),
    *("properties", "$defs", "items", "additionalProperties", "propertyNames", "$ref"),
}


def other_version(folder: Folder) -> str | None:
    """The version that the manifest says wrote it, if that is another one and may be told."""
    try:
        writer = parse_json(folder.read(MANIFEST))["implementation"]["versions"][DISTRIBUTION]
    except (FolderError, JsonError, KeyError, TypeError):
        return None
    if not isinstance(writer, str) or not VERSION.fullmatch(writer):
        return None
    return None if writer == version(DISTRIBUTION) else writer


def findings_without_rebuild(folder: Folder) -> list[str]:
    """What is refuted of a release whose checksums and signature were found to hold."""
    try:
        manifest = parse_json(folder.read(MANIFEST))
        found = list(_document_findings(folder, manifest))
        if not found:
            config = config_from_public(manifest["configuration"])
            found = [*_charge_findings(config, manifest), *_row_findings(folder, config, manifest)]
        return found
    except SchemaError:
        return [f"{SCHEMA_FILE}: is no schema as any version writes it"]
    except (ConfigError, FolderError, JsonError) as error:
        return [f"{MANIFEST}: {' '.join(str(error).split())}"]
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError, RecursionError):
        return [f"{MANIFEST}: lacks fields that every version writes, or they are malformed"]


def _document_findings(folder: Folder, manifest: dict[str, Any]) -> Iterator[str]:
    """The manifest against its schema, and the files against what it lists."""
    if manifest["manifest_version"] in MANIFEST_VERSIONS:
        schema = manifest_schema(manifest["manifest_version"])
    else:
        schema = parse_json(folder.read(SCHEMA_FILE))
        defined = {
            f"#/$defs/{name}" for name in schema.get("$defs", {}) if DEFINITION.fullmatch(name)
        }
        if not _is_plain(schema, defined):
            yield f"{SCHEMA_FILE}: is no schema as any version writes it"
            return
        Draft202012Validator.check_schema(schema)
    yield from schema_findings(manifest, schema)
    listed = {entry["path"]: entry for entry in manifest["files"]}
    for name in sorted(listed.keys() ^ (folder.sizes.keys() - {MANIFEST, CHECKSUMS, SIGNATURE})):
        yield f"{name}: is in the folder or in {MANIFEST}, and not in both"
    for name in sorted(listed.keys() & folder.sizes.keys()):
        digest = folder.sha256(name)
        if (listed[name]["bytes"], listed[name]["sha256"]) != (folder.sizes[name], digest):
            yield f"{name}: is not the file that {MANIFEST} lists"


def _is_plain(schema: Any, defined: set[str]) -> bool:
    """Whether a stranger's schema is made of the terms of ours: looked up nowhere, soon done.

    A place of the manifest is then held against one schema only, and a text against no pattern
    but ours; definitions that refer to one another for ever end as an error of recursion.
    """
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, dict) or not schema.keys() <= SCHEMA_KEYWORDS:
        return False
    if "$ref" in schema and not (
        schema.keys() <= {"$ref", "description"} and schema["$ref"] in defined
    ):
        return False
    pattern = json.dumps(schema.get("pattern", "^1$"))
    if pattern.encode() not in schema_file() and not VERSION_PATTERN.fullmatch(pattern):
        return False
    inside = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values()]
    terms = ("items", "additionalProperties", "propertyNames")
    inside += [schema[term] for term in terms if term in schema]
    return all(_is_plain(each, defined) for each in inside)


def _charge_findings(config: Config, manifest: dict[str, Any]) -> Iterator[str]:
    """What the listed events cost, added up here, against what is promised and was charged."""
    if manifest["implementation"]["configuration_hash"] != config.hash:
        yield f"{MANIFEST}: configuration: its hash is {config.hash}"
    accounting, parameters = manifest["accounting"], manifest["guarantee"]["privacy_parameters"]
    listed = [_event(config, event) for event in accounting["events"]]
    chosen = [each["chosen"] for each in accounting["selections"]]
    if chosen != list(range(len(listed) - len(chosen), len(listed))):
        yield f"{MANIFEST}: accounting.selections: are not one choice for each of the last tables"
    if len({(event.table, event.coarsening) for event in listed}) < len(listed):
        yield f"{MANIFEST}: accounting.events: list a table twice"
    paid = zip(listed, accounting["events"], strict=True)
    events: list[TableEvent | SelectionEvent] = [_charged(*each) for each in paid]
    events += [
        SelectionEvent(
            mechanism=each["mechanism"],
            candidates=each["candidates"],
            epsilon=Fraction(each["epsilon"]["fraction"]),
        )
        for each in accounting["selections"]
    ]
    if "look" not in accounting:
        total = total_budget(tuple(events), delta=config.privacy.delta)
    else:
        look = _look(config, accounting["look"])
        after = stated_budget(accounting["look"]["reserved"])
        reserved = AfterLookEvent(after.epsilon, after.delta)
        tables = total_budget(tuple(events), delta=after.delta)
        if tables.epsilon > after.epsilon or tables.delta > after.delta:
            yield f"{MANIFEST}: accounting.events: cost more than was reserved before the look"
        total = total_budget((look, reserved), delta=config.privacy.delta)
    promised = Budget(config.privacy.epsilon, config.privacy.delta if total.delta else Fraction(0))
    for place, stated, computed in (
        ("accounting.total", accounting["total"], total),
        ("accounting.ledger.spent_now", accounting["ledger"]["spent_now"], total),
        ("guarantee.privacy_parameters", parameters, promised),
    ):
        if stated_budget(stated) != computed:
            yield f"{MANIFEST}: {place}: is not what the listed events and configuration give"
    if total.epsilon > promised.epsilon or total.delta > promised.delta:
        yield f"{MANIFEST}: accounting.events: cost more than the configuration promises"
    yield from ledger_findings(accounting["ledger"], manifest)


def _look(config: Config, stated: Mapping[str, Any]) -> LookEvent:
    """The look as the manifest lists it. Raises: ValueError for another sensitivity or noise."""
    epsilon = Fraction(stated["epsilon"]["fraction"])
    names, pairs = config.universe.names, tuple(map(tuple, stated["pairs"]))
    if any([name for name in names if name in pair] != list(pair) for pair in pairs):
        raise ValueError("a look at pairs of columns that there are not")
    sensitivity = look_sensitivity(config.privacy, pairs)
    event = LookEvent(tuple(stated["first_places"]), pairs, sensitivity, epsilon)
    scale = Fraction(stated["noise_scale_records"]["fraction"])
    if (stated["sensitivity"], scale) != (event.sensitivity_l1, event.sensitivity_l1 / epsilon):
        raise ValueError("another sensitivity or noise than the budget of the look stands for")
    if len(stated["noisy_counts"]) != event.counts:
        raise ValueError("a look has one noisy count per class, and one of its pairs")
    return event


def _charged(event: TableEvent, stated: Mapping[str, Any]) -> TableEvent:
    """What a table costs: of a sum over periods, what is stated for the whole horizon."""
    if "charged" not in stated:
        return event
    charged = Fraction(stated["charged"]["fraction"])
    if event.rho is not None:
        return replace(event, rho=charged, summed=1)
    return replace(event, epsilon=charged, summed=1)


def _event(config: Config, stated: Mapping[str, Any]) -> TableEvent:
    """An event as the manifest lists it. Raises: ValueError for another sensitivity or noise."""
    budget = {
        name: Fraction(stated[name]["fraction"])
        for name in ("epsilon", "rho", "delta")
        if name in stated
    }
    squared = sensitivity_l2_squared(config.privacy) if "rho" in budget else None
    event = TableEvent(
        tuple(stated["table"]),
        stated["cells"],
        sensitivity_l1(config.privacy),
        mechanism=stated["mechanism"],
        coarsening=tuple(stated["coarsening"]),
        epsilon=budget.get("epsilon"),
        rho=budget.get("rho"),
        delta=budget.get("delta"),
        sensitivity_l2_squared=squared,
        threshold=stated.get("threshold"),
        summed=stated.get("summed", 1),
    )
    if squared is None:
        name, noise = "noise_scale_records", event.noise_scale_records
    else:
        name, noise = "sigma_squared", event.sigma_squared
    if (stated["sensitivity"], Fraction(stated[name]["fraction"])) != (
        squared or event.sensitivity_l1,
        noise,
    ):
        raise ValueError("another sensitivity or noise than the budget of an event stands for")
    return event


def _row_findings(folder: Folder, config: Config, manifest: dict[str, Any]) -> Iterator[str]:
    """Rows outside the declared domain, or against what is publicly known of them."""
    rows = manifest["post_processing"]["rows"]["number"]
    if type(rows) is not int or not 0 <= rows <= MOST_ROWS:
        yield f"{MANIFEST}: post_processing.rows.number: no number of rows that can be read here"
        return
    first = None
    for name in data_files(config):
        counts, problems = published_counts(folder, name, config, rows=rows)
        yield from problems
        if counts is None:
            continue
        if counts.total != rows:
            yield f"{name}: holds {counts.total} rows, {MANIFEST} says {rows}"
        if first is None:
            first = counts
            yield from (f"{name}: {each}" for each in rule_findings(counts, config))
        elif len(difference(counts, first, config.universe.shape).found):
            yield f"{name}: holds other rows than the other data file"
