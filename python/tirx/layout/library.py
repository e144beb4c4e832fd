"""Layouts that hardware instructions read and write. `tirx.layout` re-exports them.

Each states the map of one operand; tests compare them element by element with independent statements of the
hardware's maps (PTX ISA fragment tables, swizzle formulas).
"""

from __future__ import annotations

import enum

import tvm_ffi

from ..errors import LayoutError
from .notation import Axis, R, S, listed
from .tile import ComposeLayout, Iter, TileLayout, _int

_LANE, _TID = Axis.get("laneid"), Axis.get("tid_in_wg")
_TLANE, _TCOL = Axis.get("TLane"), Axis.get("TCol")


class SwizzleMode(enum.IntEnum):
    """Shared-memory swizzles of TMA and the tensor cores: the row length in bytes that one pattern covers
    (PTX ISA, section 5.5.7): a 16-byte chunk's index within its row is xored with bits of the row."""

    SWIZZLE_NONE = 0
    SWIZZLE_32B_ATOM = 1
    SWIZZLE_64B_ATOM = 2
    SWIZZLE_128B_ATOM = 3


def _refuse(message, code, found, required):
    raise LayoutError(message, code=code, found=found, required=required)


def _bits(dtype) -> int:
    try:
        return tvm_ffi.dtype(dtype).bits
    except (ValueError, TypeError):
        _refuse("no such element type", "bad-dtype", f"{dtype!r}", "a dtype, for instance 'float16'")


def _static(shape, least):
    shape = [_int(s) for s in listed(shape)]
    if len(shape) < least or not all(isinstance(s, int) and s > 0 for s in shape):
        _refuse("a hardware layout needs a static shape", "bad-shape", f"{tuple(shape)}",
                f"at least {least} positive ints")  # fmt: skip
    return shape


def _leading(shape, tile):
    """(extents, strides) of leading dimensions in front of a dense tile of `tile` elements."""
    strides = []
    for extent in reversed(shape):
        strides.append(tile)
        tile *= extent
    return list(shape), strides[::-1]


def _mode(swizzle_mode):
    try:
        return SwizzleMode(swizzle_mode)
    except ValueError:
        _refuse("no such swizzle", "bad-operand", f"{swizzle_mode!r}", "a SwizzleMode, 0 to 3")


def mma_shared_layout(dtype, swizzle_mode, shape):
    """Shared-memory layout of an MMA operand of `shape` (..., rows, K), K contiguous.

    Swizzled: column blocks of 32, 64 or 128 bytes, each stored row by row and swizzled; rows must be a
    multiple of 8 and K of the block. Without swizzle: the packed core matrices (16-byte columns of all rows),
    or plain row-major when K is not a whole number of 16-byte groups. Sources: PTX ISA, shared-memory matrix
    layouts (wgmma and tcgen05); dtype widths of 4, 8, 16 and 32 bits.
    """
    mode, bits = _mode(swizzle_mode), _bits(dtype)
    *lead, rows, k = _static(shape, 2)
    if 128 % bits:
        _refuse("no whole number of elements fits a 16-byte chunk", "bad-dtype", f"{dtype}",
                "a dtype of 4, 8, 16, 32 or 64 bits")  # fmt: skip
    chunk = 128 // bits
    width = chunk << mode
    extents, strides = _leading(lead, rows * k)
    if mode == SwizzleMode.SWIZZLE_NONE:
        if k % chunk:
            return TileLayout(S[tuple([*lead, rows, k])]).canonicalize()
        spec = S[(*extents, rows, k // chunk, chunk) : (*strides, chunk, rows * chunk, 1)]
        return TileLayout(spec).canonicalize()
    if rows % 8 or k % width:
        _refuse("the tile is not a whole number of swizzle atoms", "bad-shape",
                f"{rows} rows of {k} {dtype}", f"multiples of 8 rows and {width} columns")  # fmt: skip
    spec = S[(*extents, rows, k // width, width) : (*strides, width, rows * width, 1)]
    tile = TileLayout(spec).canonicalize()
    return ComposeLayout(chunk.bit_length() - 1, int(mode), 3, tile)


def mma_fragment_layout(operand, dtype, k=16, m=16):
    """Registers of one mma.sync.m<m>n8k<k> operand: A is (m, k), B is (8, k) (column n, then k), C and D are
    (m, 8); m is 16 or 8. Axis m is the element within the lane's registers in register order, elements in a
    register from the low bits up. Source: PTX ISA, matrix fragments of mma.m16n8k* (dense) and mma.m8n8k*
    (integers, and doubles at k=4; the quad-pair map of half m8n8k4 is another one)."""
    if operand not in ("A", "B", "C", "D") or m not in (8, 16):
        _refuse("an mma operand is A, B, C or D of 16 or 8 rows", "bad-operand", f"{operand!r}, m={m}",
                "'A', 'B', 'C' or 'D'; m=16 or m=8")  # fmt: skip
    eight, bits = (8, 4 @ _LANE), _bits(dtype)
    if operand in ("C", "D"):
        return _spelled([(m // 8, 2), eight, (4, 1 @ _LANE), (2, 1)])
    per_word = max(1, 32 // bits)  # elements that a lane holds side by side
    groups, rest = divmod(*_static((k, 4 * per_word), 2))
    if rest or groups not in _mma_groups(dtype, m):
        _refuse("no dense mma.sync has this operand", "bad-shape", f"m={m}, k={k} of {dtype}",
                "rows of 16 or 32 bytes of 1- to 32-bit elements, of 4, 8 or 16 doubles; of 16 bytes of "
                "integers or 4 doubles when m=8")  # fmt: skip
    word = [(4, 1 @ _LANE), (per_word, 1)]
    if operand == "A":
        return _spelled([(m // 8, per_word), eight, (groups, m // 8 * per_word), *word])
    return _spelled([eight, (groups, per_word), *word])


def _mma_groups(dtype, m):
    """How many words along k each lane may hold."""
    bits, integer = _bits(dtype), str(dtype).startswith(("int", "uint"))
    if bits == 64:
        return (1,) if m == 8 else (1, 2, 4)
    if bits not in (1, 4, 8, 16, 32):
        return ()
    return ((1,) if integer and bits < 16 else ()) if m == 8 else (1, 2)


def _spelled(iters):
    """A TileLayout of (extent, stride) pairs without unit iters."""
    iters = [it for it in iters if it[0] != 1]
    return TileLayout(S[tuple(e for e, _ in iters) : tuple(s for _, s in iters)])


def wgmma_accumulator_layout(n):
    """Registers of a warpgroup's (64, n) wgmma accumulator, n = 8, 16, .., 256: axis m is the element of the
    thread in register order (fp16 results: two per register, the even column low). Source: PTX ISA, wgmma
    register fragments of matrix D."""
    if n not in range(8, 257, 8):
        _refuse("wgmma has no such n", "bad-shape", f"n={n}", "a multiple of 8 up to 256")
    wid = Axis.get("wid_in_wg")
    return _spelled([(4, 1 @ wid), (2, 2), (8, 4 @ _LANE), (n // 8, 4), (4, 1 @ _LANE), (2, 1)])


def wgmma_operand_layout(dtype):
    """Registers of a warpgroup's (64, k) operand A of wgmma, rows of 32 bytes: per warp the fragment of
    mma.m16n8k*. Source: PTX ISA, wgmma register fragments of matrix A."""
    bits = _bits(dtype)
    if bits not in (8, 16, 32):
        _refuse("wgmma has no such operand", "bad-dtype", f"{dtype}", "8-, 16- or 32-bit elements")
    k = 256 // bits
    warp = mma_fragment_layout("A", dtype, k)
    return warp.tile(TileLayout(S[4 : 1 @ Axis.get("wid_in_wg")]), (4, 1), (16, k))


def wg_local_layout(cols, rows=128):
    """(rows, cols) over a warpgroup: each thread owns one row, its columns consecutive in its registers."""
    return TileLayout(S[(rows, cols) : (1 @ _TID, 1)])


_DATAPATH_ROWS = {"A": 128, "B": 64, "C": 64, "D": 128, "E": 64, "F": 64, "G": 32}


def tmem_datapath_layout(datapath, rows, cols, sub_slab=0):
    """Tensor-memory places of one CTA's (rows, cols) accumulator under a tcgen05.mma data path.

    Source: PTX ISA, tcgen05 data path layout organization (layouts A to G). A and D: lane = row. C and F:
    16 rows in each 32-lane slab, the lower or (`sub_slab=1`) upper half. B and E: the two column halves in
    lanes 0-63 and 64-127. G: the four column quarters in the four slabs.
    """
    if datapath not in _DATAPATH_ROWS:
        _refuse("no such data path", "bad-operand", f"{datapath!r}", "one of A to G")
    want = _DATAPATH_ROWS[datapath]
    parts = {"B": 2, "E": 2, "G": 4}.get(datapath, 1)
    if rows != want or cols < 1 or cols % parts:
        _refuse(f"data path {datapath} has another shape", "bad-shape", f"({rows}, {cols})",
                f"{want} rows and columns in multiples of {parts}")  # fmt: skip
    if sub_slab not in ((0, 1) if datapath in "CF" else (0,)):
        _refuse("this data path spans both halves of a slab", "bad-operand", f"sub_slab={sub_slab}",
                "sub_slab=0 (1 exists for C and F)")  # fmt: skip
    if datapath in "CF":
        return TileLayout(S[(4, 16, cols) : (32 @ _TLANE, 1 @ _TLANE, 1 @ _TCOL)] + (16 * sub_slab) @ _TLANE)
    if parts == 1:
        return TileLayout(S[(rows, cols) : (1 @ _TLANE, 1 @ _TCOL)])
    spec = S[(rows, parts, cols // parts) : (1 @ _TLANE, (128 // parts) @ _TLANE, 1 @ _TCOL)]
    return TileLayout(spec)


def tmem_scale_factor_layout(rows, blocks, operand="A"):
    """Tensor-memory places of the (rows, blocks) one-byte scale factors of a block-scaled tcgen05.mma: row m of
    A or column n of B, times block along k. TCol counts bytes, four to a 32-bit column (`.recast(8, 32)` gives
    columns); `rows` is a multiple of 32, `blocks` 1, 2 or a multiple of 4.

    A word holds four blocks of one row; row m is in lane m % 32 of all four 32-lane slabs, in column m // 32;
    four further blocks follow after rows // 32 columns. operand="B2x2" is B of a pair of CTAs with M=128: the
    first half of the columns n in the two lower slabs, the second half in the two upper ones. Source: PTX ISA,
    tcgen05.mma scale factors; the form that tcgen05.cp.32x128b.warpx4 writes.
    """
    rows, blocks = _static((rows, blocks), 2)
    halves = {"A": 1, "B": 1, "B2x2": 2}.get(operand, 0)
    if not halves:
        _refuse("scale factors belong to operand A or B", "bad-operand", f"{operand!r}", "'A', 'B' or 'B2x2'")
    columns, rest = divmod(rows, 32 * halves)
    if rest or (blocks % 4 and blocks not in (1, 2)):
        _refuse("scale factors fill whole slabs and words", "bad-shape", f"({rows}, {blocks})",
                f"rows in multiples of {32 * halves}; 1, 2 or a multiple of 4 blocks")  # fmt: skip
    byte = min(blocks, 4)
    iters = [(halves, 64 @ _TLANE), (columns, 4 @ _TCOL), (32, 1 @ _TLANE), (blocks // byte, 4 * columns @ _TCOL),
             (byte, 1 @ _TCOL)]  # fmt: skip
    iters = [it for it in iters if it[0] != 1]
    copies = R[4 // halves : 32 @ _TLANE]
    return TileLayout(S[tuple(e for e, _ in iters) : tuple(s for _, s in iters)] + copies)


# Largest .xN; PTX ISA, tcgen05.ld table of shapes.
_TCGEN05_REPEATS = {"32x32b": 128, "16x64b": 128, "16x128b": 64, "16x256b": 32}


def tcgen05_atom_layout(instr_shape, tensor_shape, dtype):
    """Registers of a warpgroup's tcgen05.ld/st of one instruction shape: (64 or 128 rows, columns).

    Axis m counts elements of `dtype` (16 or 32 bits, two 16-bit neighbours per register) in register order.
    32x32b covers 128 rows, one per thread; 16x* cover 16 rows per warp, or 32 as two instructions, the second
    one's registers after the first's. Source: PTX ISA, tcgen05.ld data movement shapes.
    """
    per_reg, (rows, cols) = 32 // _bits(dtype), _static(tensor_shape, 2)[:2]
    if instr_shape not in _TCGEN05_REPEATS or _bits(dtype) not in (16, 32):
        _refuse("tcgen05.ld has no such form", "bad-operand", f"{instr_shape} of {dtype}",
                f"one of {', '.join(_TCGEN05_REPEATS)} of 16- or 32-bit elements")  # fmt: skip
    words = {"32x32b": 1, "16x64b": 2, "16x128b": 4, "16x256b": 8}[instr_shape] * per_reg
    repeat, rest = divmod(cols, words)
    allowed = repeat & (repeat - 1) == 0 and 1 <= repeat <= _TCGEN05_REPEATS[instr_shape]
    if rest or not allowed or rows not in ((128,) if instr_shape == "32x32b" else (64, 128)):
        _refuse(f"{instr_shape} does not cover this tile", "bad-shape", f"({rows}, {cols})",
                f"{words} times a power of two up to {_TCGEN05_REPEATS[instr_shape]} columns")  # fmt: skip
    if instr_shape == "32x32b":
        return wg_local_layout(cols, rows)
    e, wid = per_reg, Axis.get("wid_in_wg")
    eight = (8, 4 @ _LANE)
    row, column, used = {
        "16x64b": ([(2, 1 @ _LANE), eight], [(repeat, e), (2, 2 @ _LANE)], repeat),
        "16x128b": ([(2, e), eight], [(repeat, 2 * e), (4, 1 @ _LANE)], 2 * repeat),
        "16x256b": ([(2, 2 * e), eight], [(repeat, 4 * e), (4, 1 @ _LANE), (2, e)], 4 * repeat),
    }[instr_shape]
    slab = [(2, used * e)] if rows == 128 else []
    iters = [(4, 1 @ wid), *slab, *row, *column, *([(e, 1)] if e > 1 else [])]
    return TileLayout(S[tuple(n for n, _ in iters) : tuple(s for _, s in iters)])


_PARTITIONS, _BANK_ELEMENTS, _BANKS = 128, 512, 8


def trainium_layout(annotation, shape, is_psum=False):
    """A Trainium tile: dimensions marked P go to the 128 partitions, those marked F to the free axis, each
    row-major. A single P dimension above 128 keeps its outer part on the slowest place of F.

    NKI: partition limit 128 (`nl.tile_size.pmax`); PSUM bank of 512 fp32 (`psum_bank_fmax`).
    """
    annotation, shape = str(annotation), _static(shape, 1)
    if len(annotation) != len(shape) or set(annotation) - set("PF"):
        _refuse("the annotation names P or F per dimension", "bad-operand", f"{annotation!r} for {shape}",
                "one letter P or F per dimension")  # fmt: skip
    p, f = Axis.get("P"), Axis.get("F")
    inner = [min(s, _PARTITIONS) if c == "P" and annotation.count("P") == 1 else s
             for c, s in zip(annotation, shape)]  # fmt: skip
    strides = {"P": 1, "F": 1}
    iters = []
    for c, extent in reversed(list(zip(annotation, inner))):
        iters.append(Iter(extent, strides[c], p if c == "P" else f))
        strides[c] *= extent
    iters.reverse()
    if strides["P"] > _PARTITIONS or any(s % i for s, i in zip(shape, inner)):
        _refuse("the P dimensions do not fit the partitions", "bad-shape", f"{shape} as {annotation}",
                "a product of at most 128, or one P dimension that is a multiple of 128")  # fmt: skip
    for d, (whole, part) in enumerate(zip(shape, inner)):
        if whole != part:
            iters.insert(d, Iter(whole // part, strides["F"], f))
    layout = TileLayout.from_iters(iters)
    return to_psum(layout) if is_psum else layout


def to_psum(layout):
    """The free axis cut into banks of 512 elements: F strides of whole banks move to the axis Bank."""
    iters = []
    for it in layout.shard:
        extent, stride = _int(it.extent), _int(it.stride)
        if it.axis != "F":
            iters.append(it)
        elif stride % _BANK_ELEMENTS == 0:
            iters.append(Iter(extent, stride // _BANK_ELEMENTS, "Bank"))
        else:
            iters.extend(_cut_at_bank(extent, stride))
    out = TileLayout.from_iters(iters, list(layout.replica), dict(layout.offset.items()))
    if out.span("F") > _BANK_ELEMENTS or out.span("Bank") > _BANKS:
        _refuse("the tile does not fit the PSUM banks", "bad-shape", str(layout),
                "iters that split at multiples of 512 elements, and at most 8 banks")  # fmt: skip
    return out


def _cut_at_bank(extent, stride):
    per_bank = _BANK_ELEMENTS // stride if _BANK_ELEMENTS % stride == 0 else 0
    if not per_bank or extent <= per_bank or extent % per_bank:
        return [Iter(extent, stride, "F")]
    return [Iter(extent // per_bank, 1, "Bank"), Iter(per_bank, stride, "F")]
