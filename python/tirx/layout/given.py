"""Reading what a caller gave: anything of the wrong kind is the user's mistake, a LayoutError that says so."""

from __future__ import annotations

import difflib
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


# Element types that hardware or numeric libraries have. The FFI's parser takes any width ("float17").
DTYPES = (
    "bool", *(f"{kind}{bits}" for kind in ("int", "uint") for bits in (1, 2, 4, 8, 16, 32, 64)),
    "float16", "bfloat16", "float32", "float64",
    "float8_e3m4", "float8_e4m3", "float8_e4m3b11fnuz", "float8_e4m3fn", "float8_e4m3fnuz", "float8_e5m2",
    "float8_e5m2fnuz", "float8_e8m0fnu", "float6_e2m3fn", "float6_e3m2fn", "float4_e2m1fn",
)  # fmt: skip


def bits_of(dtype) -> int:
    """Bits of an element, all lanes of a vector dtype together. LayoutError "bad-dtype", with the nearest names, for
    what is none of DTYPES or a vector of one (float16x4)."""
    try:
        found = tvm_ffi.dtype(str(dtype))
        name = str(found).partition("x")[0]
    except (ValueError, TypeError, RuntimeError, AttributeError):
        found, name = None, str(dtype)
    if name not in DTYPES:
        near = difflib.get_close_matches(name, DTYPES, 3, 0.5)
        hint = f"did you mean {' or '.join(near)}?" if near else ""
        refuse(
            "no such dtype", "bad-dtype", f"{dtype!r}", "for instance float16, bfloat16, int8, float32", hint
        )
    return int(found.bits * found.lanes)
