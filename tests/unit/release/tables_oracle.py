"""The folder `tables/` read as strangers read it: by the manifest, a reader of CSV, and Parquet."""

import csv
import itertools
import json
import math
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq


def table_findings(folder: Path) -> Iterator[str]:
    """Where a file of a table differs from the measurements, or from what the manifest says."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    events = manifest["accounting"]["events"]
    declared = {column["name"]: column for column in manifest["domain"]["columns"]}
    measured = pq.read_table(folder / "measurements.parquet")
    listed = [entry for entry in manifest["files"] if "event" in entry]
    inside = folder / "tables"
    present = {f"tables/{path.name}" for path in inside.iterdir()} if inside.exists() else set()
    if present != {entry["path"] for entry in listed}:
        yield "the folder holds other files than the manifest lists"
    stated = manifest["post_processing"]["labelled_tables"]
    if (stated["number"], stated["measured"]) != (len(listed), len(events)):
        yield "the manifest counts other tables"
    for entry in listed:
        path, event = entry["path"], events[entry["event"]]
        if int(path.removeprefix("tables/").partition("-")[0]) != entry["event"]:
            yield f"{path}: another number than that of its event"
        with (folder / path).open(encoding="utf-8", newline="") as file:
            header, *lines = csv.reader(file)
        if header[:-2] != event["table"]:
            yield f"{path}: other columns than those of its event"
        labels = [
            declared[name]["hierarchy"][-steps]["labels"] if steps else declared[name]["labels"]
            for name, steps in zip(event["table"], event["coarsening"], strict=True)
        ]
        if [tuple(line[:-2]) for line in lines] != list(itertools.product(*labels)):
            yield f"{path}: other labels than those of its cells"
        number = measured.column("table").to_numpy() == entry["event"]
        if [int(line[-2]) for line in lines] != measured.filter(number)["noisy_count"].to_pylist():
            yield f"{path}: other counts than those of the measurements"
        errors = {float(line[-1]) for line in lines}
        if len(errors) != 1 or not math.isclose(*errors, event["variance"] ** 0.5, rel_tol=5.1e-6):
            yield f"{path}: another error than that of the noise"
