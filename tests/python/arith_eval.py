"""Reference semantics of integer expressions on many points at once, with numpy.

A value is (array, fits, trap): the results in the dtype's own arithmetic, the points at which no signed
overflow happened on the way, and the points at which a division by zero did. Only the arm that is chosen
counts for select, and, or. Nothing here knows how the simplifier works.
"""

import numpy as np

from tirx import ir

BITS = {"int32": 32, "int64": 64, "uint32": 32, "uint64": 64, "bool": 1}


def storage(dtype):
    """The numpy dtype that values are kept in: 64 bits wide, so that narrow types can be range-checked."""
    return np.uint64 if dtype == "uint64" else np.int64


def in_range(values, dtype):
    if dtype in ("int64", "uint64", "bool"):
        return np.ones(values.shape, bool)
    lo, hi = (-(2**31), 2**31 - 1) if dtype == "int32" else (0, 2**32 - 1)
    return (values >= lo) & (values <= hi)


def _add64(a, b):
    r = a + b
    return r, ((a ^ r) & (b ^ r)) >= 0


def _sub64(a, b):
    r = a - b
    return r, ((a ^ b) & (a ^ r)) >= 0


def _mul64(a, b):
    r = a * b
    safe = np.where(a == 0, 1, a)
    lowest = np.iinfo(np.int64).min
    exact = (r // safe == b) & (r % safe == 0) & ~((a == -1) & (b == lowest)) & ~((b == -1) & (a == lowest))
    return r, (a == 0) | exact


def _arithmetic(name, a, b, dtype):
    """Wrapping for unsigned, checked for signed."""
    if dtype == "uint64":
        r = {"add": a + b, "sub": a - b, "mul": a * b}[name]
        return r, np.ones(r.shape, bool)
    if dtype == "uint32":
        r = {"add": a + b, "sub": a - b, "mul": (a.astype(np.uint64) * b.astype(np.uint64)).astype(np.int64)}
        return r[name] & 0xFFFFFFFF, np.ones(a.shape, bool)
    r, fits = {"add": _add64, "sub": _sub64, "mul": _mul64}[name](a, b)
    return r, fits & in_range(r, dtype)


def _division(name, a, b, dtype):
    zero = b == 0
    safe = np.where(zero, 1, b).astype(a.dtype)
    fits = np.ones(a.shape, bool)
    if dtype == "int64":
        fits &= ~((a == np.iinfo(np.int64).min) & (b == -1))
        safe = np.where((a == np.iinfo(np.int64).min) & (b == -1), 1, safe)
    q, r = a // safe, a % safe
    if name.startswith("trunc") and not dtype.startswith("u"):
        inexact = (r != 0) & ((a < 0) != (safe < 0))
        q, r = q + inexact, np.where(inexact, r - safe, r)
    out = q if name.endswith("div") else r
    return out, fits & (zero | in_range(q, dtype)), zero


def _shift(name, a, b, dtype):
    legal = (b >= 0) & (b < BITS[dtype])
    safe = np.where(legal, b, 0).astype(a.dtype)
    if name == "shift_right":
        return a >> safe, legal
    if dtype in ("int32", "int64"):
        narrow = np.where(safe == 63, 0, safe)
        r, fits = _mul64(a, np.int64(1) << narrow)
        return r, legal & fits & (safe != 63) & in_range(r, dtype)
    r = a << safe
    return (r & 0xFFFFFFFF if dtype == "uint32" else r), legal


_COMPARE = {
    "eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal,
    "gt": np.greater, "ge": np.greater_equal,
}  # fmt: skip
_BITS = {"bitwise_and": np.bitwise_and, "bitwise_or": np.bitwise_or, "bitwise_xor": np.bitwise_xor}


def binary(name, x, y, dtype):
    """name(x, y) for operands of `dtype`."""
    (a, ok_a, trap_a), (b, ok_b, trap_b) = x, y
    if name in ("and", "or"):
        skip = (a == 0) if name == "and" else (a != 0)
        value = (a != 0) & (b != 0) if name == "and" else (a != 0) | (b != 0)
        return value.astype(np.int64), ok_a & (skip | ok_b), trap_a | (~skip & trap_b)
    ok, trap = ok_a & ok_b, trap_a | trap_b
    with np.errstate(all="ignore"):
        if name in _COMPARE:
            return _COMPARE[name](a, b).astype(np.int64), ok, trap
        if name in _BITS:
            return _BITS[name](a, b), ok, trap
        if name in ("min", "max"):
            return (np.minimum if name == "min" else np.maximum)(a, b), ok, trap
        if name.startswith("shift"):
            r, fits = _shift(name, a, b, dtype)
        elif name.endswith(("div", "mod")):
            r, fits, zero = _division(name, a, b, dtype)
            trap = trap | zero
        else:
            r, fits = _arithmetic(name, a, b, dtype)
    return r, ok & fits, trap


def cast(x, source, dtype):
    """Value conversion: wraps to the bits of dtype."""
    a, ok, trap = x
    if dtype == "bool":
        return (a != 0).astype(np.int64), ok, trap
    if dtype == "uint64":
        return a.astype(np.uint64), ok, trap
    a = a.astype(np.int64)
    if dtype == "uint32":
        a = a & 0xFFFFFFFF
    elif dtype == "int32":
        a = ((a & 0xFFFFFFFF) ^ 0x80000000) - 0x80000000
    return a, ok, trap


def select(c, t, f):
    """c ? t : f, evaluating one arm."""
    taken = c[0] != 0
    return tuple(
        combine(np.where(taken, u, v)) for combine, u, v in zip((_same, c[1].__and__, c[2].__or__), t, f)
    )


def _same(v):
    return v


def negate(x):
    return (x[0] == 0).astype(np.int64), x[1], x[2]


def constant(value, dtype, n):
    return np.full(n, value, storage(dtype)), np.ones(n, bool), np.zeros(n, bool)


def evaluate(e, env, n):
    """The value of expression e where env maps Var -> (array, ok, trap) of n points."""
    kind = type(e)
    if kind is ir.Var:
        return env[e]
    dtype = str(e.dtype)
    if kind is ir.IntImm:
        value = e.value + 2**64 if dtype == "uint64" and e.value < 0 else e.value
        return constant(value, dtype, n)
    if kind is ir.Binary:
        return binary(e.name, evaluate(e.a, env, n), evaluate(e.b, env, n), str(e.a.dtype))
    if kind is ir.Not:
        return negate(evaluate(e.a, env, n))
    if kind is ir.Cast:
        return cast(evaluate(e.value, env, n), str(e.value.dtype), dtype)
    if kind is ir.Select:
        return select(*(evaluate(x, env, n) for x in (e.cond, e.true_value, e.false_value)))
    raise NotImplementedError(kind)
