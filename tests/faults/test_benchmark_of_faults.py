"""A small part of `benchmarks/faults.py`, so that every change of a run meets it.

The benchmark itself requires, after each fault and the starts that follow it: one release that
verifies, one charge, the noise that was durable first, no value of the source outside of it, the
right modes, nothing left over. It ends with 1 at the first promise that does not hold.

It is carried out in a fork of the warm process, so that it and its trials load nothing anew.
"""

import json
from pathlib import Path

from tests.command_line import synth

ACTIONS = ("kill", "full", "broken", "denied", "terminate")
BENCHMARK = Path(__file__).parents[2] / "benchmarks" / "faults.py"
PROGRAM = f"""
import runpy, sys, traceback
sys.argv[0] = {str(BENCHMARK)!r}
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except BaseException:  # also the exit that a lost promise ends with
    traceback.print_exc()
    sys.exit(1)
sys.exit(0)
"""


def benchmark(place, *arguments):
    done = synth(*arguments, "--directory", place, program=PROGRAM)
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout)


def test_kills_at_random_instants(tmp_path):
    found = benchmark(tmp_path, "random", "--kills", "4", "--seed", "20")
    assert found["kills"] >= 4
    assert sum(found["hit"].values()) == found["kills"]
    assert sum(found["restarts needed"].values()) == found["jobs"]


def test_kills_and_failures_right_before_steps_that_last(tmp_path):
    """At the first step of both processes of a run and at one of every 97: three by each action."""
    found = benchmark(tmp_path, "steps", "--action", *ACTIONS, "--every", "97")
    for action in ACTIONS:
        assert found[action]["steps"] >= 1
    assert found["kill"]["exit codes"]["-9"] >= 2
    for action in ACTIONS[1:]:
        assert set(found[action]["exit codes"]) <= {"0", "1", "130"}
