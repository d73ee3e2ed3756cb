"""Every error that a user can meet, and the exit code that goes with it.

Exit codes are part of the contract and never depend on a value in the raw data.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

DISTRIBUTION: Final = "synth-publisher"
"""What is installed; the package index knows another project as `synth`."""


class SynthError(Exception):
    """The root of all expected errors; its text is shown to the user as it is."""

    exit_code = 1

    def __init__(self, sentence: str, *, why: str = "", fix: str = "") -> None:
        """Keep one sentence that says what is wrong, why it matters and how to mend it."""
        self.sentence = sentence
        self.why = why
        self.fix = fix
        super().__init__(sentence)

    def __str__(self) -> str:
        lines = [self.sentence]
        if self.why:
            lines.append(f"    why:      {self.why}")
        if self.fix:
            lines.append(f"    fix:      {self.fix}")
        return "\n".join(lines)

    def to_plain(self) -> dict[str, Any]:
        """The error in JSON values, for a program to read."""
        return {
            "error": type(self).__name__,
            "exit_code": self.exit_code,
            "sentence": self.sentence,
            "why": self.why,
            "fix": self.fix,
        }


class SourceError(SynthError):
    """The source cannot be read as configured; never quotes what was found in it."""

    @classmethod
    def may_not_be_read(cls, shown: str) -> SourceError:
        """What files become that this user may not open; `shown` is the configured name."""
        return cls(
            f"this user may not read the source {shown}",
            why="the permissions of a file, or of a directory on the way to it, do not allow it",
            fix="give this user permission to read it, or start as a user who has it",
        )

    @classmethod
    def cut_short(cls) -> SourceError:
        """What a file or a database becomes that fails while it is read, whatever it said."""
        return cls(
            "the source could not be read to its end",
            why="it is missing, damaged, cut short or not in the format of its name, "
            "or the connection to it was lost",
            fix="check that the whole source is there, that this user may read it, and that it "
            "stays so while it is read",
        )


class PublishedDifferentlyError(SynthError):
    """The release id is taken by a run with another configuration."""


class BusyError(SynthError):
    """Another run of the same release is under way."""


class OutputError(SynthError):
    """The release, the measurements or the ledger cannot be written."""


class DeliveryError(SynthError):
    """The release is published, and the command that delivers it failed."""


class ContradictionError(SynthError):
    """The counts contradict the noisy tables that they were fitted to."""

    @classmethod
    def of_release(cls) -> ContradictionError:
        """What a run says whose estimate cannot be mended."""
        return cls(
            "no counts were found that agree with the noisy tables, so nothing was published",
            why="a release that contradicts its own measurements would mislead whoever reads it; "
            "nothing more was spent, and the measurements are kept",
            fix="publish again with a newer version of synth (`synth publish`), which costs no "
            "budget; report the configuration without its source",
        )


class LedgerError(SynthError):
    """The ledger is missing, damaged or does not fit the request."""


class BugError(SynthError):
    """An internal check failed: a defect of `synth`, reported without data."""

    exit_code = 3


class BudgetRefusedError(SynthError):
    """The charge would exceed the cap of the population, or does not add up with others."""

    exit_code = 4

    def __init__(
        self,
        sentence: str,
        *,
        why: str = "",
        fix: str = "",
        budget_left: Mapping[str, str] | None = None,
    ) -> None:
        """Keep also what is left of the budget, where that is what the charge is compared with."""
        super().__init__(sentence, why=why, fix=fix)
        self.budget_left = budget_left

    def to_plain(self) -> dict[str, Any]:
        """The error in JSON values, with the budget that is left."""
        return {**super().to_plain(), "budget_left": self.budget_left}


class VerificationError(SynthError):
    """A release does not stand up to verification; holds every finding."""

    exit_code = 5

    FIX = (
        "use nothing of it before it verifies: check the version of synth and the key, then get "
        "the whole folder again from its publisher"
    )
    NO_RELEASE = "give the path of a release folder: the one that holds manifest.json"

    def __init__(self, release: str, findings: Iterable[str], *, fix: str = FIX) -> None:
        """Keep the name of the release and one sentence per finding."""
        self.release = release
        self.findings = tuple(findings)
        super().__init__(f"{release}: verification failed", fix=fix)

    def __str__(self) -> str:
        found = [f"  {finding}" for finding in self.findings]
        return "\n".join([self.sentence, *found, f"    fix:      {self.fix}"])

    def to_plain(self) -> dict[str, Any]:
        """The error in JSON values, with every finding."""
        return {**super().to_plain(), "findings": list(self.findings)}


class OtherVersionError(SynthError):
    """Another version wrote a release, and it holds in everything that needs no rebuild."""

    def __init__(self, release: str, writer: str) -> None:
        """Name the release, and the version that can verify it whole."""
        super().__init__(
            f"{release}: not verified: everything but the rebuild holds",
            why=f"it was written by synth {writer}; this version words or computes some fields in "
            "another way, so rows and documents cannot be told from changed ones here",
            fix=f"pip install {DISTRIBUTION}=={writer}, and verify with that version",
        )


@dataclass(frozen=True)
class Problem:
    """One problem of a configuration: a place, what stands there, and how to mend it."""

    line: int | None
    path: str
    found: str
    expected: str
    why: str = ""
    fix: str = ""

    def __str__(self) -> str:
        place = f"line {self.line}".ljust(8) if self.line is not None else " " * 8
        lines = [f"  {place} {self.path}".rstrip()]
        for label, text in (
            ("found", self.found),
            ("expected", self.expected),
            ("why", self.why),
            ("fix", self.fix),
        ):
            if text:
                lines.append(f"    {label + ':':<9} {text}")
        return "\n".join(lines)


class ConfigError(SynthError):
    """A configuration is refused; holds every problem that was found."""

    exit_code = 2

    def __init__(self, name: str, problems: Iterable[Problem]) -> None:
        """Keep the configuration's name and its problems in the order of the file."""
        self.name = name
        self.problems = tuple(problems)
        count = len(self.problems)
        super().__init__(f"{name}: {count} problem{'' if count == 1 else 's'}")

    def __str__(self) -> str:
        return "\n".join([self.sentence, *map(str, self.problems)])

    def to_plain(self) -> dict[str, Any]:
        """The error in JSON values, with every problem."""
        return {**super().to_plain(), "problems": [asdict(problem) for problem in self.problems]}


class PolicyError(ConfigError):
    """A policy does not allow a configuration; holds everything that it does not allow.

    The exit code is that of a refused budget if any ceiling of the budget is exceeded.
    """

    def __init__(self, name: str, problems: Iterable[Problem], *, over_budget: bool) -> None:
        """Keep the configuration's name and the problems; `over_budget` if one is a ceiling."""
        super().__init__(name, problems)
        self.sentence = f"{name}: not allowed by the policy: {self.sentence.removeprefix(name)[2:]}"
        self.exit_code = BudgetRefusedError.exit_code if over_budget else ConfigError.exit_code


class QueryError(SynthError):
    """A query cannot be read, or asks for what a release does not hold."""

    exit_code = 2


class CommandError(SynthError):
    """A command line that cannot be read."""

    exit_code = 2


class KeyFileError(SynthError):
    """A file of a key cannot be used; never shows what is in it."""

    exit_code = 2


def told_as(error: BaseException) -> SynthError:
    """What a user is told of an exception: itself if it was expected, and never any data."""
    if isinstance(error, SynthError):
        return error
    if isinstance(error, MemoryError):
        return SynthError(
            "there was not enough memory",
            fix="run on a larger machine; `synth plan` says roughly how much is needed",
        )
    where = error.__traceback__
    while where is not None and where.tb_next is not None:
        where = where.tb_next
    place = f" in {Path(where.tb_frame.f_code.co_filename).name}:{where.tb_lineno}" if where else ""
    return BugError(
        f"internal error: {type(error).__name__}{place}",
        fix="this is a bug of synth; report this line and the configuration, never the data",
    )


EXIT_INTERRUPTED = 130


class StoppedError(SynthError):
    """The command was told to end by a signal."""

    exit_code = EXIT_INTERRUPTED

    def __init__(self) -> None:
        """Say that nothing is lost."""
        super().__init__("interrupted; start the same command again to continue")
