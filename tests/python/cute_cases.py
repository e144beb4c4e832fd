"""Definitions of the CuTe algebra on values, for the tests: written from the text, never from the package."""

import itertools
import math

from tirx.errors import LayoutError
from tirx.layout.cute import CuteLayout


def P(text):
    """A layout from its notation."""
    return CuteLayout.parse(text)


def leaves(layout):
    """(extent, stride) left to right, by recursion over the two tuples."""

    def walk(shape, stride):
        if isinstance(shape, tuple):
            return [leaf for s, d in zip(shape, stride) for leaf in walk(s, d)]
        return [(shape, stride)]

    return walk(layout.shape, layout.stride)


def extent_of(layout):
    return math.prod(e for e, _ in leaves(layout))


def value(layout, x):
    """The value at x, digits leftmost fastest, the last one unbounded."""
    pairs, total = leaves(layout), 0
    for i, (extent, stride) in enumerate(pairs):
        digit = x if i == len(pairs) - 1 else x % extent
        total, x = total + digit * stride, x // extent
    return total


def values(layout):
    return [value(layout, x) for x in range(extent_of(layout))]


def composed(a, b):
    """A(B(x)) for every x of B."""
    return [value(a, y) for y in values(b)]


def is_layout(vals):
    """Whether some flat layout has these values; exhaustive over the first extent."""
    if len(vals) == 1:
        return vals[0] == 0
    for e in (d for d in range(2, len(vals) + 1) if len(vals) % d == 0):
        fits = all(vals[y] == vals[y - y % e] + (y % e) * vals[1] for y in range(len(vals)))
        if fits and is_layout(vals[::e]):
            return True
    return False


def is_layout_of(a, b):
    """Whether a layout of B's nesting (leaves may split) is A o B: every leaf alone is one, and they add up."""
    steps, parts = 1, []
    for extent, stride in leaves(b):
        line = [value(a, i * stride) for i in range(extent)]
        if not is_layout(line):
            return False
        parts.append((extent, steps, line))
        steps *= extent
    truth = composed(a, b)
    return all(truth[x] == sum(line[x // step % e] for e, step, line in parts) for x in range(steps))


def rule_holds(layout, codomain):
    """Sorted by stride, M_i * d_i | d_(i+1) and the last one | codomain."""
    done = 1
    for e, d in sorted(((e, d) for e, d in leaves(layout) if e > 1 and d), key=lambda m: m[1]):
        if d % done or d < done:
            return False
        done = e * d
    return codomain % done == 0


def refused(fn, *args, **options):
    """The LayoutError that the call raises, or None."""
    try:
        fn(*args, **options)
    except LayoutError as e:
        return e
    return None


def small(extents, strides, rank):
    """All flat layouts of this rank."""
    for shape in itertools.product(extents, repeat=rank):
        for stride in itertools.product(strides, repeat=rank):
            yield CuteLayout(shape, stride) if rank > 1 else CuteLayout(shape[0], stride[0])
