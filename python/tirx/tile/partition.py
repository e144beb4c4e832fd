"""Dividing the elements of a tile call among threads, steps and vector lanes.

`partition(ctx, operands)` brings the iterators of all operands to a common refinement (paper 5.1, group) and
assigns every resulting digit of the element number to one of

    lanes    the innermost run that is contiguous in every operand, as wide as alignment facts prove;
    threads  digits of the thread's number in the team: given by a fragment layout, else chosen so that
             neighbouring threads touch neighbouring addresses;
    steps    loops.

The assignment is a bijection of mixed-radix digits, which coverage.py checks again on the result. When the
thread count does not divide the work, threads take every T-th chunk and the tail is guarded. Partitions are
cached by the integers that they depend on; only base offsets differ between calls of one shape.
"""

from __future__ import annotations

from math import prod

from ..layout.banks import aligned_elements
from .coverage import proof_text, prove_digits, prove_threads
from .operand import Sym, View, box_of, stride_divisor, stride_times
from .registry import fail

WIDTHS = (128, 64, 32, 16, 8)  # bits of one access, widest first


class Step:
    """One digit of the element number: `extent` values; the memory stride per operand; the thread stride (0:
    not a thread); the weight in the element number; for a dimension of symbolic extent, which one (else
    -1) and the weight in its coordinate."""

    __slots__ = ("extent", "strides", "thread", "weight", "dim", "coordinate")

    def __init__(self, extent, strides, thread, weight, dim=-1, coordinate=0):
        self.extent, self.strides, self.thread, self.weight = extent, strides, thread, weight
        self.dim, self.coordinate = dim, coordinate

    def split(self, inner: int):
        """(outer, inner) digits; `inner` divides the extent."""
        outer = Step(self.extent // inner, tuple(stride_times(s, inner) for s in self.strides),
                     self.thread * inner, self.weight * inner, self.dim, self.coordinate * inner)  # fmt: skip
        return outer, self.resized(inner)

    def resized(self, extent: int):
        """The same digit with another extent."""
        return Step(extent, self.strides, self.thread, self.weight, self.dim, self.coordinate)


def join_steps(views, extents, limited=()) -> list:
    """The common refinement of the views' iterators, outermost first; declines when there is none."""
    steps, weight = [], 1
    for d in reversed(range(len(extents))):
        steps += _join_dim(d, views, weight, d in limited)
        weight *= extents[d]
    return steps[::-1]


def _join_dim(d, views, weight, limited):
    stacks, inner, out = [list(v.dims[d]) for v in views], 1, []
    while any(stacks):
        tops = [_pop(s) for s in stacks]
        n = min(e for e, _, _ in tops)
        for stack, (e, m, t) in zip(stacks, tops):
            if e % n:
                fail(f"iterators of extent {e} and {n} in dimension {d} have no common refinement")
            if e > n:
                stack.append((e // n, stride_times(m, n), t * n))
        if n > 1:
            strides, thread = tuple(m for _, m, _ in tops), _thread_stride(views, tops)
            place = (d, inner) if limited else (-1, 0)
            out.append(Step(n, strides, thread, weight * inner, *place))
        inner *= n
    return out


def _pop(stack):
    while stack:
        top = stack.pop()
        if top[0] != 1:
            return top
    return 1, 0, 0


def _thread_stride(views, tops) -> int:
    """The thread stride on which all distributed views agree (0: registers)."""
    owned = [(v, t) for v, (_, _, t) in zip(views, tops) if v.distributed]
    for v, t in owned[1:]:
        if t != owned[0][1]:
            fail(f"{owned[0][0].name} and {v.name} keep an element on different threads")
    return owned[0][1] if owned else 0


# ---- vector lanes ----


def _contiguous_run(steps):
    """The steps that form one contiguous run in every operand, innermost first."""
    run, width = [], 1
    while True:
        found = [s for s in steps if not s.thread and all(type(x) is int and x == width for x in s.strides)]
        if not found:
            return run
        run.append(found[0])
        width *= found[0].extent


def _split_lanes(steps, run, lanes):
    """(lane digits, the other steps) with `lanes` elements of the run taken off, or None."""
    taken, rest, need = [], list(steps), lanes
    for s in run:
        if need == 1:
            break
        if need % s.extent and s.extent % need:
            return None
        inner = s
        if s.extent > need:
            rest[rest.index(s)], inner = s.split(need)
        else:
            rest.remove(s)
        taken.append(inner)
        need //= inner.extent
    return (taken, rest) if need == 1 else None


def _aligned(view, k, rest, lanes) -> bool:
    """Whether every access of `lanes` elements of operand k starts on a multiple of its width."""
    offsets = [view.divisor, *(stride_divisor(s.strides[k]) for s in rest)]
    offsets += [stride_divisor(m) for _, m, _ in view.replica]
    granule = 1 << view.swizzle[0] if view.swizzle else lanes
    return aligned_elements(view.bits, view.align, granule, offsets) >= lanes


def _within_limits(taken, limits) -> bool:
    """A vector must lie inside or outside a symbolic extent as a whole."""
    per_dim: dict = {}
    for s in taken:
        per_dim[s.dim] = per_dim.get(s.dim, 1) * s.extent
    return all(limits.get(d, 0) % n == 0 for d, n in per_dim.items())


def choose_lanes(steps, views, widths, limits):
    """(lanes, lane digits, other steps) for the widest access in `widths` that alignment allows."""
    bits, run = max(v.bits for v in views), _contiguous_run(steps)
    for width in widths:
        lanes = width // bits
        if width % bits or lanes < 2 or any(lanes * v.bits % 8 for v in views):
            continue
        split = _split_lanes(steps, run, lanes)
        if split is None or not _within_limits(split[0], limits):
            continue
        if all(_aligned(v, k, split[1], lanes) for k, v in enumerate(views)):
            return lanes, *split
    return 1, [], list(steps)


# ---- the partition ----


class Partition:
    """Who does what.

    lanes: elements per access; threads: [(step, divisor, extent or None)], digit = (t // divisor) % extent;
    owners: [(divisor, extent or None, value)], only threads with that digit take part; first: only threads
    below it do (None: all); chunks: (count, [(step, divisor, extent or None)]) when threads take every T-th
    chunk, else None; loops: [Step], outermost first; team: T; total: elements; proof: in words.
    """

    __slots__ = ("lanes", "lane_steps", "threads", "owners", "chunks", "loops", "team", "total", "first",
                 "proof")  # fmt: skip

    def __init__(self, lanes, lane_steps, team, total):
        self.lanes, self.lane_steps, self.team, self.total = lanes, lane_steps, team, total
        self.threads, self.owners, self.loops = [], [], []
        self.chunks, self.first, self.proof = None, None, ""

    @property
    def steps(self) -> int:
        """Accesses per thread."""
        turns = -(-self.chunks[0] // self.team) if self.chunks else 1
        return turns * prod(s.extent for s in self.loops)

    def check(self):
        """Prove coverage on the finished assignment and word it."""
        chunk_steps = [s for s, _, _ in self.chunks[1]] if self.chunks else []
        digits = [*self.lane_steps, *self.loops, *chunk_steps, *(s for s, _, _ in self.threads)]
        prove_digits([(s.extent, s.weight) for s in digits if s.weight], self.total)
        prove_threads([(d, s.extent) for s, d, _ in self.threads], self.team)
        prove_digits([(s.extent, d) for s, d, _ in self.chunks[1]], self.chunks[0]) if self.chunks else None
        self.proof = proof_text(self.total, self._workers(), self.steps, self.lanes, self._guard())

    def _workers(self):
        if self.chunks:
            return min(self.team, self.chunks[0])
        return prod(s.extent for s, _, _ in self.threads)

    def _guard(self):
        if self.chunks and self.chunks[0] % self.team:
            return f", chunk < {self.chunks[0]}"
        return f", thread < {self.first}" if self.first else ""


class Work:
    """A partition applied to the views of one call; emit.py turns it into statements."""

    __slots__ = ("views", "part", "limits")

    def __init__(self, views, part, limits):
        self.views, self.part, self.limits = views, part, limits


_CACHE: dict = {}


def partition(ctx, operands, widths=WIDTHS, lead=None, written=1, registers=False, edges=None) -> Work:
    """Divide the elements of `operands` (equal shapes; the first `written` are written) over the team.

    widths: access widths in bits to try, widest first, of the operand with the widest element; lead: the
    operand whose addresses neighbouring threads should share (default: a global one, else the first);
    registers: form vectors even when every operand is in registers (packed arithmetic); edges: an Edges,
    whose limits no vector may straddle. Declines when the layouts have no common refinement or place an
    element on different threads.
    """
    extents, limits = box_of(operands, ctx)
    views = [View(op, extents, ctx) for op in operands]
    if not registers and all(v.space == "local" for v in views):
        widths = ()  # registers move one by one
    if lead is None:
        lead = next((k for k, v in enumerate(views) if v.space == "global"), 0)
    if edges is not None:
        limits = join_limits(limits, edges)
    return divide(ctx, views, extents, limits, widths, lead, written)


def join_limits(limits, edges):
    """Symbolic extents and the ends of a tensor, one limit per dimension."""
    if both := sorted(set(limits) & set(edges.limits)):
        fail(f"dimension {both[0]} has a symbolic extent and reaches past the end of the tensor")
    return {**limits, **edges.limits}


def divide(ctx, views, extents, limits, widths, lead, written) -> Work:
    """`partition` for views that the caller made."""
    divisors = {d: abs(e) if type(e) is int else ctx.analyzer.divisor(e) for d, e in limits.items()}
    key = _key(ctx, views, extents, divisors, widths, lead, written)
    part = _CACHE.get(key) if key else None
    if part is None:
        part = _build(ctx, views, extents, divisors, widths, lead, written)
        if key:
            if len(_CACHE) >= 4096:
                _CACHE.clear()
            _CACHE[key] = part
    return Work(views, part, limits)


def _key(ctx, views, extents, divisors, widths, lead, written):
    signatures = tuple([v.signature() for v in views])
    if None in signatures:
        return None
    return (signatures, tuple(extents), tuple(divisors.items()), tuple(widths), lead, written, ctx.team_size,
            ctx.active, ctx.scope)  # fmt: skip


def _build(ctx, views, extents, divisors, widths, lead, written):
    steps = join_steps(views, extents, divisors)
    lanes, lane_steps, rest = choose_lanes(steps, views, widths, divisors)
    if any(lanes * v.bits % 8 for v in views):
        fail(f"{min(v.bits for v in views)}-bit elements do not fill whole bytes here")
    part = Partition(lanes, lane_steps, _team(ctx, views), prod(extents))
    part.loops = _memory_replicas(views, written)
    if any(v.distributed for v in views):
        _assign_owned(part, views, rest, written)
    else:
        _assign_free(part, rest, lead)
    part.check()
    part.loops = _coalesce(part.loops)
    return part


def _coalesce(loops):
    """Fewer loops for the same addresses, once coverage is proved: the element number no longer matters."""
    order = sorted(loops, key=lambda s: [_order(x) for x in s.strides], reverse=True)
    merged = []
    for s in order:
        if merged and s.dim == merged[-1].dim == -1 and _strides_chain(merged[-1], s):
            s = s.resized(merged.pop().extent * s.extent)
        merged.append(s)
    return merged


def _strides_chain(a, b) -> bool:
    return all(type(x) is int and type(y) is int and x == y * b.extent for x, y in zip(a.strides, b.strides))


def _team(ctx, views) -> int:
    if ctx.scope == "thread":
        return 1
    return ctx.team_size if any(v.distributed for v in views) else ctx.active


def _memory_replicas(views, written):
    """Extra loops that write each copy of a destination replicated in memory."""
    out = []
    for k, v in enumerate(views[:written]):
        for e, m, t in v.replica:
            if m and not t:
                out.append(Step(e, tuple(m if j == k else 0 for j in range(len(views))), 0, 0))
    return out


def _assign_owned(part, views, rest, written):
    """Thread digits dictated by the fragment layouts."""
    owner = next((v for v in views[:written] if v.distributed), None)
    reader = next((v for v in views[written:] if v.distributed), None)
    part.loops += [s for s in rest if not s.thread]
    part.threads = [(s, s.thread, s.extent) for s in rest if s.thread]
    replicas = [(t, e) for e, _, t in (owner or reader).replica if t]
    if owner and reader:
        _require_same_threads(owner, reader, replicas)
    _close_threads(part, (owner or reader).threads, replicas, replicas if owner else [])


def _require_same_threads(owner, reader, replicas):
    held = [(t, e) for e, _, t in reader.replica if t]
    if owner.threads != reader.threads:
        fail(f"{owner.name} and {reader.name} start on different threads")
    if any(r not in held for r in replicas):
        fail(f"{owner.name} has copies on threads where {reader.name} has none")


def _close_threads(part, offset, replicas, free):
    """Guard the thread digits that number no element, unless they are `free`; drop needless modulos."""
    used = sorted([(d, e) for _, d, e in part.threads] + replicas)
    prove_threads(used, part.team)
    position, gaps = 1, []
    for divisor, extent in [*used, (part.team, 1)]:
        if divisor > position:
            gaps.append((position, -(-divisor // position)))
        position = divisor * extent
    fixed = gaps + [r for r in replicas if r not in free]
    part.owners = [(d, _modulo(d, e, part.team), offset // d % e) for d, e in fixed]
    if sum(d * v for d, _, v in part.owners) != offset:
        fail(f"the fragment starts at thread {offset}, inside the threads that it is distributed over")
    part.threads = [(s, d, _modulo(d, e, part.team)) for s, d, e in part.threads]


def _modulo(divisor, extent, whole):
    return None if divisor * extent >= whole else extent


def _assign_free(part, rest, lead):
    """Thread digits chosen for neighbouring accesses: the innermost steps of the lead operand."""
    order = _merge(sorted(rest, key=lambda s: _order(s.strides[lead]), reverse=True))
    if part.team == 1:
        part.loops += order
        return
    taken, outer, need = _split_threads(order, part.team)
    if need > 1 and outer:
        part.chunks = _numbered(order)
        return
    count, digits = _numbered(taken)
    part.threads, part.first = digits, count if need > 1 else None
    part.loops += outer


def _order(stride):
    return (1, stride.divisor) if isinstance(stride, Sym) else (0, abs(stride))


def _split_threads(order, team):
    """(thread steps, loop steps, factor left over): the team's size taken off the innermost steps."""
    taken, rest, need = [], list(order), team
    while rest and need > 1:
        s = rest.pop()
        if need % s.extent and s.extent % need:
            return [], order, team
        if s.extent > need:
            outer, s = s.split(need)
            rest.append(outer)
        taken.append(s)
        need //= s.extent
    return taken[::-1], rest, need


def _numbered(steps):
    """(count, [(step, divisor, extent or None)]): the digits of one number that runs over `steps`."""
    count, digits, divisor = prod(s.extent for s in steps), [], 1
    for s in reversed(steps):
        digits.append((s, divisor, _modulo(divisor, s.extent, count)))
        divisor *= s.extent
    return count, digits[::-1]


def _merge(order):
    """Join neighbouring digits that are one digit in every operand (paper 5.1, canonicalize)."""
    out = []
    for s in order:
        if out and _is_outer_of(out[-1], s):
            s = s.resized(out.pop().extent * s.extent)
        out.append(s)
    return out


def _is_outer_of(a, b) -> bool:
    return a.dim == b.dim and a.weight == b.weight * b.extent and _strides_chain(a, b)
