"""Products: a layout repeated as another one says."""

from __future__ import annotations

from .complement import complement
from .composition import BUDGET, composition
from .layout import CuteLayout, as_layout, coalesce, make_layout
from .tuples import refuse


def logical_product(a, b, *, budget=BUDGET) -> CuteLayout:
    """(A, copies): mode 1 places copy j of A at complement(A) o B of j, injective when A and B are.

    `b` is a CuteLayout, an integer n (n copies in order), or a tuple of these and None, by mode.
    Refuses where A has no complement or the composition is no layout.
    """
    if isinstance(b, (tuple, list)):
        if len(b) > len(a):
            refuse("there are more factors than modes", "bad-tiler", f"{len(b)} for {a}", f"at most {len(a)}")
        parts = [m if t is None else logical_product(m, t, budget=budget) for m, t in zip(a.modes(), b)]
        return make_layout(*parts, *a.modes()[len(b) :])
    b = as_layout(b)
    places = complement(a, a.size() * b.cosize(), round_up=True)
    return make_layout(a, composition(places, b, budget=budget))


def blocked_product(a, b, *, budget=BUDGET) -> CuteLayout:
    """Mode i is (mode i of A, mode i of the copies): blocks of A side by side."""
    tile, copies = _padded(a, b, budget)
    return _zipped(tile, copies)


def raked_product(a, b, *, budget=BUDGET) -> CuteLayout:
    """Mode i is (mode i of the copies, mode i of A): the elements of the copies interleave."""
    tile, copies = _padded(a, b, budget)
    return _zipped(copies, tile)


def _padded(a, b, budget):
    """The two modes of the logical product, both with as many modes as the longer of A and B."""
    a, b = as_layout(a), as_layout(b)
    rank = max(len(a), len(b))
    a, b = (make_layout(*x.modes(), *[CuteLayout(1, 0)] * (rank - len(x))) for x in (a, b))
    both = logical_product(a, b, budget=budget)
    return both[0], both[1]


def _zipped(fast, slow):
    return make_layout(*(coalesce(make_layout(f, s)) for f, s in zip(fast.modes(), slow.modes())))
