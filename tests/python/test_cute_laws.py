"""CuTe operations against their definitions: the scalar composition sweep, the laws on small domains, misuse."""

import doctest
import itertools
import math
import os
import random
from pathlib import Path

import pytest
from cute_cases import (
    P,
    composed,
    extent_of,
    is_layout,
    is_layout_of,
    leaves,
    refused,
    rule_holds,
    small,
    value,
    values,
)  # fmt: skip

from tirx.arith import Analyzer
from tirx.ir import Var, structural_equal
from tirx.layout import ComposeLayout, R, S, TileLayout, laneid, maps
from tirx.layout.cute import (
    ComposedLayout,
    CuteLayout,
    Swizzle,
    blocked_product,
    coalesce,
    complement,
    composition,
    crd2idx,
    flat_divide,
    from_map,
    from_tile,
    idx2crd,
    left_inverse,
    logical_divide,
    logical_product,
    make_layout,
    nullspace,
    raked_product,
    recast,
    right_inverse,
    same_map,
    tiled_divide,
    zipped_divide,
)

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "4"))


# --- the sweep: rank-3 A with extents 2..5 and strides that never merge, every n:r with n <= 12 inside A -------


def scalar_sweep():
    """(A, n, r): 7,768 compositions, the family of the published counts."""
    for shape in itertools.product(range(2, 6), repeat=3):
        a, last = CuteLayout(shape, (1, 7, 53)), math.prod(shape) - 1
        for n in range(2, 13):
            for r in range(1, last // (n - 1) + 1):
                yield a, n, r


def left_divisible(shape, n, r):
    """Shah's rule: r = M0 ... M(i-1) * c with c | M_i unless i is last, and n weakly left-divides what remains."""
    for i, extent in enumerate(shape):
        last = i == len(shape) - 1
        if r < extent and (last or extent % r == 0):
            break
        if r % extent or last:
            return False
        r //= extent
    for extent in [shape[i] // r, *shape[i + 1 : -1]] if not last else []:
        if n < extent:
            return True
        if n % extent:
            return False
        n //= extent
    return True


def rounding_walk(a, n, r):
    """Whether the C++ library's static rule accepts, and its values: steps and extents round up on the way."""
    out = []
    for extent, stride in leaves(a)[:-1]:
        if r % extent and r >= extent:
            return False, None
        inside, step = -(-extent // r), r * stride
        r = -(-r // extent)
        part = min(inside, n)
        if n % part:
            return False, None
        out, n = [*out, (part, step)], n // part
    pairs = [*out, (n, r * leaves(a)[-1][1])]
    return True, values(CuteLayout(*zip(*pairs)))


def test_scalar_compositions():
    total = accepted = by_walk = possible = admissible = rounded = rounded_wrong = 0
    for a, n, r in scalar_sweep():
        b, truth = CuteLayout(n, r), [value(a, r * i) for i in range(n)]
        got, walked = (refused_or(composition, a, b, budget=budget) for budget in (4096, 0))
        for answer in (got, walked):
            assert answer is None or values(answer) == truth
        total += 1
        accepted += got is not None
        by_walk += walked is not None
        possible += is_layout(truth)
        ok = left_divisible(a.shape, n, r)
        admissible += ok
        assert (got is not None) == is_layout(truth) and not (ok and walked is None)
        taken, vals = rounding_walk(a, n, r)
        rounded, rounded_wrong = rounded + taken, rounded_wrong + (taken and vals != truth)
    assert (total, admissible, by_walk, possible, accepted) == (7768, 970, 1162, 3890, 3890)
    assert (rounded, rounded_wrong) == (
        1503,
        341,
    )  # 1503 - 341 = 1162: the walk keeps what that rule gets right


def refused_or(fn, *args, **options):
    """The answer, or None when it is a LayoutError."""
    out = []
    return None if refused(lambda: out.append(fn(*args, **options))) else out[0]


# --- composition of several modes ---------------------------------------------------------------------------


def pairs_of_layouts():
    for a in small((2, 3, 4), (0, 1, 2, 3), 2):
        for b in small((2, 3), (0, 1, 2, 3, 4, 6), 2):
            yield a, b


def test_compositions_of_two_modes_are_exact_or_impossible():
    kept = 0
    for a, b in itertools.islice(pairs_of_layouts(), 0, None, 5):
        got = refused_or(composition, a, b)
        assert (got is not None) == is_layout_of(a, b), (a, b)
        if got is not None:
            kept += 1
            assert values(got) == composed(a, b) and len(got) == 2
    assert kept > 500


def test_without_a_budget_only_the_walk_answers():
    undecided = 0
    for a, b in itertools.islice(pairs_of_layouts(), 0, None, 23):
        error = refused(composition, a, b, budget=0)
        if error is None:
            assert values(composition(a, b, budget=0)) == composed(a, b)
        undecided += error is not None and error.code == "undecided"
    assert undecided > 50


def test_composition_is_associative_and_has_identities():
    for a, b in itertools.islice(pairs_of_layouts(), 0, None, 37):
        one = CuteLayout(extent_of(b))
        assert values(composition(b, one)) == values(b)
        big = CuteLayout(max(values(b)) + 1)
        assert values(composition(big, b)) == values(b)
        inner = refused_or(composition, b, P("2:3")) and composition(b, P("2:3"))
        outer = refused_or(composition, a, b)
        if inner is None or outer is None or 3 >= extent_of(b):
            continue
        left, right = composition(outer, P("2:3")), composition(a, inner)
        assert values(left) == values(right)


def test_composition_by_mode():
    a = P("(12,(4,8)):(59,(13,1))")
    got = composition(a, (P("3:4"), P("8:2")))
    for i, j in itertools.product(range(3), range(8)):
        assert got(i, j) == value(a[0], 4 * i) + value(a[1], 2 * j)
    assert composition(a, (None, 8))[0] == a[0] and composition(a, (3,))[1] == a[1]
    assert refused(composition, a, (1, 2, 3)).code == "bad-tiler"
    loose = composition(a, (3, P("3:3")), opaque=True)
    assert [loose(i, j) for j in range(3) for i in range(3)] == loose.values()
    assert loose(1, 2) == 59 + value(a[1], 6) and loose.slice(1, None)[1] == 59


def test_opaque_maps_compose_and_slice():
    a, b = P("(8,8):(8,1)"), P("(4,2):(3,16)")
    both = composition(a, b, opaque=True)
    assert isinstance(both, ComposedLayout) and both.values() == composed(a, b)
    again = composition(both, P("(2,2):(4,2)"))
    assert again.values() == [composed(a, b)[x] for x in (0, 4, 2, 6)]
    part, offset = both.slice(None, 1)
    assert [offset + part(i) for i in range(4)] == composed(a, b)[4:]
    swizzle = composition(Swizzle(2, 0, 2), P("(4,4):(4,1)"))
    assert swizzle.values() == [x ^ (x >> 2) for x in values(P("(4,4):(4,1)"))]


# --- symbols ------------------------------------------------------------------------------------------------


def fill(layout, **numbers):
    """The layout with the symbols of these names replaced by numbers (through their text)."""

    def leaf(x):
        if isinstance(x, tuple):
            return tuple(map(leaf, x))
        return x if type(x) is int else eval(str(x), {}, numbers)

    return CuteLayout(leaf(layout.shape), leaf(layout.stride))


M, D = Var("m", "int32"), Var("d", "int32")


@pytest.mark.parametrize(
    "a, b",
    [
        (CuteLayout((M, 6), (1, 100)), CuteLayout(4)),
        (CuteLayout((M, 6), (D, 1)), CuteLayout((2, 3), (1, 2))),
        (CuteLayout((M * 4, 6), (7, D)), CuteLayout(M * 4 * 2)),
        (CuteLayout((4, M), (1, D)), CuteLayout((2, 3), (2, 4))),
        (CuteLayout((4, M, 5), (9, 1, D)), CuteLayout((4, M))),
        (CuteLayout((6, 4), (10, 1)), CuteLayout(M, 2)),
        (CuteLayout((6, 4), (10, 1)), CuteLayout(2, M)),
        (CuteLayout((M, M), (1, D)), CuteLayout((2, 2), (1, M))),
    ],
)
def test_symbolic_composition_is_exact_where_its_guards_hold(a, b):
    guards, held = [], 0
    got = composition(a, b, guards=guards)
    for m, d in itertools.product(range(1, 14), range(0, 20, 3)):
        if all(eval(str(g), {}, {"m": m, "d": d}) for g in guards):
            held += 1
            assert values(fill(got, m=m, d=d)) == composed(fill(a, m=m, d=d), fill(b, m=m, d=d))
    assert held >= 7


def test_facts_discharge_guards():
    facts = Analyzer()
    facts.bind(M, 32, 100)
    a = CuteLayout((M, 24, 5), (1, 128, 3072))
    assert composition(a, CuteLayout(32), analyzer=facts) == P("32:1")
    assert refused(composition, a, CuteLayout(33), analyzer=facts).code == "unproved"
    assert facts.bound(M) == (32, 131)  # what the composition assumed is forgotten
    short = Analyzer()
    short.bind(M, 1, 8)
    guards = []
    got = composition(
        a, CuteLayout(32), analyzer=short, guards=guards
    )  # it must leave the mode, on whole digits
    assert [str(g) for g in guards] == ["m > 1", "32 % m == 0"]
    for m in (2, 4, 8):
        assert values(fill(got, m=m)) == composed(fill(a, m=m), P("32:1"))
    short.bind_modular(M, 3)
    assert (
        refused(composition, CuteLayout((3 * M, 2), (1, 99)), CuteLayout(4, 2), analyzer=short).code
        == "unproved"
    )
    assert (
        refused(composition, CuteLayout((3, M), (1, 9)), CuteLayout(4, 2), guards=[]).code == "not-composable"
    )


@pytest.mark.parametrize(
    "a, tiler",
    [
        (CuteLayout(M, D), CuteLayout(4)),
        (CuteLayout((M, 6), (6, 1)), (4, 3)),
        (CuteLayout((4, M), (1, D)), CuteLayout((2, 2), (1, 4))),
        (CuteLayout((M, 12), (D, 1)), (None, CuteLayout(3, 4))),
    ],
)
def test_symbolic_divide_is_exact_where_its_guards_hold(a, tiler):
    guards, held = [], 0
    got = logical_divide(a, tiler, guards=guards)
    for m, d in itertools.product(range(1, 17), range(0, 20, 3)):
        holds = all(eval(str(g), {}, {"m": m, "d": d}) for g in guards)
        truth = refused_or(logical_divide, fill(a, m=m, d=d), tiler)
        held += holds
        assert not holds or values(fill(got, m=m, d=d)) == values(truth)
    assert held >= 14


def test_symbolic_ragged_divide():
    tiles = logical_divide(CuteLayout(M, 3), 4, ragged=True)
    assert str(tiles.index) == "(4,(m + 3) // 4):(1,4)" and tiles.limit.same_as(M)
    assert refused(logical_divide, CuteLayout(M), 4).code == "unproved"
    facts = Analyzer()
    facts.bind_modular(M, 8)
    assert str(logical_divide(CuteLayout(M), 4, analyzer=facts)) == "(4,m // 4):(1,4)"


def test_symbolic_evaluation_and_coalesce():
    layout = CuteLayout((4, M), (1, 4))
    assert str(layout.size()) == "4 * m" and str(coalesce(layout)) == "4 * m:1"
    assert str(coalesce(CuteLayout((4, M), (1, 5)))) == "(4,m):(1,5)"
    assert Analyzer().can_prove_equal(layout(3, M - 1), 4 * M - 1) and Analyzer().can_prove_equal(
        layout.at(M), M
    )
    assert refused(complement, layout, 16).code == refused(recast, layout, 8, 16).code == "symbolic"


# --- one layout ---------------------------------------------------------------------------------------------


def some_layouts():
    yield from small((1, 2, 3), (-2, 0, 1, 2, 3), 2)
    yield from itertools.islice(small((2, 3), (0, 1, 2, 4, 6), 3), 0, None, 7)
    for text in ("((2,3),4):((1,2),6)", "((2,2),(3,2)):((0,4),(1,-3))", "(2,((2,2),1)):(1,((2,4),9))", "7:3"):
        yield P(text)


def test_evaluation_by_index_by_coordinate_and_by_slices():
    for layout in some_layouts():
        truth = values(layout)
        assert layout.values() == truth == [layout(x) for x in range(layout.size())]
        assert layout.size() == len(truth) and layout.at(len(truth) + 5) == value(layout, len(truth) + 5)
        for x, v in enumerate(truth):
            coord = idx2crd(x, layout.shape)
            assert crd2idx(coord, layout.shape, layout.stride) == v and crd2idx(coord, layout.shape) == x
        if min(d for _, d in leaves(layout)) >= 0:
            assert layout.cosize() == max(truth) + 1
        if len(layout) == 2:
            for j in range(layout[1].size()):
                part, offset = layout.slice(None, j)
                assert [offset + v for v in part.values()] == truth[j * layout[0].size() :][
                    : layout[0].size()
                ]


def test_coalesce_keeps_the_function_and_decides_equality():
    seen = {}
    for layout in some_layouts():
        flat = coalesce(layout)
        assert values(flat) == values(layout) and coalesce(flat) == flat
        seen.setdefault(tuple(values(layout)), set()).add(str(flat))
        twin = next(iter(seen[tuple(values(layout))]))
        assert same_map(layout, P(twin))
    assert all(len(forms) == 1 for forms in seen.values())
    forms = [next(iter(f)) for f in seen.values()]
    assert len(set(forms)) == len(forms) and not same_map(P("4:1"), P("4:2"))


def test_layouts_made_of_layouts():
    a, b = P("(2,3):(1,4)"), P("4:20")
    both = make_layout(a, b)
    assert both == P("((2,3),4):((1,4),20)") and both.modes() == [a, b] and len(both) == 2
    assert P(str(both)) == both and CuteLayout([2, [3, 4]]) == P("(2,(3,4)):(1,(2,6))")
    assert hash(P("(2,3):(1,2)")) == hash(P("(2,3)")) and P("(2,3):(1,2)") != P("6:1")


# --- complement, divide, product ----------------------------------------------------------------------------


def test_complement_law():
    made = 0
    for layout in itertools.chain(
        small((1, 2, 3), (0, 1, 2, 3, 4, 6), 2), small((2, 3), (1, 2, 4, 6, 12), 3)
    ):
        for codomain in (12, 24, 36):
            got = refused_or(complement, layout, codomain)
            assert (got is not None) == rule_holds(layout, codomain), (layout, codomain)
            if got is not None:
                made += 1
                sums = sorted(v + w for v in set(values(layout)) for w in values(got))
                assert sums == list(range(codomain)) and values(got) == sorted(values(got))
    assert made > 150


def test_divide_law():
    made = 0
    for a in itertools.islice(small((2, 3, 4, 6), (1, 2, 3, 5, 12), 2), 0, None, 3):
        for b in (*small((2, 3), (1, 2, 3, 4, 6), 1), *small((2, 3), (1, 2, 3, 6), 2)):
            got = refused_or(logical_divide, a, b)
            if got is None:
                whole = rule_holds(b, extent_of(a)) and make_layout(b, complement(b, extent_of(a)))
                assert not whole or not is_layout_of(a, whole), (a, b)
                continue
            made += 1
            assert sorted(values(got)) == sorted(values(a)) and values(got[0]) == composed(a, b)
    assert made > 300


def test_divides_by_mode_gather_their_tiles():
    a = P("(8,(4,3)):(12,(3,1))")
    tiler = (P("2:4"), 4)
    logical, zipped = logical_divide(a, tiler), zipped_divide(a, tiler)
    tiled, flat = tiled_divide(a, tiler), flat_divide(a, tiler)
    assert (len(logical), len(zipped), len(tiled), len(flat)) == (2, 2, 3, 4)
    for t0, t1, r0, r1 in itertools.product(range(2), range(4), range(4), range(3)):
        truth = value(a[0], 4 * t0 + r0) + value(a[1], t1 + 4 * r1)
        assert logical((t0, r0), (t1, r1)) == zipped((t0, t1), (r0, r1)) == truth
        assert tiled((t0, t1), r0, r1) == flat(t0, t1, r0, r1) == truth
    assert zipped_divide(a, (4,)) == make_layout(make_layout(P("4:12")), make_layout(P("2:48"), a[1]))
    assert zipped_divide(P("24:1"), 4) == P("(4,6):(1,4)") == tiled_divide(P("24:1"), 4)


def test_product_law():
    made = 0
    for a in small((2, 3), (1, 2, 3, 4), 2):
        for b in small((2, 3, 4), (1, 2, 3, 4), 2):
            got = refused_or(logical_product, a, b)
            if got is None:
                continue
            made += 1
            assert values(got[0]) == values(a) and extent_of(got[1]) == extent_of(b)
            if len(set(values(b))) == extent_of(b):
                assert len(set(values(got))) == extent_of(got)
            places = complement(a, extent_of(a) * (max(values(b)) + 1), round_up=True)
            assert values(got[1]) == [values(places)[v] for v in values(b)]
    assert made > 100


def test_blocked_and_raked_products():
    a, b = P("(2,5):(5,1)"), P("(3,4):(1,3)")
    both, blocked, raked = logical_product(a, b), blocked_product(a, b), raked_product(a, b)
    for i, j, k, l in itertools.product(range(2), range(5), range(3), range(4)):
        truth = both((i, j), (k, l))
        assert blocked(i + 2 * k, j + 5 * l) == raked(k + 3 * i, l + 4 * j) == truth
    assert values(blocked_product(P("4:1"), P("(2,3):(3,1)"))) == values(P("((4,2),3):((1,12),4)"))


# --- inverses -----------------------------------------------------------------------------------------------


def test_inverses():
    found = 0
    for layout in itertools.chain(small((1, 2, 3), (0, 1, 2, 3, 6), 2), small((2, 3), (0, 1, 2, 3, 4, 6), 3)):
        truth, right = values(layout), right_inverse(layout)
        assert composed(layout, right) == list(range(extent_of(right)))
        if sorted(truth) == list(range(len(truth))):
            assert extent_of(right) == len(truth)
        left = refused_or(left_inverse, layout)
        expected = len(set(truth)) == len(truth) and rule_holds(layout, 0)
        assert (left is not None) == expected, layout
        if left is not None:
            found += 1
            assert composed(left, layout) == list(range(len(truth)))
        assert values(nullspace(layout)) == [
            x for x, v in enumerate(truth) if v == 0 and _zero_digits(layout, x)
        ]
    assert found > 60


def test_right_inverse_takes_the_longest_of_modes_with_one_stride():
    for shape in ((2, 4), (4, 2)):
        layout = CuteLayout(shape, (1, 1))
        right = values(right_inverse(layout))
        assert [values(layout)[x] for x in right] == [0, 1, 2, 3]


def _zero_digits(layout, x):
    """Whether x moves along stride-0 modes only."""
    for extent, stride in leaves(layout):
        if x % extent and stride:
            return False
        x //= extent
    return True


# --- swizzles, conversions ----------------------------------------------------------------------------------


@pytest.mark.parametrize("bits, base, shift", [(3, 4, 3), (2, 0, 2), (1, 3, 4), (0, 2, 1), (2, 1, -3)])
def test_swizzle_bit_by_bit(bits, base, shift):
    swizzle = Swizzle(bits, base, shift)
    for x in range(2 * swizzle.period()):
        y = x
        for i in range(bits):
            source = base + i + max(shift, 0)
            y ^= ((x >> source) & 1) << (source - shift)
        assert swizzle(x) == y and swizzle(y) == x
        assert swizzle(x + swizzle.period()) == y + swizzle.period()


def at_m(tile, coord, shape):
    return tile.apply(*coord, shape=shape).get("m", 0)


def test_to_tile_keeps_coordinates_and_comes_back():
    for layout in [*some_layouts(), ComposedLayout(Swizzle(2, 1, 3), 0, P("(8,(2,4)):(8,(1,2))")),
                   ComposedLayout(Swizzle(1, 0, 2), 12, P("(4,4):(4,1)")),
                   ComposedLayout(Swizzle(0, 0, 0), 5, P("(4,4):(4,1)"))]:  # fmt: skip
        tile, sizes = layout.to_tile(), [math.prod(_flat(s)) for s in _modes(layout.shape)]
        back = from_tile(tile, sizes)
        for x in range(layout.size()):
            coord = _digits(x, sizes)
            assert at_m(tile, coord, sizes) == layout(x) == back(x)


def _flat(x):
    return [leaf for e in x for leaf in _flat(e)] if isinstance(x, tuple) else [x]


def _modes(shape):
    return shape if isinstance(shape, tuple) else (shape,)


def _digits(x, sizes):
    out = []
    for s in sizes:
        out.append(x % s)
        x //= s
    return out


def test_from_tile_and_what_it_refuses():
    tile = TileLayout(S[(4, 6) : (6, 1)])
    assert from_tile(tile, [4, 6]) == P("(4,6):(6,1)") and values(from_tile(tile)) == list(range(24))
    assert from_tile(tile, [2, 12]) == P("(2,(6,2)):(12,(1,6))")
    owned = TileLayout(S[(4, 6) : (1 @ laneid, 1)])
    assert refused(from_tile, owned, [4, 6]).code == "owners"
    assert from_tile(owned, [4, 6], axis="laneid") == P("(4,6):(1,0)")
    assert from_tile(owned.storage(), [6]) == P("6:1")
    assert refused(from_tile, TileLayout(S[4] + R[2:4])).code == "replicas"
    swizzled = ComposeLayout(1, 2, 2, TileLayout(S[8, 8]))
    both = from_tile(swizzled, [8, 8])
    assert both.outer == Swizzle(2, 1, 2) and structural_equal(both.to_tile(), swizzled)
    left = ComposedLayout(Swizzle(2, 1, -3), 0, P("8:1"))
    assert refused(left.to_tile).code == "not-a-tile-layout"


MAPPED = [
    *some_layouts(),
    ComposedLayout(Swizzle(2, 1, 3), 0, P("(8,(2,4)):(8,(1,2))")),
    ComposedLayout(Swizzle(2, 1, -3), 5, P("(8,8):(8,1)")),
    ComposedLayout(P("(8,8):(8,1)"), 0, P("(4,2):(3,16)")),
    ComposedLayout(P("(4,3):(3,1)"), 7, P("24:1")),
    ComposedLayout(ComposedLayout(Swizzle(1, 0, 2), 3, P("(4,4):(4,1)")), 2, P("(3,(2,2)):(1,(3,6))")),
    composition(P("(12,(4,8)):(59,(13,1))"), (3, P("3:3")), opaque=True),
]


@pytest.mark.parametrize("which", range(5))
def test_to_map_keeps_coordinates(which):
    for layout in MAPPED[which::5]:
        f, sizes = layout.to_map(), [math.prod(_flat(s)) for s in _modes(layout.shape)]
        assert list(f.domain) == sizes
        for x, truth in enumerate(layout.values()):
            assert f(*_digits(x, sizes)) == (truth,) and layout(x) == truth
        if isinstance(layout, CuteLayout):
            assert same_map(from_map(f), layout)


def test_from_map_and_what_it_refuses():
    f = maps.MixedRadix(((2, 3), 4), ((1, 8), 2), 5)
    assert from_map(f) == ComposedLayout(Swizzle(0, 0, 0), 5, P("((2,3),4):((1,8),2)"))
    assert from_map(maps.MixedRadix(16, 1) @ maps.MixedRadix((4, 4), (4, 1))) == P("(4,4):(4,1)")
    assert from_map(maps.Identity(8)) == P("8:1")
    assert refused(from_map, maps.MixedRadix((2, 2), ((1, 0), (0, 1)))).code == "not-mixed-radix"
    assert refused(from_map, maps.index_map(8, lambda x: x * x, 64)).code == "not-mixed-radix"
    assert refused(CuteLayout((2, M)).to_map).code == "symbolic"


def test_examples_of_the_page():
    page = Path(__file__).parents[2] / "docs" / "cute.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 and tried > 20


# --- misuse, and random nests -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call, code",
    [
        (lambda: CuteLayout((2, 3), (1,)), "not-congruent"),
        (lambda: CuteLayout((2, 0)), "bad-extent"),
        (lambda: CuteLayout((2, "x")), "not-an-integer"),
        (lambda: CuteLayout(()), "empty-tuple"),
        (lambda: CuteLayout(2.0), "not-an-integer"),
        (lambda: P("4:"), "bad-notation"),
        (lambda: P("(4,3):(1,4)")(12), "out-of-range"),
        (lambda: P("(4,3):(1,4)")(4, 0), "out-of-range"),
        (lambda: P("(4,3):(1,4)")(1, 1, 1), "bad-coordinate"),
        (lambda: P("(4,3):(1,4)").slice(None, None, 1), "bad-coordinate"),
        (lambda: P("(4,3):(1,4)").slice(9, None), "out-of-range"),
        (lambda: P("(4,3):(1,4)")[2], "bad-mode"),
        (lambda: coalesce(P("4:1"), (1, 1)), "bad-profile"),
        (lambda: complement(P("4:1"), 0), "bad-codomain"),
        (lambda: composition(3, P("4:1")), "not-a-layout"),
        (lambda: composition(P("4:1"), "4:1"), "not-a-layout"),
        (lambda: recast(P("4:1"), 8, 0), "bad-width"),
        (lambda: Swizzle(3, 0, 2), "bad-swizzle"),
        (lambda: logical_divide(P("(4,3)"), (2, 3), ragged=True), "bad-tiler"),
        (lambda: zipped_divide(P("(4,3)"), (2, None)), "bad-tiler"),
        (lambda: idx2crd(12, (4, 3)), "out-of-range"),
    ],
)
def test_misuse(call, code):
    assert refused(call).code == code


def random_layout(rng, strides, extents=(1, 2, 3, 4, 6), depth=2):
    if depth == 0 or rng.random() < 0.4:
        return CuteLayout(rng.choice(extents), rng.choice(strides))
    return make_layout(*(random_layout(rng, strides, extents, depth - 1) for _ in range(rng.randint(1, 3))))


def test_random_nested_layouts():
    print("seed", SEED)
    rng = random.Random(SEED)
    for _ in range(600):
        a = random_layout(rng, (-4, -1, 0, 1, 2, 3, 4, 6, 12, 24))
        b = random_layout(rng, (0, 1, 2, 3, 4, 6, 12, 24))
        if max(extent_of(a), extent_of(b)) > 400:
            continue
        got = composition(a, b, opaque=True)
        assert got.values() == composed(a, b), (a, b)
        assert isinstance(got, CuteLayout) == is_layout_of(a, b), (a, b)
        assert values(coalesce(a)) == values(a) and P(str(a)) == a
        assert values(from_tile(a.to_tile(), [m.size() for m in a.modes()])) == values(a)


def test_random_symbolic_compositions():
    print("seed", SEED)
    rng, held = random.Random(SEED), 0
    extents, strides = (2, 3, 4, 6, M, M * 2, M * 4, D + 1), (0, 1, 2, 4, 6, M, D, M * 2)
    for _ in range(60):
        a, b = (random_layout(rng, strides, extents, depth=1) for _ in range(2))
        guards, out = [], []
        if (a.is_static() and b.is_static()) or refused(lambda: out.append(composition(a, b, guards=guards))):
            continue
        for m, d in itertools.product((1, 2, 3, 4, 8), (0, 1, 2, 5)):
            numbers = {"m": m, "d": d}
            if all(eval(str(g), {}, numbers) for g in guards) and extent_of(fill(b, **numbers)) < 200:
                held += 1
                truth = composed(fill(a, **numbers), fill(b, **numbers))
                assert values(fill(out[0], **numbers)) == truth, (str(a), str(b), guards)
    assert held > 100
