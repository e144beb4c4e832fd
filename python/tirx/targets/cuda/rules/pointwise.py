"""Pointwise primitives: unary functions, binary arithmetic, fma and select.

Operands are buffer regions or scalars; a region broadcasts along dimensions where its extent is 1 (a row maximum
subtracted from a row, say). Registers are computed one by one; memory is read and written with the widest access that
alignment proves, through registers in between. 16-bit and smaller floats are computed in float32 by the functions that
have no exact 16-bit form, and rounded once.
"""

from __future__ import annotations

from ....errors import TypeMismatch
from ....ir import Binary, BufferRegion, FloatImm, PrimExpr, call, const, select
from ....tile.builder import as_int
from ....tile.checks import check_registers, check_same_shape
from ....tile.emit import emit
from ....tile.operand import View, box_of
from ....tile.partition import WIDTHS, divide
from ....tile.registry import fail, register_dispatch
from ....tile.scalar import scalar_loops
from .common import SPACES, access_name

UNARY = ("sqrt", "exp", "exp2", "log2", "reciprocal", "silu")
BINARY = ("add", "sub", "mul", "fdiv", "maximum", "minimum")
SOURCES = {
    **{op: ("src", "bias", "scale") for op in UNARY},
    **{op: ("src1", "src2") for op in BINARY},
    "fma": ("a", "b", "c"),
    "select": ("true_value", "false_value", "pred"),
}


# ---- what is computed ----


def _float(x, value):
    return FloatImm(str(x.dtype), value)


def _function(name, x):
    return call(x.dtype, f"tx.{name}", [x])


def _unary(op, x, bias, scale):
    """f(x * scale + bias) in x's dtype."""
    if scale is not None:
        x = x * scale
    if bias is not None:
        x = x + bias
    if op == "reciprocal":
        return _float(x, 1.0) / x
    if op == "silu":
        return x / (_float(x, 1.0) + _function("exp", _float(x, 0.0) - x))
    return _function(op, x)


def _binary(op, x, y):
    return Binary({"fdiv": "div", "maximum": "max", "minimum": "min"}.get(op, op), x, y)


def compute(op, values):
    """The value of one element of dst from the sources' elements (None: absent), in one common dtype."""
    if op in UNARY:
        return _unary(op, *values)
    if op in BINARY:
        return _binary(op, *values)
    if op == "fma":
        if "float" not in str(values[0].dtype):
            return values[0] * values[1] + values[2]
        return call(values[0].dtype, "tx.fma", values)
    return select(values[2], values[0], values[1])


def working_dtype(op, dtype) -> str:
    """The dtype in which `op` on elements of `dtype` is computed: float32 for functions of small floats."""
    small = "float" in str(dtype) and dtype.bits < 32
    return "float32" if small and (op in UNARY or op == "fma" or dtype.bits < 16) else str(dtype)


# ---- operands ----


class _Sources:
    """The sources of a call: regions as Operands, scalars as expressions; `dtype` is the common one."""

    def __init__(self, call_):
        self.call, self.dst = call_, call_.operand("dst")
        self.names = [n for n in SOURCES[call_.op] if n in call_.names]
        self.values = [self._read(n) for n in self.names]
        if call_.op in UNARY and self.values[0] is None:
            self.values[0] = self.dst
        self.regions = [v for v in self.values if hasattr(v, "buffer")]
        self.dtype = self._common_dtype()

    def _read(self, name):
        value = self.call.arg(name)
        return self.call.operand(name) if isinstance(value, BufferRegion) else value

    def _common_dtype(self):
        data = [
            v.buffer.dtype for n, v in zip(self.names, self.values) if hasattr(v, "buffer") and n != "pred"
        ]
        kinds = {str(t) for t in data}
        if len(kinds) > 1:
            raise self.call.error(
                TypeMismatch, f"{self.call.op} computes on elements of one dtype", code="operand-dtypes-differ",
                found=", ".join(f"{v.name} is {v.describe()}" for v in self.regions), required="one dtype",
                hint="Tx.cast converts between dtypes",
            )  # fmt: skip
        return data[0] if data else self.dst.buffer.dtype

    def element(self, loads):
        """The expression of one element; loads: element expressions of the regions, in order."""
        work, it, out = working_dtype(self.call.op, self.dtype), iter(loads), []
        for name, value in zip(self.names, self.values):
            if value is None:
                out.append(None)
                continue
            e = next(it) if hasattr(value, "buffer") else value
            wanted = "bool" if name == "pred" else work
            e = e if isinstance(e, PrimExpr) else const(e, wanted)
            out.append(e != 0 if wanted == "bool" and str(e.dtype) != "bool" else e.astype(wanted))
        return compute(self.call.op, out).astype(self.dst.buffer.dtype)


def _sources(call_):
    """The sources of a call, read once."""
    cached = call_._operands.get("<sources>")
    if cached is None:
        cached = call_._operands["<sources>"] = _Sources(call_)
    return cached


def _computable(call_, ctx):
    s = _sources(call_)
    if call_.op in (*UNARY, "fdiv") and "float" not in str(s.dtype):
        raise call_.error(
            TypeMismatch, f"{call_.op} is a function of floats", code="operand-not-a-float",
            found=f"elements of {s.dtype}", required="a float dtype", hint="Tx.cast converts between dtypes",
        )  # fmt: skip
    operands = [s.dst, *s.regions]
    for op in s.regions:
        if not _broadcasts(op, s.dst):
            check_same_shape(call_, s.dst, op)
    for op in operands:
        if op.space not in SPACES:
            return f"{op.name} is in {op.facts.scope}, which load and store instructions do not reach"
    check_registers(call_, ctx, *operands)
    return ctx.scope != "cluster" or "every CTA of a cluster has its own memory"


def _broadcasts(op, dst) -> bool:
    """Whether op has dst's rank and, where its extent differs, extent 1."""
    if len(op.extents) != len(dst.extents):
        return False
    return all(as_int(e) == 1 or e is d or e == d or (hasattr(e, "same_as") and hasattr(d, "same_as") and e.same_as(d))
               for e, d in zip(op.extents, dst.extents))  # fmt: skip


def _stretched(op, dst, to, extents, ctx):
    """The view of a source, with its dimensions of extent 1 repeated along dst's."""
    wide = [k for k, e in enumerate(op.extents) if as_int(e) == 1 and extents[k] != 1]
    own = [1 if k in wide else e for k, e in enumerate(extents)]
    view = View(op, own, ctx)
    replicas = list(view.replica)
    for k in wide:
        view.dims[k] = [(e, 0, t if view.distributed else 0) for e, _, t in to.dims[k]] or [
            (extents[k], 0, 0)
        ]
        for e, _, t in view.dims[k]:
            if t and (e, 0, t) not in replicas:
                fail(f"{op.name} is not replicated over the threads that {dst.name} is distributed over")
            if t:
                replicas.remove((e, 0, t))
    view.replica = tuple(replicas)
    return view


# ---- the rules ----


def _emit_vectors(call_, ctx, widths):
    """Loads as wide as possible into registers, the computation element by element, one wide store."""
    s, b = _sources(call_), call_.builder()
    extents, limits = box_of([s.dst, *(op for op in s.regions if op.extents == s.dst.extents)], ctx)
    views = [View(s.dst, extents, ctx)]
    views += [_stretched(op, s.dst, views[0], extents, ctx) for op in s.regions]
    if all(v.space == "local" for v in views):
        widths = ()
    lead = next((k for k, v in enumerate(views) if v.space == "global"), 0)
    work = divide(ctx, views, extents, limits, widths, lead, 1)
    ctx.covers(work.part.proof)
    ctx.emits(f"{working_dtype(call_.op, s.dtype)} {call_.op}", work.part.steps * work.part.lanes)
    flats = [v.flat(ctx) for v in work.views]
    return emit(work, ctx, b, lambda ix: _step(s, b, flats, ix, work.part.lanes))


def _step(s, b, flats, ix, n):
    """One access: n elements."""
    if n == 1:
        return b.store(flats[0], ix[0], s.element([b.load(f, i) for f, i in zip(flats[1:], ix[1:])]))
    out, allocate = b.scratch("value", n, str(flats[0].dtype))
    parts, stmts = [], [allocate]
    for f, i in zip(flats[1:], ix[1:]):
        part, alloc = b.scratch(f"{f.name}_part", n, str(f.dtype))
        stmts += [alloc, b.store(part, 0, b.load(f, i, n), n)]
        parts.append(part)
    stmts.append(b.loop(n, lambda j: b.store(out, j, s.element([b.load(p, j) for p in parts])), name="lane"))
    return b.seq(*stmts, b.store(flats[0], ix[0], b.load(out, 0, n), n))


def _in_registers(call_, ctx):
    return call_.operand("dst").space == "local" or "dst is not in registers"


def _in_memory(call_, ctx):
    return call_.operand("dst").space != "local" or "dst is in registers"


def _register(op):
    @register_dispatch(op, "cuda", variant="reg", priority=10, when=[_computable, _in_registers])
    def pointwise_registers(call_, ctx):
        """Each thread computes the registers that it owns, replicas included."""
        return _emit_vectors(call_, ctx, WIDTHS)

    @register_dispatch(op, "cuda", variant="smem", priority=10, when=[_computable, _in_memory])
    def pointwise_memory(call_, ctx):
        """Vector loads and stores around the computation."""
        return _emit_vectors(call_, ctx, WIDTHS)

    @register_dispatch(op, "cuda", variant="fallback", priority=0, when=[_computable])
    def pointwise_elements(call_, ctx):
        """One element at a time: odd shapes and symbolic extents."""
        s, b = _sources(call_), call_.builder()
        if any(op.extents != s.dst.extents for op in s.regions):
            fail("broadcasting needs layouts with a common refinement")
        stores, reads = s.dst.storage(ctx), [op.storage(ctx) for op in s.regions]
        stmt, steps = scalar_loops(
            call_, ctx, [s.dst, *s.regions],
            lambda ix: b.store_at(stores, ix[0], s.element([b.load_at(r, i) for r, i in zip(reads, ix[1:])])),
        )  # fmt: skip
        ctx.emits(access_name(max(1, s.dst.facts.bits // 8), s.dst.space), steps)
        return stmt


for _op in SOURCES:
    _register(_op)
