"""The noise stream: disjoint counters, a key that stays where it is, no cell twice."""

import ast
import copy
import json
import os
import pickle
import struct
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from hypothesis import given
from hypothesis import strategies as st

import synth
from synth.errors import BugError
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
from synth.noise.stream import counter_block

KEY = bytes(range(100, 132))

fields = st.tuples(
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**32 - 1),
    st.integers(0, 2**16 - 1),
    st.integers(0, 2**64 - 1),
)


@given(fields)
def test_a_counter_block_can_be_read_back(numbers):
    """So two different quadruples never share a block."""
    assert struct.unpack(">HIHQ", counter_block(*numbers)) == numbers


@given(fields, st.integers(0, 2**20))
def test_counting_on_stays_in_its_lane_table_and_round(numbers, steps):
    """Counter mode adds 1 to the whole block: only the index moves until it is full."""
    lane, table, round_number, index = numbers
    if index + steps < 2**64:
        later = int.from_bytes(counter_block(*numbers), "big") + steps
        expected = counter_block(lane, table, round_number, index + steps)
        assert later.to_bytes(16, "big") == expected


@pytest.mark.parametrize(
    "numbers",
    [
        (2**16, 0, 0, 0),
        (0, 2**32, 0, 0),
        (0, 0, 2**16, 0),
        (0, 0, 0, 2**64),
        (-1, 0, 0, 0),
        (0, 0, 0, -1),
        (0, True, 0, 0),
        (0, 0, 0, 1.0),
    ],
)
def test_a_counter_out_of_range_is_refused(numbers):
    with pytest.raises(BugError):
        counter_block(*numbers)


def reference_block(lane, table, round_number, index) -> bytes:
    cipher = Cipher(algorithms.AES(KEY), modes.ECB()).encryptor()
    return cipher.update(struct.pack(">HIHQ", lane, table, round_number, index))


def test_the_running_stream_is_the_blocks_in_order():
    keystream = NoiseStream(key=KEY).keystream(lane=4, table=9, index=2**32 - 2)
    words = np.concatenate([keystream.words(count).copy() for count in (8, 24, 16)])
    expected = b"".join(reference_block(4, 9, 0, 2**32 - 2 + i) for i in range(6))
    assert words.tobytes() == expected
    assert words.dtype == np.dtype("<u2")


def test_single_blocks_are_these_blocks():
    indices = np.array([5, 0, 2**40, 2**63 - 1])
    words = NoiseStream(key=KEY).blocks(lane=1, table=2**32 - 1, round_number=3, indices=indices)
    expected = b"".join(reference_block(1, 2**32 - 1, 3, int(i)) for i in indices)
    assert words.astype("<u8").tobytes() == expected
    assert words.shape == (4, 2)


def test_no_blocks_at_all():
    words = NoiseStream(key=KEY).blocks(lane=1, table=0, round_number=0, indices=np.arange(0))
    assert words.shape == (0, 2)


@pytest.mark.parametrize("key", [b"", bytes(16), bytes(31), bytes(33)])
def test_a_key_of_another_size_is_refused(key):
    with pytest.raises(BugError, match="32 bytes"):
        NoiseStream(key=key)


def test_the_stream_is_neither_copied_nor_stored():
    stream = NoiseStream(key=KEY)
    for attempt in (
        lambda: pickle.dumps(stream),
        lambda: copy.copy(stream),
        lambda: copy.deepcopy(stream),
    ):
        with pytest.raises(TypeError, match="neither copied nor stored"):
            attempt()
    with pytest.raises(TypeError):
        vars(stream)


def test_the_stream_does_not_print_its_key():
    stream = NoiseStream(key=KEY)
    for text in (repr(stream), str(stream), f"{stream}"):
        assert text == "NoiseStream(key withheld)"


def test_closing_wipes_the_key():
    stream = NoiseStream(key=KEY)
    key = stream._key
    assert key == KEY
    stream.close()
    assert key == bytes(32)
    with pytest.raises(BugError, match="closed"):
        stream.keystream(lane=0, table=0, index=0)
    with pytest.raises(BugError, match="closed"):
        stream.blocks(lane=0, table=0, round_number=0, indices=np.arange(1))
    stream.close()


def test_no_cell_is_handed_out_twice():
    stream = NoiseStream(key=KEY)
    stream.claim(0, 10, 10)
    stream.claim(0, 0, 10)
    stream.claim(0, 20, 5)
    stream.claim(1, 10, 10)
    stream.claim(0, 12, 0)
    for start, count in ((10, 10), (0, 1), (9, 2), (15, 1), (24, 100), (0, 1000)):
        with pytest.raises(BugError, match="asked for twice"):
            stream.claim(0, start, count)


def test_cells_that_are_handed_out_in_order_stay_handed_out():
    """Claims that follow each other are kept as one, with the start of the first."""
    stream = NoiseStream(key=KEY)
    for start in range(0, 50, 10):
        stream.claim(0, start, 10)
    for cell in range(50):
        with pytest.raises(BugError, match="asked for twice"):
            stream.claim(0, cell, 1)
    stream.claim(0, 50, 1)


@pytest.mark.parametrize(
    "numbers", [(-1, 0, 1), (0, -1, 1), (0, 0, -1), (2**32, 0, 1), (0, 2**63, 1), (0, 0, 1.0)]
)
def test_cells_beyond_the_stream_are_refused(numbers):
    with pytest.raises(BugError):
        NoiseStream(key=KEY).claim(*numbers)


def test_streams_of_the_operating_system_differ():
    words = {
        NoiseStream.from_operating_system().keystream(lane=0, table=0, index=0).words(8).tobytes()
        for _ in range(50)
    }
    assert len(words) == 50


def test_streams_of_different_processes_differ():
    code = (
        "from fractions import Fraction; from synth.noise import *;"
        "s = TableSampler(DiscreteLaplace(Fraction(1, 10), 1));"
        "print(s.draw(NoiseStream.from_operating_system(), table=0, start=0, count=64).tolist())"
    )
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout
    sampler = TableSampler(DiscreteLaplace(Fraction(1, 10), 1))
    own = sampler.draw(NoiseStream.from_operating_system(), table=0, start=0, count=64).tolist()
    assert json.loads(other) != own


def test_a_forked_process_cannot_use_the_stream():
    """Parent and child would draw the same noise."""
    code = """
import os, sys
from synth.errors import BugError
from synth.noise import DiscreteLaplace, NoiseStream, TableSampler
stream = NoiseStream.from_operating_system()
if os.fork() == 0:
    try:
        stream.keystream(lane=0, table=0, index=0)
    except BugError:
        os._exit(0)
    os._exit(1)
_, status = os.wait()
stream.keystream(lane=0, table=0, index=0)
sys.exit(os.waitstatus_to_exitcode(status))
"""
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_key_comes_from_the_operating_system(monkeypatch):
    asked = []

    def urandom(size):
        asked.append(size)
        return bytes(range(size))

    monkeypatch.setattr(os, "urandom", urandom)
    stream = NoiseStream.from_operating_system()
    assert asked == [32]
    assert stream._key == bytes(range(32))


def test_only_the_self_test_chooses_a_key():
    """No seed in the product. An audit draws the same noise for made-up neighbours, of no data."""
    users = {}
    package = Path(synth.__file__).parent
    for path in package.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if "NoiseStream(" in text else ():
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                name = node.func.id
                if name == "NoiseStream":
                    users[str(path.relative_to(package))] = ast.unparse(node)
    assert users == {
        "noise/self_tests.py": "NoiseStream(key=GOLDEN_KEY)",
        "audit/counting.py": "NoiseStream(key=self.key)",
    }
