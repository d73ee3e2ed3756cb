"""The documents beside the data: each a projection of the manifest alone."""

from __future__ import annotations

from typing import Any

import yaml

from synth.release.contents import CROISSANT, DATA_PACKAGE, REGISTRY
from synth.release.documents.croissant import croissant
from synth.release.documents.datapackage import data_package
from synth.release.documents.facts import Manifest
from synth.release.documents.registry import registry_record
from synth.strict_json import write_json

YAML_WIDTH = 100


def metadata_documents(manifest: Manifest) -> dict[str, bytes]:
    """Every document by its file name.

    Requires: `manifest["files"]` lists the data files. Other entries do not matter: no document
    states a hash of a document, so the manifest can list them all.
    Ensures: the same manifest gives the same bytes, so a verifier can write them again.
    """
    return {
        DATA_PACKAGE: write_json(data_package(manifest)),
        CROISSANT: write_json(croissant(manifest)),
        REGISTRY: _write_yaml(registry_record(manifest)),
    }


def _write_yaml(record: dict[str, Any]) -> bytes:
    """YAML for people: several lines as a block, everything else quoted where it must be."""

    class Dumper(yaml.SafeDumper):
        pass

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    written: str = yaml.dump(
        record, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=YAML_WIDTH
    )
    return written.encode()
