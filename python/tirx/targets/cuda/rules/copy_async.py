"""copy_async: cp.async from global to shared memory, completed by commit and wait in the kernel."""

from __future__ import annotations

from ....ir import PrimExpr
from ....tile.edges import OOB_CONFIG, edges_of
from ....tile.emit import emit
from ....tile.partition import partition
from ....tile.registry import Predicate, fail, register_dispatch
from .common import valid_move

_CONFIG = {
    "prefetch_size": "64, 128 or 256: bytes to prefetch into L2",
    "predicate": "a bool expression: copy only where it holds",
    "fill_mode": '"zero": where the predicate does not hold, write zeros instead of leaving the old value',
    "oob": OOB_CONFIG,
    "direct": "True: the region of one thread is one access",
}


def _global_to_shared(call, ctx):
    dst, src = call.operands("dst", "src")
    if (src.space, dst.space) != ("global", "shared"):
        return f"cp.async copies from global to shared memory, not from {src.space} to {dst.space}"
    return ctx.has("cp.async") or f"{ctx.arch} has no cp.async"


@register_dispatch("copy_async", "cuda", variant="ldgsts", priority=20, when=[_global_to_shared, valid_move],
                   config=_CONFIG)  # fmt: skip
def copy_async_ldgsts(call, ctx):
    """cp.async of 16, 8 or 4 bytes (PTX ISA 9.7.9.25.3); the kernel commits and waits."""
    edges = edges_of(call, ctx)
    work = partition(ctx, call.operands("dst", "src"), (128, 64, 32), lead=1, edges=edges)
    (dst, src), b = work.views, call.builder()
    nbytes = work.part.lanes * dst.bits // 8
    if nbytes not in (4, 8, 16):
        fail(f"cp.async moves 4, 8 or 16 bytes; contiguous and aligned in both operands are {nbytes}")
    if call.config.get("direct") and (ctx.scope != "thread" or work.part.steps != 1):
        fail("direct=True needs thread scope and a region of one access")
    name, extra, condition = _instruction(call, nbytes)
    to, source = dst.flat(ctx), src.flat(ctx)
    ctx.covers(work.part.proof)
    ctx.emits(f"{name[4:]} {nbytes}", work.part.steps)

    def issue(ix):
        pointers = b.pointer(to, ix[0]), b.pointer(source, ix[1])
        return b.when(condition, b.instr(name, *pointers, nbytes, *extra))

    def fill(ix):
        return b.store(to, ix[0], edges.fill, work.part.lanes)

    if edges is None:
        return emit(work, ctx, b, issue)
    return emit(work, ctx, b, issue, None if edges.fill is None else fill, edges.conditions)


def _instruction(call, nbytes):
    """(name, operands after the size, conditions around the instruction)"""
    prefetch, predicate = call.config.get("prefetch_size", -1), call.config.get("predicate")
    if prefetch not in (-1, 64, 128, 256):
        fail(f"prefetch_size is 64, 128 or 256, not {prefetch}")
    name = f"ptx.cp.async.{'cg' if nbytes == 16 else 'ca'}.shared.global"
    name += "" if prefetch == -1 else f".L2::{prefetch}B"
    if call.config.get("fill_mode") == "zero" and predicate is not None:
        from ....ir import _api

        return name, [_api.select(_as_bool(predicate), nbytes, 0, call.span).astype("uint32")], []
    return name, [], [] if predicate is None else [_as_bool(predicate)]


def _as_bool(e):
    return e != 0 if isinstance(e, PrimExpr) and str(e.dtype) != "bool" else e


def _later(variant, priority, reason):
    @register_dispatch("copy_async", "cuda", variant=variant, priority=priority,
                       when=[Predicate("available", lambda call, ctx: reason)])  # fmt: skip
    def copy_async_unavailable(call, ctx):
        """Known by name, so that dispatch= says why it cannot be used."""
        fail(reason)


for _variant, _reason in (
    ("tma_auto", "tensor-map copies are not implemented"),
    ("tma_explicit", "tensor-map copies are not implemented"),
    ("dsmem", "copies between the shared memories of a cluster are not implemented"),
    ("smem->tmem", "copies into tensor memory are not implemented"),
    ("tmem<->local", "tensor-memory loads and stores are not implemented"),
):
    _later(_variant, 10, _reason)
