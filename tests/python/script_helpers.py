"""Shared by the tests of the script language.

Importing `round_trip` into a test module makes every function that its tests parse go through the printer
and back: parse(print(f)) equals f.
"""

import pytest

from tirx import ir
from tirx.script import entry, from_source


@pytest.fixture(autouse=True)
def round_trip(monkeypatch):
    """Check parse(print(f)) == f for every function parsed by the test."""
    parse, busy = entry.parse, []

    def parse_and_print(*args, **kwargs):
        func = parse(*args, **kwargs)
        if not busy:
            busy.append(1)
            again = from_source(str(func))
            busy.pop()
            assert ir.first_difference(func, again) is None, str(func)
        return func

    monkeypatch.setattr(entry, "parse", parse_and_print)


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
