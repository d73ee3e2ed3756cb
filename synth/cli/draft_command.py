"""`synth draft`: a configuration to start from, whose entries somebody must confirm."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

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
    from synth.drafting import Place, from_codebook, render
    from synth.job.private_file import require_new, write_private

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
