"""Faults: a job is killed at every step and at random instants, and each time started again.

    python benchmarks/faults.py steps --action kill
    python benchmarks/faults.py steps --action full
    python benchmarks/faults.py random --kills 1000 --seed 1
    python benchmarks/faults.py disk

After every fault the job is started until it is done. Then there must be one release that verifies,
one charge, the noise that was durable first, no value of the source anywhere but in it, and
nothing left over. The first promise that does not hold ends the benchmark with exit code 1 and
leaves the place of the trial for a look.

`steps` strikes right before every operation that lasts, in both processes of a run (see
`fault_harness/strike.py`). `random` draws the instant of the kill uniformly over the time that an
undisturbed run takes, and who is hit: the whole process group, the measuring process alone, or its
parent alone; with probability 1/3 the restart is killed too. A start that is over before its
instant counts as no kill. `disk` runs the job on real file systems of every small size (root only).
Jobs are forked, not executed anew: see `fault_harness/forked_job.py`; `random --executed` starts
`python -m synth run` itself.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # no thread beside the one that forks
os.environ["JE_ARROW_MALLOC_CONF"] = "background_thread:false"

from fault_harness import forked_job
from fault_harness.strike import FAILURES, Plan
from fault_harness.trial import LostError, Trial, make_job, with_canary

TARGETS = ("group", "group", "group", "measuring process", "parent")
STRATEGIES = ("identity",) * 9 + ("adaptive",)


def steps(place: Path, actions: list[str], every: int) -> dict[str, object]:
    """Strike before every step once by each action; what was found, by action if there are more."""
    rehearsal = Trial(place / "rehearsal", "delete")
    if forked_job.end_of(rehearsal.start(Plan("record"))):
        raise SystemExit("the job does not run without faults")
    written = (rehearsal.place / "steps.txt").read_text().splitlines()
    require_inside(written, rehearsal.place)
    found = {action: struck(place / action, action, every, written) for action in actions}
    return found if len(actions) > 1 else found[actions[0]]


def struck(place: Path, action: str, every: int, written: list[str]) -> dict[str, object]:
    """Strike before every written step; for kills, alone and with the whole group in turn."""
    found: Counter[str] = Counter()
    exits: Counter[int] = Counter()
    for role in ("run", "measure"):
        mine = [line for line in written if line.startswith(f"{role} ")]
        for number in range(0, len(mine), every):
            if action in FAILURES and mine[number].split()[1] == "0":
                continue
            hit = "kill-group" if action == "kill" and number % 2 else action
            trial = Trial(place / f"{role}-{number}", ("keep", "delete")[number % 2])
            code = forked_job.end_of(trial.start(Plan(hit, role, number)))  # type: ignore[arg-type]
            if code == 3:
                raise LostError(f"{action} at {mine[number]}: {trial.place}/said.txt: exit code 3")
            exits[code] += 1
            found[" ".join(mine[number].split()[2:4]) if "fsync" in mine[number] else
                  mine[number].split()[2]] += 1  # fmt: skip
            settle(trial, f"{action} at {mine[number]}")
    return {
        "steps": sum(found.values()),
        "operations": dict(found.most_common()),
        "exit codes": {str(code): count for code, count in sorted(exits.items())},
    }


def settle(trial: Trial, what: str) -> None:
    """Finish the trial and require that nothing is lost."""
    try:
        trial.struck()
        trial.finish()
        trial.require_whole()
    except LostError as error:
        raise LostError(f"{what}: {error} (see {trial.place})") from error
    trial.remove()


def require_inside(written: list[str], place: Path) -> None:
    """No step touches anything outside the job's place."""
    for line in written:
        what = line.split(maxsplit=3)[3] if len(line.split(maxsplit=3)) > 3 else ""
        if what.startswith("/") and not what.startswith((str(place), "/proc/self/fd")):
            raise LostError(f"a run wrote outside its directories: {line}")


def kills(place: Path, count: int, seed: int, *, executed: bool) -> dict[str, object]:
    """Kill at random instants until there were `count` kills."""
    choose = random.Random(seed)
    phases: Counter[str] = Counter()
    targets: Counter[str] = Counter()
    seen: Counter[str] = Counter()
    restarts: list[int] = []
    fresh: dict[str, list[float]] = {}
    stopped: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):  # end after this trial, with what there is
        signal.signal(number, lambda *_: stopped.append(1))
    number = 0
    while sum(targets.values()) < count and not stopped:
        number += 1
        strategy = choose.choice(STRATEGIES)
        known = fresh.setdefault(strategy, [])
        trial = Trial(place / str(number), choose.choice(("keep", "delete")), strategy)
        if number % 25 == 1 or not known:
            known.append(undisturbed(trial, executed))
            del known[:-5]
            trial.remove()
            continue
        hits = 0
        longest = 1.1 * statistics.median(known)
        while True:
            wanted = choose.choice(TARGETS)
            hit = kill_after(trial, choose.uniform(0, longest), wanted, executed)
            trial.struck()
            if hit is None:
                seen["over before its instant"] += 1
            else:
                hits += 1
                targets[hit] += 1
                phases[trial.phases[-1]] += 1
                seen["kills that left a value of the source until the restart"] += bool(
                    with_canary(trial.place) - {"people.csv"}
                )
            if hit is None or choose.random() > 1 / 3:
                break
        before = trial.starts
        settle(trial, f"{trial.phases}")
        seen["starts that found the lock still held"] += trial.waits
        if hits:
            restarts.append(trial.starts - before)
        if number % 50 == 0:
            print(f"{sum(targets.values())} kills, none lost", file=sys.stderr, flush=True)
    return {
        "kills": sum(targets.values()),
        "hit": dict(targets.most_common()),
        "last said": dict(phases.most_common()),
        "jobs": len(restarts),
        "restarts needed": {str(k): v for k, v in sorted(Counter(restarts).items())},
        "median seconds of a run": {
            name: round(statistics.median(known), 2) for name, known in fresh.items() if known
        },
        **seen,
    }


def start(trial: Trial, executed: bool) -> int:
    if not executed:
        return trial.start()
    trial.starts += 1
    with (trial.place / "said.txt").open("ab") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "synth", "run", str(trial.configuration)],
            stdout=said,
            stderr=said,
            env={**os.environ, "TMPDIR": str(trial.place / "tmp")},
            process_group=0,
        ).pid


def undisturbed(trial: Trial, executed: bool) -> float:
    begun = time.perf_counter()
    if forked_job.end_of(start(trial, executed)):
        raise SystemExit("the job does not run without faults")
    return time.perf_counter() - begun


def kill_after(trial: Trial, seconds: float, target: str, executed: bool) -> str | None:
    """Start, wait, kill; who was hit, or None if the start was over before."""
    pid = start(trial, executed)
    time.sleep(seconds)
    if os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
        forked_job.end_of(pid)
        return None
    children = forked_job.children_of(pid)
    if target == "measuring process" and children:
        with suppress(ProcessLookupError):
            os.kill(children[0], signal.SIGKILL)
    elif target == "parent" and children:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)  # the next start comes at once, while the orphan may still be ending
        return target
    else:
        target = "group"
        os.killpg(pid, signal.SIGKILL)
    forked_job.end_of(pid)
    return target


def disk(place: Path, sizes: range) -> dict[str, object]:
    """The job on a file system of each size: until it fits it must fail as expected."""
    codes: Counter[str] = Counter()
    for size in sizes:
        trial = Trial(place / str(size), "delete")
        small = trial.place / "small"
        small.mkdir()
        for name in ("state", "outputs"):
            (small / name).mkdir(mode=0o700 if name == "state" else 0o755)
            (trial.place / name).symlink_to(small / name)
        mounted = ["mount", "-t", "tmpfs", "-o", f"size={size}k", "tmpfs", str(small)]
        subprocess.run(mounted, check=True)
        try:
            for name, mode in (("state", 0o700), ("outputs", 0o755)):
                (small / name).mkdir(mode=mode)
            code = forked_job.end_of(trial.start())
            said = (trial.place / "said.txt").read_text()
            if code not in (0, 1) or (code and "full" not in said and "free some" not in said):
                raise LostError(f"{size} KiB: exit code {code}: {said}")
            codes[f"exit {code}"] += 1
            subprocess.run(["mount", "-o", "remount,size=64m", str(small)], check=True)
            settle_on(trial, size)
        finally:
            subprocess.run(["umount", str(small)], check=True)
        shutil.rmtree(trial.place)
    return {"sizes": len(sizes), **codes}


def settle_on(trial: Trial, size: int) -> None:
    try:
        trial.struck()
        trial.finish()
        trial.require_whole()
    except LostError as error:
        raise LostError(f"{size} KiB: {error}") from error


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweep", choices=["steps", "random", "disk"])
    actions = ["kill", "terminate", *FAILURES]
    parser.add_argument("--action", default=["kill"], choices=actions, nargs="+")
    parser.add_argument("--every", type=int, default=1, help="of the steps, strike every so many")
    parser.add_argument("--kills", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--sizes", default="20,3000,20", help="KiB: from (0 is no limit), to, step")
    parser.add_argument("--executed", action="store_true", help="start Python anew for each job")
    parser.add_argument("--directory", type=Path, help="where the trials are made")
    given = parser.parse_args()
    place = Path(tempfile.mkdtemp(prefix="faults-", dir=given.directory))
    forked_job.warm_up(make_job(place / "warm-up", disposal="keep", strategy="adaptive"))
    begun = time.perf_counter()
    sweeps: dict[str, Callable[[], dict[str, object]]] = {
        "steps": lambda: steps(place, given.action, given.every),
        "random": lambda: kills(place, given.kills, given.seed, executed=given.executed),
        "disk": lambda: disk(place, range(*map(int, given.sizes.split(",")))),
    }
    try:
        found = sweeps[given.sweep]()
    except LostError as error:
        print(f"LOST: {error}", file=sys.stderr)
        sys.exit(1)
    found["seconds"] = round(time.perf_counter() - begun)
    print(json.dumps(found, indent=1))
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
