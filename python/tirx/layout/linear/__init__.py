"""Linear layouts over GF(2): Triton's layouts, and what is near to them but not linear (docs/linear-layouts.md)."""

from .bitmaps import from_map, to_map
from .layout import LinearLayout
from .matrix import MatrixAccess, check_matrix_access, matrix_access, matrix_tile
from .modular import ModularLayout
from .padded import PaddedLayout, PaddedSlice, partitioned
from .solve import (
    conversion,
    divide_left,
    divide_right,
    free_variable_masks,
    identity_prefix,
    image_contains,
    image_is_subset,
    integer_strides,
    is_trivial_over,
    num_consecutive,
    quotient,
)
from .tiles import distribution_of, placement_of, tile_of_distribution, tile_of_placement

__all__ = [
    "LinearLayout",
    "MatrixAccess",
    "ModularLayout",
    "PaddedLayout",
    "PaddedSlice",
    "check_matrix_access",
    "conversion",
    "distribution_of",
    "divide_left",
    "divide_right",
    "free_variable_masks",
    "from_map",
    "identity_prefix",
    "image_contains",
    "image_is_subset",
    "integer_strides",
    "is_trivial_over",
    "matrix_access",
    "matrix_tile",
    "num_consecutive",
    "partitioned",
    "placement_of",
    "quotient",
    "tile_of_distribution",
    "tile_of_placement",
    "to_map",
]
