"""Correspondences: the laws as relations, and TileLayouts as maps and correspondences against `placements`."""

import itertools
import random

import pytest
from hypothesis import given, settings
from layout_cases import build, layouts, refused, small_layouts, small_shards
from map_cases import SEED, call, points, random_bits, random_radix

import tirx.ir as ir
from tirx.layout import ComposeLayout, R, S, TileLayout, equivalent, laneid, placements, warpid
from tirx.layout import maps as M
from tirx.layout.maps import LayoutCorr, as_map, corr_of, to_layout


@pytest.fixture
def rng():
    print(f"TIRX_FUZZ_SEED={SEED}")
    return random.Random(SEED)


def relation(c):
    """The definition, by calls."""
    out = set()
    for f in points(c.left.domain):
        a, b = call(c.left, f), call(c.right, f)
        if a is not None and b is not None:
            out.add((a, b))
    assert set(c.pairs()) == out
    return out


def after(s, r, box=6):
    """The relational composition of sets of pairs, on the points of the box where they meet."""
    return {(a, c) for a, b in r for b2, c in s if b == b2 and 0 <= b[0] < box}


def swapped(r):
    return {(b, a) for a, b in r}


def legs(rng, box):
    """Maps into `box`, a single extent of 6, of every kind that a join treats differently."""
    yield M.Identity(6)
    yield M.Project((6, 2), 0)
    yield M.Project((2, 6), 1)
    yield M.Translate(M.Identity(6), 1, 6)
    yield M.FiniteTable(6, 6, rng.sample(range(6), 6))
    yield M.MixedRadix((3,), (2,), codomain=6)
    yield M.FiniteTable(4, 6, [rng.randrange(6) for _ in range(4)])
    yield M.index_map(5, lambda i: 6 // (i + 1) // (i - 2) % 6, 6)
    yield M.MixedRadix((2, 2), (0, 3), codomain=6)


def test_laws_of_correspondences(rng):
    some = [
        LayoutCorr(a, M.FiniteTable(a.domain, 6, [rng.randrange(6) for _ in range(a.size)]))
        for a in legs(rng, 6)
    ]
    some += [c.converse() for c in some] + [LayoutCorr(a, a) for a in legs(rng, 6)]
    known = [relation(c) for c in some]
    for c, r in zip(some, known):
        assert relation(c.converse()) == swapped(r)
        twice = c.converse().converse()
        assert ir.structural_equal(twice.left, c.left) and ir.structural_equal(twice.right, c.right)
    for (s, rs), (r, rr) in rng.sample(list(itertools.product(zip(some, known), repeat=2)), 200):
        both = s @ r
        assert relation(both) == after(rs, rr)
        assert relation((s @ r).converse()) == relation(r.converse() @ s.converse()) == swapped(after(rs, rr))
    triples = rng.sample(list(itertools.product(range(len(some)), repeat=3)), 40)
    for i, j, k in triples:
        left, right = some[i] @ (some[j] @ some[k]), (some[i] @ some[j]) @ some[k]
        if max(left.left.size, right.left.size) <= 4000:
            assert relation(left) == relation(right) == after(known[i], after(known[j], known[k]))


def test_joins_stay_small_where_a_leg_allows_it():
    r = LayoutCorr(M.Project((1 << 30, 4), 0), M.MixedRadix((1 << 30, 4), (4, 1)))
    s = LayoutCorr(M.Project((1 << 32, 8), 0), M.MixedRadix((1 << 32, 8), (0, 1)))
    assert (s @ r).left.domain == (1 << 30, 4, 8)
    assert (s @ r).places(77) == {(k,) for k in range(8)}
    swizzle = M.Transform("xor_swizzle", (0, 2, 2), 1 << 32)
    assert (LayoutCorr(swizzle, M.Identity(1 << 32)) @ r).left.domain == (1 << 30, 4)
    onto = LayoutCorr(M.MixedRadix((1 << 30, 2), (1, 0)), M.Identity((1 << 30, 2)))
    assert len((onto @ LayoutCorr(M.Identity(1 << 30), M.Identity(1 << 30))).places(5)) == 2


def test_product_of_correspondences(rng):
    a = LayoutCorr(M.Project((3, 2), 0), M.FiniteTable((3, 2), 5, [rng.randrange(5) for _ in range(6)]))
    left = random_radix(rng)
    b = LayoutCorr(left, M.Project(left.domain, 0))
    want = {(x + y, u + v) for (x, u), (y, v) in itertools.product(relation(a), relation(b))}
    assert relation(a.product(b)) == want


def test_legs_must_share_their_domain():
    assert refused(lambda: LayoutCorr(M.Identity(4), M.Identity(5))).code == "box-mismatch"
    assert refused(lambda: LayoutCorr(M.Identity(4), M.Identity(4)) @ LayoutCorr(M.Identity(5), M.Identity(5))).code == (
        "box-mismatch")  # fmt: skip


def test_places_and_sources(rng):
    for _ in range(30):
        left, right = random_bits(rng), random_bits(rng)
        if left.domain != right.domain:
            right = M.FiniteTable(left.domain, 4, [rng.randrange(4) for _ in range(left.size)])
        c = LayoutCorr(left, right)
        r = relation(c)
        for a in {a for a, _ in r}:
            assert c.places(*a) == {y for x, y in r if x == a}
        for b in {b for _, b in r}:
            assert c.sources(*b) == {x for x, y in r if y == b}
        assert c.places(*(99,) * len(left.codomain)) == set()


def as_place(names, values):
    return frozenset((n, v) for n, v in zip(names, values) if v)


def check_corr(layout, shape=None):
    c = corr_of(layout, shape)
    want = placements(layout)
    got = [set() for _ in want]
    for a, b in c.pairs():
        x = a[0] if shape is None else sum(v * s for v, s in zip(a, row_major(shape)))
        got[x].add(as_place(c.right.codomain_names, b))
    assert got == [set(p) for p in want]
    return c


def row_major(shape):
    out = [1]
    for e in shape[:0:-1]:
        out.append(out[-1] * e)
    return out[::-1]


def test_every_small_layout_is_its_correspondence_and_comes_back():
    for layout in small_layouts():
        back = check_corr(layout).to_layout()
        assert placements(back) == placements(layout)


@settings(max_examples=100, deadline=None)
@given(layouts(max_iters=3, max_size=60))
def test_layouts_are_their_correspondence(layout):
    back = check_corr(layout).to_layout()
    assert equivalent(back, layout)


def test_maps_of_layouts_without_replicas():
    for shard in small_shards(2):
        layout = build(shard, offset=(5,))
        f = as_map(layout)
        want = placements(layout)
        assert [frozenset([as_place(f.codomain_names, v)]) for v in f.table()] == want
        assert equivalent(to_layout(f), layout) and equivalent(to_layout(f.normalize()), layout)
    f = as_map(TileLayout(S[(8, 4) : (4 @ laneid, 1 @ laneid)]), (4, 8))
    assert f.domain == (4, 8) and f.codomain == (32,) and f.codomain_names == ("laneid",) and f(3, 7) == (31,)
    refusals = [
        (lambda: as_map(TileLayout(S[4:1] + R[2:4])), "replicated"),
        (lambda: as_map(TileLayout(S[(ir.Var("n"), 4) : (4, 1)])), "symbolic"),
        (lambda: as_map(TileLayout(S[32]), (5, 6)), "size-mismatch"),
        (lambda: as_map(ComposeLayout(0, 1, 1, TileLayout(S[8:-1]))), "negative-address"),
        (lambda: to_layout(M.FiniteTable(4, 4, [0, 3, 1, 2])), "not-a-tile-layout"),
        (lambda: to_layout(M.Identity((2, 2))), "not-a-tile-layout"),
        (
            lambda: to_layout(M.MixedRadix((2,), ((1, 1),), codomain={"m": 2, "laneid": 2})),
            "not-a-tile-layout",
        ),
        (lambda: to_layout(M.Identity({"nowhere": 4})), "unknown-axis"),
        (lambda: LayoutCorr(M.MixedRadix((4,), (2,)), M.Identity(4)).to_layout(), "not-a-tile-layout"),
    ]
    for fn, code in refusals:
        assert refused(fn).code == code


def test_swizzled_layouts_are_transforms():
    tile = TileLayout(S[(8, 2, 64) : (64, 512, 1)])
    for m, b, s in [(3, 3, 3), (3, 1, 3), (2, 2, 3), (0, 0, 0)]:
        layout = ComposeLayout(m, b, s, tile)
        f = as_map(layout)
        assert [frozenset([as_place(f.codomain_names, v)]) for v in f.table()] == placements(layout)
        assert equivalent(to_layout(f), layout)
        check_corr(layout, (8, 128))
        assert equivalent(corr_of(layout, (8, 128)).to_layout(), layout)
    mixed = ComposeLayout(1, 1, 1, TileLayout(S[(4, 8) : (1 @ warpid, 1)] + R[2:8] + 4))
    assert placements(check_corr(mixed).to_layout()) == placements(mixed)
    assert type(as_map(ComposeLayout(3, 3, 3, tile)).normalize()) is M.BitLinearMap


def test_the_layout_of_the_paper():
    tile = TileLayout(
        S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid
    )
    c = check_corr(tile, (8, 16))
    assert c.left.domain == (8, 16, 2) and c.right.codomain_names == ("laneid", "warpid", "m")
    assert c.places(3, 13) == {(14, 6, 1), (14, 10, 1)} and c.sources(14, 10, 1) == {(3, 13)}
    assert equivalent(c.to_layout(), tile)


def test_redistribution_is_a_composition_of_correspondences():
    """From places of one layout to places of another: who must send what to whom."""
    rows, cols = TileLayout(S[(4, 8) : (1 @ warpid, 1)]), TileLayout(S[(4, 8) : (1, 1 @ laneid)])
    move = corr_of(cols) @ corr_of(rows).converse()
    want = {((x // 8, x % 8), (x // 8, x % 8)) for x in range(32)}
    assert relation(move) == want
