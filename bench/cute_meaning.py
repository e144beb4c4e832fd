"""What CuTe operations mean on values, and their cases; the companion of layout_meaning, for every interpreter.

A layout is a pair (shape, stride) of nested tuples; an answer is the list of its values in index order.
"""

import functools
import itertools
import math

from layout_meaning import Op


def leaves(layout):
    shape, stride = layout
    if isinstance(shape, tuple):
        return [leaf for pair in zip(shape, stride) for leaf in leaves(pair)]
    return [(shape, stride)]


def size(layout):
    return math.prod(e for e, _ in leaves(layout))


def value(layout, x):
    """Digits of x, leftmost fastest, times strides; the last digit is unbounded."""
    pairs, total = leaves(layout), 0
    for extent, stride in pairs[:-1]:
        total, x = total + x % extent * stride, x // extent
    return total + x * pairs[-1][1]


@functools.cache
def values(layout):
    return [value(layout, x) for x in range(size(layout))]


def composed(a, b):
    return [value(a, y) for y in values(b)]


# --- families -----------------------------------------------------------------------------------------------


def small(extents, strides, rank):
    for shape in itertools.product(extents, repeat=rank):
        for stride in itertools.product(strides, repeat=rank):
            yield (shape, stride) if rank > 1 else (shape[0], stride[0])


def lefts():
    return [*small((2, 3, 4), (0, 1, 2, 3, 4), 2)]


def rights():
    return [*small((2, 3, 4), (1, 2, 3, 4, 6), 1), *small((2, 3), (1, 2, 3, 4, 6), 2)]


def singles():
    return [*small((1, 2, 3, 4), (0, 1, 2, 3, 4, 6, 8), 2), *small((2, 3), (0, 1, 2, 4, 6, 12), 3)]


def scalar_sweep():
    """The 7,768 compositions of rank-3 layouts with extents 2..5 and every step n:r, n <= 12, inside them."""
    for shape in itertools.product(range(2, 6), repeat=3):
        for n in range(2, 13):
            for r in range(1, (math.prod(shape) - 1) // (n - 1) + 1):
                yield (shape, (1, 7, 53)), (n, r)


# --- checks -------------------------------------------------------------------------------------------------


def _composition(args, got):
    return got == composed(*args)


def _complement(args, got):
    layout, codomain = args
    return sorted(v + w for v in set(values(layout)) for w in got) == list(range(codomain)) and got == sorted(
        got
    )


def _divide(args, got):
    """A permutation of A's elements whose first mode is A o B."""
    a, b = args
    return sorted(got) == sorted(values(a)) and got[: size(b)] == composed(a, b)


def _product(args, got):
    """Copy j of A stands where the B(j)-th of the copies that fill the integers without a gap does."""
    a, b = args
    starts = _filling(set(values(a)), max(values(b)) + 1)
    return starts is not None and got == [v + starts[w] for w in values(b) for v in values(a)]


def _filling(block, count):
    """The starts of the first `count` copies of a set that cover 0, 1, 2, ... once; None when copies collide."""
    covered, starts, low = set(), [], 0
    while len(starts) < count:
        while low in covered:
            low += 1
        copy = {low + v for v in block}
        if copy & covered:
            return None
        covered |= copy
        starts.append(low)
    return starts


def _zipped(args, got):
    """The tiles of both modes first, then the rests, each mode divided alone."""
    (shape, stride), (t0, t1) = args
    r0, r1 = shape[0] // t0, shape[1] // t1
    truth = [(i + t0 * k) * stride[0] + (j + t1 * l) * stride[1]
             for l in range(r1) for k in range(r0) for j in range(t1) for i in range(t0)]  # fmt: skip
    return shape[0] % t0 == shape[1] % t1 == 0 and got == truth


def _right_inverse(args, got):
    return got[0] == 0 and [value(args[0], y) for y in got] == list(range(len(got)))


def _left_inverse(args, got):
    return all(v < len(got) and got[v] == x for x, v in enumerate(values(args[0])))


def _nullspace(args, got):
    """Each index that moves along stride-0 modes only, once."""
    pairs, kernel = leaves(args[0]), [0]
    step = 1
    for extent, stride in pairs:
        if stride == 0:
            kernel = [k + i * step for i in range(extent) for k in kernel]
        step *= extent
    return got == kernel


def _recast(args, got):
    """The same bits along the mode of stride 1, which is the first here."""
    layout, old, new = args
    bits = [
        [v * width + j for v in vals for j in range(width)]
        for vals, width in ((values(layout), old), (got, new))
    ]
    return bits[0] == bits[1]


def _swizzle(x, bits, base, shift):
    return x ^ ((x & (((1 << bits) - 1) << (base + shift))) >> shift)


def _swizzled_slice(args, got):
    (shape, stride), swizzle, j = args
    return got == [_swizzle(i * stride[0] + j * stride[1], *swizzle) for i in range(shape[0])]


WIDTHS = ((32, 8), (8, 32), (6, 4), (4, 6), (8, 6))
SWIZZLES = ((3, 4, 3), (2, 0, 2), (1, 1, 3))

CUTE_OPS = [
    Op("cute call", lambda: [(a,) for a in singles()], lambda args, got: got == values(args[0])),
    Op("cute coalesce", lambda: [(a,) for a in singles()], lambda args, got: got == values(args[0])),
    Op("cute composition, n:r", scalar_sweep, _composition),
    Op("cute composition", lambda: itertools.product(lefts(), rights()), _composition),
    Op("cute complement", lambda: [(a, n) for a in singles() for n in (24, 36)], _complement),
    Op("cute logical_divide", lambda: itertools.product(lefts(), rights()), _divide),
    Op("cute zipped_divide", lambda: [(a, t) for a in small((4, 6), (1, 4, 9), 2)
                                      for t in itertools.product((1, 2, 3, 4), repeat=2)], _zipped),
    Op("cute logical_product", lambda: itertools.product(lefts(), rights()), _product),
    Op("cute right_inverse", lambda: [(a,) for a in singles()], _right_inverse),
    Op("cute left_inverse", lambda: [(a,) for a in singles()], _left_inverse),
    Op("cute nullspace", lambda: [(a,) for a in singles()], _nullspace),
    Op("cute recast", lambda: [((e, (1, d)), *w) for e in itertools.product((2, 3, 4, 8), repeat=2)
                               for d in (0, 4, 8, 12) for w in WIDTHS], _recast),
    Op("cute swizzled slice", lambda: [(a, z, j) for a in small((4, 10), (1, 2, 8, 24), 2) for z in SWIZZLES
                                       for j in range(a[0][1])], _swizzled_slice),
]  # fmt: skip
