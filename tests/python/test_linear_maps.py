"""Linear layouts as layout maps and back: values, names and proofs, by enumeration."""

import itertools

import pytest
from layout_cases import refused
from linear_cases import points, random_layout, seeded, square_maps

from tirx.layout.linear import LinearLayout, PaddedLayout, from_map, to_map
from tirx.layout.maps import BitLinear, FiniteTable, Identity, index_map
from tirx.layout.proof import prove


def test_values_and_names():
    rng = seeded("linear maps")
    for _ in range(50):
        layout = random_layout(rng, {"a": rng.randrange(3), "b": 2}, {"p": 2, "q": rng.randrange(3)})
        f = to_map(layout)
        assert f.domain_names == ("a", "b") and f.codomain_names == ("p", "q")
        for p in points(layout.in_dims):
            assert f(*[p[n] for n in layout.in_dims]) == tuple(layout.apply(p).values())
        assert from_map(f) == layout == from_map(f.normalize(), ["a", "b"], ["p", "q"])


def test_every_small_map_of_the_other_forms():
    for layout in square_maps(3):
        values = [layout.apply({"x": x})["y"] for x in range(8)]
        table = FiniteTable(8, 8, values)
        assert from_map(table, ["x"], ["y"]) == layout
        for wrong in range(1, 8):  # one value off: no longer linear
            broken = FiniteTable(8, 8, [v ^ (x == wrong) for x, v in enumerate(values)])
            assert refused(lambda: from_map(broken)).code == "not-linear"
    assert refused(lambda: from_map(FiniteTable(8, 8, [x ^ 1 for x in range(8)]))).code == "not-linear"


def test_expressions():
    swizzle = index_map((8, 8), lambda i, j: (i, j ^ i))
    layout = from_map(swizzle, ["row", "col"], ["row", "col"])
    for i, j in itertools.product(range(8), repeat=2):
        assert layout.apply({"row": i, "col": j}) == {"row": i, "col": i ^ j}
    assert from_map(Identity((4, 8))).in_dims == {"x0": 4, "x1": 8}
    assert refused(lambda: from_map(index_map((8,), lambda i: (i * 3 % 8,)))).code == "not-linear"
    assert refused(lambda: from_map(Identity((6,)))).code == "not-power-of-two"


def test_domains_too_large_to_list():
    wide = LinearLayout(
        {"a": [(1 << i, i % 4) for i in range(16)], "b": [(3, 1)] * 16}, {"p": 1 << 20, "q": 4}
    )
    assert from_map(to_map(wide)) == wide
    moved = BitLinear(wide.in_dims, wide.out_dims, list(wide.bases.values()), (1, 0))
    assert refused(lambda: from_map(moved)).code == "not-linear"
    assert (
        refused(lambda: from_map(index_map((1 << 16, 1 << 16), lambda i, j: (i * j % 7,), 8))).code
        == "not-linear"
    )


def test_proofs_agree_with_the_rank():
    for layout in [*square_maps(2), *square_maps(2, 3), *square_maps(3, 2)]:
        images = {layout.apply(p)["y"] for p in points(layout.in_dims)}
        found = prove(to_map(layout), budget=0)
        assert (
            (found.injective.status == "PROVEN")
            == layout.is_injective()
            == (len(images) == layout.in_dims["x"])
        )
        assert (
            (found.surjective.status == "PROVEN")
            == layout.is_surjective()
            == (len(images) == layout.out_dims["y"])
        )
        assert found.total.status == found.bounds.status == "PROVEN"


@pytest.mark.parametrize(
    "thing", [PaddedLayout(LinearLayout.identity_1d(8, "offset", "dim0"), [(2, 1)]), "x"]
)
def test_what_is_not_linear_has_no_map(thing):
    assert refused(lambda: to_map(thing)).code == "not-linear"
