"""Layout maps: every form against its definition, the laws of composition and product, and what is refused."""

import itertools
import math
import os
import random

import pytest
from layout_cases import refused

from tirx.layout import maps as M
from tirx.layout.symbolic import Index

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "5"))


@pytest.fixture
def rng():
    print(f"TIRX_FUZZ_SEED={SEED}")
    return random.Random(SEED)


def points(extents):
    return list(itertools.product(*map(range, extents)))


def values(f):
    """The table by calls, one per point: `table` is checked against it."""
    out = [f(*x) for x in points(f.domain)]
    assert f.table() == out
    return out


def mixed_radix(shape, stride, offset, point):
    """The definition, on shape[i] = extents of axis i and stride[i][k] = a vector."""
    out = list(offset)
    for x, extents, vectors in zip(point, shape, stride):
        for e, v in zip(extents, vectors):
            out = [o + x % e * s for o, s in zip(out, v)]
            x //= e
    return tuple(out)


def test_mixed_radix_is_its_definition():
    shapes = [s for n in (1, 2) for s in itertools.product((1, 2, 3, 4), repeat=n)]
    for shape in shapes:
        for stride in itertools.product((0, 1, 2, 5, -1), repeat=len(shape)):
            f = M.MixedRadix((tuple(shape),), (tuple(stride),), 3)
            want = [mixed_radix([shape], [[(s,) for s in stride]], (3,), x) for x in points(f.domain)]
            assert values(f) == want


def test_mixed_radix_vectors_and_nesting():
    f = M.MixedRadix((4, (2, (3, 2))), ((1, 0), ((0, 1), ((8, 2), (0, 7)))), (5, -2))
    shape, stride = [[4], [2, 3, 2]], [[(1, 0)], [(0, 1), (8, 2), (0, 7)]]
    assert f.domain == (4, 12)
    assert values(f) == [mixed_radix(shape, stride, (5, -2), x) for x in points((4, 12))]
    assert f.codomain == (5 + 3 + 16 + 1, -2 + 1 + 4 + 7 + 1)


def xor_linear(basis, start, point):
    out = list(start)
    for x, columns in zip(point, basis):
        for b, column in enumerate(columns):
            if x >> b & 1:
                out = [o ^ c for o, c in zip(out, column)]
    return tuple(out)


def test_bit_linear_is_its_definition(rng):
    for _ in range(100):
        domain = [rng.randint(1, 9) for _ in range(rng.randint(1, 3))]
        ranks = [(n - 1).bit_length() for n in domain]
        basis = [[tuple(rng.randrange(16) for _ in range(2)) for _ in range(r)] for r in ranks]
        start = (rng.randrange(16), rng.randrange(16))
        f = M.BitLinear(tuple(domain), (16, 16), basis, start)
        assert values(f) == [xor_linear(basis, start, x) for x in points(domain)]


OPS = ["+", "-", "*", "//", "%", "^", "&", "|", "<<", ">>", "<", "<=", ">", ">=", "==", "!="]


def logical(op, a, b):
    """64-bit meaning of `a op b`, or None where it has no value."""
    if op in ("//", "%") and b == 0 or op in ("<<", ">>") and not 0 <= b <= 63:
        return None
    if op == "<<":
        v = (a << b) % (1 << 64)
        return v - (1 << 64) if v >> 63 else v
    if op == ">>":
        v = a % (1 << 64) >> b
        return v - (1 << 64) if v >> 63 else v
    v = int(eval(f"a {op} b"))
    return v if -(1 << 63) <= v < 1 << 63 else None


EDGES = [0, 1, 2, 3, 7, 63, 64, -1, -2, -7, (1 << 63) - 1, -(1 << 63), 1 << 62, 1 << 32]


@pytest.mark.parametrize("op", OPS)
def test_every_operation_at_the_edges_of_64_bits(op):
    # The operands are looked up, so that nothing is folded.
    left = M.FiniteTable(len(EDGES), 1, EDGES)
    pair = M.product(left, left).with_codomain((1, 1))
    box = M.index_map((1, 1), lambda a, b: eval(f"a {op} b"), 1)
    dag = M.Compose(box, pair)
    for i, j in points(pair.domain):
        want = logical(op, EDGES[i], EDGES[j])
        fails = refused(lambda: M.index_map(1, lambda x: eval(f"(x + {EDGES[i]}) {op} {EDGES[j]}"), 1)(0))
        if want is None:
            assert fails.code == "no-value" and op in fails.found and "at (0)" in fails.found
        else:
            assert M.index_map(1, lambda x: eval(f"(x + {EDGES[i]}) {op} {EDGES[j]}"), 1)(0) == (want,)
        # A value outside the box it enters is a failure too.
        inside = EDGES[i] == 0 and EDGES[j] == 0
        assert (refused(lambda: dag(i, j)) is None) == (inside and want is not None)


def test_nothing_that_fails_is_simplified_away():
    traps = [
        lambda i: (i // (i - 2)) * 0,
        lambda i: (i // (i - 2)) - (i // (i - 2)),
        lambda i: 0 * (((1 << 62) * (i + 1)) & 0),
        lambda i: (1 // (i - 2)) & 0,
        lambda i: (i // (2 - i)) ^ (i // (2 - i)),
    ]
    for trap in traps:
        f = M.index_map(4, trap, 1)
        bad = [x for x in range(4) if refused(lambda: f(x))]
        assert bad == ([1, 2, 3] if trap is traps[2] else [2])
        assert [x for x in range(4) if refused(lambda: f.normalize()(x))] == bad
    hidden = M.Compose(M.Project((4, 4), 0), M.index_map(4, lambda i: (i, 3 // (i - 1)), (4, 4)))
    assert refused(lambda: hidden(1)).code == "no-value" and hidden(2) == (2,)


def swizzle(m, b, s, x):
    return x ^ ((x >> (m + s)) % (1 << b) << m)


def test_swizzle_is_its_formula():
    for m, b, s in [(0, 0, 0), (0, 1, 1), (1, 2, 2), (0, 2, 3), (3, 3, 3), (4, 1, 3)]:
        n = 3 << (m + b)
        f = M.Transform("xor_swizzle", (m, b, s), n)
        assert values(f) == [(swizzle(m, b, s, x),) for x in range(n)]
    assert refused(lambda: M.Transform("xor_swizzle", (0, 2, 1), 16)).code == "bad-map"
    assert refused(lambda: M.Transform("xor_swizzle", (3, 3, 3), 100)).code == "bad-map"
    assert "xor_swizzle" in refused(lambda: M.Transform("xor", (1,), 16)).required


def test_registered_transform_with_its_own_evaluator():
    primes = {}  # no formula: a permutation drawn once
    order = random.Random(7).sample(range(40), 40)
    primes.update({v: k for k, v in enumerate(order)})
    name = f"shuffle{len(OPS)}"
    M.register_transform(name, lambda p, c: (order[c[0]],), lambda p, c: (primes[c[0]],))
    f = M.Transform(name, (), 40)
    assert values(f) == [(v,) for v in order]
    back = M.Transform(name, (), 40, inverted=True)
    assert values(back @ f) == [(x,) for x in range(40)]
    assert refused(lambda: M.Transform(name, (), 39)).code == "bad-map"
    assert refused(lambda: M.register_transform(name, min, max)).code == "transform-exists"


def test_piecewise():
    low, high = M.MixedRadix((10,), (2,)), M.MixedRadix((10,), (1,), 100)
    f = M.Piecewise(10, [([(0, 5)], low), (lambda i: i >= 5, high)])
    assert values(f) == [(2 * x,) if x < 5 else (100 + x,) for x in range(10)]
    gap = M.Piecewise(10, [([(0, 4)], low), ([(5, 10)], high)])
    both = M.Piecewise(10, [([(0, 6)], low), ([(5, 10)], high)])
    for g, bad in ((gap, 4), (both, 5)):
        assert [x for x in range(10) if refused(lambda: g(x))] == [bad]
    trap = M.index_map(10, lambda i: 7 // (i - 7), 8)
    assert M.Piecewise(10, [([(0, 8)], low), ([(8, 10)], trap)]).table()[7:] == [(14,), (7,), (3,)]


def test_recast_is_bits():
    """Bit k of element x lies at bit address width * f(x) + k, before and after."""
    cases = [
        ((8, 4), (1, 8), 0, 0), ((4, 8), (8, 1), 0, 1), ((6, 4), (4, 24), 0, 0), ((12,), (1,), 0, 0),
        ((3, 8), (16, 1), 0, 1), ((4, 3), (1, 5), 0, 0), ((8,), (1,), 2, 0), ((8, 2), (1, 8), 4, 0),
        ((2, 4), (4, 1), 0, 0),
    ]  # fmt: skip
    done = set()
    for shape, stride, offset, axis in cases:
        f = M.MixedRadix(shape, stride, offset)
        for old, new in [(32, 8), (8, 32), (6, 4), (4, 6), (16, 16), (6, 8), (8, 6)]:
            g = None
            fails = refused(lambda: M.Recast(f, old, new, axis))
            if not fails:
                g = M.Recast(f, old, new, axis)
            want = bits_of(f, old, axis, new)
            assert (fails is None) == (want is not None), (shape, stride, old, new)
            if want is not None:
                assert values(g) == want and g.domain[axis] * new == f.domain[axis] * old
                assert g.normalize().table() == want
                done.add((old, new))
    assert len(done) == 7


def bits_of(f, old, axis, new):
    """Addresses of the new elements, or None where their bits are not whole."""
    total = f.domain[axis] * old
    if total % new:
        return None
    shape = [e if i != axis else total // new for i, e in enumerate(f.domain)]
    out = []
    for x in points(shape):
        first = []
        for k in range(new):
            bit = x[axis] * new + k
            at = [v if i != axis else bit // old for i, v in enumerate(x)]
            first.append(f(*at)[0] * old + bit % old)
        if first[0] % new or first != list(range(first[0], first[0] + new)):
            return None
        out.append((first[0] // new,))
    return out


def small_maps():
    """Maps on (2, 3) or into it, one of each form."""
    square = M.box((2, 3))
    yield M.Identity(square)
    yield M.MixedRadix((2, 3), ((1, 0), (0, 1)))
    yield M.MixedRadix((2, 3), ((0, 1), (0, 0)), codomain=(2, 3))
    yield M.BitLinear((2, 3), (2, 4), [[(1, 1)], [(0, 2), (1, 0)]]).with_codomain((2, 3))
    yield M.FiniteTable((2, 3), (2, 3), [(1, 2), (1, 1), (0, 0), (0, 2), (1, 0), (0, 1)])
    yield M.index_map((2, 3), lambda i, j: (1 - i, (j + i) % 3), (2, 3))
    yield M.index_map((2, 3), lambda i, j: (i, 3 // (2 - j - i)), (2, 3))
    yield M.Piecewise((2, 3), [([(0, 1), (0, 3)], M.Identity(square)),
                               ([(1, 2), (0, 3)], M.index_map((2, 3), lambda i, j: (0, 2 - j), (2, 3)))])  # fmt: skip


def call(f, x):
    """The value, or None where there is none."""
    got = []
    return got[0] if refused(lambda: got.append(f(*x))) is None else None


def chain(x, *maps):
    for f in maps:
        x = None if x is None or any(not 0 <= v < e for v, e in zip(x, f.domain)) else call(f, x)
    return x


def test_laws_of_composition_exhaustively():
    maps = list(small_maps())
    one = M.Identity((2, 3))
    for f, g in itertools.product(maps, repeat=2):
        gf = g @ f
        for x in points((2, 3)):
            assert call(gf, x) == chain(x, f, g)
            assert call(f @ one, x) == call(f, x) and call(one @ f, x) == chain(x, f, one)
    for f, g, h in itertools.product(maps, repeat=3):
        left, right = h @ (g @ f), (h @ g) @ f
        assert left.domain == right.domain and left.codomain == right.codomain
        for x in points((2, 3)):
            assert call(left, x) == call(right, x) == chain(x, f, g, h)


def test_product_acts_componentwise():
    for f, g in itertools.product(small_maps(), repeat=2):
        fg = M.product(f, g)
        assert fg.domain == f.domain + g.domain and fg.codomain == f.codomain + g.codomain
        for x, y in itertools.product(points((2, 3)), repeat=2):
            a, b = call(f, x), call(g, y)
            assert call(fg, x + y) == (None if a is None or b is None else a + b)


def test_project_and_permute():
    for axes in itertools.permutations(range(3)):
        for n in (1, 2, 3):
            f = (M.Permute if n == 3 else M.Project)((2, 3, 4), axes[:n])
            assert values(f) == [tuple(x[a] for a in axes[:n]) for x in points((2, 3, 4))]
    for axes in ((0, 0), (3,), (-1,), ()):
        assert refused(lambda: M.Project((2, 3), axes)) is not None
    assert refused(lambda: M.Permute((2, 3), (0,))).code == "bad-map"


def test_normal_forms_keep_every_value():
    for f in small_maps():
        n = f.normalize()
        assert [call(n, x) for x in points(f.domain)] == [call(f, x) for x in points(f.domain)]
        assert n.domain == f.domain and n.codomain == f.codomain


FLAT = [
    (lambda i, j: i * 8 + j, ((16,), (8,)), (((8,),), ((1,),))),
    (lambda i, j: (i // 4) * 4 + i % 4 + 16 * j, ((16,), (8,)), (((1,),), ((16,),))),
    (lambda i, j: ((i * 8 + j) // 16) * 16 + (i * 8 + j) % 16, ((16,), (8,)), (((8,),), ((1,),))),
    (lambda i, j: (i & 3) * 32 + (i >> 2) * 8 + j, ((4, 4), (8,)), (((32,), (8,)), ((1,),))),
    (lambda i, j: (i * 8) ^ j, ((16,), (8,)), (((8,),), ((1,),))),
    (lambda i, j: (i ^ 15) * 8 + j, ((16,), (8,)), (((-8,),), ((1,),))),
    (lambda i, j: (i & 5) * 2 + j * 64 + (i & 10), ((2, 2, 2, 2), (8,)),
     (((2,), (2,), (8,), (8,)), ((64,),))),
    (lambda i, j: i - i // 4 * 4 + j * 0, ((4, 4), (8,)), (((1,), (0,)), ((0,),))),
    (lambda i, j: (2 * i + 16 * j) // 4 % 8, ((2, 8), (2, 4)), None),
]  # fmt: skip


def test_affine_and_digit_expressions_become_mixed_radix():
    for fn, shape, stride in FLAT[:-1]:
        f = M.index_map((16, 8), fn)
        n = f.normalize()
        assert type(n) is M.MixedRadixMap, f.text()
        assert tuple(map(tuple, n.shape)) == shape
        assert tuple(tuple(map(tuple, axis)) for axis in n.stride) == stride
        assert n.table() == [(fn(*x),) for x in points((16, 8))]


def test_one_operation_on_every_small_affine_form():
    """op(s * i + o, c): negative operands, carries and remainders that do or do not fit."""
    radix = 0
    for op, s, o in itertools.product(
        ["//", "%", "^", "&", "<<", ">>", "*"], (1, 2, 3, -1, -4), (-9, -4, 0, 3, 12)
    ):
        for c in (0, 1, 2, 3, 4, 5, 7, 8, 12):
            f = M.index_map(12, lambda i: eval(f"a {op} c", {"a": i * s + o, "c": c}), 1)
            want = [logical(op, x * s + o, c) for x in range(12)]
            n = f.normalize()
            assert [call(n, (x,)) for x in range(12)] == [v if v is None else (v,) for v in want], (
                f.text(),
                n,
            )
            radix += type(n) is M.MixedRadixMap
    assert radix > 600


def test_chains_of_divisions_and_remainders():
    chains = itertools.product((12, 24), (1, 2, 4), (4, 6, 8, 12), (1, 2, 3, 4), (2, 3, 4, 6))
    for n, a, b, c, d in chains:
        f = M.index_map(n, lambda i: (i // a % b // c) % d + (i % b % d) * 100, 1)
        want = [((x // a % b // c) % d + (x % b % d) * 100,) for x in range(n)]
        assert f.normalize().table() == want, f.text()


def random_expression(rng, coords, depth):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(coords) if rng.random() < 0.7 else rng.randint(0, 9)
    a = random_expression(rng, coords, depth - 1)
    c = rng.choice([1, 2, 3, 4, 6, 8, 16])
    kind = rng.randrange(9)
    if kind < 3:
        return a + random_expression(rng, coords, depth - 1)
    if kind == 3:
        return a - random_expression(rng, coords, depth - 1)
    return [a * c, a // c, a % c, a ^ (c - 1), a & rng.randint(0, 31)][kind - 4]


def test_random_expressions_normalise_to_the_same_values(rng):
    forms = {}
    for _ in range(300):
        domain = tuple(rng.choice([1, 2, 3, 4, 6, 8, 12, 16]) for _ in range(2))
        state = rng.getstate()

        def fn(*coords):
            rng.setstate(state)
            return random_expression(rng, coords, 4)

        f = M.index_map(domain, fn, 1)
        n = f.normalize()
        forms[type(n).__name__] = forms.get(type(n).__name__, 0) + 1
        want = [fn(*x) for x in points(domain)]
        assert n.table() == [(v,) for v in want], (domain, f.text())
    assert forms["MixedRadixMap"] > 100, forms


def trap_expression(rng, coords, depth):
    """Any operation, with divisors, shifts and large numbers that fail somewhere."""
    if depth == 0:
        return rng.choice([*coords, *coords, 0, 1, 2, 5, -1, -3, (1 << 63) - 1, -(1 << 63), 1 << 61])
    a, b = trap_expression(rng, coords, depth - 1), trap_expression(rng, coords, rng.randint(0, depth - 1))
    if not isinstance(a, Index) and not isinstance(b, Index):
        a = coords[0] * 0 + a
    return eval(f"a {rng.choice(OPS)} b")


def test_what_has_no_value_still_has_none_after_normalising(rng):
    failing = 0
    for _ in range(400):
        domain = tuple(rng.choice([1, 2, 3, 4, 7, 8]) for _ in range(2))
        f = M.index_map(domain, lambda *c: trap_expression(rng, c, 3), 1)
        want = [call(f, x) for x in points(domain)]
        failing += None in want
        assert [call(f.normalize(), x) for x in points(domain)] == want, f.text()
        # A part of a larger map: the trap is needed though nothing reads it.
        hidden = M.Project((1, 1 << 62), 0) @ M.product(M.Identity(1), f.with_codomain(1 << 62))
        low = [None if v is None or not 0 <= v[0] < 1 << 62 else (0,) for v in want]
        assert [call(hidden.normalize(), (0, *x)) for x in points(domain)] == low
    assert 50 < failing < 350, failing


def test_refusals_of_malformed_maps():
    for fn, code in [
        (lambda: M.MixedRadix((2, 3), (1,)), "profile-mismatch"),
        (lambda: M.MixedRadix(((2, 3),), (1,)), "profile-mismatch"),
        (lambda: M.MixedRadix((2, 0), (1, 1)), "bad-box"),
        (lambda: M.MixedRadix((2, 3), ((1, 2), (1,))), "bad-map"),
        (lambda: M.MixedRadix((1 << 40, 1 << 40), (1 << 40, 1)), "overflow"),
        (lambda: M.BitLinear(4, 4, [[1]]), "bad-map"),
        (lambda: M.BitLinear(4, 4, [[1, -1]]), "bad-map"),
        (lambda: M.FiniteTable(4, 4, [1, 2]), "bad-map"),
        (lambda: M.FiniteTable(1 << 21, 4, []), "too-large"),
        (lambda: M.Identity(4) @ M.Identity(5), "box-mismatch"),
        (lambda: M.Identity((4, 4)) @ M.Identity(4), "box-mismatch"),
        (lambda: M.Identity("x"), "not-an-integer"),
        (lambda: M.Identity(1 << 63), "overflow"),
        (lambda: M.Identity(()), "bad-box"),
        (lambda: M.index_map(4, lambda i: 1 if i else 2), "coordinate-branch"),
        (lambda: M.index_map(4, lambda i: i + 0.5), "not-an-integer"),
        (lambda: M.index_map(1 << 30, lambda i: i), "too-large"),
        (lambda: M.product(), "bad-map"),
        (lambda: M.Identity(4)(4), "outside-domain"),
        (lambda: M.Identity(4)(-1), "outside-domain"),
        (lambda: M.Identity(4)(1, 2), "outside-domain"),
        (lambda: M.Identity(1 << 40).table(), "too-large"),
        (lambda: M.Identity(4) @ 3, "bad-argument"),
        (lambda: M.product(M.Identity(4), [1]), "bad-argument"),
        (lambda: M.Piecewise((2, 3), [([(0, 2)], M.Identity((2, 3)))]), "bad-box"),
        (lambda: M.Piecewise(4, [([(0, 4)], 7)]), "bad-argument"),
        (lambda: M.Piecewise(4, [M.Identity(4)]), "bad-argument"),
        (lambda: M.BitLinear(4, 4, [3]), "bad-argument"),
        (lambda: M.BitLinear(4, 4, 3), "bad-argument"),
        (lambda: M.FiniteTable(4, 4, None), "bad-argument"),
        (lambda: M.Transform(3, (), 4), "bad-argument"),
        (lambda: M.register_transform("half", lambda p, c: c, None), "bad-argument"),
        (lambda: M.Recast(3, 8, 16), "bad-argument"),
        (lambda: M.Recast(M.MixedRadix(8, 1), 1.5, 3), "not-an-integer"),
        (lambda: M.Recast(M.MixedRadix(8, 1), 8, 0), "bad-map"),
        (lambda: M.Recast(M.Identity((2, 2)), 8, 16), "bad-map"),
        (lambda: M.Identity(4).try_inverse(budget=-1), "bad-argument"),
        (lambda: M.Identity(4).image(3), "bad-box"),
        (lambda: M.LayoutCorr(M.Identity(4), 3), "bad-argument"),
        (lambda: M.LayoutCorr(M.Identity(4), M.Identity(4)) @ M.Identity(4), "bad-argument"),
        (lambda: M.as_map(M.Identity(4)), "bad-argument"),
        (lambda: M.to_layout(3), "bad-argument"),
    ]:
        assert refused(fn).code == code
    kept = []
    M.index_map(4, lambda i: kept.append(i) or i)
    assert refused(lambda: M.index_map(4, lambda i: i + kept[0])).code == "foreign-coordinate"


def test_names_follow_the_axes():
    f = M.MixedRadix((8, 4), (4, 1)).with_codomain({"m": 32})
    assert f.codomain_names == ("m",) and f.domain_names == ("", "")
    g = M.product(M.Identity({"lane": 8}), M.Identity(3))
    assert g.domain_names == ("lane", "") and "lane=8" in repr(g)
    assert "lane" in refused(lambda: M.index_map({"lane": 4}, lambda i: 1 // (i - 2), 4)(2)).found


def test_sizes_of_large_domains_are_exact():
    f = M.MixedRadix(((1 << 20, 1 << 20), 1 << 20), (((1 << 20), 1), 1 << 40))
    assert f.size == 1 << 60 and f((1 << 40) - 1, 1) == (
        ((1 << 20) - 1) * (1 << 20) + (1 << 20) - 1 + (1 << 40),
    )
    assert math.prod(f.domain) == f.size
