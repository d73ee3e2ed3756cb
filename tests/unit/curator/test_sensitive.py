"""A sensitive value cannot be looked at, only consumed, once."""

import copy
import pickle

import pytest

from synth.curator.seal import Sensitive


def test_printing_withholds():
    sensitive = Sensitive("Jane Doe")
    assert repr(sensitive) == str(sensitive) == f"{sensitive!r}" == "Sensitive(withheld)"


@pytest.mark.parametrize(
    "look",
    [
        len,
        iter,
        bool,
        hash,
        int,
        float,
        list,
        copy.copy,
        copy.deepcopy,
        pickle.dumps,
        lambda s: s == s,
        lambda s: s != 1,
        lambda s: s < s,
        lambda s: s[0],
        lambda s: 1 in s,
        lambda s: f"{s}",
        lambda s: s.__dict__,
    ],
)
def test_every_other_look_is_refused(look):
    with pytest.raises((TypeError, AttributeError)):
        look(Sensitive([1, 2, 3]))


def test_it_is_consumed_once():
    sensitive = Sensitive([1])
    assert sensitive.consume() == [1]
    with pytest.raises(RuntimeError, match="twice"):
        sensitive.consume()
