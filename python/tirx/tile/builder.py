"""Building the statements that a rule returns.

Everything here produces native-style IR: flat buffers, element indices, `Ramp` indices for vector
accesses. Python ints are folded before they reach C++; index sums skip zeros.

    Builder(call, ctx).loop(4, lambda i: b.store(dst, i * 32 + ctx.lane, b.load(src, i * 32 + ctx.lane)))
"""

from __future__ import annotations

from .. import _ffi_api as _api
from ..ir import _OP_INDEX, Buffer, FloatImm, IntImm, PointerType, PrimExpr, Var

_LOOP_NAMES = "ijklmnop"
_AND = _OP_INDEX["and"]
_ramp, _broadcast, _load, _store = _api.ramp, _api.broadcast, _api.BufferLoad, _api.BufferStore


def as_int(e):
    """The value of a Python int or IntImm, else None."""
    if type(e) is int:
        return e
    return e.value if isinstance(e, IntImm) else None


def expr_text(e) -> str:
    """A short text of an expression or Python value for messages."""
    if isinstance(e, (IntImm, FloatImm)):
        return str(e.value)
    return str(e.name) if isinstance(e, Var) else str(e)


def plus(a, b):
    """a + b for ints and expressions; adding 0 costs nothing."""
    if type(a) is int and a == 0:
        return b
    return a if type(b) is int and b == 0 else a + b


def times(a, k):
    """a * k; multiplying by 0 or 1 costs nothing."""
    if type(k) is int:
        if k == 1:
            return a
        if k == 0:
            return 0
    return a * k


def digit(value, divisor: int, extent):
    """(value // divisor) % extent; `extent` None: the leading digit, which needs no modulo."""
    if divisor != 1:
        value = value // divisor
    return value if extent is None else value % extent


def swizzled(m, swizzle):
    """The address of memory coordinate `m` under a ComposeLayout's (per_element, bits, shift).

    addr(m) = m ^ (((m >> (M + S)) & (2^B - 1)) << M), include/tirx/layout/layout.h.
    """
    per_element, bits, shift = swizzle
    if not bits:
        return m
    return m ^ (((m >> (per_element + shift)) & ((1 << bits) - 1)) << per_element)


class Builder:
    """Statement factory of one call: every node carries the call's span."""

    __slots__ = ("span",)

    def __init__(self, span=None):
        self.span = span

    def ramp(self, index, lanes: int):
        """`index` itself, or the vector index of `lanes` consecutive elements from it."""
        return index if lanes == 1 else _ramp(index, 1, lanes, self.span)

    def load(self, buffer, index, lanes=1):
        """buffer[index : index + lanes] of a flat buffer."""
        return _load(buffer, [self.ramp(index, lanes)], self.span)

    def store(self, buffer, index, value, lanes=1):
        """buffer[index : index + lanes] = value; a scalar value goes to every lane."""
        if lanes != 1 and not (isinstance(value, PrimExpr) and value.dtype.lanes == lanes):
            value = _broadcast(value, lanes, self.span)
        return _store(buffer, value, [self.ramp(index, lanes)], self.span)

    def load_at(self, buffer, index):
        """buffer[index]; `index` is one flat index or a list with one per dimension."""
        return _load(buffer, index if type(index) is list else [index], self.span)

    def store_at(self, buffer, index, value):
        """buffer[index] = value; `index` as in load_at."""
        return _store(buffer, value, index if type(index) is list else [index], self.span)

    def place(self, buffer, index):
        """The element as an operand: what an instruction reads or writes."""
        return _load(buffer, [index], self.span)

    def pointer(self, buffer, index):
        """Address of the element, as an instruction operand."""
        return _api.call("handle", "tx.address_of", [_load(buffer, [index], self.span)], {}, self.span)

    def evaluate(self, expr):
        """An expression for its effects."""
        return _api.Evaluate(expr, self.span)

    def instr(self, name, *args):
        """An instruction of the target's table for its effects; missing trailing operands are filled in."""
        return _api.Evaluate(_api.instr_call(name, list(args), {}, self.span), self.span)

    def seq(self, *stmts):
        """Statements in order; nested sequences are flattened."""
        return stmts[0] if len(stmts) == 1 else _api.SeqStmt(list(stmts), self.span)

    def when(self, conditions, stmt, otherwise=None):
        """`stmt` under the conjunction of `conditions` (a list, possibly empty), else `otherwise`."""
        if not conditions:
            return stmt
        both = conditions[0]
        for c in conditions[1:]:
            both = logical_and(both, c)
        return _api.IfThenElse(both, stmt, otherwise, self.span)

    def bind(self, name, value, dtype="int32"):
        """(variable, statement) of an immutable definition."""
        var = Var(name, dtype)
        return var, _api.Bind(var, value, self.span)

    def loop(self, extent, body, kind="unroll", name="i", dtype="int32"):
        """for name in range(extent): body(name); one iteration becomes body(0)."""
        if type(extent) is int and extent == 1:
            return body(0)
        var = Var(name, dtype)
        return _api.For(var, 0, extent, kind, body(var), {}, self.span)

    def loops(self, extents, body, kinds=None):
        """A nest of loops, outermost first; body receives the loop variables. kinds: one per loop."""
        vars_ = [Var(_LOOP_NAMES[min(k, 7)]) for k in range(len(extents))]
        stmt = body(vars_)
        for k in reversed(range(len(extents))):
            kind = kinds[k] if kinds else "unroll"
            stmt = _api.For(vars_[k], 0, extents[k], kind, stmt, {}, self.span)
        return stmt

    def alias(self, buffer, dtype, extent):
        """(view, declaration): the storage of a flat buffer seen as `extent` elements of `dtype`."""
        view = Buffer(
            f"{buffer.name}_{dtype}", buffer.data, [extent], dtype, None, str(buffer.scope),
            _alias_offset(buffer, dtype), buffer.align, None, self.span,
        )  # fmt: skip
        return view, _api.DeclBuffer(view, self.span)

    def scratch(self, name, extent, dtype):
        """(buffer, allocation) of private registers."""
        data = Var(f"{name}_ptr", "handle", PointerType(dtype, "local"))
        buffer = Buffer(name, data, [extent], dtype, None, "local", 0, 0, None, self.span)
        return buffer, _api.AllocBuffer(buffer, self.span)


def _alias_offset(buffer, dtype):
    offset = as_int(buffer.elem_offset)
    if offset == 0:
        return 0
    old, new = buffer.dtype.bits, type(buffer.dtype)(dtype).bits
    if offset is None:
        return buffer.elem_offset * old // new
    return offset * old // new


def logical_and(a, b):
    """a and b as a bool expression."""
    return _api.binary(_AND, a, b, None)
