"""Tile primitives: the catalogue, the dispatch table and explain().

Rules are written with `register_dispatch`; see docs/dispatch.md.
"""

from ..errors import DispatchError, DispatchFail
from .context import TileCall, TileContext
from .dispatch import RuleBugWarning, dispatch
from .explain import explain
from .primitives import CATALOGUE
from .record import Decision, Rejection, Report, recording
from .registry import config_keys, fail, predicate, register_dispatch, unregister_dispatch, variants

__all__ = [
    "CATALOGUE", "Decision", "DispatchError", "DispatchFail", "Rejection", "Report", "RuleBugWarning",
    "TileCall", "TileContext", "config_keys", "dispatch", "explain", "fail", "predicate", "recording",
    "register_dispatch", "unregister_dispatch", "variants",
]  # fmt: skip
