"""Code that loads the rows with the declared types, whatever the values look like.

Left to itself a reader guesses types: `001` becomes 1, a level `NA` becomes missing, and whole
numbers with missing values become reals. So every column's type is written out.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

LARGEST_R_INTEGER = 2**31 - 1

Column = Mapping[str, Any]
"""A column as `domain.columns` of the manifest describes it."""

NUMERIC = ("integer", "number")


def load_snippets(columns: Sequence[Column], formats: Sequence[str]) -> dict[str, str]:
    """One piece of code per tool: `pandas`, `polars`, `duckdb` and `r`, and `measurements`.

    Ensures: text stays text, missing values are missing, whole numbers stay whole. pandas and R
    read the CSV file if there is one, polars and DuckDB the Parquet file.
    """
    csv, parquet = "csv" in formats, "parquet" in formats
    return {
        "pandas": _pandas(columns) if csv else PANDAS_PARQUET,
        "polars": POLARS_PARQUET if parquet else _polars(columns),
        "duckdb": DUCKDB_PARQUET if parquet else _duckdb(columns),
        "r": _r(columns) if csv else R_PARQUET,
        "measurements": MEASUREMENTS,
    }


MEASUREMENTS = """\
import json
import pandas as pd
number = 0  # which of the tables
with open("manifest.json", encoding="utf-8") as file:
    manifest = json.load(file)
event = manifest["accounting"]["events"][number]
declared = {column["name"]: column for column in manifest["domain"]["columns"]}
noisy = pd.read_parquet("measurements.parquet", filters=[("table", "==", number)])
stride = event["cells"]
for name, steps in zip(event["table"], event["coarsening"]):
    column = declared[name]
    labels = column["hierarchy"][-steps]["labels"] if steps else column["labels"]
    stride //= len(labels)
    listed = noisy.get("code:" + name) if "threshold" in event else None
    codes = noisy["cell"] // stride % len(labels) if listed is None else listed
    noisy[name] = codes.map(dict(enumerate(labels)))"""


def replicate_snippets(columns: Sequence[Column], replicates: Mapping[str, Any]) -> dict[str, str]:
    """Standard errors from `replicates.parquet`: `r` with the package survey, and `numpy`.

    The example is the mean of the first column of numbers, or the share of the first value of the
    first one of text. `replicates` is that section of the manifest's `post_processing`.
    """
    number, factor = replicates["number"], replicates["factor"]
    ranked = sorted(columns, key=lambda each: (_type(each) not in NUMERIC, _type(each) != "text"))
    column = ranked[0]
    name = str(column["name"]).replace("\\", "\\\\").replace("`", "\\`")
    if _type(column) in NUMERIC:
        asked, averaged = f"~`{name}`", f"cells[{_quoted(column)}]"
    else:
        value = json.dumps(column["labels"][0], ensure_ascii=False)
        asked = f"~I(as.character(`{name}`) %in% {value})"
        averaged = f"cells[{_quoted(column)}].astype(str) == {value}"
    has_missing = column["has_missing"] and _type(column) in NUMERIC
    known = f".dropna(subset=[{_quoted(column)}])" if has_missing else ""
    r = f"""\
library(survey)
cells <- nanoparquet::read_parquet("replicates.parquet")
cells$release_count <- pmax(cells$release_count, 1e-9)  # svyglm forgets outcomes of weight 0
design <- svrepdesign(
    data = cells,
    weights = ~release_count,
    repweights = "^release_replicate_[0-9]+$",
    type = "other",
    scale = {factor!r} / {number},
    rscales = rep(1, {number}),
    combined.weights = TRUE,
    mse = TRUE
)
mean <- svymean({asked}, design{", na.rm = TRUE" if has_missing else ""})
confint(mean, df = {number})"""
    numpy = f"""\
import numpy as np
import pandas as pd
cells = pd.read_parquet("replicates.parquet"){known}
def mean(weights):
    return np.average({averaged}, weights=weights)
release = mean(cells["release_count"])
others = [mean(cells[f"release_replicate_{{r}}"]) for r in range(1, {number + 1})]
standard_error = np.sqrt({factor!r} * np.mean((np.array(others) - release) ** 2))"""
    return {"r": r, "numpy": numpy}


PANDAS_PARQUET = """\
import pandas as pd
people = pd.read_parquet("synthetic.parquet", dtype_backend="numpy_nullable")"""

POLARS_PARQUET = """\
import polars as pl
people = pl.read_parquet("synthetic.parquet")"""

DUCKDB_PARQUET = "SELECT * FROM 'synthetic.parquet';"

R_PARQUET = 'people <- arrow::read_parquet("synthetic.parquet")'


def _pandas(columns: Sequence[Column]) -> str:
    types = {
        "text": '"string"',
        "boolean": '"boolean"',
        "integer": '"Int64"',
        "number": '"Float64"',
    }
    typed = [column for column in columns if _type(column) in types]
    listed = _lines(typed, lambda column: f"{_quoted(column)}: {types[_type(column)]},")
    moments = ", ".join(_quoted(column) for column in columns if _type(column) not in types)
    parsed = f'\n    parse_dates=[{moments}],\n    date_format="ISO8601",' if moments else ""
    return f"""\
import pandas as pd
people = pd.read_csv(
    "synthetic.csv",
    dtype={{
{listed}
    }},{parsed}
    keep_default_na=False,
    na_values=[""],
)"""


def _polars(columns: Sequence[Column]) -> str:
    types = {
        "text": "pl.String",
        "boolean": "pl.Boolean",
        "date": "pl.Date",
        "datetime": 'pl.Datetime("ms")',
        "integer": "pl.Int64",
        "number": "pl.Float64",
    }
    listed = _lines(columns, lambda column: f"{_quoted(column)}: {types[_type(column)]},")
    return f"""\
import polars as pl
people = pl.read_csv(
    "synthetic.csv",
    has_header=False,  # the names stand below: polars keeps doubled quotes of a header as they are
    skip_rows=1,
    schema={{
{listed}
    }},
    null_values=[""],
)"""


def _duckdb(columns: Sequence[Column]) -> str:
    types = {"text": "VARCHAR", "boolean": "BOOLEAN", "date": "DATE", "datetime": "TIMESTAMP"}
    types |= {"integer": "BIGINT", "number": "DOUBLE"}

    def written(column: Column) -> str:
        return f"'{_doubled(column['name'])}': '{types[_type(column)]}',"

    listed = _lines(columns, written).removesuffix(",")
    return f"""\
SELECT * FROM read_csv(
    'synthetic.csv',
    header = true,
    auto_detect = false,
    delim = ',',
    quote = '"',
    escape = '"',
    nullstr = '',
    columns = {{
{listed}
    }}
);"""


def _r(columns: Sequence[Column]) -> str:
    def written(column: Column) -> str:
        types = {
            "text": "character",
            "boolean": "logical",
            "date": "Date",
            "datetime": "character",
            "integer": "integer",
            "number": "numeric",
        }
        is_whole = _type(column) == "integer"
        small = not is_whole or all(
            abs(Fraction(edge)) <= LARGEST_R_INTEGER for edge in column["edges"]
        )
        return f'{_quoted(column)} = "{types[_type(column)] if small else "numeric"}",'

    listed = _lines(columns, written).removesuffix(",")
    return f"""\
people <- read.csv(
    "synthetic.csv",
    colClasses = c(
{listed}
    ),
    na.strings = "",
    check.names = FALSE,
    encoding = "UTF-8"
)"""


def table_snippets(table: Mapping[str, Any]) -> dict[str, str]:
    """Code for `duckdb` and `r` that loads a noisy table with labels, of `labelled_tables`."""
    path, (*names, count, error) = table["path"], table["names"]
    types = [*((name, "VARCHAR", "character") for name in names), (count, "BIGINT", "numeric")]
    types.append((error, "DOUBLE", "numeric"))
    sql = ",\n".join(f"        '{_doubled(name)}': '{kind}'" for name, kind, _ in types)
    r = ",\n".join(f'        {_quoted({"name": name})} = "{kind}"' for name, _, kind in types)
    return {
        "duckdb": f"""\
SELECT * FROM read_csv(
    '{path}',
    header = true,
    auto_detect = false,
    delim = ',',
    quote = '"',
    escape = '"',
    columns = {{
{sql}
    }}
);""",
        "r": f"""\
counts <- read.csv(
    "{path}",
    colClasses = c(
{r}
    ),
    na.strings = character(0),
    check.names = FALSE,
    encoding = "UTF-8"
)""",
    }


def _doubled(name: str) -> str:
    return name.replace("'", "''")


def _type(column: Column) -> str:
    return str(column["published_type"])


def _quoted(column: Column) -> str:
    """The name as a text in double quotes: Python and R read the escapes of JSON alike."""
    return json.dumps(column["name"], ensure_ascii=False)


def _lines(columns: Sequence[Column], written: Callable[[Column], str]) -> str:
    return "\n".join(f"        {written(column)}" for column in columns)
