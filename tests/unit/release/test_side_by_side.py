"""Jobs side by side: results in order, the first failure, and never more than two kinds at once."""

import threading

import pytest

from synth.release.side_by_side import both_side_by_side, side_by_side


def told(who, value):
    """A job that notes the thread in which it is done."""

    def job():
        who.append(threading.get_ident())
        return value

    return job


def failing(message):
    def job():
        raise ValueError(message)

    return job


def test_two_kinds_take_two_threads_and_the_first_is_the_calling_one():
    first, second = [], []
    done = both_side_by_side(
        [told(first, 1), told(first, 2)], [told(second, "a"), told(second, "b")]
    )
    assert done == ([1, 2], ["a", "b"])
    assert set(first) == {threading.get_ident()}
    assert len(second) == 2
    assert len(set(second)) == 1
    assert set(first).isdisjoint(second)


def test_the_two_kinds_are_at_work_at_the_same_time():
    meeting = threading.Barrier(2)
    both_side_by_side([lambda: meeting.wait(30)], [lambda: meeting.wait(30)])


def test_jobs_of_one_kind_are_at_work_at_the_same_time():
    meeting = threading.Barrier(2)
    jobs = [lambda: meeting.wait(30), lambda: meeting.wait(30)]
    assert sorted(both_side_by_side(jobs, [])[0]) == [0, 1]
    assert side_by_side([]) == []


@pytest.mark.parametrize(
    ("first", "second", "message"),
    [
        ([failing("one"), failing("two")], [failing("three")], "one"),
        ([told([], 1)], [told([], 2), failing("three")], "three"),
        ([failing("one")], [], "one"),
    ],
)
def test_the_first_failure_is_raised_when_nothing_is_at_work_any_more(first, second, message):
    before = threading.active_count()
    with pytest.raises(ValueError, match=message):
        both_side_by_side(first, second)
    assert threading.active_count() == before
