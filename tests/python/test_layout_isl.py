"""The exact back end: every answer against the exhaustive oracle, and what only it can decide."""

import random

import pytest
from map_cases import SEED, random_map

from tirx.layout import isl as exact
from tirx.layout import maps as M
from tirx.layout.proof import FACTS, analyze_finite, prove

pytest.importorskip("islpy", reason="the extra tirx[isl] is not installed")


@pytest.fixture
def rng():
    print(f"TIRX_FUZZ_SEED={SEED}")
    return random.Random(SEED)


def agree(f, must_decide=True, limit=300_000):
    """Number of facts decided; each equals the oracle's, and witnesses violate."""
    proof, want = exact.exact_proof(f, limit=limit), analyze_finite(f)
    decided = 0
    for name in FACTS:
        fact = getattr(proof, name)
        if fact.status == "UNKNOWN":
            continue
        decided += 1
        assert fact.status == getattr(want, name).status, (name, f, proof, want)
        if fact.status == "DISPROVEN":
            check_witness(f, name, fact.witness)
    assert decided == 4 or not must_decide, (f, proof)
    return decided


def value(f, x):
    try:
        return f(*x)
    except Exception as e:
        assert e.code == "no-value"


def check_witness(f, name, w):
    inside = lambda y: all(0 <= v < e for v, e in zip(y, f.codomain))  # noqa: E731
    if name == "total":
        assert value(f, w) is None
    if name == "bounds":
        assert not inside(f(*w))
    if name == "injective":
        assert w[0] != w[1] and f(*w[0]) == f(*w[1])
    if name == "surjective":
        assert inside(w) and w not in set(filter(None, (value(f, x) for x in _points(f))))


def _points(f):
    from map_cases import points

    return points(f.domain)


MAX, MIN = (1 << 63) - 1, -(1 << 63)
TRAPS = [
    lambda i, j: i // 0 + j,
    lambda i, j: (i + j) * (1 << 60),
    lambda i, j: ((i + MAX - 2) - (MAX - 2)) % 7,
    lambda i, j: (i - j + MIN + 3) - (MIN + 3) + 9,
    lambda i, j: ((i - 3) << 62) >> 60,
    lambda i, j: ((j - 2) >> 1) & 7,
    lambda i, j: ((i - 3) >> 0) + 3,
    lambda i, j: (i << 64) + j,
    lambda i, j: (i - 4) & (j - 3),
    lambda i, j: ((i - 4) ^ (j - 3)) + 8,
    lambda i, j: (i - 4) & -4,
    lambda i, j: (i ^ j) * 3 + (i < j),
    lambda i, j: (i == j) * 5 + (i >= 3),
    lambda i, j: i // -3 + 5 + j % -2,
    lambda i, j: (i * 7 + 5 * j) % 35,
    lambda i, j: (i & 5) | (j << 3),
    lambda i, j: (MIN // ((i < 0) - 1)) * 0,
]


@pytest.mark.parametrize("k", range(len(TRAPS)))
def test_every_operation_and_its_traps(k):
    decided = agree(M.index_map((6, 5), TRAPS[k], 40), must_decide=k != 16)
    assert decided == (0 if k == 16 else 4)


def test_grammar(rng):
    total = 0
    for _ in range(30):
        total += agree(random_map(rng), must_decide=False, limit=20_000)
    assert total > 60, total


def test_pieces_tables_and_compositions():
    gap = M.Piecewise(10, [([(0, 4)], M.MixedRadix((10,), (2,))), ([(5, 10)], M.MixedRadix((10,), (1,), 2))])
    agree(gap.with_codomain(12))
    table = M.FiniteTable((3, 4), (5, 2), [(i % 5, i * i % 2) for i in range(12)])
    agree(table)
    agree(M.Compose(M.MixedRadix((5, 2), (2, 1)), table))
    agree(M.Compose(M.Identity(8), M.index_map(5, lambda i: i * 2 + 1, 8)))
    agree(M.Compose(M.Project((8, 3), 0), M.index_map(5, lambda i: (i, i), (8, 3))))


def test_what_only_the_exact_back_end_decides():
    """A quasi-affine bijection that is neither mixed radix nor bit-linear, far beyond any enumeration."""
    n = 1 << 40
    f = M.index_map((n, 3), lambda i, j: i * 3 + (i + j) % 3, 3 * n)
    quick = prove(f, budget=0)
    assert "UNKNOWN" in quick.statuses().values()
    full = prove(f, budget=0, exact="isl")
    assert set(full.statuses().values()) == {"PROVEN"}
    assert exact.image_size(M.index_map((16, 16), lambda i, j: i * 3 + j * 2, 80)) == len(
        {i * 3 + j * 2 for i in range(16) for j in range(16)}
    )


def test_limits_and_what_is_not_quasi_affine_stay_unknown():
    square = M.index_map(10, lambda i: i * i, 100)
    assert set(exact.exact_proof(square).statuses().values()) == {"UNKNOWN"}
    xor = M.index_map((256, 256), lambda i, j: (i ^ j) % 77 + (i & j) // 3, 1000)
    assert "UNKNOWN" in exact.exact_proof(xor, limit=2000).statuses().values()
    assert exact.image_size(square) is None


def test_tables_without_a_pattern_stay_unknown(rng):
    """isl compares every pair of pieces, for each axis: hundreds of pieces would take minutes, and pieces times
    axes are limited for injectivity."""
    for domain in [(exact.PIECES * 3,), (10, 26), (16, 16)]:
        n = _size(domain)
        table = M.FiniteTable(domain, n, rng.sample(range(n), n))
        assert set(prove(table, budget=0, exact="isl").statuses().values()) == {"UNKNOWN", "PROVEN"}
        assert set(exact.exact_proof(table).statuses().values()) == {"UNKNOWN"}
    many_axes = M.FiniteTable((2,) * 6, 64, [x * x % 61 for x in range(64)])
    proof = exact.exact_proof(many_axes, limit=500_000)
    assert proof.total and proof.bounds and proof.injective.status == "UNKNOWN"
    ramp = [x // 100 * 300 + x % 100 * 2 for x in range(1000)]
    assert agree(M.FiniteTable(1000, 3000, ramp)) == 4


def test_an_instance_of_what_counting_disproved_has_a_limit_of_its_own():
    stride = ((2, 1 << 62), (1, 16), ((-1, 6), (6, 1), (4, 1 << 40)))
    f = M.MixedRadix((16, 1, (2, 4, 2)), stride, (-3, 1), (22, (1 << 62) + (1 << 40) + 11))
    fact = prove(f, budget=0, exact="isl").surjective  # 256 points; isl would search for many seconds
    assert fact.status == "DISPROVEN" and "256 points" in fact.argument


def _size(domain):
    n = 1
    for extent in domain:
        n *= extent
    return n


def test_unknown_back_ends_are_refused():
    with pytest.raises(Exception) as e:
        prove(M.Identity(4), exact="z3")
    assert e.value.code == "bad-argument"
