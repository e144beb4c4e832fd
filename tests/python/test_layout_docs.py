"""The examples of the pages on layouts, run."""

import doctest
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["layouts.md", "linear-layouts.md", "layout-maps.md", "distributed.md"])
def test_examples_of_the_layout_pages(name):
    page = Path(__file__).parents[2] / "docs" / name
    failed, tried = doctest.testfile(str(page), module_relative=False, optionflags=doctest.FAIL_FAST)
    assert failed == 0 and tried > 15
