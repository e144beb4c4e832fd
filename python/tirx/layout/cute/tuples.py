"""Nested tuples of integers: what shapes, strides and coordinates of CuTe layouts are."""

from __future__ import annotations

import math

from ... import ir as _ir
from ...errors import LayoutError


def refuse(message, code, found="", required="", hint=""):
    """The LayoutError of this package; always raised, never returned."""
    raise LayoutError(message, code=code, found=str(found), required=required, hint=hint)


def check_tiler(tiler, a):
    """A tiler by mode has at most the modes of the layout `a`."""
    if len(tiler) > len(a):
        refuse("the tiler has more modes than the layout", "bad-tiler", f"{len(tiler)} for {a}",
               f"at most {len(a)}")  # fmt: skip


def normal(x, what):
    """Lists become tuples, integers of other types become int; anything else is refused. `what` names it."""
    if type(x) is int:
        return x
    if isinstance(x, (tuple, list)):
        if not x:
            refuse(f"a {what} has at least one mode", "empty-tuple", "()", "an int or a non-empty tuple")
        return tuple(normal(e, what) for e in x)
    if isinstance(x, _ir.IntImm):
        return x.value
    if isinstance(x, _ir.PrimExpr):
        return x
    if is_scalar(x):
        return int(x)
    refuse(f"a {what} is made of integers", "not-an-integer", f"{x!r} of type {type(x).__name__}",
           "an int, an integer expression or nested tuples of these")  # fmt: skip


def is_scalar(x) -> bool:
    """An integer or an integer expression."""
    return (hasattr(x, "__index__") and not isinstance(x, bool)) or isinstance(x, _ir.PrimExpr)


def flatten(x) -> tuple:
    """Leaves, left to right."""
    if not isinstance(x, tuple):
        return (x,)
    for e in x:
        if isinstance(e, tuple):
            return tuple(leaf for e in x for leaf in flatten(e))
    return x


def product(x):
    """Product of all leaves."""
    if type(x) is int:
        return x
    leaves = flatten(x)
    return math.prod(leaves[1:], start=leaves[0])


def congruent(a, b) -> bool:
    """Whether two nested tuples have the same nesting."""
    if isinstance(a, tuple) != isinstance(b, tuple):
        return False
    return not isinstance(a, tuple) or (len(a) == len(b) and all(map(congruent, a, b)))


def unflatten(leaves, profile):
    """The leaves in the nesting of `profile`; `leaves` is an iterator."""
    if isinstance(profile, tuple):
        return tuple(unflatten(leaves, p) for p in profile)
    return next(leaves)


def compact(shape, start=1):
    """Strides of the leftmost-fastest order, in the nesting of `shape`."""
    strides = []
    for extent in flatten(shape):
        strides.append(start)
        start = start * extent
    return unflatten(iter(strides), shape)


def text(x) -> str:
    """(2,(3,4)) without blanks; one mode is (4,)."""
    if not isinstance(x, tuple):
        return str(x)
    return f"({','.join(map(text, x))}{',' * (len(x) == 1)})"
