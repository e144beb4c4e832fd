"""Maps that no single layout is: swizzles, and layouts behind layouts."""

from __future__ import annotations

from . import tuples
from .layout import CuteLayout, _check_inside, as_layout, flat_from_values, from_leaves
from .tuples import refuse


class Swizzle:
    """x ^ ((x & Y) >> shift) with Y = `bits` ones from bit base + shift: CuTe's Swizzle<bits, base, shift>.
    A negative shift moves the bits left, from `base` to base - shift. A bijection of the non-negative integers and
    its own inverse. LayoutError unless bits, base >= 0 and |shift| >= bits.
    """

    __slots__ = ("bits", "base", "shift")

    def __init__(self, bits, base, shift):
        if bits < 0 or base < 0 or abs(shift) < bits:
            refuse("this is no swizzle", "bad-swizzle", f"Swizzle({bits}, {base}, {shift})",
                   "bits >= 0, base >= 0 and |shift| >= bits")  # fmt: skip
        self.bits, self.base, self.shift = bits, base, shift

    def __call__(self, x):
        mask = ((1 << self.bits) - 1) << (self.base + max(self.shift, 0))
        moved = x & mask
        return x ^ (moved >> self.shift if self.shift >= 0 else moved << -self.shift)

    at = __call__

    def period(self) -> int:
        """The swizzle of x + period is that of x, plus period."""
        return 1 << (self.bits + self.base + abs(self.shift))

    def __eq__(self, other):
        return isinstance(other, Swizzle) and (self.bits, self.base, self.shift) == (
            other.bits,
            other.base,
            other.shift,
        )

    def __hash__(self):
        return hash((self.bits, self.base, self.shift))

    def __repr__(self):
        return f"Swizzle({self.bits}, {self.base}, {self.shift})"


class ComposedLayout:
    """outer(offset + inner(x)); `outer` is a Swizzle or a layout, `inner` a layout, whose shape this map has.

    Every composition is one of these, whether or not a flat layout exists; the offset is added before the
    outer map, so slices are exact.
    """

    __slots__ = ("outer", "offset", "inner")

    def __init__(self, outer, offset, inner):
        self.outer, self.offset, self.inner = outer, offset, inner

    @property
    def shape(self):
        """The nested shape of the domain."""
        return self.inner.shape

    def size(self):
        """Number of elements of the domain."""
        return self.inner.size()

    def __len__(self):
        return len(self.inner)

    def __call__(self, *coord):
        return self.outer.at(self.offset + self.inner(*coord))

    def at(self, x):
        """The value at a linear index; the last mode of the innermost layout is unbounded."""
        return self.outer.at(self.offset + self.inner.at(x))

    def values(self) -> list:
        """All values in the order of the linear index."""
        return [self.outer.at(self.offset + v) for v in self.inner.values()]

    def slice(self, *coord):
        """(map of the modes marked None, 0): the fixed coordinates move into the offset, before the outer map."""
        inner, by = self.inner.slice(*coord)
        return ComposedLayout(self.outer, self.offset + by, inner), 0

    def flatten(self, budget=4096):
        """(layout, offset) with offset + layout(x) equal to this map, in one flat coalesced layout. LayoutError
        when none exists or the size is past `budget`."""
        if self.size() > budget:
            refuse(
                "the map is too large to compare", "undecided", f"{self.size()} values", f"at most {budget}"
            )
        values = self.values()
        leaves = flat_from_values([v - values[0] for v in values])
        if leaves is None:
            refuse("no layout is this map", "not-flat", repr(self), "values of a layout plus a constant")
        return from_leaves(leaves), values[0]

    def to_tile(self):
        """See convert.to_tile."""
        from .convert import to_tile

        return to_tile(self)

    def to_map(self):
        """See mapping.to_map."""
        from .mapping import to_map

        return to_map(self)

    def __eq__(self, other):
        mine, theirs = (
            ((x.outer, x.offset, x.inner) for x in (self, other))
            if isinstance(other, ComposedLayout)
            else (0, 1)
        )
        return mine == theirs

    def __hash__(self):
        return hash((self.outer, self.offset, self.inner))

    def __repr__(self):
        return f"ComposedLayout({self.outer!r}, {self.offset}, {self.inner!r})"


class ByMode:
    """The sum of one map per top-level mode: a by-mode composition of which some mode has no flat layout."""

    __slots__ = ("parts",)

    def __init__(self, parts):
        self.parts = list(parts)

    @property
    def shape(self):
        """The nested shape of the domain."""
        return tuple(p.shape for p in self.parts)

    def size(self):
        """Number of elements of the domain."""
        return tuples.product(self.shape)

    def __len__(self):
        return len(self.parts)

    def modes(self):
        """The maps."""
        return list(self.parts)

    def __call__(self, *coord):
        coord = coord[0] if len(coord) == 1 else coord
        _check_inside(coord, self.shape)
        return (
            sum(p(c) for p, c in zip(self.parts, coord))
            if isinstance(coord, (tuple, list))
            else self.at(coord)
        )

    def at(self, x):
        """The value at a linear index."""
        total = 0
        for part in self.parts[:-1]:
            total += part.at(x % part.size())
            x //= part.size()
        return total + self.parts[-1].at(x)

    def slice(self, *coord):
        """(map of the modes marked None, offset of the fixed ones)."""
        coord = coord[0] if len(coord) == 1 else coord
        kept, offset = [], 0
        for part, c in zip(self.parts, coord):
            if tuples.is_scalar(c):
                offset += part(c)
                continue
            piece, by = (part, 0) if c is None else part.slice(c)
            kept, offset = [*kept, piece], offset + by
        if not kept:
            return from_leaves([]), offset
        return (kept[0] if len(kept) == 1 else ByMode(kept)), offset

    def values(self) -> list:
        """All values in the order of the linear index."""
        out = [0]
        for part in self.parts:
            out = [base + v for v in part.values() for base in out]
        return out

    def to_map(self):
        """See mapping.to_map."""
        from .mapping import to_map

        return to_map(self)

    def __repr__(self):
        return f"ByMode({self.parts})"


def compose_composed(a, b, **options):
    """Composition where a side is a Swizzle, a ComposedLayout or a ByMode."""
    from .composition import composition

    b = as_layout(b) if tuples.is_scalar(b) else b
    for x in (a, b):
        if not isinstance(x, (CuteLayout, ComposedLayout, Swizzle, ByMode)):
            refuse("this is no layout", "not-a-layout", repr(x), "a CuteLayout, Swizzle or ComposedLayout")
    if isinstance(b, CuteLayout) and isinstance(a, ComposedLayout):
        return ComposedLayout(a.outer, a.offset, composition(a.inner, b, **options))
    if isinstance(a, Swizzle) or options["opaque"]:
        return ComposedLayout(a, 0, b)
    refuse("the right side is no flat layout", "not-composable", f"{a!r} o {b!r}", "a CuteLayout on the right",
           "opaque=True gives the composed map")  # fmt: skip
