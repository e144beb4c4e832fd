"""sum, max and min over axes.

Registers (`local`): each thread folds the registers that it owns, then the threads that share a result exchange
partial results, by butterfly shuffles where the threads are a power of two of lanes, by indexed shuffles for other
lane counts, and through shared memory across warps. Every one of them ends with the same bits, and only threads that
own the result write it. Memory (`shared`): groups of lanes fold strided parts of one result and combine by shuffles.
Replicas of the source are copies, not elements: they are never added twice.
"""

from __future__ import annotations

from math import prod

from ....errors import TypeMismatch
from ....ir import Binary, FloatImm, IntImm, instr_call
from ....tile.builder import as_int, digit, plus, times
from ....tile.checks import check_registers
from ....tile.coverage import proof_text, prove_digits
from ....tile.emit import address
from ....tile.operand import View, facts_of
from ....tile.partition import Partition, Step, _close_threads, join_steps
from ....tile.registry import fail, register_dispatch
from .common import SPACES

OPS = ("sum", "max", "min")
WARP = 32


# ---- what is computed ----


def combine(op, x, y):
    """One step of the fold."""
    return x + y if op == "sum" else Binary(op, x, y)


def identity(op, dtype):
    """The value that leaves every other unchanged: 0, the lowest or the highest of dtype."""
    t, sign = str(dtype), {"sum": 0, "max": -1, "min": 1}[op]
    if t.startswith(("float", "bfloat")):
        return FloatImm(t, sign * float("inf") if sign else 0.0)
    if t == "bool":
        return IntImm(t, int(sign > 0))
    bits, signed = dtype.bits, t.startswith("int")
    low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
    value = {0: 0, -1: low, 1: high}[sign]
    return IntImm(t, value - (1 << bits) if value >= 1 << 63 else value)


def accumulator_dtype(op, dtype):
    """Sums of floats below 32 bits are accumulated in float32 and rounded once."""
    small = "float" in str(dtype) and dtype.bits < 32
    return type(dtype)("float32") if small else dtype


class _Shape:
    """Which dimensions of src are folded, and which dimension of dst each other one is."""

    def __init__(self, call):
        self.dst, self.src = call.operands("dst", "src")
        rank = len(self.src.extents)
        self.axes = _axes(call, rank)
        self.kept = [d for d in range(rank) if d not in self.axes]
        keepdims = len(self.dst.extents) == rank
        self.dst_dims = self.kept if keepdims else list(range(len(self.kept)))
        want = [1 if d in self.axes else e for d, e in enumerate(self.src.extents)]
        if not keepdims:
            want = [self.src.extents[d] for d in self.kept] or [1]
        if not keepdims and not self.kept:
            self.dst_dims = []
        if len(want) != len(self.dst.extents) or not all(_same(x, y) for x, y in zip(want, self.dst.extents)):
            raise call.error(
                TypeMismatch, f"{call.op}: dst does not have the shape of the result", code="operand-shapes-differ",
                found=f"dst is {self.dst.describe()}, src is {self.src.describe()}, axes={sorted(self.axes)}",
                required=f"dst of shape ({', '.join(map(str, want))}), with or without the folded dimensions",
            )  # fmt: skip

    def kept_extents(self):
        """Extents of the kept dimensions of src."""
        return [self.src.extents[d] for d in self.kept]


def _same(x, y) -> bool:
    return as_int(x) == as_int(y) if as_int(x) is not None or as_int(y) is not None else x.same_as(y)


def _axes(call, rank) -> set:
    value = call.arg("axes", -1)
    raw = [value] if as_int(value) is not None else list(value)
    axes = {as_int(a) for a in raw}
    bad = [a for a in axes if a is None or not -rank <= a < rank]
    if bad or not axes:
        raise call.error(
            TypeMismatch, f"{call.op}: axes names dimensions of src", code="bad-axes",
            found=f"axes={sorted(axes, key=str)}", required=f"integers from {-rank} to {rank - 1}",
        )  # fmt: skip
    return {a % rank for a in axes}


def _shape(call):
    shape = call._operands.get("<shape>")
    if shape is None:
        shape = call._operands["<shape>"] = _Shape(call)
    return shape


def _accumulates(call) -> bool:
    flag = call.arg("accum", False)
    return bool(flag.value) if isinstance(flag, IntImm) else bool(flag)


def _reducible(call, ctx):
    shape = _shape(call)
    for op in (shape.dst, shape.src):
        if op.space not in SPACES:
            return f"{op.name} is in {op.facts.scope}, which load and store instructions do not reach"
    check_registers(call, ctx, shape.dst, shape.src)
    return ctx.scope != "cluster" or "every CTA of a cluster has its own memory"


def _source_in_registers(call, ctx):
    return _shape(call).src.space == "local" or "src is not in registers"


def _source_in_memory(call, ctx):
    return _shape(call).src.space != "local" or "src is in registers"


# ---- registers ----


class _Dims:
    """The kept dimensions of a View as join_steps takes them."""

    __slots__ = ("dims", "distributed", "name")

    def __init__(self, view, dims):
        self.dims, self.distributed, self.name = [view.dims[d] for d in dims], view.distributed, view.name


class _Fold:
    """A fragment reduction: kept and folded digits of src, split into registers and threads.

    kept, kept_threads: Steps with strides (dst, src); folded: [(extent, src stride)] register digits; exchange:
    [(thread stride, extent)] thread digits to combine over; part: Partition that says who owns what.
    """

    def __init__(self, call, ctx):
        self.shape = shape = _shape(call)
        if any(type(e) is not int for op in (shape.dst, shape.src) for e in op.extents):
            fail("extents are not constant")
        self.dst, self.src = (View(op, op.extents, ctx) for op in (shape.dst, shape.src))
        steps = join_steps(
            [_Dims(self.dst, shape.dst_dims), _Dims(self.src, shape.kept)], shape.kept_extents()
        )  # fmt: skip
        self.kept = [s for s in steps if not s.thread]
        self.kept_threads = [s for s in steps if s.thread]
        iters = [it for d in sorted(shape.axes) for it in self.src.dims[d]]
        self.folded = [(e, m) for e, m, t in iters if not t]
        self.exchange = _split_exchange([(t, e) for e, _, t in iters if t])
        self.team = ctx.team_size if self.src.distributed else 1
        self._own(ctx)

    @property
    def results(self) -> int:
        """Results that one thread accumulates."""
        return prod(s.extent for s in self.kept)

    def _own(self, ctx):
        """Guards: threads that hold elements of src (reads), and threads that write dst (writes)."""
        self.reads = self._partition(self.src, [], True)
        if self.dst.distributed and self.dst.threads != self.src.threads:
            fail("dst and src start on different threads")
        copies = [(t, e) for e, _, t in self.dst.replica if t] if self.dst.distributed else []
        self.writes = self._partition(self.src, copies, False)
        self._check_copies(copies)

    def _check_copies(self, copies):
        """Decline when dst has copies on threads that do not get the result."""
        written = prod(s.extent for s, _, _ in self.writes.threads)
        wanted = prod(s.extent for s in self.kept_threads) * prod(e for _, e in copies)
        if self.dst.distributed and written != wanted:
            fail(
                f"dst is on {wanted} threads and only {written} of them hold a part of src and get the result"
            )

    def _partition(self, view, copies, reading):
        """Readers: all threads that hold elements of src. Writers: of the threads that have a result, those that dst has
        a copy on, and the first along every other digit."""
        part = Partition(1, [], self.team, prod(self.shape.kept_extents()))
        if self.team == 1:
            return part
        spread = self.exchange + [(t, e) for e, _, t in view.replica if t]
        free = [x for x in spread if reading or _covered(x, copies)]
        part.threads = [(s, s.thread, s.extent) for s in self.kept_threads]
        part.threads += [(Step(e, (0, 0), t, 0), t, e) for t, e in free]
        _close_threads(part, view.threads, [x for x in spread if x not in free], [])
        return part

    def owners(self, part, t):
        """Conditions under which thread t takes part."""
        return [digit(t, d, e).equal(v) for d, e, v in part.owners]


def _covered(digit_, copies) -> bool:
    """Whether replicas `copies` place a copy on every thread of this digit."""
    t, e = digit_
    return any(
        rt <= t and t % rt == 0 and (t // rt) * e <= re and re % ((t // rt) * e) == 0 for rt, re in copies
    )


def _split_exchange(digits):
    """Cut digits at the warp boundary where they divide there: lanes are shuffled, warps go through memory."""
    out = []
    for t, e in digits:
        lanes = WARP // t if t < WARP and WARP % t == 0 else 0
        if lanes and e > lanes and e % lanes == 0:
            out += [(t, lanes), (WARP, e // lanes)]
        else:
            out.append((t, e))
    return out


def _emit_local(call, ctx):
    fold, b = _Fold(call, ctx), call.builder()
    op, t = call.op, ctx.thread_in_team if fold.team > 1 else 0
    dtype = accumulator_dtype(op, fold.src.op.buffer.dtype)
    partial, allocate = b.scratch("partial", fold.results, str(dtype))
    registers = fold.src.flat(ctx)
    stmts = [allocate, _each(fold, b, lambda at, i: b.store(partial, i, identity(op, dtype)))]

    def accumulate(at, i):
        def one(vs):
            where = address(fold.src, 1, at)
            for (_, m), v in zip(fold.folded, vs):
                where = plus(where, times(v, m))
            return b.store(
                partial, i, combine(op, b.load(partial, i), b.load(registers, where).astype(dtype))
            )

        return b.loops([e for e, _ in fold.folded], one)

    stmts.append(b.when(fold.owners(fold.reads, t), _each(fold, b, accumulate)))
    for d in fold.exchange:
        stmts += _exchange(call, ctx, fold, b, partial, d, t)
    stmts.append(
        b.when(
            fold.owners(fold.writes, t),
            _each(fold, b, lambda at, i: _write(call, ctx, fold, b, partial, at, i, t)),
        )
    )
    _record(call, ctx, fold)
    return b.seq(*stmts)


def _each(fold, b, body):
    """body([(step, value)], number of the result within the thread) for every result."""

    def nest(vs):
        at, number, weight = list(zip(fold.kept, vs)), 0, 1
        for s, v in reversed(at):
            number = plus(times(v, weight), number)
            weight *= s.extent
        return body(at, number)

    return b.loops([s.extent for s in fold.kept], nest)


def _write(call, ctx, fold, b, partial, at, i, t):
    at = at + [(s, digit(t, s.thread, s.extent)) for s in fold.kept_threads]
    to, value = fold.dst.flat(ctx), b.load(partial, i)
    stores = []
    for offset in _memory_copies(fold.dst):
        where = plus(address(fold.dst, 0, at), offset)
        old = b.load(to, where).astype(value.dtype)
        result = combine(call.op, old, value) if _accumulates(call) else value
        stores.append(b.store(to, where, result.astype(to.dtype)))
    return b.seq(*stores)


def _memory_copies(view):
    """Offsets of the copies that a destination replicated in memory has."""
    offsets = [0]
    for e, m, t in view.replica:
        if m and not t:
            offsets = [o + k * m for o in offsets for k in range(e)]
    return offsets


def _exchange(call, ctx, fold, b, partial, digit_, t):
    """Combine the partial results of the threads along one digit; all of them get the result."""
    stride, extent = digit_
    if stride * extent <= WARP:
        power = extent & (extent - 1) == 0 and stride & (stride - 1) == 0
        if ctx.num_threads % WARP:
            fail("the last warp of the CTA is not whole, so its lanes cannot be shuffled")
        return (
            _butterfly(call.op, fold, b, partial, digit_)
            if power
            else _gather(call.op, ctx, fold, b, partial, digit_)
        )
    return _through_memory(call, ctx, fold, b, partial, digit_, t)


def _butterfly(op, fold, b, partial, digit_):
    stride, extent = digit_
    out, mask = [], stride * extent // 2
    while mask >= stride:

        def step(at, i, mask=mask):
            mine = b.load(partial, i)
            return b.store(partial, i, combine(op, mine, instr_call("cuda.shfl_xor", [mine, mask])))

        out.append(_each(fold, b, step))
        mask //= 2
    return out


def _gather(op, ctx, fold, b, partial, digit_):
    """Lane counts that are no power of two: each lane reads the others in order."""
    stride, extent = digit_
    own = digit(ctx.lane, stride, extent)
    total, allocate = b.scratch("gathered", 1, str(partial.dtype))

    def result(at, i):
        def take(k):
            lane = ctx.lane - times(own, stride) + times(k, stride)
            other = instr_call("cuda.shfl_idx", [b.load(partial, i), lane % WARP])
            return b.store(total, 0, combine(op, b.load(total, 0), other))

        start = b.store(total, 0, identity(op, partial.dtype))
        return b.seq(start, b.loop(extent, take, name="lane"), b.store(partial, i, b.load(total, 0)))

    return [allocate, _each(fold, b, result)]


def _through_memory(call, ctx, fold, b, partial, digit_, t):
    """Across warps: everyone's partial results in shared memory, then each thread folds those it needs."""
    stride, extent = digit_
    threads = ctx.num_threads
    space = _workspace(call, ctx, fold.results * threads, partial.dtype)
    me = ctx.thread_index
    first = me - times(digit(t, stride, None if stride * extent >= fold.team else extent), stride)

    def result(at, i):
        def take(k):
            other = b.load(space, plus(times(i, threads), plus(first, times(k, stride))))
            return b.store(partial, i, combine(call.op, b.load(partial, i), other))

        return b.seq(
            b.store(partial, i, identity(call.op, partial.dtype)), b.loop(extent, take, "serial", name="k")
        )

    put = _each(fold, b, lambda at, i: b.store(space, plus(times(i, threads), me), b.load(partial, i)))
    sync = b.instr(*_barrier(call, ctx))
    # Threads past the fragment have no group: the places of their group may be past the workspace.
    return [put, sync, b.when(fold.owners(fold.reads, t), _each(fold, b, result)), sync]


def _barrier(call, ctx):
    """The barrier of the team: (instruction, operands)."""
    if ctx.scope == "warp":
        return ("cuda.warp_sync",)
    if ctx.scope == "warpgroup":
        return "cuda.warpgroup_sync", (ctx.thread_index // 128 + 1).astype("uint32")
    return ("cuda.cta_sync",)


def _workspace(call, ctx, count, dtype):
    """Shared memory for `count` elements: the caller's workspace, or a private allocation."""
    for given in call.workspace.values():
        flat = facts_of(given).flat(given)
        size = as_int(flat.shape[0])
        if flat.dtype != dtype or size is None or size < count:
            fail(f"the workspace must hold {count} elements of {dtype}")
        return flat
    return ctx.node.alloc(f"{call.op}_workspace", [count], str(dtype))


def _record(call, ctx, fold):
    shuffles = sum((e - 1).bit_length() for t, e in fold.exchange if t * e <= WARP) * fold.results
    ctx.emits(f"{call.op} in registers", fold.results * prod(e for e, _ in fold.folded))
    if shuffles:
        ctx.emits("shfl.sync", shuffles)
    total = prod(fold.shape.kept_extents())
    prove_digits([(s.extent, s.weight) for s in fold.kept + fold.kept_threads], total)
    threads = prod(s.extent for s in fold.kept_threads)
    ctx.covers(
        proof_text(total, threads, fold.results, 1) + f", each of {prod(e for e, _ in fold.folded)} registers"
    )


# ---- memory ----


def _emit_memory(call, ctx, lanes):
    """Groups of `lanes` lanes per result; lanes is 1 where shuffles are not possible."""
    shape, b, op = _shape(call), call.builder(), call.op
    dtype = accumulator_dtype(op, shape.src.buffer.dtype)
    team = 1 if ctx.scope == "thread" else ctx.active
    t = ctx.thread_in_team if team > 1 else 0
    groups = team // lanes
    results, folded = _size(shape.kept_extents()), _size([shape.src.extents[d] for d in sorted(shape.axes)])
    total, allocate = b.scratch("total", 1, str(dtype))
    source, to = shape.src.storage(ctx), shape.dst.storage(ctx)
    part = t % lanes if lanes > 1 else 0

    def turn(i):
        number, bind = b.bind("result", plus(times(i, groups), t // lanes if lanes > 1 else t))
        inside = [] if _divides(groups, results) else [number < results]
        kept = _unravel(number, shape.kept_extents())

        def take(k):
            element, bind_k = b.bind("element", plus(times(k, lanes), part))
            guard = [] if _divides(lanes, folded) else [element < folded]
            where = _source_index(
                shape, kept, _unravel(element, [shape.src.extents[d] for d in sorted(shape.axes)])
            )
            x = b.load_at(source, where).astype(dtype)
            return b.seq(bind_k, b.when(guard, b.store(total, 0, combine(op, b.load(total, 0), x))))

        fold = b.loop(_ceil(folded, lanes), take, "serial", name="k")
        stmts = [bind, b.store(total, 0, identity(op, dtype)), b.when(inside, fold)]
        mask = lanes // 2
        while mask:
            other = instr_call("cuda.shfl_xor", [b.load(total, 0), mask])
            stmts.append(b.store(total, 0, combine(op, b.load(total, 0), other)))
            mask //= 2
        first = [part.equal(0)] if lanes > 1 else []
        stmts.append(b.when(inside + first, _store_result(call, shape, b, to, kept, b.load(total, 0))))
        return b.seq(*stmts)

    ctx.emits(f"{op} from {shape.src.space} memory, {lanes} lane(s) per result", _ceil(results, groups))
    ctx.covers(
        proof_text(
            results,
            groups,
            _ceil(results, groups),
            1,
            "" if _divides(groups, results) else f", result < {results}",
        )
    )
    return b.seq(allocate, b.loop(_ceil(results, groups), turn, "serial", name="turn"))


def _store_result(call, shape, b, to, kept, value):
    indices = list(shape.dst.starts)
    for d, x in zip(shape.dst_dims, kept):
        at = shape.dst.kept[d]
        indices[at] = plus(indices[at], x)
    old = b.load_at(to, indices).astype(value.dtype)
    result = combine(call.op, old, value) if _accumulates(call) else value
    return b.store_at(to, indices, result.astype(to.dtype))


def _source_index(shape, kept, folded):
    indices = list(shape.src.starts)
    for d, x in [*zip(shape.kept, kept), *zip(sorted(shape.axes), folded)]:
        at = shape.src.kept[d]
        indices[at] = plus(indices[at], x)
    return indices


def _size(extents):
    out = 1
    for e in extents:
        out = times(e, out)
    return out


def _divides(a, b) -> bool:
    return type(a) is int and type(b) is int and b % a == 0


def _ceil(a, b):
    return -(-a // b) if type(a) is int else (a + (b - 1)) // b


def _unravel(number, extents):
    """Row-major coordinates of a number."""
    out, weight = [], 1
    for k in reversed(range(len(extents))):
        x = number if type(weight) is int and weight == 1 else number // weight
        out.append(x if k == 0 else x % extents[k])
        weight = times(extents[k], weight)
    return out[::-1]


def _dst_in_memory(call, ctx):
    dst = _shape(call).dst
    if dst.distributed:
        return "dst is distributed over threads; reduce into memory, or from registers"
    return True


def _register(op):
    @register_dispatch(op, "cuda", variant="local", priority=10, when=[_reducible, _source_in_registers])
    def reduce_registers(call, ctx):
        """Fold in registers, exchange between the threads that share a result."""
        return _emit_local(call, ctx)

    @register_dispatch(
        op, "cuda", variant="shared", priority=10, when=[_reducible, _source_in_memory, _dst_in_memory]
    )
    def reduce_memory(call, ctx):
        """A group of lanes per result, combined by shuffles."""
        shape = _shape(call)
        sizes = _size(shape.kept_extents()), _size([shape.src.extents[d] for d in sorted(shape.axes)])
        if ctx.scope == "thread" or ctx.active % WARP or any(type(x) is not int for x in sizes):
            fail("shuffles need whole warps and constant extents")
        lanes = 1
        while lanes < WARP and ctx.active // (lanes * 2) >= sizes[0] and lanes * 2 <= sizes[1]:
            lanes *= 2
        if lanes == 1:
            fail("there are at least as many results as threads")
        return _emit_memory(call, ctx, lanes)

    @register_dispatch(
        op, "cuda", variant="fallback", priority=0, when=[_reducible, _source_in_memory, _dst_in_memory]
    )
    def reduce_elements(call, ctx):
        """One thread per result."""
        return _emit_memory(call, ctx, 1)


for _op in OPS:
    _register(_op)
