"""Permute-and-flip: its decision tree has the closed-form law, and that law is private."""

import itertools
from decimal import Decimal, localcontext
from fractions import Fraction

import pytest

from synth.noise import NoiseStream, selection
from synth.noise.selection import is_taken, permute_and_flip, uniform_below

KEY = bytes(range(32))
TOP = 1 << 64


def closed_form(chances):
    """P(r) = p_r * sum over sets S of others of (-1)^|S| * prod p_s / (|S| + 1)."""
    pmf = []
    for r, chance in enumerate(chances):
        others = [p for i, p in enumerate(chances) if i != r]
        total = 0
        for size in range(len(others) + 1):
            for chosen in itertools.combinations(others, size):
                product = 1
                for p in chosen:
                    product *= p
                total += (-1) ** size * product / Fraction(size + 1)
        pmf.append(chance * total)
    return pmf


def stand_in(rate: Fraction) -> Fraction:
    """Any function with values in (0, 1] and 1 at 0, in the place of exp(-rate)."""
    return 1 / (1 + rate) ** 2


def law_of_the_code(monkeypatch, scores, epsilon, sensitivity):
    """The pmf of `permute_and_flip` itself, over every order and every outcome of every flip."""
    pmf = [Fraction(0)] * len(scores)
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        for flips in itertools.product((True, False), repeat=len(scores)):
            chance, script = Fraction(1, len(orders)), iter(flips)

            def scripted(rate, _words, script=script):
                nonlocal chance
                outcome = next(script)
                chance *= stand_in(rate) if outcome else 1 - stand_in(rate)
                return outcome

            monkeypatch.setattr(selection, "random_order", lambda *_, o=order: list(o))
            monkeypatch.setattr(selection, "is_taken", scripted)
            stream = NoiseStream(key=KEY)
            try:
                index = permute_and_flip(
                    scores, epsilon=epsilon, sensitivity=sensitivity, stream=stream, number=0
                )
            except ValueError:
                assert chance == 0, "only a case that cannot happen may have no answer"
                continue
            pmf[index] += chance
    return pmf


@pytest.mark.parametrize(
    "scores", [(0,), (3, 3), (5, 2), (0, 1, 3), (2, 2, Fraction(1, 2)), (7, 0, 0, 4)]
)
def test_the_decision_tree_has_the_closed_form_law(monkeypatch, scores):
    epsilon, sensitivity = Fraction(1, 3), 2
    best = max(scores)
    chances = [stand_in(epsilon * (best - score) / (2 * sensitivity)) for score in scores]
    found = law_of_the_code(monkeypatch, scores, epsilon, sensitivity)
    assert found == closed_form(chances)
    assert sum(found) == 1


def exponential(rate: Fraction) -> Fraction:
    with localcontext() as context:
        context.prec = 80
        return Fraction((-Decimal(rate.numerator) / Decimal(rate.denominator)).exp())


def private_law(scores, epsilon, sensitivity):
    best = max(scores)
    return closed_form([exponential(epsilon * (best - s) / (2 * sensitivity)) for s in scores])


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize("candidates", [2, 3])
def test_every_pair_of_neighbouring_scores_is_within_epsilon(epsilon, candidates):
    """Each score moves by at most the sensitivity, in any direction on its own."""
    epsilon, sensitivity = Fraction(epsilon), 1
    allowed = 1 / exponential(epsilon)

    def losses(scores):
        """Only differences matter."""
        return tuple(max(scores) - score for score in scores)

    pairs = {
        (losses(scores), losses(tuple(map(sum, zip(scores, moves, strict=True)))))
        for scores in itertools.product(range(4), repeat=candidates)
        for moves in itertools.product((-1, 0, 1), repeat=candidates)
    }

    def largest_ratio(epsilon):
        laws = {
            lost: private_law([-loss for loss in lost], epsilon, sensitivity)
            for lost in set().union(*pairs)
        }
        return max(
            p / q for one, other in pairs for p, q in zip(laws[one], laws[other], strict=True)
        )

    assert largest_ratio(epsilon) <= allowed * (1 + Fraction(1, 10**60)), "more is lost"
    assert largest_ratio(2 * epsilon) > allowed, "twice the epsilon would be seen"


@pytest.mark.parametrize("rate", ["0.001", "0.1", "1", "7/3", "20", "43"])
def test_a_flip_compares_with_the_exact_exponential(rate):
    """Just below exp(-rate) the answer is yes, just above no, with one word and with three."""
    exact = exponential(Fraction(rate))
    for words in (1, 3):
        end = int(exact * TOP**words)

        def digits(number, words=words):
            return iter([(number >> 64 * (words - 1 - i)) % TOP for i in range(words)])

        for distance in (1 << 32, 2) if words == 3 else (2,):
            assert is_taken(Fraction(rate), digits(end - distance))
            assert not is_taken(Fraction(rate), digits(end + distance))


def test_an_undecided_word_is_followed_by_another():
    exact = exponential(Fraction(1))
    first = int(exact * TOP)
    assert is_taken(Fraction(1), iter([first, 0]))
    assert not is_taken(Fraction(1), iter([first, TOP - 1]))


def test_the_best_candidate_is_always_taken_on_its_turn():
    assert is_taken(Fraction(0), iter([TOP - 1]))


def test_a_hopeless_candidate_needs_no_endless_work():
    assert not is_taken(Fraction(10**9), iter([1]))


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 1000, 2**63 + 1, 2**64])
def test_whole_numbers_below_a_limit_are_exactly_uniform(limit):
    """2^64 words less the incomplete last run: every residue has the same number of words."""
    multiple = TOP - TOP % limit
    for word in {0, 1, limit - 1, multiple - 1}:
        assert uniform_below(limit, iter([word])) == word % limit
    if multiple < TOP:
        assert uniform_below(limit, iter([multiple, TOP - 1, 5 % limit])) == 5 % limit
    assert multiple % limit == 0


@pytest.mark.parametrize("count", [1, 2, 3, 4])
def test_every_order_comes_from_equally_many_draws(monkeypatch, count):
    seen = {}
    for draws in itertools.product(*(range(n) for n in range(count, 1, -1))):
        script = iter(draws)
        monkeypatch.setattr(selection, "uniform_below", lambda *_, s=script: next(s))
        order = tuple(selection.random_order(count, iter([])))
        seen[order] = seen.get(order, 0) + 1
    assert seen == dict.fromkeys(itertools.permutations(range(count)), 1)
