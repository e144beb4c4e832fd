"""Families of small layouts for exhaustive tests, with their placements computed from the numbers they are
built from, by the definition: digits of the index times strides, plus every replica, plus the offset, swizzled.

A step is (extent, stride, axis). A place is a sorted tuple of (axis, value) without zeros, a table a tuple of sets
of places, one per linear index.
"""

import itertools

from tirx.layout import ComposeLayout, Iter, TileLayout, placements

M, LANE, WARP, PID = "m", "laneid", "warpid", "pid"
_ITERS = {}


def iter_of(step):
    """One Iter object per step."""
    if step not in _ITERS:
        _ITERS[step] = Iter(*step)
    return _ITERS[step]


def tile(shard, replica=(), offset=()):
    return TileLayout.from_iters(map(iter_of, shard), map(iter_of, replica), dict(offset))


def sums(steps):
    """All sums of steps as {axis: value}, digits in order."""
    out = [{}]
    for extent, stride, axis in steps:
        out = [{**p, axis: p.get(axis, 0) + k * stride} for p in out for k in range(extent)]
    return out


def place(at):
    return tuple(sorted((a, v) for a, v in at.items() if v))


def meaning(shard, replica=(), offset=(), address=None):
    """The table of a layout; `address` swizzles m."""
    shift, moves, table = dict(offset), sums(replica), []
    for digits in sums(shard):
        places = set()
        for r in moves:
            at = {a: digits.get(a, 0) + r.get(a, 0) + shift.get(a, 0) for a in {*digits, *r, *shift}}
            if address:
                at[M] = address(at.get(M, 0))
            places.add(place(at))
        table.append(frozenset(places))
    return tuple(table)


def address(m, b, s):
    """The swizzle on bits: bit m + i of an address is xored with bit m + s + i, for i < b."""

    def of(a):
        for i in range(b):
            a ^= ((a >> (m + s + i)) & 1) << (m + i)
        return a

    return of


def table_of(layout):
    """The package's own placements in the form of `meaning`."""
    return tuple(
        frozenset(tuple(sorted((str(a), v) for a, v in p)) for p in places) for places in placements(layout)
    )


def lists(steps, most):
    """All lists of up to `most` steps."""
    for n in range(most + 1):
        yield from itertools.product(steps, repeat=n)


def sets_of(steps, most):
    """All multisets of up to `most` steps."""
    for n in range(most + 1):
        yield from itertools.combinations_with_replacement(steps, n)


class Case:
    """A layout, the numbers it is built from, and its table."""

    __slots__ = ("shard", "replica", "offset", "swizzle", "layout", "_table")

    def __init__(self, shard, replica=(), offset=(), swizzle=None):
        self.shard, self.replica, self.offset, self.swizzle = shard, replica, offset, swizzle
        self.layout = tile(shard, replica, offset)
        if swizzle:
            self.layout = ComposeLayout(*swizzle, self.layout)
        self._table = None

    @property
    def table(self):
        if self._table is None:
            self._table = meaning(
                self.shard, self.replica, self.offset, self.swizzle and address(*self.swizzle)
            )
        return self._table

    @property
    def size(self):
        n = 1
        for extent, _, _ in self.shard:
            n *= extent
        return n

    def __repr__(self):
        return str(self.layout)


STEPS = [(e, s, a) for e in (2, 3) for s, a in ((0, M), (1, M), (2, M), (4, M), (-1, M), (1, LANE))]
CONSTANTS = [
    ((), ()),
    (((2, 1, M),), ()),
    (((2, 4, M), (3, 2, M)), ((M, 1),)),
    (((2, 1, WARP),), ((M, 4), (LANE, 1))),
]
SWIZZLES = [None, (0, 1, 1), (1, 1, 2)]


def family(most=2, steps=STEPS, constants=CONSTANTS, swizzles=SWIZZLES):
    """Every shard of 1 to `most` steps, with every replica list and offset, plain and swizzled."""
    for shard in lists(steps, most):
        for (replica, offset), swizzle in itertools.product(constants if shard else (), swizzles):
            yield Case(shard, replica, offset, swizzle)


def shapes_of(n, dims):
    """All shapes of at most `dims` dimensions with product n."""
    if dims == 1:
        return [(n,)]
    out = [(n,)]
    for d in range(1, n + 1):
        if n % d == 0:
            out += [(d, *rest) for rest in shapes_of(n // d, dims - 1)]
    return list(dict.fromkeys(out))


def boxes(shape):
    """All non-empty boxes."""
    ranges = [[(b, e) for b in range(n) for e in range(b + 1, n + 1)] for n in shape]
    return itertools.product(*ranges)
