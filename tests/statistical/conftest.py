"""Makes the policy available to the tests of this folder."""

import importlib.util
import sys
from pathlib import Path

import pytest


def load_policy():
    spec = importlib.util.spec_from_file_location(
        "statistical_policy", Path(__file__).with_name("policy.py")
    )
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def policy():
    return sys.modules.get("statistical_policy") or load_policy()
