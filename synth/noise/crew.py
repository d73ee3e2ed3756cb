"""Several threads that share the blocks of one job."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence


def work_through(
    starts: Sequence[int],
    job: Callable[[int], None],
    *,
    threads: int,
    told: Callable[[int], None] | None = None,
) -> None:
    """Call `job` for every start, on `threads` threads; the calling one is one of them.

    `told` hears in the calling thread how many jobs are done.

    Privacy: which thread does what depends on the clock; the jobs must not care.
    Ensures: when this returns or raises, no thread is at work any more, and no reference to the
    job is left in them. The first failure stops the others after their present job; it is raised
    here, without the frames of the job, which may hold what is secret.
    """
    left = iter(starts)  # handing out the next number is one step of the interpreter
    done: list[int] = []
    failures: list[BaseException] = []

    def next_jobs(told: Callable[[int], None] | None = None) -> None:
        try:
            for start in left:
                if failures:
                    return
                job(start)
                done.append(start)
                if told is not None:
                    told(len(done))
        except BaseException as error:  # raised again by the calling thread
            failures.append(error.with_traceback(None))

    others = [threading.Thread(target=next_jobs, daemon=True) for _ in range(threads - 1)]
    try:
        for thread in others:
            thread.start()
        next_jobs(told)
    except BaseException as error:  # an interrupt between two jobs, or no thread to be had
        failures.append(error)
        raise
    finally:
        for thread in others:
            while thread.ident is not None and thread.is_alive():
                try:
                    thread.join()
                except BaseException as error:  # an interrupt waits until nothing is at work
                    failures.append(error)
    if told is not None and not failures and starts:
        told(len(done))
    if failures:
        raise failures[0]
