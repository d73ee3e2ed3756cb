"""DataSynthesizer: PrivBayes ("correlated attribute mode"), two parents at most.

It has no delta. Its levels come from the data; it writes as many rows as there are records. Its
pool of processes, one per core, is cut to one.
"""

from __future__ import annotations

import sys
from functools import partial
from multiprocessing import Pool
from pathlib import Path

from DataSynthesizer.DataDescriber import DataDescriber
from DataSynthesizer.DataGenerator import DataGenerator
from DataSynthesizer.lib import PrivBayes
from exchange import read_request, write_records

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    request, records = read_request(folder)
    PrivBayes.Pool = partial(Pool, 1)
    describer = DataDescriber(category_threshold=max(request.sizes.values()) + 1)
    describer.describe_dataset_in_correlated_attribute_mode(
        str(folder / "records.csv"),
        k=2,
        epsilon=request.epsilon,
        attribute_to_is_categorical=dict.fromkeys(request.sizes, True),
        attribute_to_is_candidate_key=dict.fromkeys(request.sizes, False),
        seed=request.seed,
    )
    describer.save_dataset_description_to_file(str(folder / "description.json"))
    generator = DataGenerator()
    generator.generate_dataset_in_correlated_attribute_mode(
        len(records), str(folder / "description.json"), seed=request.seed
    )
    write_records(folder, request, generator.synthetic_dataset)
