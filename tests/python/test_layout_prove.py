"""`prove` against the definition of its four facts: every point evaluated, here, one by one.

The exhaustive sweep over GF(2) matrices and most random maps are in tests/cpp/test_layout_prove.cc.
"""

import doctest
import itertools
import os
import random
from collections import Counter
from pathlib import Path

import pytest

from tirx.errors import LayoutError
from tirx.layout import (
    BitLinear,
    FiniteTable,
    Identity,
    MixedRadix,
    Permute,
    Piecewise,
    Project,
    Transform,
    Translate,
    analyze_finite,
    index_map,
    product,
    prove,
    register_transform,
)

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "20260302"))
FACTS = ("total", "bounds", "injective", "surjective")
PROVEN = dict.fromkeys(FACTS, "PROVEN")


def values(f):
    """{point: value} of the points that have one, and the points that have none."""
    table, none = {}, []
    for point in itertools.product(*map(range, f.domain)):
        try:
            table[point] = f(*point)
        except LayoutError as e:
            assert e.code == "no-value"
            none.append(point)
    return table, none


def truth(f):
    table, none = values(f)
    inside = {y for y in table.values() if _inside(y, f.codomain)}
    return {
        "total": not none,
        "bounds": all(_inside(y, f.codomain) for y in table.values()),
        "injective": len(set(table.values())) == len(table),
        "surjective": len(inside) == _size(f.codomain),
    }


def _inside(y, box):
    return all(0 <= v < n for v, n in zip(y, box))


def _size(box):
    n = 1
    for e in box:
        n *= e
    return n


def check(f, budget=0):
    """Proves f; whatever is not unknown is true, and every witness is one. Returns the proof."""
    p, expected = prove(f, budget=budget), truth(f)
    for name in FACTS:
        fact = getattr(p, name)
        if fact.status != "UNKNOWN":
            assert (fact.status == "PROVEN") == expected[name], (f, name, fact)
            assert fact.argument
    check_witnesses(f, p)
    return p


def check_witnesses(f, p):
    table, none = values(f)
    if p.total.witness is not None:
        assert p.total.witness in none
    if p.bounds.witness is not None:
        assert not _inside(table[p.bounds.witness], f.codomain)
    if p.injective.witness is not None:
        a, b = p.injective.witness
        assert a != b and table[a] == table[b]
    if p.surjective.witness is not None:
        assert _inside(p.surjective.witness, f.codomain)
        assert p.surjective.witness not in table.values()


# ---- what the arguments reach ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "shape, stride, offset, codomain",
    [
        ((5, 7), (7, 1), 0, 35),  # dense, ragged extents
        ((5, 7), (1, 5), 0, 35),  # transposed
        ((5, 7), (8, 1), 0, 40),  # padded rows
        ((5, 7), (-7, 1), 28, 35),  # rows reversed
        ((5, 7), (-9, -1), 42, 43),  # both reversed, padded
        (((2, 3), 4), ((12, 4), 1), 0, 24),  # nested
        (((4, 3), 5), ((16, -5), 64), 10, 320),  # nested, padded, reversed
        ((3, (2, 2)), (4, (2, 1)), 0, 12),
        ((6,), (0,), 0, 1),  # broadcast
        ((4, 6), (6, 4), 0, 40),  # 2*6 = 3*4
        ((2, 2, 3), (5, 3, 1), 0, 11),  # 5 = 3 + 2
    ],
)
def test_strided_maps_are_decided_without_enumeration(shape, stride, offset, codomain):
    p = check(MixedRadix(shape, stride, offset=offset, codomain=codomain))
    assert all(getattr(p, name).status != "UNKNOWN" for name in FACTS), p


def test_the_argument_is_named():
    p = prove(MixedRadix((5, 7), (8, 1), codomain=40), budget=0)
    assert repr(p) == (
        "total      PROVEN (every subexpression has a proven range)\n"
        "bounds     PROVEN (exact ranges of the outputs)\n"
        "injective  PROVEN (mixed-radix digits recovered by dominance)\n"
        "surjective DISPROVEN (outside the range of an output): (39,)"
    )
    assert p.injective and not p.surjective and not p.bijective


def test_ragged_boxes_over_two_elements():
    """x ^ 1 leaves [0, 5) at 4 and nowhere else; on [0, 6) it does not."""
    p = check(index_map(5, lambda x: x ^ 1, 5))
    assert p.statuses() == {**PROVEN, "bounds": "DISPROVEN", "surjective": "DISPROVEN"}
    assert p.bounds.witness == (4,) and p.surjective.witness == (4,)
    assert prove(index_map(6, lambda x: x ^ 1, 6), budget=0).bijective


def test_kernel_vector_outside_a_ragged_box_still_collides():
    """The kernel of x ^ (x >> 2 << 1 & 2) .. : delta = 6 is outside [0, 5), 4 ^ 2 is not."""
    f = BitLinear(5, 8, [[1, 2, 2]])
    p = check(f)
    assert p.injective.witness == ((4,), (2,))


@pytest.mark.slow
@pytest.mark.parametrize("domain", [(8,), (2, 4), (2, 2, 2), (5,), (6,), (7,), (2, 3), (3, 2)])
def test_all_matrices_and_offsets_against_the_oracle(domain):
    """512 matrices of 3x3 bits, 8 offsets; every fact that is not unknown is the oracle's."""
    bits = [(n - 1).bit_length() for n in domain]
    counts = dict.fromkeys(("PROVEN", "DISPROVEN", "UNKNOWN"), 0)
    for columns in itertools.product(range(8), repeat=3):
        flat = iter(columns)
        basis = [[next(flat) for _ in range(b)] for b in bits]
        for offset in range(8):
            f = BitLinear(domain, 8, basis, [offset])
            found, oracle = prove(f, budget=0).statuses(), analyze_finite(f).statuses()
            for name in FACTS:
                counts[found[name]] += 1
                assert found[name] in ("UNKNOWN", oracle[name]), (domain, columns, offset, name)
            assert found["injective"] != "UNKNOWN" and found["bounds"] == "PROVEN"
    print(domain, counts)
    assert domain not in [(8,), (2, 4), (2, 2, 2)] or counts["UNKNOWN"] == 0


def test_random_matrices():
    rng = random.Random(SEED)
    print(f"TIRX_FUZZ_SEED={SEED}")
    for _ in range(300):
        domain = tuple(rng.randint(1, 9) for _ in range(rng.randint(1, 2)))
        codomain = tuple(rng.randint(8, 16) for _ in range(rng.randint(1, 2)))
        basis = [
            [tuple(rng.randrange(8) for _ in codomain) for _ in range((n - 1).bit_length())] for n in domain
        ]
        f = BitLinear(domain, codomain, basis, [rng.randrange(8) for _ in codomain])
        p = check(f)
        assert "UNKNOWN" not in (p.total.status, p.bounds.status, p.injective.status)


def test_sixty_five_bits():
    """One axis of 2**33 and one of 2**32, shifted through each other; 2**65 points."""
    domain = (1 << 33, 1 << 32)
    unit = [[(1 << b, 0) for b in range(33)], [(0, 1 << b) for b in range(32)]]
    unit[1][31] = (1 << 32, 1 << 31)
    f = BitLinear(domain, domain, unit, (5, 9))
    p = prove(f)
    assert p.bijective and p.injective.argument == "full column rank over GF(2)"
    assert analyze_finite(f).statuses() == dict.fromkeys(FACTS, "UNKNOWN")
    unit[0][32] = (1 << 32, 1 << 31)  # now equal to the column of the other axis
    f = BitLinear(domain, domain, unit, (5, 9))
    p = prove(f)
    a, b = p.injective.witness
    assert a != b and f(*a) == f(*b)
    assert p.surjective.status == "DISPROVEN"


def test_a_nonlinear_map_that_agrees_on_basis_vectors_is_not_taken_for_linear():
    """x*x & 7 has the values 0, 1, 4 of a linear map at 0, 1, 2; at 3 it is 1."""
    f = index_map(4, lambda x: (x * x) & 7, 8)
    p = check(f)
    assert p.bounds and p.injective.status == "UNKNOWN"
    assert prove(f).injective.witness == ((1,), (3,))


def test_overflow_and_division_are_not_cancelled():
    big = (1 << 63) - 1
    p = check(index_map(4, lambda x: (x + (big - 2)) - (big - 2), 4))
    assert p.total.status == "DISPROVEN" and p.total.witness == (3,) and p.total.argument == "overflow"
    assert not p.injective
    p = check(index_map(4, lambda x: x + (6 // (x - 2)) * 0, 4))
    assert p.total.witness == (2,) and p.total.argument == "division by zero"
    p = check(index_map((4, 4), lambda x, y: ((x % (y + 1)) & 0) + x, 4))
    assert p.total  # y + 1 is never 0
    p = check(index_map(4, lambda x: ((x << (x + 61)) & 0) + x, 4))
    assert p.total.witness == (3,) and "shift amount" in p.total.argument


def test_a_shift_may_drop_bits_and_a_product_may_not():
    assert prove(index_map(4, lambda x: ((x << 63) >> 63) & 1, 2), budget=0).surjective
    p = check(index_map(4, lambda x: ((x * (1 << 62)) >> 62) & 3, 4))
    assert p.total.status == "DISPROVEN" and p.total.witness in [(2,), (3,)]


def test_unknown_stays_unknown():
    f = index_map((8, 6), lambda x, y: x * (y + 1) + y, 64)
    p = check(f)
    assert p.total and p.bounds and p.injective.status == "UNKNOWN" and p.injective.witness is None
    assert prove(f, budget=47).injective.status == "UNKNOWN"
    assert prove(f, budget=48).injective.status == "DISPROVEN"
    large = index_map(1 << 21, lambda x: x * x, 1 << 43)
    assert prove(large, budget=1 << 40).injective.status == "UNKNOWN"


# ---- structure -------------------------------------------------------------------------------------


def test_products_are_proved_by_parts():
    table = FiniteTable(4, 4, [2, 0, 3, 1])
    f = product(Identity(1 << 40), table, MixedRadix((3, 4), (4, 1), codomain=12))
    assert prove(f).bijective
    assert prove(f, budget=0).surjective.status == "UNKNOWN"  # a table is only known point by point
    twice = product(Identity(1 << 40), FiniteTable(4, 4, [2, 0, 3, 2]))
    p = prove(twice)
    assert p.injective.witness == ((0, 0), (0, 3)) and p.surjective.witness == (0, 1)


def test_permutations_and_projections():
    assert prove(Permute((3, 5, 7), (2, 0, 1)), budget=0).bijective
    p = check(Project((3, 5), (1,)))
    assert p.surjective and p.injective.witness == ((1, 0), (0, 0))


def _mirror(name):
    register_transform(
        name,
        lambda params, x: (params[0] - 1 - x[0],),
        lambda params, y: (params[0] - 1 - y[0],),
        lambda params, domain, codomain: "x -> n-1-x" if domain == codomain == params else "",
    )
    return name


def test_a_registered_bijection_needs_no_formula():
    name = _mirror("test_prove_mirror")
    f = Transform(name, (1 << 40,), 1 << 40)
    p = prove(f, budget=0)
    assert p.bijective and p.injective.argument == "x -> n-1-x"
    g = f @ MixedRadix((1 << 20, 1 << 20), (1 << 20, 1), codomain=1 << 40)
    p = prove(g, budget=0)
    assert p.total and p.bounds and p.injective and p.surjective
    assert "x -> n-1-x" in p.injective.argument
    p = prove(f @ MixedRadix((8, 8), (8, 2), codomain=1 << 40), budget=0)
    a, b = p.injective.witness
    assert a != b and (f @ MixedRadix((8, 8), (8, 2), codomain=1 << 40))(*a) == f(8 * b[0] + 2 * b[1])


def test_swizzles_of_padded_rows():
    """9 rows of 64: not a power of two, yet the swizzle permutes blocks of 64."""
    f = Transform("xor_swizzle", (3, 3, 3), 576) @ MixedRadix((9, 64), (64, 1), codomain=576)
    assert check(f).bijective
    # rows of 72 land in a space whose size the swizzle does not divide
    rows = MixedRadix((8, 64), (72, 1), codomain=576)
    p = check(Transform("xor_swizzle", (3, 3, 3), 576) @ rows)
    assert p.injective and p.bounds and p.surjective.status == "DISPROVEN"


def test_pieces():
    even = MixedRadix((10,), (2,), codomain=19)
    odd = Translate(MixedRadix((10,), (2,)), -9, codomain=10)
    f = Piecewise(10, [([(0, 5)], even.with_codomain(10)), ([(5, 10)], odd)])
    p = check(f)
    assert p.bijective, p
    hole = Piecewise(10, [([(0, 5)], even.with_codomain(10)), ([(6, 10)], odd)])
    assert check(hole).total.witness == (5,)
    twice = Piecewise(10, [([(0, 6)], even.with_codomain(10)), ([(5, 10)], odd)])
    assert check(twice).total.witness == (5,)
    big = 1 << 40
    far = Piecewise(
        2 * big,
        [([(0, big)], Identity(2 * big)), ([(big, 2 * big)], Translate(Identity(2 * big), 3))],
    )
    p = prove(far, budget=0)
    assert p.total and p.injective and p.bounds and p.surjective.witness == (big,)
    p = prove(far.with_codomain(2 * big), budget=0)
    assert p.total and p.injective and far(*p.bounds.witness) >= (2 * big,)


def test_surjections_compose_only_where_the_boxes_meet():
    inner = Transform(_mirror("test_prove_meets"), (4,), 4)
    half = MixedRadix(((2, 3),), ((0, 1),), codomain=3)  # 0 0 1 1 2 2
    assert prove(half, budget=0).surjective
    assert check(half @ inner).surjective.status != "PROVEN"  # 1 1 0 0
    assert check(half @ Transform("test_prove_meets", (6,), 6)).surjective


def test_a_gap_of_one_is_a_gap():
    p = check(MixedRadix((2, 3), (3, 1), codomain=6))
    assert p.surjective
    p = check(MixedRadix((2, 2), (3, 1), codomain=5))  # 0 1 3 4
    assert p.surjective.status == "DISPROVEN"
    p = check(MixedRadix((2, 2, 2), (4, 1, 1), codomain=7))  # 0 1 2 4 5 6
    assert p.surjective.status != "PROVEN"


def test_negative_values_are_not_shifted():
    """x ^ -8 is -8 + x below 8: a bit form with the sign bit; // 4 is -2, -1, not a logical shift."""
    p = check(index_map(8, lambda x: (x ^ -8) // 4 + 2, 2))
    assert p.total and p.bounds.status != "DISPROVEN"
    p = check(index_map(16, lambda x: ((x ^ -8) // 2) & 7, 8))
    assert p.total and p.bounds


def test_cuts_that_do_not_divide_each_other():
    """x % 4 and x // 6 are digits each, but not of one mixed radix."""
    for f in (
        index_map(24, lambda x: (x % 4) * 4 + x // 6, 16),
        index_map(24, lambda x: (x % 6) * 4 + x // 8, 24),
        index_map((12, 2), lambda x, y: (x % 4) + 4 * (x // 6) + 8 * y, 16),
        index_map(12, lambda x: [x % 4, x // 6], (4, 2)),
        index_map(24, lambda x: 0 * (x // 4) + x % 6 + 5 * (x // 6), 24),
    ):
        assert check(f).total


@pytest.mark.parametrize("n", range(1, 20))
def test_ragged_digits(n):
    check(index_map(n, lambda x: (x % 4) * 2 + x // 4, 12))
    check(index_map(n, lambda x: 20 - (x % 3) * 5 - x // 3, 21))
    assert check(index_map(n, lambda x: (x % 4) * 5 + x // 4, 20)).injective


def test_a_residue_recovers_a_digit():
    """6x + 10y + 15z: modulo 5 it is x, modulo 3 y, modulo 2 z, and no stride dominates."""
    p = check(index_map((5, 3, 2), lambda x, y, z: 6 * x + 10 * y + 15 * z, 60))
    assert p.injective.argument == "mixed-radix digits recovered by dominance and residues"
    assert p.surjective.status == "DISPROVEN"
    p = check(index_map((6, 3, 3), lambda x, y, z: 6 * x + 10 * y + 15 * z, 81))
    assert p.injective.status == "DISPROVEN"


@pytest.mark.slow
def test_large_domains_against_isl():
    """Where both decide a fact about up to 40 million points, they agree."""
    pytest.importorskip("islpy", reason="the extra tirx[isl] is not installed")
    from tirx.layout.isl import exact_proof

    rng = random.Random(SEED + 3)
    print(f"TIRX_FUZZ_SEED={SEED}")
    compared = 0
    for _ in range(60):
        f = large_map(rng)
        p, q = prove(f, budget=0), exact_proof(f, limit=15_000)
        for name in FACTS:
            ours, theirs = getattr(p, name).status, getattr(q, name).status
            compared += "UNKNOWN" not in (ours, theirs)
            assert "UNKNOWN" in (ours, theirs) or ours == theirs, (f, f.text(), name, p, q)
    print(f"{compared} facts compared")
    assert compared > 120


def large_map(rng):
    """Digits of coordinates with strides that may overlap, pad, reverse or repeat."""
    n = rng.choice([12, 60, 97, 1000, 4096, 99991, 1 << 20])
    domain = (n,) if rng.random() < 0.5 else (n, rng.randint(2, 40))
    cut, rank = rng.choice([2, 3, 4, 6, 8, 16]), rng.randint(1, 2)
    strides = [0, 1, -1, 2, 3, cut, cut + 1, cut * n // 4, n, -n, 5]

    def split(v):
        parts = (
            [v],
            [v // cut, v % cut],
            [v // cut // 2, v // cut % 2, v % cut],
            [v // (cut * 3), v % (cut * 3)],
        )
        return rng.choice(parts)

    def fn(*coords):
        terms = [t for v in coords for t in split(v)]
        return [rng.randint(0, 30) + sum(t * rng.choice(strides) for t in terms) for _ in range(rank)]

    return index_map(domain, fn, tuple(rng.choice([n, 2 * n, 40 * n, 40 * n * n]) for _ in range(rank)))


def test_one_dependency_of_three_strides():
    """(x + y, y + z): (1, 0, 1) and (0, 1, 0) differ by the only dependency, which just fits."""
    p = check(index_map((2, 2, 2), lambda x, y, z: [x + y, y + z], (3, 3)))
    assert p.injective.witness == ((1, 0, 1), (0, 1, 0))
    p = check(index_map((3, 2, 3), lambda x, y, z: [x + 2 * y, 2 * y + z * 3], (5, 9)))
    assert p.injective.status == "PROVEN"


def test_pieces_that_share_one_value():
    f = Piecewise(
        8,
        [([(0, 4)], Identity(8)), ([(4, 8)], Translate(Identity(8), -1, codomain=8))],
    )
    p = check(f)
    assert p.total and p.injective.status != "PROVEN" and prove(f).injective.witness == ((3,), (4,))


# ---- random maps -----------------------------------------------------------------------------------


def random_map(rng):
    domain = tuple(rng.randint(1, 7) for _ in range(rng.randint(1, 2)))
    constants = [1, 2, 3, 4, 5, 7, 8, 15, 16, -1, -2, (1 << 62) + 1]

    def grow(*coords):
        pool = list(coords)
        for _ in range(rng.randint(1, 7)):
            a = rng.choice(pool)
            b = rng.choice(pool) if rng.random() < 0.4 else rng.choice(constants)
            pool.append(rng.choice(OPERATIONS)(a, b))
        return pool[-1] + 0 * pool[-2]

    return index_map(domain, grow, rng.choice([4, 8, 16, 30, 64]))


OPERATIONS = [
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a // b,
    lambda a, b: a % b,
    lambda a, b: a ^ b,
    lambda a, b: a & b,
    lambda a, b: a << b,
    lambda a, b: a >> b,
    lambda a, b: a < b,
]


def test_random_expressions():
    rng = random.Random(SEED)
    print(f"TIRX_FUZZ_SEED={SEED}")
    decided = unknown = 0
    for i in range(800):
        f = random_map(rng)
        p = check(f, budget=0 if i % 3 else 1 << 10)
        found = list(p.statuses().values())
        decided += sum(s != "UNKNOWN" for s in found)
        unknown += found.count("UNKNOWN")
        assert i % 3 or "UNKNOWN" not in found
    print(f"{decided} facts decided, {unknown} unknown")
    assert decided > unknown


def random_digit_sums(rng):
    """Outputs that are sums of strides times digits: digits that overlap (x % 2 with x % 5) or leave some of their
    coordinate out (x % 2 with x // 4). The first output alone reads all coordinates; the others read some, with
    strides that are often independent without one being larger than what the others reach."""
    domain = tuple(rng.randint(2, 6) for _ in range(rng.randint(2, 3)))

    def digit(x):
        a, b = rng.randint(2, 5), rng.randint(2, 4)
        return rng.choice([lambda: x // a, lambda: x % a, lambda: x % a // b, lambda: x % (a * b) // a])()

    def output(coords):
        parts = [p for x in coords for p in ([x] if rng.random() < 0.8 else [digit(x), digit(x)])]
        return sum((p * rng.choice([1, 1, 2, 3, -1, -2]) for p in parts), rng.choice([0, 0, 3]))

    outputs = rng.randint(1, 2)
    overlap = lambda x: digit(x) + digit(x) * rng.choice([1, 1, 2])  # noqa: E731
    fn = lambda x, *rest: (overlap(x) + output(rest), *(output(rest) for _ in range(outputs)))  # noqa: E731
    return index_map(domain, fn, (rng.choice([8, 20]),) * (1 + outputs))


def test_digits_that_overlap_or_leave_some_out():
    rng = random.Random(SEED + 3)
    print(f"TIRX_FUZZ_SEED={SEED}")
    found = [check(random_digit_sums(rng)).injective.status for _ in range(1500)]
    assert min(found.count("PROVEN"), found.count("DISPROVEN")) > 50, Counter(found)


@pytest.mark.parametrize(
    "domain, fn",
    [
        ((6, 5), lambda x, y: (x % 2 + x % 5 - y, y * 3 - y // 2 * 4)),
        ((5, 4), lambda x, y: (x + x % 2 * 2, x - y // 2 - y % 3)),
        ((5, 5), lambda x, y: (y // 2 * -4 + y * 3, x - x % 4 // 3 + y)),
        ((5, 2, 2), lambda x, y, z: (x * x % 5 + y, y + z, y - z + 1)),
        ((5, 3, 4), lambda x, y, z: (x % 2 + x % 3 + y, y + z, y - z + 3)),
    ],
)
def test_digits_that_only_outputs_without_affine_form_read(domain, fn):
    """The strides of one output keep its digits apart; the other coordinate is not among them."""
    f = index_map(domain, fn, (8,) * len(fn(*domain)))
    assert not prove(f, budget=0).injective
    assert check(f, budget=1 << 10).injective.status == "DISPROVEN"


def random_leaf(rng, domain):
    """A map on a given box: strided, linear over GF(2), an expression or a table."""
    kind = rng.randrange(5)
    if kind == 0:
        return Translate(MixedRadix(domain, [rng.randint(0, 9) for _ in domain]), rng.randint(0, 3))
    if kind == 1:
        basis = [[rng.randrange(16) for _ in range((n - 1).bit_length())] for n in domain]
        return BitLinear(domain, rng.choice([16, 13]), basis, [rng.randrange(8)])
    if kind == 2 and _size(domain) % 4 == 0:
        flat = MixedRadix(domain, _row_major(domain), codomain=_size(domain))
        return Transform("xor_swizzle", (0, 1, 1), _size(domain)) @ flat
    if kind == 3:
        flat = [rng.randrange(_size(domain) + 2) for _ in range(_size(domain))]
        return FiniteTable(domain, _size(domain) + 1, flat)
    return index_map(domain, lambda *x: sum(x) % 5 + (x[0] ^ 3) * 5, rng.choice([20, 60]))


def _row_major(domain):
    return [_size(domain[i + 1 :]) for i in range(len(domain))]


def random_structure(rng):
    domain = tuple(rng.randint(1, 6) for _ in range(rng.randint(1, 2)))
    f = random_leaf(rng, domain)
    kind = rng.randrange(4)
    if kind == 0:
        return f
    if kind == 1:
        return random_leaf(rng, (f.codomain[0] + rng.randint(0, 1),)) @ f
    if kind == 2:
        return product(f, random_leaf(rng, (rng.randint(1, 6),)))
    g, cut, gap = random_leaf(rng, domain), rng.randint(0, domain[0]), rng.choice([0, 0, 1])
    rest = [(0, n) for n in domain[1:]]
    where = [[(0, cut), *rest], [(cut + gap, domain[0]), *rest]]
    wide = (max(f.codomain[0], g.codomain[0]),)
    return Piecewise(domain, [(where[0], f.with_codomain(wide)), (where[1], g.with_codomain(wide))])


def test_random_structures():
    rng = random.Random(SEED + 2)
    print(f"TIRX_FUZZ_SEED={SEED}")
    for i in range(400):
        p = check(random_structure(rng), budget=0 if i % 3 else 1 << 12)
        assert i % 3 or "UNKNOWN" not in p.statuses().values()


def test_oracle_is_the_definition():
    rng = random.Random(SEED + 1)
    for _ in range(200):
        f = random_map(rng)
        p, expected = analyze_finite(f), truth(f)
        assert {n: getattr(p, n).status == "PROVEN" for n in FACTS} == expected
        check_witnesses(f, p)
    assert analyze_finite(Identity(100), budget=99).total.status == "UNKNOWN"


# ---- mistakes --------------------------------------------------------------------------------------


def test_mistakes():
    with pytest.raises(LayoutError) as e:
        prove(Identity(4), budget=-1)
    assert e.value.code == "bad-argument" and "-1" in str(e.value)


def test_examples_of_the_page():
    page = Path(__file__).parents[2] / "docs" / "layout-proofs.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 and tried > 10
