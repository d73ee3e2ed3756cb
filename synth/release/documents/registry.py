"""`registry.yaml`: a complete record (tier 3) for the OpenDP deployments registry."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from synth.release.documents.facts import Manifest, full_description, homepage, series_sentences

SECTORS = ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
"""The sectors that the registry knows; another one is told in the notes."""


def registry_record(manifest: Manifest) -> dict[str, Any]:
    """The record, in the registry's own order of fields; its texts are read as Markdown.

    Ensures: a deterministic function of the manifest, in plain JSON values.
    """
    return {
        "url_slug": manifest["identity"]["url_slug"],
        "status": "Draft",
        "tier": 3,
        "deployment": {
            "basic": _basic(manifest),
            "dp_variant": _variant(manifest),
            "privacy_loss": _privacy_loss(manifest),
            "deployment_model": _model(manifest),
            "accounting": _accounting(manifest),
            "implementation": _implementation(manifest),
            "administrative": _administrative(manifest),
        },
    }


def _basic(manifest: Manifest) -> dict[str, Any]:
    identity, purpose = manifest["identity"], manifest["purpose"]
    basic = {
        "name": identity["name"],
        "data_curators": manifest["people"]["data_curators"],
        "intended_use": purpose["intended_use"],
        "data_product_type": purpose["data_product_type"],
        "data_product_region": purpose["region"],
        "description": full_description(manifest),
        "publication_date": identity["date_published"],
    }
    if purpose["sector"] in SECTORS:
        basic["data_product_sector"] = purpose["sector"]
    return basic


def _variant(manifest: Manifest) -> dict[str, Any]:
    guarantee = manifest["guarantee"]
    unprotected = guarantee["unprotected_quantities"] or ["None."]
    public = [f"- {quantity}" for quantity in guarantee["public_quantities"]]
    return {
        "variant_name": guarantee["variant_name"],
        "data_domain": guarantee["data_domain"],
        "unprotected_quantities": "\n".join(
            [*unprotected, "", "Taken from public knowledge, not from the data:", "", *public]
        ),
    }


def _privacy_loss(manifest: Manifest) -> dict[str, Any]:
    guarantee = manifest["guarantee"]
    parameters = guarantee["privacy_parameters"]
    exact = {name: number["fraction"] for name, number in parameters.items()}
    details = [
        f"Exactly: epsilon = {exact['epsilon']}, delta = {exact['delta']}. "
        f"{guarantee['statement']}",
        f"{guarantee['delta_in_words']}.",
        *(
            f"Also {each['variant_name']} with rho = {each['rho']['fraction']}: {each['theorem']}."
            for each in guarantee["conversions"]
        ),
    ]
    return {
        "privacy_unit": guarantee["privacy_unit"],
        "privacy_unit_details": (
            f"{guarantee['privacy_unit_details']}\n\n"
            f"Contributions are bounded by: {guarantee['contributions_bounded_by']}."
        ),
        "privacy_parameters": {
            name: _number(number) for name, number in parameters.items() if _is_stated(name, number)
        },
        "privacy_parameters_details": "\n\n".join(details),
    }


def _is_stated(name: str, number: dict[str, str]) -> bool:
    return name == "epsilon" or Fraction(number["fraction"]) != 0


def _number(number: dict[str, str]) -> int | float:
    """The parameter as a number; where no double is exact, the details have the fraction."""
    value = Fraction(number["decimal"])
    return value.numerator if value.denominator == 1 else float(value)


def _model(manifest: Manifest) -> dict[str, Any]:
    model = manifest["deployment_model"]
    actors = [f"- {each['actor']}: {each['trust']}" for each in model["actors"]]
    threats = [f"- {clause}" for clause in model["threat_model"]]
    ledger = manifest["accounting"]["ledger"]
    return {
        "model_name": model["model_name"],
        "actors": "\n".join([*actors, "", "Threat model:", "", *threats]),
        "release_type": model["release_type"],
        "release_type_details": " ".join(series_sentences(manifest))
        + ("\n\n" if "series" in manifest else "")
        + (
            f"All releases about {ledger['population']} are charged to one account, which may "
            f"reach epsilon = {ledger['cap']['epsilon']['decimal']} and delta = "
            f"{ledger['cap']['delta']['decimal']} and no more; the budget is never renewed. "
            f"{manifest['life_cycle']['maintenance']}."
        ),
        "data_source_type": model["data_source_type"],
        "data_source_type_details": manifest["source"]["collection"],
        "access_type": model["access_type"],
        "access_type_details": "Files for download: " + ", ".join(_public_files(manifest)) + ".",
    }


def _public_files(manifest: Manifest) -> list[str]:
    columns = len(manifest["domain"]["columns"])
    rows = manifest["post_processing"]["rows"]["number"]
    return [f"{rows} synthetic rows of {columns} columns", "the noisy counts", "a manifest"]


def _accounting(manifest: Manifest) -> dict[str, Any]:
    steps = manifest["post_processing"]["steps"]
    events = manifest["accounting"]["events"]
    tables = [
        f"- {', '.join(event['table']) or 'the total'}: {event['mechanism']}, "
        + (
            f"rho = {event['rho']['fraction']}"
            if "rho" in event
            else f"epsilon = {event['epsilon']['fraction']}"
        )
        for event in events[:SHOWN_EVENTS]
    ]
    if "look" in manifest["accounting"]:
        epsilon = manifest["accounting"]["look"]["epsilon"]["fraction"]
        tables.insert(0, f"- a look, before the tables were planned: epsilon = {epsilon}")
    if len(events) > SHOWN_EVENTS:
        tables.append(f"- and {len(events) - SHOWN_EVENTS} more, in manifest.json")
    return {
        "post_processing": "\n".join(
            f"{number}. {step['step']}: {step['description']}"
            for number, step in enumerate(steps, start=1)
        ),
        "composition": "\n".join(
            [manifest["accounting"]["composition"], "", "Noisy tables:", "", *tables]
        ),
    }


SHOWN_EVENTS = 20


def _implementation(manifest: Manifest) -> dict[str, Any]:
    made = manifest["implementation"]
    mechanisms = [
        f"- {each['name']}: `{each['noise']}`. Sampler: {each['sampler']}. {each['reference']}."
        for each in made["mechanisms"]
    ]
    versions = ", ".join(f"{name} {version}" for name, version in made["versions"].items())
    commit = f" (commit {made['commit']})" if "commit" in made else ""
    security = manifest["security_and_disposal"]
    return {
        "preprocessing_and_hyperparameter_tuning": manifest["accounting"][
            "preprocessing_and_hyperparameter_tuning"
        ],
        "mechanisms": "\n".join(
            [
                *mechanisms,
                "",
                f"Software: {versions}{commit}.",
                "",
                f"Randomness: {made['randomness_source']}.",
                "",
                f"Floating point: {made['floating_point_protection']}.",
                "",
                f"Timing: {made['timing_protection']}.",
                "",
                f"Security of the raw data: {security['raw_access_controls']}. "
                f"{security['remaining']}.",
            ]
        ),
        "justification": made["justification"],
    }


def _administrative(manifest: Manifest) -> dict[str, Any]:
    people = manifest["people"]
    places = [address] if (address := homepage(manifest)) is not None else []
    listed = [f"- {each}" for each in [*places, *people.get("sources", [])]]
    sector = manifest["purpose"]["sector"]
    notes = [
        f"Contact: {people['contact_point']}. Licence: {manifest['identity']['license']}.",
        *([] if sector in SECTORS else [f"Sector: {sector}."]),
    ]
    return {
        **({"sources": "\n".join(listed)} if listed else {}),
        "notes": "\n\n".join(notes),
        "registry_authors": people["registry_authors"],
    }
