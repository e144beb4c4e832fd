"""Control statements: folded while parsing on Python values, statements of the kernel on IR values."""

from __future__ import annotations

import ast
from functools import partial

from .. import _ffi_api as _api
from ..errors import ScriptError
from ..ir import Buffer, BufferRegion, IntImm, PrimExpr, Stmt
from . import index as ix
from .evaluator import BREAK, CONTINUE, NORMAL, RETURN, unpack_error
from .expr import iterate
from .frames import FilterFrame, Loops
from .operators import condition, python_call, truth
from .subscript import bounds
from .tables import EXPR, evaluate, handles_stmt, unsupported


@handles_stmt(ast.Expr)
def _expr(ev, n):
    value = EXPR[type(n.value)](ev, n.value)
    if isinstance(value, PrimExpr):
        ev.builder.emit(_api.Evaluate(value, ev.span(n)))
    elif isinstance(value, Stmt):
        ev.builder.emit(value)
    elif isinstance(value, (Buffer, BufferRegion, Loops)):
        raise _no_effect(ev, n, value)


def _no_effect(ev, n, value):
    if isinstance(value, Buffer) and isinstance(n.value, ast.Call):
        return None
    return ScriptError(
        "this statement does nothing",
        code="no-effect",
        span=ev.span(n),
        found=ix.describe(value),
        required="a call, an assignment or a control statement",
    )


@handles_stmt(ast.If)
def _if(ev, n):
    cond = condition(ev, n.test)
    if isinstance(cond, FilterFrame):
        return _filter_if(ev, n, cond)
    if not isinstance(cond, PrimExpr):
        return ev.body(n.body if truth(ev, n.test, cond) else n.orelse)
    then = ev.block(n, n.body, "if")
    other = ev.block(n, n.orelse, "else") if n.orelse else None
    ev.builder.emit(_api.IfThenElse(cond, then, other, ev.span(n)))


def _filter_if(ev, n, frame):
    if n.orelse:
        raise ScriptError(
            "a filter has no `else`",
            code="filter-else",
            span=ev.span(n.orelse[0]),
            found="an else branch of T.filter",
            required="with T.filter(...):",
        )
    body = ev.block(n, n.body, "filter")
    ev.builder.emit(_api.Filter(frame.cond, body, ev.span(n)))


@handles_stmt(ast.For)
def _for(ev, n):
    _no_else(ev, n)
    loops = _loops(ev, n.iter)
    if isinstance(loops, Loops):
        return _runtime_for(ev, n, loops)
    around, ev.unrolled = ev.unrolled, True
    for item in iterate(ev, n.iter, loops):
        ev.bind_target(n.target, item)
        ended = ev.body(n.body)
        if ended in (BREAK, RETURN):
            break
    else:
        ended = NORMAL
    ev.unrolled = around
    return RETURN if ended == RETURN else NORMAL


def _no_else(ev, n):
    if n.orelse:
        raise ScriptError(
            "a loop has no `else`",
            code="unsupported-construct",
            span=ev.span(n.orelse[0]),
            found="an else branch of a loop",
            required="a construct of the list in docs/language.md",
        )


def _loops(ev, node):
    """The iterable of a `for`: Loops for range and T.serial..., else a Python value."""
    if type(node) is not ast.Call:
        return evaluate(ev, node)
    func = evaluate(ev, node.func)
    kind = getattr(func, "loop_kind", None)
    if func is range:
        kind = "serial"
    if kind is None or not 1 <= len(node.args) <= 2 or any(type(a) is ast.Starred for a in node.args):
        value = evaluate(ev, node)
        return _range_with_step(value) if func is range else value
    lower, upper = node.args if len(node.args) == 2 else (None, node.args[0])
    lo, count = bounds(ev, lower, upper, place="bound a loop")
    before, ev.builder.arguments = ev.builder.arguments, True
    options = {k.arg: evaluate(ev, k.value) for k in node.keywords}
    ev.builder.arguments, ev.builder.node = before, node
    return python_call(ev, node, partial(Loops.single, kind, lo, count, **options))


def _range_with_step(value):
    """range(a, b, c) of constants as a serial loop."""
    return Loops.single("serial", value.start, value.stop - value.start, step=value.step)


def _runtime_for(ev, n, loops):
    targets = n.target.elts if isinstance(n.target, ast.Tuple) else [n.target]
    if any(type(t) is not ast.Name for t in targets):
        raise unsupported(ev, n.target)
    names = [t.id for t in targets]
    if len(names) != len(loops.loops):
        raise unpack_error(ev, n.target, f"{len(loops.loops)} loops", f"{len(names)} names")
    builder, scope = ev.builder, ev.scope
    variables = loops.variables(names, ev.span(n.target))
    around, ev.unrolled = ev.unrolled, False
    builder.push()
    builder.runtime += 1
    scope.enter("for", n.lineno + ev.offset)
    for name, (_, value) in zip(names, variables):
        scope.define(name, value)
    if ev.body(n.body) == RETURN:
        ev.refuse_jump(RETURN, "for")
    scope.exit()
    builder.runtime -= 1
    body = builder.pop(n)
    ev.unrolled = around
    builder.emit(loops.wrap([v for v, _ in variables], body, ev.span(n)))


@handles_stmt(ast.While)
def _while(ev, n):
    _no_else(ev, n)
    cond = condition(ev, n.test)
    if not isinstance(cond, PrimExpr):
        if not truth(ev, n.test, cond):
            return
        cond = IntImm("bool", True)
    around, ev.unrolled = ev.unrolled, False
    body = ev.block(n, n.body, "while")
    ev.unrolled = around
    ev.builder.emit(_api.While(cond, body, ev.span(n)))


@handles_stmt(ast.Break)
def _break(ev, n):
    if ev.unrolled:
        return BREAK
    ev.builder.emit(_api.Break(ev.span(n)))


@handles_stmt(ast.Continue)
def _continue(ev, n):
    if ev.unrolled:
        return CONTINUE
    ev.builder.emit(_api.Continue(ev.span(n)))


@handles_stmt(ast.Pass)
def _pass(ev, n):
    return NORMAL


@handles_stmt(ast.Assert)
def _assert(ev, n):
    cond = condition(ev, n.test)
    message = "" if n.msg is None else evaluate(ev, n.msg)
    if isinstance(cond, PrimExpr):
        return ev.builder.emit(_api.Assert(cond, str(message), ev.span(n)))
    if not truth(ev, n.test, cond):
        raise ScriptError(
            "an assertion failed while the kernel was being parsed",
            code="assertion",
            span=ev.span(n),
            found=str(message) or ast.unparse(n.test),
            required="a true condition",
        )


@handles_stmt(ast.Return)
def _return(ev, n):
    if ev.inline:
        ev.result = None if n.value is None else evaluate(ev, n.value)
        return RETURN
    raise ScriptError(
        "a kernel returns nothing",
        code="return-in-kernel",
        span=ev.span(n),
        found="return",
        required="results stored to buffers",
        hint="guard the rest with `if`",
    )


@handles_stmt(ast.With)
def _with(ev, n):
    _with_items(ev, n, n.items)


def _with_items(ev, n, items):
    builder, scope = ev.builder, ev.scope
    frame = evaluate(ev, items[0].context_expr)
    builder.node = items[0].context_expr
    if not (hasattr(frame, "__enter__") and hasattr(frame, "__exit__")):
        raise ScriptError(
            "this cannot open a `with` block",
            code="not-a-frame",
            span=builder.span(),
            found=ix.describe(frame),
            required="T.thread(), T.warp(), T.warpgroup(), T.cta(), T.cluster(), T.filter(...)",
        )
    depth = len(builder.stack)
    value = frame.__enter__()
    opened = len(builder.stack) > depth
    if opened:
        scope.enter("with", n.lineno + ev.offset)
    if items[0].optional_vars is not None:
        ev.bind_target(items[0].optional_vars, value)
    ended = _with_items(ev, n, items[1:]) if len(items) > 1 else ev.body(n.body)
    if ended and opened:
        ev.refuse_jump(ended, "with")
    if opened:
        scope.exit()
    builder.node = n
    frame.__exit__(None, None, None)
    return ended


@handles_stmt(ast.FunctionDef)
def _function_def(ev, n):
    from .inline import nested_function

    ev.scope.define(n.name, nested_function(ev, n))
