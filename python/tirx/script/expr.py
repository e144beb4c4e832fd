"""Names, attributes, calls and displays: Python values are computed, IR values pass through.

A handler costs one Python frame per nesting level.
"""

from __future__ import annotations

import ast

from ..errors import ScriptError, TirxError
from ..ir import Buffer, PrimExpr, PrimFunc
from . import index as ix
from .freeze import CONTAINERS, displayed, frozen_deep, may_keep, mutates_container
from .operators import python_call, python_failure, truth
from .scope import MISSING, Scalar, nearest, plain
from .tables import EXPR, handles_expr
from .values import MetaVar


@handles_expr(ast.Constant)
def _constant(ev, n):
    return n.value


@handles_expr(ast.Name)
def _name(ev, n):
    value = ev.vars.get(n.id, MISSING)
    if value is MISSING:
        value = ev.scope.outer.lookup(n.id)
        if value is MISSING:
            ev.builder.node = n
            raise ev.scope.undefined(n.id)
    if type(value) is Scalar:
        return value.load(ev.span(n))
    return value


@handles_expr(ast.Attribute)
def _attribute(ev, n):
    value = n.value
    value = EXPR[type(value)](ev, value)
    if isinstance(value, Buffer) and n.attr == "shape":
        return ix.shape_of(value)
    try:
        return plain(getattr(value, n.attr))
    except AttributeError as error:
        ev.builder.node = n
        raise _no_attribute(value, n) from error


def _no_attribute(value, n):
    attr, owner = n.attr, ast.unparse(n.value)
    return ScriptError(
        f"{owner} has no {attr!r}",
        code="unknown-attribute",
        found=f".{attr}",
        required=f"an attribute of {owner if ix.is_namespace(value) else ix.describe(value)}",
        hint=nearest(attr, [a for a in dir(value) if a[:1] != "_"]),
    )


@handles_expr(ast.Call)
def _call(ev, n):
    func = EXPR[type(n.func)](ev, n.func)
    builder = ev.builder
    before = builder.past_end, builder.arguments
    builder.past_end = before[0] or any(k.arg == "oob" for k in n.keywords)
    builder.arguments = True
    args, kwargs = _arguments(ev, n)
    builder.past_end, builder.arguments = before
    builder.node = n
    return invoke(ev, n, func, args, kwargs)


def _arguments(ev, n):
    args = elements(ev, n.args)
    kwargs = {}
    for k in n.keywords:
        value = EXPR[type(k.value)](ev, k.value)
        if k.arg is None:
            kwargs.update(_mapping(ev, k.value, value))
        else:
            kwargs[k.arg] = value
    return args, kwargs


def _mapping(ev, node, value):
    """The dict of `**value`."""
    value = value.value if type(value) is MetaVar else value
    if hasattr(value, "keys"):
        return value
    raise ScriptError(
        "only a dict can be spread with **",
        code="not-a-mapping",
        span=ev.span(node),
        found=ix.describe(value),
        required="a dict known while parsing",
    )


_ON_IR = {}  # Python builtins with a meaning on IR values: filled in by t.py


def invoke(ev, node, func, args, kwargs):
    """func(*args, **kwargs) as ordinary Python, with failures turned into errors at `node`."""
    if func in (min, max) and len(args) == 1 and type(args[0]) in (list, tuple):
        args = args[0]  # of the values of a sequence
    if _is_builtin_on_ir(func, args):
        func = _ON_IR[func]
    elif isinstance(func, PrimFunc):
        raise called_prim_func(func, ev.span(node))
    elif may_keep(func):
        if mutates_container(func):
            what = f"a Python {type(func.__self__).__name__}"
            refuse_python_mutation(ev, node, what, func.__self__)
        args = [frozen_deep(ev.builder, a) for a in args]
        kwargs = {k: frozen_deep(ev.builder, v) for k, v in kwargs.items()}
    try:
        result = func(*args, **kwargs)
    except (TirxError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise python_failure(error, ev.span(node), func) from error
    if ev.builder.node is not node:
        ev.builder.node = node
    made = any(func is kind for kind in CONTAINERS)
    return ev.builder.note(result) if made else result


def refuse_python_mutation(ev, target, what, container=None):
    """Python state changed under a run-time branch would be changed on both paths. A container that was made in the same
    block is new in every execution of it."""
    if ev.builder.runtime and not (container is not None and ev.builder.is_local(container)):
        raise ScriptError(
            f"{what} is changed inside a run-time block",
            code="python-state-in-block",
            span=ev.span(target),
            found="a change while parsing that would not depend on the branch or loop",
            required="a change outside of run-time `if`, `for` and `while`",
            hint="keep run-time state in a scalar: T.local_scalar(dtype), or `x: T.int32 = ...`",
        )


def _is_builtin_on_ir(func, args):
    try:
        return func in _ON_IR and any(isinstance(a, PrimExpr) for a in args)
    except TypeError:
        return False


def called_prim_func(func, span):
    return ScriptError(
        f"{func.name} is a PrimFunc: it is compiled, not called",
        code="prim-func-called",
        span=span,
        found=f"a call of {func.name}(...) inside a kernel",
        required="@T.inline functions, T and Tx calls, or Python functions",
        hint=f"decorate {func.name} with @T.inline to expand its body here",
    )


def elements(ev, nodes):
    """The values of a display or of arguments, `*sequence` spread."""
    out = []
    for node in nodes:
        if type(node) is ast.Starred:
            values = EXPR[type(node.value)](ev, node.value)
            out.extend(iterate(ev, node, values.value if type(values) is MetaVar else values))
        else:
            out.append(EXPR[type(node)](ev, node))
    return out


@handles_expr(ast.Tuple)
def _tuple(ev, n):
    return tuple(_list(ev, n))


@handles_expr(ast.List)
def _list(ev, n):
    return ev.builder.note([displayed(ev.builder, v) for v in elements(ev, n.elts)])


@handles_expr(ast.Set)
def _set(ev, n):
    return ev.builder.note(python_call(ev, n, set, _list(ev, n)))


@handles_expr(ast.Dict)
def _dict(ev, n):
    out = ev.builder.note({})
    for key, value in zip(n.keys, n.values):
        item = displayed(ev.builder, EXPR[type(value)](ev, value))
        if key is None:
            out.update(_mapping(ev, value, item))
        else:
            python_call(ev, key, out.__setitem__, EXPR[type(key)](ev, key), item)
    return out


@handles_expr(ast.JoinedStr)
def _fstring(ev, n):
    return "".join(str(EXPR[type(v)](ev, v)) for v in n.values)


@handles_expr(ast.FormattedValue)
def _formatted(ev, n):
    value = EXPR[type(n.value)](ev, n.value)
    spec = EXPR[ast.JoinedStr](ev, n.format_spec) if n.format_spec else ""
    convert = {115: str, 114: repr, 97: ascii}.get(n.conversion, lambda v: v)
    return python_call(ev, n, format, convert(value), spec)


def _comprehend(ev, generators, leaf, depth=0):
    """Yield leaf() for every assignment of the comprehension's targets."""
    if depth == len(generators):
        yield leaf()
        return
    g = generators[depth]
    values = EXPR[type(g.iter)](ev, g.iter)
    for item in iterate(ev, g.iter, values):
        ev.bind_plain(g.target, item)
        if all(truth(ev, c, _python_only(ev, c)) for c in g.ifs):
            yield from _comprehend(ev, generators, leaf, depth + 1)


def _python_only(ev, node):
    value = EXPR[type(node)](ev, node)
    if not isinstance(value, PrimExpr):
        return value
    raise ScriptError(
        "a comprehension's `if` must be known while parsing",
        code="runtime-comprehension",
        span=ev.span(node),
        found=ix.describe(value),
        required="a Python condition",
    )


def iterate(ev, node, values):
    """Iterate a Python sequence; an error for anything that is not one."""
    if isinstance(values, PrimExpr) or not hasattr(values, "__iter__"):
        raise ScriptError(
            "this cannot be iterated while parsing",
            code="not-iterable",
            span=ev.span(node),
            found=ix.describe(values),
            required="range, T.serial, T.unroll, T.vectorized, T.parallel, T.grid or a Python sequence",
        )
    return values


def _with_names(ev, generators, run):
    """Run a comprehension and take its targets out of sight again."""
    names = {t.id for g in generators for t in ast.walk(g.target) if isinstance(t, ast.Name)}
    saved = {name: ev.vars.get(name, MISSING) for name in names}
    try:
        return run()
    finally:
        for name, value in saved.items():
            if value is MISSING:
                ev.vars.pop(name, None)
            else:
                ev.vars[name] = value


@handles_expr(ast.ListComp)
def _list_comp(ev, n):
    leaf = lambda: displayed(ev.builder, EXPR[type(n.elt)](ev, n.elt))  # noqa: E731
    return _with_names(ev, n.generators, lambda: ev.builder.note(list(_comprehend(ev, n.generators, leaf))))


@handles_expr(ast.SetComp)
def _set_comp(ev, n):
    return ev.builder.note(python_call(ev, n, set, _list_comp(ev, n)))


EXPR[ast.GeneratorExp] = _list_comp


@handles_expr(ast.DictComp)
def _dict_comp(ev, n):
    value = lambda: displayed(ev.builder, EXPR[type(n.value)](ev, n.value))  # noqa: E731
    leaf = lambda: (EXPR[type(n.key)](ev, n.key), value())  # noqa: E731
    return _with_names(
        ev,
        n.generators,
        lambda: ev.builder.note(python_call(ev, n, dict, list(_comprehend(ev, n.generators, leaf)))),
    )
