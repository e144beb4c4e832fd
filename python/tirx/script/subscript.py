"""Subscripts: elements and regions of buffers, items of Python objects.

A slice `lo : lo + n` gives the extent n by its text, so that no arithmetic is needed to see it.
"""

from __future__ import annotations

import ast

from ..errors import TirxError, TypeMismatch
from ..ir import Buffer, PrimExpr
from . import index as ix
from .expr import elements
from .operators import python_failure
from .scope import plain
from .tables import EXPR, evaluate, handles_expr


@handles_expr(ast.Subscript)
def _subscript(ev, n):
    value = EXPR[type(n.value)](ev, n.value)
    if isinstance(value, Buffer):
        return buffer_subscript(ev, n, value)
    if isinstance(value, PrimExpr):
        raise TypeMismatch(
            "only buffers are indexed",
            code="not-a-buffer",
            span=ev.span(n),
            found=ix.describe(value),
            required="a buffer",
            hint="a scalar is read by its name",
        )
    key = _key(ev, n.slice)
    ev.builder.node = n
    try:
        return plain(value[key])
    except TirxError:
        raise
    except Exception as error:
        raise python_failure(error, ev.span(n)) from error


def _key(ev, node):
    if type(node) is ast.Slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else EXPR[type(p)](ev, p) for p in parts))
    if type(node) is ast.Tuple:
        return tuple(_key(ev, e) for e in node.elts)
    return EXPR[type(node)](ev, node)


def index_nodes(node):
    """The AST nodes of a subscript's indices."""
    return node.elts if type(node) is ast.Tuple else [node]


def buffer_subscript(ev, n, buffer):
    """buffer[...] as a load or a region."""
    shape = ev.shape(buffer)
    nodes = index_nodes(n.slice)
    if any(type(node) is ast.Starred for node in nodes):
        return ix.index(buffer, tuple(elements(ev, nodes)), ev.span(n))
    if len(nodes) != len(shape):
        ix.check_rank(buffer, len(nodes), len(shape), ev.span(n))
    items = []
    for dim, node in enumerate(nodes):
        if type(node) is ast.Slice:
            items.append(_slice(ev, buffer, dim, node, shape[dim]))
        else:
            items.append(_point(ev, buffer, dim, node, shape[dim]))
    return ix.build(buffer, items, ev.span(n))


def _point(ev, buffer, dim, node, extent):
    value = EXPR[type(node)](ev, node)
    if type(value) is int:
        if value < 0 or (type(extent) is int and value >= extent):
            ix.check_point(buffer, dim, value, extent, ev.span(node))
        return value
    if isinstance(value, PrimExpr):
        if type(node) is not ast.Name:
            ix.check_point(buffer, dim, value, extent, ev.span(node))
        return value
    if isinstance(value, slice):  # a slice held in a Python variable
        return ix._item(buffer, dim, value, extent, ev.span(node))
    return ix.as_index(value, ev.span(node))


def _slice(ev, buffer, dim, node, extent):
    if node.step is not None and not _is_one(ev, node.step):
        raise ix.strided(ev.span(node))
    if node.lower is None and node.upper is None:
        return (0, extent)
    lo, count = bounds(ev, node.lower, node.upper, extent)
    # A call with oob= says what happens past the end of a tensor in global memory.
    known = None if ev.builder.past_end and buffer.scope == "global" else extent
    ix.check_slice(buffer, dim, lo, count, known, ev.span(node))
    return (lo, count)


def _is_one(ev, node):
    return evaluate(ev, node) == 1


def bounds(ev, lower, upper, extent=None, place="index a buffer"):
    """(start, count) of start:stop. `x : x + n` gives count n without arithmetic on IR values. place: what the
    bounds are for, in errors."""
    if lower is None:
        lo = 0
    else:
        lo = ix.as_index(EXPR[type(lower)](ev, lower), ev.span(lower), place)
    if upper is None:
        return lo, ix.extent_between(lo, extent, ev.span(lower))
    if lower is not None and type(upper) is ast.BinOp and type(upper.op) is ast.Add:
        if same_text(upper.left, lower):
            count = EXPR[type(upper.right)](ev, upper.right)
            return lo, ix.as_index(count, ev.span(upper), place)
    hi = ix.as_index(EXPR[type(upper)](ev, upper), ev.span(upper), place)
    if type(lo) is int and type(hi) is int:
        return lo, hi - lo
    return lo, ix.extent_between(lo, hi, ev.span(upper))


def same_text(a, b) -> bool:
    """Whether two expression nodes are the same Python text (and so, without effects, the same value)."""
    if type(a) is not type(b):
        return False
    if type(a) is ast.Name:
        return a.id == b.id
    if type(a) is ast.Constant:
        return a.value == b.value and type(a.value) is type(b.value)
    if type(a) is ast.BinOp:
        return type(a.op) is type(b.op) and same_text(a.left, b.left) and same_text(a.right, b.right)
    if type(a) in (ast.Attribute, ast.Subscript, ast.UnaryOp, ast.Call):
        return ast.dump(a) == ast.dump(b)
    return False
