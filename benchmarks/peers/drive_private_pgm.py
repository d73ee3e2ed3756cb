"""The reference mechanisms of private-pgm: MST, AIM and MWEM+PGM.

AIM has all three-way tables as its workload. MWEM+PGM has too, and twice as many rounds as there
are attributes; the reference leaves both open, and its own default stops after few tables.
"""

from __future__ import annotations

import itertools
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
from exchange import Request, read_request, write_records
from mbi import Dataset, Domain


def synthetic(dataset: Dataset, request: Request) -> Dataset:
    """Run the mechanism that the request names."""
    budget = request.epsilon, request.delta
    triples = list(itertools.combinations(request.sizes, 3))
    if request.mechanism == "mst":
        return import_module("mst").MST(dataset, *budget)
    if request.mechanism == "aim":
        mechanism = import_module("aim").AIM(*budget, prng=np.random)
        return mechanism.run(dataset, [(triple, 1.0) for triple in triples])[1]
    if request.mechanism == "mwem":
        run = import_module("mwem+pgm").mwem_pgm
        return run(dataset, *budget, workload=triples, rounds=2 * len(request.sizes))
    raise SystemExit(f"no mechanism {request.mechanism}")


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    np.random.seed(request.seed)
    domain = Domain(list(request.sizes), list(request.sizes.values()))
    write_records(folder, request, synthetic(Dataset(records, domain), request).df)
