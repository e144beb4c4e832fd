"""T: the names of the script language (docs/language.md).

Dtypes (T.float32, T.int32x4, ...) and layout names (T.TileLayout, T.S, T.laneid, ...) are looked up on
first use.
"""

from __future__ import annotations

import builtins as _builtins

from . import expr as _expr
from .declare import (
    alloc_buffer,
    alloc_cast_frag,
    alloc_local,
    alloc_scalar,
    alloc_shared,
    attr,
    bind,
    buffer_store,
    cluster_id,
    cta_id,
    cta_id_in_cluster,
    cta_id_in_pair,
    decl_buffer,
    device_entry,
    evaluate,
    func_attr,
    hint,
    lane_id,
    local_scalar,
    match_buffer,
    shared_scalar,
    static_assert,
    thread_id,
    thread_id_in_wg,
    tmem,
    warp_id,
    warp_id_in_wg,
    warpgroup_id,
    wg_reg_tile,
)
from .entry import CONSTEXPR, jit, prim_func
from .frames import Else, If, LoopKind, Then, exec_scope, filter, grid
from .inline import inline, macro, meta_class
from .instr import InstrName
from .ops import (
    MATH,
    And,
    Broadcast,
    Cast,
    Not,
    Or,
    Ramp,
    Select,
    address_of,
    all,
    any,
    bitwise_and,
    bitwise_or,
    bitwise_xor,
    call,
    cast,
    ceildiv,
    div,
    filter_range,
    floordiv,
    floormod,
    func_call,
    if_then_else,
    infinity,
    max,
    max_value,
    min,
    min_value,
    reinterpret,
    shift_left,
    shift_right,
    sigmoid,
    truncdiv,
    truncmod,
)
from .values import BufferType, Handle, Let, MetaVar, dtype_constructor

globals().update(MATH)
fabs = MATH["abs"]
smem, tfilter = alloc_shared, filter
broadcast, ramp = Broadcast, Ramp
meta_var = MetaVar
constexpr = CONSTEXPR
let = Let()
handle = Handle()
Buffer = BufferType()
serial, unroll = LoopKind("serial"), LoopKind("unroll")
vectorized, parallel = LoopKind("vectorized"), LoopKind("parallel")
thread, warp, warpgroup = exec_scope("thread"), exec_scope("warp"), exec_scope("warpgroup")
cta, cluster = exec_scope("cta"), exec_scope("cluster")
ptx = InstrName("ptx")
cuda = InstrName("cuda", {"func_call": func_call})
_expr._ON_IR.update({_builtins.min: min, _builtins.max: max, _builtins.abs: MATH["abs"]})


def StringImm(value):  # noqa: N802
    """A string as an IR value (inside attributes, where a Python string stays a string)."""
    from ..ir import StringImm as make

    return make(value)


def __getattr__(name):
    found = dtype_constructor(name)
    if found is None and name == "SMEMPool":
        from .. import lang

        found = getattr(lang, name)
    elif found is None and name[:2] != "__":
        from .. import layout

        found = getattr(layout, name, None) if name in layout.__all__ else None
    if found is None:
        raise AttributeError(f"T has no attribute {name!r}")
    globals()[name] = found
    return found


def __dir__():
    from .values import _KINDS

    return sorted({*globals(), *_KINDS})


__all__ = [
    "And", "Broadcast", "Buffer", "Cast", "Else", "If", "Not", "Or", "Ramp", "Select", "Then", "address_of",
    "all", "alloc_buffer", "alloc_cast_frag", "alloc_local", "alloc_scalar", "alloc_shared", "any", "attr",
    "bind", "bitwise_and", "bitwise_or", "bitwise_xor", "buffer_store", "call", "cast", "ceildiv", "cluster",
    "cluster_id", "constexpr", "cta", "cta_id", "cta_id_in_cluster", "cta_id_in_pair", "cuda", "decl_buffer",
    "device_entry", "div", "evaluate", "filter", "filter_range", "floordiv", "floormod", "func_attr", "grid",
    "handle", "hint", "if_then_else", "infinity", "inline", "jit", "lane_id", "let", "local_scalar", "macro",
    "match_buffer", "max", "max_value", "meta_class", "meta_var", "min", "min_value", "parallel", "prim_func",
    "ptx", "reinterpret", "serial", "shared_scalar", "shift_left", "shift_right", "sigmoid", "static_assert",
    "thread", "thread_id", "thread_id_in_wg", "tmem", "truncdiv", "truncmod", "unroll", "vectorized", "warp",
    "warp_id", "warp_id_in_wg", "warpgroup", "warpgroup_id", "wg_reg_tile",
]  # fmt: skip
