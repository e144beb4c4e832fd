"""Layouts: where the elements of a tile are.

    TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid)

maps a logical index to a set of coordinates on named axes, L(x) = {D(x) + r + O | r in R}: the linear
index x is split over the shard extents, innermost first; digit times stride adds up on the iter's axis; the
offset is added; every combination of replica steps is one place. A stride without an axis is on `m`, the
linear memory of the buffer. The operations (include/tirx/layout/ops.h, docs/layouts.md) are exact or raise
LayoutError; `placements` is the definition that they are tested against.
"""

from __future__ import annotations

import importlib

from .definition import Equivalence, equivalent, placements
from .notation import Axis, R, S
from .parsing import parse
from .tile import ComposeLayout, Iter, Layout, TileLayout

# Loaded when first asked for, so that a kernel's import stays cheap: module -> what it gives.
_ROOMS = {
    "communicate": ("Communication", "communication"),
    "gspmd": ("from_gspmd", "from_partition_spec", "to_gspmd", "to_partition_spec"),
    "mesh": ("Mesh", "Partial", "Placement", "Replicate", "Shard", "StridedShard"),
    "banks": (
        "Access", "bank_conflicts", "bank_phases", "choose_swizzle", "fragment_accesses", "vector_width",
    ),
    "library": (
        "SwizzleMode", "mma_fragment_layout", "mma_shared_layout", "tcgen05_atom_layout",
        "tmem_datapath_layout", "tmem_scale_factor_layout", "wg_local_layout", "wgmma_accumulator_layout",
        "wgmma_operand_layout",
    ),
    "cute": ("CuteLayout",),
    "linear": ("LinearLayout",),
    "fragment": ("Fragment",),
    "views": ("LayoutView", "view"),
    "proof": ("LayoutProof", "analyze_finite", "prove"),
    "maps": (
        "BitLinear", "Compose", "FiniteTable", "Identity", "IndexBox", "LayoutMap", "MixedRadix", "Permute",
        "Piecewise", "Product", "Project", "Recast", "Transform", "Translate", "index_map", "product",
        "register_transform",
    ),
    "corr": ("LayoutCorr", "as_map", "corr_of", "to_layout"),
}  # fmt: skip
_LAZY = {name: module for module, names in _ROOMS.items() for name in names}


def __getattr__(name):
    if name in _LAZY:
        return getattr(importlib.import_module(f"{__name__}.{_LAZY[name]}"), name)
    if name in Axis._known:  # registered after this module was loaded
        return Axis._known[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


globals().update(Axis._known)
__all__ = [
    "Axis",
    "ComposeLayout",
    "Equivalence",
    "Iter",
    "Layout",
    "R",
    "S",
    "TileLayout",
    "equivalent",
    "parse",
    "placements",
]
__all__ += [*_LAZY, *Axis._known]
