"""Linear layouts over GF(2): Triton's layouts, and what is near to them but not linear (docs/linear-layouts.md)."""

from .layout import LinearLayout
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

__all__ = [
    "LinearLayout",
    "conversion",
    "divide_left",
    "divide_right",
    "free_variable_masks",
    "identity_prefix",
    "image_contains",
    "image_is_subset",
    "integer_strides",
    "is_trivial_over",
    "num_consecutive",
    "quotient",
]
