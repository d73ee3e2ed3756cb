"""The release as linked data (JSON-LD): schema.org for search engines, DCAT for catalogues."""

from __future__ import annotations

from typing import Any

from synth.release.documents.facts import (
    Manifest,
    contact_email,
    contact_page,
    data_files,
    file_address,
    full_description,
    homepage,
    licence_of,
)

CONTEXT = {
    "@vocab": "https://schema.org/",
    "dcat": "http://www.w3.org/ns/dcat#",
    "dct": "http://purl.org/dc/terms/",
    "foaf": "http://xmlns.com/foaf/0.1/",
    "prov": "http://www.w3.org/ns/prov#",
    "spdx": "http://spdx.org/rdf/terms#",
    "vcard": "http://www.w3.org/2006/vcard/ns#",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

SHA256_ALGORITHM = {"@id": "spdx:checksumAlgorithm_sha256"}

MEDIA_TYPES = "https://www.iana.org/assignments/media-types/"


def linked_data(manifest: Manifest) -> dict[str, Any]:
    """A description of the release for embedding in its page.

    One node is both a schema.org `Dataset` and a `dcat:Dataset`, each file a `DataDownload` and
    a `dcat:Distribution`. Property names without a prefix are schema.org's.

    Requires: `manifest["files"]` lists at least the data files; other entries do not matter.
    Ensures: a deterministic function of the manifest, in plain JSON values. It names no other
    context, so that it is read without a network.
    """
    identity, people, purpose = manifest["identity"], manifest["people"], manifest["purpose"]
    licence = licence_of(identity["license"])
    curators = [_organisation(name) for name in people["data_curators"]]
    node: dict[str, Any] = {
        "@context": CONTEXT,
        "@type": ["Dataset", "dcat:Dataset"],
        "identifier": identity["release_id"],
        "name": identity["name"],
        "description": full_description(manifest),
        "keywords": identity["keywords"],
        "inLanguage": identity["language"],
        "version": identity["version"],
        "datePublished": identity["date_published"],
        "license": licence.address or licence.written,
        "isAccessibleForFree": True,
        "citation": identity["cite_as"],
        "creator": curators,
        "publisher": _organisation(people["publisher"]),
        "spatialCoverage": {"@type": "Place", "name": purpose["region"]},
        "variableMeasured": [_variable(column) for column in manifest["domain"]["columns"]],
        "measurementTechnique": _technique(manifest),
        "creativeWorkStatus": identity["status"],
        "distribution": [_download(manifest, entry) for entry in data_files(manifest)],
        "dct:identifier": identity["release_id"],
        "dct:title": identity["name"],
        "dct:description": full_description(manifest),
        "dct:issued": {"@value": identity["date_published"], "@type": "xsd:date"},
        "dct:language": identity["language"],
        "dct:license": {"@id": licence.address} if licence.address else licence.written,
        "dct:publisher": {"@type": "foaf:Organization", "foaf:name": people["publisher"]},
        "dct:spatial": {"@type": "dct:Location", "dct:title": purpose["region"]},
        "dcat:keyword": identity["keywords"],
        "dcat:contactPoint": _contact(manifest),
        "dcat:version": identity["version"],
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "description": _technique(manifest),
        },
    }
    if (address := homepage(manifest)) is not None:
        node |= {"url": address, "dcat:landingPage": {"@id": address}}
    if (covered := purpose.get("temporal_coverage")) is not None:
        node["temporalCoverage"] = covered
    if superseded := identity.get("supersedes"):
        node["dct:replaces"] = superseded
    return node


def _organisation(name: str) -> dict[str, str]:
    return {"@type": "Organization", "name": name}


def _contact(manifest: Manifest) -> dict[str, Any]:
    contact = manifest["people"]["contact_point"]
    node: dict[str, Any] = {
        "@type": "vcard:Organization",
        "vcard:fn": manifest["people"]["publisher"],
    }
    if contact_email(manifest):
        return node | {"vcard:hasEmail": {"@id": f"mailto:{contact}"}}
    if contact_page(manifest):
        return node | {"vcard:hasURL": {"@id": contact}}
    return node | {"vcard:note": contact}


def _variable(column: dict[str, Any]) -> dict[str, Any]:
    node = {"@type": "PropertyValue", "name": column["name"]}
    about = column["description"] or column["title"]
    return node | ({"description": about} if about else {})


def _technique(manifest: Manifest) -> str:
    names = {entry["name"].replace("-", " ") for entry in manifest["implementation"]["mechanisms"]}
    return (
        f"synthetic data from differentially private counts ({', '.join(sorted(names))}): "
        f"{manifest['guarantee']['statement']}"
    )


def _download(manifest: Manifest, entry: dict[str, Any]) -> dict[str, Any]:
    path = entry["path"]
    address = file_address(manifest, path)
    return {
        "@type": ["DataDownload", "dcat:Distribution"],
        "name": path,
        "description": entry["role"],
        "contentUrl": address,
        "encodingFormat": entry["media_type"],
        "contentSize": f"{entry['bytes']} B",
        "sha256": entry["sha256"],
        "dcat:downloadURL": {"@id": address},
        "dcat:mediaType": {"@id": f"{MEDIA_TYPES}{entry['media_type']}"},
        "dcat:byteSize": {"@value": str(entry["bytes"]), "@type": "xsd:nonNegativeInteger"},
        "spdx:checksum": {
            "@type": "spdx:Checksum",
            "spdx:algorithm": SHA256_ALGORITHM,
            "spdx:checksumValue": {"@value": entry["sha256"], "@type": "xsd:hexBinary"},
        },
    }
