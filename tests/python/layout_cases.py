"""Small layouts for the layout tests: exhaustive families, random ones, and the definitions to test against.

Expected values come from `placements` (the definition) and from the few lines below, never from an operation.
"""

import itertools
import math

from hypothesis import strategies as st

from tirx.errors import LayoutError
from tirx.layout import R, S, TileLayout, laneid, placements, warpid

STRIDES = (0, 0 @ laneid, 1, 2, 3, 6, -1, 1 @ laneid, 2 @ laneid)
REPLICAS = ((), ((2, 1),), ((2, -2),), ((2, 1), (2, 2)), ((3, 2), (2, 3)), ((2, 4 @ warpid),))
OFFSETS = ((), (5,), (3 @ warpid, 1))


def build(shard, replica=(), offset=()):
    """A TileLayout from (extent, stride) pairs and offset terms."""
    spec = S[tuple(e for e, _ in shard) : tuple(s for _, s in shard)]
    if replica:
        spec = spec + R[tuple(e for e, _ in replica) : tuple(s for _, s in replica)]
    for term in offset:
        spec = spec + term
    return TileLayout(spec)


def small_shards(max_iters=2, extents=(1, 2, 3), strides=STRIDES):
    """Every list of up to max_iters iters."""
    iters = list(itertools.product(extents, strides))
    for n in range(1, max_iters + 1):
        yield from itertools.product(iters, repeat=n)


def small_layouts():
    """Every small shard; the one-iter ones with every replica list and offset."""
    for shard in small_shards(2):
        yield build(shard)
    for shard in small_shards(1, extents=(1, 3)):
        for replica in REPLICAS:
            for offset in OFFSETS:
                yield build(shard, replica, offset)


STRIDE = st.one_of(st.integers(-8, 24), st.integers(0, 8).map(lambda s: s @ laneid), st.integers(0, 4).map(
    lambda s: s @ warpid))  # fmt: skip
ITER = st.tuples(st.integers(1, 5), STRIDE)
REPLICA = st.tuples(st.integers(1, 3), STRIDE)


@st.composite
def layouts(draw, max_iters=4, replicas=2, max_size=300):
    """A random layout of at most max_size elements."""
    shard = draw(st.lists(ITER, min_size=1, max_size=max_iters))
    while math.prod(e for e, _ in shard) > max_size:
        shard.pop()
    replica = draw(st.lists(REPLICA, max_size=replicas))
    offset = draw(st.lists(STRIDE, max_size=2))
    return build(shard, replica, offset)


@st.composite
def factorisations(draw, n, max_dims=3):
    """A shape with product n."""
    dims = []
    while len(dims) < max_dims - 1:
        d = draw(st.sampled_from([d for d in range(1, n + 1) if n % d == 0]))
        dims.append(d)
        n //= d
    return [*dims, n]


def coords(shape):
    """All coordinates, row-major."""
    return itertools.product(*[range(e) for e in shape])


def linear(coord, shape):
    x = 0
    for c, e in zip(coord, shape):
        x = x * e + c
    return x


def shards_of(layout):
    return [int(i.extent) for i in layout.shard]


def moved(place, **delta):
    """A place with `delta` added per axis."""
    at = dict(place)
    for axis, by in delta.items():
        at[axis] = at.get(axis, 0) + by
    return frozenset((a, v) for a, v in at.items() if v)


def scaled_sum(a, b, span):
    """{span * p + q}: places of a tile's element from its outer's and inner's places."""
    out = set()
    for p in a:
        for q in b:
            at = dict(q)
            for axis, v in p:
                at[axis] = at.get(axis, 0) + v * span(axis)
            out.add(frozenset((x, v) for x, v in at.items() if v))
    return frozenset(out)


def shard_map(layout):
    """D as a list of dicts, by the definition: the places without replicas and offset."""
    bare = TileLayout.from_iters(list(layout.shard))
    return [dict(next(iter(places))) for places in placements(bare)]


def is_mixed_radix(values):
    """Whether a list of places (dicts) is D of some list of iters, up to a constant; by exhaustive search."""
    base = values[0]
    axes = sorted({a for v in values for a in v})
    rows = [tuple(v.get(a, 0) - base.get(a, 0) for a in axes) for v in values]
    return _mixed_radix(rows)


def _mixed_radix(rows):
    n = len(rows)
    if n == 1:
        return True
    if sum(x != 0 for x in rows[1]) > 1:
        return False
    for e in (d for d in range(2, n + 1) if n % d == 0):
        line = all(
            rows[y] == tuple(o + (y % e) * u for o, u in zip(rows[y - y % e], rows[1])) for y in range(n)
        )
        if line and _mixed_radix(rows[::e]):
            return True
    return False


def refused(fn):
    """The LayoutError that fn raises, or None."""
    try:
        fn()
    except LayoutError as e:
        return e
    return None
