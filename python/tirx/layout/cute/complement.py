"""What a layout leaves out or undoes: complement, inverses, nullspace; and the same bits in other units."""

from __future__ import annotations

import math

from ... import ir as _ir
from .layout import CuteLayout, from_leaves, make_layout, merged, need_nonnegative, need_static, nest
from .symbolic import Judge, settle
from .tuples import refuse


def complement(layout, codomain=None, *, round_up=False, analyzer=None, guards=None) -> CuteLayout:
    """The layout L* with strictly rising values such that (x, y) -> L(x) + L*(y) is a bijection onto
    [0, codomain), the unit and stride-0 modes of L left out. Without `codomain` the smallest one.

    With the modes sorted by stride each M_i * d_i must divide d_(i+1), and the last one `codomain`, or LayoutError.
    `round_up` replaces the last condition: L* then covers [0, n) with n the next multiple, past `codomain`.
    `codomain` may be an expression; `analyzer` and `guards` then are composition's.
    """
    need_static(layout, "complement")
    need_nonnegative(layout, "complement")
    out, done = [], 1
    for extent, stride in sorted(((e, d) for e, d in layout.leaves() if e > 1 and d), key=lambda x: x[1]):
        if stride % done:
            refuse("the modes overlap or leave holes that no layout fills", "no-complement",
                   f"stride {stride} after {done} values in {layout}",
                   f"a multiple of {done}: M_i * d_i | d_(i+1)")  # fmt: skip
        if stride > done:
            out.append((stride // done, done))
        done = extent * stride
    if codomain is not None and type(codomain) is not int:
        copies = _symbolic_copies(layout, done, codomain, round_up, analyzer, guards)
        return from_leaves([*merged(out), (copies, done)])
    out += _rest(layout, done, codomain, round_up)
    return from_leaves(merged(out))


def _symbolic_copies(layout, done, codomain, round_up, analyzer, guards):
    """codomain / done, under the condition that it is whole; with `round_up` the next integer."""
    if not isinstance(codomain, _ir.PrimExpr):
        refuse(
            "a codomain is a number of places",
            "bad-codomain",
            repr(codomain),
            "an int or an integer expression",
        )
    if round_up:
        codomain = codomain + (done - 1)
    with Judge(analyzer, positive=[codomain]) as judge:
        if not round_up:
            judge.assume(
                codomain % done == 0, "the layout does not fill its codomain in whole copies", layout
            )
        settle(judge.guards, guards, f"the complement of {layout} in {codomain}")
        return judge.simple(codomain // done)


def _rest(layout, done, codomain, round_up):
    """The slowest mode of a complement: copies of the first `done` values up to `codomain`."""
    if codomain is None:
        return []
    if type(codomain) is not int or codomain < 1:
        refuse("a codomain is a number of places", "bad-codomain", repr(codomain), "an int of at least 1")
    if codomain % done and not round_up:
        refuse("the layout does not fill its codomain in whole copies", "no-complement",
               f"{done} values in {codomain} for {layout}", f"a multiple of {done}: M * d | codomain",
               "round_up=True covers more than the codomain")  # fmt: skip
    return [(-(-codomain // done), done)]


class Ragged:
    """A divide that covers more than its layout: `layout` has the tiles, `index` (of the same shape) the positions
    in the divided layout, of which those below `limit` exist. `valid(*coord)` is the predicate."""

    __slots__ = ("layout", "index", "limit")

    def __init__(self, layout, index, limit):
        self.layout, self.index, self.limit = layout, index, limit

    def size(self):
        """Number of elements, the ones that do not exist included."""
        return self.index.size()

    def valid(self, *coord):
        """Whether the element exists."""
        return self.index(*coord) < self.limit

    def __call__(self, *coord):
        if self.valid(*coord) is False:  # an expression is the caller's to guard
            refuse("the element does not exist", "out-of-range", f"position {self.index(*coord)} at {coord}",
                   f"a position below {self.limit}", "ask valid(*coord) first")  # fmt: skip
        return self.layout(*coord)

    def __repr__(self):
        return f"Ragged({self.layout!r}, valid: {self.index} < {self.limit})"


def _indexed(layout, operation):
    """(extent, stride, stride of the linear index) of every leaf that is not a unit."""
    need_static(layout, operation)
    need_nonnegative(layout, operation)
    out, step = [], 1
    for extent, stride in layout.leaves():
        if extent > 1:
            out.append((extent, stride, step))
        step *= extent
    return out


def right_inverse(layout) -> CuteLayout:
    """R with L(R(i)) = i for every i of R: the modes of L that continue each other from stride 1 on. Stride-0
    modes take no part; of several modes with one stride the longest does."""
    out, done = [], 1
    for extent, stride, step in sorted(_indexed(layout, "right_inverse"), key=lambda m: (m[1], -m[0])):
        if stride > done:
            break
        if stride == done:
            out.append((extent, step))
            done *= extent
    return from_leaves(merged(out))


def left_inverse(layout) -> CuteLayout:
    """R with R(L(x)) = x for every x of L, over the codomain that L and its complement fill. LayoutError when L
    is not injective or has no complement."""
    for extent, stride, _ in _indexed(layout, "left_inverse"):
        if stride == 0:
            refuse("a layout that repeats values has no left inverse", "not-injective", f"{extent}:0 in {layout}",
                   "no stride 0")  # fmt: skip
    return right_inverse(make_layout(layout, complement(layout)))


def nullspace(layout) -> CuteLayout:
    """N with L(N(i)) = 0 for every i of N, and N hits every such index once: the replicas of an element."""
    return from_leaves(merged([(e, step) for e, d, step in _indexed(layout, "nullspace") if d == 0]))


def recast(layout, from_bits, to_bits) -> CuteLayout:
    """The same bits as elements of `to_bits` instead of `from_bits`; each may be any positive number (4, 6).

    The mode with stride 1 counts the elements that lie together: its extent becomes extent * from / to, the other
    strides become stride * from / to. LayoutError where a quotient is no integer or no single mode has stride 1.
    """
    need_static(layout, "recast")
    need_nonnegative(layout, "recast")
    if type(from_bits) is not int or type(to_bits) is not int or min(from_bits, to_bits) < 1:
        refuse(
            "element widths are positive", "bad-width", f"{from_bits} to {to_bits} bits", "ints of at least 1"
        )
    if from_bits == to_bits:
        return layout
    line = _contiguous(layout)
    leaves = layout.leaves()
    scaled = [(_scaled(e, from_bits, to_bits, "extent", layout), 1) if i == line else
              (e, _scaled(d, from_bits, to_bits, "stride", layout)) for i, (e, d) in enumerate(leaves)]  # fmt: skip
    return nest([[leaf] for leaf in scaled], layout.shape)


def _contiguous(layout):
    """Position of the one leaf with stride 1."""
    found = [(e > 1, i) for i, (e, d) in enumerate(layout.leaves()) if d == 1]
    long = [i for moves, i in found if moves]
    if not found or len(long) > 1:
        refuse("recast needs one mode of elements that lie together", "no-contiguous-mode", layout,
               "exactly one mode with stride 1")  # fmt: skip
    return long[0] if long else found[0][1]


def _scaled(value, from_bits, to_bits, what, layout):
    if value * from_bits % to_bits:
        need = to_bits // math.gcd(from_bits, to_bits)
        refuse(f"{from_bits}-bit elements do not make whole {to_bits}-bit elements", "not-divisible",
               f"{what} {value} in {layout}", f"a multiple of {need}")  # fmt: skip
    return value * from_bits // to_bits
