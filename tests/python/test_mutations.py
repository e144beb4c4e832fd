"""Planted faults in Python files are noticed by the tests that their list names (tests/mutations; those in C++ need a
build each and are run by hand: python tools/mutate.py)."""

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import mutate  # noqa: E402

LISTS = sorted(mutate.LISTS.glob("*.json"))


def test_lists_are_well_formed():
    mutants = mutate.load(LISTS)
    assert len(mutants) >= 30 and sum(map(mutate.is_cpp, mutants)) >= 15
    for m in mutants:
        assert m["old"] != m["new"] and m["why"] and (ROOT / m["file"]).exists(), m
        for test in m["tests"]:
            assert test.startswith("-") or test == "not slow" or (ROOT / test.split("::")[0]).exists(), test


PYTHON = {path.stem: [m for m in mutate.load([path]) if not mutate.is_cpp(m)] for path in LISTS}


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, mutants in PYTHON.items() if mutants])
def test_faults_in_python_are_caught(name):
    """A fault whose line has changed is reported as stale and is to be written anew."""
    found = mutate.run(PYTHON[name])
    assert found["caught"] and not found["missed"], found


@pytest.mark.slow
def test_a_fault_that_no_test_sees_is_missed():
    """The runner itself: a harmless change is missed, one that is not there is stale."""
    file, tests = "python/tirx/layout/linear/gf2.py", ["tests/python/test_linear_maps.py"]
    base = {"file": file, "tests": tests, "why": "nothing breaks"}
    harmless = {**base, "old": "Sums are XOR.", "new": "Sums are XORs."}
    gone = {**base, "old": "no such line", "new": ""}
    found = mutate.run([harmless, gone], report=lambda line: None)
    assert found == {"caught": [], "missed": [harmless], "stale": [gone]}
