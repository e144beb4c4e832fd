"""Operators: computed on Python values, built as IR nodes when an operand is an IR value.

Python's meaning is kept (chained comparisons, short circuits, conditional expressions) or the form is
refused, because an expression of the IR cannot have effects that depend on a condition.
"""

from __future__ import annotations

import ast
import operator

import tvm_ffi

from .. import _ffi_api as _api
from ..errors import ScriptError, TirxError, TypeMismatch
from ..ir import (
    _OP_INDEX,
    Binary,
    Buffer,
    BufferLoad,
    BufferRegion,
    Call,
    Cast,
    IntImm,
    Not,
    PrimExpr,
    Select,
)
from . import index as ix
from .tables import EXPR, evaluate, handles_expr

_NOT = getattr(_api, "not")
_PYTHON = frozenset({int, float, bool, str, type(None)})


_BIN = {
    ast.Add: (operator.add, _api.add), ast.Sub: (operator.sub, _api.sub), ast.Mult: (operator.mul, _api.mul),
    ast.FloorDiv: (operator.floordiv, _api.floordiv), ast.Mod: (operator.mod, _api.floormod),
    ast.Div: (operator.truediv, "div"), ast.LShift: (operator.lshift, "shift_left"),
    ast.RShift: (operator.rshift, "shift_right"), ast.BitAnd: (operator.and_, "bitwise_and"),
    ast.BitOr: (operator.or_, "bitwise_or"), ast.BitXor: (operator.xor, "bitwise_xor"),
    ast.Pow: (operator.pow, None), ast.MatMult: (operator.matmul, None),
}  # fmt: skip


def _factory(name):
    number, binary = _OP_INDEX[name], _api.binary
    if name.startswith("shift"):
        return lambda a, b, span: _checked_shift(binary(number, a, b, span), b, span)
    return lambda a, b, span: binary(number, a, b, span)


def _checked_shift(value, amount, span):
    """A shift by a constant that moves every bit out has no defined value in C and on the hardware."""
    amount = amount.value if isinstance(amount, IntImm) else amount
    bits = tvm_ffi.dtype(value.dtype).bits
    if not isinstance(amount, int) or 0 <= amount < bits:
        return value
    raise TypeMismatch(
        "the shift amount is out of range",
        code="shift-out-of-range",
        span=span,
        found=f"a shift of {value.dtype} by {amount}",
        required=f"an amount from 0 to {bits - 1}",
        hint=f'widen first, for instance x.astype("{"u" if str(value.dtype)[0] == "u" else ""}int64")',
    )


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
        return python_call(ev, node, python, left, right)
    left_ir, right_ir = isinstance(left, PrimExpr), isinstance(right, PrimExpr)
    if left_ir or right_ir:
        if ir is not None:
            if (left_ir or tl in _PYTHON) and (right_ir or tr in _PYTHON):
                return ir(left, right, ev.span(node))
        elif op is ast.Pow:
            raise TypeMismatch(
                "`**` on an IR value",
                code="operator-not-defined",
                span=ev.span(node),
                found=f"{_dtype_text(left)} ** {_dtype_text(right)}",
                required="a product, or T.pow(x, y) on floats",
            )
    for value in (left, right):
        if isinstance(value, (Buffer, BufferRegion)):
            raise ix.not_a_value(value, ev.span(node))
    return python_call(ev, node, python, left, right)


def python_call(ev, node, op, *operands):
    """op(*operands) on Python values; a failure is an error at `node`."""
    try:
        return op(*operands)
    except TirxError:
        raise
    except Exception as error:
        raise python_failure(error, ev.span(node)) from error


@handles_expr(ast.BinOp)
def _binop(ev, n):
    left = n.left
    if type(left) is not ast.BinOp:
        value = EXPR[type(left)](ev, left)
        right = n.right
        return binary(ev, n, type(n.op), value, EXPR[type(right)](ev, right))
    chain = [n]
    while type(left) is ast.BinOp:
        chain.append(left)
        left = left.left
    value = EXPR[type(left)](ev, left)
    for node in reversed(chain):
        right = node.right
        value = binary(ev, node, type(node.op), value, EXPR[type(right)](ev, right))
    return value


@handles_expr(ast.UnaryOp)
def _unary(ev, n):
    op = type(n.op)
    value = condition(ev, n.operand) if op is ast.Not else EXPR[type(n.operand)](ev, n.operand)
    if isinstance(value, PrimExpr):
        return _unary_ir(ev, n, op, value)
    if op is ast.Not:
        return not truth(ev, n.operand, value)
    fn = {ast.USub: operator.neg, ast.UAdd: operator.pos, ast.Invert: operator.invert}[op]
    return python_call(ev, n, fn, value)


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


def condition(ev, node):
    """The value of a node of which only the truth is used: and/or may have operands that are no bools."""
    if type(node) is ast.BoolOp:
        return _logic(ev, node, truth_only=True)
    return EXPR[type(node)](ev, node)


@handles_expr(ast.BoolOp)
def _boolop(ev, n):
    return _logic(ev, n, truth_only=False)


def _logic(ev, n, truth_only):
    """and/or. Python yields an operand; the IR yields a bool, which is the same for bools and conditions."""
    is_and = type(n.op) is ast.And
    read = condition if truth_only else evaluate
    value = read(ev, n.values[0])
    for before, node in zip(n.values, n.values[1:]):
        if not isinstance(value, PrimExpr):
            if truth(ev, before, value) != is_and:
                return value
            value = read(ev, node)
            continue
        right = without_statements(ev, node, "the right side of `and`/`or`", read)
        if not truth_only:
            _require_bool(ev, before, value)
            _require_bool(ev, node, right)
        right = right if isinstance(right, PrimExpr) else truth(ev, node, right)
        value = _LOGIC[is_and](value, right, ev.span(n))
    return value


_LOGIC = {True: _factory("and"), False: _factory("or")}


def _require_bool(ev, node, value):
    if type(value) is bool or (isinstance(value, PrimExpr) and value.dtype == "bool"):
        return
    raise TypeMismatch(
        "and/or of values that are no bools",
        code="and-or-of-numbers",
        span=ev.span(node),
        found=ix.describe(value),
        required="bool operands (Python would yield one of the operands, a kernel yields a bool)",
        hint="compare first (x != 0), or choose with `a if c else b`",
    )


def without_statements(ev, node, where, read=evaluate):
    """Evaluate `node`, refusing statements that the evaluation emits (they would run unconditionally)."""
    before = len(ev.builder.stmts)
    value = read(ev, node)
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


@handles_expr(ast.Compare)
def _compare(ev, n):
    left = EXPR[type(n.left)](ev, n.left)
    result = True
    for k, (op, node) in enumerate(zip(n.ops, n.comparators)):
        right = EXPR[type(node)](ev, node)
        if k:
            require_pure(left, ev.span(n.comparators[k - 1]), "the middle of a chained comparison")
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
    return python_call(ev, node, python, left, right)


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


def effect_of(value) -> str:
    """The first call in a value that does something when evaluated ("" when there is none)."""
    if isinstance(value, Call):
        if not _api.is_pure_intrinsic(value.op) and not _is_pure_instruction(value.op):
            return f"a call of {value.op}"
        return _first_effect(value.args)
    if isinstance(value, Binary):
        return effect_of(value.a) or effect_of(value.b)
    if isinstance(value, Cast):
        return effect_of(value.value)
    if isinstance(value, Not):
        return effect_of(value.a)
    if isinstance(value, Select):
        return _first_effect((value.cond, value.true_value, value.false_value))
    if isinstance(value, BufferLoad):
        return _first_effect(value.indices)
    return ""


def _first_effect(values) -> str:
    return next(filter(None, map(effect_of, values)), "")


def require_pure(value, span, where):
    """An error when evaluating `value` does something."""
    found = effect_of(value)
    if found:
        raise effects_error(span, where, found)


def _is_pure_instruction(name) -> bool:
    instr = _api.find_instr(name)
    return instr is not None and [str(e) for e in instr.effects] == ["pure"]


@handles_expr(ast.IfExp)
def _if_exp(ev, n):
    cond = condition(ev, n.test)
    if not isinstance(cond, PrimExpr):
        node = n.body if truth(ev, n.test, cond) else n.orelse
        return EXPR[type(node)](ev, node)
    arms = []
    for node in (n.body, n.orelse):
        value = without_statements(ev, node, "an arm of `a if c else b`")
        require_pure(value, ev.span(node), "an arm of `a if c else b`")
        arms.append(ix.as_value(value, ev.span(node)))
    return _api.select(cond, arms[0], arms[1], ev.span(n))


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
