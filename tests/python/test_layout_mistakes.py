"""What is no layout, shape, order or width is answered with a LayoutError, never with an error of Python."""

import pytest

from tirx.errors import LayoutError
from tirx.layout import (
    ComposeLayout,
    Iter,
    S,
    TileLayout,
    equivalent,
    mma_fragment_layout,
    mma_shared_layout,
    placements,
    tcgen05_atom_layout,
    tmem_datapath_layout,
    tmem_scale_factor_layout,
    view,
    wg_local_layout,
    wgmma_accumulator_layout,
)  # fmt: skip

A = TileLayout(S[(4, 6) : (6, 1)])
C = ComposeLayout(1, 1, 1, A)
V = view(A, (4, 6), bits=8)
HUGE = 1 << 70

MISTAKES = {
    "a swizzled outer": lambda: A.tile(C, (4, 6), (4, 6)),
    "a swizzled left": lambda: A.direct_sum(C, (4, 6), (4, 6)),
    "half a range": lambda: A.slice((4, 6), [(0,), (0, 1)]),
    "numbers for ranges": lambda: A.slice((4, 6), [0, 1]),
    "text for a shape": lambda: A.slice("ab", [(0, 1)]),
    "a fraction": lambda: A.group(2.5),
    "text for an order": lambda: A.permute_dims("ab"),
    "one number for an order": lambda: A.permute_dims(3),
    "text for a separator": lambda: A.permute_by_groups([0, "a"], [0]),
    "text for a coordinate": lambda: A.apply("x"),
    "a coordinate of 71 bits": lambda: A.apply(HUGE),
    "a number for an axis": lambda: A.span(3),
    "an unknown axis": lambda: A.span("lane"),
    "text for a count": lambda: A.pack("x"),
    "a count of 71 bits": lambda: A.pack(HUGE),
    "no elements": lambda: A.pack(0),
    "text for a width": lambda: A.recast(4, "x"),
    "a negative width": lambda: A.recast(-4, 8),
    "text for a position": lambda: A.broadcast(2, "x"),
    "a number for axes": lambda: A.convert_axes(3),
    "a number for facts": lambda: A.canonicalize(analyzer=3),
    "a number for a layout": lambda: equivalent(A, 3),
    "places of a number": lambda: placements(3),
    "text for a dimension": lambda: A.contiguous_run((4, 6), "x"),
    "a swizzle of a swizzle": lambda: ComposeLayout(1, 1, 1, C),
    "text for a swizzle": lambda: ComposeLayout("x", 1, 1, A),
    "a number for iters": lambda: TileLayout.from_iters([3]),
    "a number for the axis of an iter": lambda: Iter(1, 1, 3),
    "an extent of 71 bits": lambda: TileLayout(S[HUGE]),
    "an unknown dtype": lambda: mma_shared_layout("float17", 3, (8, 64)),
    "an unknown swizzle": lambda: mma_shared_layout("float16", 9, (8, 64)),
    "one extent": lambda: mma_shared_layout("float16", 3, 8),
    "text for k": lambda: mma_fragment_layout("A", "float16", "x"),
    "text for rows": lambda: tmem_datapath_layout("D", "x", 8),
    "one extent of an atom": lambda: tcgen05_atom_layout("16x64b", 64, "float32"),
    "text for scale factors": lambda: tmem_scale_factor_layout("x", 4),
    "text for n": lambda: wgmma_accumulator_layout("x"),
    "text for columns": lambda: wg_local_layout("x"),
    "one extent of two": lambda: TileLayout.trainium("PF", 3),
    "a number for the letters": lambda: TileLayout.trainium(3, (3, 4)),
    "text for a view's shape": lambda: view(A, "x"),
    "a view of a number": lambda: view(3, (4, 6)),
    "text for a view's width": lambda: view(A, (24,), "x"),
    "a width of 0": lambda: view(A, (24,), 0),
    "text for a view's dimension": lambda: V.narrow("x", 0, 1),
    "text for a start": lambda: V.narrow(0, "x", 1),
    "no length": lambda: V.narrow(0, 3, 0),
    "no index": lambda: V.select(0, None),
    "text for a new shape": lambda: V.reshape("x"),
    "a fraction in a shape": lambda: V.reshape(2.5, -1),
    "text for a view's order": lambda: V.permute("x"),
    "text for a length": lambda: V.expand(0, "x"),
    "text for a run": lambda: V.reduce(0, "x"),
    "text for a first dimension": lambda: V.flatten("x"),
    "a width of 65": lambda: V.recast(65),
    "text for a view's coordinate": lambda: V("x"),
}


@pytest.mark.parametrize("name", list(MISTAKES))
def test_mistakes_are_layout_errors(name):
    with pytest.raises(LayoutError) as e:
        MISTAKES[name]()
    assert e.value.code and e.value.message
