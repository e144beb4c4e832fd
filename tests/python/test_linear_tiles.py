"""Linear layouts to and from TileLayouts: exhaustive over small ones, each side compared with `placements`."""

import itertools
import math

import pytest
from layout_cases import build, is_mixed_radix, refused, small_layouts
from linear_cases import points, square_maps

from tirx.layout import (
    ComposeLayout,
    R,
    S,
    SwizzleMode,
    TileLayout,
    equivalent,
    laneid,
    m,
    mma_fragment_layout,
    mma_shared_layout,
    placements,
    tcgen05_atom_layout,
    warpid,
    wg_local_layout,
)
from tirx.layout.linear import (
    LinearLayout,
    distribution_of,
    placement_of,
    tile_of_distribution,
    tile_of_placement,
)


def index_of(point, shape):
    """Row-major index of {dim0: .., dim1: ..}."""
    out = 0
    for i, extent in enumerate(shape):
        out = out * extent + point[f"dim{i}"]
    return out


def place(coordinates):
    return frozenset((a, v) for a, v in coordinates.items() if v)


def check_placement(layout, shape):
    linear = placement_of(layout, shape)
    want = placements(layout)
    for p in points(linear.in_dims):
        assert want[index_of(p, shape)] == {place(linear.apply(p))}
    return linear


def check_distribution(layout, shape):
    linear = distribution_of(layout, shape)
    want = {}
    for index, places in enumerate(placements(layout)):
        for at in places:
            assert want.setdefault(at, index) == index
    got = {place(p): index_of(linear.apply(p), shape) for p in points(linear.in_dims)}
    assert got == want
    return linear


HARDWARE = [
    (mma_fragment_layout("A", "float16"), (16, 16)),
    (mma_fragment_layout("B", "float16"), (8, 16)),
    (mma_fragment_layout("C", "float32"), (16, 8)),
    (mma_fragment_layout("A", "float8_e4m3", 32), (16, 32)),
    (wg_local_layout(8), (128, 8)),
    (tcgen05_atom_layout("16x256b", (64, 32), "float32"), (64, 32)),
    (tcgen05_atom_layout("32x32b", (128, 16), "float16"), (128, 16)),
    (mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (16, 64)), (16, 64)),
    (mma_shared_layout("float32", SwizzleMode.SWIZZLE_64B_ATOM, (16, 32)), (16, 32)),
    (mma_shared_layout("uint8", SwizzleMode.SWIZZLE_32B_ATOM, (8, 64)), (8, 64)),
    (mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (16, 128)), (16, 128)),
]


@pytest.mark.parametrize("layout, shape", HARDWARE)
def test_hardware_layouts_both_ways(layout, shape):
    linear = check_placement(layout, shape)
    assert equivalent(tile_of_placement(linear), layout)
    inverse = check_distribution(layout, shape)
    assert inverse.inverse() == linear.transpose_outs(list(inverse.in_dims))
    assert equivalent(tile_of_distribution(inverse), layout)


def test_replicas_are_inputs_that_do_not_matter():
    spec = S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 2 @ warpid]
    layout = TileLayout(spec)
    linear = check_distribution(layout, (8, 16))
    assert linear.bases["warpid"][1] == (0, 0) and linear.in_dims == {"m": 2, "laneid": 32, "warpid": 4}
    assert equivalent(tile_of_distribution(linear), layout)
    assert refused(lambda: placement_of(layout)).code == "not-a-function"


def test_triton_names_of_inputs():
    linear = LinearLayout({"register": [1, 0], "lane": [2, 4, 8, 0, 0], "warp": [0, 16]}, ["dim0"])
    layout = tile_of_distribution(linear)
    for index, places in enumerate(placements(layout)):
        names = {"m": "register", "laneid": "lane", "warpid": "warp"}
        here = {place({n: p[o] for n, o in names.items()}) for p in points(linear.in_dims)
                if linear.apply(p)["dim0"] == index}  # fmt: skip
        assert places == here
    other = tile_of_distribution(linear.rename_ins({"lane": "thread"}), {"thread": "tx"})
    assert equivalent(other, tile_of_distribution(linear.rename_ins({"lane": "tx"})))


def power_of_two(n):
    return n & (n - 1) == 0


def is_xor_linear(layout):
    """By enumeration: single places with L(x ^ y) = L(x) ^ L(y) on every axis."""
    want = placements(layout)
    if not power_of_two(len(want)) or any(len(p) > 1 for p in want):
        return False
    at = [dict(next(iter(p))) for p in want]
    if any(v < 0 for a in at for v in a.values()):
        return False
    axes = {a for x in at for a in x}
    return all(at[x ^ y].get(a, 0) == at[x].get(a, 0) ^ at[y].get(a, 0)
               for x in range(len(at)) for y in range(len(at)) for a in axes)  # fmt: skip


def is_distribution(layout):
    """By enumeration: the places fill a box of powers of two, each with one element, XOR-linearly."""
    element = {}
    for index, places in enumerate(placements(layout)):
        for at in places:
            if element.setdefault(at, index) != index:
                return False
    axes = sorted({a for at in element for a, _ in at})
    if any(v < 0 for at in element for _, v in at) or not power_of_two(len(placements(layout))):
        return False
    extents = [1 + max(dict(at).get(a, 0) for at in element) for a in axes]
    if math.prod(extents) != len(element) or not all(map(power_of_two, extents)):
        return False
    table = {tuple(dict(at).get(a, 0) for a in axes): i for at, i in element.items()}
    keys = list(table)
    return all(table[tuple(i ^ j for i, j in zip(x, y))] == table[x] ^ table[y] for x in keys for y in keys)


def every_small_layout():
    yield from small_layouts()
    strides = (0, 1, 2, 3, 4, -1, 1 @ laneid, 2 @ laneid)
    for shard in itertools.product(itertools.product((2, 4), strides), repeat=2):
        for replica in ((), ((2, 1),), ((2, 4),), ((2, 8 @ laneid),), ((4, 2),)):
            yield build(shard, replica)


def test_every_small_tile_layout_is_converted_exactly_when_it_is_linear():
    tried = linear = spread = 0
    for layout in every_small_layout():
        shape, tried = (int(layout.size()),), tried + 1
        if is_xor_linear(layout):
            assert equivalent(tile_of_placement(check_placement(layout, shape)), layout)
            linear += 1
        else:
            assert refused(lambda: placement_of(layout, shape)), layout
        if is_distribution(layout):
            assert equivalent(tile_of_distribution(check_distribution(layout, shape)), layout)
            spread += 1
        else:
            assert refused(lambda: distribution_of(layout, shape)), layout
    assert tried > 1000 and linear > 100 and spread > 30


def swizzled_values(values):
    """Whether some swizzle of an address makes the list strided, by trying all of them."""
    top = max(values).bit_length()
    for bits in range(1, top):
        for atom in range(bits, top):
            for per in range(top - atom):
                back = [ComposeLayout(per, bits, atom, TileLayout(S[1 << top])).apply(v)["m"] for v in values]
                if is_mixed_radix([{"m": v} for v in back]):
                    return True
    return False


@pytest.mark.parametrize("bits", [2, 3])
def test_every_small_matrix_becomes_a_tile_layout_exactly_when_one_exists(bits):
    answered = 0
    for layout in square_maps(bits):
        linear = layout.rename_outs({"y": "m"})
        values = [linear.apply({"x": x})["m"] for x in range(1 << bits)]
        exists = is_mixed_radix([{"m": v} for v in values]) or swizzled_values(values)
        error = refused(lambda: tile_of_placement(linear))
        if not exists:
            assert error.code == "no-tile-layout"
            continue
        assert error is None
        assert placements(tile_of_placement(linear)) == [{place({"m": v})} for v in values]
        answered += 1
    assert 0 < answered < 1 << (bits * bits)


def test_a_bit_that_moves_along_two_axes_has_no_iter():
    linear = LinearLayout({"x": [(1, 1), (0, 2)]}, {"m": 2, "laneid": 4})
    assert refused(lambda: tile_of_placement(linear)).code == "no-tile-layout"
    assert not is_mixed_radix([linear.apply({"x": x}) for x in range(4)])
    shifting = LinearLayout({"register": [1], "lane": [1]}, ["dim0"])  # the copies are on a diagonal
    assert refused(lambda: tile_of_distribution(shifting)).code == "no-tile-layout"


@pytest.mark.parametrize(
    "layout, code",
    [
        (TileLayout(S[(3, 2) : (2, 1)]), "not-power-of-two"),
        (TileLayout(S[4:1] + 1), "not-linear"),
        (TileLayout(S[(4, 2) : (1, 2)]), "not-linear"),
        (TileLayout(S[4:3]), "not-linear"),
        (TileLayout(S[(2, 4) : (1 @ laneid, -1)]), "not-linear"),
    ],
)
def test_what_is_not_linear_is_refused_with_the_reason(layout, code):
    assert refused(lambda: placement_of(layout)).code == code


def test_gaps_and_shared_places_are_refused():
    assert refused(lambda: distribution_of(TileLayout(S[4:2]))).code == "not-surjective"
    assert refused(lambda: distribution_of(TileLayout(S[(2, 2) : (0, 1)]))).code == "not-injective"
    assert refused(lambda: placement_of(TileLayout(S[4:1]), (2, 4))).code == "bad-shape"
    assert m.is_memory()
