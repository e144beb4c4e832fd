"""copy: vectors of the widest access that alignment proves, and a scalar fallback for everything else."""

from __future__ import annotations

from ....tile.conflicts import unpredicted
from ....tile.edges import OOB_CONFIG, edges_of
from ....tile.emit import emit
from ....tile.partition import WIDTHS, partition
from ....tile.registry import fail, register_dispatch
from ....tile.scalar import scalar_loops
from .common import access_name, requested, valid_move


def emit_copy(call, ctx, work, edges=None):
    """Loops of loads and stores for a partition of (dst, src); past the end of a tensor, what `edges` says."""
    (dst, src), n, b = work.views, work.part.lanes, call.builder()
    to, source = dst.flat(ctx), src.flat(ctx)
    ctx.covers(work.part.proof)
    ctx.emits(access_name(max(1, n * dst.bits // 8), src.space, dst.space), work.part.steps)
    otherwise = None
    if edges is not None and edges.fill is not None:
        otherwise = lambda ix: b.store(to, ix[0], edges.fill, n)  # noqa: E731
    conditions = edges.conditions if edges is not None else ()
    return emit(
        work, ctx, b, lambda ix: b.store(to, ix[0], b.load(source, ix[1], n), n), otherwise, conditions
    )


_CONFIG = {"oob": OOB_CONFIG}


@register_dispatch("copy", "cuda", variant="vec_auto", priority=10, when=[valid_move], config=_CONFIG)
def copy_vec_auto(call, ctx):
    """Loads and stores as wide as the layouts and alignment facts allow, 16 bytes at most."""
    edges = edges_of(call, ctx)
    return emit_copy(call, ctx, partition(ctx, call.operands("dst", "src"), WIDTHS, edges=edges), edges)


@register_dispatch("copy", "cuda", variant="fallback", priority=0, when=[valid_move], config=_CONFIG)
def copy_fallback(call, ctx):
    """One element at a time: odd shapes, symbolic extents, layouts without a common refinement."""
    dst, src = operands = call.operands("dst", "src")
    if dst.facts.bits < 8:
        fail(f"{dst.facts.bits}-bit elements cannot be stored one at a time")
    b = call.builder()
    to, source = dst.storage(ctx), src.storage(ctx)
    edges, otherwise = edges_of(call, ctx), None
    if edges is not None and edges.fill is not None:
        otherwise = lambda ix: b.store_at(to, ix[0], edges.fill)  # noqa: E731
    stmt, steps = scalar_loops(
        call, ctx, operands, lambda ix: b.store_at(to, ix[0], b.load_at(source, ix[1])), edges=edges,
        otherwise=otherwise,
    )  # fmt: skip
    ctx.predicts(lambda: unpredicted(operands, "elements are addressed one by one through their layouts"))
    ctx.emits(access_name(dst.facts.bits // 8, src.space, dst.space), steps)
    return stmt


def _register_width(bits):
    variant = f"vec_{bits}b"

    @register_dispatch("copy", "cuda", variant=variant, priority=20, when=[requested(variant), valid_move],
                       config=_CONFIG)  # fmt: skip
    def copy_fixed_width(call, ctx):
        """Accesses of exactly this width."""
        operands = call.operands("dst", "src")
        if bits == 256:
            _require_256(ctx, operands)
        if bits % operands[0].facts.bits:
            fail(f"{bits} bits are not a whole number of {operands[0].buffer.dtype} elements")
        edges = edges_of(call, ctx)
        work = partition(ctx, operands, (bits,), edges=edges)
        if work.part.lanes * operands[0].facts.bits != bits:
            fail(f"{bits // 8}-byte accesses need contiguous, aligned runs of that size in both operands")
        return emit_copy(call, ctx, work, edges)


def _require_256(ctx, operands):
    if not ctx.has("ldst.256"):
        fail(f"{ctx.arch} has no 256-bit loads and stores")
    if sorted(op.space for op in operands) != ["global", "local"]:
        fail("256-bit accesses move between global memory and registers")


for _bits in (256, 128, 64, 32, 16):
    _register_width(_bits)
