"""Layout operations that combine, resize or project, against their definition on placements."""

import math

from hypothesis import assume, given, settings
from hypothesis import strategies as st
from layout_cases import (
    build,
    coords,
    factorisations,
    layouts,
    linear,
    refused,
    scaled_sum,
    shards_of,
    small_shards,
)  # fmt: skip

from tirx.layout import Axis, R, S, TileLayout, equivalent, laneid, placements, tid_in_wg, warpid

QUICK = settings(max_examples=60, deadline=None)


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
    rows = TileLayout(S[(128, 4) : ("tid_in_wg", 1)])
    assert str(rows.convert_axes("wid_in_wg", "laneid")) == "S[(4, 32, 4):(1@wid_in_wg, 1@laneid, 1)]"
    assert equivalent(rows.convert_axes("wid_in_wg", "laneid").convert_axes("tid_in_wg"), rows)
    odd = TileLayout(S[24:"tid_in_wg"] + 20 @ tid_in_wg)
    assert refused(lambda: odd.convert_axes("wid_in_wg", "laneid")).code == "axis-not-convertible"
    assert str(build([(8, 1 @ laneid)]).convert_axes("laneid")) == "S[8:1@laneid]"
    assert refused(lambda: build([(64, 1 @ laneid)]).convert_axes("tx")).code == "axis-not-convertible"


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
