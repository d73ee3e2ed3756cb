"""The independent recount, against sums done by hand."""

from synth.bookkeeping.recount import recount


def test_sums_by_hand(ledger, reserve):
    reserve("a", "1/3")
    reserve("b", "1/6")
    reserve("x", "0.1", population="firms")
    reserve("b", "1/6")
    assert recount(ledger.history()) == {
        "people": ((1, 2), (0, 1)),
        "firms": ((1, 10), (0, 1)),
    }
    ledger.void("a", "a reason")
    assert recount(ledger.history())["people"] == ((1, 6), (0, 1))
    ledger.void("b", "a reason")
    assert recount(ledger.history())["people"] == ((0, 1), (0, 1))
    reserve("a", "2")
    assert recount(ledger.history())["people"] == ((2, 1), (0, 1))
