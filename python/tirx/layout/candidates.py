"""What choose_swizzle (banks.py) chooses among: the ways to lay out a shared tile of (..., rows, columns)."""

from __future__ import annotations

from math import prod

import tvm_ffi

from ..errors import LayoutError
from .library import SwizzleMode, mma_shared_layout
from .notation import S
from .tile import ComposeLayout, TileLayout

_ROW_BYTES = 128  # 32 banks of 4 bytes: what padding and swizzles can move by


def proposals(dtype, shape, accesses, padding, hardware):
    """(name, layout or the LayoutError that says why there is none), in order of preference."""
    if not hardware:
        yield "row-major", _padded(shape, 0)
    yield from _tensor_core(dtype, shape)
    if hardware:
        return
    per_lane = max(a.per_lane for a in accesses)
    yield from _xor_swizzles(shape, per_lane, tvm_ffi.dtype(dtype).bits)
    if padding and len(shape) > 1:
        row = _ROW_BYTES * 8 // tvm_ffi.dtype(dtype).bits
        for spare in range(per_lane, row + 1, per_lane):
            yield f"rows padded by {spare}", _padded(shape, spare)


def _padded(shape, spare):
    """Row-major with `spare` elements after each row."""
    strides, stride = [], 1
    for d, n in enumerate(reversed(shape)):
        strides.append(stride)
        stride = (stride * n + spare) if d == 0 and len(shape) > 1 else stride * n
    return TileLayout(S[tuple(shape) : tuple(strides[::-1])])


def _tensor_core(dtype, shape):
    for mode in SwizzleMode:
        name = "core matrices" if mode == 0 else f"{16 << mode}-byte swizzle"
        try:
            yield name, mma_shared_layout(dtype, mode, shape)
        except LayoutError as e:
            yield name, e


def _xor_swizzles(shape, per_lane, bits):
    """Xor of B address bits at M with those S above them, for every M that keeps accesses whole. Blocks of
    2^(M + B) elements map onto themselves and must tile the buffer."""
    size, tile = prod(shape), _padded(shape, 0)
    lowest = per_lane.bit_length() - 1
    for m in range((128 // bits).bit_length() - 1, lowest - 1, -1):
        for b in range(1, 6):
            for s in range(b, (size - 1).bit_length() - m - b + 1):
                if size % (1 << (m + b)) == 0:
                    yield f"xor swizzle ({m}, {b}, {s})", ComposeLayout(m, b, s, tile)
