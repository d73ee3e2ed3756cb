"""The commands about a release folder: they need neither source nor ledger."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from synth.cli.contract import (
    AsJson,
    LogJson,
    ReleasePath,
    Timeout,
    command_log,
    print_json,
)

MOST_REASONS = 10
"""Of so many intervals the table says why they are not to be trusted."""

if TYPE_CHECKING:
    from synth.reading import Answer


def verify(
    release: ReleasePath,
    key: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="PUBLIC.pem", help="It must be signed by this key, or by one of these."
        ),
    ] = None,
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Check a release: rebuild its rows from its measurements. Needs no source, no ledger."""
    log = command_log("verify", log_json=log_json, timeout=timeout)
    from synth.job import pipeline

    with log.doing("verifying"):
        report = pipeline.verify(release, keys=key or ())
    if log_json:
        log.release = report.release_id
        log.done("verified", f"verified: {report.release_id}")
    if as_json:
        print_json(report.to_plain())
    else:
        print(report)


def index(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="The directory of release folders.")
    ],
    timeout: Timeout = None,
    log_json: LogJson = False,
    as_json: AsJson = False,
) -> None:
    """Write the public index of all releases: index.html, feed.xml, series.json. Opens no data."""
    log = command_log("index", log_json=log_json, timeout=timeout)
    from synth.catalogue import rebuild

    with log.doing("making the index"):
        made = rebuild(directory)
    for each in made.left_out:
        log.done("note", f"left out: {each.folder}: {each.why}")
    if as_json:
        print_json(made.to_plain())
    else:
        print(made.page)


def errors(
    release: ReleasePath,
    query: Annotated[
        list[str] | None,
        typer.Option(help='A count, as "sex=Female, age in [20, 40)"; may be given repeatedly.'),
    ] = None,
    marginal: Annotated[
        str, typer.Option(metavar="COLUMNS", help="Every cell of this table, as sex,race.")
    ] = "",
    share: Annotated[
        list[str] | None,
        typer.Option(metavar="QUERY", help="What part of the records is in it; repeatable."),
    ] = None,
    mean: Annotated[
        list[str] | None,
        typer.Option(metavar="COLUMN", help="The mean of a column of numbers; repeatable."),
    ] = None,
    within: Annotated[
        str, typer.Option(metavar="QUERY", help="Shares and means among these records alone.")
    ] = "",
    difference: Annotated[
        tuple[str, str] | None,
        typer.Option(
            metavar="QUERY QUERY",
            help="Each share and mean within the first less that within the second; "
            "without these, their counts.",
        ),
    ] = None,
    ratio: Annotated[
        tuple[str, str] | None,
        typer.Option(metavar="QUERY QUERY", help="As --difference: the first over the second."),
    ] = None,
    level: Annotated[float, typer.Option(help="How often an interval holds the truth.")] = 0.95,
    method: Annotated[
        str,
        typer.Option(
            help="measured: from noisy tables, exact; replicates: of the published rows, by the "
            "release's replicates; both; auto: measured where a table answers."
        ),
    ] = "auto",
    as_json: AsJson = False,
) -> None:
    """Counts, shares and means of the raw table with intervals, from a release. Opens no data."""
    from synth.job.log import StageLog
    from synth.reading import Asked, Release, answer_all

    opened = Release(release)
    asked = Asked(share or (), mean or (), within, difference, ratio)
    with StageLog().doing("reading"):
        answers = answer_all(
            opened,
            queries=query or ([] if marginal or asked else ["all records"]),
            marginal=marginal,
            asked=asked,
            level=level,
            method=method,  # type: ignore[arg-type]
        )
    if as_json:
        plain = [answer.to_plain() for answer in answers]
        print_json({"release_id": opened.id, "level": level, "answers": plain})
    else:
        _render(answers, level)


def _render(answers: list[Answer], level: float) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column("query", overflow="fold")
    for title in ("estimate", "published", f"{100 * level:.4g} % interval", "sd"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("method", no_wrap=True)
    for answer in answers:
        numbers = (answer.estimate, answer.published, answer.low, answer.high)
        estimate, published, low, high = (_shown(number, answer) for number in numbers)
        sd = ""
        if answer.sd is not None:
            sd = f"{answer.sd:,.1f}" if answer.kind == "count" else f"{answer.sd:,.2g}"
        table.add_row(answer.query, estimate, published, f"{low} to {high}", sd, answer.method)
    console = Console(markup=False, highlight=False)
    console.print(table)
    for answer in answers:
        if answer.lowest is not None and (answer.lowest, answer.highest) != (
            answer.low,
            answer.high,
        ):
            console.print(
                f"{answer.query}: {_shown(answer.lowest, answer)} to "
                f"{_shown(answer.highest, answer)} wherever in their bins the values lie.",
                soft_wrap=True,
            )
    doubtful = [answer for answer in answers if answer.reason]
    for answer in doubtful[:MOST_REASONS]:
        console.print(f"Do not rely on {answer.query}: {answer.reason}.", soft_wrap=True)
    if len(doubtful) > MOST_REASONS:
        console.print(f"Nor on {len(doubtful) - MOST_REASONS:,} more (--json has the reasons).")
    outside = sum(answer.is_outside for answer in answers)
    if outside:
        console.print(
            f"{outside:,} published number{'s lie' if outside > 1 else ' lies'} outside of "
            f"{'their' if outside > 1 else 'its'} interval: the interval is about the raw table, "
            "and the rows were fitted to all noisy tables at once. Rely on the interval.",
            soft_wrap=True,
        )


def _shown(number: float | None, answer: Answer) -> str:
    """A number as the table shows it: counts and large ones whole, others to four digits."""
    if number is None:
        return "?"
    is_whole = answer.kind == "count" or abs(number) >= 1000
    return f"{number:,.0f}" if is_whole else f"{number:,.4g}"
