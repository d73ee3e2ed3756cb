"""Noise added in place by several threads: the same bytes, flat memory, nothing left behind."""

import gc
import itertools
import sys
import threading
import tracemalloc
import weakref
from fractions import Fraction

import numpy as np
import pytest

from synth.errors import BugError
from synth.noise import DiscreteGaussian, DiscreteLaplace, NoiseStream, TableSampler, table_sampler
from synth.noise.table_sampler import work_through

KEY = bytes(range(50, 82))
LAWS = {
    "Laplace 1": DiscreteLaplace(Fraction(1), 1),
    "Laplace 0.001": DiscreteLaplace(Fraction(1, 1000), 1),
    "Laplace 0.001, sensitivity 1000": DiscreteLaplace(Fraction(1, 1000), 1000),
    "Gaussian 3": DiscreteGaussian(Fraction(1, 18), 1),
    "Gaussian 1000": DiscreteGaussian(Fraction(1, 2_000_000), 1),
}
CELLS = 70_001


@pytest.fixture(params=LAWS)
def sampler(request):
    return TableSampler(LAWS[request.param])


def whole(sampler, cells=CELLS):
    return sampler.draw(NoiseStream(key=KEY), table=4, start=0, count=cells)


def test_any_blocks_on_any_number_of_threads_give_the_same_sums(sampler, monkeypatch):
    counts = np.arange(CELLS) % 1000
    expected = counts + whole(sampler)
    monkeypatch.setattr(table_sampler, "SHARED_CHUNK_CELLS", 1_032)  # several in most blocks
    fills = set()
    fill = TableSampler._fill

    def recorded(self, noise, stream, table, start, chunk):
        fills.add((threading.active_count() > 1, chunk < len(noise)))
        fill(self, noise, stream, table, start, chunk)

    monkeypatch.setattr(TableSampler, "_fill", recorded)
    for block, threads in itertools.product((8, 4_096, 10_007, 1 << 19), (1, 2, 5)):
        if block == 8 and threads != 2:
            continue  # slow
        cells = 2_000 if block == 8 else CELLS
        monkeypatch.setattr(table_sampler, "BLOCK_CELLS", block)
        noisy = counts[:cells].copy()
        sampler.add_to(noisy, NoiseStream(key=KEY), table=4, threads=threads)
        assert np.array_equal(noisy, expected[:cells])
    assert (True, True) in fills


def test_blocks_and_chunks_as_they_are_give_the_same_sums():
    """Three blocks and a bit, each of four chunks where threads share them."""
    sampler = TableSampler(LAWS["Laplace 0.001"])
    cells = 3 * table_sampler.BLOCK_CELLS + 12_345
    assert table_sampler.BLOCK_CELLS > table_sampler.SHARED_CHUNK_CELLS
    expected = whole(sampler, cells)
    for threads in (1, 2, 7):
        noisy = np.zeros(cells, dtype=np.int64)
        sampler.add_to(noisy, NoiseStream(key=KEY), table=4, threads=threads)
        assert np.array_equal(noisy, expected)


def test_all_processors_are_the_default(monkeypatch):
    seen = set()
    gate = threading.Barrier(3)
    monkeypatch.setattr(table_sampler, "processors", lambda: 3)
    monkeypatch.setattr(table_sampler, "BLOCK_CELLS", 1_000)
    add_block = TableSampler._add_block

    def recorded(self, *arguments):
        if threading.get_ident() not in seen:
            seen.add(threading.get_ident())
            gate.wait(60)
        add_block(self, *arguments)

    monkeypatch.setattr(TableSampler, "_add_block", recorded)
    sampler = TableSampler(LAWS["Laplace 1"])
    counts = np.zeros(10_000, dtype=np.int64)
    sampler.add_to(counts, NoiseStream(key=KEY), table=4)
    assert len(seen) == 3
    assert np.array_equal(counts, whole(sampler, 10_000))


def test_processors_are_those_that_may_be_used():
    assert table_sampler.processors() >= 1


@pytest.mark.parametrize("count", [0, 1, 7, 9])
def test_tiny_tables(count):
    sampler = TableSampler(LAWS["Laplace 1"])
    counts = np.full(count, 5)
    sampler.add_to(counts, NoiseStream(key=KEY), table=4, threads=4)
    assert np.array_equal(counts, 5 + whole(sampler, count))


@pytest.mark.parametrize(
    "counts", [np.zeros(9), np.zeros(9, np.int32), np.zeros(9, np.uint64), np.zeros((3, 3), int)]
)
def test_counts_of_another_kind_are_refused(counts):
    with pytest.raises(BugError, match="int64 counts"):
        TableSampler(LAWS["Laplace 1"]).add_to(counts, NoiseStream(key=KEY), table=0)


def test_a_table_has_its_noise_once():
    sampler, stream = TableSampler(LAWS["Laplace 1"]), NoiseStream(key=KEY)
    sampler.add_to(np.zeros(100, int), stream, table=0)
    with pytest.raises(BugError, match="twice"):
        sampler.add_to(np.zeros(50, int), stream, table=0)
    with pytest.raises(BugError, match="twice"):
        sampler.draw(stream, table=0, start=99, count=2)


def test_cells_are_claimed_once_however_many_threads_ask():
    """Of 8 threads that ask for overlapping cells at once, for each cell one gets them."""
    stream, won = NoiseStream(key=KEY), []
    gate = threading.Barrier(8)

    def ask():
        gate.wait(60)
        for start in range(0, 4_000, 10):
            try:
                stream.claim(0, start, 10)
            except BugError:
                continue
            won.append(start)

    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        threads = [threading.Thread(target=ask) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert sorted(won) == list(range(0, 4_000, 10))


def test_counts_may_be_mapped_from_a_file(tmp_path):
    sampler = TableSampler(LAWS["Gaussian 1000"])
    counts = np.memmap(tmp_path / "counts", dtype=np.int64, mode="w+", shape=CELLS)
    sampler.add_to(counts, NoiseStream(key=KEY), table=4)
    counts.flush()
    assert np.array_equal(np.fromfile(tmp_path / "counts", np.int64), whole(sampler))


@pytest.mark.parametrize("law", ["Laplace 1", "Laplace 0.001", "Gaussian 1000"])
def test_memory_does_not_grow_with_the_table(law):
    """10^7 cells beside counts of 80 MB: less than 20 MB for each of two threads."""
    sampler, stream = TableSampler(LAWS[law]), NoiseStream(key=KEY)
    counts = np.zeros(10_000_000, dtype=np.int64)
    tracemalloc.start()
    try:
        sampler.add_to(counts, stream, table=0, threads=2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 40e6
    assert counts.any()


def test_what_is_done_is_told_in_the_calling_thread():
    heard = []
    cells = 5 * table_sampler.BLOCK_CELLS // 2
    TableSampler(LAWS["Laplace 1"]).add_to(
        np.zeros(cells, dtype=np.int64),
        NoiseStream(key=KEY),
        table=0,
        threads=2,
        told=lambda done: heard.append((done, threading.get_ident())),
    )
    assert heard[-1] == (cells, threading.get_ident())
    assert {who for _, who in heard} == {threading.get_ident()}
    assert [done for done, _ in heard] == sorted(done for done, _ in heard)


class TestWorkThrough:
    """Threads that share jobs."""

    @pytest.mark.parametrize("threads", [1, 2, 7])
    def test_every_job_is_done_once(self, threads):
        done = []
        work_through(range(0, 500, 5), done.append, threads=threads)
        assert sorted(done) == list(range(0, 500, 5))

    @pytest.mark.parametrize("error", [ValueError("no"), KeyboardInterrupt(), MemoryError()])
    @pytest.mark.parametrize("threads", [1, 3])
    def test_a_failure_stops_all_and_is_raised(self, threads, error):
        alive, begun = threading.active_count(), []

        def job(start):
            begun.append(start)
            if start == 3:
                raise error

        with pytest.raises(type(error)):
            work_through(range(100_000), job, threads=threads)
        assert threading.active_count() == alive
        assert len(begun) < 100_000

    def test_a_failure_of_another_thread_keeps_nothing_of_the_job(self):
        """What the job held is free as soon as the failure has been dealt with."""

        class Secret:
            pass

        secret = Secret()
        watched, main = weakref.ref(secret), threading.get_ident()
        other_failed = threading.Event()

        def job(start, held=secret):
            local = [held]
            if threading.get_ident() == main:
                other_failed.wait(60)
                return
            other_failed.set()
            raise ValueError(f"{start}, not {len(local)}")

        del secret
        with pytest.raises(ValueError, match="not 1") as caught:
            work_through(range(50), job, threads=2)
        frames = []
        traceback = caught.value.__traceback__
        while traceback:
            frames.append(traceback.tb_frame.f_code.co_name)
            traceback = traceback.tb_next
        assert "job" not in frames
        del caught, traceback, job
        gc.collect()
        assert watched() is None

    def test_an_interrupt_of_the_listener_stops_all(self):
        alive = threading.active_count()

        def told(_):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            work_through(range(100_000), lambda _: None, threads=2, told=told)
        assert threading.active_count() == alive
