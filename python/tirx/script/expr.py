"""Evaluation of expressions: Python values are computed, IR values are built, node by node with spans.

One handler per AST node class; the table `HANDLERS` is the closed list of accepted expressions. A handler
costs one Python frame per nesting level and left-deep operator chains are walked in a loop.
"""

from __future__ import annotations

import ast
import operator

from .. import _ffi_api as _api
from ..errors import ScriptError, TirxError, TypeMismatch
from ..ir import Buffer, BufferRegion, PrimExpr, PrimFunc
from . import index as ix
from .scope import MISSING, Scalar

_NOT = getattr(_api, "not")
_PYTHON = frozenset({int, float, bool, str, type(None)})


class _Handlers(dict):
    def __missing__(self, node_type):
        return _refuse


HANDLERS = _Handlers()


def _refuse(ev, node):
    raise unsupported(ev, node)


def handles(node_type):
    def register(fn):
        HANDLERS[node_type] = fn
        return fn

    return register


def evaluate(ev, node):
    """The value of an expression node: a Python object, a buffer or an IR expression."""
    return HANDLERS[type(node)](ev, node)


_NAMES = {
    "Lambda": "a lambda", "Await": "await", "Yield": "yield", "YieldFrom": "yield from",
    "NamedExpr": "an assignment expression (:=)", "Starred": "a starred expression",
    "Slice": "a slice", "Try": "try", "Raise": "raise", "ClassDef": "a class definition",
    "Import": "import", "ImportFrom": "import", "Global": "global", "Nonlocal": "nonlocal",
    "Delete": "del", "AsyncFunctionDef": "an async function", "Match": "match", "TryStar": "try",
    "AsyncFor": "async for", "AsyncWith": "async with",
}  # fmt: skip


def unsupported(ev, node) -> ScriptError:
    """The error for Python outside of the language."""
    name = type(node).__name__
    return ScriptError(
        "this Python construct is not in the language",
        code="unsupported-construct",
        span=ev.span(node),
        found=_NAMES.get(name, name),
        required="a construct of the list in docs/language.md",
        hint="compute it in a Python function outside of the kernel and call that function here",
    )


@handles(ast.Constant)
def _constant(ev, n):
    return n.value


@handles(ast.Name)
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


@handles(ast.Attribute)
def _attribute(ev, n):
    value = n.value
    value = HANDLERS[type(value)](ev, value)
    if isinstance(value, Buffer) and n.attr == "shape":
        return ix.shape_of(value)
    try:
        return getattr(value, n.attr)
    except AttributeError as error:
        ev.builder.node = n
        raise _no_attribute(value, n.attr) from error


def _no_attribute(value, attr):
    from .scope import nearest

    return ScriptError(
        f"there is no attribute {attr!r} here",
        code="unknown-attribute",
        found=f".{attr} of {ix.describe(value)}",
        required="an attribute that exists",
        hint=nearest(attr, [a for a in dir(value) if a[:1] != "_"]),
    )


@handles(ast.Call)
def _call(ev, n):
    func = HANDLERS[type(n.func)](ev, n.func)
    args = []
    for a in n.args:
        if type(a) is ast.Starred:
            args.extend(HANDLERS[type(a.value)](ev, a.value))
        else:
            args.append(HANDLERS[type(a)](ev, a))
    kwargs = {}
    for k in n.keywords:
        value = HANDLERS[type(k.value)](ev, k.value)
        if k.arg is None:
            kwargs.update(value)
        else:
            kwargs[k.arg] = value
    ev.builder.node = n
    return invoke(ev, n, func, args, kwargs)


_ON_IR = {}  # Python builtins with a meaning on IR values: filled in by t.py


def invoke(ev, node, func, args, kwargs):
    """func(*args, **kwargs) as ordinary Python, with failures turned into errors at `node`."""
    if _is_builtin_on_ir(func, args):
        func = _ON_IR[func]
    elif isinstance(func, PrimFunc):
        raise called_prim_func(func, ev.span(node))
    try:
        result = func(*args, **kwargs)
    except (TirxError, RecursionError, MemoryError):
        raise
    except Exception as error:
        raise python_failure(error, ev.span(node), func) from error
    if ev.builder.node is not node:
        ev.builder.node = node
    return result


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


def python_failure(error, span, func=None):
    """A Python exception of code that ran while parsing, as a user error."""
    what = getattr(func, "__name__", None) or (type(func).__name__ if func is not None else "this")
    if func is not None and not callable(func):
        return ScriptError(
            "this is not callable",
            code="not-callable",
            span=span,
            found=ix.describe(func),
            required="a function",
        )
    return ScriptError(
        f"{what} failed while the kernel was being parsed" if func is not None else "this failed",
        code="python-error",
        span=span,
        found=f"{type(error).__name__}: {error}",
    )


# ---- operators ----

_BIN = {
    ast.Add: (operator.add, _api.add), ast.Sub: (operator.sub, _api.sub), ast.Mult: (operator.mul, _api.mul),
    ast.FloorDiv: (operator.floordiv, _api.floordiv), ast.Mod: (operator.mod, _api.floormod),
    ast.Div: (operator.truediv, "div"), ast.LShift: (operator.lshift, "shift_left"),
    ast.RShift: (operator.rshift, "shift_right"), ast.BitAnd: (operator.and_, "bitwise_and"),
    ast.BitOr: (operator.or_, "bitwise_or"), ast.BitXor: (operator.xor, "bitwise_xor"),
    ast.Pow: (operator.pow, None), ast.MatMult: (operator.matmul, None),
}  # fmt: skip


def _factory(name):
    from ..ir import _OP_INDEX

    number, binary = _OP_INDEX[name], _api.binary
    return lambda a, b, span: binary(number, a, b, span)


def _dtype_text(value):
    return str(value.dtype) if isinstance(value, PrimExpr) else type(value).__name__


for _op, (_py, _ir) in list(_BIN.items()):
    if type(_ir) is str:
        _BIN[_op] = (_py, _factory(_ir))


def binary(ev, node, op, left, right):
    """left op right; `node` gives the span."""
    tl, tr = type(left), type(right)
    python, ir = _BIN[op]
    if tl in _PYTHON and tr in _PYTHON:
        return _python_op(ev, node, python, left, right)
    left_ir, right_ir = isinstance(left, PrimExpr), isinstance(right, PrimExpr)
    if left_ir or right_ir:
        if ir is not None:
            if (left_ir or tl in _PYTHON) and (right_ir or tr in _PYTHON):
                return ir(left, right, ev.span(node))
            if isinstance(left, (Buffer, BufferRegion)) or isinstance(right, (Buffer, BufferRegion)):
                raise ix.not_a_value(right if left_ir else left, ev.span(node))
        elif op is ast.Pow:
            raise TypeMismatch(
                "`**` on an IR value",
                code="operator-not-defined",
                span=ev.span(node),
                found=f"{_dtype_text(left)} ** {_dtype_text(right)}",
                required="a product, or T.pow(x, y) on floats",
            )
    return _python_op(ev, node, python, left, right)


def _python_op(ev, node, op, *operands):
    try:
        return op(*operands)
    except TirxError:
        raise
    except Exception as error:
        raise python_failure(error, ev.span(node)) from error


@handles(ast.BinOp)
def _binop(ev, n):
    left = n.left
    if type(left) is not ast.BinOp:
        value = HANDLERS[type(left)](ev, left)
        right = n.right
        return binary(ev, n, type(n.op), value, HANDLERS[type(right)](ev, right))
    chain = [n]
    while type(left) is ast.BinOp:
        chain.append(left)
        left = left.left
    value = HANDLERS[type(left)](ev, left)
    for node in reversed(chain):
        right = node.right
        value = binary(ev, node, type(node.op), value, HANDLERS[type(right)](ev, right))
    return value


@handles(ast.UnaryOp)
def _unary(ev, n):
    value = HANDLERS[type(n.operand)](ev, n.operand)
    op = type(n.op)
    if isinstance(value, PrimExpr):
        return _unary_ir(ev, n, op, value)
    if op is ast.Not:
        return not truth(ev, n.operand, value)
    fn = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[op]
    return _python_op(ev, n, fn, value)


def _unary_ir(ev, n, op, value):
    span = ev.span(n)
    dtype = value.dtype
    if op is ast.Not or (op is ast.Invert and dtype == "bool"):
        return _NOT(value, span)
    if op is ast.USub:
        return _api.sub(-0.0 if "float" in dtype else 0, value, span)
    if op is ast.Invert:
        return _api.call(dtype, "tx.bitwise_not", [value], {}, span)
    return value


def truth(ev, node, value) -> bool:
    """The truth of a Python value in a condition; buffers and other IR objects have none."""
    if type(value) is bool:
        return value
    if isinstance(value, (Buffer, BufferRegion)):
        raise ix.not_a_value(value, ev.span(node))
    return bool(value)


@handles(ast.BoolOp)
def _boolop(ev, n):
    is_and = type(n.op) is ast.And
    value = HANDLERS[type(n.values[0])](ev, n.values[0])
    for node in n.values[1:]:
        if not isinstance(value, PrimExpr):
            if truth(ev, n, value) != is_and:
                return value
            value = HANDLERS[type(node)](ev, node)
            continue
        value = _LOGIC[is_and](value, _guarded(ev, node), ev.span(n))
    return value


_LOGIC = {True: _factory("and"), False: _factory("or")}


def _guarded(ev, node):
    """The right operand of and/or, which may not be evaluated: it must not emit statements."""
    value = without_statements(ev, node, "the right side of `and`/`or`")
    return value if isinstance(value, PrimExpr) else truth(ev, node, value)


def without_statements(ev, node, where):
    """Evaluate `node`, refusing statements that the evaluation emits (they would run unconditionally)."""
    before = len(ev.builder.stmts)
    value = HANDLERS[type(node)](ev, node)
    if len(ev.builder.stmts) != before:
        raise effects_error(ev.span(node), where, "a call that emits statements")
    return value


def effects_error(span, where, found):
    return ScriptError(
        f"{where} has effects",
        code="effect-in-expression",
        span=span,
        found=found,
        required="an expression without effects, because it may not be evaluated",
        hint="write an `if` statement",
    )


_COMPARE = {
    ast.Eq: (operator.eq, _factory("eq")), ast.NotEq: (operator.ne, _factory("ne")),
    ast.Lt: (operator.lt, _factory("lt")), ast.LtE: (operator.le, _factory("le")),
    ast.Gt: (operator.gt, _factory("gt")), ast.GtE: (operator.ge, _factory("ge")),
    ast.Is: (operator.is_, None), ast.IsNot: (operator.is_not, None),
    ast.In: (lambda a, b: a in b, None), ast.NotIn: (lambda a, b: a not in b, None),
}  # fmt: skip


@handles(ast.Compare)
def _compare(ev, n):
    left = HANDLERS[type(n.left)](ev, n.left)
    result = True
    for k, (op, node) in enumerate(zip(n.ops, n.comparators)):
        right = HANDLERS[type(node)](ev, node)
        if k and isinstance(left, PrimExpr) and has_effects(left):
            raise effects_error(
                ev.span(n.comparators[k - 1]), "a chained comparison's middle operand", "a call"
            )
        part = compare(ev, n, type(op), left, right)
        if k == 0:
            result = part
        elif isinstance(result, PrimExpr) or isinstance(part, PrimExpr):
            result = _LOGIC[True](result, part, ev.span(n))
        else:
            result = result and part
        if not isinstance(result, PrimExpr) and not result:
            return result
        left = right
    return result


def compare(ev, node, op, left, right):
    python, ir = _COMPARE[op]
    if isinstance(left, PrimExpr) or isinstance(right, PrimExpr):
        if ir is None:
            return _identity(ev, node, op, left, right)
        comparable = all(type(v) in _PYTHON or isinstance(v, PrimExpr) for v in (left, right))
        if comparable and left is not None and right is not None:
            return ir(left, right, ev.span(node))
        if isinstance(left, Buffer) or isinstance(right, Buffer):
            raise ix.not_a_value(left if isinstance(left, Buffer) else right, ev.span(node))
        return op is ast.NotEq  # a value never equals None or another Python object
    return _python_op(ev, node, python, left, right)


def _identity(ev, node, op, left, right):
    if op in (ast.Is, ast.IsNot):
        return _COMPARE[op][0](left, right)
    raise TypeMismatch(
        "`in` with an IR value",
        code="operator-not-defined",
        span=ev.span(node),
        found="a membership test that depends on the run",
        required="values known to Python",
        hint="write the comparisons out: x == a or x == b",
    )


def has_effects(value) -> bool:
    """Whether evaluating an IR value does something (a call that is not a pure function)."""
    from ..ir import Binary, Call, Cast, Not, Select

    if isinstance(value, Call):
        if not _api.is_pure_intrinsic(value.op) and not _is_pure_instruction(value.op):
            return True
        return any(has_effects(a) for a in value.args)
    if isinstance(value, Binary):
        return has_effects(value.a) or has_effects(value.b)
    if isinstance(value, Cast):
        return has_effects(value.value)
    if isinstance(value, Not):
        return has_effects(value.a)
    if isinstance(value, Select):
        return any(map(has_effects, (value.cond, value.true_value, value.false_value)))
    return False


def _is_pure_instruction(name) -> bool:
    instr = _api.find_instr(name)
    return instr is not None and [str(e) for e in instr.effects] == ["pure"]


@handles(ast.IfExp)
def _if_exp(ev, n):
    cond = HANDLERS[type(n.test)](ev, n.test)
    if not isinstance(cond, PrimExpr):
        node = n.body if truth(ev, n.test, cond) else n.orelse
        return HANDLERS[type(node)](ev, node)
    arms = []
    for node in (n.body, n.orelse):
        value = without_statements(ev, node, "an arm of `a if c else b`")
        if isinstance(value, PrimExpr) and has_effects(value):
            raise effects_error(ev.span(node), "an arm of `a if c else b`", "a call")
        arms.append(ix.as_value(value, ev.span(node)))
    return _api.select(cond, arms[0], arms[1], ev.span(n))


# ---- displays ----


def _elements(ev, nodes):
    out = []
    for node in nodes:
        if type(node) is ast.Starred:
            out.extend(HANDLERS[type(node.value)](ev, node.value))
        else:
            out.append(HANDLERS[type(node)](ev, node))
    return out


@handles(ast.Tuple)
def _tuple(ev, n):
    return tuple(_elements(ev, n.elts))


@handles(ast.List)
def _list(ev, n):
    return _elements(ev, n.elts)


@handles(ast.Set)
def _set(ev, n):
    return set(_elements(ev, n.elts))


@handles(ast.Dict)
def _dict(ev, n):
    out = {}
    for key, value in zip(n.keys, n.values):
        item = HANDLERS[type(value)](ev, value)
        if key is None:
            out.update(item)
        else:
            out[HANDLERS[type(key)](ev, key)] = item
    return out


@handles(ast.JoinedStr)
def _fstring(ev, n):
    return "".join(str(HANDLERS[type(v)](ev, v)) for v in n.values)


@handles(ast.FormattedValue)
def _formatted(ev, n):
    value = HANDLERS[type(n.value)](ev, n.value)
    spec = HANDLERS[ast.JoinedStr](ev, n.format_spec) if n.format_spec else ""
    convert = {115: str, 114: repr, 97: ascii}.get(n.conversion, lambda v: v)
    return format(convert(value), spec)


def _comprehend(ev, generators, leaf, depth=0):
    """Yield leaf() for every assignment of the comprehension's targets."""
    if depth == len(generators):
        yield leaf()
        return
    g = generators[depth]
    values = HANDLERS[type(g.iter)](ev, g.iter)
    for item in iterate(ev, g.iter, values):
        ev.bind_plain(g.target, item)
        if all(truth(ev, c, _python_only(ev, c)) for c in g.ifs):
            yield from _comprehend(ev, generators, leaf, depth + 1)


def _python_only(ev, node):
    value = HANDLERS[type(node)](ev, node)
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


@handles(ast.ListComp)
def _list_comp(ev, n):
    leaf = lambda: HANDLERS[type(n.elt)](ev, n.elt)  # noqa: E731
    return _with_names(ev, n.generators, lambda: list(_comprehend(ev, n.generators, leaf)))


@handles(ast.SetComp)
def _set_comp(ev, n):
    return set(_list_comp(ev, n))


HANDLERS[ast.GeneratorExp] = _list_comp


@handles(ast.DictComp)
def _dict_comp(ev, n):
    leaf = lambda: (HANDLERS[type(n.key)](ev, n.key), HANDLERS[type(n.value)](ev, n.value))  # noqa: E731
    return _with_names(ev, n.generators, lambda: dict(_comprehend(ev, n.generators, leaf)))


# ---- subscripts ----


@handles(ast.Subscript)
def _subscript(ev, n):
    value = HANDLERS[type(n.value)](ev, n.value)
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
        return value[key]
    except TirxError:
        raise
    except Exception as error:
        raise python_failure(error, ev.span(n)) from error


def _key(ev, node):
    if type(node) is ast.Slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(None if p is None else HANDLERS[type(p)](ev, p) for p in parts))
    if type(node) is ast.Tuple:
        return tuple(_key(ev, e) for e in node.elts)
    return HANDLERS[type(node)](ev, node)


def index_nodes(node):
    """The AST nodes of a subscript's indices."""
    return node.elts if type(node) is ast.Tuple else [node]


def buffer_subscript(ev, n, buffer):
    """buffer[...] as a load or a region."""
    shape = ev.shape(buffer)
    nodes = index_nodes(n.slice)
    if any(type(node) is ast.Starred for node in nodes):
        return ix.index(buffer, tuple(_elements(ev, nodes)), ev.span(n))
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
    value = HANDLERS[type(node)](ev, node)
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
    ix.check_slice(buffer, dim, lo, count, extent, ev.span(node))
    return (lo, count)


def _is_one(ev, node):
    return evaluate(ev, node) == 1


def bounds(ev, lower, upper, extent=None):
    """(start, count) of start:stop. `x : x + n` gives count n without arithmetic on IR values."""
    if lower is None:
        lo = 0
    else:
        lo = ix.as_index(HANDLERS[type(lower)](ev, lower), ev.span(lower))
    if upper is None:
        return lo, ix.extent_between(lo, extent, ev.span(lower))
    if lower is not None and type(upper) is ast.BinOp and type(upper.op) is ast.Add:
        if same_text(upper.left, lower):
            count = HANDLERS[type(upper.right)](ev, upper.right)
            return lo, ix.as_index(count, ev.span(upper))
    hi = ix.as_index(HANDLERS[type(upper)](ev, upper), ev.span(upper))
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
