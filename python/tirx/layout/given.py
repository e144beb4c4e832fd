"""Reading what a caller gave: anything of the wrong kind is the user's mistake, a LayoutError that says so."""

from __future__ import annotations

import operator

import tvm_ffi

from ..errors import LayoutError


def refuse(message, code, found, required, hint=""):
    """Raise a LayoutError."""
    raise LayoutError(message, code=code, found=found, required=required, hint=hint)


def integer(value, what) -> int:
    """An int (NumPy's too, no bool, no float)."""
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)
    except TypeError:
        return refuse(f"{what} is an integer", "not-an-integer", f"{value!r}", "an int")


def sequence(value, what) -> list:
    """The items of any iterable but text."""
    try:
        if isinstance(value, str):
            raise TypeError
        return list(value)
    except TypeError:
        return refuse(f"{what} is a sequence", "not-a-sequence", f"{value!r}", "a list or tuple")


def integers(values, what) -> tuple:
    """A tuple of ints."""
    return tuple(integer(v, f"each item of {what}") for v in sequence(values, what))


def instance(value, cls, what):
    """The value, checked to be of a class (or one of several)."""
    if not isinstance(value, cls):
        names = " or ".join(c.__name__ for c in (cls if isinstance(cls, tuple) else (cls,)))
        refuse(
            f"{what} is of another kind", "bad-operand", f"{value!r} of type {type(value).__name__}", names
        )
    return value


def bits_of(dtype) -> int:
    """Bits of an element, all lanes of a vector dtype together."""
    try:
        found = tvm_ffi.dtype(dtype)
    except (ValueError, TypeError):
        refuse("no such element type", "bad-dtype", f"{dtype!r}", "a dtype, for instance 'float16'")
    return found.bits * found.lanes
