"""Element-by-element partitions: any shape, any layout, any extent.

The logical coordinates themselves are the operands: each dimension is a pseudo-view whose "address" is the
coordinate, so a rule can index buffers logically and leave the layouts to the pass that applies them.
Operands distributed over threads keep their own place; the others follow the coordinates.
"""

from __future__ import annotations

from .builder import plus, times
from .coverage import proof_text
from .emit import emit
from .operand import View, box_of
from .partition import divide, join_limits
from .registry import DispatchFail, fail


class _Coordinate:
    """A view of dimension `d`: its memory coordinate is the logical one (d None: the element number)."""

    __slots__ = ("dims", "name", "space")
    bits, swizzle, replica, base, divisor, distributed = 8, None, (), 0, 0, False

    def __init__(self, d, extents, space):
        weight, self.dims, self.name, self.space = 1, [], f"dimension {d}", space
        for k in reversed(range(len(extents))):
            stride = weight if d is None else int(k == d)
            self.dims.append([(extents[k], stride, 0)])
            weight *= extents[k]
        self.dims.reverse()

    def signature(self):
        return self.name, self.space


def scalar_loops(call, ctx, operands, body, written=1, coordinates=False, edges=None, otherwise=None):
    """(statement, steps): `body(indices)` once per element of `operands` (equal shapes).

    indices[k] is, for a distributed operand, the flat index in its local view, and otherwise the list of
    logical indices of its buffer: both index `op.storage(ctx)`. With `coordinates`, body also gets the
    coordinates of the element in the operands' shape. Elements outside `edges` get `otherwise(indices)`, or
    nothing. Records the coverage. Declines when two distributed
    operands keep an element on different threads.
    """
    try:
        extents, limits = box_of(operands, ctx)
    except DispatchFail:
        if edges is not None:
            raise
        return _unbounded_loops(call, ctx, operands, body, coordinates)
    if edges is not None:
        limits = join_limits(limits, edges)
    owned = [op for op in operands if op.distributed]
    views = [View(op, extents, ctx) for op in owned]
    space = "local" if any(op.space == "local" for op in operands) else "index"
    views += [_Coordinate(d, extents, space) for d in [*range(len(extents)), None]]
    written_views = sum(op.distributed for op in operands[:written])
    work = divide(ctx, views, extents, limits, (), len(views) - 1, written_views)
    ctx.covers(work.part.proof + "".join(f", where index {d} < extent" for d in limits))
    n = len(owned)

    def access(values, body=body):
        flat, where = iter(values[:n]), values[n : n + len(extents)]
        indices = [next(flat) if op.distributed else _logical(op, where) for op in operands]
        return body(indices, where) if coordinates else body(indices)

    outside = None if otherwise is None else lambda values: access(values, otherwise)
    conditions = edges.conditions if edges is not None else ()
    return emit(work, ctx, call.builder(), access, outside, conditions), work.part.steps


def _logical(op, coordinates):
    indices = list(op.starts)
    for i, x in zip(op.kept, coordinates):
        indices[i] = plus(indices[i], x)
    return indices


def _unbounded_loops(call, ctx, operands, body, coordinates):
    """Element numbers t, t + T, t + 2T, ... below a symbolic total."""
    if any(op.distributed for op in operands):
        fail("a symbolic extent without a bound cannot index a fragment")
    b, extents, team = call.builder(), operands[0].extents, ctx.active if ctx.scope != "thread" else 1
    total = 1
    for e in extents:
        total = times(e, total)
    t = ctx.thread_in_team if team > 1 else 0

    def turn(i):
        number, bind = b.bind("element", plus(times(i, team), t), total.dtype)
        where = _unravel(number, extents)
        indices = [_logical(op, where) for op in operands]
        stmt = body(indices, where) if coordinates else body(indices)
        return b.seq(bind, b.when([number < total] if team > 1 else [], stmt))

    ctx.covers(proof_text("all", team, "ceil(elements / threads)", 1, ", element < total"))
    turns = total if team == 1 else (total + (team - 1)) // team
    return b.loop(turns, turn, "serial", dtype=total.dtype), "ceil(elements / threads)"


def _unravel(number, extents):
    """Row-major coordinates of an element number."""
    out, weight = [], 1
    for k in reversed(range(len(extents))):
        x = number if type(weight) is int and weight == 1 else number // weight
        out.append(x if k == 0 else x % extents[k])
        weight = times(extents[k], weight)
    return out[::-1]
