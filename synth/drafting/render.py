"""A draft as YAML with comments: what is marked has to be confirmed before anything accepts it."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from synth.config import FrameSource, PostgresSource, SourceConfig, SparkSource
from synth.config.schema.yaml_tree import TAG
from synth.drafting.column import DraftColumn, DraftUnit, flow_list, yaml_text

PRIVATE = f"""\
# PRIVATE. This draft was made by looking at raw data, without any noise. Levels, bounds, edges,
# words for missing values, types, the unit, which columns are left out, and comments may each tell
# of one person. Show it to nobody who may not see the raw data.
#
# Every entry marked {TAG} is refused by `synth check`, `synth run` and all the others. Compare it
# with a PUBLIC source (a codebook, a questionnaire, a law), correct it, and then remove the mark:
# a level that nobody has belongs in, a level that only the data show does not. Name that source
# under `source`. `synth confirm` asks for all of it on a terminal. Remove these comments before
# anybody else sees the file.
"""

PUBLIC = f"""\
# Drafted from a public codebook; no data were opened. Entries marked {TAG} are not in it. Every
# command refuses them until somebody gives a value and removes the mark: `synth confirm` asks.
"""

HEAD = f"""\
schema_version: 1

release:
  id: {TAG} my-release              # a-z, 0-9 and hyphens; names the release folder for good
  title: {TAG}
  description: {TAG}
  curators: {TAG} []
  contact: {TAG}
  intended_use: {TAG}
  region: {TAG}
  sector: {TAG}
  license: {TAG} CC-BY-4.0

"""

GUARANTEE = f"""\
privacy:
  # What this release spends. Smaller protects more and blurs more; 1 is a common choice.
  # `synth plan CONFIG --epsilon 0.5,1,2` compares.
  epsilon: {TAG} 1
  delta: 0
  neighbours: {TAG} add-remove      # or replace-one
UNIT
  justification: {TAG}

ledger:
  path: {TAG} LEDGER
  population: {TAG}
  # What all releases about these people may spend together, for ever: leave room for others.
  epsilon_cap: {TAG} 4
  delta_cap: 0

"""

TAIL = """\

# Combinations that cannot occur, by public logic: - {sex: Male, relationship: Wife}
impossible: []

workload:
  marginals: 3
RECORDS
strategy: auto

output:
  directory: OUTPUTS
  # replicates: 40                 # standard errors for any statistic; no budget, but time: of
                                   # some ten estimates, hours from 10^8 cells on
"""


@dataclass(frozen=True)
class Place:
    """Where the raw data are: a file, a table of a database, or a table of Spark."""

    path: str | None
    url: str = ""
    table: str = ""
    spark_table: str = ""
    spark_master: str | None = None
    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."
    header: tuple[str, ...] | None = None
    sheet: str | None = None
    in_memory: bool = False
    home: str = ".."
    """The directory that is to hold ledger and releases, as seen from the draft."""

    @classmethod
    def of(cls, described: SourceConfig | None, draft: Path) -> Place:
        """The place of a source, as a draft at this path says it: relative to itself."""
        beside = draft.absolute().parent
        home = os.path.relpath(Path.cwd(), beside)
        if isinstance(described, PostgresSource):
            return cls(None, url=described.url, table=described.table, home=home)
        if isinstance(described, FrameSource):
            return cls(None, in_memory=True, home=home)
        if isinstance(described, SparkSource):
            master = described.master
            return cls(None, spark_table=described.table, spark_master=master, home=home)
        if described is None:
            return cls(None, home=home)
        dialect = described.dialect
        return cls(
            os.path.relpath(described.path, beside), delimiter=dialect.delimiter,
            encoding=dialect.encoding, decimal=dialect.decimal, header=dialect.header,
            sheet=described.sheet, home=home,
        )  # fmt: skip

    def under_home(self, path: str) -> str:
        """A path in that directory, as YAML."""
        return yaml_text(path if self.home == "." else f"{self.home}/{path}")

    def lines(self) -> list[str]:
        """The `source` section."""
        if self.url:
            lines = [f"  url: {yaml_text(self.url)}", f"  table: {yaml_text(self.table)}"]
        elif self.spark_table:
            lines = ["  spark:", f"    table: {yaml_text(self.spark_table)}"]
            if self.spark_master is not None:
                lines.append(f"    master: {yaml_text(self.spark_master)}")
        elif self.in_memory:
            lines = ["  frame: true"]
        elif self.path is None:
            lines = [f"  path: {TAG}                   # csv, xlsx, sav, parquet, ..."]
        else:
            lines = [f"  path: {yaml_text(self.path)}"]
            if self.sheet is not None:
                lines.append(f"  sheet: {yaml_text(self.sheet)}")
            if self.delimiter != ",":
                lines.append(f"  delimiter: {yaml_text(self.delimiter)}")
            if self.encoding != "utf-8":
                lines.append(f"  encoding: {self.encoding}")
            if self.decimal != ".":
                lines.append(f"  decimal: {yaml_text(self.decimal)}")
            if self.header is not None:
                lines.append("  # the columns in their order; rename them here and in `domain`")
                lines.append(f"  header: {TAG} {flow_list(self.header)}")
        lines.append(f"  disposal: {TAG} keep              # or delete (files only)")
        return ["source:", *lines, f"  disposal_reason: {TAG}", ""]


def render(
    columns: Sequence[DraftColumn],
    place: Place,
    *,
    reads_raw_data: bool,
    hints: Sequence[str] = (),
    confirms_names: bool = False,
    unit: DraftUnit | None = None,
    expected_records: int | None = None,
) -> str:
    """The configuration as text; `hints` are said at its top.

    With `confirms_names` the names of the columns are marked: they may be values of a record.
    The unit is the record where none is given.

    Ensures: names, levels and advice stand as one line of YAML or of a comment, whatever they hold.
    """
    kept = [column for column in columns if not column.left_out]
    left_out = [column for column in columns if column.left_out]
    mark = f"{TAG} " if confirms_names else ""
    lines = [
        "# The columns, in the order of the release. `missing` stands where a missing value was",
        '# found; where one may occur all the same, write missing: [""], out_of_domain: missing.',
    ]
    for column in left_out:
        lines.append(f"# left out: {yaml_text(column.name)}: {_one_line(column.left_out)}")
        lines += [f"#   to keep it: {_one_line(column.chosen_by)}"] if column.chosen_by else []
    lines.append("domain:" if kept else f"domain: {TAG} []")
    for column in kept:
        lines.append(f"  - name: {mark}{yaml_text(column.name)}")
        lines += [f"    # {_one_line(advice)}" for advice in column.advice]
        lines += [f"    {entry.line()}" for entry in column.entries]
    head = PRIVATE if reads_raw_data else PUBLIC
    head += "".join(f"# LOOK: {_one_line(hint)}\n" for hint in hints)
    source = "\n".join(place.lines()) + "\n"
    guarantee = GUARANTEE.replace("LEDGER", place.under_home("state/ledger.sqlite"))
    guarantee = guarantee.replace("UNIT", "\n".join(_unit(unit)))
    records = f"{TAG} {expected_records}" if expected_records else "20000"
    tail = TAIL.replace("OUTPUTS", place.under_home("outputs"))
    tail = tail.replace(
        "RECORDS",
        f"  {'' if expected_records else '# '}expected_records: {records}"
        "    # about how many records; a public guess, in round numbers",
    )
    return head + HEAD + source + guarantee + "\n".join(lines) + "\n" + tail


def _unit(unit: DraftUnit | None) -> list[str]:
    """The unit of privacy, and what a keeper has to know of it."""
    if unit is None:
        return [f"  unit: {TAG} record                # or {{column: person_id, max_records: 4}}"]
    others = f" Or is it {', '.join(map(yaml_text, unit.others))}?" if unit.others else ""
    return [
        f"  # All records of one person are protected together.{others} Of more than max_records,",
        "  # some are not counted; a larger bound means more noise.",
        f"  unit: {TAG} {{column: {yaml_text(unit.column)}, max_records: {unit.max_records}}}",
    ]


def _one_line(text: str) -> str:
    return re.sub(r"[^ -~]+", " ", text)
