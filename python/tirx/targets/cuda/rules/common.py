"""What the CUDA rules share."""

from __future__ import annotations

from ....tile.checks import check_registers, check_same_dtype, check_same_shape
from ....tile.registry import Predicate

SPACES = ("global", "shared", "local")


def valid_move(call, ctx):
    """A move between memories that threads address: user errors for mismatches, decline for others."""
    dst, src = call.operands("dst", "src")
    check_same_shape(call, dst, src)
    check_same_dtype(call, dst, src)
    for op in (dst, src):
        if op.space not in SPACES:
            return f"{op.name} is in {op.facts.scope}, which load and store instructions do not reach"
    if ctx.scope == "cluster":
        return "a cluster copies through distributed shared memory"
    check_registers(call, ctx, dst, src)
    return True


def requested(variant):
    """Predicate: the call asks for this variant by name."""
    return Predicate(
        "requested", lambda call, ctx: call.dispatch == variant or "used only when dispatch= names it"
    )


def access_name(nbytes: int, *spaces) -> str:
    """`16-byte global load, shared store`"""
    verbs = ("load", "store") if len(spaces) == 2 else ("store",)
    return f"{nbytes}-byte " + ", ".join(f"{s} {v}" for s, v in zip(spaces, verbs))
