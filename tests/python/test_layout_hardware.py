"""Hardware layouts against independent statements of the hardware's maps."""

import itertools

import pytest
from layout_cases import refused

from tirx.layout import (
    R,
    S,
    TileLayout,
    mma_fragment_layout,
    pid,
    placements,
    tcgen05_atom_layout,
    tmem_datapath_layout,
    wg_local_layout,
)  # fmt: skip


def owners(layout, shape):
    """{(lane, register element): (row, column)} of a fragment; fails when a register holds two elements."""
    table = {}
    for r, c in itertools.product(*map(range, shape)):
        at = layout.apply(r, c, shape=shape)
        key = at.pop("laneid"), at.pop("m", 0)
        assert not at and key not in table
        table[key] = r, c
    return table


# PTX ISA, matrix fragments for mma.m16n8k*: element i of lane 4g + q -> (row, k) of A, k of B (column g).
FRAGMENTS = {
    ("float16", 8): (4, lambda g, q, i: (g + 8 * (i >> 1), 2 * q + (i & 1)), 2, lambda q, i: 2 * q + i),
    ("bfloat16", 16): (
        8, lambda g, q, i: (g + 8 * ((i >> 1) & 1), 2 * q + (i & 1) + 8 * (i >> 2)),
        4, lambda q, i: 2 * q + (i & 1) + 8 * (i >> 1),
    ),
    ("float32", 4): (2, lambda g, q, i: (g + 8 * i, q), 1, lambda q, i: q),
    ("float32", 8): (4, lambda g, q, i: (g + 8 * (i & 1), q + 4 * (i >> 1)), 2, lambda q, i: q + 4 * i),
    ("int8", 16): (8, lambda g, q, i: (g + 8 * (i >> 2), 4 * q + (i & 3)), 4, lambda q, i: 4 * q + i),
    ("float8_e4m3fn", 32): (
        16, lambda g, q, i: (g + 8 * ((i >> 2) & 1), 4 * q + (i & 3) + 16 * (i >> 3)),
        8, lambda q, i: 4 * q + (i & 3) + 16 * (i >> 2),
    ),
    ("int4", 32): (16, lambda g, q, i: (g + 8 * (i >> 3), 8 * q + (i & 7)), 8, lambda q, i: 8 * q + i),
    ("float4_e2m1fn", 64): (
        32, lambda g, q, i: (g + 8 * ((i >> 3) & 1), 8 * q + (i & 7) + 32 * (i >> 4)),
        16, lambda q, i: 8 * q + (i & 7) + 32 * (i >> 3),
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype,k", list(FRAGMENTS))
def test_mma_operands(dtype, k):
    na, a_map, nb, b_map = FRAGMENTS[dtype, k]
    a = owners(mma_fragment_layout("A", dtype, k), (16, k))
    b = owners(mma_fragment_layout("B", dtype, k), (8, k))
    lanes = [(4 * g + q, g, q) for g in range(8) for q in range(4)]
    assert a == {(lane, i): a_map(g, q, i) for lane, g, q in lanes for i in range(na)}
    assert b == {(lane, i): (g, b_map(q, i)) for lane, g, q in lanes for i in range(nb)}


def test_mma_accumulator():
    """Element i of lane 4g + q: row g + 8 (i >> 1), column 2q + (i & 1)."""
    table = owners(mma_fragment_layout("D", "float32"), (16, 8))
    assert table == {
        (4 * g + q, i): (g + 8 * (i >> 1), 2 * q + (i & 1))
        for g in range(8)
        for q in range(4)
        for i in range(4)
    }


def test_fragments_that_do_not_exist():
    assert refused(lambda: mma_fragment_layout("A", "float16", 32)).code == "bad-shape"
    assert refused(lambda: mma_fragment_layout("E", "float16")).code == "bad-operand"


def test_warpgroup_rows():
    layout = wg_local_layout(16)
    assert layout.apply(77, 3, shape=(128, 16)) == {"tid_in_wg": 77, "m": 3}


# PTX ISA, tcgen05 data path layouts: (lane, column) of one CTA's element (m, n) of N columns.
DATAPATHS = {
    "A": (128, lambda m, n, N: (m, n)),
    "B": (64, lambda m, n, N: (m + 64 * (n >= N // 2), n % (N // 2))),
    "C": (64, lambda m, n, N: (32 * (m // 16) + m % 16, n)),
    "D": (128, lambda m, n, N: (m, n)),
    "E": (64, lambda m, n, N: (m + 64 * (n >= N // 2), n % (N // 2))),
    "F": (64, lambda m, n, N: (32 * (m // 16) + m % 16, n)),
    "G": (32, lambda m, n, N: (m + 32 * (n // (N // 4)), n % (N // 4))),
}


@pytest.mark.parametrize("name", list(DATAPATHS))
def test_tensor_memory_datapaths(name):
    rows, want = DATAPATHS[name]
    cols, seen = 16, set()
    for sub_slab in (0, 1) if name in "CF" else (0,):
        layout = tmem_datapath_layout(name, rows, cols, sub_slab=sub_slab)
        for m, n in itertools.product(range(rows), range(cols)):
            at = layout.apply(m, n, shape=(rows, cols))
            lane, column = want(m, n, cols)
            assert at == {"TLane": lane + 16 * sub_slab, "TCol": column}
            seen.add((at["TLane"], at["TCol"]))
    used = cols // {"B": 2, "E": 2, "G": 4}.get(name, 1)
    assert len(seen) == 128 * used  # a bijection onto the lanes, both halves of C and F together


# PTX ISA, tcgen05.ld shapes: (lane of the slab, 32-bit column) of register r in lane t of a warp.
LOADS = {
    "32x32b": (32, lambda t, r: (t, r), lambda n: n),
    "16x64b": (16, lambda t, r: (t // 4 + 8 * (t & 1), 2 * r + ((t >> 1) & 1)), lambda n: n // 2),
    "16x128b": (16, lambda t, r: (t // 4 + 8 * (r & 1), 4 * (r >> 1) + t % 4), lambda n: n // 2),
    "16x256b": (
        16, lambda t, r: (t // 4 + 8 * ((r >> 1) & 1), 8 * (r >> 2) + 2 * (t % 4) + (r & 1)),
        lambda n: n // 2,
    ),
}  # fmt: skip


@pytest.mark.parametrize("per_reg,dtype", [(1, "float32"), (2, "bfloat16")])
@pytest.mark.parametrize("shape,rows", [("32x32b", 128), *itertools.product(list(LOADS)[1:], (64, 128))])
def test_tensor_memory_loads(shape, rows, per_reg, dtype):
    """Every register half of every lane; 128 rows of a 16-lane shape are two instructions."""
    lanes, place, registers = LOADS[shape]
    words = 16
    layout = tcgen05_atom_layout(shape, (rows, words * per_reg), dtype).convert_axes("tid_in_wg")
    halves, regs = rows // (4 * lanes), registers(words)
    for w, t, h, r, j in itertools.product(range(4), range(32), range(halves), range(regs), range(per_reg)):
        lane, column = place(t, r)
        coord = w * (rows // 4) + h * 16 + lane, column * per_reg + j
        want = {"tid_in_wg": 32 * w + t, "m": (h * regs + r) * per_reg + j}
        assert layout.apply(*coord, shape=(rows, words * per_reg)) == want
    assert layout.span() == halves * regs * per_reg


def test_tensor_memory_loads_that_do_not_exist():
    for call in (
        ("32x32b", (64, 16), "float32"),
        ("16x64b", (64, 3), "float32"),
        ("16x64b", (64, 6), "float32"),
    ):
        assert refused(lambda c=call: tcgen05_atom_layout(*c)).code == "bad-shape"
    assert refused(lambda: tcgen05_atom_layout("16x32b", (64, 8), "float32")).code == "bad-operand"
    assert tcgen05_atom_layout("16x64b", (64, 4), "float32").size() == 256


def test_datapaths_that_do_not_exist():
    for call in (("H", 128, 8), ("D", 64, 8), ("B", 64, 7), ("D", 128, 8, 1)):
        assert refused(lambda c=call: tmem_datapath_layout(*c)).family == "layout"


def test_paper_scale_factor_tile():
    """Paper, section 3.2: 256 x 112 in tensor memory, the second half of the rows 112 columns further."""
    from tirx.layout import TCol, TLane

    tile = TileLayout(S[(2, 128, 112) : (112 @ TCol, 1 @ TLane, 1 @ TCol)])
    assert tile.span("TLane") == 128 and tile.span("TCol") == 224
    assert tile.apply(130, 5, shape=(256, 112)) == {"TCol": 117, "TLane": 2}


def test_paper_trainium_tile():
    """Paper, section 3.2: 256 x 512 in the scratchpad; a P dimension above 128 continues on F."""
    from tirx.layout import F, P

    tile = TileLayout(S[(2, 128, 512) : (512 @ F, 1 @ P, 1 @ F)])
    assert str(TileLayout.trainium("PF", (256, 512))) == str(tile)
    assert TileLayout.trainium("FPF", (2, 64, 8)).apply(1, 3, 5, shape=(2, 64, 8)) == {"F": 13, "P": 3}
    assert refused(lambda: TileLayout.trainium("PP", (16, 16))).code == "bad-shape"
    assert refused(lambda: TileLayout.trainium("PF", (200, 8))).code == "bad-shape"


def test_psum_banks():
    """2048 fp32 per partition are four banks of 512."""
    tile = TileLayout.trainium("PF", (128, 2048), is_psum=True)
    for c in (0, 511, 512, 2047):
        assert tile.apply(7, c, shape=(128, 2048)) == {"P": 7, "Bank": c // 512, "F": c % 512}
    assert refused(lambda: TileLayout.trainium("PF", (128, 8192), True)).code == "bad-shape"
    assert refused(lambda: TileLayout.trainium("PF", (128, 520), True)).code == "bad-shape"


def test_paper_shardings_on_a_mesh():
    """Paper, section 3.2: S0S1 on a 2 x 2 mesh puts quarter (i, j) on device i + 2j; S0R keeps whole rows
    on two devices each."""
    s0s1 = TileLayout(S[(2, 32, 2, 64) : (1 @ pid, 128, 2 @ pid, 1)])
    assert s0s1.apply(40, 70, shape=(64, 128)) == {"pid": 3, "m": 8 * 128 + 6}
    s0r = TileLayout(S[(2, 32, 128) : (1 @ pid, 128, 1)] + R[2 : 2 @ pid])
    devices = [{dict(p).get("pid", 0) for p in places} for places in placements(s0r)]
    assert devices[0] == {0, 2} and devices[-1] == {1, 3}
