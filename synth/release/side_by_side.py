"""Independent jobs at the same time: the work on one data file beside that on another."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

S = TypeVar("S")
T = TypeVar("T")


def side_by_side(jobs: Sequence[Callable[[], T]]) -> list[T]:
    """The results of the jobs, in order, each in a thread of its own.

    The first one runs in the calling thread, so that its progress is heard.
    Ensures: when this returns or raises, none is at work any more.
    Raises: the first failure, in the order of the jobs.
    """
    if not jobs:
        return []
    with ThreadPoolExecutor(max(1, len(jobs) - 1)) as pool:
        others = [pool.submit(job) for job in jobs[1:]]
        first = jobs[0]()
        return [first, *(other.result() for other in others)]


def both_side_by_side(
    first: Sequence[Callable[[], S]], second: Sequence[Callable[[], T]]
) -> tuple[list[S], list[T]]:
    """The results of two kinds of jobs, one kind beside the other, in two threads.

    The jobs of a kind follow each other: the work on rows holds Python's lock for much of its
    time, and four threads take half as much again of the processors as two. Where there is one
    kind only, see `side_by_side`; its promises hold here too.
    """
    if not second:
        return side_by_side(first), []
    with ThreadPoolExecutor(1) as pool:
        others = pool.submit(lambda: [job() for job in second])
        return [job() for job in first], others.result()
