"""Every hardware layout is a bijection onto its places, and the ones with replicas, scale factors and wgmma agree
with independent statements of the hardware's maps (formulas of the PTX ISA, written as loops)."""

import itertools

import pytest
from layout_cases import coords, refused

from tirx.layout import (
    ComposeLayout,
    TileLayout,
    as_map,
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
    wgmma_operand_layout,
)  # fmt: skip
from tirx.layout.proof import prove


def box(**extents):
    """All places of a box of axes."""
    names = list(extents)
    return {
        frozenset((a, v) for a, v in zip(names, at) if v)
        for at in itertools.product(*[range(e) for e in extents.values()])
    }


def tmem(lanes, cols):
    return {
        frozenset((a, v) for a, v in (("TLane", i), ("TCol", c)) if v) for i in lanes for c in range(cols)
    }


LOWER = [32 * w + i for w in range(4) for i in range(16)]
UPPER = [lane + 16 for lane in LOWER]

# name: (layout, all places that it covers)
HARDWARE = {
    "mma A m16n8k8 f16": (mma_fragment_layout("A", "float16", 8), box(laneid=32, m=4)),
    "mma A m16n8k16 f16": (mma_fragment_layout("A", "float16", 16), box(laneid=32, m=8)),
    "mma B m16n8k16 f16": (mma_fragment_layout("B", "float16", 16), box(laneid=32, m=4)),
    "mma D m16n8k16 f32": (mma_fragment_layout("D", "float32", 16), box(laneid=32, m=4)),
    "mma A m16n8k8 tf32": (mma_fragment_layout("A", "float32", 8), box(laneid=32, m=4)),
    "mma A m16n8k32 e4m3": (mma_fragment_layout("A", "float8_e4m3fn", 32), box(laneid=32, m=16)),
    "mma B m16n8k32 e4m3": (mma_fragment_layout("B", "float8_e4m3fn", 32), box(laneid=32, m=8)),
    "mma A m16n8k64 e2m1": (mma_fragment_layout("A", "float4_e2m1fn", 64), box(laneid=32, m=32)),
    "mma B m16n8k64 e2m1": (mma_fragment_layout("B", "float4_e2m1fn", 64), box(laneid=32, m=16)),
    "mma A m8n8k4 f64": (mma_fragment_layout("A", "float64", 4, m=8), box(laneid=32, m=1)),
    "mma A m8n8k16 s8": (mma_fragment_layout("A", "int8", 16, m=8), box(laneid=32, m=4)),
    "mma D m8n8k16 s32": (mma_fragment_layout("D", "int32", 16, m=8), box(laneid=32, m=2)),
    "wgmma D m64n96": (wgmma_accumulator_layout(96), box(wid_in_wg=4, laneid=32, m=48)),
    "wgmma A f16": (wgmma_operand_layout("float16"), box(wid_in_wg=4, laneid=32, m=8)),
    "warpgroup rows": (wg_local_layout(24), box(tid_in_wg=128, m=24)),
    "tcgen05.ld 32x32b": (tcgen05_atom_layout("32x32b", (128, 16), "float32"), box(tid_in_wg=128, m=16)),
    "tcgen05.ld 16x64b": (
        tcgen05_atom_layout("16x64b", (64, 16), "float32"),
        box(wid_in_wg=4, laneid=32, m=8),
    ),
    "tcgen05.ld 16x128b": (
        tcgen05_atom_layout("16x128b", (64, 16), "float32"),
        box(wid_in_wg=4, laneid=32, m=8),
    ),
    "tcgen05.ld 16x256b": (
        tcgen05_atom_layout("16x256b", (128, 16), "float32"),
        box(wid_in_wg=4, laneid=32, m=16),
    ),
    "datapath A": (tmem_datapath_layout("A", 128, 24), tmem(range(128), 24)),
    "datapath B": (tmem_datapath_layout("B", 64, 24), tmem(range(128), 12)),
    "datapath C": (tmem_datapath_layout("C", 64, 24), tmem(LOWER, 24)),
    "datapath D": (tmem_datapath_layout("D", 128, 24), tmem(range(128), 24)),
    "datapath E": (tmem_datapath_layout("E", 64, 24), tmem(range(128), 12)),
    "datapath F": (tmem_datapath_layout("F", 64, 24), tmem(LOWER, 24)),
    "datapath F, upper": (tmem_datapath_layout("F", 64, 24, sub_slab=1), tmem(UPPER, 24)),
    "datapath G": (tmem_datapath_layout("G", 32, 24), tmem(range(128), 6)),
    "scale factors 128x4": (tmem_scale_factor_layout(128, 4), tmem(range(128), 16)),
    "scale factors 224x4": (tmem_scale_factor_layout(224, 4), tmem(range(128), 28)),
    "scale factors 128x224": (tmem_scale_factor_layout(128, 224), tmem(range(128), 4 * 224)),
    "scale factors 2x2": (tmem_scale_factor_layout(256, 8, "B2x2"), tmem(range(128), 32)),
    "Trainium SBUF": (TileLayout.trainium("PF", (256, 96)), box(P=128, F=192)),
    "Trainium PSUM": (TileLayout.trainium("PF", (32, 2048), is_psum=True), box(P=32, Bank=4, F=512)),
}
HARDWARE |= {
    f"shared {bits}-bit swizzle {16 << mode if mode else 0}B": (
        mma_shared_layout(dtype, mode, (16, 2 * (128 << mode) // bits)),
        box(m=32 * (128 << mode) // bits),
    )
    for mode in range(4)
    for bits, dtype in ((4, "float4_e2m1fn"), (8, "uint8"), (16, "float16"), (32, "float32"))
}


@pytest.mark.parametrize("name", list(HARDWARE))
def test_bijective_onto_its_places(name):
    """Each (element, copy) has its own place, and the places are all of the box."""
    layout, want = HARDWARE[name]
    table = placements(layout)
    copies = len(table[0])
    assert {len(places) for places in table} == {copies}
    seen = set().union(*table)
    assert len(seen) == layout.size() * copies and seen == want
    assert equivalent(layout.canonicalize(), layout)


def occurrences(layout):
    """The replicas as outer digits: a layout without replicas whose elements are (copy, element)."""
    tile = layout.tile_layout if isinstance(layout, ComposeLayout) else layout
    flat = TileLayout.from_iters([*tile.replica, *tile.shard], [], dict(tile.offset.items()))
    if tile is layout:
        return flat
    return ComposeLayout(layout.per_element, layout.swizzle_len, layout.atom_len, flat)


@pytest.mark.parametrize("name", list(HARDWARE))
def test_bijectivity_is_proved(name):
    """The proof engine finds the same without enumerating: total, in bounds, no two occurrences in one place, and
    every place of the box taken (half of the lanes only, for the datapaths of 16 rows per slab)."""
    result = prove(as_map(occurrences(HARDWARE[name][0])), budget=0)
    assert result.total and result.bounds and result.injective, result
    half = name.startswith(("datapath C", "datapath F"))
    assert result.surjective.status == ("DISPROVEN" if half else "PROVEN")


# --- scale factors ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "rows,blocks", [(32, 4), (128, 4), (224, 4), (64, 1), (96, 2), (128, 12), (128, 224)]
)
def test_scale_factors_in_tensor_memory(rows, blocks):
    """Row m, block k: byte k % 4 of the word in column m / 32 (+ rows / 32 per four blocks) of lanes m % 32 + 32 s."""
    layout = tmem_scale_factor_layout(rows, blocks)
    for (m, k), places in zip(coords((rows, blocks)), placements(layout)):
        word = m // 32 + (k // 4) * (rows // 32)
        assert {(dict(p).get("TLane", 0), dict(p).get("TCol", 0)) for p in places} == {
            (m % 32 + 32 * slab, 4 * word + k % 4) for slab in range(4)
        }


def test_scale_factors_are_what_the_copy_writes():
    """The 512-byte atom in memory has byte (m % 32) * 16 + (m / 32) * 4 + k; tcgen05.cp.32x128b.warpx4 puts byte b
    of its 32 rows of 16 bytes into byte b % 4 of column b / 4, in all four slabs."""
    memory = {(m % 32) * 16 + (m // 32) * 4 + k: (m, k) for m in range(128) for k in range(4)}
    tensor = {}
    for byte, element in memory.items():
        row, b = divmod(byte, 16)
        for slab in range(4):
            tensor[row + 32 * slab, b] = element
    layout = tmem_scale_factor_layout(128, 4)
    table = {}
    for element, places in zip(coords((128, 4)), placements(layout)):
        for p in places:
            table[dict(p).get("TLane", 0), dict(p).get("TCol", 0)] = element
    assert table == tensor and len(table) == 128 * 16


def test_scale_factors_of_a_pair_of_ctas():
    """Column n of N: the lower half in lanes n % 32 and 32 + n % 32, the upper in 64 + n % 32 and 96 + n % 32."""
    n_all, blocks = 256, 8
    for (n, k), places in zip(
        coords((n_all, blocks)), placements(tmem_scale_factor_layout(n_all, blocks, "B2x2"))
    ):
        half, rest = divmod(n, n_all // 2)
        word = rest // 32 + (k // 4) * (n_all // 64)
        assert {(dict(p).get("TLane", 0), dict(p).get("TCol", 0)) for p in places} == {
            (64 * half + rest % 32 + 32 * copy, 4 * word + k % 4) for copy in range(2)
        }


def test_scale_factors_as_columns():
    """128 rows of 224 blocks are a tile of 128 lanes by 224 columns of 32 bits, each lane with three copies."""
    columns = view(tmem_scale_factor_layout(128, 224), (128, 224), bits=8).recast(32)
    assert columns.shape == (128, 56)
    assert columns.layout.span("TLane") == 128 and columns.layout.span("TCol") == 224
    seen = set().union(*placements(columns.layout))
    assert seen == tmem(range(128), 224) and len(placements(columns.layout)[0]) == 4
    assert refused(lambda: tmem_scale_factor_layout(100, 4)).code == "bad-shape"
    assert refused(lambda: tmem_scale_factor_layout(128, 6)).code == "bad-shape"
    assert refused(lambda: tmem_scale_factor_layout(128, 4, "D")).code == "bad-operand"


# --- wgmma and the smaller mma ------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [8, 24, 96, 256])
def test_wgmma_accumulator(n):
    """Thread t, element i: row 16 (t / 32) + (t % 32) / 4 + 8 ((i >> 1) & 1), column 8 (i >> 2) + 2 (t % 4) +
    (i & 1)."""
    layout = wgmma_accumulator_layout(n).convert_axes("tid_in_wg")
    for t, i in itertools.product(range(128), range(n // 2)):
        row, column = 16 * (t // 32) + t % 32 // 4 + 8 * ((i >> 1) & 1), 8 * (i >> 2) + 2 * (t % 4) + (i & 1)
        assert layout.apply(row, column, shape=(64, n)) == {"tid_in_wg": t, "m": i}
    assert refused(lambda: wgmma_accumulator_layout(n + 4)).code == "bad-shape"


WGMMA_A = {
    "float16": (16, 8, lambda i, q: (8 * ((i >> 1) & 1), 2 * q + (i & 1) + 8 * (i >> 2))),
    "float32": (8, 4, lambda i, q: (8 * (i & 1), q + 4 * (i >> 1))),
    "int8": (32, 16, lambda i, q: (8 * ((i >> 2) & 1), 4 * q + (i & 3) + 16 * (i >> 3))),
}


@pytest.mark.parametrize("dtype", list(WGMMA_A))
def test_wgmma_operand(dtype):
    k, elements, at = WGMMA_A[dtype]
    layout = wgmma_operand_layout(dtype)
    for t, i in itertools.product(range(128), range(elements)):
        row, column = at(i, t % 4)
        place = layout.apply(16 * (t // 32) + t % 32 // 4 + row, column, shape=(64, k))
        assert place == {"wid_in_wg": t // 32, "laneid": t % 32, "m": i}
    assert refused(lambda: wgmma_operand_layout("float64")).code == "bad-dtype"


# PTX ISA, fragments of mma.m8n8k* and of doubles: (elements, element i of lane 4g + q -> row, k) of A and of B.
SMALL = {
    ("int8", 16, 8): (4, lambda g, q, i: (g, 4 * q + i), 4, lambda q, i: 4 * q + i),
    ("uint4", 32, 8): (8, lambda g, q, i: (g, 8 * q + i), 8, lambda q, i: 8 * q + i),
    ("uint1", 128, 8): (32, lambda g, q, i: (g, 32 * q + i), 32, lambda q, i: 32 * q + i),
    ("float64", 4, 8): (1, lambda g, q, i: (g, q), 1, lambda q, i: q),
    ("float64", 4, 16): (2, lambda g, q, i: (g + 8 * i, q), 1, lambda q, i: q),
    ("float64", 8, 16): (4, lambda g, q, i: (g + 8 * (i % 2), q + 4 * (i // 2)), 2, lambda q, i: q + 4 * i),
    ("float64", 16, 16): (
        8, lambda g, q, i: (g + 8 * (i % 2), (2 * i if i % 2 == 0 else 2 * i - 2) + q), 4, lambda q, i: q + 4 * i,
    ),
}  # fmt: skip


@pytest.mark.parametrize("dtype,k,m", list(SMALL))
def test_small_and_double_fragments(dtype, k, m):
    na, a_map, nb, b_map = SMALL[dtype, k, m]
    a, b = mma_fragment_layout("A", dtype, k, m), mma_fragment_layout("B", dtype, k, m)
    for g, q in coords((8, 4)):
        for i in range(na):
            at = a.apply(*a_map(g, q, i), shape=(m, k))
            assert (at["laneid"], at.get("m", 0)) == (4 * g + q, i)
        for i in range(nb):
            at = b.apply(g, b_map(q, i), shape=(8, k))
            assert (at["laneid"], at.get("m", 0)) == (4 * g + q, i)
    for g, q, i in coords((8, 4, 2)):
        assert mma_fragment_layout("C", dtype, k, 8).apply(g, 2 * q + i, shape=(8, 8)) == {
            "laneid": 4 * g + q,
            "m": i,
        }


def test_small_fragments_that_do_not_exist():
    for call in (
        ("A", "float16", 8, 8),
        ("A", "float64", 8, 8),
        ("A", "float8_e4m3fn", 16, 8),
        ("A", "float64", 32),
    ):
        assert refused(lambda c=call: mma_fragment_layout(*c)).code == "bad-shape"
    assert refused(lambda: mma_fragment_layout("A", "float16", 16, 4)).code == "bad-operand"


# --- Trainium -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "annotation,shape",
    [("PF", (128, 7)), ("FPF", (3, 32, 5)), ("PPF", (4, 32, 6)), ("FP", (5, 128)), ("PF", (384, 6))],
)
def test_trainium_scratchpad(annotation, shape):
    """Partition: the P coordinates row-major (of a P above 128 the low 128, and its rest slowest on F); F row-major."""
    layout = TileLayout.trainium(annotation, shape)
    f_size = 1
    for c, n in zip(annotation, shape):
        f_size *= n if c == "F" else 1
    for coord in coords(shape):
        p = f = 0
        for c, x, n in zip(annotation, coord, shape):
            p, f = (p * n + x, f) if c == "P" else (p, f * n + x)
        at = layout.apply(*coord, shape=shape)
        assert (at["P"], at["F"]) == (p % 128, f + p // 128 * f_size)


@pytest.mark.parametrize("shape", [(128, 512), (64, 1024), (128, 4096)])
def test_trainium_psum(shape):
    """A partition's accumulators fill eight banks of 512 one after another."""
    layout = TileLayout.trainium("PF", shape, is_psum=True)
    for p, c in itertools.product((0, 5, shape[0] - 1), range(0, shape[1], 37)):
        at = layout.apply(p, c, shape=shape)
        assert (at["P"], at.get("Bank", 0), at["F"]) == (p, c // 512, c % 512)
    assert layout.is_trainium()
