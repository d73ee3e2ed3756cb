"""Any sequence of steps, against a dictionary that does the same arithmetic by hand."""

import re
import tempfile
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from synth.bookkeeping import ChargeRequest, Ledger, RunState
from synth.errors import (
    BudgetRefusedError,
    LedgerError,
    PublishedDifferentlyError,
    SynthError,
)
from synth.privacy import Budget, Promise, TableEvent

CAP = Fraction(1)
RELEASES = st.sampled_from(["a", "b", "c", "d"])
POPULATIONS = {"a": "people", "b": "people", "c": "people", "d": "firms"}
EPSILONS = st.fractions(min_value=Fraction(1, 60), max_value=Fraction(11, 10), max_denominator=60)
STEPS = ["measured", "discarded", "published"]


class LedgerAgainstDictionary(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.path = Path(self.directory.name) / "ledger.sqlite"
        self.ledger = Ledger.open(self.path)
        self.model = {}

    def teardown(self):
        self.ledger.close()
        self.directory.cleanup()

    def spent(self, population):
        return sum(
            (
                run["epsilon"]
                for name, run in self.model.items()
                if POPULATIONS[name] == population and run["state"] != "voided"
            ),
            Fraction(0),
        )

    def reserve(self, name, epsilon, configuration):
        """Reserve; the question whether there is room has the same answer, and changes nothing."""
        asked = ChargeRequest(
            release_id=name,
            configuration_hash=configuration,
            population=POPULATIONS[name],
            promise=Promise("add-remove", None, None),
            cap=Budget(CAP, Fraction(0)),
            events=[TableEvent(("age",), 3, 1, epsilon)],
        )
        content = self.path.read_bytes()
        try:
            known = Ledger.require_room(self.path, **asked)
        except SynthError as refusal:
            with pytest.raises(type(refusal), match=re.escape(str(refusal))):
                self.ledger.reserve(**asked)
            raise
        assert self.path.read_bytes() == content
        state, position = self.ledger.reserve(**asked)
        is_charged = self.model.get(name, {"state": "voided"})["state"] != "voided"
        assert known is (state if is_charged else None)
        return state, position

    @rule(name=RELEASES, epsilon=EPSILONS, configuration=st.sampled_from("xy"))
    def start(self, name, epsilon, configuration):
        run = self.model.get(name)
        if run is not None and run["state"] != "voided":
            same = run["configuration"] == configuration
            if same and (run["state"] != "reserved" or run["epsilon"] == epsilon):
                state, position = self.reserve(name, epsilon, configuration)
                assert state.value == run["state"]
                assert position.spent_before.epsilon == run["before"]
                run["attempts"] += state is RunState.RESERVED
            else:
                with pytest.raises(PublishedDifferentlyError):
                    self.reserve(name, epsilon, configuration)
            return
        before = self.spent(POPULATIONS[name])
        if before + epsilon > CAP:
            with pytest.raises(BudgetRefusedError):
                self.reserve(name, epsilon, configuration)
            return
        assert self.reserve(name, epsilon, configuration)[0] is RunState.RESERVED
        self.model[name] = {
            "state": "reserved",
            "epsilon": epsilon,
            "configuration": configuration,
            "before": before,
            "attempts": 1,
        }

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def start_again(self, data):
        name = data.draw(st.sampled_from(sorted(self.model)))
        self.start(name, self.model[name]["epsilon"], self.model[name]["configuration"])

    @rule(name=RELEASES, step=st.sampled_from(STEPS))
    def advance(self, name, step):
        state = self.model.get(name, {}).get("state")
        order = ["reserved", *STEPS]
        if state == step or (state in order and order.index(state) + 1 == order.index(step)):
            self.ledger.advance(name, RunState(step))
            self.model[name]["state"] = step
        else:
            with pytest.raises(LedgerError):
                self.ledger.advance(name, RunState(step))

    @rule(name=RELEASES)
    def void(self, name):
        if self.model.get(name, {}).get("state") == "reserved":
            self.ledger.void(name, "a reason")
            self.model[name]["state"] = "voided"
        else:
            with pytest.raises(LedgerError):
                self.ledger.void(name, "a reason")

    @rule()
    def reopen(self):
        self.ledger.close()
        self.ledger = Ledger.open_existing(self.path)

    @invariant()
    def agrees(self):
        for population in ("people", "firms"):
            assert self.ledger.position(population).spent.epsilon == self.spent(population)
        for name in POPULATIONS:
            run = self.ledger.state(name)
            if name not in self.model:
                assert run is None
                continue
            expected = self.model[name]
            assert run.state.value == expected["state"]
            assert run.charge.epsilon == expected["epsilon"]
            assert run.attempts == expected["attempts"]
            assert run.position.spent_before.epsilon == expected["before"]
        self.ledger.verify_chain()


TestLedgerAgainstDictionary = LedgerAgainstDictionary.TestCase
TestLedgerAgainstDictionary.settings = settings(
    max_examples=30, stateful_step_count=20, deadline=None, derandomize=True, database=None
)
