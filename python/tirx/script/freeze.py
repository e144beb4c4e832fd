"""Values as they are now. An IR value that reads memory is a formula: used later, it would read what is there then.

Python takes values when a statement runs, so what a kernel keeps in a list, an attribute, a view or a parameter
is bound to a let there. A mutable scalar made by the same statement (T.local_scalar) stays a reference to it.
"""

from __future__ import annotations

import ast

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
DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)


def reads_memory(value) -> bool:
    """Whether an expression's value can change when memory is written."""
    stack = [value]
    while stack:
        e = stack.pop()
        if isinstance(e, Call):
            if e.op == "tx.address_of":  # the address of a place, not what is in it
                stack += e.args[0].indices
                continue
            if not _api.is_pure_intrinsic(e.op):
                return True
            stack += e.args
        elif isinstance(e, BufferLoad):
            return True
        else:
            stack += [getattr(e, f) for f in _CHILDREN.get(type(e), ())]
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
