"""CuTe layouts: nested shapes and strides, and the algebra on them, exact or refused.

`CuteLayout(shape, stride)` maps a linear index to an integer. The index is split over the extents with the
leftmost digit fastest (a TileLayout splits the other way round), and digit times stride adds up:

    (6, 2):(8, 2)   at 7 = (1, 1)   is 1*8 + 1*2 = 10

The last mode of a layout that is composed with is unbounded: `A(x)` goes on with the last stride where x is
past size(A). Every operation here has a definition on values, written beside it, and either returns a layout
with these values or raises LayoutError naming the condition that does not hold. Three places where the public
implementations round, wrap or drop elements instead are decided as follows.

* **composition** walks the modes of A. A step n:r that stays inside one mode, or leaves it through its end on
  whole digits, is exact. Where the walk cannot go on, the values are compared: a flat layout with these values
  is unique up to coalescing, hence found when one exists (up to `budget` values), and refused otherwise.
  `opaque=True` gives a ComposedLayout, which evaluates A(B(x)), in place of that refusal.
* **The last mode is the last mode as written**, also when its extent is 1: (4,3,1):(3,1,0) continues with
  stride 0, as in the C++ library; the Python reference drops such a mode first and continues with stride 1.
* **complement, and divide through it**, refuse where they would over-cover. `round_up=True` and `ragged=True` ask
  for the covering layout; a ragged divide comes with the predicate that says which elements exist.

Strides may be negative. Evaluation, coalescing, slicing and composition with such a layout on the left are
exact; what needs the image to start at 0 (the right side of a composition, complement, the inverses, nullspace, recast)
refuses. Extents and strides may be symbolic in evaluation, coalesce and composition, see `composition`.

Source of the definitions: the CuTe documentation of NVIDIA CUTLASS ("CuTe Layout Algebra") and J. Shah,
"A Note on the Algebra of CuTe Layouts". docs/cute.md has examples.
"""

from .complement import Ragged, complement, left_inverse, nullspace, recast, right_inverse
from .composed import ByMode, ComposedLayout, Swizzle
from .composition import composition
from .convert import from_tile
from .divide import flat_divide, logical_divide, tiled_divide, zipped_divide
from .layout import CuteLayout, coalesce, cosize, crd2idx, idx2crd, make_layout, same_map, size
from .mapping import from_map
from .product import blocked_product, logical_product, raked_product

__all__ = [
    "ByMode",
    "ComposedLayout",
    "CuteLayout",
    "Ragged",
    "Swizzle",
    "blocked_product",
    "coalesce",
    "complement",
    "composition",
    "cosize",
    "crd2idx",
    "flat_divide",
    "from_map",
    "from_tile",
    "idx2crd",
    "left_inverse",
    "logical_divide",
    "logical_product",
    "make_layout",
    "nullspace",
    "raked_product",
    "recast",
    "right_inverse",
    "same_map",
    "size",
    "tiled_divide",
    "zipped_divide",
]
