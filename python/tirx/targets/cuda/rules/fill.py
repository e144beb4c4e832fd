"""fill, zero and memset: one value to every element; cast: elements converted to the destination's dtype."""

from __future__ import annotations

from ....ir import PrimExpr, const
from ....tile.checks import check_registers, check_same_shape
from ....tile.emit import emit
from ....tile.partition import WIDTHS, partition
from ....tile.registry import register_dispatch
from ....tile.scalar import scalar_loops
from .common import SPACES, access_name

# Conversions that hardware does two at a time (PTX ISA 9.7.9.21, cvt with .f16x2/.bf16x2 and back).
_PAIRS = {("float32", "float16"), ("float32", "bfloat16"), ("float16", "float32"), ("bfloat16", "float32")}


def _writable(call, ctx):
    dst = call.operand("dst")
    if dst.space not in SPACES:
        return f"dst is in {dst.facts.scope}, which store instructions do not reach"
    check_registers(call, ctx, dst)
    return ctx.scope != "cluster" or "every CTA of a cluster has its own memory"


def _in_registers(call, ctx):
    return call.operand("dst").space == "local" or "dst is not in registers"


def _in_memory(call, ctx):
    return call.operand("dst").space != "local" or "dst is in registers"


def _value(call):
    """The value as an expression of dst's dtype."""
    dtype, value = call.operand("dst").buffer.dtype, call.arg("value", 0)
    return value.astype(dtype) if isinstance(value, PrimExpr) else const(value, dtype)


def _emit_fill(call, ctx):
    work, b, value = partition(ctx, [call.operand("dst")]), call.builder(), _value(call)
    dst, n = work.views[0], work.part.lanes
    to = dst.flat(ctx)
    ctx.covers(work.part.proof)
    ctx.emits(access_name(max(1, n * dst.bits // 8), dst.space), work.part.steps)
    return emit(work, ctx, b, lambda ix: b.store(to, ix[0], value, n))


def _emit_fill_scalar(call, ctx):
    dst, b, value = call.operand("dst"), call.builder(), _value(call)
    to = dst.storage(ctx)
    stmt, steps = scalar_loops(call, ctx, [dst], lambda ix: b.store_at(to, ix[0], value))
    ctx.emits(access_name(max(1, dst.facts.bits // 8), dst.space), steps)
    return stmt


def _register_fill(primitive):
    @register_dispatch(primitive, "cuda", variant="reg", priority=10, when=[_writable, _in_registers])
    def fill_registers(call, ctx):
        """Each thread sets the registers that it owns, replicas included."""
        return _emit_fill(call, ctx)

    @register_dispatch(primitive, "cuda", variant="smem", priority=10, when=[_writable, _in_memory])
    def fill_memory(call, ctx):
        """Vector stores to shared or global memory."""
        return _emit_fill(call, ctx)

    @register_dispatch(primitive, "cuda", variant="fallback", priority=0, when=[_writable])
    def fill_elements(call, ctx):
        """One element at a time."""
        return _emit_fill_scalar(call, ctx)


for _primitive in ("fill", "zero", "memset"):
    _register_fill(_primitive)


# ---- cast ----


def _convertible(call, ctx):
    dst, src = call.operands("dst", "src")
    check_same_shape(call, dst, src)
    for op in (dst, src):
        if op.space not in SPACES:
            return f"{op.name} is in {op.facts.scope}, which load and store instructions do not reach"
    check_registers(call, ctx, dst, src)
    return ctx.scope != "cluster" or "every CTA of a cluster has its own memory"


def _emit_cast(call, ctx, widths, pairs):
    operands, b = call.operands("dst", "src"), call.builder()
    dtype = operands[0].buffer.dtype
    if (str(operands[1].buffer.dtype), str(dtype)) not in _PAIRS:
        widths = ()
    work = partition(ctx, operands, widths, registers=pairs)
    (dst, src), n = work.views, work.part.lanes
    to, source = dst.flat(ctx), src.flat(ctx)
    ctx.covers(work.part.proof)
    ctx.emits(f"{src.op.buffer.dtype} -> {dtype}, {n} at a time", work.part.steps)
    wide = dtype if n == 1 else f"{dtype}x{n}"
    return emit(work, ctx, b, lambda ix: b.store(to, ix[0], b.load(source, ix[1], n).astype(wide), n))


@register_dispatch("cast", "cuda", variant="reg", priority=10, when=[_convertible, _in_registers])
def cast_registers(call, ctx):
    """Conversion in registers, two elements at a time where the hardware has the pair."""
    return _emit_cast(call, ctx, (64,), True)


@register_dispatch("cast", "cuda", variant="smem", priority=10, when=[_convertible, _in_memory])
def cast_memory(call, ctx):
    """Conversion into shared or global memory."""
    return _emit_cast(call, ctx, WIDTHS, False)


@register_dispatch("cast", "cuda", variant="fallback", priority=0, when=[_convertible])
def cast_elements(call, ctx):
    """One element at a time."""
    dst, src = operands = call.operands("dst", "src")
    to, source, b = dst.storage(ctx), src.storage(ctx), call.builder()
    stmt, steps = scalar_loops(
        call, ctx, operands,
        lambda ix: b.store_at(to, ix[0], b.load_at(source, ix[1]).astype(dst.buffer.dtype)),
    )  # fmt: skip
    ctx.emits(f"{src.buffer.dtype} -> {dst.buffer.dtype}", steps)
    return stmt
