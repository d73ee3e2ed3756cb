"""A trial: a small job with a canary in every record, and what must hold when it is done."""

from __future__ import annotations

import shutil
import stat
import time
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import yaml

from fault_harness.forked_job import end_of, start_job
from fault_harness.strike import Plan

CANARY = "CANARY-b1f7"
RECORDS = 40
EXIT_OK, EXIT_EXPECTED, EXIT_INTERRUPTED = 0, 1, 130
MOST_RESTARTS = 20
STAGES = ("configuration", "reserved", "measured", "discarded", "written", "published")
"""The first words of the lines of a run's log, in their order."""

CONFIGURATION: dict[str, Any] = {
    "schema_version": 1,
    "release": {
        "id": "small",
        "title": "A small release",
        "description": "Made-up people",
        "curators": ["Nobody"],
        "contact": "nobody@example.org",
        "intended_use": "Benchmark",
        "region": "Nowhere",
        "sector": "Other",
        "license": "CC0-1.0",
    },
    "source": {"path": "people.csv", "disposal": "keep", "disposal_reason": "made up"},
    "privacy": {
        "epsilon": 1,
        "neighbours": "add-remove",
        "unit": "record",
        "justification": "Made-up people need none.",
    },
    "ledger": {"path": "state/ledger.sqlite", "population": "nobody", "epsilon_cap": 2},
    "domain": [
        {
            "name": "age",
            "type": "integer",
            "minimum": 0,
            "maximum": 99,
            "bin_width": 50,
            "out_of_domain": "clamp",
            "source": "made up",
        },
        {
            "name": "town",
            "type": "categorical",
            "levels": ["Nord", "Other"],
            "out_of_domain": "Other",
            "source": "made up",
        },
    ],
    "workload": {"marginals": 1},
    "output": {"directory": "outputs", "formats": ["csv"]},
}


class LostError(Exception):
    """A promise that did not hold."""


def make_job(place: Path, *, disposal: str, strategy: str = "identity") -> Path:
    """Write a configuration and its source; the configuration's path."""
    (place / "tmp").mkdir(parents=True)
    rows = [f'{7 * row % 100},"{CANARY}-{row}"\n' for row in range(RECORDS)]
    (place / "people.csv").write_text("age,town\n" + "".join(rows))
    source = CONFIGURATION["source"] | {"disposal": disposal}
    path = place / "small.yaml"
    path.write_text(yaml.safe_dump(CONFIGURATION | {"source": source, "strategy": strategy}))
    return path


@dataclass
class Trial:
    """One job from its first start to its release."""

    place: Path
    disposal: str
    strategy: str = "identity"
    starts: int = 0
    waits: int = 0
    """Starts that found the lock of the run still held by what the last one left."""
    measured: bytes | None = None
    phases: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.configuration = make_job(self.place, disposal=self.disposal, strategy=self.strategy)
        self._source = (self.place / "people.csv").read_bytes()

    def start(self, plan: Plan | None = None, *verb: str) -> int:
        """Start the job; its process id."""
        self.starts += 1
        return start_job(
            [*(verb or ("run",)), str(self.configuration)],
            place=self.place,
            said=self.place / "said.txt",
            plan=plan,
        )

    def struck(self) -> None:
        """Look at what the strike left: noise that is durable now must stay what it is."""
        self.phases.append(self.phase())
        measured = self.place / "state/runs/small/measurements.parquet"
        if measured.exists():
            if self.measured not in (None, measured.read_bytes()):
                raise LostError("fresh noise was drawn for a charge that was used")
            self.measured = measured.read_bytes()

    def phase(self) -> str:
        """The last stage that the start said it had done."""
        said = self.place / "said.txt"
        lines = said.read_text().splitlines() if said.exists() else []
        said.unlink(missing_ok=True)
        stages = [line.split()[0].rstrip(":") for line in lines if line.split()]
        return next((stage for stage in reversed(stages) if stage in STAGES), "nothing")

    def finish(self) -> None:
        """Start the job until it is done, as a scheduler does.

        Raises: LostError if that does not come to an end.
        """
        for _ in range(MOST_RESTARTS):
            code = end_of(self.start())
            said = (self.place / "said.txt").read_text()
            (self.place / "said.txt").unlink()
            if code == EXIT_OK:
                return
            if code != EXIT_EXPECTED or "another process" not in said:
                raise LostError(f"a start after the fault ended with {code}: {said}")
            self.waits += 1
            time.sleep(0.05)
        raise LostError("the lock of the run stays held")

    def require_whole(self) -> None:
        """One release that verifies, one charge, the modes, and no canary but in the source.

        Raises: LostError.
        """
        self._require_release()
        self._require_one_charge()
        self._require_no_canary()
        require_modes(self.place)
        source = self.place / "people.csv"
        if self.disposal == "delete" and source.exists():
            raise LostError("the source is still there")
        if self.disposal == "keep" and source.read_bytes() != self._source:
            raise LostError("the source was changed")

    def remove(self) -> None:
        """Remove everything."""
        shutil.rmtree(self.place)

    def _require_release(self) -> None:
        from synth.catalogue import INDEX_FILES
        from synth.errors import VerificationError
        from synth.release import verify_release

        found = sorted(path.name for path in (self.place / "outputs").iterdir())
        if not {"small"} <= set(found) <= {"small", *INDEX_FILES}:
            raise LostError(f"the output directory holds {found}")
        try:
            verify_release(self.place / "outputs/small")
        except VerificationError as error:
            raise LostError(f"the release does not verify: {error}") from error
        published = (self.place / "outputs/small/measurements.parquet").read_bytes()
        if self.measured not in (None, published):
            raise LostError("what is published is not what was measured first")

    def _require_one_charge(self) -> None:
        from synth.bookkeeping import Ledger, RunState
        from synth.bookkeeping.run_directory import file_sha256

        with Ledger.open_existing(self.place / "state/ledger.sqlite") as ledger:
            ledger.verify_chain()
            kinds = [event.kind for event in ledger.history()]
            record = ledger.state("small")
            spent = ledger.position("nobody").spent.epsilon
        expected = ["reserve", "measured", "discarded", "published"]
        if [kind for kind in kinds if kind not in ("created", "attempt")] != expected:
            raise LostError(f"the ledger holds {kinds}")
        if record is None or record.state is not RunState.PUBLISHED or spent != Fraction(1):
            raise LostError(f"the ledger says {record}")
        measured = file_sha256(self.place / "state/runs/small/measurements.parquet")
        if record.recorded(RunState.MEASURED)["sha256"] != measured:
            raise LostError("the ledger speaks of other measurements")
        if record.attempts > self.starts:
            raise LostError("there are more attempts than starts")

    def _require_no_canary(self) -> None:
        left = sorted(path.name for path in (self.place / "state/runs/small").iterdir())
        if left != sorted(
            ["lock", "measured-files.json", "measurements.parquet", "receipt.json", "reservation"]
        ):
            raise LostError(f"the run directory holds {left}")
        if list((self.place / "tmp").iterdir()):
            raise LostError("there are temporary files")
        found = with_canary(self.place) - {"people.csv"}
        if found:
            raise LostError(f"the canary is in {sorted(found)}")


def with_canary(place: Path) -> set[str]:
    """The files under `place` that hold a value of the source."""
    return {
        str(path.relative_to(place))
        for path in place.rglob("*")
        if path.is_file() and CANARY.encode() in path.read_bytes()
    }


def require_modes(place: Path) -> None:
    """Everything before the noise is the owner's alone; the release is everybody's.

    Raises: LostError.
    """
    for top, file_mode, folder_mode in (("state", 0o600, 0o700), ("outputs", 0o644, 0o755)):
        for path in [place / top, *(place / top).rglob("*")]:
            expected = folder_mode if path.is_dir() else file_mode
            if stat.S_IMODE(path.stat().st_mode) != expected:
                raise LostError(f"{path.name} has mode {stat.S_IMODE(path.stat().st_mode):o}")
