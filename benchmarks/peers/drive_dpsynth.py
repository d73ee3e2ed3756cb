"""dpsynth: SWIFT behind one-way tables, as `DiscreteConfig` sets it up, all triples as workload.

`swift` leaves the limit on the cells of a clique of the junction tree at its default of ten
million; `swift-small` sets it to a hundred thousand, for tables of many codes.
Single precision, as jax has it.
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from exchange import read_request, write_records

warnings.filterwarnings("ignore")

import jax  # noqa: E402
import mbi  # noqa: E402
from dpsynth import discrete_mechanisms  # noqa: E402

MECHANISMS = {"swift": {}, "swift-small": {"max_clique_size": 100_000}}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    jax.config.update("jax_enable_compilation_cache", False)
    domain = mbi.Domain(list(request.sizes), list(request.sizes.values()))
    swift = discrete_mechanisms.SWIFTConfig(**MECHANISMS[request.mechanism])
    mechanism = discrete_mechanisms.DiscreteConfig(swift).calibrate(
        epsilon=request.epsilon, delta=request.delta
    )
    dataset = mbi.Dataset({name: records[name].to_numpy() for name in request.sizes}, domain)
    drawn = mechanism(np.random.default_rng(request.seed), dataset).synthetic_data
    write_records(folder, request, pd.DataFrame({name: drawn.data[name] for name in request.sizes}))
