"""permute_layout: the same elements under another layout, through registers, so that dst and src may be one buffer.

Every thread reads all its elements, the team waits, every thread writes them, the team waits. The warp variant
also permutes, per lane, the order in which elements are visited, so that lanes meet different banks of shared memory.
"""

from __future__ import annotations

from math import prod

from ....layout.banks import wavefronts
from ....tile.builder import digit, plus, swizzled, times
from ....tile.checks import check_full_team, check_same_dtype, check_same_shape
from ....tile.coverage import proof_text, prove_by_enumeration, prove_digits
from ....tile.emit import UNROLL_LIMIT, address, emit, simplified
from ....tile.operand import View
from ....tile.partition import join_steps, partition
from ....tile.registry import fail, register_dispatch
from .common import access_name

WARP = 32
REGISTERS = 64  # 32-bit registers per thread that a permutation may hold


def _in_memory(call, ctx):
    dst, src = call.operands("dst", "src")
    check_same_shape(call, dst, src)
    check_same_dtype(call, dst, src)
    for op in (dst, src):
        if op.space not in ("shared", "global"):
            return f"{op.name} is in {op.facts.scope}; registers would need an exchange between threads"
    if any(type(e) is not int for e in dst.extents):
        return "extents are not constant"
    return ctx.scope != "cluster" or "a cluster has no barrier for its registers"


def _barrier(call, ctx, b):
    """What makes the reads of the whole team precede its writes."""
    check_full_team(call, ctx, "a layout permutation")
    if ctx.scope == "thread":
        return []
    if ctx.scope == "warp":
        return [b.instr("cuda.warp_sync")]
    if ctx.scope == "cta":
        return [b.instr("cuda.cta_sync")]
    return fail("a warpgroup needs a named barrier, which the kernel chooses: permute at warp or CTA scope")


@register_dispatch("permute_layout", "cuda", variant="staged", priority=0, when=[_in_memory])
def permute_staged(call, ctx):
    """Read everything, wait, write everything."""
    work, b = partition(ctx, call.operands("dst", "src")), call.builder()
    (dst, src), n = work.views, work.part.lanes
    held = -(-work.part.steps * n * dst.bits // 32)
    if held > REGISTERS or work.part.steps > UNROLL_LIMIT:
        fail(f"{held} registers per thread, in {work.part.steps} steps, would hold the tile")
    wait = _barrier(call, ctx, b)
    regs, allocate = b.scratch("held", work.part.steps * n, dst.op.buffer.dtype)
    to, source = dst.flat(ctx), src.flat(ctx)

    def read(at, k):
        return b.store(regs, times(k, n), b.load(source, at[1], n), n)

    def write(at, k):
        return b.store(to, at[0], b.load(regs, times(k, n), n), n)

    ctx.covers(work.part.proof)
    ctx.emits(access_name(max(1, n * dst.bits // 8), src.space, dst.space), work.part.steps)
    reads, writes = (emit(work, ctx, b, body, numbered=True) for body in (read, write))
    return b.seq(allocate, reads, *wait, writes, *wait)


# ---- one warp, shared memory, bank-aware order ----


class _XorOrder:
    """Element number of (lane, r): lane + 32 * (r ^ ((lane >> shift) & mask)).

    For every lane r -> r ^ constant is a bijection of 0 .. count-1 (count a power of two), so each element is
    visited once. shift and mask are the pair with the fewest bank conflicts over both phases.
    """

    def __init__(self, views, extents):
        steps = join_steps(views, extents)
        self.total, self.count = prod(extents), prod(extents) // WARP
        if self.total % WARP or self.count & (self.count - 1) or self.count * views[0].bits > REGISTERS * 32:
            fail(f"{self.total} elements are not a power of two of registers per lane, {REGISTERS} at most")
        prove_digits([(s.extent, s.weight) for s in steps], self.total)
        order = sorted(steps, key=lambda s: abs(s.strides[1]))
        weights = [prod(s.extent for s in order[:k]) for k in range(len(order))]
        self.digits = list(zip(order, weights))
        self._choose([(self._bytes(k, v), max(1, v.bits // 8)) for k, v in enumerate(views)])
        numbers = (self.element(lane, r) for lane in range(WARP) for r in range(self.count))
        prove_by_enumeration(numbers, self.total)

    def element(self, lane, r):
        """The element number, for ints or expressions."""
        return _visit(lane, r, self.shift, self.mask)

    def at(self, number):
        """[(step, digit)] of an element number."""
        return [(s, digit(number, d, s.extent)) for s, d in self.digits]

    def _bytes(self, k, view):
        """The byte of each element in operand k, relative to its base."""
        places = [sum(x * s.strides[k] for s, x in self.at(n)) for n in range(self.total)]
        return [(swizzled(m, view.swizzle) if view.swizzle else m) * view.bits // 8 for m in places]

    def _choose(self, operands):
        masks = [(1 << k) - 1 for k in range(self.count.bit_length())]
        choices = [(mask, shift) for mask in masks for shift in range(5)]
        scored = [(self._conflicts(operands, shift, mask), mask, shift) for mask, shift in choices]
        self.conflicts, self.mask, self.shift = min(scored)

    def _conflicts(self, operands, shift, mask) -> int:
        """Extra passes over shared memory in the first steps of both phases."""
        extra = 0
        for r in range(min(self.count, 8)):
            numbers = [_visit(lane, r, shift, mask) for lane in range(WARP)]
            for places, width in operands:
                taken, ideal = wavefronts([places[n] for n in numbers], width)
                extra += taken - ideal
        return extra


def _visit(lane, r, shift, mask):
    return plus(times(r ^ ((lane >> shift) & mask) if mask else r, WARP), lane)


_ORDERS: dict = {}


def _order(views, extents) -> _XorOrder:
    key = (tuple(v.signature() for v in views), tuple(extents))
    if None in key[0]:
        fail("a stride is symbolic")
    if key not in _ORDERS:
        _ORDERS[key] = _XorOrder(views, extents)
    return _ORDERS[key]


def _warp_in_shared(call, ctx):
    dst, src = call.operands("dst", "src")
    if ctx.scope != "warp":
        return f"it is for one warp, not a {ctx.scope}"
    return (dst.space, src.space) == ("shared", "shared") or "both operands must be in shared memory"


@register_dispatch("permute_layout", "cuda", variant="warp_xor_swizzle", priority=10,
                   when=[_in_memory, _warp_in_shared])  # fmt: skip
def permute_warp(call, ctx):
    """One element per lane and step, in the order with the fewest bank conflicts."""
    dst, src = operands = call.operands("dst", "src")
    b, extents = call.builder(), dst.extents
    views = [View(op, extents, ctx) for op in operands]
    order = _order(views, extents)
    wait = _barrier(call, ctx, b)
    regs, allocate = b.scratch("held", order.count, dst.buffer.dtype)

    def phase(body):
        def step(r):
            at = order.at(order.element(ctx.lane, r))
            return body(r, [simplified(ctx, address(v, k, at)) for k, v in enumerate(views)])

        return b.loop(order.count, step, name="r")

    reads = phase(lambda r, at: b.store(regs, r, b.load(views[1].flat(ctx), at[1])))
    writes = phase(lambda r, at: b.store(views[0].flat(ctx), at[0], b.load(regs, r)))
    ctx.covers(proof_text(order.total, WARP, order.count, 1))
    ctx.emits(access_name(max(1, views[0].bits // 8), "shared", "shared"), order.count)
    ctx.note(
        f"order r ^ ((lane >> {order.shift}) & {order.mask}): {order.conflicts} bank conflicts in 8 steps"
    )
    return b.seq(allocate, reads, *wait, writes, *wait)
