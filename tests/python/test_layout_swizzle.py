"""Swizzled layouts: the address map against bit arithmetic, and every operation that is exact on them."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layout_cases import build, coords, factorisations, layouts, linear, refused

from tirx.ir import structural_equal
from tirx.layout import (
    ComposeLayout,
    S,
    SwizzleMode,
    TileLayout,
    equivalent,
    laneid,
    mma_shared_layout,
    placements,
)

QUICK = settings(max_examples=60, deadline=None)
ATOM = ComposeLayout(3, 3, 3, TileLayout(S[512]))  # 128-byte swizzle of 2-byte elements: 8 rows of 64


def address(m, per_element, swizzle_len, atom_len):
    """Bit by bit: chunk-index bit i is xored with bit i + atom_len of the chunk number."""
    for i in range(swizzle_len):
        m ^= ((m >> (per_element + atom_len + i)) & 1) << (per_element + i)
    return m


@st.composite
def swizzled(draw, max_size=128):
    tile = draw(layouts(max_iters=3, replicas=1, max_size=max_size))
    swizzle_len = draw(st.integers(0, 3))
    return ComposeLayout(draw(st.integers(0, 3)), swizzle_len, draw(st.integers(swizzle_len, 4)), tile)


def parameters(layout):
    return layout.per_element, layout.swizzle_len, layout.atom_len


@settings(max_examples=150, deadline=None)
@given(swizzled())
def test_apply_swizzles_the_address_with_the_offset(layout):
    for x in range(layout.size()):
        want = layout.tile_layout.apply(x)
        want["m"] = address(want.get("m", 0), *parameters(layout))
        assert layout.apply(x) == want


@pytest.mark.parametrize("base,want", [(1024, [0, 16, 144, 288]), (128, [16, 0, 160, 304])])
def test_a_swizzled_tile_starts_on_its_period(base, want):
    """128-byte swizzle over bytes: offsets 0, 16, 128, 256 from a start on the period, and from one that is
    not: the second is no shift of the pattern."""
    layout = ComposeLayout(4, 3, 3, TileLayout(S[2048]))
    assert [layout.apply(base + o)["m"] - base for o in (0, 16, 128, 256)] == want
    assert layout.period == 1024


@pytest.mark.parametrize("mode", list(SwizzleMode))
@pytest.mark.parametrize("bits,dtype", [(8, "uint8"), (16, "float16"), (32, "float32"), (4, "float4_e2m1fn")])
def test_mma_shared_layout_is_the_hardwares(mode, bits, dtype):
    """PTX ISA, K-major shared-memory matrix layouts, in bits: linear address, then the xor on bytes
    (32B: bit 4 ^= bit 7; 64B: bits 5:4 ^= 8:7; 128B: bits 6:4 ^= 9:7)."""
    rows, width = 24, 16 << mode
    k = 2 * width * 8 // bits
    layout = mma_shared_layout(dtype, mode, (2, rows, k))
    for s, r, c in itertools.product(range(2), range(rows), range(0, k, 3)):
        kb, within = divmod(c * bits, 8)
        block, inside = divmod(kb, width)
        byte = s * rows * k * bits // 8 + block * rows * width + r // 8 * 8 * width + r % 8 * width + inside
        for i in range(mode):
            byte ^= ((byte >> (7 + i)) & 1) << (4 + i)
        assert layout.apply(s, r, c, shape=(2, rows, k))["m"] * bits == byte * 8 + within


@pytest.mark.parametrize("mode,align", [(1, 256), (2, 512), (3, 1024)])
def test_period_is_the_alignment_the_hardware_wants(mode, align):
    assert mma_shared_layout("float16", mode, (8, 64)).period * 2 == align


def test_mma_shared_layout_refuses_partial_atoms():
    assert refused(lambda: mma_shared_layout("float16", 3, (12, 64))).code == "bad-shape"
    assert refused(lambda: mma_shared_layout("float16", 3, (8, 32))).code == "bad-shape"
    assert refused(lambda: mma_shared_layout("float6_e2m3fn", 3, (8, 128))).code == "bad-dtype"
    assert str(mma_shared_layout("float16", 0, (8, 12))) == "S[96:1]"


def test_bad_parameters_are_refused():
    assert refused(lambda: ComposeLayout(3, 3, 2, TileLayout(S[512]))).code == "bad-swizzle"
    assert refused(lambda: ComposeLayout(3, 3, 3, TileLayout(S[512]), False)).code == "swizzle-direction"
    assert ComposeLayout(3, 2, 2, TileLayout(S[512])).size() == 512


@QUICK
@given(swizzled())
def test_canonicalize_preserves_placements(layout):
    form = layout.canonicalize()
    assert placements(form) == placements(layout)
    assert structural_equal(form.canonicalize(), form)


def test_a_swizzle_without_row_bits_disappears():
    assert str(ComposeLayout(3, 3, 3, TileLayout(S[64])).canonicalize()) == "S[64:1]"
    assert ComposeLayout(3, 3, 3, TileLayout(S[128])).canonicalize().swizzle_len == 1
    # A constant row bit only exchanges chunks: digits that run backwards.
    assert (
        str(ComposeLayout(3, 3, 3, TileLayout(S[64] + 64)).canonicalize()) == "S[(4, 2, 8):(16, -8, 1)] + 72"
    )


@QUICK
@given(swizzled(64), swizzled(64))
def test_equivalent_across_swizzles(a, b):
    pa, pb = placements(a), placements(b)
    answer = equivalent(a, b)
    if len(pa) != len(pb):
        assert answer.kind == "size"
    else:
        assert answer.index == next((x for x in range(len(pa)) if pa[x] != pb[x]), None)


def test_equivalent_finds_the_row_where_swizzles_part():
    other = ComposeLayout(3, 2, 3, TileLayout(S[512]))
    assert equivalent(ATOM, other).index == 256 and equivalent(ATOM, TileLayout(S[512])).index == 64
    assert equivalent(ATOM, ComposeLayout(3, 3, 3, TileLayout(S[8, 64])))


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_slice_is_exact(data):
    layout = data.draw(swizzled())
    shape = data.draw(factorisations(layout.size()))
    region = []
    for extent in shape:
        b = data.draw(st.integers(0, extent - 1))
        region.append((b, data.draw(st.integers(b + 1, extent))))
    assume(refused(lambda: layout.slice(shape, region)) is None)
    places = placements(layout)
    inside = [linear(c, shape) for c in itertools.product(*[range(b, e) for b, e in region])]
    assert placements(layout.slice(shape, region)) == [places[x] for x in inside]


def test_slice_with_an_extent_that_is_no_power_of_two():
    part = ATOM.slice([8, 64], [(3, 6), (8, 32)])
    for r, c in coords([3, 24]):
        assert part.apply(r, c, shape=[3, 24])["m"] == ATOM.apply(3 + r, 8 + c, shape=[8, 64])["m"]


def mixed_radix(values):
    """Whether values[y] - values[0] is a sum of digits of y times strides, by trying every innermost extent."""
    n = len(values)
    if n == 1:
        return True
    for e in (e for e in range(2, n + 1) if n % e == 0):
        step = values[1] - values[0]
        rows = [values[i : i + e] for i in range(0, n, e)]
        if all(row == [row[0] + step * i for i in range(e)] for row in rows) and mixed_radix(
            [r[0] for r in rows]
        ):
            return True
    return False


SWIZZLES = ((0, 1, 1), (1, 1, 1), (2, 1, 2), (2, 2, 2))


@pytest.mark.parametrize("extents", [(3, 4), (3, 8), (5, 4), (6, 4)])
def test_a_column_of_a_swizzled_tile_is_refused_only_when_it_is_no_layout(extents):
    """Under none of the swizzles of one bit, nor plainly, are the addresses of a refused box mixed-radix."""
    size = math.prod(extents)
    boxes = [
        (h, size // h, *at)
        for h in range(2, size)
        if size % h == 0
        for at in ((1, 5, size // h - 1), (0, 4, 1))
    ]
    strides = itertools.product((1, 2, 3, 4, 8, 12, 24), (1, 2, 3, 4))
    for (outer, inner), bits in itertools.product(strides, SWIZZLES):
        layout = ComposeLayout(*bits, TileLayout(S[extents : (outer, inner)]))
        for rows, columns, first, last, column in boxes:
            last = min(last, rows)
            if last <= first or column >= columns:
                continue
            want = [layout.apply(r * columns + column)["m"] for r in range(first, last)]
            box = (rows, columns), [(first, last), (column, column + 1)]
            if (error := refused(lambda f=layout.slice, box=box: f(*box))) is None:
                part = layout.slice(*box)
                assert [part.apply(y)["m"] for y in range(last - first)] == want
                continue
            assert error.code in ("not-groupable", "slice-not-a-layout")
            for f in [(0, 0, 0), *itertools.product(range(5), [1], range(1, 5))]:
                assert not mixed_radix([address(m, *f) for m in want]), (layout, box)


def test_a_box_is_read_off_the_swizzled_addresses():
    """Neither the tile's box nor its iters are those of a layout; the swizzled addresses are."""
    layout = ComposeLayout(2, 2, 2, TileLayout(S[(1, 3, 8) : (-32, 24, 2)] + -8 @ laneid))
    part = layout.slice([8, 3], [(1, 5), (2, 3)])
    assert placements(part) == [placements(layout)[3 * r + 2] for r in range(1, 5)]
    plain = TileLayout(S[(1, 3, 8) : (-32, 24, 2)])
    assert refused(lambda: plain.slice([8, 3], [(1, 5), (2, 3)])).code == "not-groupable"


@pytest.mark.parametrize("extents, strides", [((2, 3, 2), (5, 1)), ((2, 3, 3), (5, 2)), ((2, 3, 2), (5, 4))])
def test_ranges_of_swizzled_tiles_keep_their_lanes(extents, strides):
    """Some of these ranges are layouts only after the swizzle, and start at lane 1 + 5."""
    layout = ComposeLayout(0, 1, 2, TileLayout(S[extents : (1 @ laneid, *strides)] + 5 @ laneid))
    size = layout.size()
    for b, e in itertools.combinations(range(size + 1), 2):
        if refused(lambda b=b, e=e: layout.slice([size], [(b, e)])) is None:
            assert placements(layout.slice([size], [(b, e)])) == placements(layout)[b:e]


def test_a_swizzle_of_no_bits_is_none():
    plain, same = TileLayout(S[3:1]), ComposeLayout(2, 0, 2, TileLayout(S[3:1]))
    outer = TileLayout(S[2:1])
    assert same.span() == 3 and same.contiguous_run([3]) == plain.contiguous_run([3])
    tiled = same.tile(outer, [2], [3])
    assert [tiled.apply(x) for x in range(6)] == [{"m": x} for x in range(6)]
    assert equivalent(plain.is_tile_inner(tiled, [6], [3]), outer)
    assert equivalent(same.is_tile_inner(plain.tile(outer, [2], [3]), [6], [3]), outer)
    assert placements(same.unpack(3)) == placements(plain.unpack(3))
    assert placements(ComposeLayout(1, 0, 2, TileLayout(S[8:1])).pack(4)) == placements(TileLayout(S[2:1]))


@QUICK
@given(st.data())
def test_group_and_permute_move_the_tile_only(data):
    layout = data.draw(swizzled(64))
    shape = data.draw(factorisations(layout.size()))
    assume(refused(lambda: layout.group(shape)) is None)
    grouped, seps = layout.group(shape)
    assert placements(grouped) == placements(layout)
    order = list(range(len(shape)))[::-1]
    turned, before = placements(grouped.permute_by_groups(seps, order)), placements(layout)
    for c in coords(shape[::-1]):
        assert turned[linear(c, shape[::-1])] == before[linear(c[::-1], shape)]


def test_tile_of_a_swizzled_atom():
    """Tiles are whole periods apart, so tiling and swizzling commute."""
    tiled = ATOM.tile_to([16, 128], [8, 64])
    places, atom = placements(tiled), placements(ATOM)
    assert tiled.span() == 2048 and ATOM.span() == 512
    for i, r, j, c in coords([2, 8, 2, 64]):
        (inner,) = atom[r * 64 + c]
        want = dict(inner).get("m", 0) + (i * 2 + j) * 512
        assert places[linear((i, r, j, c), [2, 8, 2, 64])] == {frozenset({("m", want)} if want else ())}
    found = ATOM.is_tile_inner(tiled, [16, 128], [8, 64])
    assert equivalent(found, TileLayout(S[2, 2]))
    inner = found.is_tile_outer(tiled, [16, 128], [2, 2])
    assert equivalent(inner, ATOM)


def test_tile_within_a_period_is_refused():
    half = ComposeLayout(3, 3, 3, TileLayout(S[4, 64]))
    assert refused(lambda: half.tile_to([8, 64], [4, 64])).code == "swizzle-period"
    assert refused(lambda: ATOM.direct_sum(TileLayout(S[2:64]), [2], [512])).code == "swizzle-period"
    assert ATOM.direct_sum(TileLayout(S[2:512]), [2], [512]).size() == 1024
    assert refused(lambda: ATOM.is_tile_inner(TileLayout(S[1024]), [1024], [512])).code == "swizzle-mismatch"


@QUICK
@given(swizzled(32), st.sampled_from([1, 2, 4]))
def test_widths(layout, num):
    wide = layout.unpack(num)
    before, after = placements(layout), placements(wide)
    for x, places in enumerate(after):
        want = set()
        for p in before[x // num]:
            at = dict(p)
            at["m"] = at.get("m", 0) * num + x % num
            want.add(frozenset((a, v) for a, v in at.items() if v))
        assert places == want
    assert equivalent(wide.pack(num), layout)


def test_float_view_of_a_half_tile():
    """fp32 elements of a 128-byte swizzled bf16 tile: each is two neighbours, chunks shrink to 4."""
    view = mma_shared_layout("bfloat16", 3, (16, 64)).recast(16, 32)
    assert view.per_element == 2 and view.size() == 512
    for r, c in coords([16, 32]):
        halves = mma_shared_layout("bfloat16", 3, (16, 64)).apply(r, 2 * c, shape=[16, 64])["m"]
        assert view.apply(r, c, shape=[16, 32])["m"] * 2 == halves
    assert refused(lambda: ComposeLayout(0, 1, 1, TileLayout(S[4])).pack(2)).code == "not-packable"
    assert refused(lambda: ATOM.unpack(3)).code == "swizzle-recast"


def test_runs_end_at_the_chunk():
    assert ATOM.contiguous_run([8, 64]) == 8
    assert ComposeLayout(3, 0, 3, TileLayout(S[512])).contiguous_run([8, 64]) == 64
    assert mma_shared_layout("float32", 3, (16, 32)).contiguous_run([16, 32]) == 4
    assert ComposeLayout(3, 3, 3, build([(8, 66), (64, 1)])).contiguous_run([8, 64]) == 2


@QUICK
@given(swizzled(48), st.sampled_from([2, 4, 8, 16]))
def test_runs_are_sound(layout, limit):
    """Every run that is promised is consecutive and aligned; a longer one may exist (the tile starts at -6)."""
    run, values = (
        layout.contiguous_run([layout.size()], limit=limit),
        [layout.apply(x) for x in range(layout.size())],
    )
    for x in range(0, layout.size(), run):
        assert values[x].get("m", 0) % run == 0
        for i in range(run if x + run <= layout.size() else 0):
            assert values[x + i] == values[x] | {"m": values[x].get("m", 0) + i}
    assert ComposeLayout(0, 1, 2, TileLayout(S[2:1] + -6)).contiguous_run([2]) == 1


def test_storage_keeps_the_swizzle():
    layout = ComposeLayout(3, 3, 3, TileLayout(S[(4, 512) : (1 @ laneid, 1)]))
    assert equivalent(layout.storage(), ATOM) and layout.get_scope() == ("thread", "warp")


@settings(max_examples=40, deadline=None)
@given(swizzled())
def test_span_covers_the_addresses(layout):
    """Whole blocks of 2^(M + B) elements: never less than the exact span, never two blocks more."""
    values = [dict(p).get("m", 0) for places in placements(layout) for p in places]
    exact, block = max(values) - min(values) + 1, 1 << (layout.per_element + layout.swizzle_len)
    if layout.swizzle_len == 0:
        assert layout.span() == exact
        return
    assert exact <= layout.span() and layout.span() % block == 0
    tile = [dict(p).get("m", 0) for places in placements(layout.tile_layout) for p in places]
    low, high = min(tile) // block, max(tile) // block
    assert layout.span() == (high - low + 1) * block and math.gcd(layout.period, block) == block


def test_span_counts_the_block_that_an_offset_reaches_into():
    assert ComposeLayout(0, 1, 1, TileLayout(S[2] + 1)).span() == 4
    assert ComposeLayout(0, 1, 1, TileLayout(S[2] + 2)).span() == 2
