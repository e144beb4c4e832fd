"""The numbered hard cases of linear layouts (4.1 to 4.32), each compared with a definition by enumeration."""

import itertools

import pytest
from linear_cases import defined, evaluate, points, table

from tirx.errors import LayoutError
from tirx.layout.linear import (
    LinearLayout,
    conversion,
    divide_left,
    free_variable_masks,
    identity_prefix,
    image_contains,
    integer_strides,
    num_consecutive,
    quotient,
)

I, Z = LinearLayout.identity_1d, LinearLayout.zeros_1d


def same(layout, bases, outs):
    """The layout has these dimensions, and at every point the value that the bases define."""
    assert {n: 1 << len(b) for n, b in bases.items()} == layout.in_dims
    assert (
        list(bases) == list(layout.in_dims)
        and layout.out_dims == outs
        and list(outs) == list(layout.out_dims)
    )
    assert table(layout) == defined(bases, len(outs))
    return True


def preimages(layout, image):
    """By enumeration: the flat inputs with this image."""
    return [i for i, y in enumerate(table(layout)) if y == image]


def test_4_1_product_with_a_broadcast_on_the_same_dimensions():
    assert same(I(8, "in", "out") * Z(16, "in", "out"), {"in": [1, 2, 4, 0, 0, 0, 0]}, {"out": 8})


def test_4_2_empty_basis_lists_keep_their_names():
    assert same(I(0, "in", "out") * Z(4, "in", "out"), {"in": [0, 0]}, {"out": 1})
    assert same(I(1, "in", "out"), {"in": []}, {"out": 1})
    assert I(1, "in", "out").apply({"in": 0}) == {"out": 0}


def test_4_3_degenerate_factors_keep_both_outputs():
    product = Z(16, "in", "out1") * LinearLayout({"in": []}, ["out2"])
    assert same(product, {"in": [(0, 0)] * 4}, {"out1": 1, "out2": 1})


def test_4_4_compose_that_is_not_surjective():
    b1 = {"in1": [(1, 1), (0, 1)], "in2": [(1, 0), (1, 2)]}
    b2 = {"out1": [(2, 2), (1, 0)], "out2": [(1, 1), (2, 1)]}
    c = LinearLayout(b1, ["out1", "out2"]).compose(LinearLayout(b2, ["out3", "out4"]))
    assert same(c, {"in1": [(3, 3), (1, 1)], "in2": [(2, 2), (0, 3)]}, {"out3": 4, "out4": 4})
    for p in points(c.in_dims):
        mid = evaluate(b1, 2, p)
        assert tuple(c.apply(p).values()) == evaluate(b2, 2, dict(zip(("out1", "out2"), mid)))
    assert not c.is_surjective() and len(set(table(c))) < 16


INVERSIONS = {
    "4.5": ({"in1": [2, 1, 4]}, {"in2": [4, 1, 2]}, {"in1": [4, 2, 1]}, {"in2": 8}),
    "4.6": ({"in1": [2, 1, 4]}, {"in2": [0, 2, 1, 4]}, {"in1": [2, 4, 8]}, {"in2": 16}),
    "4.7-end": ({"in1": [1, 2, 4]}, {"in2": [4, 1, 2, 0]}, {"in1": [2, 4, 1]}, {"in2": 16}),
    "4.7-both": ({"in1": [1, 2, 4]}, {"in2": [0, 4, 1, 2, 0]}, {"in1": [4, 8, 2]}, {"in2": 32}),
    "4.8": ({"in1": [2, 1, 4], "in2": [0]}, {"in": [4, 1, 2]}, {"in1": [4, 2, 1], "in2": [0]}, {"in": 8}),
    "4.9": ({"in1": [1, 2, 4], "in2": [0]}, {"in3": [1, 2, 4], "in4": [0]},
            {"in1": [(1, 0), (2, 0), (4, 0)], "in2": [(0, 0)]}, {"in3": 8, "in4": 2}),
}  # fmt: skip


@pytest.mark.parametrize("case", INVERSIONS)
def test_4_5_to_4_9_invert_and_compose(case):
    b1, b2, want, outs = INVERSIONS[case]
    l1, l2 = LinearLayout(b1, ["out"]), LinearLayout(b2, ["out"])
    c = l1.invert_and_compose(l2)
    assert same(c, want, outs)
    assert c.is_surjective() == (case in ("4.5", "4.8"))
    back = c.compose(l2)
    assert table(back) == table(l1) and back == l1
    # The smallest preimage at every point: free bits are 0.
    flat = c.flatten_outs()
    assert [y for (y,) in table(flat)] == [min(preimages(l2, image)) for image in table(l1)]


def test_4_7_sizes_matter_only_at_the_top():
    l1, l2 = LinearLayout({"in1": [1, 2, 4]}, ["out"]), LinearLayout({"in2": [4, 1, 2, 0]}, ["out"])
    c = l1.invert_and_compose(l2)
    small = LinearLayout({"in1": [2, 4, 1]}, ["in2"])
    assert c != small and c.equal_ignoring_out_sizes(small)
    both = l1.invert_and_compose(LinearLayout({"in2": [0, 4, 1, 2, 0]}, ["out"]))
    with pytest.raises(LayoutError, match="not reach every output"):
        LinearLayout({"in1": [4, 8, 2]}, ["in2"])  # sizes are inferred, so it would have to be surjective
    assert both.equal_ignoring_out_sizes(LinearLayout({"in1": [4, 8, 2]}, {"in2": 16}))


def test_4_10_output_dimensions_in_another_order():
    l1 = LinearLayout({"in1": [(1, 0), (0, 1), (2, 0), (3, 2)], "in2": [(2, 2)]}, ["out1", "out2"])
    l2 = LinearLayout({"in3": [(0, 1), (1, 0), (0, 0), (0, 2), (2, 1)]}, ["out2", "out1"])
    for a, b in ((l1, l2), (l2, l1)):
        c = a.invert_and_compose(b)
        for p in points(a.in_dims):
            assert b.apply(c.apply(p)) == a.apply(p)
        assert c.compose(b) == a.transpose_outs(list(b.out_dims))


def test_4_11_nine_one_bit_dimensions():
    dims = [f"dim{i}" for i in range(9)]
    unit = [tuple(int(i == k) for i in range(9)) for k in range(9)]
    src = LinearLayout({"register": [unit[8], unit[7]], "lane": [unit[i] for i in (6, 5, 4, 3, 2)],
                        "warp": [unit[1], unit[0]], "block": []}, dims)  # fmt: skip
    dst = LinearLayout({"register": [unit[8], unit[7]], "lane": unit[:5], "warp": [unit[5], unit[6]],
                        "block": []}, dims)  # fmt: skip
    for cvt in (dst.invert_and_compose(src), conversion(dst, src)):
        k = {"register": 3, "lane": 0, "warp": 2, "block": 0}
        assert dst.apply(k) == src.apply(cvt.apply(k))
        for k in points(dst.in_dims):
            assert dst.apply(k) == src.apply(cvt.apply(k))


def test_4_12_sublayouts_of_nothing():
    layout = LinearLayout({"in1": [(1, 0), (0, 1), (2, 0)], "in2": [(0, 1)]}, ["out1", "out2"])
    assert layout.sublayout(["in1"], []).bases == {"in1": [(), (), ()]}
    outs = layout.sublayout([], ["out1"])
    assert outs.in_dims == {} and outs.out_dims == {"out1": 4} and not outs.is_surjective()
    assert layout.sublayout([], []) == LinearLayout.empty()
    assert same(layout.sublayout(["in2", "in1"], ["out1"]), {"in1": [1, 0, 2], "in2": [0]}, {"out1": 4})


def test_4_13_a_sublayout_of_nothing_is_zero():
    one = I(4, "in", "out")
    assert one.sublayout_is_zero([], ["out"]) and one.sublayout_is_zero(["in"], [])
    assert one.sublayout_is_zero([], []) and not one.sublayout_is_zero(["in"], ["out"])
    two = LinearLayout({"in1": [(0, 1), (0, 2)], "in2": [(1, 1)]}, ["out1", "out2"])
    for i, o in itertools.product(("in1", "in2"), ("out1", "out2")):
        values = {two.apply({"in1": 0, "in2": 0, i: x})[o] for x in range(two.in_size(i))}
        assert two.sublayout_is_zero([i], [o]) == (values == {0})


def test_4_14_equality_looks_at_output_sizes():
    wide = LinearLayout({"in": [1, 2]}, {"out": 8})
    assert I(4, "in", "out") != wide and I(4, "in", "out").equal_ignoring_out_sizes(wide)
    assert wide == LinearLayout({"in": [1, 2]}, {"out": 8}) and hash(wide) != hash(I(4, "in", "out"))


def test_4_15_free_variables_are_a_question_of_rank():
    layout = LinearLayout(
        {"in1": [(1, 1), (2, 2), (0, 0)], "in2": [(1, 0), (0, 1), (2, 0)]}, ["out1", "out2"]
    )
    masks = free_variable_masks(layout)
    assert masks == {"in1": 0b100, "in2": 0b10}
    kept = [p for p in points(layout.in_dims) if all(p[n] & masks[n] == 0 for n in p)]
    images = [tuple(layout.apply(p).values()) for p in kept]
    assert len(set(images)) == len(images) and set(images) == set(table(layout))


def consecutive(layout):
    """By the definition: the largest V with L(a*V + v, ..) = L(a*V, ..) + (v, 0, ..)."""
    first, n = next(iter(layout.in_dims.items()))
    best, v = 1, 1
    while v * 2 <= n:
        v *= 2
        if all(evaluate(layout.bases, len(layout.out_dims), p)
               == tuple(x + (p[first] % v if i == 0 else 0) for i, x in enumerate(evaluate(
                   layout.bases, len(layout.out_dims), {**p, first: p[first] // v * v})))
               for p in points(layout.in_dims)):  # fmt: skip
            best = v
    return best


@pytest.mark.parametrize(
    "bases, want",
    [
        ({"in": [1, 2, 4, 9]}, 1),
        ({"in": [1, 2, 4, 10]}, 2),
        ({"in": [1, 4, 2]}, 2),
        ({"in": [1, 2, 4], "in2": [8, 18]}, 2),
        ({"in": [1, 2], "in2": [4, 8, 16]}, 4),
        ({"in": [0, 0, 1]}, 1),
    ],
)
def test_4_16_vector_width(bases, want):
    layout = LinearLayout(bases, {"out": 32})
    assert num_consecutive(layout) == want == consecutive(layout)


def test_4_17_a_basis_spans_two_new_dimensions():
    layout = LinearLayout({"in1": [1, 4, 8], "in2": [3]}, ["out"])
    wide = layout.reshape_outs([("out2", 2), ("out3", 8)])
    assert same(wide, {"in1": [(1, 0), (0, 2), (0, 4)], "in2": [(1, 1)]}, {"out2": 2, "out3": 8})
    for p in points(layout.in_dims):
        assert wide.apply(p) == {"out2": layout.apply(p)["out"] % 2, "out3": layout.apply(p)["out"] // 2}


def test_4_18_reshapes_of_size_one_and_of_nothing():
    layout = LinearLayout({"in1": [1, 4], "in2": [2]}, ["out"])
    assert same(layout.reshape_ins([("in3", 1), ("in4", 8)]), {"in3": [], "in4": [1, 4, 2]}, {"out": 8})
    assert same(layout.reshape_ins([("in3", 8), ("in4", 1)]), {"in3": [1, 4, 2], "in4": []}, {"out": 8})
    one = LinearLayout({"in1": [1, 4, 2], "in2": []}, ["out"])
    assert same(one.reshape_ins([("in3", 4), ("in4", 2)]), {"in3": [1, 4], "in4": [2]}, {"out": 8})
    assert same(layout.flatten_ins(), {"in1": [1, 4, 2]}, {"out": 8})
    for x in (LinearLayout({"in1": []}, ["out"]), LinearLayout({"in1": []}, []), LinearLayout({}, ["out"]),
              LinearLayout.empty()):  # fmt: skip
        assert x.flatten_ins() == x and x.flatten_outs() == x


def trivial(layout, dim):
    """By the definition: L keeps `dim` apart and unchanged."""
    at = list(layout.out_dims).index(dim) if dim in layout.out_dims else None
    if at is None or layout.in_dims.get(dim) != layout.out_dims[dim]:
        return False
    for p in points(layout.in_dims):
        y, y0 = layout.apply(p), layout.apply({**p, dim: 0})
        if y[dim] != p[dim] or {k: v for k, v in y.items() if k != dim} != {
            k: v for k, v in y0.items() if k != dim
        }:
            return False
    return True


def test_4_19_quotient():
    bases = {
        "dim1": [(1, 0, 2), (2, 0, 1)],
        "dim2": [(0, 1, 0), (0, 2, 0), (0, 4, 0)],
        "dim3": [(0, 0, 1), (0, 0, 2)],
    }
    dims = ["dim1", "dim2", "dim3"]
    layout = LinearLayout(bases, dims)
    rest = quotient(layout, ["dim2"])
    assert trivial(layout, "dim2")
    assert same(rest, {"dim1": [(1, 2), (2, 1)], "dim3": [(0, 1), (0, 2)]}, {"dim1": 4, "dim3": 4})
    crossed = LinearLayout({**bases, "dim3": [(0, 1, 1), (0, 0, 2)]}, dims)
    assert quotient(crossed, ["dim2"]) is None and not trivial(crossed, "dim2")
    zero = LinearLayout({"dim1": [(1, 0)], "dim2": [(0, 0)]}, {"dim1": 2, "dim2": 1})
    rest = quotient(zero, ["dim1"])
    assert rest == Z(2, "dim2", "dim2") and quotient(rest, ["dim2"]) is None
    assert quotient(LinearLayout.empty(), ["dim1"]) is None


def is_integer_linear(layout, strides):
    return all(
        sum(strides[n] * x for n, x in p.items()) == layout.apply(p)["out"] for p in points(layout.in_dims)
    )


def test_4_20_integer_strides():
    layout = LinearLayout({"x": [2, 4], "y": [1], "b": [0]}, {"out": 8})
    strides = integer_strides(layout)
    assert strides == {"x": 2, "y": 1, "b": 0} and is_integer_linear(layout, strides)
    for bases in ({"x": [4, 2, 1]}, {"x": [1, 2], "y": [2]}):
        bad = LinearLayout(bases, {"out": 8})
        candidates = itertools.product(*[range(8)] * len(bases))
        assert not any(is_integer_linear(bad, dict(zip(bases, c))) for c in candidates)
        with pytest.raises(LayoutError) as error:
            integer_strides(bad)
        assert error.value.code == "not-affine"


def test_4_21_largest_identity_prefix():
    layout = LinearLayout({"x": [1, 2, 8], "other": [4]}, {"out": 16})
    prefix, rest = identity_prefix(layout, "x", "out")
    assert prefix == I(4, "x", "out") and prefix * rest == layout
    assert divide_left(layout, I(8, "x", "out")) is None
    assert table(rest) == [
        (layout.apply({"x": 4 * x, "other": o})["out"] // 4,) for o in (0, 1) for x in (0, 1)
    ]


def test_4_22_image_membership_is_a_span_test():
    layout = LinearLayout({"in": [(1, 1), (2, 0)]}, {"a": 4, "b": 2})
    images = set(table(layout))
    assert (3, 1) in images and (0, 1) not in images
    for a, b in itertools.product(range(5), range(3)):
        assert image_contains(layout, {"a": a, "b": b}) == ((a, b) in images)


@pytest.mark.parametrize(
    "layout",
    [
        LinearLayout.empty(),
        LinearLayout({}, {"out": 4}),
        LinearLayout({"in": []}, []),
        LinearLayout({"in": [(), ()]}, []),
        I(1, "in", "out"),
        Z(4, "in", "out", 8),
        LinearLayout({"a": [(1, 3), (0, 0)], "b c": []}, {"x'": 2, "y": 16}),
    ],
)
def test_4_32_print_and_parse(layout):
    back = LinearLayout.parse(str(layout))
    assert back == layout and (back.in_dims, back.out_dims) == (layout.in_dims, layout.out_dims)
    assert eval(repr(layout), {"LinearLayout": LinearLayout}) == layout
