"""ldmatrix, stmatrix, movmatrix and mma.sync. (PTX ISA 9.1 sections 9.7.14.5.14-9.7.14.5.17)

All are executed by a full warp. Fragment registers are 32 bits wide and hold, from the low bits up,
consecutive elements of the fragment (figures of the sections named).
"""

from __future__ import annotations

from .decl import ptx, registers

_WARP = dict(team="warp")


def declarations():
    """All instructions of the family."""
    yield from _matrix_moves()
    for name, features, k, a, b, acc in _shapes():
        yield _mma(name, features, k, a, b, acc)


def _matrix_moves():
    for count in (1, 2, 4):
        regs = " ".join(f"r{i}" for i in range(count))
        for trans in ("", ".trans"):
            for space in ("shared", "shared::cta"):
                attrs = {"count": count, "trans": int(bool(trans))}
                shape = f"sync.aligned.m8n8.x{count}{trans}.{space}.b16"
                yield ptx(
                    "ldmatrix." + shape,
                    f"w b32 {regs}, r shared addr",
                    f"{registers(0, count)}, [{{{count}}}]",
                    features=("ldmatrix",),
                    effects=("memory", "convergent"),
                    sim="ldmatrix",
                    attrs=attrs,
                    **_WARP,
                )
                yield ptx(
                    "stmatrix." + shape,
                    f"w shared addr, r b32 {regs}",
                    f"[{{0}}], {registers(1, count)}",
                    features=("stmatrix",),
                    effects=("memory", "convergent"),
                    sim="stmatrix",
                    attrs=attrs,
                    **_WARP,
                )
    yield ptx(
        "movmatrix.sync.aligned.m8n8.trans.b16",
        "w b32 d, r b32 a",
        "{0}, {1}",
        effects=("convergent",),
        sim="movmatrix",
        **_WARP,
    )


_BITS = {"f16": 16, "bf16": 16, "tf32": 32, "s8": 8, "u8": 8, "e4m3": 8, "e5m2": 8, "f32": 32, "s32": 32}
_FP8 = ("e4m3", "e5m2")


def _shapes():
    """(suffix, features, k, a, b, accumulator) of every dense m16n8 form; C and D have one type."""
    for k in (8, 16):
        for acc in ("f16", "f32"):
            yield "", ("mma.f16",), k, "f16", "f16", acc
        yield "", ("mma.bf16",), k, "bf16", "bf16", "f32"
    for k in (4, 8):
        yield "", ("mma.tf32",), k, "tf32", "tf32", "f32"
    for k in (16, 32):
        for a in ("s8", "u8"):
            for b in ("s8", "u8"):
                yield "", ("mma.int8",), k, a, b, "s32"
                yield ".satfinite", ("mma.int8",), k, a, b, "s32"
        for a in _FP8:
            for b in _FP8:
                for acc in ("f16", "f32"):
                    yield "", ("mma.fp8",), k, a, b, acc


def _mma(suffix, features, k, a, b, acc):
    na, nb = 16 * k * _BITS[a] // 1024, 8 * k * _BITS[b] // 1024
    nc, ctype = (2, "b32") if acc == "f16" else (4, acc)
    names = {
        x: " ".join(f"{x}{i}" for i in range(n)) for x, n in (("d", nc), ("a", na), ("b", nb), ("c", nc))
    }
    signature = f"w {ctype} {names['d']}, r b32 {names['a']}, r b32 {names['b']}, r {ctype} {names['c']}"
    groups = (registers(0, nc), registers(nc, na), registers(nc + na, nb), registers(nc + na + nb, nc))
    return ptx(
        f"mma.sync.aligned.m16n8k{k}.row.col{suffix}.{acc}.{a}.{b}.{acc}",
        signature,
        ", ".join(groups),
        features=features,
        effects=("pure", "convergent"),
        sim="mma",
        attrs={"m": 16, "n": 8, "k": k, "a": a, "b": b, "acc": acc, "satfinite": int(bool(suffix))},
        **_WARP,
    )
