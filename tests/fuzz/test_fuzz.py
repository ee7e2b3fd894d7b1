"""A few thousand damaged inputs, the same in every run; ``make fuzz MINUTES=30`` tries others."""

import random

import pytest
from targets import all_targets, one

# How many inputs each target gets; the others get more.
SLOW = {"molecules": 10, "commands": 30, ".pt file": 30, "cache file": 60}


@pytest.fixture(scope="module")
def targets(tmp_path_factory):
    return all_targets(tmp_path_factory.mktemp("fuzz"))


def test_damaged_inputs(targets, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    problems = []
    for name, target in targets.items():
        rng = random.Random(name)
        for _ in range(SLOW.get(name, 15 if "/" in name else 100)):
            given, problem = one(target, rng)
            if problem:
                problems.append((name, problem, given[:100]))
    assert not problems
