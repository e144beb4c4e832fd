"""Tile primitives: the catalogue, the dispatch table, what rules are made of, and explain().

Rules are written with `register_dispatch`; docs/dispatch.md shows how.
"""

from ..errors import DispatchError, DispatchFail
from .builder import Builder
from .checks import check_full_team, check_registers, check_same_dtype, check_same_shape, check_scope
from .context import TileCall, TileContext
from .dispatch import RuleBugWarning, dispatch
from .emit import emit
from .explain import explain
from .operand import Operand, View
from .partition import WIDTHS, partition
from .primitives import CATALOGUE
from .record import Decision, Rejection, Report, recording
from .registry import config_keys, fail, predicate, register_dispatch, unregister_dispatch, variants
from .scalar import scalar_loops

__all__ = [
    "CATALOGUE", "WIDTHS", "Builder", "Decision", "DispatchError", "DispatchFail", "Operand", "Rejection",
    "Report", "RuleBugWarning", "TileCall", "TileContext", "View", "check_full_team", "check_registers",
    "check_same_dtype", "check_same_shape", "check_scope", "config_keys", "dispatch", "emit", "explain",
    "fail", "partition", "predicate", "recording", "register_dispatch", "scalar_loops",
    "unregister_dispatch", "variants",
]  # fmt: skip
