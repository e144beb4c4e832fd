"""Laws of linear layouts, swept over every small matrix and, for several dimensions, over random ones.

Every expected value is enumerated from the images of the points, never from another operation of the package.
"""

import itertools

import pytest
from linear_cases import defined, points, random_layout, seeded, square_maps, table

from tirx.errors import LayoutError
from tirx.layout.linear import (
    LinearLayout,
    ModularLayout,
    PaddedLayout,
    conversion,
    divide_left,
    divide_right,
    free_variable_masks,
    from_map,
    gf2,
    identity_prefix,
    image_contains,
    image_is_subset,
    integer_strides,
    is_trivial_over,
    num_consecutive,
    partitioned,
    placement_of,
    quotient,
)

TWO = list(square_maps(2))
THREE = list(square_maps(3))


def values(layout):
    """Images of a layout with one output."""
    return [y for (y,) in table(layout)]


def code(fn):
    """The code of the LayoutError that fn raises, or None."""
    try:
        fn()
    except LayoutError as e:
        return e.code


def test_rank_injectivity_and_surjectivity_of_all_small_maps():
    for layout in [*THREE, *square_maps(2, 3), *square_maps(3, 2), *square_maps(1, 3), *square_maps(2, 0)]:
        images = values(layout)
        assert images == [y for (y,) in defined(layout.bases, 1)]
        assert len(set(images)) == 1 << layout.rank
        assert layout.is_injective() == (len(set(images)) == len(images))
        assert layout.is_surjective() == (set(images) == set(range(layout.out_size("y"))))
        for y in range(layout.out_size("y") + 1):
            assert image_contains(layout, {"y": y}) == (y in images)


def test_composition_is_evaluation_in_turn_and_associative():
    for f, g in itertools.product(TWO, repeat=2):
        assert values(f.compose(g.rename_ins({"x": "y"}))) == [values(g)[y] for y in values(f)]
    chain = [[m.rename_ins({"x": f"d{i}"}).rename_outs({"y": f"d{i + 1}"}) for m in TWO] for i in range(3)]
    for f, g, h in itertools.product(*chain):
        assert f.compose(g).compose(h) == f.compose(g.compose(h)) == (h @ g) @ f


def test_the_outer_layout_has_every_input_that_the_inner_one_can_give():
    for bits, outer_bits in itertools.product(range(4), repeat=2):
        inner = LinearLayout.identity_1d(1 << bits, "x", "y")
        outer = LinearLayout.identity_1d(1 << outer_bits, "y", "z")
        if bits > outer_bits:
            assert code(lambda: inner.compose(outer)) == "too-small"
        else:
            assert [z for (z,) in table(inner.compose(outer))] == list(range(1 << bits))


def test_identity_is_neutral():
    unit_x, unit_y = LinearLayout.identity_1d(8, "x", "x"), LinearLayout.identity_1d(8, "y", "y")
    for layout in THREE:
        assert unit_x.compose(layout) == layout == layout.compose(unit_y)
        assert LinearLayout.empty() * layout == layout == layout * LinearLayout.empty()


def test_inverse_of_every_invertible_map():
    inverted = 0
    for layout in THREE:
        if not layout.is_invertible():
            assert code(layout.inverse) == "not-invertible"
            continue
        back = values(layout.inverse())
        assert [back[y] for y in values(layout)] == list(range(8))
        inverted += 1
    assert inverted == 168  # the order of GL(3, 2)


def test_pseudoinverse_of_every_surjection_is_the_smallest_preimage():
    for layout in square_maps(2, 3):
        images = values(layout)
        if set(images) != set(range(4)):
            assert code(layout.pseudoinvert) == "no-preimage"
            continue
        assert values(layout.pseudoinvert()) == [images.index(y) for y in range(4)]


def test_invert_and_compose_of_all_pairs():
    """An answer exactly when the image of the inner layout is inside that of the outer; then the smallest."""
    solved = refused = 0
    for inner, outer in itertools.product(TWO, square_maps(2, 3)):
        outer = outer.rename_ins({"x": "z"})
        want, have = values(inner), values(outer)
        if not set(want) <= set(have):
            assert code(lambda: inner.invert_and_compose(outer)) == "no-preimage"
            assert not image_is_subset(inner, outer)
            refused += 1
            continue
        c = inner.invert_and_compose(outer)
        assert values(c) == [have.index(y) for y in want]
        assert c.compose(outer) == inner and image_is_subset(inner, outer)
        solved += 1
    assert solved and refused and solved + refused == 16 * 64


def test_product_acts_on_low_and_high_parts():
    for f, g in itertools.product(TWO, repeat=2):
        p = f * g
        assert values(p) == [values(f)[x % 4] + 4 * values(g)[x // 4] for x in range(16)]
        assert divide_left(p, f) == g and divide_right(p, g) == f
        assert p.is_surjective() == (f.is_surjective() and g.is_surjective())
        assert p.is_injective() == (f.is_injective() and g.is_injective())


def test_division_answers_exactly_when_there_is_a_factor():
    left = [*square_maps(1, 1), *square_maps(2, 1), *square_maps(1, 2), *TWO]
    found = 0
    for layout in THREE:
        for part in left:
            bits, rest_bits = part.total_in_bits, 3 - part.total_out_bits
            quotients = list(square_maps(rest_bits, 3 - bits))
            by_left = [c for c in quotients if part * c == layout]
            by_right = [c for c in quotients if c * part == layout]
            assert [divide_left(layout, part)] == (by_left or [None])
            assert [divide_right(layout, part)] == (by_right or [None])
            found += bool(by_left) + bool(by_right)
    assert found > 100


def test_free_variables():
    for layout in [*THREE, *square_maps(2, 4)]:
        mask, images = free_variable_masks(layout)["x"], values(layout)
        kept = [images[x] for x in range(len(images)) if not x & mask]
        assert len(set(kept)) == len(kept) and set(kept) == set(images)
        # Bit i is free when its basis is an image of the bits below it.
        assert mask == sum(1 << i for i in range(layout.total_in_bits) if images[1 << i] in images[: 1 << i])


def width(images):
    best = 1
    for v in (2, 4, 8):
        if all(images[x] == images[x - x % v] + x % v for x in range(len(images))):
            best = v
    return best


def test_vector_width():
    for layout in THREE:
        assert num_consecutive(layout) == width(values(layout))


def test_identity_prefix_is_the_largest():
    sizes = (1, 2, 4, 8)
    multiples = {
        n: {LinearLayout.identity_1d(n, "x", "y") * c for c in square_maps(4 - n.bit_length())} for n in sizes
    }
    for layout in THREE:
        prefix, rest = identity_prefix(layout, "x", "y")
        assert prefix * rest == layout
        assert prefix.in_size("x") == max(n for n in sizes if layout in multiples[n])


def test_integer_strides_exactly_when_the_map_is_affine():
    for layout in [*THREE, *square_maps(3, 1), *square_maps(3, 2)]:
        images = values(layout)
        affine = all(y == x * images[1] for x, y in enumerate(images))
        if affine:
            assert integer_strides(layout) == {"x": images[1]}
        else:
            assert code(lambda: integer_strides(layout)) == "not-affine"


def test_print_and_parse_all():
    for layout in [*THREE, *square_maps(1, 2), *square_maps(3, 0)]:
        assert LinearLayout.parse(str(layout)) == layout


def test_several_dimensions_at_random():
    rng = seeded("several dimensions")
    for _ in range(60):
        ins = {n: rng.randrange(3) for n in rng.sample(["a", "b", "c"], rng.randrange(4))}
        outs = {n: rng.randrange(3) for n in rng.sample(["p", "q", "r"], rng.randrange(4))}
        layout = random_layout(rng, ins, outs)
        assert table(layout) == defined(layout.bases, len(outs))
        assert LinearLayout.parse(str(layout)) == layout
        check_transposes(rng, layout)
        check_reshapes(rng, layout)
        check_sublayout(rng, layout)
        check_quotient(rng, layout)


def check_transposes(rng, layout):
    order_in, order_out = (rng.sample(list(d), len(d)) for d in (layout.in_dims, layout.out_dims))
    turned = layout.transpose_ins(order_in).transpose_outs(order_out)
    assert list(turned.in_dims) == order_in and list(turned.out_dims) == order_out
    for p in points(layout.in_dims):
        assert turned.apply(p) == layout.apply(p)


def flat(point, dims):
    out = shift = 0
    for n, size in dims.items():
        out, shift = out + (point[n] << shift), shift + size.bit_length() - 1
    return out


def check_reshapes(rng, layout):
    new = {}
    for kind, total in (("in", layout.total_in_bits), ("out", layout.total_out_bits)):
        low = rng.randrange(total + 1)
        new[kind] = [("u", 1 << low), ("v", 1 << (total - low))]
    turned = layout.reshape_ins(new["in"]).reshape_outs(new["out"])
    want = {flat(p, layout.in_dims): flat(layout.apply(p), layout.out_dims) for p in points(layout.in_dims)}
    assert want == {
        flat(p, turned.in_dims): flat(turned.apply(p), turned.out_dims) for p in points(turned.in_dims)
    }
    assert layout.flatten_ins().total_in_bits == layout.total_in_bits


def check_sublayout(rng, layout):
    some_in = [n for n in layout.in_dims if rng.random() < 0.5]
    some_out = [n for n in layout.out_dims if rng.random() < 0.5]
    part = layout.sublayout(rng.sample(some_in, len(some_in)), some_out)
    rest = {n: 0 for n in layout.in_dims}
    for p in points(part.in_dims):
        assert part.apply(p) == {n: y for n, y in layout.apply({**rest, **p}).items() if n in some_out}
    assert list(part.in_dims) == some_in and list(part.out_dims) == some_out
    assert part.out_dims == {n: layout.out_dims[n] for n in some_out}


def check_quotient(rng, layout):
    """An endomorphism with an identity part, and one bit of it disturbed."""
    square = random_layout(rng, {"a": 1, "b": 2}, {"a": 1, "b": 2}) * LinearLayout.identity_1d(4, "i", "i")
    assert is_trivial_over(square, ["i"])
    assert quotient(square, ["i"]) == square.sublayout(["a", "b"], ["a", "b"])
    bases = square.bases
    where = rng.choice([("a", 0, 2), ("b", 1, 2), ("i", 0, 0), ("i", 1, 1), ("i", 0, 2)])
    name, bit, out = where
    changed = list(bases[name][bit])
    changed[out] ^= 1
    bases[name][bit] = tuple(changed)
    assert quotient(LinearLayout(bases, square.out_dims), ["i"]) is None


def test_conversions_read_the_same_element():
    rng = seeded("conversions")
    kept = 0
    for _ in range(200):
        src = random_layout(rng, {"register": 2, "lane": 2, "warp": 1}, {"i": 2, "j": 1})
        dst = random_layout(rng, {"register": 2, "lane": 2, "warp": 1}, {"j": 1, "i": 2})
        if rng.random() < 0.5:  # a common warp dimension
            dst = LinearLayout({**dst.bases, "warp": [b[::-1] for b in src.bases["warp"]]}, dst.out_dims)
        images = {tuple(sorted(src.apply(p).items())) for p in points(src.in_dims)}
        reachable = all(tuple(sorted(dst.apply(p).items())) in images for p in points(dst.in_dims))
        if not reachable:
            assert code(lambda: conversion(dst, src)) == "no-preimage"
            continue
        cvt = conversion(dst, src)
        for p in points(dst.in_dims):
            assert src.apply(cvt.apply(p)) == dst.apply(p)
        if all(cvt.apply(p)["warp"] == p["warp"] for p in points(dst.in_dims)):
            kept += 1
    assert kept > 5


def test_broadcast_warps_keep_their_own_copy():
    layout = LinearLayout({"register": [1, 2], "warp": [0, 0]}, ["i"])
    turned = LinearLayout({"register": [2, 1], "warp": [0, 0]}, ["i"])
    for p in points(layout.in_dims):
        assert conversion(turned, layout).apply(p)["warp"] == p["warp"]
        assert turned.invert_and_compose(layout).apply(p)["warp"] == 0


def test_products_merge_the_orders_of_dimensions():
    def layout(*names):
        return LinearLayout({n: [] for n in names}, {})

    for a, b, want in (("ab", "ac", "abc"), ("ab", "bc", "abc"), ("abc", "ad", "abcd"), ("b", "ab", "ab")):
        assert "".join((layout(*a) * layout(*b)).in_dims) == want
    assert code(lambda: layout("a", "b") * layout("b", "a")) == "dim-order"


ONE = LinearLayout.identity_1d(8, "offset", "y")
GAPS = PaddedLayout(ONE, [(2, 1)])
MISTAKES = [
    ("bad-basis", lambda: LinearLayout({"x": [(1, 2)]}, ["y"])),
    ("bad-basis", lambda: LinearLayout({"x": [-1]}, ["y"])),
    ("bad-basis", lambda: ModularLayout({"x": [3]}, {"y": 3})),
    ("bad-basis", lambda: partitioned((8, 8), 2, 2, blocks=[3])),
    ("bad-names", lambda: LinearLayout([("x", [1]), ("x", [2])], ["y"])),
    ("bad-names", lambda: LinearLayout({1: [1]}, ["y"])),
    ("bad-names", lambda: LinearLayout({"x": 3}, ["y"])),
    ("bad-names", lambda: LinearLayout({"x": [1.5]}, ["y"])),
    ("bad-names", lambda: LinearLayout(3, ["y"])),
    ("bad-names", lambda: LinearLayout({"x": [1]}, "y")),
    ("bad-names", lambda: LinearLayout({"a": [1], "b": [2]}, ["y"]).rename_ins({"a": "b"})),
    ("bad-names", lambda: LinearLayout.identity_1d(4, 3, "y")),
    ("bad-names", lambda: THREE[0].transpose_ins([1])),
    ("bad-names", lambda: THREE[0].concat_ins(THREE[0])),
    ("out-of-range", lambda: LinearLayout({"x": [8]}, {"y": 8})),
    ("out-of-range", lambda: GAPS.place(y="a")),
    ("out-of-range", lambda: GAPS.element("a")),
    ("out-of-range", lambda: ModularLayout({"x": [(3, 1)]}, {"y": 3}).apply({"x": "a"})),
    ("not-surjective", lambda: LinearLayout({"x": [2]}, ["y"])),
    ("not-power-of-two", lambda: LinearLayout({"x": [1]}, {"y": 6})),
    ("not-power-of-two", lambda: PaddedLayout(ONE, [(3, 1)])),
    ("bad-padding", lambda: PaddedLayout(ONE, [3])),
    ("bad-padding", lambda: PaddedLayout(ONE, [(2, 1), (2, 4)])),
    ("no-dim", lambda: THREE[0].in_size("z")),
    ("no-dim", lambda: THREE[0].resize_outs({"z": 8})),
    ("no-dim", lambda: partitioned((8, 8), 2, 2, 5)),
    ("no-dim", lambda: PaddedLayout(THREE[0])),
    ("bad-coordinates", lambda: THREE[0].apply({"z": 0})),
    ("bad-coordinates", lambda: THREE[0].apply([0])),
    ("bad-coordinates", lambda: image_contains(THREE[0], {"y": "a"})),
    ("bad-coordinates", lambda: image_contains(THREE[0], (3,))),
    ("bad-coordinates", lambda: GAPS.slice({"y": 0}, {})),
    ("bad-shape", lambda: THREE[0].reshape_ins([("x", 4)])),
    ("dims-differ", lambda: THREE[0].compose(THREE[0])),
    ("too-small", lambda: THREE[0].resize_outs({"y": 4})),
    ("bad-notation", lambda: LinearLayout.parse("LinearLayout({'x': [1]}")),
    ("bad-notation", lambda: LinearLayout.parse("LinearLayout(__import__('os'), {})")),
    ("not-linear", lambda: num_consecutive("x")),
    ("not-linear", lambda: PaddedLayout(3)),
    ("not-a-layout", lambda: placement_of(3)),
    ("not-a-map", lambda: from_map(3)),
]


@pytest.mark.parametrize("expected, mistake", MISTAKES)
def test_mistakes_are_layout_errors(expected, mistake):
    assert code(mistake) == expected


def test_a_point_is_a_dict():
    with pytest.raises(LayoutError) as e:
        image_contains(THREE[0], (3,))
    assert "{'y': value}" in e.value.required


def test_whole_numbers_of_numpy_are_numbers():
    np = pytest.importorskip("numpy")
    layout = LinearLayout({"x": np.array([[1, 0], [2, 1]])}, {"y": np.int64(4), "z": 2})
    assert layout == LinearLayout({"x": [(1, 0), (2, 1)]}, {"y": 4, "z": 2})
    assert layout.apply({"x": np.int32(3)}) == {"y": 3, "z": 1} and "int64" not in str(layout)


@pytest.mark.parametrize("coordinate", [-1, 8, "a", 1.5, None])
def test_coordinates_outside_are_refused(coordinate):
    assert code(lambda: THREE[0].apply({"x": coordinate})) == "out-of-range"


@pytest.mark.slow
def test_all_three_by_four_against_all_two_by_two():
    """invert_and_compose of every 3 x 4 map (4,096) with every 3 x 2 map (64): 262,144 pairs."""
    inner = [(m, set(values(m))) for m in square_maps(3, 2)]
    for outer in square_maps(3, 4):
        outer = outer.rename_ins({"x": "z"})
        have = values(outer)
        reach, first = set(have), {}
        for z, y in enumerate(have):
            first.setdefault(y, z)
        for m, want in inner[:: 1 if len(reach) < 8 else 7]:
            if want <= reach:
                c = m.invert_and_compose(outer)
                assert [c.flatten_outs()._cols[i] for i in (0, 1)] == [first[values(m)[i]] for i in (1, 2)]
            else:
                assert code(lambda: m.invert_and_compose(outer)) == "no-preimage"


def spanned(vectors):
    out = {0}
    for v in vectors:
        out |= {x ^ v for x in out}
    return out


def test_kernels_and_normal_forms_of_spans():
    forms = {}
    for n in (0, 1, 2, 3, 4):
        for columns in itertools.product(range(8), repeat=n):
            zeros = {x for x in range(1 << n) if not gf2.apply(columns, x)}
            basis = gf2.kernel(columns)
            assert spanned(basis) == zeros and len(zeros) == 1 << len(basis)
            assert forms.setdefault(frozenset(spanned(columns)), gf2.reduced(columns)) == gf2.reduced(columns)
            assert spanned(gf2.reduced(columns)) == spanned(columns)
    assert len(forms) == 16  # subspaces of GF(2)^3
