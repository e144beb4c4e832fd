"""Statements of a partitioned call: guards, loops and the indices of each access."""

from __future__ import annotations

from math import prod

from ..ir import const
from .builder import digit, plus, swizzled, times
from .conflicts import record_conflicts
from .operand import Sym

UNROLL_LIMIT = 64  # iterations; longer loops that touch no registers stay loops


def emit(work, ctx, b, body, otherwise=None, conditions=(), numbered=False):
    """The loops of `work` around `body(indices)`.

    indices[k] is the flat element index of the access's first element in operand k (see View.flat);
    the access spans `work.part.lanes` elements. Guards for tails and symbolic extents are added here, and
    `conditions` beside them; `otherwise(indices)` runs where a limit or one of `conditions` fails. With
    `numbered`, body also gets the number of the access within its thread, 0 .. work.part.steps - 1.
    """
    part = work.part
    record_conflicts(work, ctx)
    t = ctx.thread_in_team if part.team > 1 else 0
    fixed = [(s, digit(t, d, e)) for s, d, e in part.threads]
    outer, inner = _limit_conditions(work, fixed) if otherwise is None else ([], list(work.limits))
    guards = [digit(t, d, e).equal(v) for d, e, v in part.owners]
    if part.first is not None:
        guards.append(t < part.first)
    kinds = _loop_kinds(work)

    def access(extra, position):
        digits = fixed + extra
        where = [simplified(ctx, address(v, k, digits)) for k, v in enumerate(work.views)]
        holds = [_below(_coordinate(d, digits), work.limits[d]) for d in inner]
        inside = body(where, _number(position)) if numbered else body(where)
        if otherwise is None:
            return b.when(holds, inside)
        return b.when([*conditions, *holds], inside, otherwise(where))

    around = guards + [_below(_coordinate(d, fixed), work.limits[d]) for d in outer]
    around += conditions if otherwise is None else ()
    return b.when(around, _chunk_loop(part, t, b, kinds, access))


def simplified(ctx, e):
    """An index in the analyzer's canonical form; ints stay ints."""
    return e if type(e) is int else ctx.analyzer.simplify(e)


def _below(coordinate, limit):
    """coordinate < limit as a bool expression; either may be a Python int."""
    if type(coordinate) is int and type(limit) is int:
        return const(int(coordinate < limit), "bool")
    return coordinate < limit if type(coordinate) is not int else limit > coordinate


def _chunk_loop(part, t, b, kinds, access):
    if part.chunks is None:
        return _nest(part.loops, b, kinds, access)
    count, digits = part.chunks
    turns = -(-count // part.team)

    def turn(i):
        chunk, bind = b.bind("chunk", plus(times(i, part.team), t))
        here = [(s, digit(chunk, d, e)) for s, d, e in digits]
        stmt = _nest(part.loops, b, kinds[1:], lambda extra, at: access(here + extra, [(i, turns), *at]))
        return b.seq(bind, b.when([chunk < count] if count % part.team else [], stmt))

    return b.loop(turns, turn, kinds[0], name="turn")


def _nest(steps, b, kinds, access):
    extents = [s.extent for s in steps]
    return b.loops(extents, lambda vs: access(list(zip(steps, vs)), list(zip(vs, extents))), kinds)


def _number(position):
    """Row-major number of loop values [(value, extent)]."""
    number, weight = 0, 1
    for value, extent in reversed(position):
        number = plus(number, times(value, weight))
        weight *= extent
    return number


def _loop_kinds(work):
    """Per loop, outermost first: unrolled when registers are indexed or the body stays small."""
    part = work.part
    turns = [-(-part.chunks[0] // part.team)] if part.chunks else []
    extents = turns + [s.extent for s in part.loops]
    if any(v.space == "local" for v in work.views):
        return ["unroll"] * len(extents)
    return ["unroll" if prod(extents[i:]) <= UNROLL_LIMIT else "serial" for i in range(len(extents))]


def _limit_conditions(work, fixed):
    """The limited dimensions whose coordinate is known outside the loops, and the others."""
    part = work.part
    moving = {s.dim for s in part.loops} | ({s.dim for s, _, _ in part.chunks[1]} if part.chunks else set())
    return [d for d in work.limits if d not in moving], [d for d in work.limits if d in moving]


def _coordinate(dim, digits):
    total = 0
    for s, value in digits:
        if s.dim == dim:
            total = plus(total, times(value, s.coordinate))
    return total


def address(view, k, digits):
    """Flat index in operand k: base + sum of digits [(step, value)] times strides, swizzled.

    Terms that are multiples of the swizzle's period are added outside it, where they fold."""
    if view.swizzle is None:
        return _sum(view.base, [(v, s.strides[k]) for s, v in digits])
    period = 1 << sum(view.swizzle)
    terms = [(v, s.strides[k]) for s, v in digits]
    far = [t for t in terms if type(t[1]) is int and t[1] % period == 0]
    near = [t for t in terms if t not in far]
    base_far = view.divisor % period == 0
    address = swizzled(_sum(0 if base_far else view.base, near), view.swizzle)
    return _sum(plus(view.base if base_far else 0, address), far)


def _sum(base, terms):
    for value, stride in terms:
        base = plus(base, times(value, stride.expr if isinstance(stride, Sym) else stride))
    return base
