"""copy between shared memory and matrix fragments with ldmatrix and stmatrix.

One instruction moves X = 1, 2 or 4 matrices of 8 rows of 16 bytes. Lane 8 m + r supplies the address of row
r of matrix m. Register m of lane 4 g + q then holds 4 bytes of matrix m: bytes 4 q .. 4 q + 3 of row g, or,
with .trans (16-bit elements), column g of rows 2 q and 2 q + 1. (PTX ISA 9.1 sections 9.7.14.5.15, .16)

The fragment's layout is brought to this form digit by digit: `word` digits inside a 32-bit register, `q` and
`g` digits of the lane, warp digits, and register digits, of which up to two bits become the matrix index and
the rest loops. The choice is then checked against the instruction's definition, lane by lane.
"""

from __future__ import annotations

from math import prod

from ....layout.banks import aligned_elements
from ....tile.builder import digit, plus, times
from ....tile.conflicts import predict_rows, unpredicted
from ....tile.coverage import proof_text, prove_digits
from ....tile.emit import address, simplified
from ....tile.operand import View, stride_divisor
from ....tile.partition import join_steps
from ....tile.registry import fail, predicate, register_dispatch
from .common import valid_move

_ROW_BYTES = 16


@predicate("fragment and shared memory")
def _fragment_and_shared(call, ctx):
    dst, src = call.operands("dst", "src")
    if not (dst.distributed or src.distributed):
        return "neither operand is a register fragment"
    if sorted((dst.space, src.space)) != ["local", "shared"]:
        return f"it moves between shared memory and registers, not from {src.space} to {dst.space}"
    feature = "ldmatrix" if dst.distributed else "stmatrix"
    return ctx.has(feature) or f"{ctx.arch} has no {feature}"


class _Matrices:
    """How a fragment is made of 8x8 matrices.

    word, q, g, warps, matrix, loops: lists of Steps (partition.py); f, m: positions of the fragment and of
    the memory operand among the views; per_word: elements in 32 bits; trans: the .trans form.
    """

    def __init__(self, views, extents):
        self.f = 0 if views[0].distributed else 1
        self.m = 1 - self.f
        self.fragment, self.memory = views[self.f], views[self.m]
        if self.fragment.bits not in (8, 16, 32):
            fail(f"fragments of {self.fragment.bits}-bit elements do not fill 32-bit registers")
        self.per_word = 32 // self.fragment.bits
        if self.fragment.replica or self.fragment.threads:
            fail("the fragment is replicated or does not start at lane 0")
        self._sort(join_steps(views, extents))
        self.trans = self._orientation()
        self._take_matrices()
        self._require_aligned_rows()

    def _sort(self, steps):
        lanes = [p for s in steps if s.thread for p in _split_at(s, 4, 32)]
        self.q = [s for s in lanes if s.thread < 4]
        self.g = [s for s in lanes if 4 <= s.thread < 32]
        self.warps = [s for s in lanes if s.thread >= 32]
        if prod(s.extent for s in self.q) != 4 or prod(s.extent for s in self.g) != 8:
            fail("the lanes are not arranged as 8 rows of 4")
        self.word, self.loops = [], []
        for s in steps:
            if not s.thread:
                self._sort_register(s)
        if prod(s.extent for s in self.word) != self.per_word:
            fail("a 32-bit register does not hold consecutive elements of one row")

    def _sort_register(self, s):
        stride, room = s.strides[self.f], self.per_word
        if stride < room and stride * s.extent > room and room % stride == 0:
            outer, inner = s.split(room // stride)
            self.word.append(inner)
            self.loops.append(outer)
        else:
            (self.word if stride < room else self.loops).append(s)

    def _orientation(self) -> bool:
        """False: rows run along (q, word); True: along g; declines when along neither."""
        at = self.m
        if all(s.strides[at] == s.strides[self.f] for s in self.word) and all(
            s.strides[at] == s.thread * self.per_word for s in self.q
        ):
            return False
        if self.per_word == 2 and all(s.strides[at] == s.thread // 4 for s in self.g):
            return True
        return fail("the rows of the 8x8 matrices are not 16 contiguous bytes of shared memory")

    def _take_matrices(self):
        """Up to 4 matrices per instruction, those in neighbouring registers first."""
        self.loops.sort(key=lambda s: s.strides[self.f])
        self.matrix, rest, need = [], [], 4
        for s in self.loops:
            n = _common_power(s.extent, need)
            if n < s.extent:
                outer, s = s.split(n)
                rest.append(outer)
            if n > 1:
                self.matrix.append(s)
            need //= n
        self.loops = rest[::-1]

    @property
    def count(self) -> int:
        """Matrices per instruction: 1, 2 or 4."""
        return prod(s.extent for s in self.matrix)

    def _require_aligned_rows(self):
        row, v = _ROW_BYTES * 8 // self.memory.bits, self.memory
        moving = self.matrix + self.loops + self.warps + (self.q + self.word if self.trans else self.g)
        offsets = [v.divisor, *(stride_divisor(s.strides[self.m]) for s in moving)]
        granule = 1 << v.swizzle[0] if v.swizzle else row
        if aligned_elements(v.bits, v.align, granule, offsets) < row:
            fail("rows of the matrices do not start on 16-byte boundaries")
        if any(stride_divisor(s.strides[self.f]) % self.per_word for s in self.matrix + self.loops):
            fail("matrices do not start on whole registers")
        if self.fragment.divisor % self.per_word:
            fail("the slice does not start on a whole register")

    def row_digits(self, lane):
        """[(step, digit)] that address the row which `lane` (an int or expression) supplies."""
        row, out, divisor = lane % 8, [], 8
        if self.trans:
            out += [(s, digit(row, s.strides[self.f], s.extent)) for s in self.word]
            out += [(s, digit(row, 2 * s.thread, s.extent)) for s in self.q]
        else:
            out += [(s, digit(row, s.thread // 4, s.extent)) for s in self.g]
        for s in self.matrix:
            out.append((s, digit(lane, divisor, s.extent)))
            divisor *= s.extent
        return out

    def check(self, total):
        """Compare each element's place with where the instruction takes it from; prove coverage."""
        at = self.m
        for lane in range(32):
            g, q = divmod(lane, 4)
            for matrix in range(self.count):
                for w in range(self.per_word):
                    row, column = (2 * q + w, g) if self.trans else (g, q * self.per_word + w)
                    source = _place(self.row_digits(8 * matrix + row), at) + column
                    if source != self._element(lane, matrix, w):
                        fail(f"lane {lane}, register {matrix} would receive another element")
        digits = self.word + self.q + self.g + self.warps + self.matrix + self.loops
        prove_digits([(s.extent, s.weight) for s in digits], total)

    def _element(self, lane, matrix, w):
        """Memory coordinate (relative to the region) of an element of the fragment, from the layout."""
        digits = [(s, lane // s.thread % s.extent) for s in self.q + self.g]
        digits += [(s, w // s.strides[self.f] % s.extent) for s in self.word]
        for s in self.matrix:
            digits.append((s, matrix % s.extent))
            matrix //= s.extent
        return _place(digits, self.m)


def _place(digits, k) -> int:
    return sum(s.strides[k] * x for s, x in digits)


def _split_at(step, *bounds):
    """Cut a thread digit where it crosses a lane group or a warp."""
    for bound in bounds:
        if step.thread < bound < step.thread * step.extent:
            if bound % step.thread or step.extent % (bound // step.thread):
                fail("the lanes are not arranged as 8 rows of 4")
            outer, inner = step.split(bound // step.thread)
            return [*_split_at(outer, *bounds), inner]
    return [step]


def _common_power(extent, limit) -> int:
    """The largest of 4, 2, 1 that divides `extent` and does not exceed `limit`."""
    return next(n for n in (4, 2, 1) if n <= limit and extent % n == 0)


_CACHE: dict = {}


def _matrices(ctx, operands):
    if any(type(e) is not int for op in operands for e in op.extents):
        fail("extents are not constant")
    extents = operands[0].extents
    views = [View(op, extents, ctx) for op in operands]
    key = (tuple(v.signature() for v in views), tuple(extents))
    plan = _CACHE.get(key)
    if plan is None or None in key[0]:
        plan = _Matrices(views, extents)
        plan.check(prod(extents))
        _CACHE[key] = plan
    if prod(s.extent for s in plan.warps) * 32 != ctx.team_size:
        fail(f"the fragment occupies {prod(s.extent for s in plan.warps)} warps of {ctx.team_size // 32}")
    return plan, views


@register_dispatch("copy", "cuda", variant="ldstmatrix", priority=15, when=[valid_move, _fragment_and_shared])
def copy_ldstmatrix(call, ctx):
    """ldmatrix into, or stmatrix out of, a fragment made of 8x8 matrices."""
    operands = call.operands("dst", "src")
    plan, views = _matrices(ctx, operands)
    b, loading = call.builder(), plan.f == 0
    fragment, memory = views[plan.f], views[plan.m]
    registers = fragment.flat(ctx)
    words, declare = b.alias(registers, "uint32", registers.shape[0].value // plan.per_word)
    lane, shared = ctx.lane, memory.flat(ctx)
    warp = [(s, digit(ctx.thread_in_team, s.thread, s.extent)) for s in plan.warps]
    name = f"ptx.{'ld' if loading else 'st'}matrix.sync.aligned.m8n8.x{plan.count}"
    name += (".trans" if plan.trans else "") + ".shared.b16"

    def move(variables):
        steps = list(zip(plan.loops, variables))
        where = simplified(ctx, address(memory, plan.m, warp + steps + plan.row_digits(lane)))
        regs = [b.place(words, w) for w in _word_indices(plan, fragment, steps)]
        pointer = b.pointer(shared, where)
        return b.instr(name, *regs, pointer) if loading else b.instr(name, pointer, *regs)

    steps = prod(s.extent for s in plan.loops)
    ctx.predicts(lambda: _row_conflicts(plan, memory))
    ctx.emits(name[4:], steps, "warp")
    ctx.covers(proof_text(prod(operands[0].extents), ctx.team_size, steps, plan.count * plan.per_word))
    return b.seq(declare, b.loops([s.extent for s in plan.loops], move))


def _row_conflicts(plan, memory):
    """Bank conflicts of the rows whose addresses the lanes supply, as accesses of 16 bytes."""
    moving = [*plan.warps, *plan.loops]
    if any(type(s.strides[plan.m]) is not int for s in [*moving, *plan.g, *plan.q, *plan.word, *plan.matrix]):
        return unpredicted([memory.op], "a stride is symbolic")
    place = lambda lane: _place(plan.row_digits(lane), plan.m)  # noqa: E731
    return [predict_rows(memory, plan.m, place, 8 * plan.count, moving, _ROW_BYTES)]


def _word_indices(plan, fragment, steps):
    """Indices of the instruction's registers in the 32-bit view of the fragment."""
    base = fragment.base // plan.per_word
    for s, x in steps:
        base = plus(base, times(x, s.strides[plan.f] // plan.per_word))
    offsets = [0]
    for s in plan.matrix:
        step = s.strides[plan.f] // plan.per_word
        offsets = [o + x * step for x in range(s.extent) for o in offsets]
    return [plus(base, o) for o in offsets]
