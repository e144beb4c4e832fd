"""The examples of docs/layouts.md, run."""

import doctest
from pathlib import Path


def test_examples_of_the_layout_page():
    page = Path(__file__).parents[2] / "docs" / "layouts.md"
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.FAIL_FAST)
    assert failed == 0 and tried > 20
