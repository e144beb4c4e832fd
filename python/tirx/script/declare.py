"""T functions that define things: buffers, scalars, scope ids, attributes."""

from __future__ import annotations

import tvm_ffi

from .. import _ffi_api as _api
from ..errors import ScriptError, TypeMismatch
from ..ir import Buffer, PrimExpr, Var
from . import index as ix
from .assign import let
from .builder import current
from .values import check_dtype, make_buffer

SCOPES = ("global", "shared", "shared.dyn", "local", "tmem", "trn.sbuf", "trn.psum", "trn.hbm")


def device_entry():
    """What precedes is host code (argument binding), what follows is the kernel."""
    builder = current("T.device_entry")
    if builder.entry is not None or builder.stack[1:]:
        raise ScriptError(
            "T.device_entry() is written once, at the top level of a kernel",
            code="device-entry",
            span=builder.span(),
            found="a second one" if builder.entry is not None else "one inside a block",
            required="one call between the argument bindings and the kernel",
        )
    builder.entry = builder.span()
    builder.emit(_api.DeviceEntry(builder.entry))


def match_buffer(
    param, shape, dtype="float32", *, data=None, layout=None, scope="global", align=0, elem_offset=0
):
    """The buffer that a T.handle parameter points to.

    data: the pointer variable itself when it is the parameter (a device function's flat pointers).
    """
    builder = current("T.match_buffer")
    span = builder.span()
    at = _param_index(builder, param, span)
    buffer = make_buffer(
        builder.name("buffer"), _shape(shape, span), check_dtype(dtype), _scope(scope, span), layout, data,
        elem_offset, align, None, span,
    )  # fmt: skip
    builder.buffers[at] = buffer
    return buffer


def _param_index(builder, param, span):
    for at, var in enumerate(builder.params):
        if isinstance(param, Var) and var.same_as(param) and var.dtype == "handle":
            if builder.buffers[at] is None:
                return at
            raise ScriptError(
                f"parameter {var.name} is bound to two buffers",
                code="parameter-bound-twice",
                span=span,
                found=f"a second match_buffer, after {builder.buffers[at].name}",
                required="one buffer per parameter",
                hint="buffer.view(...) gives another view of it",
            )
    raise ScriptError(
        "T.match_buffer binds a parameter",
        code="not-a-parameter",
        span=span,
        found=ix.describe(param),
        required="a parameter annotated T.handle",
        hint="part of a buffer is buffer.sub[...]" if isinstance(param, Buffer) else "",
    )


def alloc_buffer(
    shape, dtype="float32", scope="global", layout=None, align=0, allocated_addr=None, elem_offset=0
):
    """Uninitialised storage. shape in elements; align in bytes; allocated_addr: its place in the scope."""
    builder = current("T.alloc_buffer")
    span = builder.span()
    elem_offset = 0 if elem_offset is None else elem_offset
    if isinstance(allocated_addr, (list, tuple)):
        allocated_addr = allocated_addr[0] if allocated_addr else None
    buffer = make_buffer(
        builder.name("buffer"), _shape(shape, span), check_dtype(dtype), _scope(scope, span),
        _layout(layout, shape), None, elem_offset, max(align, 0), allocated_addr, span,
    )  # fmt: skip
    builder.emit(_api.AllocBuffer(buffer, span))
    return buffer


def _shape(shape, span):
    shape = list(shape) if isinstance(shape, (tuple, list)) else [shape]
    shape = [ix.as_index(extent, span, "be an extent") for extent in shape]
    for value in map(ix.const, shape):
        if value is not None and value <= 0:
            raise TypeMismatch(
                "a buffer has positive extents",
                code="bad-shape",
                span=span,
                found=str(value),
                required="at least 1",
            )
    return shape or [1]


def _scope(scope, span):
    if scope in SCOPES:
        return scope
    from .scope import nearest

    raise ScriptError(
        f"there is no memory scope {scope!r}",
        code="unknown-memory-scope",
        span=span,
        found=repr(scope),
        required=", ".join(SCOPES),
        hint=nearest(str(scope), SCOPES),
    )


def _layout(layout, shape):
    if layout is None or layout == "default":
        return None
    if isinstance(layout, str):
        from ..layout import TileLayout

        return TileLayout.trainium(layout, tuple(shape))
    return layout


def alloc_shared(shape, dtype="float32", **options):
    """Storage shared by the CTA."""
    return alloc_buffer(shape, dtype, scope="shared", **options)


def alloc_local(shape, dtype="float32", **options):
    """Storage private to each thread."""
    return alloc_buffer(shape, dtype, scope="local", **options)


def tmem(shape, dtype="float32", **options):
    """Tensor memory."""
    return alloc_buffer(shape, dtype, scope="tmem", **options)


def decl_buffer(
    shape, dtype="float32", data=None, elem_offset=0, scope=None, layout=None, align=0, allocated_addr=None
):
    """A view of existing storage: data is a buffer's .data or a pointer variable (None: an allocation)."""
    builder = current("T.decl_buffer")
    span = builder.span()
    if data is None:
        return alloc_buffer(shape, dtype, scope or "global", layout, align, allocated_addr, elem_offset)
    if not isinstance(data, Var) or data.dtype != "handle":
        raise TypeMismatch(
            "data= is a pointer variable",
            code="not-a-pointer",
            span=span,
            found=ix.describe(data),
            required="buffer.data, or a pointer bound with `p: T.let = buffer.ptr_to([...])`",
        )
    if scope is None:
        scope = data.pointer.scope if data.pointer is not None else "global"
    if align <= 0 and data in builder.pointers:
        # An address in the middle of something: no more is known.
        align = max(1, tvm_ffi.dtype(check_dtype(dtype)).bits // 8)
    buffer = make_buffer(
        builder.name("view"), _shape(shape, span), check_dtype(dtype), _scope(str(scope), span),
        _layout(layout, shape), data, 0 if elem_offset is None else elem_offset, max(align, 0),
        allocated_addr, span,
    )  # fmt: skip
    builder.emit(_api.DeclBuffer(buffer, span))
    return buffer


def wg_reg_tile(elem_per_thread, dtype="float32"):
    """A (128, elem_per_thread) register tile of a warpgroup: thread t holds row t."""
    from ..layout import S, TileLayout, tid_in_wg

    layout = TileLayout(S[(128, elem_per_thread) : (1 @ tid_in_wg, 1)])
    return alloc_buffer((128, elem_per_thread), dtype, scope="local", layout=layout)


def alloc_cast_frag(src, dtype):
    """Registers for `src` converted to `dtype`: same shape, same layout, other element type."""
    return alloc_buffer(ix.shape_of(src), dtype, scope="local", layout=src.layout)


def alloc_scalar(dtype="float32", scope="local"):
    """A mutable scalar: assigning to its name, or to the attribute that holds it, is a store."""
    builder = current("a scalar")
    buffer = alloc_buffer((1,), dtype, scope=scope)
    builder.fresh.append(buffer)
    return _api.BufferLoad(buffer, [0], builder.span())


def local_scalar(dtype="float32"):
    """A mutable scalar private to each thread."""
    return alloc_scalar(dtype, "local")


def shared_scalar(dtype="float32"):
    """A mutable scalar shared by the CTA."""
    return alloc_scalar(dtype, "shared")


# ---- scope ids ----


def _scope_id(kind):
    def define(extents=None, *, preferred=None, dtype="int32"):
        return _define_ids(kind, extents, preferred, dtype)

    define.__name__ = kind
    define.__doc__ = f"Define {kind}; the extents may be left out when others determine them."
    return define


def _define_ids(kind, extents, preferred, dtype):
    builder = current(f"T.{kind}")
    span = builder.span()
    builder.on_device(f"T.{kind}(...)")
    extents = [] if extents is None else list(extents) if isinstance(extents, (list, tuple)) else [extents]
    extents = [ix.as_index(extent, span, "be an extent") for extent in extents]
    hint = builder.hint
    count = len(extents) or (len(hint) if type(hint) is list else 1)
    variables = [_api.Var(name, dtype, None, span) for name in builder.names(count, kind)]
    attrs = {} if preferred is None else {"preferred": list(preferred)}
    builder.emit(_api.ScopeIdDef(variables, kind, extents, attrs, span))
    return variables[0] if count == 1 else tuple(variables)


cta_id = _scope_id("cta_id")
cluster_id = _scope_id("cluster_id")
cta_id_in_cluster = _scope_id("cta_id_in_cluster")
warpgroup_id = _scope_id("warpgroup_id")
warp_id = _scope_id("warp_id")
warp_id_in_wg = _scope_id("warp_id_in_wg")
thread_id = _scope_id("thread_id")
thread_id_in_wg = _scope_id("thread_id_in_wg")
lane_id = _scope_id("lane_id")
cta_id_in_pair = _scope_id("cta_id_in_pair")


# ---- attributes ----

_FUNCTION_KEYS = ("tirx.launch_bounds_min_blocks_per_sm",)


def func_attr(attrs):
    """Facts about the function, as a dict."""
    current("T.func_attr").attrs.update(attrs)


def attr(attrs):
    """Facts about the rest of the enclosing block, as a dict. Launch bounds are facts about the function."""
    builder = current("T.attr")
    for key, value in attrs.items():
        if key in _FUNCTION_KEYS:
            builder.attrs[key] = value
        else:
            builder.emit(_api.AttrStmt(key, value, builder.span()))


def hint(message="", **attrs):
    """A remark for the compiler about the rest of the enclosing block."""
    builder = current("T.hint")
    builder.emit(_api.AttrStmt("tirx.hint", {"message": message, **attrs}, builder.span()))


# ---- statements for helper code ----


def evaluate(value):
    """Emit an expression for its effects."""
    builder = current("T.evaluate")
    builder.emit(_api.Evaluate(ix.as_value(value, builder.span()), builder.span()))


def buffer_store(buffer, value, indices):
    """Emit buffer[indices] = value."""
    builder = current("T.buffer_store")
    builder.emit(ix.store(buffer, indices, value, builder.span()))


def bind(value, name=None):
    """Emit an immutable definition and return its variable."""
    builder = current("T.bind")
    value = value if isinstance(value, PrimExpr) else _api.const("int32", value)
    return let(builder.evaluator, name or builder.name("v"), value, builder.node)


def static_assert(cond, message=""):
    """A condition that must hold while parsing."""
    from ..ir import IntImm

    builder = current("T.static_assert")
    if isinstance(cond, IntImm):
        cond = cond.value
    if isinstance(cond, PrimExpr) or not cond:
        raise ScriptError(
            f"a static assertion {'is not known while parsing' if isinstance(cond, PrimExpr) else 'failed'}",
            code="static-assert",
            span=builder.span(),
            found=str(message) or repr(cond),
            required="a true condition known while parsing",
        )
