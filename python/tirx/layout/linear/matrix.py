"""Whether a register tile can be moved by ldmatrix or stmatrix (PTX ISA, ldmatrix and stmatrix, .b16 shapes).

One instruction moves 1, 2 or 4 matrices of 8 rows of 16 bytes. Thread 8q + r gives the address of row r of
matrix q. Lane l receives, from row l // 4, the four bytes at 4 * (l % 4), as register q; with .trans (16-bit
elements) the two elements of column l // 4 in rows 2 * (l % 4) and 2 * (l % 4) + 1.

The instruction fits a pair (register layout, shared layout) exactly when its tile divides, on the left, the map
from (register, lane, ...) to shared offsets; anything less must take the plain path.
"""

from __future__ import annotations

from .layout import LinearLayout, refuse
from .padded import PaddedLayout
from .solve import divide_left, invert_and_compose

_LANE_BITS = 5


class MatrixAccess:
    """A selected instruction.

    num: matrices per instruction (1, 2 or 4); rounds: instructions per thread; regs: elements of one 32-bit
    register; `address(round, thread, **others)` is the shared offset, in elements, that a thread gives.
    tile and rest: the factors with tile * rest equal to the map from registers to offsets.
    """

    def __init__(self, cvt, tile, rest, num, bits, transposed, pads):
        self.cvt, self.tile, self.rest, self.num = cvt, tile, rest, num
        self.bits, self.transposed, self._pads = bits, transposed, pads
        self.regs = 32 // bits
        self.rounds = cvt.in_size("register") // (num * self.regs)

    def address(self, round, thread, **others) -> int:
        """Offset of row `thread % 8` of matrix `thread // 8` of the round, padding included. Threads past
        8 * num repeat the addresses of the first ones (the hardware ignores them)."""
        matrix, row = thread // 8 % self.num, thread % 8
        register = (round * self.num + matrix) * self.regs
        lane = row * 4
        if self.transposed:  # rows run along the register bit and the low lane bits
            lane, register = row >> 1, register + (row & 1)
        offset = self.cvt.apply({"register": register, "lane": lane, **others})["offset"]
        return self._pads.pad(offset) if self._pads else offset


def matrix_tile(bits, transposed=False) -> LinearLayout:
    """(register, lane) to offset of the 16 contiguous bytes of a row, as one instruction sees them."""
    if transposed:
        return LinearLayout.identity_1d(8, "lane", "offset")
    return LinearLayout.identity_1d(32 // bits, "register", "offset") * LinearLayout.identity_1d(
        4, "lane", "offset"
    )


def matrix_access(registers, shared, bits, transposed=False, store=False):
    """(MatrixAccess, "") when ldmatrix (stmatrix with `store`) moves this tile, else (None, the reason).

    registers: (register, lane, warp, ...) to dimensions; shared: (offset, ...) to dimensions, linear or padded.
    bits: width of an element.
    """
    pads = shared if isinstance(shared, PaddedLayout) else None
    linear = shared.linear if pads else shared
    if bits not in (8, 16, 32):
        return None, f"no matrix instruction moves {bits}-bit elements here"
    if transposed and bits != 16:
        return None, f".trans moves 16-bit elements, not {bits}-bit ones"
    if registers.in_dims.get("lane") != 1 << _LANE_BITS:
        return None, "the tile is not spread over 32 lanes"
    if store and not registers.is_injective():
        return None, "several places hold one element: their stores would meet"
    cvt = invert_and_compose(registers, linear)
    others = [d for d in cvt.out_dims if d != "offset"]
    if not cvt.sublayout_is_zero(["register", "lane"], others):
        return None, f"a warp's tile is spread over {', '.join(others)}"
    return _select(cvt.sublayout(list(cvt.in_dims), ["offset"]), bits, transposed, pads)


def _select(cvt, bits, transposed, pads):
    if cvt.in_size("register") < 32 // bits:
        return None, "a thread holds less than one 32-bit register"
    if pads and any(i * bits < 128 for i, _ in pads.pads):
        return None, "padding falls inside a 16-byte row"
    if pads and any(p * bits % 128 for _, p in pads.pads):
        return None, "padding moves rows off 16-byte boundaries"
    tile = matrix_tile(bits, transposed)
    rest = divide_left(_rows_last(cvt) if transposed else cvt, tile)
    if rest is None:
        return None, "the 16-byte rows of the instruction do not divide the map to offsets"
    num = min(4, cvt.in_size("register") * bits // 32)
    return MatrixAccess(cvt, tile, rest, num, bits, transposed, pads), ""


def _rows_last(cvt):
    """The map with lane bits 2, 3, 4 (the columns of a transposed row) before lane bits 0 and 1."""
    cols = cvt.bases["lane"]
    bases = {n: (cols[2:] + cols[:2] if n == "lane" else b) for n, b in cvt.bases.items()}
    return LinearLayout(bases, cvt.out_dims)


def check_matrix_access(registers, shared, bits, **kind) -> MatrixAccess:
    """The access, or LayoutError with the reason."""
    found, why = matrix_access(registers, shared, bits, **kind)
    if found is None:
        refuse(
            "no matrix instruction moves this tile", "no-matrix-access", why, "a tile that divides the layout"
        )
    return found
