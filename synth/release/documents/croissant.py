"""`croissant.json`: Croissant 1.1 (MLCommons) with the fields on responsible AI."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pyarrow as pa

from synth.errors import DISTRIBUTION
from synth.release.contents import (
    CSV,
    MEASUREMENTS,
    PAGE,
    PARQUET,
    PARQUET_MEDIA_TYPE,
    QUALITY,
)
from synth.release.documents.facts import (
    Manifest,
    data_files,
    full_description,
    guarantee_in_short,
    homepage,
    labelled_columns,
    labelled_tables,
    licence_of,
)
from synth.release.manifest.figures import COLUMNS as FIGURES

CONTEXT = {
    "@language": "en",
    "@vocab": "https://schema.org/",
    "annotation": "cr:annotation",
    "arrayShape": "cr:arrayShape",
    "citeAs": "cr:citeAs",
    "column": "cr:column",
    "conformsTo": "dct:conformsTo",
    "containedIn": "cr:containedIn",
    "cr": "http://mlcommons.org/croissant/",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "dct": "http://purl.org/dc/terms/",
    "description": {"@container": "@language"},
    "equivalentProperty": "cr:equivalentProperty",
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "extract": "cr:extract",
    "field": "cr:field",
    "fileObject": "cr:fileObject",
    "fileProperty": "cr:fileProperty",
    "fileSet": "cr:fileSet",
    "format": "cr:format",
    "includes": "cr:includes",
    "isArray": "cr:isArray",
    "isLiveDataset": "cr:isLiveDataset",
    "jsonPath": "cr:jsonPath",
    "key": "cr:key",
    "md5": "cr:md5",
    "name": {"@container": "@language"},
    "parentField": "cr:parentField",
    "path": "cr:path",
    "prov": "http://www.w3.org/ns/prov#",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "recordSet": "cr:recordSet",
    "references": "cr:references",
    "regex": "cr:regex",
    "repeated": "cr:repeated",
    "replace": "cr:replace",
    "samplingRate": "cr:samplingRate",
    "sc": "https://schema.org/",
    "separator": "cr:separator",
    "source": "cr:source",
    "subField": "cr:subField",
    "transform": "cr:transform",
}

CONFORMS_TO = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]

TYPES = {
    "text": "sc:Text",
    "boolean": "sc:Boolean",
    "date": "sc:Date",
    "datetime": "sc:DateTime",
    "integer": "cr:Int64",
    "number": "cr:Float64",
}

ROWS, NOISY, ACCURACY = "rows", "noisy_counts", "accuracy"

FIGURE_TYPES = {
    pa.string(): "sc:Text",
    pa.list_(pa.string()): "sc:Text",
    pa.int64(): "cr:Int64",
    pa.float64(): "cr:Float64",
}


def croissant(manifest: Manifest) -> dict[str, Any]:
    """The description: addresses are relative, so that a downloaded folder is read as it is.

    Ensures: a deterministic function of the manifest, in plain JSON values.
    """
    identity, people = manifest["identity"], manifest["people"]
    licence = licence_of(identity["license"])
    document: dict[str, Any] = {
        "@context": CONTEXT | {"@language": identity["language"]},
        "@type": "sc:Dataset",
        "conformsTo": CONFORMS_TO,
        "name": identity["name"],
        "description": full_description(manifest),
        "url": homepage(manifest) or PAGE,
        "license": licence.address or licence.written,
        "creator": [_organisation(name) for name in people["data_curators"]],
        "publisher": _organisation(people["publisher"]),
        "datePublished": identity["date_published"],
        "version": f"{identity['version']}.0.0",
        "citeAs": identity["cite_as"],
        "keywords": identity["keywords"],
        "inLanguage": identity["language"],
        "isLiveDataset": False,
        "spatialCoverage": manifest["purpose"]["region"],
    }
    if (covered := manifest["purpose"].get("temporal_coverage")) is not None:
        document["temporalCoverage"] = covered
    return document | {
        **_responsible_ai(manifest),
        "distribution": [
            _file(entry) for entry in (*data_files(manifest), *labelled_tables(manifest))
        ],
        "recordSet": _record_sets(manifest),
    }


def _organisation(name: str) -> dict[str, str]:
    return {"@type": "sc:Organization", "name": name}


def _responsible_ai(manifest: Manifest) -> dict[str, Any]:
    source, purpose, life = manifest["source"], manifest["purpose"], manifest["life_cycle"]
    steps = (step["description"] for step in manifest["post_processing"]["steps"])
    columns = manifest["domain"]["columns"]
    return {
        "rai:dataCollection": source["collection"],
        "rai:dataCollectionRawData": source.get("derived_from", source["population"]),
        "rai:dataCollectionMissingData": _each(columns, "missing_rule"),
        "rai:dataImputationProtocol": (
            "none: a missing value is a level of its column and is published as one"
        ),
        "rai:dataPreprocessingProtocol": [
            manifest["accounting"]["preprocessing_and_hyperparameter_tuning"],
            f"values outside the declared domain: {_each(columns, 'out_of_domain_rule')}",
        ],
        "rai:dataManipulationProtocol": "; ".join(
            ["noise was added to counts, and rows were made from the noisy counts", *steps]
        ),
        "rai:dataUseCases": [purpose["intended_use"]],
        "rai:dataLimitations": [
            *purpose["limitations"],
            *(f"not for: {use}" for use in purpose["out_of_scope_use"]),
        ],
        "rai:dataBiases": purpose["biases"],
        "rai:dataSocialImpact": (
            f"{guarantee_in_short(manifest)} {manifest['guarantee']['statement']}"
        ),
        "rai:personalSensitiveInformation": [source["personal_sensitive_information"]],
        "rai:dataReleaseMaintenancePlan": "; ".join(
            f"{name}: {life[name]}" for name in ("maintenance", "errata", "withdrawal")
        ),
        "prov:wasGeneratedBy": {
            "@type": "prov:Activity",
            "prov:label": (
                f"synth {manifest['implementation']['versions'].get(DISTRIBUTION, '')}: "
                + ", ".join(each["name"] for each in manifest["implementation"]["mechanisms"])
            ),
        },
    }


def _each(columns: list[dict[str, Any]], rule: str) -> str:
    """What a rule says of every column."""
    return "; ".join(f"{column['name']}: {column[rule]}" for column in columns)


def _file(entry: dict[str, Any]) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": entry["path"],
        "name": entry["path"],
        "description": entry["role"],
        "contentUrl": entry["path"],
        "contentSize": f"{entry['bytes']} B",
        "encodingFormat": (
            PARQUET_FORMAT if entry["media_type"] == PARQUET_MEDIA_TYPE else entry["media_type"]
        ),
        "sha256": entry["sha256"],
    }


PARQUET_FORMAT = "application/x-parquet"
"""How Croissant's loader calls Parquet."""


def _record_sets(manifest: Manifest) -> list[dict[str, Any]]:
    paths = [entry["path"] for entry in data_files(manifest)]
    rows_file = CSV if CSV in paths else PARQUET
    columns = labelled_columns(manifest)
    texts = [
        column for column in columns if column["published_type"] == "text" or column["value_labels"]
    ]
    coded = {
        name
        for event in manifest["accounting"]["events"]
        if "threshold" in event
        for name in event["table"]
    }
    noisy = ["table", "cell", "noisy_count"]
    noisy += [f"code:{column['name']}" for column in columns if column["name"] in coded]
    return [
        {
            "@type": "cr:RecordSet",
            "@id": ROWS,
            "name": ROWS,
            "description": manifest["identity"]["statement"],
            "field": [
                _field(ROWS, column["name"], TYPES[column["published_type"]], rows_file)
                | {"description": column["description"] or column["title"] or column["source"]}
                for column in columns
            ],
        },
        {
            "@type": "cr:RecordSet",
            "@id": NOISY,
            "name": NOISY,
            "description": "the noisy counts from which the rows were made; see manifest.json",
            "field": [_field(NOISY, name, "cr:Int64", MEASUREMENTS) for name in noisy],
        },
        {
            "@type": "cr:RecordSet",
            "@id": ACCURACY,
            "name": ACCURACY,
            "description": "what was predicted and fitted of every query and noisy table",
            "field": [
                _field(ACCURACY, name, FIGURE_TYPES[kind], QUALITY)
                | ({"isArray": True, "arrayShape": "-1"} if pa.types.is_list(kind) else {})
                | {"description": description}
                for name, (kind, description) in FIGURES.items()
            ],
        },
        *(_table(entry) for entry in labelled_tables(manifest)),
        *(_levels(column) for column in texts),
    ]


def _table(entry: dict[str, Any]) -> dict[str, Any]:
    """The lines of a noisy table."""
    own = entry["path"].rpartition(".")[0]
    *names, count, error = entry["names"]
    types = [*((name, "sc:Text") for name in names), (count, "cr:Int64"), (error, "cr:Float64")]
    return {
        "@type": "cr:RecordSet",
        "@id": own,
        "name": own,
        "description": entry["role"],
        "field": [_field(own, name, kind, entry["path"]) for name, kind in types],
    }


def _field(record_set: str, name: str, data_type: str, file: str) -> dict[str, Any]:
    return {
        "@type": "cr:Field",
        "@id": f"{record_set}/{quote(name, safe='')}",
        "name": name,
        "dataType": data_type,
        "source": {"fileObject": {"@id": file}, "extract": {"column": name}},
    }


def _levels(column: dict[str, Any]) -> dict[str, Any]:
    """The levels that a text column can show, or the values of one with labels: an enumeration."""
    own = f"levels/{quote(column['name'], safe='')}"
    labels = column["labels"][: column["codes"] - column["has_missing"]]
    meanings = column["value_labels"]
    return {
        "@type": "cr:RecordSet",
        "@id": own,
        "name": own,
        "description": f"the levels of {column['name']}: {column['source']}",
        "dataType": "sc:Enumeration",
        "key": {"@id": f"{own}/name"},
        "field": [
            {"@type": "cr:Field", "@id": f"{own}/{name}", "name": name, "dataType": "sc:Text"}
            for name in (["name", "label"] if meanings else ["name"])
        ],
        "data": [
            {f"{own}/name": label}
            | ({f"{own}/label": meanings.get(label, label)} if meanings else {})
            for label in labels
        ],
    }
