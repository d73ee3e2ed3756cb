"""The commands for the keeper of raw data: what shows them, and drafts with what they confirm.

`draft`, `inspect` and `evaluate` have no noise, no ledger and no guarantee.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from synth.cli.contract import AsJson, ConfigPath, Period, ReleasePath

if TYPE_CHECKING:
    from synth.config import SourceConfig
    from synth.drafting.records import FoundDraft


WARNING = """\
WARNING: this command reads raw data, without noise, ledger or guarantee. Everything that it infers
is PRIVATE until somebody has confirmed it against a PUBLIC source. Use it where raw data may be
read, and show the draft to nobody who may not read them. With --from-datapackage it reads a
public codebook instead."""


def draft(
    source: Annotated[
        str | None,
        typer.Argument(metavar="[DATA]", help="A file or glob, as source.path takes it."),
    ] = None,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The draft: a new file, mode 0600.")
    ] = Path("config.yaml"),
    url: Annotated[
        str | None, typer.Option(help="A PostgreSQL database instead, as postgresql://host/name.")
    ] = None,
    table: Annotated[str | None, typer.Option(help="The table or view of that database.")] = None,
    spark: Annotated[
        str | None,
        typer.Option(
            metavar="TABLE", help="A table of Spark instead, or parquet.`/absolute/path`."
        ),
    ] = None,
    master: Annotated[
        str | None, typer.Option(help="Where that Spark runs, such as local[2].")
    ] = None,
    from_datapackage: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="A public codebook (Frictionless); opens no data."),
    ] = None,
    resource: Annotated[
        str | None, typer.Option(help="Which table of the data package, if it has several.")
    ] = None,
    levels: Annotated[
        int, typer.Option(min=2, max=10_000, help="List the levels of a column up to so many.")
    ] = 50,
    sheet: Annotated[
        str | None, typer.Option(help="Of a workbook: the name of the sheet, or its number from 1.")
    ] = None,
    delimiter: Annotated[
        str,
        typer.Option(
            help="Between the fields of a CSV file: a character, or tab, comma, semicolon, pipe."
        ),
    ] = "",
    encoding: Annotated[str, typer.Option(help="The encoding of a CSV file.")] = "utf-8",
    decimal: Annotated[str, typer.Option(help="The decimal mark in a CSV file: . or ,")] = ".",
    no_header: Annotated[
        bool,
        typer.Option("--no-header", help="The CSV file has no line of names: c1, c2, ..."),
    ] = False,
) -> None:
    """Draft a configuration FROM RAW DATA (private!), or from a public codebook."""
    from synth.api.private_file import require_new, write_private
    from synth.drafting import Place, from_codebook, render

    require_new(output)
    if master is not None and not spark:
        raise typer.BadParameter("--master goes with --spark")
    at_spark = {"table": spark, "master": master} if spark else None
    written = {"path": source, "url": url, "table": table, "spark": at_spark}
    if sheet is not None:
        written["sheet"] = sheet
    described = _described(written, delimiter, encoding, decimal)
    found: FoundDraft | None = None
    confirms_names = no_header
    if from_datapackage is not None:
        columns = from_codebook(from_datapackage, resource=resource)
    elif described is None:
        raise typer.BadParameter(
            "give DATA, or --url and --table, or --spark, or --from-datapackage"
        )
    elif resource is not None:
        raise typer.BadParameter("--resource goes with --from-datapackage")
    else:
        found = _from_records(described, output, levels, no_header)
        columns, described = found.columns, found.source
        confirms_names |= found.may_lack_header
        for hint in found.hints:
            print(f"LOOK: {hint}", file=sys.stderr)
    place = Place.of(described, output)
    text = render(
        columns,
        place,
        reads_raw_data=found is not None,
        hints=() if found is None else found.hints,
        confirms_names=confirms_names,
        unit=None if found is None else found.unit,
        expected_records=None if found is None else found.expected_records,
    )
    write_private(output, text)
    print(output)
    print(f"Next: synth confirm {output}", file=sys.stderr)


def _from_records(
    described: SourceConfig, output: Path, levels: int, no_header: bool
) -> FoundDraft:
    from synth.config.source_files import source_files
    from synth.curator import seal_process
    from synth.drafting.records import from_records
    from synth.job.log import StageLog

    print(WARNING, file=sys.stderr, flush=True)
    files = source_files(described)
    seal_process(dies_with_parent=False)
    with StageLog().doing("reading"):
        directory = output.absolute().parent
        return from_records(
            described, files, directory=directory, max_levels=levels, names_columns=no_header
        )


def _described(
    place: dict[str, Any], delimiter: str, encoding: str, decimal: str
) -> SourceConfig | None:
    """The source that the command line names, checked by the rules of a configuration."""
    from synth.config.source import parse_source
    from synth.config.source_files import packing

    if not any(place.values()):
        return None
    name = (place["path"] or "").lower()
    if name.removesuffix(packing(Path(name))).endswith(".tsv"):
        delimiter = delimiter or "\t"
    written = place | {"delimiter": delimiter, "encoding": "" if encoding == "utf-8" else encoding}
    written["decimal"] = "" if decimal == "." else decimal
    written |= {"disposal": "keep", "disposal_reason": "a draft"}
    return parse_source(_given(written))


def _given(written: dict[str, Any]) -> dict[str, Any]:
    """What was written on the command line, at every depth."""
    inner = {key: _given(v) if isinstance(v, dict) else v for key, v in written.items()}
    return {key: value for key, value in inner.items() if value}


try:
    import readline
except ImportError:  # not on every system; then nothing is written in advance
    readline = None  # type: ignore[assignment]

WELCOME = """\
{count} entries are marked !CONFIRM. Compare each with a PUBLIC source: what
only the data show is not to be published. The screen shows the draft, which is
PRIVATE; no data are opened. Every answer is saved at once: q or Ctrl-C ends,
and the same command goes on from there."""


class Terminal:
    """Questions on standard output, answers from standard input."""

    def say(self, text: str) -> None:
        """Show some lines; signs of the data that would steer the terminal are written out."""
        print("".join(_visible(each) for each in text))

    def ask(self, prompt: str, written: str = "") -> str:
        """An answer of one line; where the terminal can, it begins with what is written."""
        if readline is not None:
            readline.set_startup_hook(lambda: readline.insert_text(written))
        try:
            return input(prompt)
        finally:
            if readline is not None:
                readline.set_startup_hook()


def _visible(sign: str) -> str:
    is_plain = sign.isprintable() or sign == "\n"
    return sign if is_plain else sign.encode("unicode_escape").decode()


def confirm(
    config: Annotated[
        Path, typer.Argument(metavar="CONFIG", help="The YAML configuration; it is changed.")
    ],
) -> None:
    """Ask for everything that a draft has marked, and remove the marks. Opens no data."""
    from synth.api.private_file import replace_private
    from synth.config.loader import find_problems, read_text, read_tree
    from synth.config.schema.yaml_tree import Unconfirmed
    from synth.drafting.marks import as_if_confirmed, marks, without_private_comments
    from synth.drafting.questions import confirm as ask_for_marks
    from synth.errors import CommandError, ConfigError, Problem

    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CommandError(
            "synth confirm asks questions, and this is no terminal",
            fix="start it on a terminal; or edit the file: compare every entry marked !CONFIRM "
            "with a public source, correct it, and remove the word !CONFIRM",
        )
    problems: list[Problem] = []
    read_tree(config, problems)
    if others := [each for each in problems if not isinstance(each, Unconfirmed)]:
        raise ConfigError(str(config), others)
    text = read_text(config)

    def save(before: str, after: str) -> None:
        replace_private(config, after, before=before)

    terminal = Terminal()
    if found := len(marks(text)):
        print(WELCOME.format(count=found))
        text = ask_for_marks(text, terminal, save, base=config.absolute().parent)
    left = marks(text)
    if left:
        lines = ", ".join(str(spot.line) for spot in left[:8])
        print(f"\n{len(left)} marks are left, on lines {lines}{', ...' * (len(left) > 8)}.")
        print(f"Go on with: synth confirm {config}")
        return
    print("\nNo mark is left.")
    cleaned = without_private_comments(text)
    if text.startswith("# PRIVATE") and cleaned != text:
        print("The comments at the top and beside the columns may still tell of the data.")
        if terminal.ask("Take them out now? y, n > ").strip() == "y":
            save(text, cleaned)
            text = cleaned
    if wrong := find_problems(as_if_confirmed(text), base=config.absolute().parent):
        print(ConfigError(str(config), wrong))
    print(f"Next: synth check {config}")


def inspect(
    config: ConfigPath,
    report: Annotated[
        Path | None,
        typer.Option(help="Write it to this new file of mode 0600 instead of standard output."),
    ] = None,
    period: Period = None,
    as_json: AsJson = False,
) -> None:
    """Say how RAW DATA fit the domain, before a run (private!); charges and changes nothing."""
    from synth.api.keeper import inspect as inspected
    from synth.api.private_file import require_new, require_outside_releases, write_private
    from synth.config import load_config
    from synth.curator import seal_process

    accepted = load_config(config, period=period)
    if report is not None:
        require_outside_releases(report, report)
        require_new(report)
    seal_process(dies_with_parent=False)
    directory = None if report is None else report.absolute().parent
    found = inspected(accepted, directory=directory)
    text = json.dumps(found.to_plain(), indent=2) + "\n" if as_json else f"{found}\n"
    if report is None:
        sys.stdout.write(text)
    else:
        write_private(report, text)
        print(report)


def evaluate(
    config: ConfigPath,
    release: ReleasePath,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="The report: a new file, mode 0600.")
    ] = Path("evaluation.html"),
    target: Annotated[
        list[str] | None,
        typer.Option(help="A column to predict from all others; repeatable. Else every column."),
    ] = None,
    period: Period = None,
) -> None:
    """Compare a release WITH THE RAW DATA, before they go; the report is not private."""
    from synth.api.keeper import evaluate as evaluated
    from synth.config import load_config
    from synth.curator import seal_process

    accepted = load_config(config, period=period)
    seal_process(dies_with_parent=False)
    evaluated(accepted, release, output=output, targets=target or ())
    print(output)
