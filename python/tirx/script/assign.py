"""Assignments: lets, mutable scalars, stores, and values of the parser.

`x = v` gives x the value v. When x is assigned at one place of the function, an IR value is bound once
(a let) and a Python value is the name's value while parsing; when it is assigned at several places, x is a
mutable scalar and every assignment is a store. docs/language.md has the rules and the reasons.
"""

from __future__ import annotations

import ast

from .. import _ffi_api as _api
from ..errors import ScriptError, TirxError, TypeMismatch
from ..ir import Buffer, BufferLoad, BufferRegion, FloatImm, IntImm, PrimExpr, Var
from . import index as ix
from .expr import refuse_python_mutation
from .freeze import frozen, frozen_region
from .operators import binary, python_failure
from .scope import Scalar
from .subscript import buffer_subscript, index_nodes
from .tables import evaluate, handles_stmt, unsupported
from .values import DType, Handle, Let, LocalArray, MetaVar, dtype_of, is_number, make_buffer, pointer_of

_ATOMS = {Var, IntImm, FloatImm}


@handles_stmt(ast.Assign)
def _assign(ev, n):
    builder = ev.builder
    target = n.targets[0]
    kind = type(target)
    if kind is ast.Name:
        builder.hint = target.id
    elif kind is ast.Tuple:
        builder.hint = [t.id if type(t) is ast.Name else "v" for t in target.elts]
    elif kind is ast.Attribute:
        builder.hint = target.attr
    value = evaluate(ev, n.value)
    builder.hint = None
    builder.node = n
    for target in n.targets:
        assign(ev, target, value, n)
    if builder.fresh:
        builder.fresh.clear()


@handles_stmt(ast.AugAssign)
def _aug_assign(ev, n):
    target = n.target
    if type(target) is ast.Subscript:
        obj = evaluate(ev, target.value)
        if isinstance(obj, Buffer):
            return _aug_store(ev, n, obj)
    left = evaluate(ev, target)
    value = binary(ev, n, type(n.op), left, evaluate(ev, n.value))
    if type(target) is ast.Name and ev.mutable(target.id) is None and not isinstance(value, PrimExpr):
        return ev.scope.define(target.id, value)
    assign(ev, target, value, n)


def _aug_store(ev, n, buffer):
    keys = store_keys(ev, n.target, buffer)
    left = _api.BufferLoad(buffer, keys, ev.span(n.target))
    value = binary(ev, n, type(n.op), left, evaluate(ev, n.value))
    ev.builder.emit(_api.BufferStore(buffer, value, keys, ev.span(n)))


@handles_stmt(ast.AnnAssign)
def _ann_assign(ev, n):
    if type(n.target) is not ast.Name:
        raise unsupported(ev, n)
    name = n.target.id
    annotation = evaluate(ev, n.annotation)
    ev.builder.hint = name
    value = None if n.value is None else evaluate(ev, n.value)
    ev.builder.hint, ev.builder.node = None, n
    if isinstance(annotation, Let):
        return _let(ev, n, name, annotation, value)
    if isinstance(annotation, LocalArray):
        return _local_array(ev, n, name, annotation)
    if not isinstance(annotation, DType):
        raise _bad_annotation(ev, n, annotation)
    if value is not None:
        ix.as_value(value, ev.span(n.value))
    new_scalar(ev, name, annotation.name, value, n)


def _let(ev, n, name, annotation, value):
    value = ix.as_value(value, ev.span(n))
    kind = annotation.type
    var = None
    if isinstance(kind, DType):
        value = value if isinstance(value, PrimExpr) else kind(value)
        var = _api.Var(name, kind.name, None, ev.span(n))
    elif isinstance(kind, Handle):
        var = kind.var(name, ev.span(n))
    elif kind is not None:
        raise _bad_annotation(ev, n, kind)
    elif not isinstance(value, PrimExpr):
        value = _api.const(dtype_of(value), value)
    ev.scope.define(name, let(ev, name, value, n, var))


def _local_array(ev, n, name, annotation):
    if n.value is not None:
        raise ScriptError(
            "an array annotation takes no value",
            code="array-with-value",
            span=ev.span(n),
            found=f"{name}: T.{annotation.dtype}[...] = ...",
            required=f"{name}: T.{annotation.dtype}[...]",
            hint="fill it afterwards: Tx.fill or a loop",
        )
    buffer = make_buffer(name, annotation.shape, annotation.dtype, "local", span=ev.span(n))
    ev.builder.emit(_api.AllocBuffer(buffer, ev.span(n)))
    ev.scope.define(name, buffer)


def _bad_annotation(ev, n, annotation):
    return ScriptError(
        "this annotation does not declare anything",
        code="bad-annotation",
        span=ev.span(n.annotation),
        found=ix.describe(annotation),
        required="a dtype (T.int32), an array (T.float32[8]), T.let or T.let[type]",
    )


def assign(ev, target, value, node):
    """target = value for a bare assignment."""
    kind = type(target)
    if kind is ast.Name:
        assign_name(ev, target.id, value, node)
    elif kind is ast.Subscript:
        assign_item(ev, target, value, node)
    elif kind is ast.Attribute:
        assign_attribute(ev, target, value, node)
    elif kind in (ast.Tuple, ast.List):
        for t, v in zip(target.elts, ev.unpack(target, value)):
            assign(ev, t, v, node)
    else:
        raise unsupported(ev, target)


def assign_name(ev, name, value, node):
    if type(value) is MetaVar:
        return ev.scope.define(name, value.value)
    if not isinstance(value, (PrimExpr, int, float)):
        if isinstance(value, BufferRegion):
            value = frozen_region(ev.builder, value)
        return ev.scope.define(name, value)
    scalar = ev.mutable(name)
    if scalar is not None:
        return store_scalar(ev, scalar, name, value, node)
    old = ev.vars.get(name)
    if isinstance(old, Buffer) and ev.shape(old) == (1,):
        return ev.builder.emit(_api.BufferStore(old, value, [0], ev.span(node)))
    fresh = ev.builder.fresh
    if fresh and isinstance(value, BufferLoad) and any(value.buffer.same_as(b) for b in fresh):
        return ev.scope.define(name, Scalar(value.buffer))
    if name in ev.scope.many:
        refuse_pointer(ev, name, value, node)
        return new_scalar(ev, name, dtype_of(value), value, node, auto=True)
    ev.scope.define(name, value_of(ev, name, value, node))


def refuse_pointer(ev, name, value, node):
    if dtype_of(value) == "handle":
        raise TypeMismatch(
            f"the pointer {name} is assigned more than once",
            code="pointer-reassigned",
            span=ev.span(node),
            found=f"several assignments to {name}",
            required="one name per pointer",
            hint="keep an index in a scalar and take the address where it is used",
        )


def value_of(ev, name, value, node):
    """What a name assigned once stands for: constants and variables themselves, else a let."""
    if not isinstance(value, PrimExpr) or type(value) in _ATOMS:
        return value
    return let(ev, name, value, node)


def let(ev, name, value, node, var=None):
    """Emit an immutable definition and return its variable."""
    span = ev.span(node)
    if var is None:
        check_has_value(ev, value, node)
        pointer = pointer_of(value) if value.dtype == "handle" else None
        var = _api.Var(name, value.dtype, pointer, span)
    ev.builder.emit(_api.Bind(var, value, span))
    if var.dtype == "handle":
        ev.builder.pointers.add(var)
    return var


def check_has_value(ev, value, node):
    if str(value.dtype) in ("", "void"):
        raise TypeMismatch(
            "this call has no value",
            code="no-value",
            span=ev.span(node),
            found="a call for its effects",
            required="an expression with a value",
        )


def new_scalar(ev, name, dtype, value, node, auto=False):
    """A mutable scalar in local memory, initialised when a value is given."""
    span = ev.span(node)
    buffer = make_buffer(name, (1,), dtype, "local", span=span)
    ev.builder.emit(_api.AllocBuffer(buffer, span))
    if value is not None:
        ev.builder.emit(_api.BufferStore(buffer, value, [0], span))
    ev.scope.define(name, Scalar(buffer, auto))


def store_scalar(ev, scalar, name, value, node):
    if scalar.auto:
        check_same_kind(ev, scalar, name, value, node)
    ev.builder.emit(_api.BufferStore(scalar.buffer, value, [0], ev.span(node)))


def check_same_kind(ev, scalar, name, value, node):
    """A scalar whose dtype was taken from its first value accepts no value that loses information."""
    held, given = str(scalar.buffer.dtype), dtype_of(value)
    literal = not isinstance(value, PrimExpr)
    lossless = held == given or ("float" in held and ("int" in given or literal))
    if lossless or (literal and "int" in held and isinstance(value, int)):
        return
    raise TypeMismatch(
        f"{name} was created as {held} and gets a value of another dtype",
        code="mixed-dtypes",
        span=ev.span(node),
        found=given,
        required=held,
        hint=f"declare the dtype: `{name}: T.{given} = ...`, or convert the value",
    )


def assign_item(ev, target, value, node):
    obj = evaluate(ev, target.value)
    if isinstance(obj, Buffer):
        span = ev.span(node)
        keys = store_keys(ev, target, obj)
        value = value if isinstance(value, PrimExpr) else ix.as_value(value, ev.span(node.value))
        return ev.builder.emit(_api.BufferStore(obj, value, keys, span))
    key = evaluate(ev, target.slice)
    refuse_python_mutation(ev, target, "an item of a Python object", obj)
    try:
        obj[key] = frozen(ev.builder, value)
    except TirxError:
        raise
    except Exception as error:
        raise python_failure(error, ev.span(target)) from error


def store_keys(ev, target, buffer):
    """The checked indices of a store."""
    nodes = index_nodes(target.slice)
    if any(type(k) is ast.Slice for k in nodes):
        ix.store(buffer, [slice(None)] * len(ev.shape(buffer)), 0, ev.span(target))
    load = buffer_subscript(ev, target, buffer)
    return load.indices


def assign_attribute(ev, target, value, node):
    obj = evaluate(ev, target.value)
    old = getattr(obj, target.attr, None)
    if isinstance(old, BufferLoad) and ev.shape(old.buffer) == (1,) and is_number(value):
        return ev.builder.emit(_api.BufferStore(old.buffer, value, [0], ev.span(node)))
    refuse_python_mutation(ev, target, f"the attribute {target.attr!r} of a Python object")
    try:
        value = value.value if type(value) is MetaVar else frozen(ev.builder, value)
        setattr(obj, target.attr, value)
    except Exception as error:
        raise python_failure(error, ev.span(target)) from error
