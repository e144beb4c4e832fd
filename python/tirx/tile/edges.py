"""Regions that reach past the end of a tensor in global memory: the config key `oob=` of the moves.

`oob=value`: elements past the end of the source read as `value`. `oob="skip"`: they are left alone: nothing is read,
and elements past the end of the destination are not written. Without the key a region must lie inside its buffer.
Regions start inside the buffer or past its end, never before element 0.
"""

from __future__ import annotations

from ..ir import FloatImm, PrimExpr, StringImm, const
from .builder import as_int, expr_text
from .operand import box_of
from .registry import fail

OOB_CONFIG = 'what an element past the end of the global tensor reads as; "skip": it is not touched'


class Edges:
    """What `oob=` asks of one call: limits {dimension: elements that exist}, conditions on dimensions given by a
    scalar index, and the fill value as an expression of the moved dtype (None: skip)."""

    __slots__ = ("limits", "conditions", "fill")

    def __init__(self, limits, conditions, fill):
        self.limits, self.conditions, self.fill = limits, conditions, fill


def edges_of(call, ctx):
    """The Edges of a move (dst, src), or None when the call has no `oob=` or nothing can be past the end."""
    if "oob" not in call.config:
        return None
    dst, src = call.operands("dst", "src")
    outside = [op for op in (dst, src) if op.space == "global"]
    if len(outside) != 1:
        fail("oob= needs exactly one operand in global memory")
    limits, conditions = _room(outside[0], ctx)
    if not limits and not conditions:
        return None
    fill = _fill(call, dst.buffer.dtype)
    if fill is not None and outside[0] is dst:
        fill = None  # nothing is written past the end, whatever would be read there
    return Edges(limits, conditions, fill)


def _fill(call, dtype):
    value = call.config["oob"]
    text = value.value if isinstance(value, StringImm) else value
    if isinstance(text, str):
        if text != "skip":
            fail(f'oob= is a value or "skip", not {text!r}')
        return None
    if not isinstance(value, (bool, int, float, PrimExpr)):
        fail(f'oob= is a value or "skip", not {value!r}')
    if isinstance(value, float):
        value = FloatImm(str(dtype) if "float" in str(dtype) else "float32", value)
    return value.astype(dtype) if isinstance(value, PrimExpr) else const(value, dtype)


def _room(op, ctx):
    """({kept dimension: whole - start}, [start < whole]) where the region may reach past the end."""
    extents, _ = box_of([op], ctx)
    limits, conditions = {}, []
    for i, start in enumerate(op.starts):
        whole = op.facts.shape[i]
        if as_int(start) is None and not ctx.analyzer.can_prove(start >= 0):
            fail(
                f"oob= needs a start that cannot be negative, and dimension {i} starts at {expr_text(start)}"
            )
        d = op.kept.index(i) if i in op.kept else None
        if _inside(start, 1 if d is None else extents[d], whole, ctx):
            continue
        if d is None:
            conditions.append(start < whole if isinstance(start, PrimExpr) else whole > start)
        else:
            limits[d] = whole - start
    return limits, conditions


def _inside(start, size, whole, ctx) -> bool:
    if as_int(start) is not None and as_int(whole) is not None:
        return as_int(start) + size <= as_int(whole)
    return ctx.analyzer.can_prove(start + size <= whole)
