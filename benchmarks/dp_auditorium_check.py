"""What DP-Auditorium, an auditor of other authors, says of the noise of `synth`.

It needs an environment of its own, with the packages of DP-Auditorium (tensorflow-cpu, etils,
absl-py, typing_extensions), with `synth`, and with the source of DP-Auditorium on the path:

    git clone https://github.com/google/differential-privacy
    PYTHONPATH=differential-privacy/python/dp_auditorium python benchmarks/dp_auditorium_check.py

Its testers get samples of the noisy count of one cell that holds one record or none, measured by
`measure_table` with the stream of the operating system, and say whether a claim is to be
rejected. Every claim is also tested on noise of half the scale, which must be rejected: a test
that rejects nothing says nothing.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import sys
import types
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np

from synth.curator.boundary import measure_table
from synth.curator.seal import Sensitive
from synth.noise import NoiseStream
from synth.privacy import TableEvent, rho_to_epsilon

FAILURE = 0.001
DELTA = Fraction(1, 1000)
CLAIMS = {
    "Laplace, epsilon 1": TableEvent(("cell",), 1, 1, Fraction(1)),
    "Laplace, epsilon 0.1": TableEvent(("cell",), 1, 1, Fraction(1, 10)),
    "Laplace, epsilon 3": TableEvent(("cell",), 1, 1, Fraction(3)),
    "Gaussian, rho 1/8": TableEvent(
        ("cell",), 1, 1, None, "discrete-gaussian", rho=Fraction(1, 8), sensitivity_l2_squared=1
    ),
    "Gaussian, rho 1/2": TableEvent(
        ("cell",), 1, 1, None, "discrete-gaussian", rho=Fraction(1, 2), sensitivity_l2_squared=1
    ),
}


def testers_of_auditorium() -> types.SimpleNamespace:
    """The modules of the testers, without the package of generators, which needs Vizier."""
    place = "dp_auditorium."
    return types.SimpleNamespace(
        properties=importlib.import_module(place + "configs.privacy_property"),
        configs=importlib.import_module(place + "configs.property_tester_config"),
        histogram=importlib.import_module(place + "testers.histogram_tester"),
        hockey=importlib.import_module(place + "testers.hockey_stick_tester"),
        renyi=importlib.import_module(place + "testers.renyi_tester"),
    )


def without_generators() -> None:
    """Import no package as a whole: its generators need services that no tester needs."""
    root = importlib.util.find_spec("dp_auditorium")
    if root is None or not root.submodule_search_locations:
        sys.exit("dp_auditorium is not on the path; see the head of this file")
    place = Path(root.submodule_search_locations[0])
    for name in ("", ".configs", ".testers"):
        package = types.ModuleType(f"dp_auditorium{name}")
        package.__path__ = [str(place / name.removeprefix("."))]
        sys.modules[package.__name__] = package


def halved(event: TableEvent) -> TableEvent:
    """The same table with noise of half the scale."""
    if event.rho is not None:
        return replace(event, rho=4 * event.rho)
    return replace(event, epsilon=2 * event.epsilon)


def samples(event: TableEvent, count: int, records: int) -> np.ndarray:
    """Noisy counts of as many independent cells, each with that many records."""
    counts = np.full(count, records, dtype=np.int64)
    stream = NoiseStream.from_operating_system()
    table = measure_table(Sensitive(counts), replace(event, cells=count), number=0, stream=stream)
    return table.noisy_counts


def verdicts(event: TableEvent, drawn: TableEvent, count: int, library) -> dict[str, str]:
    """The lower bound and the verdict of every tester on noise drawn for `drawn`."""
    if event.epsilon is not None:
        epsilon, delta = float(event.epsilon), 0.0
        reach = int(12 / epsilon) + 2
    else:
        epsilon, delta = float(rho_to_epsilon(event.rho, DELTA)), float(DELTA)
        reach = int(6 * float(event.sigma_squared) ** 0.5) + 2
    # its check of the property asks for delta > 0
    approximate = library.properties.ApproximateDp(epsilon=epsilon, delta=max(delta, 1e-9))
    pairs = [samples(drawn, count, 1), samples(drawn, count, 0)]
    found = {}
    histogram = library.histogram.HistogramTester(
        library.configs.HistogramPropertyTesterConfig(
            test_discrete_mechanism=True,
            histogram_size=2 * reach + 1,
            min_value=0,
            max_value=2 * reach,
            approximate_dp=approximate,
        )
    )
    placed = [np.clip(one, -reach, reach) + reach for one in pairs]
    found["histogram"] = max(
        (histogram.estimate_lower_bound(*order, FAILURE), "delta")
        for order in (placed, placed[::-1])
    )
    verdict = {"histogram": histogram.reject_property(found["histogram"][0])}
    hockey = library.hockey.HockeyStickPropertyTester(
        library.configs.HockeyStickPropertyTesterConfig(
            training_config=library.hockey.make_default_hs_training_config(),
            approximate_dp=approximate,
            evaluation_batch_size=10_000,
        ),
        library.hockey.make_default_hs_base_model(),
    )
    small = [one[: min(count, 200_000)].astype(np.float32) for one in pairs]
    bound = hockey.estimate_lower_bound(*small, FAILURE)
    found["hockey stick"] = (float(bound), "delta")
    verdict["hockey stick"] = hockey.reject_property(bound)
    return {
        name: f"delta >= {found[name][0]:.5f} ({'REJECTED' if verdict[name] else 'not rejected'})"
        for name in found
    }


def main() -> None:
    """Print a table of verdicts."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4_000_000)
    count = parser.parse_args().samples
    without_generators()
    library = testers_of_auditorium()
    print(f"{count:,} samples of each neighbour; failure probability {FAILURE} per verdict")
    for name, event in CLAIMS.items():
        for kind, drawn in (("as claimed", event), ("half the noise", halved(event))):
            for tester, verdict in verdicts(event, drawn, count, library).items():
                print(f"{name:<22} {kind:<15} {tester:<13} {verdict}", flush=True)


if __name__ == "__main__":
    main()
