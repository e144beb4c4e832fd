"""Inverses, fibers, images and normal forms of layout maps against lists of their values."""

import itertools
import random

import pytest
from layout_cases import refused
from map_cases import SEED, call, graph, points, random_bits, random_edge_map, random_map, random_radix

from tirx.layout import maps as M


@pytest.fixture
def rng():
    print(f"TIRX_FUZZ_SEED={SEED}")
    return random.Random(SEED)


def check_inverse(f):
    """ "inverse", or the code of the refusal; everything that was claimed is checked."""
    g = graph(f)
    got = []
    fails = refused(lambda: got.append(f.try_inverse()))
    if fails:
        injective = len(set(g.values())) == len(g)
        assert fails.code in ("not-injective", "unproved", "no-value", "outside-codomain", "too-large"), fails
        if fails.code == "not-injective":
            a, b = (tuple(map(int, p.strip("()").split(","))) for p in fails.found.split(" and "))
            assert a != b and f(a) == f(b)
        else:
            inside = all(0 <= v < e for y in g.values() for v, e in zip(y, f.codomain))
            assert not injective or not inside or len(g) < f.size, "a listable injective map was refused"
        return fails.code
    inverse = got[0]
    assert inverse.map.domain == f.codomain and inverse.map.codomain == f.domain
    back = {y: x for x, y in g.items()}
    assert len(back) == len(g) == f.size
    for y in points(f.codomain):
        assert call(inverse.map, y) == back.get(y)
        assert (inverse.image is None) or inverse.image(*y) == (int(y in back),)
    if inverse.image is None:
        assert set(back) == set(points(f.codomain))
    return "inverse"


def test_inverse_of_every_small_mixed_radix_map():
    found = {}
    for shape in itertools.product((1, 2, 3), repeat=2):
        for stride in itertools.product((0, 1, 2, 3, 4, -2), repeat=2):
            low = sum(min(0, s) * (e - 1) for s, e in zip(stride, shape))
            for f in (M.MixedRadix(shape, stride, -low), M.MixedRadix((tuple(shape),), (stride,), 1 - low)):
                what = check_inverse(f)
                found[what] = found.get(what, 0) + 1
    assert (
        found["inverse"] > 250 and found["not-injective"] > 150 and set(found) <= {"inverse", "not-injective"}
    )


def test_inverse_of_random_maps(rng):
    found = {}
    for _ in range(150):
        what = check_inverse(random_map(rng))
        found[what] = found.get(what, 0) + 1
    assert found["inverse"] > 20 and found["not-injective"] > 20, found


def test_inverse_of_all_2x3_bit_matrices_with_offsets():
    """Also over ragged domains; codomain of 2 or 3 bits."""
    for columns in itertools.product(range(4), repeat=2):
        for start, domain in itertools.product(range(4), ((4,), (3,), (2, 2))):
            axes = [columns] if len(domain) == 1 else [columns[:1], columns[1:]]
            for codomain in (4, 6):
                check_inverse(M.BitLinear(domain, codomain, axes, (start,)))


def test_inverses_beyond_any_budget():
    big = M.MixedRadix((1 << 20, (1 << 10, 3)), (3 << 10, (3, 1)))
    back = big.try_inverse()
    assert back.image is None and "digit" in back.argument
    for x in [(0, 0), (12345, 2345), ((1 << 20) - 1, 3071)]:
        assert back(*big(*x)) == x
    padded = M.MixedRadix((1 << 20, 3 << 10), (4 << 10, 1)).try_inverse()
    assert padded(5 << 12) == (5, 0) and refused(lambda: padded((5 << 12) + 3072)).code == "no-value"
    assert padded.image((5 << 12) + 3071) == (1,) and padded.image((5 << 12) + 3072) == (0,)
    gray = M.BitLinear(1 << 40, 1 << 40, [[1 << b | (1 << b) >> 1 for b in range(40)]])
    x = 0xABCDE12345
    assert gray.try_inverse()(*gray(x)) == (x,)
    swizzled = M.Transform("xor_swizzle", (3, 3, 3), 3 << 40) @ M.MixedRadix((3, 1 << 40), (1 << 40, 1))
    assert swizzled.try_inverse()(*swizzled(2, x)) == (2, x)
    wide = M.BitLinear((1 << 40, 1 << 40), (1 << 40, 1 << 40),
                       [[(0, 1 << b) for b in range(40)], [(1 << b, 1) for b in range(40)]])  # fmt: skip
    assert wide.try_inverse()(*wide(x, x + 1)) == (x, x + 1)
    two_of = M.MixedRadix((1 << 40, 3), (2, 0))
    assert refused(two_of.try_inverse).code == "not-injective"
    assert refused(M.index_map(1 << 40, lambda i: (i * i) >> 3, 1 << 62).try_inverse).code == "unproved"


def test_inverses_of_compositions_that_do_not_flatten():
    """Transforms before and after maps that are onto, not onto, or not injective."""
    twist = lambda n: M.Transform("xor_swizzle", (0, 2, 2), n)  # noqa: E731
    for outer in (
        M.MixedRadix((24,), (3,)),
        M.MixedRadix(((6, 4),), ((4, 1),)),
        M.MixedRadix(((6, 4),), ((0, 1),)),
    ):
        assert check_inverse(outer @ twist(24)) == ("not-injective" if outer.codomain == (4,) else "inverse")
        wide = outer.with_codomain(72)
        assert check_inverse(twist(72) @ wide) == ("not-injective" if outer.codomain == (4,) else "inverse")
        check_inverse(M.product(wide @ twist(24), M.MixedRadix((3,), (2,))))
    # One factor collides where the other has no value: the witness must be points that have one.
    check_inverse(M.product(M.FiniteTable(2, 2, [1, 1]), M.index_map(2, lambda i: 1 // i, 2)))
    outside = M.MixedRadix((8,), (2,)).with_codomain(9)
    assert check_inverse(outside) == "outside-codomain"
    assert refused(M.MixedRadix((1 << 40,), (2,)).with_codomain(1 << 40).try_inverse).code == "unproved"
    n = 3 << 40
    thrice = M.MixedRadix((n,), (3,)).with_codomain(3 * n)
    f = thrice @ twist(n)
    inverse = f.try_inverse()
    assert inverse(*f(777)) == (777,) and inverse.image(3) == (1,) and inverse.image(4) == (0,)
    assert refused(lambda: inverse(4)).code == "no-value"
    assert refused((thrice.with_codomain(9 * n) @ f.with_codomain(n)).try_inverse).code == "unproved"
    assert type((twist(n) @ twist(n)).normalize()) is M.IdentityMap


def test_parts_of_products_and_compositions_are_inverted():
    shift = M.Transform("xor_swizzle", (0, 3, 4), 3 << 20)
    f = M.product(shift, M.Permute((5, 1 << 20), (1, 0)), M.MixedRadix((3, 1 << 20), (1, 3))).normalize()
    inverse = f.try_inverse()
    x = (12345, 3, 54321, 2, 77)
    assert inverse(*f(*x)) == x and inverse.image is None and "column rank" in inverse.argument


def test_registered_transforms_are_inverted_by_their_own_inverse():
    n, k = 1 << 40, pow(0x9E3779B1, -1, 1 << 40)
    M.register_transform(
        "times_odd",
        lambda p, c: (c[0] * p[0] % n,),
        lambda p, c: (c[0] * pow(p[0], -1, n) % n,),
        lambda p, a, b: "odd factors are units modulo 2^40" if a == b == (n,) and p[0] % 2 else "",
    )
    f = M.product(M.Transform("times_odd", (k,), n), M.Identity(3))
    inverse = f.try_inverse()
    assert inverse(*f(12345, 2)) == (12345, 2) and f(0x9E3779B1, 1) == (1, 1)
    assert inverse.argument == "registered: odd factors are units modulo 2^40; the identity"
    assert refused(lambda: M.Transform("times_odd", (2,), n)).code == "bad-map"


def check_fibers(f):
    g = graph(f)
    reached = set(g.values())
    for y in (
        sorted(reached) + [y for y in points(tuple(min(e, 12) for e in f.codomain)) if y not in reached][:3]
    ):
        fiber = f.preimage(y)
        want = [x for x in points(f.domain) if g.get(x) == y]
        assert (fiber is None) == (not want)
        if want:
            got = fiber.table()
            assert sorted(got) == want and fiber.codomain == f.domain


def test_fibers(rng):
    for _ in range(100):
        check_fibers(random_map(rng))
    for _ in range(100):
        check_fibers(random_radix(rng))
        check_fibers(random_bits(rng))


def test_fibers_beyond_any_budget():
    f = M.MixedRadix((1 << 30, 1 << 20, 8), (8, 0, 1))
    fiber = f.preimage(8 * 77 + 5)
    assert fiber.domain == (1 << 20,) and fiber(99) == (77, 99, 5)
    parity = M.BitLinear(1 << 40, 2, [[1] * 40])
    fiber = parity.preimage(1)
    assert fiber.size == 1 << 39
    for k in (0, 1, 12345678901):
        assert parity(*fiber(k)) == (1,)
    assert refused(lambda: f.preimage(1, 2)).code == "rank-mismatch"
    assert (
        refused(lambda: M.index_map(1 << 40, lambda i: i * i >> 9, 1 << 62).preimage(3)).code == "too-large"
    )


def test_values_at_both_ends_of_int64(rng):
    """Normal forms, fibers and images of maps whose values lie near 2^63, -2^63 or wrap there."""
    valued = 0
    for _ in range(500):
        f = random_edge_map(rng)
        g = graph(f)
        valued += len(g) > 1
        assert graph(f.normalize()) == g, f.text()
        for y in rng.sample(sorted(set(g.values())), min(4, len(set(g.values())))):
            assert y in f.image() and sorted(f.preimage(y).table()) == [x for x in g if g[x] == y], f.text()
        assert refused(lambda: len(f.image())) or len(f.image()) == len(set(g.values())), f.text()
    assert valued > 100


def test_a_sum_of_strides_that_wraps_and_one_that_overflows():
    f = M.index_map(32, lambda x: x << 60, (1 << 63) - 1)
    assert sorted(f.preimage(3 << 60).table()) == [(3,), (19,)] and (3 << 60) in f.image()
    f = M.index_map((2, 4), lambda a, b: (b << 62) ^ a, (1 << 62) + 1)
    assert f.preimage(f(1, 1)).table() == [(1, 1)] and f.preimage(f(0, 2)).table() == [(0, 2)]
    for fn in (
        lambda y: (3 - 2**63) ^ (y << 62),
        lambda y: y * 2**61 + (3 - 2**63) + y * 2**61,
    ):
        f = M.index_map(3, fn, 41)
        assert f(2) == f.normalize()(2) == (3,) and f.preimage(3).table() == [(2,)]


def test_images(rng):
    for _ in range(80):
        f = random_map(rng)
        g = graph(f)
        image = f.image()
        assert len(image) == len(set(g.values())) and image.points() == sorted(set(g.values()))
        y = rng.choice(sorted(set(g.values())))
        assert y in image and tuple(v + 1000 for v in y) not in image
        region = [sorted(rng.sample(range(e + 1), 2)) for e in f.domain]
        part = {v for x, v in g.items() if all(b <= c < e for c, (b, e) in zip(x, region))}
        assert f.image(region).points() == sorted(part)
    assert len(M.MixedRadix((1 << 40, 5), (8, 0)).image()) == 1 << 40
    assert len(M.BitLinear(1 << 40, 1 << 40, [[b & 1 for b in range(40)]]).image()) == 2
    assert refused(lambda: M.Identity(4).image([(0, 5)])).code == "bad-box"
    assert refused(lambda: M.Identity(4).image([(2, 2)])).code == "bad-box"


def test_normal_form_is_the_strongest(rng):
    """Small maps: MixedRadix exactly when the values have that form, by a search that shares nothing with it."""
    kinds = {}
    for _ in range(200):
        f = random_map(rng)
        n = f.normalize()
        assert graph(n) == graph(f) and n.domain == f.domain and n.codomain == f.codomain
        kind = type(n).__name__
        kinds[kind] = kinds.get(kind, 0) + 1
        values = [f(*x) for x in points(f.domain)]
        radix = is_radix(f.domain, values)
        assert (kind in ("MixedRadixMap", "IdentityMap")) == radix, (n, values)
        assert (kind == "IdentityMap") == (values == points(f.domain) and f.domain == f.codomain)
    assert len(kinds) >= 4, kinds


def is_radix(extents, values):
    """Whether values (row-major) are an offset plus digits times strides, axis by axis, by search."""
    table = dict(zip(points(extents), values))
    zero = (0,) * len(extents)
    delta = lambda x: tuple(a - b for a, b in zip(table[x], table[zero]))  # noqa: E731
    on_axis = [[delta(tuple(v if k == i else 0 for k in range(len(extents)))) for v in range(e)]
               for i, e in enumerate(extents)]  # fmt: skip
    for x in points(extents):
        total = tuple(map(sum, zip(*[on_axis[i][v] for i, v in enumerate(x)])))
        if total != delta(x):
            return False
    return all(digits_exist(line) for line in on_axis)


def digits_exist(line):
    """Whether a list of vectors that starts with zero is a sum over digits of some factorisation."""
    n = len(line)
    if n == 1:
        return True
    for e in (d for d in range(2, n + 1) if n % d == 0):
        step = lambda y, k: tuple(a + k * b for a, b in zip(line[y], line[1]))  # noqa: E731
        if all(line[y] == step(y - y % e, y % e) for y in range(n)) and digits_exist(line[::e]):
            return True
    return False


def test_coalescing_is_cutes():
    for shape, stride, want in [
        (((2, 4),), ((1, 2),), "8:1"), (((2, 4),), ((1, 3),), "2,4:1,3"), (((2, 1, 4),), ((1, 9, 2),), "8:1"),
        (((3, 4, 5),), ((0, 0, 2),), "12,5:0,2"), (((2, 3), (4, 5)), ((1, 2), (6, 24)), "6:1;20:6"),
        (((1, 1),), ((5, 7),), "1:0"), (((4, 4),), ((-1, -4),), "16:-1"),
    ]:  # fmt: skip
        low = sum(min(0, s) * (e - 1) for a, b in zip(shape, stride) for e, s in zip(a, b))
        n = M.MixedRadix(shape, stride, -low, codomain=1 << 10).normalize()
        text = ";".join(
            f"{','.join(map(str, e))}:{','.join(str(v[0]) for v in s)}" for e, s in zip(n.shape, n.stride)
        )
        assert text == want


def test_large_maps_find_their_form_without_listing():
    xor = M.index_map((1 << 20, 1 << 20), lambda i, j: (i ^ (j >> 3), j), (1 << 20, 1 << 20)).normalize()
    assert type(xor) is M.BitLinearMap and xor(5, 9 << 3) == (5 ^ 9, 72)
    tile = M.MixedRadix((48, (64, 7)), (64, (1, 64 * 48)))
    chain = M.Transform("xor_swizzle", (3, 3, 3), 21504) @ tile
    n = chain.normalize()
    assert type(n) is M.ComposeMap and type(n.outer) is M.TransformMap and type(n.inner) is M.MixedRadixMap
    twice = M.Transform("xor_swizzle", (3, 3, 3), 21504) @ M.Identity(21504) @ tile @ M.Identity(tile.domain)
    assert type(twice.normalize().inner) is M.MixedRadixMap
    pieces = M.Piecewise(
        1 << 30, [(lambda i: i < 0, M.Identity(1 << 30)), (lambda i: i * 0 + 1, M.Identity(1 << 30))]
    )
    assert type(pieces.normalize()) is M.IdentityMap
    kept = M.Piecewise(
        1 << 30,
        [
            (lambda i: i % 2 == 0, M.Identity(1 << 30)),
            (lambda i: i % 2 == 1, M.index_map(1 << 30, lambda i: i * 2 // 2, 1 << 30)),
        ],
    )
    n = kept.normalize()
    assert type(n) is M.PiecewiseMap and type(n.pieces[1]) is M.IdentityMap
    clash = M.Piecewise(
        1 << 30, [(lambda i: i * 0 + 1, M.Identity(1 << 30)), (lambda i: i % 3 == 0, M.Identity(1 << 30))]
    )
    assert call(clash.normalize(), (4,)) == (4,) and call(clash.normalize(), (3,)) is None
    ragged = M.index_map(10**9 + 7, lambda i: (i // 4, i % 4), (10**9, 4)).normalize()
    assert type(ragged) in (M.IndexExprMap, M.BitLinearMap) and ragged(11) == (2, 3)


def test_differences_are_found_or_excluded(rng):
    """Against all values: pairs on one domain that are equal, nearly equal or unrelated."""
    outcomes = {True: 0, False: 0}
    for _ in range(150):
        f = random_map(rng)
        values = [f(*x) for x in points(f.domain)]
        wide = tuple(max(v[j] for v in values) + 2 for j in range(len(f.codomain)))
        changed = list(values)
        k = rng.randrange(len(values))
        changed[k] = (changed[k][0] + 1, *changed[k][1:])
        table = lambda rows: M.FiniteTable(f.domain, wide, rows)  # noqa: E731
        for g in (f.normalize(), table(values), table(changed), f.with_codomain(wide)):
            where = f.difference(g)
            equal = [g(*x) for x in points(f.domain)] == values
            assert (where is None) == equal
            assert equal or f(*where) != g(*where)
            outcomes[equal] += 1
    assert min(outcomes.values()) > 100


def test_every_pair_of_small_mixed_radix_maps_is_compared_without_listing():
    strides = (0, 1, 2, -1)
    forms = [
        (s, d) for s in ((8,), (2, 4), (4, 2), (2, 2, 2)) for d in itertools.product(strides, repeat=len(s))
    ]
    maps = [M.MixedRadix((shape,), (stride,), 9, 32) for shape, stride in forms]
    for f, g in itertools.product(maps, repeat=2):
        where = f.difference(g, budget=0)
        assert (where is None) == (f.table() == g.table())
        assert where is None or f(*where) != g(*where)


def test_differences_beyond_any_budget():
    n = 1 << 40
    f = M.index_map((n, 8), lambda i, j: i * 8 + (j ^ (i & 7)), 8 * n)
    g = M.Transform("xor_swizzle", (0, 3, 3), 8 * n) @ M.MixedRadix((n, 8), (8, 1))
    assert f.difference(g) is None and g.difference(f) is None
    assert f.difference(M.index_map((n, 8), lambda i, j: i * 8 + (j ^ (i >> 1 & 7)), 8 * n)) is not None
    a = M.MixedRadix((((1 << 20), 3 << 19), 8), ((8, 1 << 23), 1))
    assert a.difference(M.MixedRadix((3 << 39, 8), (8, 1))) is None
    b = M.MixedRadix((((1 << 20), 3 << 19), 8), ((8, (1 << 23) + 8), 1))
    assert a.difference(b) == (1 << 20, 0)
    trap = M.index_map(4, lambda i: 6 // (i - 2) + 9, 16)
    assert trap.difference(M.FiniteTable(4, 16, [6, 3, 0, 15])) == (2,)
    odd = M.index_map(n, lambda i: i * i >> 3, 1 << 62)
    assert odd.difference(odd.with_codomain(1 << 61)) is None
    assert refused(lambda: odd.difference(M.index_map(n, lambda i: i * i // 8, 1 << 62))).code == "unproved"
    assert refused(lambda: odd.difference(M.Identity((n, 1)))).code == "box-mismatch"
    assert refused(lambda: odd.difference(3)).code == "bad-argument"
