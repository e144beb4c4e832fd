"""T functions that build expressions: math, casts, selection, vectors, pointers, raw calls."""

from __future__ import annotations

from .. import _ffi_api as _api
from ..errors import TypeMismatch
from ..ir import Buffer, BufferLoad, FloatImm, IntImm, PrimExpr, StringImm
from . import index as ix
from .builder import here
from .operators import require_pure
from .values import check_dtype


def _expr(value):
    """A Python number as a constant expression; IR values unchanged."""
    if isinstance(value, PrimExpr):
        return value
    ix.as_value(value, here())
    dtype = "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
    return _api.const(dtype, value)


def _binary(name, python=None):
    from ..ir import _OP_INDEX

    number = _OP_INDEX[name]

    def op(a, b):
        return _api.binary(number, _expr(a), _expr(b), here())

    op.__name__ = name
    op.__doc__ = f"{name}(a, b)"
    return op


def _nary(name):
    fold = _binary(name)

    def op(*values):
        out = _expr(values[0])
        for value in values[1:]:
            out = fold(out, value)
        return out

    op.__name__ = name
    op.__doc__ = f"{name} of two or more values"
    return op


min, max = _nary("min"), _nary("max")  # noqa: A001
floordiv, floormod = _binary("floordiv"), _binary("floormod")
truncdiv, truncmod, div = _binary("truncdiv"), _binary("truncmod"), _binary("div")
bitwise_and, bitwise_or, bitwise_xor = _binary("bitwise_and"), _binary("bitwise_or"), _binary("bitwise_xor")
shift_left, shift_right = _binary("shift_left"), _binary("shift_right")


def ceildiv(a, b):
    """(a + b - 1) // b"""
    if not isinstance(a, PrimExpr) and not isinstance(b, PrimExpr):
        return -(-a // b)
    return (a + b - 1) // b


And, Or = _nary("and"), _nary("or")
all, any = And, Or  # noqa: A001


def Not(a):  # noqa: N802
    """Logical negation."""
    return getattr(_api, "not")(_expr(a), here())


def _math(name, arity=1, kind="float"):
    """A math function: all operands of one dtype, which is the dtype of the value."""

    def fn(*args):
        if len(args) != arity:
            raise TypeError(
                f"T.{name} takes {arity} operand{'s' if arity > 1 else ''}, {len(args)} were given"
            )
        args = [_expr(float(a) if kind == "float" and type(a) is int else a) for a in args]
        dtype = next((a.dtype for a in args if type(a) not in _CONSTANTS), args[0].dtype)
        if kind and kind not in dtype:
            raise _other_kind(name, kind, dtype)
        args = [a if a.dtype == dtype else _api.const(dtype, a) for a in args]
        return _api.call(dtype, f"tx.{name}", args, {}, here())

    fn.__name__ = name
    fn.__doc__ = f"{name} of {arity} operand{'s' if arity > 1 else ''}, as a value of the operands' dtype"
    return fn


_CONSTANTS = {IntImm, FloatImm}


def _other_kind(name, kind, dtype):
    return TypeMismatch(
        f"T.{name} is for {'float' if kind == 'float' else 'integer'} values",
        code="operator-not-defined",
        span=here(),
        found=str(dtype),
        required="a float dtype" if kind == "float" else "an integer dtype",
        hint="convert with T.float32(x)" if kind == "float" else "",
    )


MATH = {
    **{n: _math(n) for n in "exp exp2 log log2 sqrt rsqrt sin cos tanh erf floor ceil round trunc".split()},
    **{n: _math(n, kind="int") for n in "bitwise_not popcount clz".split()},
    "abs": _math("abs", kind=""), "pow": _math("pow", 2), "fma": _math("fma", 3),
}  # fmt: skip


def sigmoid(x):
    """1 / (1 + exp(-x))"""
    x = _expr(x)
    return 1.0 / (1.0 + MATH["exp"](-x))


def cast(value, dtype):
    """`value` converted to `dtype`."""
    return _api.cast(check_dtype(dtype), _expr(value), here())


def Cast(dtype, value):  # noqa: N802
    """`value` converted to `dtype` (the dtype first)."""
    return cast(value, dtype)


def reinterpret(dtype, value):
    """The bits of `value` as another dtype of the same width."""
    value = _expr(value)
    dtype = check_dtype(dtype)
    return _api.call(dtype, "tx.reinterpret", [value], {}, here())


def Select(cond, true_value, false_value):  # noqa: N802
    """cond ? true_value : false_value; only the chosen arm is evaluated, and neither may have effects."""
    if not isinstance(cond, PrimExpr):
        return true_value if cond else false_value
    for arm in (true_value, false_value):
        require_pure(arm, here(), "an arm of a selection")
    return _api.select(cond, _expr(true_value), _expr(false_value), here())


if_then_else = Select


def Ramp(base, stride, lanes):  # noqa: N802
    """The vector base, base + stride, ... of `lanes` elements; as an index: a vector access."""
    return _api.ramp(_expr(base), stride, lanes, here())


def Broadcast(value, lanes):  # noqa: N802
    """`value` in each of `lanes` lanes."""
    return _api.broadcast(_expr(value), lanes, here())


def address_of(place):
    """Pointer to a buffer element (or to the first element of a buffer)."""
    if isinstance(place, Buffer):
        place = place[tuple(0 for _ in place.shape)]
    if not isinstance(place, BufferLoad):
        raise TypeMismatch(
            "only a buffer element has an address",
            code="no-address",
            span=here(),
            found=ix.describe(place),
            required="buffer[i, ...]",
        )
    return _api.call("handle", "tx.address_of", [place], {}, here())


def filter_range(scope_id, lo, hi):
    """lo <= scope_id < hi as a scope predicate."""
    return _api.call("bool", "tx.filter_range", [scope_id, lo, hi], {}, here())


def call(dtype, op, *args, attrs=None):
    """A raw Call node. Prefer T.ptx / T.cuda names, which are checked against the instruction table."""
    return _api.call("void" if dtype == "void" else check_dtype(dtype), op, list(args), attrs or {}, here())


def min_value(dtype):
    """The smallest value of an integer dtype, -inf of a float dtype."""
    return _limit(check_dtype(dtype), -1)


def max_value(dtype):
    """The largest value of an integer dtype, inf of a float dtype."""
    return _limit(check_dtype(dtype), 1)


def _limit(dtype, sign):
    import tvm_ffi

    bits = tvm_ffi.dtype(dtype).bits
    if "float" in dtype:
        return _api.const(dtype, sign * float("inf"))
    if dtype.startswith("u") or dtype == "bool":
        top = 1 if dtype == "bool" else -1 if bits == 64 else (1 << bits) - 1
        return (
            _api.const(dtype, top if sign > 0 else 0)
            if top >= 0
            else _api.IntImm(dtype, -1 if sign > 0 else 0)
        )
    return _api.const(dtype, (1 << (bits - 1)) - 1 if sign > 0 else -(1 << (bits - 1)))


def infinity(dtype):
    """inf of a float dtype."""
    return _api.const(check_dtype(dtype), float("inf"))


def func_call(name, *args, source_code="", return_type="void"):
    """A call of a device function of user CUDA source."""
    dtype = return_type if return_type == "void" else check_dtype(return_type)
    attrs = {"name": name, "source": source_code, "return_type": str(return_type)}
    return _api.call(
        dtype,
        "tx.func_call",
        [_expr(a) if not isinstance(a, str) else StringImm(a) for a in args],
        attrs,
        here(),
    )
