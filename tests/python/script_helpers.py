"""Shared by the tests of the script language."""

from tirx import ir
from tirx.script import from_source


def check(func, text):
    """`func` equals the function that `text` (one function body, in plain spelling) parses to."""
    expected = from_source(text)
    assert ir.first_difference(func, expected) is None, ir.first_difference(func, expected)


def body_of(func):
    """The statements of a function as a list."""
    return list(func.body.seq) if isinstance(func.body, ir.SeqStmt) else [func.body]


def kinds(func):
    """Class names of the top-level statements."""
    return [type(s).__name__ for s in body_of(func)]
