"""The IR in Python: faces of the C++ nodes (include/tirx/expr, layout, ir). No logic lives here twice.

Nodes are immutable and built through checked constructors. Compare with `structural_equal`, find the
first difference with `first_difference`, walk with `walk`/`mutate`, print with `str(func)`.
"""

from __future__ import annotations

import tvm_ffi
from tvm_ffi import Array, Object, register_object

from . import _ffi_api as _api
from . import errors  # noqa: F401  (registers the error kinds)
from .buffer import BufferMethods

BIN_OPS = [(str(n), str(s) or None) for n, s in _api.bin_ops()]
_OP_INDEX = {name: i for i, (name, _) in enumerate(BIN_OPS)}
_ADD, _SUB, _MUL, _FLOORDIV, _FLOORMOD = _api.add, _api.sub, _api.mul, _api.floordiv, _api.floormod
_BINARY, _NOT = _api.binary, getattr(_api, "not")


def _infix(name):
    index = _OP_INDEX[name]

    def forward(self, other):
        return _BINARY(index, self, other, None)

    def backward(self, other):
        return _BINARY(index, other, self, None)

    return forward, backward


class _Printed:
    """Nodes whose text takes several lines: `str(node)` and `node.script()` are the script language."""

    def script(self) -> str:
        """The whole text; for a PrimFunc, tirx.script.from_source reads it back."""
        return str(_api.print_script(self, -1))

    def __str__(self):
        return self.script()

    def __repr__(self):
        return str(_api.print_script(self, _REPR_LIMIT))


_REPR_LIMIT = 4000


class _Operators:
    """Python operators on expressions; each calls the checked C++ factory."""

    __slots__ = ()

    def __add__(self, o):
        return _ADD(self, o, None)

    def __radd__(self, o):
        return _ADD(o, self, None)

    def __sub__(self, o):
        return _SUB(self, o, None)

    def __rsub__(self, o):
        return _SUB(o, self, None)

    def __mul__(self, o):
        return _MUL(self, o, None)

    def __rmul__(self, o):
        return _MUL(o, self, None)

    def __floordiv__(self, o):
        return _FLOORDIV(self, o, None)

    def __rfloordiv__(self, o):
        return _FLOORDIV(o, self, None)

    def __mod__(self, o):
        return _FLOORMOD(self, o, None)

    def __rmod__(self, o):
        return _FLOORMOD(o, self, None)

    __truediv__, __rtruediv__ = _infix("div")
    __and__, __rand__ = _infix("bitwise_and")
    __or__, __ror__ = _infix("bitwise_or")
    __xor__, __rxor__ = _infix("bitwise_xor")
    __lshift__, __rlshift__ = _infix("shift_left")
    __rshift__, __rrshift__ = _infix("shift_right")
    __lt__, _ = _infix("lt")
    __le__, _ = _infix("le")
    __gt__, _ = _infix("gt")
    __ge__, _ = _infix("ge")
    __eq__, _ = _infix("eq")
    __ne__, _ = _infix("ne")
    del _
    __hash__ = Object.__hash__

    def __neg__(self):
        # -0.0 - x, not 0.0 - x: the negative of zero is minus zero
        return _SUB(-0.0 if "float" in self.dtype else 0, self, None)

    def __invert__(self):
        dtype = self.dtype
        return _NOT(self, None) if dtype == "bool" else call(dtype, "tx.bitwise_not", [self])

    def __bool__(self):
        # `==` on expressions builds IR; as a Python truth value it means "the same node", which is what
        # dict keys, `in` and assertions need.
        if isinstance(self, IntImm):
            return self.value != 0
        if isinstance(self, Binary) and self.name in ("eq", "ne"):
            return self.a.same_as(self.b) == (self.name == "eq")
        raise errors.ScriptError(
            "an IR expression has no Python truth value",
            code="no-truth-value", found=f"a {type(self).__name__} in a Python condition",
            required="a value known to Python",
            hint="use `a.same_as(b)` or structural_equal(a, b); in a kernel, `if` on IR values is a branch",
        )  # fmt: skip

    def astype(self, dtype):
        """This value converted to `dtype` (tx.cast)."""
        return _api.cast(dtype, self, None)

    def equal(self, other):
        """IR equality `self == other` as a bool expression."""
        return _BINARY(_OP_INDEX["eq"], self, other, None)


@register_object("tx.Span")
class Span(Object):
    """A source range; see errors.Location for the units."""

    def __init__(self, file, line, column, end_line, end_column):
        self.__init_handle_by_constructor__(_api.Span, file, line, column, end_line, end_column)


@register_object("tx.PointerType")
class PointerType(Object):
    """Pointer to `element` in memory scope `scope`."""

    def __init__(self, element, scope="global"):
        self.__init_handle_by_constructor__(_api.PointerType, element, scope)


@register_object("tx.PrimExpr")
class PrimExpr(_Operators, Object):
    """A value of `dtype`."""

    __slots__ = ()


@register_object("tx.Var")
class Var(PrimExpr):
    """A variable, compared by where it is bound."""

    def __init__(self, name, dtype="int32", pointer=None, span=None):
        self.__init_handle_by_constructor__(_api.Var, name, dtype, pointer, span)


@register_object("tx.IntImm")
class IntImm(PrimExpr):
    """Integer or bool constant."""

    def __init__(self, dtype, value):
        self.__init_handle_by_constructor__(_api.IntImm, dtype, value)

    def __int__(self):
        return self.value

    def __index__(self):
        return self.value


@register_object("tx.FloatImm")
class FloatImm(PrimExpr):
    """Floating constant."""

    def __init__(self, dtype, value):
        self.__init_handle_by_constructor__(_api.FloatImm, dtype, value)

    def __float__(self):
        return self.value


@register_object("tx.StringImm")
class StringImm(PrimExpr):
    """String argument of a call."""

    def __init__(self, value):
        self.__init_handle_by_constructor__(_api.StringImm, value)


def _folding(make):
    """Decorator for nodes whose factory may fold: calling the class gives whatever node results."""

    def decorate(cls):
        def __new__(cls, *args, **kwargs):
            # The FFI wraps an existing node by a call without arguments.
            return make(*args, **kwargs) if args else Object.__new__(cls)

        def __init__(self, *args, **kwargs):
            pass

        cls.__new__, cls.__init__ = __new__, __init__
        return cls

    return decorate


@register_object("tx.Binary")
@_folding(lambda name, a, b, span=None: _BINARY(_OP_INDEX[name], a, b, span))
class Binary(PrimExpr):
    """Binary(name, a, b): `name` is the operator's name ("add", "floordiv", "lt", ...)."""

    @property
    def name(self) -> str:
        return BIN_OPS[self.op][0]


@register_object("tx.Not")
@_folding(lambda a, span=None: _NOT(a, span))
class Not(PrimExpr):
    """Not(a): logical negation."""


@register_object("tx.Select")
@_folding(lambda cond, true_value, false_value, span=None: _api.select(cond, true_value, false_value, span))
class Select(PrimExpr):
    """Select(cond, true_value, false_value); only the chosen arm is evaluated."""


@register_object("tx.Cast")
@_folding(lambda dtype, value, span=None: _api.cast(dtype, value, span))
class Cast(PrimExpr):
    """Cast(dtype, value): value conversion."""


@register_object("tx.Ramp")
@_folding(lambda base, stride, lanes, span=None: _api.ramp(base, stride, lanes, span))
class Ramp(PrimExpr):
    """Ramp(base, stride, lanes): the vector base, base+stride, ...; as an index, a vector access."""


@register_object("tx.Broadcast")
@_folding(lambda value, lanes, span=None: _api.broadcast(value, lanes, span))
class Broadcast(PrimExpr):
    """Broadcast(value, lanes): one value in every lane."""


@register_object("tx.Call")
class Call(PrimExpr):
    """Call by name: instruction, math function or intrinsic."""

    def __init__(self, dtype, op, args=(), attrs=None, span=None):
        self.__init_handle_by_constructor__(_api.call, dtype, op, list(args), attrs or {}, span)


@register_object("tx.Range")
class Range(Object):
    """[min, min + extent)"""

    def __init__(self, min, extent):
        self.__init_handle_by_constructor__(_api.Range, min, extent)


@register_object("tx.Buffer")
class Buffer(BufferMethods, Object):
    """A typed tensor in a memory scope; see include/tirx/ir/buffer.h."""

    def __init__(self, name, data, shape, dtype, layout=None, scope="global", elem_offset=0, align=0,
                 allocated_addr=None, span=None):  # fmt: skip
        self.__init_handle_by_constructor__(
            _api.Buffer, name, data, list(shape), dtype, layout, scope, elem_offset, align, allocated_addr,
            span,
        )  # fmt: skip

    @classmethod
    def make(cls, name, shape, dtype, scope="global", layout=None, align=0, span=None):
        """A fresh buffer with its own pointer variable."""
        data = Var(name + "_ptr", "handle", PointerType(tvm_ffi.dtype(dtype), scope))
        return cls(name, data, shape, dtype, layout, scope, 0, align, None, span)


@register_object("tx.BufferLoad")
class BufferLoad(PrimExpr):
    """buffer[indices]"""

    def __init__(self, buffer, indices, span=None):
        self.__init_handle_by_constructor__(_api.BufferLoad, buffer, list(indices), span)


@register_object("tx.BufferRegion")
class BufferRegion(Object):
    """A rectangular part of a buffer; `squeezed` lists the dimensions given by a scalar index."""

    def __init__(self, buffer, region, squeezed=(), span=None):
        self.__init_handle_by_constructor__(_api.BufferRegion, buffer, list(region), list(squeezed), span)


@register_object("tx.Stmt")
class Stmt(_Printed, Object):
    """Base of statements."""


def _stmt(key, fields, doc):
    """Declare a statement class whose constructor takes its fields in order, then span."""
    name = key.split(".")[1]
    make = getattr(_api, name)
    n = len(fields)

    def __init__(self, *args, span=None, **kw):
        values = list(args) + [kw.pop(f) for f in fields[len(args) :] if f in kw]
        if kw or len(values) != n:
            raise TypeError(f"{name} takes {', '.join(fields)} and span")
        self.__init_handle_by_constructor__(make, *values, span)

    cls = type(name, (Stmt,), {"__init__": __init__, "__doc__": doc, "__module__": __name__})
    return register_object(key)(cls)


@register_object("tx.SeqStmt")
@_folding(lambda seq, span=None: _api.SeqStmt(list(seq), span))
class SeqStmt(Stmt):
    """SeqStmt(seq): statements in order, flattened; a sequence of one is that statement."""


Bind = _stmt("tx.Bind", ["var", "value"], "Immutable definition, visible in the rest of the sequence.")
AllocBuffer = _stmt("tx.AllocBuffer", ["buffer"], "Uninitialised storage.")
DeclBuffer = _stmt("tx.DeclBuffer", ["buffer"], "A view of existing storage.")
BufferStore = _stmt("tx.BufferStore", ["buffer", "value", "indices"], "buffer[indices] = value")
Evaluate = _stmt("tx.Evaluate", ["value"], "An expression for its effects.")
For = _stmt(
    "tx.For",
    ["loop_var", "min", "extent", "kind", "body", "annotations"],
    "Counted loop; kind: serial, unroll, vectorized, parallel.",
)
While = _stmt("tx.While", ["cond", "body"], "Loop while cond holds.")
Break = _stmt("tx.Break", [], "Leave the innermost loop.")
Continue = _stmt("tx.Continue", [], "Next iteration of the innermost loop.")
IfThenElse = _stmt("tx.IfThenElse", ["cond", "then_case", "else_case"], "Branch; else_case may be None.")
Assert = _stmt("tx.Assert", ["cond", "message"], "Run-time check.")
ScopeIdDef = _stmt("tx.ScopeIdDef", ["vars", "kind", "extents", "attrs"], "Execution-scope ids.")
ExecScope = _stmt("tx.ExecScope", ["scope", "body"], "Team switch.")
Filter = _stmt("tx.Filter", ["cond", "body"], "Narrows the active set.")
DeviceEntry = _stmt("tx.DeviceEntry", [], "Host before, kernel after.")
AttrStmt = _stmt("tx.AttrStmt", ["key", "value"], "A fact about the rest of the sequence.")
TilePrimitiveCall = _stmt(
    "tx.TilePrimitiveCall",
    ["op", "args", "scope", "dispatch", "workspace", "config"],
    "An operation on tiles, replaced by dispatch.",
)


@register_object("tx.PrimFunc")
class PrimFunc(_Printed, Object):
    """One function; see include/tirx/ir/function.h."""

    def __init__(self, name, params, param_buffers, body, attrs=None, span=None):
        self.__init_handle_by_constructor__(
            _api.PrimFunc, name, list(params), list(param_buffers), body, attrs or {}, span
        )

    def __call__(self, *args, **kwargs):
        raise errors.ScriptError(
            f"{self.name} is a PrimFunc: it is compiled, not called",
            code="prim-func-called", span=self.span, found=f"a Python call of {self.name}(...)",
            required="an executable", hint="tirx.compile(fn, target)(...) runs it",
        )  # fmt: skip


@register_object("tx.IRModule")
class IRModule(_Printed, Object):
    """Functions by name."""

    def __init__(self, functions, attrs=None):
        self.__init_handle_by_constructor__(_api.IRModule, dict(functions), attrs or {})


@register_object("tx.LaunchPlan")
class LaunchPlan(Object):
    """Grid, cluster, threads, shared memory and attributes of a launch."""

    def __init__(self, grid, cluster=(1, 1, 1), threads=1, dyn_shared_bytes=0, static_shared_bytes=0,
                 min_blocks_per_sm=0, attrs=None):  # fmt: skip
        self.__init_handle_by_constructor__(
            _api.LaunchPlan, list(grid), list(cluster), threads, dyn_shared_bytes, static_shared_bytes,
            min_blocks_per_sm, attrs or {},
        )  # fmt: skip


@register_object("tx.Kernel")
class Kernel(_Printed, Object):
    """Host signature, device function and launch plan."""

    def __init__(self, host, device, symbols, launch):
        self.__init_handle_by_constructor__(_api.Kernel, host, device, list(symbols), launch)


@register_object("tx.InstrOperand")
class InstrOperand(Object):
    """Operand of an instruction; see include/tirx/ir/instr.h."""

    def __init__(self, name, dtype, space, access, otherwise=None):
        self.__init_handle_by_constructor__(_api.InstrOperand, name, dtype, space, access, otherwise)


@register_object("tx.Instr")
class Instr(Object):
    """One hardware instruction; see include/tirx/ir/instr.h."""

    def __init__(self, name, operands, result="void", features=(), form="asm", text="", helper="",
                 includes=(), effects=(), team="thread", sim="", sim_attrs=None, unsupported="",
                 result_of=-1):  # fmt: skip
        self.__init_handle_by_constructor__(
            _api.Instr, name, list(operands), result, list(features), form, text, helper, list(includes),
            list(effects), team, sim, sim_attrs or {}, unsupported, result_of,
        )  # fmt: skip


def call(dtype, op, args=(), attrs=None, span=None):
    """A Call expression (the factory is faster than the class)."""
    return _api.call(dtype, op, args if isinstance(args, list) else list(args), attrs or {}, span)


def instr_call(name, args=(), attrs=None, span=None):
    """A call of an instruction of the table, checked and completed (MakeInstrCall in ir/instr.h)."""
    return _api.instr_call(name, args if isinstance(args, list) else list(args), attrs or {}, span)


def select(cond, true_value, false_value, span=None):
    """cond ? true_value : false_value; only the chosen arm is evaluated."""
    return _api.select(cond, true_value, false_value, span)


def const(value, dtype):
    """`value` as a constant of `dtype`; folds."""
    return _api.const(dtype, value)


def structural_equal(a, b, map_free_vars=False) -> bool:
    """Equality up to names of bound variables and spans."""
    return tvm_ffi.structural_equal(a, b, map_free_vars=map_free_vars)


def structural_hash(a, map_free_vars=False) -> int:
    """Hash consistent with structural_equal."""
    return tvm_ffi.structural_hash(a, map_free_vars=map_free_vars)


def first_difference(a, b):
    """(path in a, path in b) of the first structural difference, as text, or None when equal."""
    pair = tvm_ffi.get_first_structural_mismatch(a, b)
    return None if pair is None else (str(pair[0]), str(pair[1]))


def substitute(node, values):
    """`node` (expression or statement) with variables replaced; values: dict Var -> expression."""
    return _api.substitute(node, values)


def _keys(cls) -> list:
    """Type keys of a node class and of every class derived from it."""
    return [cls.__tvm_ffi_type_info__.type_key] + [k for sub in cls.__subclasses__() for k in _keys(sub)]


def walk(node, fn, types=(PrimExpr, Stmt)):
    """Call fn(n) for every node of `types` in `node`, in program order, parents before children.

    node: PrimFunc, IRModule, statement, expression, buffer, region, layout or a container of those.
    types: classes of this module (bases match); Buffer is seen where it is defined. A callback that returns
    False leaves out the children.

        loads = []
        walk(func, loads.append, BufferLoad)
    """
    types = types if isinstance(types, (tuple, list)) else (types,)
    _api.walk(node, [key for cls in types for key in _keys(cls)], fn)


def mutate(node, rules):
    """`node` rebuilt bottom-up: rules maps classes to functions from a node to its replacement (or None).

    The first rule whose class matches applies, after the node's children were rewritten. Nodes are rebuilt
    by the checked constructors; the result is the same object when nothing changed. A Buffer rule
    replaces the buffer where it is defined and used; a Var rule sees uses only.

        mutate(func, {For: lambda loop: None if loop.kind == "serial" else with_serial(loop)})
    """
    table = [(key, fn) for cls, fn in rules.items() for key in _keys(cls)]
    return _api.mutate(node, [key for key, _ in table], [fn for _, fn in table])


def items(array: Array) -> list:
    """An FFI array as a list (iterating it element by element is slower)."""
    return list(array)
