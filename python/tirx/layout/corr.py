"""Correspondences between boxes (faces of include/tirx/layout/corr.h), and layouts as maps."""

from __future__ import annotations

from tvm_ffi import Object, register_object

from .. import _ffi_api as _api
from .maps import LayoutMap, _ints, _wrong, as_layout_map
from .tile import Layout


@register_object("tx.LayoutCorr")
class LayoutCorr(Object):
    """left : F -> A and right : F -> B over one occurrence space F; relates left(f) to right(f) for every f
    where both have a value. A function is LayoutCorr(Identity(A), f); see `corr_of` for replicas."""

    def __init__(self, left, right):
        self.__init_handle_by_constructor__(_api.corr_make, as_layout_map(left), as_layout_map(right))

    def converse(self) -> LayoutCorr:
        """The legs swapped."""
        return LayoutCorr(self.right, self.left)

    def compose(self, inner: LayoutCorr) -> LayoutCorr:
        """self after `inner`: the join of the occurrence spaces on the shared coordinates. Also `@`."""
        return _api.corr_compose(self, _corr(inner))

    __matmul__ = compose

    def product(self, other: LayoutCorr) -> LayoutCorr:
        """The product of both legs."""
        return _api.corr_product(self, _corr(other))

    def pairs(self, budget=1 << 20) -> list:
        """[(a, b), ..] for every occurrence, row-major; at most `budget` occurrences."""
        flat, n = list(_api.corr_pairs(self, budget)), len(self.left.codomain)
        rank = n + len(self.right.codomain)
        rows = [tuple(flat[i : i + rank]) for i in range(0, len(flat), rank)]
        return [(row[:n], row[n:]) for row in rows]

    def places(self, *a) -> set:
        """All b related to a, through the fiber of the left leg."""
        return _related(self.left, self.right, a)

    def sources(self, *b) -> set:
        """All a related to b."""
        return _related(self.right, self.left, b)

    def to_layout(self):
        """The TileLayout or ComposeLayout of this placement; LayoutError "not-a-tile-layout"."""
        return _api.corr_to_tile(self)

    def __repr__(self):
        extents = lambda m: m.codomain if isinstance(m, LayoutMap) else m  # noqa: E731
        return f"<LayoutCorr {extents(self.left)} <- {self.left.domain} -> {extents(self.right)}>"


def _corr(c):
    return c if isinstance(c, LayoutCorr) else _wrong("this is no correspondence", c, "a LayoutCorr")


def _layout(l):
    return l if isinstance(l, Layout) else _wrong("this is no layout", l, "a TileLayout or ComposeLayout")


def _related(this, other, value):
    fiber = this.preimage(*value)
    if fiber is None:
        return set()
    found = _api.corr_pairs(LayoutCorr(fiber, other.compose(fiber)), 1 << 20)
    n, rank = len(fiber.codomain), len(fiber.codomain) + len(other.codomain)
    flat = list(found)
    return {tuple(flat[i + n : i + rank]) for i in range(0, len(flat), rank)}


def as_map(layout, shape=None) -> LayoutMap:
    """The map of a TileLayout or ComposeLayout without replicas, from the linear index (or coordinates of
    `shape`, row-major) to its named axes. LayoutError "replicated" or "symbolic"."""
    return _api.map_of(_layout(layout), [] if shape is None else _ints(shape))


def corr_of(layout, shape=None) -> LayoutCorr:
    """Logical x Replica -> named axes: left is the logical index, right the place; every copy is a point."""
    return _api.corr_of(_layout(layout), [] if shape is None else _ints(shape))


def to_layout(map: LayoutMap):
    """The TileLayout or ComposeLayout whose map this is, over the row-major linear index of the domain.
    Codomain names are axis names ("m" for a single unnamed axis). LayoutError "not-a-tile-layout"."""
    return _api.map_to_tile(as_layout_map(map))
