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
    """The results of two kinds of jobs, all of them at the same time; see `side_by_side`."""
    with ThreadPoolExecutor(max(1, len(second))) as pool:
        others = [pool.submit(job) for job in second]
        return side_by_side(first), [other.result() for other in others]
