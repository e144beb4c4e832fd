"""Helpers for the tests of layout maps: points, values, and random maps."""

import itertools
import os

from layout_cases import refused

from tirx.layout import maps as M

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "5"))


def points(extents):
    return list(itertools.product(*map(range, extents)))


def call(f, x):
    """The value, or None where there is none."""
    got = []
    return got[0] if refused(lambda: got.append(f(*x))) is None else None


def graph(f):
    """{point: value} of the points that have one, by calls."""
    return {x: y for x in points(f.domain) if (y := call(f, x)) is not None}


def random_radix(rng):
    """A mixed-radix map with two axes and one or two outputs."""
    outputs = rng.randint(1, 2)
    shape, stride = [], []
    for _ in range(rng.randint(1, 2)):
        digits = [rng.randint(1, 4) for _ in range(rng.randint(1, 2))]
        shape.append(tuple(digits))
        stride.append(tuple(tuple(rng.choice([0, 1, 2, 3, 4, 6, 8, 12, -1, -4]) for _ in range(outputs))
                            for _ in digits))  # fmt: skip
    low = [0] * outputs
    for digits, vectors in zip(shape, stride):
        for e, v in zip(digits, vectors):
            low = [a + min(0, s) * (e - 1) for a, s in zip(low, v)]
    return M.MixedRadix(tuple(shape), tuple(stride), tuple(-a + rng.randint(0, 2) for a in low))


def random_bits(rng, ragged=True):
    """A bit-linear map with up to two axes and outputs."""
    domain = [rng.randint(1, 9) if ragged else 1 << rng.randint(0, 3) for _ in range(rng.randint(1, 2))]
    outputs = rng.randint(1, 2)
    column = lambda: tuple(rng.randrange(8) for _ in range(outputs))  # noqa: E731
    basis = [[column() for _ in range((n - 1).bit_length())] for n in domain]
    return M.BitLinear(tuple(domain), (8,) * outputs, basis, column())


def random_table(rng):
    n, m = rng.randint(1, 6), rng.randint(1, 8)
    return M.FiniteTable(n, m, [rng.randrange(m) for _ in range(n)])


def random_map(rng):
    """A map of any form with a small domain."""
    kind = rng.randrange(6)
    if kind == 0:
        return random_bits(rng)
    if kind == 1:
        return random_table(rng)
    if kind == 2:
        return M.product(random_table(rng), random_radix(rng))
    if kind == 3:
        f = random_radix(rng)
        return M.index_map(f.codomain, lambda *y: tuple((v * 3 + 1) % 7 for v in y)) @ f
    if kind == 4:
        f = random_radix(rng)
        size = -(-f.codomain[0] // 8) * 8
        return M.Transform("xor_swizzle", (1, 1, 2), size) @ M.Project(f.codomain, 0).with_codomain(size) @ f
    return random_radix(rng)


def random_edge_map(rng):
    """Sums, shifts and XORs whose values come near both ends of int64 or wrap there, and so lie outside every
    codomain at some points."""
    domain = tuple(rng.choice([1, 2, 3, 4, 5, 8, 16, 32]) for _ in range(rng.randint(1, 2)))
    low, high = -(1 << 63), (1 << 63) - 1

    def term(x):
        k = rng.choice([0, 1, 3, 58, 60, 61, 62, 63])
        if rng.random() < 0.6:
            return x << k
        return x % rng.choice([2, 3, 4]) * rng.choice([1, -1]) * (1 << min(k, 61))

    def output(coords):
        v = rng.choice([0, 0, 1, low, low + 3, low // 2, high, high // 2])
        for x in rng.sample(coords * 2, rng.randint(1, 2 * len(coords))):
            t = term(x)
            v = rng.choice([lambda: v + t, lambda: v ^ t, lambda: t - v, lambda: v - t])()
        return v

    outputs = rng.randint(1, 2)
    codomain = rng.choice([41, (1 << 62) + 1, high])
    return M.index_map(domain, lambda *x: tuple(output(x) for _ in range(outputs)), (codomain,) * outputs)
