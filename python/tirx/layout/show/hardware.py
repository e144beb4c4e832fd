"""Layouts by name: what hardware instructions read and write, and the paper's examples."""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass

from ...errors import LayoutError
from .. import library
from ..notation import Axis, R, S
from ..tile import TileLayout
from .tables import dtype_bits


@dataclass(frozen=True)
class Named:
    """A layout with a name. build(dtype) gives (layout, shape)."""

    name: str
    about: str
    dtype: str
    build: object

    def view(self, dtype=None, shape=None, swizzle=None, access=None):
        """The View, in `dtype` when given and the layout depends on it."""
        from .view import View

        dtype = dtype or self.dtype
        layout, own = self.build(dtype)
        return View(layout, shape or own, dtype, swizzle, access, self.name, self.about)


_ALL: dict[str, Named] = {}


def _add(name, about, dtype, build):
    _ALL[name] = Named(name, about, dtype, build)


def _on(axis):
    return Axis.get(axis)


def _fragments():
    shapes = {"A": lambda k: (16, k), "B": lambda k: (8, k), "C": lambda k: (16, 8)}
    rows = {"A": "16 x k", "B": "8 x k (column n down, k across)", "C": "16 x 8, also D"}
    for k, dtype in ((16, "float16"), (8, "float32"), (32, "int8")):
        for op, shape in shapes.items():
            _add(f"mma.m16n8k{k}.{op}", f"registers of operand {op} of mma.sync.m16n8k{k}: {rows[op]}",
                 "float32" if op == "C" else dtype,
                 lambda d, op=op, k=k, shape=shape: (library.mma_fragment_layout(op, d, k), shape(k)))  # fmt: skip


def _warpgroup():
    _add("wgmma.m64n64.D", "registers of a warpgroup's 64 x 64 wgmma accumulator", "float32",
         lambda d: (library.wgmma_accumulator_layout(64), (64, 64)))  # fmt: skip
    _add("wgmma.m64k16.A", "registers of a warpgroup's operand A of wgmma: rows of 32 bytes", "float16",
         lambda d: (library.wgmma_operand_layout(d), (64, 256 // dtype_bits(d))))  # fmt: skip


def _datapath(name, rows, slab=0):
    return lambda d: (library.tmem_datapath_layout(name, rows, 16, sub_slab=slab), (rows, 16))


def _tensor_memory():
    for name, rows, about in (("D", 128, "lane = row"), ("B", 64, "column halves in lanes 0-63 and 64-127")):
        _add(f"tcgen05.{name}", f"tensor memory, data path {name}: {about}", "float32", _datapath(name, rows))
    for slab, half in ((0, "lower"), (1, "upper")):
        _add(f"tcgen05.F.{slab}", f"tensor memory, data path F: 16 rows in the {half} half of each 32-lane slab",
             "float32", _datapath("F", 64, slab))  # fmt: skip
    for rows, blocks in ((128, 16), (128, 224)):
        _add(f"tcgen05.scales.{rows}x{blocks}",
             "tensor memory, scale factors of a block-scaled mma: 32 lanes, and again in every 32-lane slab", "uint8",
             lambda d, r=rows, b=blocks: (library.tmem_scale_factor_layout(r, b), (r, b)))  # fmt: skip
    _add(
        "paper.tmem",
        "paper, section 3.2: 256 x 112 in tensor memory, the second half 112 columns further",
        "uint8",
        lambda d: (
            TileLayout(S[(2, 128, 112) : (112 @ _on("TCol"), 1 @ _on("TLane"), 1 @ _on("TCol"))]),
            (256, 112),
        ),
    )
    for shape, cols in (("32x32b", 8), ("16x64b", 8), ("16x128b", 8), ("16x256b", 8)):
        _add(f"tcgen05.ld.{shape}", f"registers of a warpgroup's tcgen05.ld.{shape}", "float32",
             lambda d, s=shape, c=cols: (library.tcgen05_atom_layout(s, (128, c * 32 // dtype_bits(d)), d),
                                         (128, c * 32 // dtype_bits(d))))  # fmt: skip


def _shared(mode):
    def build(dtype):
        columns = (16 << mode) * 8 // dtype_bits(dtype)
        return library.mma_shared_layout(dtype, mode, (16, columns)), (16, columns)

    return build


def _swizzles():
    for mode, width in ((1, 32), (2, 64), (3, 128)):
        for dtype in ("int8", "float16", "float32"):
            _add(f"smem.{width}B.{dtype}", f"shared memory of a tensor-core operand, {width}-byte swizzle, {dtype}",
                 dtype, _shared(mode))  # fmt: skip


def _trainium(annotation, shape, psum=False):
    return lambda d: (library.trainium_layout(annotation, shape, psum), shape)


def _accelerator():
    _add("trn.sbuf", "Trainium scratchpad: 256 rows on 128 partitions, the second half further along F", "float32",
         _trainium("PF", (256, 16)))  # fmt: skip
    _add("trn.psum", "Trainium PSUM: 1024 columns of 8 partitions are two banks of 512", "float32",
         _trainium("PF", (8, 1024), True))  # fmt: skip


def _paper():
    lane, warp, pid = _on("laneid"), _on("warpid"), _on("pid")
    tile = S[(8, 2, 4, 2) : (4 @ lane, 1 @ warp, 1 @ lane, 1)] + R[2 : 4 @ warp] + 5 @ warp
    _add("paper.mma", "paper, section 3.2: an 8 x 16 tile on two warps, each twice", "float16",
         lambda d: (TileLayout(tile), (8, 16)))  # fmt: skip
    s0s1 = S[(2, 32, 2, 64) : (1 @ pid, 128, 2 @ pid, 1)]
    _add("paper.s0s1", "paper, section 3.2: 64 x 128 fully sharded on a 2 x 2 mesh", "float16",
         lambda d: (TileLayout(s0s1), (64, 128)))  # fmt: skip
    s0r = S[(2, 32, 128) : (1 @ pid, 128, 1)] + R[2 : 2 @ pid]
    _add("paper.s0r", "paper, section 3.2: rows sharded, and on two devices each", "float16",
         lambda d: (TileLayout(s0r), (64, 128)))  # fmt: skip


def _load():
    if not _ALL:
        for part in (_paper, _fragments, _warpgroup, _tensor_memory, _swizzles, _accelerator):
            part()


def names() -> list:
    """Every Named layout, in the order of the gallery."""
    _load()
    return list(_ALL.values())


def find(name) -> Named | None:
    """The layout of this name; None for a text that looks like notation; LayoutError for an unknown name."""
    _load()
    if name in _ALL:
        return _ALL[name]
    if any(c in name for c in "[(:+") or "." not in name:
        return None
    near = difflib.get_close_matches(name, list(_ALL), 3, 0.4)
    raise LayoutError("no hardware layout of this name", code="unknown-layout", found=repr(name),
                      required="a name that `tirx layout --list` prints",
                      hint=f"did you mean {' or '.join(near)}?" if near else "")  # fmt: skip


def listing() -> str:
    """The table of `tirx layout --list`."""
    wide = max(len(n.name) for n in names())
    lines = []
    for n in names():
        _, shape = n.build(n.dtype)
        lines.append(f"{n.name:<{wide}}  {'x'.join(map(str, shape)):>9} {n.dtype:<8} {n.about}")
    return "\n".join(lines)


def size(named) -> int:
    """Elements of a named layout."""
    return math.prod(named.build(named.dtype)[1])
