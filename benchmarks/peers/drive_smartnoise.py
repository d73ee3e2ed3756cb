"""SmartNoise: MST and AIM.

Both draw records by the row sampler of mbi that is not its default: the default makes columns that
were not measured together move together. `mst-as-shipped` leaves the default.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from exchange import read_request, write_records
from mbi import MarkovRandomField
from snsynth import Synthesizer


def draw_independently() -> None:
    """Make the sampler that draws every record independently the only one."""
    shipped = MarkovRandomField.synthetic_data

    def synthetic_data(self: MarkovRandomField, rows: int | None = None, **_: object) -> object:
        return shipped(self, rows=rows, method="sample")

    MarkovRandomField.synthetic_data = synthetic_data


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    np.random.seed(request.seed)
    name, *as_shipped = request.mechanism.split("-", 1)
    if not as_shipped:
        draw_independently()
    options = {"degree": 3} if name == "aim" else {}
    synthesizer = Synthesizer.create(name, epsilon=request.epsilon, delta=request.delta, **options)
    synthesizer.fit(records, categorical_columns=list(records.columns), preprocessor_eps=0.0)
    drawn = synthesizer.sample(len(records))
    write_records(folder, request, pd.DataFrame(drawn, columns=records.columns))
