"""Every layout operation against its definition on placements: exhaustive on small layouts, random beyond."""

import itertools
import math

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layout_cases import (
    build,
    coords,
    factorisations,
    is_mixed_radix,
    layouts,
    linear,
    refused,
    scaled_sum,
    shard_map,
    shards_of,
    small_layouts,
    small_shards,
)  # fmt: skip

from tirx.ir import structural_equal
from tirx.layout import R, S, TileLayout, equivalent, laneid, placements, warpid

QUICK = settings(max_examples=60, deadline=None)


def axes_of(layout):
    return {a for places in placements(layout) for place in places for a, _ in place} | {"m"}


# --- evaluation ---------------------------------------------------------------------------------------------


def test_size_and_span_small():
    for layout in small_layouts():
        places = placements(layout)
        assert layout.size() == len(places)
        for axis in axes_of(layout):
            values = [dict(p).get(axis, 0) for element in places for p in element]
            assert layout.span(axis) == max(values) - min(values) + 1


def test_apply_is_the_place_without_replicas():
    for layout in small_layouts():
        bare = placements(TileLayout.from_iters(list(layout.shard), [], dict(layout.offset.items())))
        for x, places in enumerate(bare):
            got = layout.apply(x)
            assert frozenset((a, v) for a, v in got.items() if v) in places and len(places) == 1
            assert all(type(v) is int for v in got.values())


@QUICK
@given(st.data())
def test_apply_reads_coordinates_row_major(data):
    layout = data.draw(layouts())
    shape = data.draw(factorisations(layout.size()))
    for coord in itertools.islice(coords(shape), 40):
        assert layout.apply(*coord, shape=shape) == layout.apply(linear(coord, shape))


@pytest.mark.parametrize("coord", [(-1,), (12,), (3, 0), (0, 4), (0, 0, 0)])
def test_apply_refuses_what_is_outside(coord):
    error = refused(lambda: build([(3, 4), (4, 1)]).apply(*coord))
    assert error.code in ("out-of-range", "rank-mismatch")
    assert build([(3, 4), (4, 1)]).apply(2, 3) == {"m": 11}


# --- normal form --------------------------------------------------------------------------------------------


def test_canonical_form_is_normal():
    """Equal placements, equal objects; different placements, different objects; and a fixed point."""
    forms = {}
    for layout in small_layouts():
        form = layout.canonicalize()
        key = tuple(placements(layout))
        assert tuple(placements(form)) == key
        assert structural_equal(form.canonicalize(), form)
        assert structural_equal(forms.setdefault(key, form), form), (str(forms[key]), str(layout))


def test_replica_sets_have_one_form():
    """All replica lists of up to three iters, grouped by the set that they generate."""
    forms = {}
    steps = list(itertools.product((2, 3), (1, 2, 3, 4, -2)))
    for n in range(4):
        for replica in itertools.combinations_with_replacement(steps, n):
            layout = build([(2, 100)], replica)
            form = layout.canonicalize()
            key = placements(layout)[0]
            assert placements(form) == placements(layout)
            assert structural_equal(forms.setdefault(key, form), form), (str(forms[key]), str(form))
    assert len(forms) > 100


@QUICK
@given(layouts(max_iters=5, replicas=3))
def test_canonicalize_preserves_placements(layout):
    form = layout.canonicalize()
    assert placements(form) == placements(layout)
    assert structural_equal(form.canonicalize(), form)
    assert len(form.shard) <= max(1, len(layout.shard)) and len(form.replica) <= len(layout.replica)


def test_canonical_examples():
    assert str(TileLayout(S[(2, 4) : (4, 1)]).canonicalize()) == "S[8:1]"  # paper, section 5.1
    assert str(build([(4, 1)], [(2, -4 @ warpid)]).canonicalize()) == "S[4:1] + R[2:4@warpid] + -4@warpid"
    assert str(build([(1, 7 @ laneid)]).canonicalize()) == "S[1:1]"
    assert str(build([(2, 0 @ laneid), (2, 0)]).canonicalize()) == "S[4:0]"


def test_equivalent_gives_the_first_difference():
    family = [build(shard) for shard in small_shards(2, strides=(0, 1, 2, 1 @ laneid))]
    family += [
        build([(4, 1)], replica, off) for replica in ((), ((2, 8),)) for off in ((), (1,), (1 @ warpid,))
    ]
    tables = [placements(layout) for layout in family]
    for (a, pa), (b, pb) in itertools.product(list(zip(family, tables))[::3], zip(family, tables)):
        answer = equivalent(a, b)
        if len(pa) != len(pb):
            assert answer.kind == "size"
        else:
            first = next((x for x in range(len(pa)) if pa[x] != pb[x]), None)
            assert answer.index == first and bool(answer) == (first is None)


# --- group, permute -----------------------------------------------------------------------------------------


def separable(values, inner):
    """Whether D(a * inner + b) = D(a * inner) + D(b)."""
    axes = {a for v in values for a in v}
    return all(
        v.get(a, 0) == values[x - x % inner].get(a, 0) + values[x % inner].get(a, 0)
        for x, v in enumerate(values)
        for a in axes
    )


def check_group(layout, shape):
    """Grouping preserves placements; it is refused exactly when some boundary does not separate digits."""
    error = refused(lambda: layout.group(shape))
    possible = all(separable(shard_map(layout), math.prod(shape[d:])) for d in range(1, len(shape)))
    assert (error is None) == possible, (str(layout), shape)
    if error is not None:
        assert error.code == "not-groupable"
        return
    grouped, seps = layout.group(shape)
    assert placements(grouped) == placements(layout)
    extents = shards_of(grouped)
    assert seps[0] == 0 and seps[-1] == len(extents) and len(seps) == len(shape) + 1
    assert [math.prod(extents[a:b]) for a, b in itertools.pairwise(seps)] == list(shape)
    assert all(b > a for a, b in itertools.pairwise(seps))


def test_group_small():
    for shard in small_shards(2, extents=(1, 2, 3, 4), strides=(0, 1, 2, 3, 1 @ laneid)):
        layout = build(shard)
        n = layout.size()
        for a in (d for d in range(1, n + 1) if n % d == 0):
            check_group(layout, [a, n // a])


@QUICK
@given(st.data())
def test_group_random(data):
    layout = data.draw(layouts())
    check_group(layout, data.draw(factorisations(layout.size())))


def test_group_by_its_own_extents_changes_nothing():
    layout = build([(1, 7 @ warpid), (4, 2), (1, 3), (2, 1)])
    grouped, seps = layout.group([1, 4, 1, 2])
    assert structural_equal(grouped, layout) and seps == [0, 1, 2, 3, 4]


def test_group_refuses_another_size_and_bad_extents():
    layout = build([(4, 6), (6, 1)])
    assert refused(lambda: layout.group([5, 5])).code == "size-mismatch"
    assert refused(lambda: layout.group([-4, -6])).code == "bad-extent"
    assert [str(x) for x in layout.group([2, 2, 6])[0].shard] and layout.group([2, 2, 6])[1] == [0, 1, 2, 3]


@QUICK
@given(st.data())
def test_permute_by_groups_is_the_transposed_tile(data):
    layout = data.draw(layouts())
    shape = data.draw(factorisations(layout.size()))
    assume(refused(lambda: layout.group(shape)) is None)
    grouped, seps = layout.group(shape)
    order = data.draw(st.permutations(range(len(shape))))
    permuted, before = placements(grouped.permute_by_groups(seps, order)), placements(layout)
    new_shape = [shape[i] for i in order]
    for coord in coords(new_shape):
        old = [0] * len(shape)
        for position, i in enumerate(order):
            old[i] = coord[position]
        assert permuted[linear(coord, new_shape)] == before[linear(old, shape)]


def test_permute_refuses_what_is_no_permutation():
    layout = build([(2, 3), (3, 1)])
    for order in ([0], [0, 0], [0, 2], [-1, 0]):
        assert refused(lambda o=order: layout.permute_dims(o)).code == "bad-permutation"
    assert refused(lambda: layout.permute_by_groups([0, 3], [0])).code == "bad-separators"


# --- slice --------------------------------------------------------------------------------------------------


def check_slice(layout, shape, region):
    """slice(y) = layout(begin + y); refused exactly when that is no mixed-radix map."""
    places = placements(layout)
    boxes = [range(b, e) for b, e in region]
    inside = [linear(c, shape) for c in itertools.product(*boxes)]
    error = refused(lambda: layout.slice(shape, region))
    if error is None:
        assert placements(layout.slice(shape, region)) == [places[x] for x in inside]
        return
    assert error.code == "slice-not-a-layout", error
    values = shard_map(layout)
    assert not is_mixed_radix([values[x] for x in inside]), (str(layout), shape, region)


def test_slice_small():
    """Every box of every dimension of small layouts in one dimension."""
    for shard in small_shards(2, extents=(2, 3), strides=(1, 2, 3, 5, 1 @ laneid)):
        layout = build(shard)
        n = layout.size()
        for b in range(n):
            for e in range(b + 1, n + 1):
                check_slice(layout, [n], [(b, e)])


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_slice_random(data):
    layout = data.draw(layouts(replicas=1))
    shape = data.draw(factorisations(layout.size()))
    assume(refused(lambda: layout.group(shape)) is None)
    region = []
    for extent in shape:
        b = data.draw(st.integers(0, extent - 1))
        region.append((b, data.draw(st.integers(b + 1, extent))))
    check_slice(layout, shape, region)


def test_slice_of_the_paper():
    """Paper, section 5.1: columns 8:24 of a 16 x 24 tile; a box across the row boundary splits at 4."""
    tile = TileLayout(S[(2, 8, 3, 8) : (192, 8, 64, 1)])
    assert str(tile.slice([16, 24], [(0, 8), (8, 24)])) == "S[(8, 2, 8):(8, 64, 1)] + 64"
    assert str(tile.slice([16, 24], [(4, 12), (8, 24)])) == "S[(2, 4, 2, 8):(160, 8, 64, 1)] + 96"
    assert refused(lambda: tile.slice([16, 24], [(6, 13), (0, 24)])).code == "slice-not-a-layout"


@pytest.mark.parametrize("region", [[(0, 17)], [(-1, 2)], [(3, 3)], [(0, 2), (0, 1)]])
def test_slice_refuses_what_is_outside(region):
    error = refused(lambda: TileLayout(S[16]).slice([16], region))
    assert error.code in ("out-of-range", "rank-mismatch")


# --- tile, direct sum ---------------------------------------------------------------------------------------


@st.composite
def two_tiles(draw):
    """(outer, outer_shape, inner, inner_shape), small enough to enumerate."""
    rank = draw(st.integers(1, 2))
    pair = []
    for _ in range(2):
        layout = draw(layouts(max_iters=2, replicas=1, max_size=16))
        shape = draw(factorisations(layout.size(), rank))
        assume(refused(lambda la=layout, sh=shape: la.group(sh)) is None)
        pair += [layout, shape]
    return pair


def check_sum(total, outer, outer_shape, inner, inner_shape, span):
    po, pi, pt = placements(outer), placements(inner), placements(total)
    interleaved = [e for pair in zip(outer_shape, inner_shape) for e in pair]
    assert len(pt) == math.prod(interleaved)
    for coord in coords(interleaved):
        o, i = po[linear(coord[::2], outer_shape)], pi[linear(coord[1::2], inner_shape)]
        assert pt[linear(coord, interleaved)] == scaled_sum(o, i, span)


@QUICK
@given(two_tiles())
def test_tile_is_outer_times_span_plus_inner(case):
    outer, outer_shape, inner, inner_shape = case
    tiled = inner.tile(outer, outer_shape, inner_shape)
    check_sum(tiled, outer, outer_shape, inner, inner_shape, inner.span)


@QUICK
@given(two_tiles())
def test_direct_sum_adds(case):
    left, left_shape, right, right_shape = case
    total = right.direct_sum(left, left_shape, right_shape)
    check_sum(total, left, left_shape, right, right_shape, lambda axis: 1)


@QUICK
@given(two_tiles())
def test_tile_is_undone(case):
    """The outer and the inner come back up to what the tile does not see (an outer that cannot be told from
    its place in the tile is checked by tiling again)."""
    outer, outer_shape, inner, inner_shape = case
    tiled = inner.tile(outer, outer_shape, inner_shape)
    shape = [a * b for a, b in zip(outer_shape, inner_shape)]
    found = inner.is_tile_inner(tiled, shape, inner_shape)
    assert found is not None and equivalent(inner.tile(found, outer_shape, inner_shape), tiled)
    found = outer.is_tile_outer(tiled, shape, outer_shape)
    assert found is not None and equivalent(found.tile(outer, outer_shape, inner_shape), tiled)


@QUICK
@given(two_tiles())
def test_direct_sum_is_undone(case):
    left, left_shape, right, right_shape = case
    total = right.direct_sum(left, left_shape, right_shape)
    interleaved = [e for pair in zip(left_shape, right_shape) for e in pair]
    found = right.is_direct_sum_right(total, interleaved, right_shape)
    assert found is not None and equivalent(right.direct_sum(found, left_shape, right_shape), total)
    found = left.is_direct_sum_left(total, interleaved, left_shape)
    assert found is not None and equivalent(found.direct_sum(left, left_shape, right_shape), total)


def test_no_outer_is_found_where_there_is_none():
    """All small one-dimensional pairs: None exactly when no outer of the family tiles to the layout."""
    family = [build(s) for s in small_shards(2, extents=(2,), strides=(0, 1, 2, 3, 4, 8, 1 @ laneid))]
    family += [build([(2, s)]) for s in (0, 1, 2, 3, 4, 8, 16, 1 @ laneid)]
    inner = build([(2, 1)])
    tiles = {}
    for outer in family:
        n = outer.size()
        tiles[tuple(placements(inner.tile(outer, [n], [2])))] = outer
    answered = 0
    for tiled in family:
        found = inner.is_tile_inner(tiled, [tiled.size()], [2])
        if found is None:
            assert tuple(placements(tiled)) not in tiles, str(tiled)
        else:
            answered += 1
            assert equivalent(inner.tile(found, [tiled.size() // 2], [2]), tiled)
    assert 5 < answered < len(family)


def test_padded_tile_of_the_paper():
    """A 64 x 24 tile with row pitch 32 repeats at its span, not at its allocation."""
    padded = TileLayout(S[(64, 24) : (32, 1)])
    assert padded.span() == 63 * 32 + 24
    assert str(padded.tile_to([128, 24], [64, 24])) == "S[(2, 64, 24):(2040, 32, 1)]"


def test_tile_to_refuses_partial_tiles():
    assert refused(lambda: TileLayout(S[(8, 8)]).tile_to([12, 8], [8, 8])).code == "not-a-multiple"
    assert refused(lambda: TileLayout(S[(8, 8)]).tile_to([16], [8, 8])).code == "rank-mismatch"


# --- widths, broadcast --------------------------------------------------------------------------------------


def unpacked(places, num, j):
    return frozenset(
        frozenset((a, v) for a, v in {**dict(p), "m": dict(p).get("m", 0) * num + j}.items() if v)
        for p in places
    )


@QUICK
@given(layouts(), st.integers(1, 4))
def test_unpack_multiplies_m(layout, num):
    before, after = placements(layout), placements(layout.unpack(num))
    assert len(after) == num * len(before)
    for x, places in enumerate(after):
        assert places == unpacked(before[x // num], num, x % num)


@QUICK
@given(layouts(), st.integers(1, 4))
def test_pack_undoes_unpack(layout, num):
    assert equivalent(layout.unpack(num).pack(num), layout)


def test_pack_small():
    """Refused exactly when some group of elements is not consecutive and aligned."""
    for shard in small_shards(2, extents=(2, 4), strides=(1, 2, 3, 4, 1 @ laneid)):
        for offset in ((), (1,), (2,)):
            layout = build(shard, (), offset)
            places = placements(layout)
            for num in (2, 4):
                first = places[::num]
                possible = all(
                    len(places) % num == 0 and dict(p).get("m", 0) % num == 0 for f in first for p in f
                ) and all(
                    places[x] == unpacked(_divided(places[x - x % num], num), num, x % num)
                    for x in range(len(places))
                )
                error = refused(lambda la=layout, n=num: la.pack(n))
                assert (error is None) == possible, (str(layout), num)
                if error is None:
                    assert placements(layout.pack(num)) == [_divided(f, num) for f in first]


def _divided(places, num):
    return frozenset(
        frozenset((a, v // num if a == "m" else v) for a, v in p if a != "m" or v // num) for p in places
    )


def test_recast_to_odd_widths():
    """Four 6-bit elements fill three bytes."""
    six = TileLayout(S[(8, 16) : (16, 1)])
    eight = six.recast(6, 8)
    assert str(eight.canonicalize()) == "S[96:1]" and equivalent(eight.recast(8, 6), six)
    assert refused(lambda: TileLayout(S[(8, 6) : (6, 1)] + 1).recast(6, 8)).code == "not-packable"
    assert str(TileLayout(S[(4, 8) : (8, 1)]).recast(4, 16).canonicalize()) == "S[8:1]"


@QUICK
@given(st.data())
def test_broadcast_repeats(data):
    layout = data.draw(layouts(max_iters=3))
    position = data.draw(st.integers(-len(layout.shard) - 1, len(layout.shard)))
    shape = shards_of(layout)
    wide = layout.broadcast(3, position)
    at = position if position >= 0 else len(shape) + 1 + position
    places, before = placements(wide), placements(layout)
    wide_shape = [*shape[:at], 3, *shape[at:]]
    assert shards_of(wide) == wide_shape
    for coord in coords(wide_shape):
        assert places[linear(coord, wide_shape)] == before[linear((*coord[:at], *coord[at + 1 :]), shape)]


# --- threads ------------------------------------------------------------------------------------------------


@QUICK
@given(layouts(max_size=64))
def test_storage_and_owners_split_the_places(layout):
    """Every place of the whole is an owner's coordinate with a storage coordinate, and nothing else."""
    stored = {p for places in placements(layout.storage()) for p in places}
    owners = {p for places in placements(layout.owners()) for p in places}
    whole = {p for places in placements(layout) for p in places}
    assert {frozenset((a, v) for a, v in p if a == "m") for p in whole} == stored
    assert {frozenset((a, v) for a, v in p if a != "m") for p in whole} == owners


def test_scope_of_a_layout():
    assert TileLayout(S[(4, 2)]).get_scope() is None
    assert build([(32, 1 @ laneid)]).get_scope() == ("thread", "warp")
    assert build([(8, 1 @ warpid), (32, 1 @ laneid)]).get_scope() == ("thread", "cta")
    assert build([(4, 1)], [(2, 1 @ warpid)]).get_scope() == ("warp", "cta")


def number(place, weights):
    """A place with the named thread coordinates replaced by their weighted sum."""
    at = dict(place)
    total = sum(w * at.pop(a, 0) for a, w in weights.items())
    return frozenset([*at.items(), *([("?", total)] if total else [])])


NUMBERINGS = {
    ("tid_in_wg",): {"tid_in_wg": 1},
    ("wid_in_wg", "laneid"): {"wid_in_wg": 32, "laneid": 1},
    ("warpid", "laneid"): {"warpid": 32, "laneid": 1},
    ("wgid", "tid_in_wg"): {"wgid": 128, "tid_in_wg": 1},
    ("wgid", "wid_in_wg", "laneid"): {"wgid": 128, "wid_in_wg": 32, "laneid": 1},
    ("tx",): {"tx": 1},
}


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_axis_conversion_names_the_same_threads(data):
    """A layout on one numbering, converted to another, places the same elements on the same threads."""
    source, target = (
        data.draw(st.sampled_from(list(NUMBERINGS))),
        data.draw(st.sampled_from(list(NUMBERINGS))),
    )
    extent, stride = st.sampled_from([2, 3, 4, 8, 32]), st.sampled_from([1, 2, 4, 8, 32, 64])
    one = st.tuples(extent, stride, st.sampled_from(source))
    iters = data.draw(st.lists(one, min_size=1, max_size=2))
    assume(math.prod(e for e, _, _ in iters) <= 256)
    from tirx.layout import Axis

    layout = build(
        [(e, s @ Axis.get(a)) for e, s, a in iters], (), [data.draw(st.integers(0, 8)) @ Axis.get(source[-1])]
    )
    error = refused(lambda: layout.convert_axes(*target))
    if error is not None:
        assert error.code == "axis-not-convertible"
        return
    after = layout.convert_axes(*target)
    for old, new in zip(placements(layout), placements(after)):
        assert {number(p, NUMBERINGS[source]) for p in old} == {number(p, NUMBERINGS[target]) for p in new}
    fixed = {"laneid": 32, "wid_in_wg": 4, "tid_in_wg": 128}
    for axis in set(target) & set(fixed) - set(source):
        assert after.span(axis) <= fixed[axis]


def test_axis_conversion_examples():
    rows = build([(128, 1), (4, 1)])
    rows = TileLayout(S[(128, 4) : ("tid_in_wg", 1)])
    assert str(rows.convert_axes("wid_in_wg", "laneid")) == "S[(4, 32, 4):(1@wid_in_wg, 1@laneid, 1)]"
    assert equivalent(rows.convert_axes("wid_in_wg", "laneid").convert_axes("tid_in_wg"), rows)
    odd = TileLayout(S[24:"tid_in_wg"] + 20 @ _tid())
    assert refused(lambda: odd.convert_axes("wid_in_wg", "laneid")).code == "axis-not-convertible"
    assert str(build([(8, 1 @ laneid)]).convert_axes("laneid")) == "S[8:1@laneid]"
    assert refused(lambda: build([(64, 1 @ laneid)]).convert_axes("tx")).code == "axis-not-convertible"


def _tid():
    from tirx.layout import tid_in_wg

    return tid_in_wg


# --- runs ---------------------------------------------------------------------------------------------------


def run_by_definition(layout, shape, dim, limit):
    places = placements(layout)
    best, v = 1, 2
    while v <= limit and shape[dim] % v == 0:
        for coord in coords(shape):
            start = coord[dim] - coord[dim] % v
            first = places[linear((*coord[:dim], start, *coord[dim + 1 :]), shape)]
            here = places[linear(coord, shape)]
            shifted = {
                frozenset(
                    (a, w) for a, w in {**dict(p), "m": dict(p).get("m", 0) + coord[dim] - start}.items() if w
                )
                for p in first
            }
            if here != shifted or any(dict(p).get("m", 0) % v for p in first):
                return best
        best, v = v, 2 * v
    return best


def test_contiguous_run_small():
    for shard in small_shards(2, extents=(2, 4, 6), strides=(1, 2, 4, 6, 8, 1 @ laneid)):
        for offset in ((), (2,)):
            layout = build(shard, (), offset)
            shape = shards_of(layout)
            for dim in range(len(shape)):
                assert layout.contiguous_run(shape, dim, 8) == run_by_definition(layout, shape, dim, 8), str(
                    layout
                )


def test_contiguous_run_sees_pitch_offset_and_replicas():
    """A row pitch of 100 two-byte elements admits 8-byte accesses: 200 is 8 modulo 16."""
    assert TileLayout(S[(64, 64) : (100, 1)]).contiguous_run([64, 64]) == 4
    assert TileLayout(S[(64, 64) : (128, 1)] + 2).contiguous_run([64, 64]) == 2
    assert TileLayout(S[(64, 64) : (128, 1)] + R[2:8200]).contiguous_run([64, 64], limit=32) == 8
    assert TileLayout(S[(64, 64) : (1, 64)]).contiguous_run([64, 64], dim=0) == 64


# --- range --------------------------------------------------------------------------------------------------


def test_arithmetic_is_checked():
    big = 1 << 40
    wide = build([(big, big), (2, 1)])
    assert refused(lambda: wide.span()).code == "overflow"
    assert refused(lambda: wide.apply(2 * big - 1)).code == "overflow"
    assert wide.apply(5) == {"m": 2 * big + 1}
    assert refused(lambda: build([(big, 1), (big, 1)]).size()).code == "overflow"


def test_offsets_beyond_32_bits():
    """Row 16384 of a matrix with pitch 131072 starts at 2^31."""
    matrix = TileLayout(S[(1 << 15, 1 << 17)])
    assert matrix.apply(16384, 5, shape=[1 << 15, 1 << 17]) == {"m": (1 << 31) + 5}
    row = matrix.slice([1 << 15, 1 << 17], [(16384, 16385), (0, 1 << 17)])
    assert str(row) == f"S[131072:1] + {1 << 31}"
