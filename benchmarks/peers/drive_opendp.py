"""OpenDP: discrete Laplace noise on every cell, negative counts set to zero. It has no delta."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import opendp.prelude as dp
from exchange import read_request, write_counts

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    shape = tuple(request.sizes.values())
    codes = [records[name].to_numpy() for name in request.sizes]
    counts = np.bincount(np.ravel_multi_index(codes, shape), minlength=np.prod(shape))
    dp.enable_features("contrib")
    space = dp.vector_domain(dp.atom_domain(T=dp.i64)), dp.l1_distance(T=dp.i64)
    mechanism = dp.m.make_laplace(*space, scale=1 / request.epsilon)
    noisy = np.array(mechanism(counts.tolist()), dtype=np.int64)
    write_counts(folder, np.maximum(noisy, 0))
