"""gemm: D = alpha * op(A) op(B) + beta * C with mma.sync on register fragments, and scalar FMA for the rest.

mma.m16n8k* (PTX ISA 9.1 section 9.7.14.5): with g = lane / 4 and q = lane % 4,

    A  row g + 8 h, word q of 4-byte words, repeated `words` times along K   register 2 * word + h
    B  column g,    word q of 4-byte words, repeated `words` times along K   register word
    D  row g + 8 h, columns 2 q and 2 q + 1                                  register 2 * h + column

A fragment's layout is matched to this form digit by digit, innermost first; what is left of M, N and K becomes loops
(registers) or warps (of a warpgroup or CTA). Registers may lie anywhere in the thread's storage, as long as the elements
of one 32-bit word are together.
"""

from __future__ import annotations

from math import prod

from ....errors import TypeMismatch
from ....ir import FloatImm, IntImm, PrimExpr, call
from ....tile.builder import plus, times
from ....tile.checks import check_registers, check_scope
from ....tile.coverage import proof_text, prove_digits
from ....tile.operand import View
from ....tile.partition import join_steps
from ....tile.registry import fail, predicate, register_dispatch
from ....tile.scalar import scalar_loops
from .common import SPACES

# (A and B dtype, D dtype) -> (PTX operand type, PTX accumulator type, feature, instruction K, largest first)
_FORMS = {
    ("float16", "float32"): ("f16", "f32", "mma.f16", (16, 8)),
    ("float16", "float16"): ("f16", "f16", "mma.f16", (16, 8)),
    ("bfloat16", "float32"): ("bf16", "f32", "mma.bf16", (16, 8)),
    ("float32", "float32"): ("tf32", "f32", "mma.tf32", (8, 4)),
}


class _Dims:
    """Some dimensions of a View as join_steps takes them."""

    __slots__ = ("dims", "distributed", "name")

    def __init__(self, view, dims):
        self.dims, self.distributed, self.name = dims, view.distributed, view.name


# ---- what the operands are ----


def operands_of(call):
    """(D, A, B, C or None, M, N, K); a user error when the shapes do not multiply."""
    d, a, b = call.operands("D", "A", "B")
    c = call.operand("C") if call.arg("C") is not None else None
    for op in (d, a, b):
        if len(op.extents) != 2:
            raise _shape_error(call, f"{op.name} is {op.describe()}", "three matrices of two dimensions")
    (m, k), (n, k2) = _turned(a, call.arg("transpose_A")), _turned(b, not call.arg("transpose_B"))
    if not (_equal(d.extents[0], m) and _equal(d.extents[1], n) and _equal(k, k2)):
        found = ", ".join(f"{op.name} is {op.describe()}" for op in (d, a, b))
        flags = f"transpose_A={bool(call.arg('transpose_A'))}, transpose_B={bool(call.arg('transpose_B'))}"
        raise _shape_error(call, f"{found}; {flags}", "D[M, N], op(A)[M, K] and op(B)[K, N]")
    if c is not None and not all(_equal(x, y) for x, y in zip(c.extents, d.extents)):
        raise _shape_error(call, f"C is {c.describe()}, D is {d.describe()}", "C and D of one shape")
    return d, a, b, c, m, n, k


def _turned(op, swap):
    return tuple(op.extents[::-1]) if _truth(swap) else tuple(op.extents)


def _truth(flag) -> bool:
    return bool(flag.value) if isinstance(flag, IntImm) else bool(flag)


def _equal(x, y) -> bool:
    return x == y if type(x) is int or type(y) is int else x.same_as(y)


def _shape_error(call, found, required):
    return call.error(
        TypeMismatch, "gemm: the operands have shapes that do not multiply", code="operand-shapes-differ",
        found=found, required=required,
    )  # fmt: skip


def factor(value, default):
    """alpha or beta as a Python float when it is constant, else the expression."""
    if value is None:
        return default
    return float(value.value) if isinstance(value, (IntImm, FloatImm)) else value


# ---- mma.sync ----


@predicate("matrix fragments in registers")
def _fragments(call, ctx):
    d, a, b, *_ = operands_of(call)
    if not all(op.space == "local" for op in (d, a, b)):
        where = ", ".join(f"{op.name} in {op.facts.scope}" for op in (d, a, b) if op.space != "local")
        return f"mma.sync reads and writes registers, and {where}"
    if not any(op.distributed for op in (d, a, b)):
        return "the operands are private to each thread, not fragments of a warp"
    if all(op.facts.axes <= {"laneid"} for op in (d, a, b)):
        check_scope(call, ctx, ("warp",), "a matrix instruction on fragments distributed over laneid")
    check_registers(call, ctx, d, a, b)
    return True


@predicate("dtypes of an mma.sync form")
def _has_form(call, ctx):
    d, a, b = call.operands("D", "A", "B")
    dtypes = str(a.buffer.dtype), str(d.buffer.dtype)
    if a.buffer.dtype != b.buffer.dtype or dtypes not in _FORMS:
        return f"there is no mma.sync of {a.buffer.dtype} by {b.buffer.dtype} into {d.buffer.dtype}"
    feature = _FORMS[dtypes][2]
    return ctx.has(feature) or f"{ctx.arch} has no {feature}"


class _Fragment:
    """One operand matched to the instruction: per logical dimension the outer iters that are left."""

    def __init__(self, name, view, dims):
        self.name, self.view, self.rest = name, view, {k: list(v) for k, v in dims.items()}

    def take(self, dim, extent, thread):
        """The memory stride of the innermost digit of `dim`, which must have this extent and thread stride."""
        rest = self.rest[dim]
        while rest and rest[-1][0] == 1:
            rest.pop()
        if not rest:
            fail(f"{self.name} has too few elements along {dim}")
        e, m, t = rest.pop()
        if e % extent or t != thread:
            kind = f"{extent} lanes of stride {thread}" if thread else f"{extent} registers"
            fail(
                f"{self.name} has ({e} @ {'thread' if t else 'register'} {t or m}) along {dim} where mma needs {kind}"
            )
        if e > extent:
            rest.append((e // extent, m * extent, t * extent))
        return m


class _Plan:
    """Matched fragments, loops over M, N and K, and the registers of one instruction."""

    def __init__(self, call, ctx, k):
        d, a, b, _, self.m, self.n, self.k_total = operands_of(call)
        self.ops, self.k = (d, a, b), k
        if any(type(e) is not int for op in self.ops for e in op.extents):
            fail("extents are not constant")
        if self.m % 16 or self.n % 8 or self.k_total % k:
            fail(f"{self.m}x{self.n}x{self.k_total} is not a multiple of 16x8x{k}")
        self.views = [View(op, op.extents, ctx) for op in self.ops]
        self.per_word = 32 // a.facts.bits
        self.words = k // (4 * self.per_word)
        self._match(call)
        self._loops(ctx)

    def _match(self, call):
        names = [("M", "N"), ("M", "K"), ("K", "N")]
        if _truth(call.arg("transpose_A")):
            names[1] = ("K", "M")
        if _truth(call.arg("transpose_B")):
            names[2] = ("N", "K")
        d, a, b = (
            _Fragment(op.name, v, dict(zip(dims, v.dims))) for op, v, dims in zip(self.ops, self.views, names)
        )
        self.fragments = d, a, b
        self.d_offsets = self._match_d(d)
        word = self._match_k(a)
        a.take("M", 8, 4)
        high = a.take("M", 2, 0)
        self.a_offsets = [w * word + h * high for w in range(self.words) for h in range(2)]
        word = self._match_k(b)
        b.take("N", 8, 4)
        self.b_offsets = [w * word for w in range(self.words)]
        self._require_words(a, b)

    def _match_d(self, d):
        column = d.take("N", 2, 0)
        d.take("N", 4, 1)
        d.take("M", 8, 4)
        high = d.take("M", 2, 0)
        if self.ops[0].facts.bits == 16 and column != 1:
            fail("the two columns of a packed half accumulator are not in one register")
        return [h * high + c * column for h in range(2) for c in range(2)]

    def _match_k(self, fragment):
        """Memory stride of the word digit along K."""
        if self.per_word > 1 and fragment.take("K", self.per_word, 0) != 1:
            fail(f"{fragment.name}: the elements of a 32-bit register are not together")
        fragment.take("K", 4, 1)
        return fragment.take("K", self.words, 0) if self.words > 1 else 0

    def _require_words(self, *fragments):
        for f in fragments:
            strides = [m for iters in f.rest.values() for _, m, _ in iters]
            offsets = self.a_offsets if f.name == "A" else self.b_offsets
            base = f.view.base if type(f.view.base) is int else f.view.divisor
            if any(x % self.per_word for x in [*strides, *offsets, base]):
                fail(f"{f.name}: a tile does not start on a whole 32-bit register")

    def _loops(self, ctx):
        d, a, b = self.fragments
        self.loops = {
            dim: self._join([f for f in (d, a, b) if dim in f.rest], dim) for dim in ("M", "N", "K")
        }  # fmt: skip
        if any(s.thread for s, _ in self.loops["K"]):
            fail("K is distributed over warps, whose partial sums mma.sync does not add")
        self._require_warps(ctx)
        tiles = [(s.extent, s.weight * (16 if dim == "M" else 8) * (self.n if dim == "M" else 1))
                 for dim in ("M", "N") for s, _ in self.loops[dim]]  # fmt: skip
        prove_digits([(16, self.n), (8, 1), *tiles], self.m * self.n)

    def _join(self, fragments, dim):
        """[(step, {fragment name: memory stride})] of the tiles along one dimension, outermost first."""
        count = prod(e for e, _, _ in fragments[0].rest[dim])
        parts = [_Dims(f.view, [f.rest[dim]]) for f in fragments]
        steps = join_steps(parts, [count])
        return [(s, {f.name: x for f, x in zip(fragments, s.strides)}) for s in steps]

    def _require_warps(self, ctx):
        """Every warp of the team must own its tile, and both factors of it."""
        spread = {dim: [(s.extent, s.thread) for s, _ in self.loops[dim] if s.thread] for dim in ("M", "N")}
        for f, dim in ((self.fragments[1], "N"), (self.fragments[2], "M")):
            held = [(e, t) for e, _, t in f.view.replica if t]
            missing = [x for x in spread[dim] if x not in held]
            if missing:
                fail(f"{f.name} is not replicated over the warps that share it: R{missing} is missing")
        warps = prod(e for dim in spread.values() for e, _ in dim)
        copies = prod(e for e, _, t in self.views[0].replica if t)
        if warps * copies * 32 != ctx.team_size:
            fail(f"D is distributed over {warps * copies} warps and the team has {ctx.team_size // 32}")

    @property
    def tiles(self) -> int:
        """16 x 8 tiles of D per warp."""
        return prod(s.extent for dim in ("M", "N") for s, _ in self.loops[dim] if not s.thread)

    @property
    def count(self) -> int:
        """Instructions per warp."""
        return self.tiles * (self.k_total // self.k)


def _form(call):
    d, a = call.operands("D", "A")
    return _FORMS[str(a.buffer.dtype), str(d.buffer.dtype)]


def _register_mma(k):
    @register_dispatch(
        "gemm", "cuda", variant=f"mma.m16n8k{k}", priority=10 + k, when=[_fragments, _has_form]
    )
    def gemm_mma(call, ctx):
        """Matrix instructions of the warp on register fragments."""
        kind, acc, _, shapes = _form(call)
        if k not in shapes:
            fail(f"the mma.sync forms of {kind} have K = {' and '.join(map(str, shapes))}")
        plan = _Plan(call, ctx, k)
        name = f"ptx.mma.sync.aligned.m16n8k{k}.row.col.{acc}.{kind}.{kind}.{acc}"
        ctx.emits(name[4:], plan.count, "warp")
        ctx.covers(proof_text(plan.m * plan.n, ctx.team_size, plan.tiles, len(plan.d_offsets)))
        return _emit_mma(call, ctx, plan, name)


for _k in (4, 8, 16):
    _register_mma(_k)


def _emit_mma(call, ctx, plan, name):
    """Initialise the accumulators, then the instructions over the tiles."""
    b = call.builder()
    alpha, beta = factor(call.arg("alpha"), 1.0), factor(call.arg("beta"), 0.0)
    d, a, bb = (v.flat(ctx) for v in plan.views)
    words_a, declare_a = _words(b, a, plan)
    words_b, declare_b = _words(b, bb, plan)
    direct = type(alpha) is float and alpha == 1.0
    acc, prepare = (d, _prepare(call, ctx, plan, b, beta)) if direct else _scratch(b, plan, d)
    places, declare_acc = _accumulators(b, plan, acc)

    def instruction(at):
        regs = places(at)
        a_regs = [b.place(words_a, i) for i in _indices(plan, 1, at, plan.a_offsets)]
        b_regs = [b.place(words_b, i) for i in _indices(plan, 2, at, plan.b_offsets)]
        return b.instr(name, *regs, *a_regs, *b_regs, *regs)

    body = _tile_loops(plan, b, ("K", "M", "N"), instruction)
    finish = [] if direct else [_combine(call, ctx, plan, b, acc, alpha, beta)]
    return b.seq(*declare_a, *declare_b, *prepare, *declare_acc, body, *finish)


def _words(b, buffer, plan):
    """The registers of a fragment as 32-bit words."""
    size = buffer.shape[0].value // plan.per_word
    view, declare = b.alias(buffer, "uint32", size)
    return view, [declare]


def _indices(plan, operand, at, offsets):
    """32-bit register indices of one tile of operand 1 (A) or 2 (B)."""
    base, name = plan.views[operand].base, "AB"[operand - 1]
    base = base // plan.per_word
    for (_, strides), value in at:
        if name in strides:
            base = plus(base, times(value, strides[name] // plan.per_word))
    return [plus(base, o // plan.per_word) for o in offsets]


def _accumulators(b, plan, acc):
    """(function from a tile to its accumulator operands, declarations): four floats, or two packed registers."""

    def floats(at):
        base = plan.views[0].base
        for (_, strides), value in at:
            if "D" in strides:
                base = plus(base, times(value, strides["D"]))
        return [b.place(acc, plus(base, o)) for o in plan.d_offsets]

    if plan.ops[0].facts.bits == 32:
        return floats, []
    packed, declare = b.alias(acc, "uint32", acc.shape[0].value // 2)

    def halves(at):
        base = plan.views[0].base // 2
        for (_, strides), value in at:
            if "D" in strides:
                base = plus(base, times(value, strides["D"] // 2))
        return [b.place(packed, plus(base, plan.d_offsets[o] // 2)) for o in (0, 2)]

    return halves, [declare]


def _tile_loops(plan, b, dims, body):
    steps = [entry for dim in dims for entry in plan.loops[dim] if not entry[0].thread]
    return b.loops([s.extent for s, _ in steps], lambda vs: body(list(zip(steps, vs))))


def _registers_of_d(plan, b, body):
    """A loop over every accumulator element of the thread, as flat register indices."""

    def each(at):
        base = plan.views[0].base
        for (_, strides), value in at:
            base = plus(base, times(value, strides["D"]))
        return b.seq(*[body(plus(base, o)) for o in plan.d_offsets])

    return _tile_loops(plan, b, ("M", "N"), each)


def _prepare(call, ctx, plan, b, beta):
    """D = beta * C before accumulating, or nothing when D already holds it."""
    d = plan.views[0].flat(ctx)
    if type(beta) is float and beta == 0.0:
        return [_registers_of_d(plan, b, lambda i: b.store(d, i, _zero(d.dtype)))]
    source = _c_view(call, ctx, plan)
    if type(beta) is float and beta == 1.0 and source is None:
        return []
    c = d if source is None else source
    return [_registers_of_d(plan, b, lambda i: b.store(d, i, _scaled(b.load(c, i), beta)))]


def _zero(dtype):
    return FloatImm(str(dtype), 0.0)


def _scaled(value, by):
    if type(by) is float:
        return value if by == 1.0 else value * FloatImm(str(value.dtype), by)
    return value * by.astype(value.dtype) if isinstance(by, PrimExpr) else value


def _c_view(call, ctx, plan):
    """The registers of C, laid out as D's; None when C is D (or absent, which means D)."""
    if call.arg("C") is None:
        return None
    c, d = call.operand("C"), plan.ops[0]
    same = c.buffer.same_as(d.buffer) and all(_equal(x, y) for x, y in zip(c.starts, d.starts))
    if same:
        return None
    view = View(c, c.extents, ctx)
    if view.dims != plan.views[0].dims or view.base != plan.views[0].base or c.buffer.dtype != d.buffer.dtype:
        fail("C and D are different fragments with different layouts")
    return view.flat(ctx)


def _scratch(b, plan, d):
    """Zeroed accumulators beside D, for alpha other than 1."""
    acc, allocate = b.scratch("acc", d.shape[0].value, str(d.dtype))
    return acc, [allocate, _registers_of_d(plan, b, lambda i: b.store(acc, i, _zero(acc.dtype)))]


def _combine(call, ctx, plan, b, acc, alpha, beta):
    d = plan.views[0].flat(ctx)
    if type(beta) is float and beta == 0.0:
        return _registers_of_d(plan, b, lambda i: b.store(d, i, _scaled(b.load(acc, i), alpha)))
    c = _c_view(call, ctx, plan) or d
    return _registers_of_d(
        plan, b, lambda i: b.store(d, i, _scaled(b.load(acc, i), alpha) + _scaled(b.load(c, i), beta))
    )


# ---- scalar FMA ----


def _threads_reach(call, ctx):
    d, a, b, c, *_ = operands_of(call)
    for op in (d, a, b, *([c] if c else [])):
        if op.space not in SPACES:
            return f"{op.name} is in {op.facts.scope}, which load and store instructions do not reach"
    for op in (a, b):
        if op.distributed:
            return f"{op.name} is distributed over threads, which cannot read each other's registers"
    check_registers(call, ctx, d, a, b, *([c] if c else []))
    return ctx.scope != "cluster" or "every CTA of a cluster has its own memory"


@register_dispatch("gemm", "cuda", variant="fallback", priority=0, when=[_threads_reach])
def gemm_fallback(call, ctx):
    """One element of D per step, K fused multiply-adds each, accumulated in float32 (or the integer type)."""
    d, a, b, c, _, _, k = operands_of(call)
    builder, dtype = call.builder(), d.buffer.dtype
    acc_type = "float32" if "float" in str(dtype) and dtype.bits <= 32 else str(dtype)
    alpha, beta = factor(call.arg("alpha"), 1.0), factor(call.arg("beta"), 0.0)
    total, allocate = builder.scratch("dot", 1, acc_type)
    at_a = _element(a, _truth(call.arg("transpose_A")))
    at_b = _element(b, not _truth(call.arg("transpose_B")))
    store = d.storage(ctx)
    source = d if c is None else c
    read = source.storage(ctx)

    def element(ix, where):
        row, column = where

        def step(i):
            x = builder.load_at(a.storage(ctx), at_a(row, i)).astype(acc_type)
            y = builder.load_at(b.storage(ctx), at_b(column, i)).astype(acc_type)
            return builder.store(total, 0, _multiply_add(acc_type, x, y, builder.load(total, 0)))

        value = _scaled(builder.load(total, 0), alpha)
        if type(beta) is not float or beta != 0.0:
            old = builder.load_at(read, ix[1]).astype(acc_type)
            value = value + _scaled(old, beta)
        zero = _zero(acc_type) if "float" in acc_type else IntImm(acc_type, 0)
        return builder.seq(
            builder.store(total, 0, zero), builder.loop(k, step, "serial", name="k"),
            builder.store_at(store, ix[0], value.astype(dtype)),
        )  # fmt: skip

    stmt, steps = scalar_loops(call, ctx, [d, source], element, coordinates=True)
    ctx.emits("fma.rn.f32" if acc_type == "float32" else f"mad {acc_type}", _product(steps, k))
    return builder.seq(allocate, stmt)


def _multiply_add(dtype, x, y, z):
    return call(dtype, "tx.fma", [x, y, z]) if "float" in dtype else x * y + z


def _product(steps, k):
    return steps * k if type(steps) is int and type(k) is int else f"{steps} * K"


def _element(op, swap):
    """Index function of op(A)[row, k] or op(B)[k, column]: (outer, k) -> logical indices of the buffer."""

    def at(outer, k):
        indices = list(op.starts)
        pair = (k, outer) if swap else (outer, k)
        for dim, x in zip(op.kept, pair):
            indices[dim] = plus(indices[dim], x)
        return indices

    return at
