"""dpmm: MST, AIM (all three-way tables as workload) and PrivBayes, the declared domain given.

Its noise comes from the operating system, so the seed only moves selection and sampling.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
from dpmm.models.aim import AIMGM
from dpmm.models.mst import MSTGM
from dpmm.models.priv_bayes import PrivBayesGM
from exchange import read_request, write_records

MODELS = {
    "mst": (MSTGM, {"n_jobs": 1}),
    "aim": (AIMGM, {"n_jobs": 1, "degree": 3}),
    "privbayes": (PrivBayesGM, {"n_jobs": 1}),
}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    model, options = MODELS[request.mechanism]
    generator = model(
        epsilon=request.epsilon,
        delta=request.delta,
        domain=dict(request.sizes),
        random_state=np.random.RandomState(request.seed),
        **options,
    )
    generator.fit(records)
    write_records(folder, request, generator.generate())
