"""Views: every element of a view has the places of the elements that its coordinate names in the old one.

Exhaustive over small layouts (padded, reversed, replicated, swizzled), random beyond; widths are checked bit by
bit of memory.
"""

import itertools
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_cases import build, coords, factorisations, layouts, refused

from tirx.arith import Analyzer, simplify
from tirx.ir import Var, substitute
from tirx.layout import (
    ComposeLayout,
    S,
    TCol,
    TileLayout,
    TLane,
    equivalent,
    laneid,
    mma_shared_layout,
    placements,
    tmem_datapath_layout,
    view,
    warpid,
)  # fmt: skip

QUICK = settings(max_examples=80, deadline=None)

# Layouts of 12 or 24 elements: padded, column-major, reversed, with replicas, offset, on lanes, swizzled.
BASES = [
    build([(4, 6), (6, 1)]),
    build([(4, 9), (6, 1)], (), (3,)),
    build([(4, 1), (6, 4)], [(2, 32)]),
    build([(4, -8), (6, 1)], [(2, 1 @ warpid)], (24,)),
    build([(2, 4 @ laneid), (2, 2), (3, 1 @ laneid), (2, 1)], [(2, 16 @ laneid), (3, 4 @ warpid)]),
    ComposeLayout(1, 2, 2, build([(4, 6), (6, 1)])),
    ComposeLayout(0, 1, 2, build([(4, 8), (6, 1)], [(2, 64)], (4,))),
]
SHAPES = [(24,), (4, 6), (2, 2, 6), (4, 3, 2), (2, 2, 3, 2)]


def table(v):
    """{coordinate: places}"""
    return dict(zip(coords(v.shape), placements(v.layout)))


@pytest.mark.parametrize("base", BASES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_narrow_and_select(base, shape):
    """Every range and every index of every dimension; a refusal is the slice's."""
    v, whole = view(base, shape), table(view(base, shape))
    for dim, n in enumerate(shape):
        for start in range(n):
            for length in range(1, n - start + 1):
                error = refused(lambda d=dim, s=start, k=length: v.narrow(d, s, k))
                if error is not None:
                    assert error.code in ("slice-not-a-layout", "not-groupable")
                    continue
                for c, places in table(v.narrow(dim, start, length)).items():
                    assert places == whole[(*c[:dim], c[dim] + start, *c[dim + 1 :])]
            if refused(lambda d=dim, s=start: v.select(d, s)) is None:
                for c, places in table(v.select(dim, start - n)).items():
                    assert places == whole[(*c[:dim], start, *c[dim:])]


@pytest.mark.parametrize("base", BASES, ids=str)
def test_reshape_flatten_permute_expand(base):
    for shape in SHAPES:
        v, whole = view(base, shape), table(view(base, shape))
        assert list(table(v.reshape(2, -1)).values()) == list(whole.values())
        for first, last in itertools.combinations_with_replacement(range(len(shape)), 2):
            flat = v.flatten(first, last)
            assert flat.shape == (*shape[:first], math.prod(shape[first : last + 1]), *shape[last + 1 :])
            assert list(table(flat).values()) == list(whole.values())
        if refused(lambda v=v: v.permute(range(len(v.shape)))):
            continue
        for order in itertools.permutations(range(len(shape))):
            for c, places in table(v.permute(order)).items():
                assert places == whole[tuple(c[order.index(d)] for d in range(len(shape)))]
        for dim in range(len(shape) + 1):
            for c, places in table(v.expand(dim, 3)).items():
                assert places == whole[(*c[:dim], *c[dim + 1 :])]


def test_what_is_no_view_is_refused():
    v = view(BASES[0], (4, 6))
    assert refused(lambda: view(BASES[0], (4, 5))).code == "size-mismatch"
    assert refused(lambda: view(BASES[0], (-4, -6))).code == "size-mismatch"
    assert refused(lambda: view(3, (4, 5))).code == "unknown-layout"
    assert refused(lambda: v.narrow(2, 0, 1)).code == "out-of-range"
    assert refused(lambda: v.narrow(0, 2, 3)).code == "out-of-range"
    assert refused(lambda: v.select(0, 4)).code == "out-of-range"
    assert refused(lambda: v.reshape(5, -1)).code == "size-mismatch"
    assert refused(lambda: v.permute(0, 0)).code == "bad-permutation"
    assert refused(lambda: v.recast(8)).code == "no-width"
    assert refused(lambda: view(BASES[0], (24,), 16).recast(65)).code == "bad-dtype"
    pair = view(build([(2, 1), (3, 2 @ laneid)]), (3, 2))
    error = refused(lambda: pair.permute(1, 0))
    assert error.code == "not-groupable" and "dimension" in error.found
    assert refused(lambda: pair.narrow(0, 0, 2)).code == "not-groupable"


# --- widths -------------------------------------------------------------------------------------------------


def bits_of(v):
    """{coordinate: set of (owner places, tuple of memory bits, lowest first)}, with m numbering elements."""
    out = {}
    for c, places in table(v).items():
        out[c] = {
            (frozenset((a, x) for a, x in p if a != "m"), tuple(range(m * v.bits, (m + 1) * v.bits)))
            for p in places
            for m in [dict(p).get("m", 0)]
        }
    return out


def check_recast(v, to):
    """The bits of row-major neighbours, taken together and cut again; or one of the stated refusals."""
    error = refused(lambda: v.recast(to))
    old = bits_of(v)
    row = v.shape[-1] * v.bits
    if error is not None:
        assert error.code in ("partial-element", "not-packable", "swizzle-recast"), error
        if error.code == "partial-element":
            assert row % to
        return False
    new = bits_of(v.recast(to))
    assert v.recast(to).shape == (*v.shape[:-1], row // to)
    for c, places in new.items():
        for j in range(to):
            from_element, bit = divmod(c[-1] * to + j, v.bits)
            want = {(owner, bits[bit]) for owner, bits in old[(*c[:-1], from_element)]}
            assert {(owner, bits[j]) for owner, bits in places} == want
    return True


WIDTHS = (1, 2, 4, 6, 8, 12, 16, 32, 64)
DENSE = [
    build([(4, 16), (16, 1)]),
    build([(4, 24), (16, 1)], (), (48,)),
    build([(4, 4 @ laneid), (16, 1)], [(2, 1 @ warpid)]),
    build([(2, 16), (2, 4 @ laneid), (16, 1)], [(2, 64)]),
    ComposeLayout(2, 1, 1, build([(4, 16), (16, 1)])),
    ComposeLayout(3, 2, 2, build([(4, 32), (16, 1)])),
]


@pytest.mark.parametrize("base", DENSE, ids=str)
def test_every_pair_of_widths(base):
    done = 0
    for bits, to in itertools.product(WIDTHS, WIDTHS):
        done += check_recast(view(base, (4, 16), bits), to)
    assert done >= (30 if isinstance(base, ComposeLayout) else 45)


def test_widths_are_refused_only_where_no_view_exists():
    """Unswizzled and swizzled layouts of 8 elements to twice the width: possible exactly when each pair of
    neighbours is consecutive, starts on an even element, and both halves are in the same places."""
    count = {True: 0, False: 0}
    for shard in itertools.product([(2, s) for s in (1, 2, 3, 4, 8)], [(4, s) for s in (1, 2, 4, 8)]):
        for offset, b in itertools.product(((), (1,), (2,)), range(4)):
            tile = build(shard, (), offset)
            layout = ComposeLayout(b - 1, 1, 1, tile) if b else tile
            v = view(layout, (8,), 8)
            m = [dict(next(iter(p))).get("m", 0) for p in placements(layout)]
            possible = all(x % 2 == 0 and y == x + 1 for x, y in zip(m[::2], m[1::2]))
            made = check_recast(v, 16)
            count[made] += 1
            assert possible or not made
            if not b:
                assert made == possible, str(layout)
    assert min(count.values()) >= 18


def test_the_dimension_that_is_consecutive():
    """A column-major tile widens along its rows."""
    v = view(build([(8, 1), (6, 8)]), (8, 6), 16)
    assert refused(lambda: v.recast(32)).code == "not-packable"
    wide = v.recast(32, dim=0)
    assert wide.shape == (4, 6) and str(wide.layout.canonicalize()) == "S[(4, 6):(1, 4)]"


def test_padded_rows():
    """A pitch of 100 halves is 50 words; one of 101 is none, and says so; 6-bit rows with 4 bytes of padding
    after 12 are no whole number of 6-bit elements."""
    assert str(view(TileLayout(S[(8, 64) : (100, 1)]), (8, 64), 16).recast(32).layout) == "S[(8, 32):(50, 1)]"
    error = refused(lambda: view(TileLayout(S[(8, 64) : (101, 1)]), (8, 64), 16).recast(32))
    assert error.code == "not-packable" and "8:101" in error.found
    assert refused(lambda: view(TileLayout(S[8, 7]), (8, 7), 4).recast(8)).code == "partial-element"
    bytes_ = view(TileLayout(S[(8, 12) : (16, 1)]), (8, 12), 8)
    error = refused(lambda: bytes_.recast(6))
    assert error.code == "not-packable" and "8:64" in error.found  # 64 two-bit units are not 3 n
    assert bytes_.recast(4).shape == (8, 24)
    six = view(TileLayout(S[(8, 16)]), (8, 16), 6)
    assert six.recast(8).shape == (8, 12) and equivalent(six.recast(8).recast(6).layout, six.layout)


def test_tensor_memory_counts_elements_along_columns():
    """A column of lanes widens and narrows along TCol, never along the lanes."""
    column = view(TileLayout(S[128 : 1 @ TLane]), (128, 1), 32)
    assert str(column.recast(16).layout) == "S[(128, 2):(1@TLane, 1@TCol)]"
    wide = view(TileLayout(S[(128, 64) : (1 @ TLane, 1 @ TCol)] + 32 @ TCol), (128, 64), 16).recast(32)
    assert str(wide.layout) == "S[(128, 32):(1@TLane, 1@TCol)] + 16@TCol"


@QUICK
@given(st.data())
def test_widths_random(data):
    layout = data.draw(layouts(max_iters=3, replicas=1, max_size=48)).unpack(
        data.draw(st.sampled_from([1, 2, 4]))
    )
    if data.draw(st.booleans()):
        b = data.draw(st.integers(0, 2))
        layout = ComposeLayout(data.draw(st.integers(0, 3)), b, data.draw(st.integers(b, 3)), layout)
    shape = data.draw(factorisations(layout.size(), 2))
    check_recast(view(layout, shape, data.draw(st.sampled_from(WIDTHS))), data.draw(st.sampled_from(WIDTHS)))


# --- reductions ---------------------------------------------------------------------------------------------


def owners_of(places):
    return {frozenset((a, x) for a, x in p if a != "m") for p in places}


def check_reduce(v, dim, length):
    """The result of a run is with every owner of an element of the run, once, dense, and nobody else's."""
    out, whole = v.reduce(dim, length), table(v)
    assert out.shape == (*v.shape[:dim], v.shape[dim] // length, *v.shape[dim + 1 :])
    held = {}
    for c, places in table(out).items():
        run = [whole[(*c[:dim], c[dim] * length + k, *c[dim + 1 :])] for k in range(length)]
        assert owners_of(places) == set().union(*map(owners_of, run)), c
        assert len(places) == len(owners_of(places))  # one copy per owner
        for p in places:
            held.setdefault(owners_of([p]).pop(), {}).setdefault(dict(p).get("m", 0), set()).add(c)
    assert all(len(cs) == 1 for by_place in held.values() for cs in by_place.values())
    assert {frozenset(by_place) for by_place in held.values()} == {frozenset(range(out.layout.span()))}
    return out


def test_reduction_of_448_columns_in_groups_of_32():
    """(16, 448) in accumulator fragments of one warp to (16, 14): the four lanes of a quad share each group of
    32 columns, so that the result has four replicas, and a lane keeps 2 x 14 results."""
    source = view(TileLayout(S[(2, 8, 56, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)]), (16, 448))
    out = check_reduce(source, 1, 32)
    assert out.shape == (16, 14)
    assert str(out.layout) == "S[(2, 8, 14):(1, 4@laneid, 2)] + R[4:1@laneid]"


def test_reduction_over_whole_warps():
    """The same shape with one warp per group and one lane per column: 32 replicas."""
    source = view(TileLayout(S[(16, 14, 32) : (1, 1 @ warpid, 1 @ laneid)]), (16, 448))
    out = check_reduce(source, 1, 32)
    assert str(out.layout) == "S[(16, 14):(1, 1@warpid)] + R[32:1@laneid]"


def test_reductions_small():
    v = view(
        build([(2, 4), (2, 2 @ laneid), (3, 4 @ laneid), (2, 1), (2, 1 @ laneid)], [(2, 1 @ warpid)]), (4, 12)
    )
    for dim, length in ((0, 1), (0, 2), (0, 4), (1, 2), (1, 4), (1, 12)):
        check_reduce(v, dim, length)
    assert refused(lambda: v.reduce(1, 5)).code == "not-a-multiple"
    assert refused(lambda: view(BASES[5], (4, 6)).reduce(1, 2)).code == "swizzled"


def test_results_of_a_reduction_keep_the_order_of_their_memory():
    for strides in ((8, 2), (2, 8)):
        v = view(build([(2, strides[0]), (2, strides[1]), (4, 1 @ laneid)]), (2, 2, 4))
        first, second = (2, 1) if strides[0] > strides[1] else (1, 2)
        for c, places in table(check_reduce(v, 2, 4)).items():
            assert {dict(p).get("m", 0) for p in places} == {c[0] * first + c[1] * second}


# --- hardware -----------------------------------------------------------------------------------------------


def test_a_swizzled_slice_of_no_power_of_two():
    """Rows 5..22 and columns 8..55 of a 128-byte swizzled tile, element by element."""
    smem = mma_shared_layout("bfloat16", 3, (64, 128))
    part = view(smem, (64, 128), 16).narrow(0, 5, 18).narrow(1, 8, 48)
    assert str(part.layout) == "ComposeLayout(3, 3, 3, TileLayout(S[(18, 48):(64, 1)] + 328))"
    for r, c in coords((18, 48)):
        byte = 2 * ((5 + r) * 64 + 8 + c)
        assert part(r, c)["m"] * 2 == byte ^ ((byte >> 7 & 7) << 4)
    # Across the two column blocks the box is a layout, too: two halves 4096 apart.
    across = view(smem, (64, 128)).narrow(1, 32, 64)
    assert str(across.layout.tile_layout) == "S[(64, 2, 32):(64, 4064, 1)] + 32"
    error = refused(lambda: view(smem, (64, 128)).narrow(1, 40, 60))
    assert error.code == "slice-not-a-layout" and "dimension 1" in error.found


def test_a_float_view_of_a_half_tile():
    """fp32 elements of a bf16 tile under the 128-byte swizzle, by byte address."""
    v = view(mma_shared_layout("bfloat16", 3, (16, 64)), (16, 64), 16).recast(32)
    assert (v.layout.per_element, v.shape) == (2, (16, 32))
    for r, c in coords((16, 32)):
        byte = r * 128 + c * 4
        assert v(r, c)["m"] * 4 == byte ^ ((byte >> 7 & 7) << 4)


def test_a_half_accumulator_at_lane_16():
    """The upper 16 lanes of each 32-lane slab of a full accumulator are datapath F with the upper half."""
    whole = view(tmem_datapath_layout("D", 128, 96), (128, 96))
    half = whole.reshape(4, 2, 16, 96).select(1, 1).flatten(0, 1)
    assert half.shape == (64, 96)
    assert str(half.normal().layout) == str(tmem_datapath_layout("F", 64, 96, sub_slab=1).canonicalize())
    for m, n in coords((64, 96)):
        assert half(m, n) == {"TLane": 32 * (m // 16) + 16 + m % 16, "TCol": n}


def test_a_half_precision_accumulator_at_lane_16():
    """16-bit results take the low half of each 32-bit column: in halves, every second place of TCol."""
    words = view(tmem_datapath_layout("F", 64, 48, sub_slab=1), (64, 48), bits=32)
    low = words.recast(16).reshape(64, 48, 2).select(2, 0)
    for m, n in coords((64, 48)):
        assert low(m, n) == {"TLane": 32 * (m // 16) + 16 + m % 16, "TCol": 2 * n}
    assert refused(lambda: low.recast(32)).code == "not-packable"  # the high halves are not part of it


# --- variables ----------------------------------------------------------------------------------------------


def test_symbolic_views():
    rows, k, i = Var("M"), Var("K"), Var("i")
    facts = Analyzer()
    facts.bind_modular(k, 8)
    facts.bind(i, 0, 16)
    v = view(TileLayout(S[(rows, k)]), (rows, k), 16).given(facts)
    part = v.narrow(0, i * 4, 4).recast(32)
    at = {rows: 64, k: 24, i: 3}
    number = lambda e: e if isinstance(e, int) else simplify(substitute(e, at)).value  # noqa: E731
    assert [number(n) for n in part.shape] == [4, 12]
    for r, c in coords((4, 12)):
        assert number(part(r, c)["m"]) == ((3 * 4 + r) * 24 + 2 * c) // 2
    error = refused(lambda: view(TileLayout(S[(rows, k)]), (rows, k), 16).recast(32))
    assert error.code in ("not-packable", "unproved")
    error = refused(lambda: v.flatten().narrow(0, i, 4).recast(32))  # an odd start is possible
    assert error.code == "not-packable" and "offset i" in error.found
