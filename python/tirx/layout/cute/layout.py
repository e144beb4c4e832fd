"""CuteLayout: a shape and a stride of the same nesting, and what can be asked of one layout."""

from __future__ import annotations

import ast

from . import tuples
from .tuples import flatten, product, refuse


class CuteLayout:
    """shape:stride, two congruent nested tuples; without a stride the leftmost-fastest compact one.

    `L(x)` with a linear index 0 <= x < size, or `L(i, j, ...)` with one coordinate per mode, each an int or
    nested like the mode; the value is an int (an expression where symbols are involved). LayoutError for
    extents below 1, tuples that are not congruent and coordinates outside.
    """

    __slots__ = ("shape", "stride", "_leaves", "_static")

    def __init__(self, shape, stride=None):
        self._leaves = self._static = None
        self.shape = tuples.normal(shape, "shape")
        if any(type(e) is int and e < 1 for e in flatten(self.shape)):
            refuse(
                "a layout has no empty mode", "bad-extent", tuples.text(self.shape), "extents of at least 1"
            )
        self.stride = tuples.compact(self.shape) if stride is None else tuples.normal(stride, "stride")
        if not tuples.congruent(self.shape, self.stride):
            refuse("shape and stride differ in nesting", "not-congruent",
                   f"{tuples.text(self.shape)} and {tuples.text(self.stride)}", "one stride per extent")  # fmt: skip

    @staticmethod
    def parse(text) -> CuteLayout:
        """From `str(layout)`, for instance "((2,2),3):((24,2),8)" or "8"."""
        try:
            parts = [ast.literal_eval(part.strip()) for part in text.split(":")]
        except (ValueError, SyntaxError):
            parts = []
        if not 1 <= len(parts) <= 2:
            refuse(
                "this is no CuTe layout",
                "bad-notation",
                repr(text),
                "shape:stride, as in (4,(2,3)):(1,(4,8))",
            )
        return CuteLayout(*parts)

    def __len__(self):
        return len(self.shape) if isinstance(self.shape, tuple) else 1

    def __getitem__(self, i) -> CuteLayout:
        """Mode i as a layout."""
        if not -len(self) <= i < len(self):
            refuse("there is no such mode", "bad-mode", f"mode {i} of {self}", f"0 <= mode < {len(self)}")
        return _make(self.shape[i], self.stride[i]) if isinstance(self.shape, tuple) else self

    def modes(self) -> list:
        """The top-level modes as layouts."""
        return [self[i] for i in range(len(self))]

    def leaves(self) -> tuple:
        """(extent, stride) of every leaf, fastest first."""
        if self._leaves is None:
            self._leaves = tuple(zip(flatten(self.shape), flatten(self.stride)))
        return self._leaves

    def is_static(self) -> bool:
        """Whether all extents and strides are ints."""
        if self._static is None:
            self._static = all(type(v) is int for leaf in self.leaves() for v in leaf)
        return self._static

    def size(self):
        """Number of elements of the domain."""
        return product(self.shape)

    def cosize(self):
        """Smallest n with every value in [0, n)."""
        return cosize(self)

    def __call__(self, *coord):
        coord = coord[0] if len(coord) == 1 else coord
        if type(coord) is not int:
            coord = tuples.normal(coord, "coordinate")
        _check_inside(coord, self.shape)
        return self.at(coord) if type(coord) is int else crd2idx(coord, self.shape, self.stride)

    def at(self, x):
        """The value at a linear index that may be past the end: the last leaf is unbounded."""
        return value_at(self.leaves(), x)

    def values(self) -> list:
        """All values in the order of the linear index. Static layouts."""
        return _values(self.leaves())

    def slice(self, *coord):
        """(layout of the modes marked None, offset of the fixed ones): L(.., x, ..) = offset + layout(x).
        Coordinates nest like the shape; when nothing is None the layout is 1:0."""
        coord = coord[0] if len(coord) == 1 else coord
        kept, offset = _slice(coord, self.shape, self.stride)
        if not kept:
            return _make(1, 0), offset
        return (kept[0] if len(kept) == 1 else make_layout(*kept)), offset

    def to_tile(self):
        """See convert.to_tile."""
        from .convert import to_tile

        return to_tile(self)

    def to_map(self):
        """See mapping.to_map."""
        from .mapping import to_map

        return to_map(self)

    def __eq__(self, other):
        """Same spelling; `same_map` compares the functions."""
        return (
            isinstance(other, CuteLayout)
            and _same(self.shape, other.shape)
            and _same(self.stride, other.stride)
        )

    def __hash__(self):
        return hash((self.shape, self.stride))

    def __str__(self):
        return f"{tuples.text(self.shape)}:{tuples.text(self.stride)}"

    def __repr__(self):
        return f"CuteLayout({self})"


def _make(shape, stride) -> CuteLayout:
    """From parts known to be normal and congruent."""
    layout = object.__new__(CuteLayout)
    layout.shape, layout.stride, layout._leaves, layout._static = shape, stride, None, None
    return layout


def _same(a, b):
    a, b = (x if isinstance(x, tuple) else (x,) for x in (a, b))
    return len(a) == len(b) and all(
        _same(x, y) if isinstance(x, tuple) or isinstance(y, tuple) else bool(x == y) for x, y in zip(a, b)
    )


def make_layout(*layouts) -> CuteLayout:
    """The layout whose modes are these layouts."""
    return _make(tuple(x.shape for x in layouts), tuple(x.stride for x in layouts))


def as_layout(x) -> CuteLayout:
    """A CuteLayout; an integer n is n:1."""
    if isinstance(x, CuteLayout):
        return x
    if isinstance(x, tuple):
        return CuteLayout(x)
    return CuteLayout(x)


def from_leaves(leaves) -> CuteLayout:
    """A flat layout from (extent, stride) pairs; without any, 1:0."""
    if not leaves:
        return _make(1, 0)
    if len(leaves) == 1:
        return _make(*leaves[0])
    return _make(tuple(e for e, _ in leaves), tuple(d for _, d in leaves))


def nest(parts, profile):
    """Each leaf of `profile` replaced by its (extent, stride) pieces."""
    shapes = iter([tuple(e for e, _ in p) if len(p) > 1 else p[0][0] if p else 1 for p in parts])
    strides = iter([tuple(d for _, d in p) if len(p) > 1 else p[0][1] if p else 0 for p in parts])
    return _make(tuples.unflatten(shapes, profile), tuples.unflatten(strides, profile))


def size(x):
    """Number of elements of a layout, or product of a shape."""
    return x.size() if hasattr(x, "size") else product(tuples.normal(x, "shape"))


def cosize(layout):
    """Smallest n with every value in [0, n). LayoutError when a value is negative."""
    steps = [(e - 1) * d for e, d in layout.leaves()]
    need_nonnegative(layout, "cosize")
    return sum(steps[1:], start=steps[0]) + 1


def need_nonnegative(layout, operation):
    """Refuses layouts with a negative stride on a mode that moves."""
    for e, d in layout.leaves():
        if type(d) is int and d < 0 and not (type(e) is int and e == 1):
            refuse(
                f"{operation} needs values that start at 0",
                "negative-stride",
                layout,
                "strides of at least 0",
            )


def need_static(layout, operation):
    """Refuses symbolic extents and strides."""
    if not layout.is_static():
        refuse(f"{operation} needs constants", "symbolic", layout, "extents and strides that are ints")


# --- coordinates --------------------------------------------------------------------------------------------


def crd2idx(coord, shape, stride=None):
    """The value at `coord`, an int per mode or nested like the mode. Coordinates are not checked against extents:
    a linear coordinate past its mode goes on with the mode's last stride."""
    if stride is None:
        stride = tuples.compact(shape)
    if isinstance(coord, tuple):
        if not isinstance(shape, tuple) or len(coord) != len(shape):
            refuse("the coordinate does not fit the shape", "bad-coordinate", tuples.text(coord),
                   f"an int, or nesting like {tuples.text(shape)}")  # fmt: skip
        parts = [crd2idx(c, s, d) for c, s, d in zip(coord, shape, stride)]
        return sum(parts[1:], start=parts[0])
    return value_at(list(zip(flatten(shape), flatten(stride))), coord)


def value_at(leaves, x):
    """Digits of x over the extents, leftmost fastest, times strides; the last digit is not bounded."""
    total = 0
    for extent, stride in leaves[:-1]:
        total = total + x % extent * stride
        x = x // extent
    return total + x * leaves[-1][1]


def idx2crd(index, shape):
    """The coordinate of a linear index, nested like `shape`."""
    shape = tuples.normal(shape, "shape")
    _check_inside(index, shape)
    digits = []
    for extent in flatten(shape)[:-1]:
        digits.append(index % extent)
        index = index // extent
    return tuples.unflatten(iter([*digits, index]), shape)


def _check_inside(coord, shape):
    """Refuses constant coordinates outside; nesting is checked by crd2idx."""
    if isinstance(coord, tuple) and isinstance(shape, tuple) and len(coord) == len(shape):
        for c, s in zip(coord, shape):
            _check_inside(c, s)
    elif type(coord) is int:
        extent = product(shape)
        if coord < 0 or (type(extent) is int and coord >= extent):
            refuse("the coordinate is outside the layout", "out-of-range", f"{coord} in {tuples.text(shape)}",
                   f"0 <= coordinate < {extent}")  # fmt: skip


def _values(leaves):
    out = [0]
    for extent, stride in leaves:
        out = [base + i * stride for i in range(extent) for base in out]
    return out


def _slice(coord, shape, stride):
    """(kept layouts, offset)."""
    if coord is None:
        return [_make(shape, stride)], 0
    if not isinstance(coord, (tuple, list)):
        _check_inside(coord, shape)
        return [], crd2idx(coord, shape, stride)
    if not isinstance(shape, tuple) or len(coord) != len(shape):
        refuse("the coordinate does not fit the shape", "bad-coordinate", repr(coord),
               f"None, an int, or nesting like {tuples.text(shape)}")  # fmt: skip
    kept, offset = [], 0
    for c, s, d in zip(coord, shape, stride):
        more, by = _slice(c, s, d)
        kept, offset = kept + more, offset + by
    return kept, offset


# --- coalesce -----------------------------------------------------------------------------------------------


def coalesce(layout, profile=None) -> CuteLayout:
    """The same function of the linear index with the fewest modes; it is unique: two static layouts of one size
    are the same function exactly when they coalesce to the same layout.

    With a `profile` (nested tuple; its ints do not matter) each mode that meets a leaf of it is coalesced alone
    and the nesting above stays; modes past the profile's end are kept.
    """
    if profile is None or not isinstance(profile, tuple):
        return from_leaves(merged(layout.leaves()))
    if len(profile) > len(layout):
        refuse("the profile has more modes than the layout", "bad-profile", f"{tuples.text(profile)} for {layout}",
               f"at most {len(layout)} modes")  # fmt: skip
    modes = layout.modes()
    return make_layout(*(coalesce(m, p) for m, p in zip(modes, profile)), *modes[len(profile) :])


def merged(leaves) -> list:
    """Leaves without unit extents, neighbours merged where the second continues the first."""
    out = []
    for extent, stride in leaves:
        if type(extent) is int and extent == 1:
            continue
        if out and _continues(out[-1], stride):
            extent, stride = out[-1][0] * extent, out[-1][1]
            out.pop()
        out.append((extent, stride))
    return out


def merged_open(leaves) -> list:
    """The same for a layout whose last leaf is unbounded: it stays, with its stride, whatever its extent."""
    extent, stride = leaves[-1]
    out = merged(leaves[:-1])
    if out and _continues(out[-1], stride):
        before, stride = out.pop()
        extent = before * extent
    return [*out, (extent, stride)]


def _continues(before, stride):
    step = before[0] * before[1]
    if type(step) is int and type(stride) is int:
        return step == stride
    from .symbolic import proved_equal

    return proved_equal(step, stride)


def same_map(a, b) -> bool:
    """Whether two static layouts (or composed layouts) are the same function of the linear index."""
    if isinstance(a, CuteLayout) and isinstance(b, CuteLayout):
        need_static(a, "same_map")
        need_static(b, "same_map")
        return a.size() == b.size() and merged(a.leaves()) == merged(b.leaves())
    return size(a) == size(b) and a.values() == b.values()


def flat_from_values(values):
    """The coalesced leaves of the layout with these values, or None when there is none. values[0] is 0.

    A coalesced layout is determined by its values: the first extent ends where the first step breaks, or at the
    end, and the rest is the layout of every extent-th value.
    """
    leaves = []
    while len(values) > 1:
        step, extent = values[1], 2
        while extent < len(values) and values[extent] == extent * step:
            extent += 1
        if len(values) % extent:
            return None
        heads = values[::extent]
        if any(
            values[i * extent + j] != head + j * step
            for i, head in enumerate(heads)
            for j in range(1, extent)
        ):
            return None
        leaves.append((extent, step))
        values = heads
    return leaves
