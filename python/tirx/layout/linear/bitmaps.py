"""Between linear layouts and layout maps (tirx.layout.maps).

Axes of a map are the dimensions of the layout in their order, with their names; evaluation and proofs about
the map are those of the C++ side.
"""

from __future__ import annotations

import itertools
from math import prod

from .layout import LinearLayout, linear_of, log2, refuse

BUDGET = 1 << 20


def to_map(layout):
    """The BitLinear map of a layout."""
    from .. import maps

    layout = linear_of(layout)
    return maps.BitLinear(layout.in_dims, layout.out_dims, list(layout.bases.values()))


def from_map(f, in_dims=None, out_dims=None) -> LinearLayout:
    """The layout of a map that is linear over GF(2): a BitLinear map without translation by its basis, any other
    by its values (up to 2**20 points, all of which are checked). Names default to those of the boxes, or x0, x1,
    ... and y0, y1, ... Codomain extents are rounded up to powers of two."""
    from ..maps import LayoutMap

    if not isinstance(f, LayoutMap):
        refuse("this is no layout map", "not-a-map", type(f).__name__, "a LayoutMap")
    ins = _names(in_dims, f.domain_names, "x")
    outs = _names(out_dims, f.codomain_names, "y")
    for extent in f.domain:
        log2(extent, "an axis of the domain")
    sizes = {n: 1 << (e - 1).bit_length() for n, e in zip(outs, f.codomain)}
    if prod(f.domain) > BUDGET:
        return _by_basis(f, ins, sizes)
    values = f.table()
    rows = [1] + list(itertools.accumulate(reversed(f.domain), lambda a, b: a * b))[:-1]
    at = dict(zip(ins, reversed(rows)))
    bases = {n: [values[at[n] << b] for b in range(e.bit_length() - 1)] for n, e in zip(ins, f.domain)}
    layout = LinearLayout(_inside(bases, sizes), sizes)
    if _table(layout) != values:
        refuse("the map is not linear over GF(2)", "not-linear", f, "f(x ^ y) = f(x) ^ f(y)")
    return layout


def _names(given, own, letter):
    return list(given or [n or f"{letter}{i}" for i, n in enumerate(own)])


def _inside(bases, sizes):
    if any(v >= s or v < 0 for bs in bases.values() for b in bs for v, s in zip(b, sizes.values())):
        refuse("a value of the map is outside its codomain", "out-of-range", bases, f"{sizes}")
    return bases


def _table(layout):
    """Values row-major, the last input dimension fastest."""
    flat = [0]
    for n in reversed(layout.in_dims):
        for c in layout._columns(n):
            flat += [v ^ c for v in flat]
    return [layout._unpack(v) for v in flat]


def _by_basis(f, ins, sizes):
    from ..maps import BitLinearMap

    f = f if isinstance(f, BitLinearMap) else f.normalize()
    if not isinstance(f, BitLinearMap) or any(f.translation):
        refuse("the map is not known to be linear over GF(2)", "not-linear", f,
               "a BitLinear map without translation, or at most 2**20 points")  # fmt: skip
    rows = [[tuple(image) for image in axis] for axis in f.basis]
    return LinearLayout(dict(zip(ins, rows)), sizes)
