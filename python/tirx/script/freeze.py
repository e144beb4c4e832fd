"""Values as they are now. An IR value that reads memory is a formula: used later, it would read what is there then.

Python takes values when a statement runs, so what a kernel keeps in a list, an attribute, a view or a parameter, or
hands to a Python function that may keep it, is bound to a let there. A mutable scalar made by the same statement
(T.local_scalar) stays a reference to it, and the arguments of T and Tx are formulas (annotations keep them).
"""

from __future__ import annotations

from collections import deque
from types import BuiltinMethodType, FunctionType, MethodType

from .. import _ffi_api as _api
from ..ir import (
    Binary,
    Broadcast,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    Not,
    PrimExpr,
    Ramp,
    Select,
)

_CHILDREN = {
    Binary: ("a", "b"), Not: ("a",), Select: ("cond", "true_value", "false_value"), Cast: ("value",),
    Ramp: ("base", "stride"), Broadcast: ("value",),
}  # fmt: skip


def reads_memory(value) -> bool:
    """Whether an expression's value can change when memory is written."""
    stack = [value]
    while stack:
        e = stack.pop()
        if isinstance(e, Call):
            if e.op == "tx.address_of":  # the address of a place, not what is in it
                stack.extend(e.args[0].indices)
                continue
            if not _api.is_pure_intrinsic(e.op):
                return True
            stack.extend(e.args)  # `+=` would ask the FFI array, and become one
        elif isinstance(e, BufferLoad):
            return True
        else:
            stack.extend(getattr(e, f) for f in _CHILDREN.get(type(e), ()))
    return False


def _is_fresh(builder, value) -> bool:
    return isinstance(value, BufferLoad) and any(value.buffer.same_as(b) for b in builder.fresh)


def frozen(builder, value, name="value"):
    """`value` as it is now: a let when it reads memory."""
    if not isinstance(value, PrimExpr) or not reads_memory(value) or _is_fresh(builder, value):
        return value
    if str(value.dtype) in ("", "void"):  # a call for its effects: nothing to keep
        return value
    span = builder.span()
    var = _api.Var(name, value.dtype, None, span)
    builder.emit(_api.Bind(var, value, span))
    if var.dtype == "handle":
        builder.pointers.add(var)
    return var


def displayed(builder, value):
    """An element of a display: frozen, but in the arguments of a call the callee decides."""
    return value if builder.arguments else frozen(builder, value)


def frozen_region(builder, region):
    """A region whose starts and extents are taken now."""
    bounds = [(r.min, r.extent) for r in region.region]
    if not any(reads_memory(e) for pair in bounds for e in pair):
        return region
    ranges = [_api.Range(frozen(builder, lo, "start"), frozen(builder, n, "extent")) for lo, n in bounds]
    return _api.BufferRegion(region.buffer, ranges, list(region.squeezed), region.span)


def frozen_deep(builder, value):
    """`frozen` for everything in tuples, lists and dicts; regions have their bounds taken."""
    if isinstance(value, PrimExpr):
        return frozen(builder, value)
    if isinstance(value, BufferRegion):
        return frozen_region(builder, value)
    if type(value) in (tuple, list, set):
        return type(value)(frozen_deep(builder, v) for v in value)
    if type(value) is dict:
        return {k: frozen_deep(builder, v) for k, v in value.items()}
    return value


CONTAINERS = (list, dict, set, deque)
_MAKERS = (list, tuple, set, frozenset, dict, zip, enumerate, reversed, map, filter, sorted)
_MUTATORS = {
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "insert", "pop", "popitem",
    "popleft", "remove", "reverse", "setdefault", "sort", "update",
}  # fmt: skip


def mutates_container(func) -> bool:
    """Whether `func` is a method that changes a Python list, dict, set or deque."""
    if not isinstance(func, BuiltinMethodType) or func.__name__ not in _MUTATORS:
        return False
    return isinstance(func.__self__, CONTAINERS)


def may_keep(func) -> bool:
    """Whether `func` is Python's or the user's, and may keep its arguments beyond the call: methods and constructors of
    containers, and functions and classes from outside of this package."""
    if isinstance(func, BuiltinMethodType):
        return isinstance(func.__self__, CONTAINERS)
    if any(func is make for make in _MAKERS):
        return True
    if isinstance(func, type):
        return func.__module__.split(".")[0] not in ("builtins", "tirx")
    if isinstance(func, (FunctionType, MethodType)):
        return (func.__module__ or "").split(".")[0] != "tirx"
    return False
