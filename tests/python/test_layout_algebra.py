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
    shard_map,
    shards_of,
    small_layouts,
    small_shards,
)  # fmt: skip

from tirx.ir import structural_equal
from tirx.layout import S, TileLayout, equivalent, laneid, placements, warpid

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
