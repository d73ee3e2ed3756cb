"""Runs other people's mechanisms on the benchmark's tables and measures them as ours is measured.

    python benchmarks/peers/run.py --environments ENVS --peers dpmm-mst --tables adult --epsilons 1

ENVS is a folder with one virtual environment per package, named as in PEERS (`ENVS/dpmm`), made
from requirements-<package>.txt. Every run is a process of its own with one thread, at the lowest
priority, and is ended after so many seconds of processor time. Results go to results.jsonl; what
is there already is not run again, nor is a peer that met the limit on that table with no more
epsilon. A run that takes long is not repeated.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import numpy as np
from exchange import Request, expanded, read_counts, read_rows, write_request
from results import Result, append, load

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

import thin_peers  # noqa: E402
import wide  # noqa: E402
from accuracy import distances  # noqa: E402
from tables import table  # noqa: E402

PEERS = {
    "dpmm-mst": ("dpmm", "mst"),
    "private-pgm-mst": ("private-pgm", "mst"),
    "dpmm-aim": ("dpmm", "aim"),
    "datasynthesizer": ("datasynthesizer", "privbayes"),
    "smartnoise-mst": ("smartnoise", "mst"),
    "smartnoise-mst-as-shipped": ("smartnoise", "mst-as-shipped"),
    "smartnoise-aim": ("smartnoise", "aim"),
    "opendp-identity": ("opendp", "identity"),
    "private-pgm-aim": ("private-pgm", "aim"),
    "private-pgm-mwem": ("private-pgm", "mwem"),
    "dpmm-privbayes": ("dpmm", "privbayes"),
    "dpsynth-swift": ("dpsynth", "swift"),
    "dpsynth-swift-small": ("dpsynth", "swift-small"),
}
"""The environment and the mechanism of each peer."""

VERSIONS = {
    "dpmm": "dpmm 0.1.9",
    "private-pgm": "private-pgm 4d2b3c5, jax 0.6.2",
    "datasynthesizer": "DataSynthesizer 0.1.13",
    "smartnoise": "smartnoise-synth 1.0.8, mbi 1.1.0",
    "opendp": "opendp 0.16.0",
    "dpsynth": "dpsynth cf8075f, mbi 2.0.0, jax 0.11.0",
}

ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "RAYON_NUM_THREADS": "1",
    "JAX_PLATFORMS": "cpu",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}

LISTED = {**wide.TABLES, **thin_peers.TABLES}
"""Tables of which there are records alone: they have too many cells to judge all of them."""

DELTA = "1e-9"
WALL_PER_CPU_SECOND = 3
"""A run that waits this much longer than it computes is ended too."""


def prepare(cpu_seconds: int) -> None:
    """In the child: lowest priority, and the system ends it at the limit."""
    os.nice(19)
    resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))


def finish(child: subprocess.Popen[bytes], deadline: float) -> tuple[int, resource.struct_rusage]:
    """Wait for the child, or end it and all that it started at the deadline."""
    while True:
        pid, status, usage = os.wait4(child.pid, os.WNOHANG)
        if pid:
            child.returncode = os.waitstatus_to_exitcode(status)
            return child.returncode, usage
        if time.perf_counter() > deadline:
            os.killpg(child.pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.1)


@dataclass(frozen=True)
class Input:
    """What the peers are given of a table, and how the records in a folder are judged."""

    shape: tuple[int, ...]
    records: np.ndarray
    judge: Callable[[Path], tuple[list[float], int]]


def input_of(name: str) -> Input:
    """A table by its name; figures of those of LISTED are of one to three columns, and small."""
    if name not in LISTED:
        config, truth = table(name)
        shape = config.universe.shape

        def judge(folder: Path) -> tuple[list[float], int]:
            counts = read_counts(folder, shape)
            return distances(counts, truth, shape), int(np.sum(counts))

        return Input(shape, expanded(truth, shape), judge)
    config, columns = LISTED[name]()
    shape = config.universe.shape

    def judge_rows(folder: Path) -> tuple[list[float], int]:
        rows = read_rows(folder)
        return wide.errors(columns, tuple(rows.T), np.ones(len(rows)), shape), len(rows)

    return Input(shape, np.stack(columns, axis=1), judge_rows)


def run(peer: str, name: str, epsilon: str, seed: int, options: argparse.Namespace) -> Result:
    """One run of one peer."""
    package, mechanism = PEERS[peer]
    given = input_of(name)
    sizes = {f"a{position}": size for position, size in enumerate(given.shape)}
    driver = HERE / f"drive_{package.replace('-', '_')}.py"
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        request = Request(mechanism, float(epsilon), float(DELTA), seed, sizes)
        write_request(folder, request, given.records)
        start = time.perf_counter()
        with (folder / "output.txt").open("wb") as output:
            child = subprocess.Popen(
                [options.environments / package / "bin" / "python", driver, folder],
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env={**os.environ, **ONE_THREAD, "PYTHONDONTWRITEBYTECODE": "1"},
                start_new_session=True,
                preexec_fn=lambda: prepare(options.limit),
            )
            code, usage = finish(child, start + WALL_PER_CPU_SECOND * options.limit)
        wall = time.perf_counter() - start
        tvd, records = given.judge(folder) if code == 0 else ([], None)
        lines = (folder / "output.txt").read_text(errors="replace").split("\n")
    was_ended = code in (-signal.SIGXCPU, -signal.SIGKILL)
    last_line = next((line for line in reversed(lines) if line.strip()), "")
    return Result(
        peer,
        VERSIONS[package],
        name,
        epsilon,
        DELTA,
        seed,
        "done" if code == 0 else "not done" if was_ended else "failed",
        tuple(round(value, 6) for value in tvd),
        records,
        round(usage.ru_utime + usage.ru_stime, 1),
        round(wall, 1),
        round(usage.ru_maxrss / 1024),
        options.limit,
        last_line[:200] if code and not was_ended else "",
    )


def is_settled(peer: str, name: str, epsilon: str, seed: int, options: argparse.Namespace) -> bool:
    """Whether this run is there already, or others say that it need not be tried.

    A run that met a lower limit than today's says nothing.
    """
    for found in load():
        if (found.peer, found.table) != (peer, name):
            continue
        if found.status == "not done" and found.limit_cpu_seconds < options.limit:
            continue
        if (found.epsilon, found.seed) == (epsilon, seed):
            return True
        if found.status == "not done" and found.budget <= Fraction(epsilon):
            return True
        if found.epsilon == epsilon and (
            found.cpu_seconds > options.long or found.status == "failed"
        ):
            return True
    return False


def main() -> None:
    """Run what the command line asks for, in its order."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--environments", type=Path, required=True)
    parser.add_argument("--peers", default="dpmm-mst", help=f"of {', '.join(PEERS)}")
    parser.add_argument("--tables", default="adult,nltcs,diamonds,flights")
    parser.add_argument("--epsilons", default="1,0.1,3,10,0.3")
    parser.add_argument("--seeds", default="0", help="one run each")
    parser.add_argument("--limit", type=int, default=400, help="seconds of processor time")
    parser.add_argument("--long", type=float, default=120, help="seconds; not repeated from here")
    options = parser.parse_args()
    for peer in options.peers.split(","):
        for epsilon in options.epsilons.split(","):
            for name in options.tables.split(","):
                for seed in map(int, options.seeds.split(",")):
                    if is_settled(peer, name, epsilon, seed, options):
                        continue
                    result = run(peer, name, epsilon, seed, options)
                    append(result)
                    print(result, flush=True)


if __name__ == "__main__":
    main()
