"""A directory of releases, made once; copies of a release with other names and words."""

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from synth.config import config_from_public
from synth.measurements import read_measurements, write_measurements
from synth.release.contents import file_sha256
from synth.strict_json import write_folded_json
from tests.chromium import Chromium, chromium
from tests.release_folder import seal
from tests.unit.release.conftest import released_in

MANIFEST = "manifest.json"


def rewrite(
    folder: Path, change: Callable[[dict[str, Any]], object], *, escaped: bool = False
) -> None:
    """Change the manifest of a release, and its list of hashes with it."""
    manifest = json.loads((folder / MANIFEST).read_bytes())
    change(manifest)
    content = json.dumps(manifest).encode() if escaped else write_folded_json(manifest)
    (folder / MANIFEST).write_bytes(content)
    seal(folder)


def copy_as(folder: Path, name: str, *, more: int = 0, days: str = "2026-01-31") -> Path:
    """The same release under another name, with so many records more in the first cell."""
    copy = folder.parent / name
    shutil.copytree(folder, copy)

    def change(manifest: dict[str, Any]) -> None:
        universe = config_from_public(manifest["configuration"]).universe
        measured = read_measurements(copy / "measurements.parquet", universe)
        manifest["configuration"]["release"]["id"] = name
        manifest["identity"] |= {"release_id": name, "date_published": days}
        tables = []
        for table in measured.tables:
            counts = table.noisy_counts.copy()
            counts[0] += more
            tables.append(replace(table, noisy_counts=counts))
        config = config_from_public(manifest["configuration"])
        (copy / "measurements.parquet").unlink()
        write_measurements(
            copy / "measurements.parquet",
            replace(
                measured,
                release_id=name,
                configuration_hash=config.hash,
                tables=tuple(tables),
            ),
        )
        with (copy / "measurements.parquet").open("rb") as file:
            digest = file_sha256(file)
        for entry in manifest["files"]:
            if entry["path"] == "measurements.parquet":
                entry["sha256"] = digest

    rewrite(copy, change)
    return copy


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory of three months of one series and of a release by itself."""
    place = tmp_path_factory.mktemp("catalogue")
    first = released_in(place, release={"id": "visits-2026-01", "title": "Visits"}).folder
    directory = place / "outputs"
    directory.mkdir()
    first.rename(directory / first.name)
    first = directory / first.name
    copy_as(first, "visits-2026-02", more=40, days="2026-02-28")
    copy_as(first, "visits-2026-04", more=90, days="2026-04-30")
    copy_as(first, "census", days="2026-03-01")
    rewrite(directory / "census", lambda manifest: manifest["identity"].update(name="People"))
    return directory


@pytest.fixture
def directory(made: Path, tmp_path: Path) -> Path:
    """A copy of that directory, for a test that changes it."""
    return Path(shutil.copytree(made, tmp_path / "outputs"))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chromium]:
    with chromium(tmp_path_factory.mktemp("chromium")) as running:
        yield running
