"""A small evaluator of what rules return: every thread in turn, elements as integers.

Storage is one dict per space and data variable: {element index: value}; "local" is per thread. Buffers with
a layout (or several dimensions) are indexed logically, flat ones by element. Reading an element that nobody
wrote raises KeyError, so a rule that misses or misplaces an element cannot pass.
"""

from collections import defaultdict

from tirx import ir


def layout_place(buffer, index):
    """(thread-free) memory coordinate of a logical index, by the definition of layouts."""
    linear, layout = _linear(buffer, index), buffer.layout
    if layout is None:
        return linear
    swizzle = None
    if hasattr(layout, "swizzle_len"):
        swizzle, layout = (layout.per_element, layout.swizzle_len, layout.atom_len), layout.tile_layout
    m = int(layout.offset.get("m", 0)) if layout.offset else 0
    for it in reversed(list(layout.shard)):
        linear, x = divmod(linear, int(it.extent))
        m += x * int(it.stride) if it.axis == "m" else 0
    return m if swizzle is None else swizzle_place(m, *swizzle)


def _linear(buffer, index):
    """Row-major element number; the outermost extent (possibly symbolic) does not enter."""
    linear = index[0]
    for i, n in zip(index[1:], list(buffer.shape)[1:]):
        linear = linear * int(n) + i
    return linear


def swizzle_place(m, per_element, bits, shift):
    """addr(m) = f(m >> M) * 2^M + m mod 2^M, f(x) = x ^ ((x & ((2^B - 1) << S)) >> S)."""
    x = m >> per_element
    x ^= (x & (((1 << bits) - 1) << shift)) >> shift
    return (x << per_element) | (m & ((1 << per_element) - 1))


class Machine:
    """Runs statements for threads 0 .. threads-1."""

    def __init__(self):
        self.memory = defaultdict(dict)  # data variable -> {element: value}
        self.registers = defaultdict(dict)  # (thread, data variable) -> {element: value}
        self.widths = defaultdict(int)  # (space, lanes) -> accesses
        self.writes = defaultdict(int)  # (data variable or (thread, variable), element) -> times

    def space(self, buffer):
        key = str(buffer.data.name)
        return self.registers[self.thread, key] if buffer.scope == "local" else self.memory[key]

    def run(self, stmt, threads, thread_var, values=None):
        """Execute `stmt` once per thread; writes are visible to later threads. values: of other variables.

        Matrix instructions need the addresses of the whole warp: a first pass only collects them.
        """
        self.rows = {}
        for self.collecting in (True, False) if _has_matrix_op(stmt) else (False,):
            for self.thread in range(threads):
                self.env, self.issued = {thread_var: self.thread, **(values or {})}, 0
                self.stmt(stmt)

    def stmt(self, s):
        getattr(self, "do_" + type(s).__name__)(s)

    def do_SeqStmt(self, s):
        for x in s.seq:
            self.stmt(x)

    def do_For(self, s):
        for i in range(self.expr(s.extent)):
            self.env[s.loop_var] = i
            self.stmt(s.body)

    def do_IfThenElse(self, s):
        if self.expr(s.cond):
            self.stmt(s.then_case)

    def do_Bind(self, s):
        self.env[s.var] = self.expr(s.value)

    def do_DeclBuffer(self, s):
        pass

    def do_BufferStore(self, s):
        value, where = self.expr(s.value), self.elements(s.buffer, s.indices)
        values = value if isinstance(value, list) else [value]
        assert len(values) == len(where)
        self.access(s.buffer, where)
        space = self.space(s.buffer)
        name = str(s.buffer.data.name)
        owner = (self.thread, name) if s.buffer.scope == "local" else name
        for w, v in zip(where, values):
            space[w] = v
            self.writes[owner, w] += 1

    def do_Evaluate(self, s):
        getattr(self, "op_" + s.value.op.split(".")[1] + "_" + s.value.op.split(".")[2])(s.value)

    def do_AllocBuffer(self, s):
        pass

    def op_ldmatrix_sync(self, call):
        self.matrix(call, list(call.args[:-1]), call.args[-1].args[0], load=True)

    def op_stmatrix_sync(self, call):
        self.matrix(call, list(call.args[1:]), call.args[0].args[0], load=False)

    def matrix(self, call, regs, row, load):
        """PTX ISA 9.7.14.5.15: lane 8 m + r has the address of row r of matrix m; register m of lane 4 g + q
        is bytes 4 q .. 4 q + 3 of row g, or with .trans elements (2 q, g) and (2 q + 1, g)."""
        warp, lane = divmod(self.thread, 32)
        rows = self.rows.setdefault((warp, self.issued), {})
        self.issued += 1
        bits = row.buffer.dtype.bits
        per_word = 32 // bits
        if self.collecting:
            rows[lane] = self.expr(row.indices[0])
            assert rows[lane] * bits // 8 % 16 == 0, "misaligned row"
            return
        g, q = divmod(lane, 4)
        memory = self.memory[str(row.buffer.data.name)]
        self.widths[call.op.split(".")[1], len(regs)] += 1
        for m, reg in enumerate(regs):
            word = self.expr(reg.indices[0])
            local = self.registers[self.thread, str(reg.buffer.data.name)]
            for w in range(per_word):
                trans = ".trans" in call.op
                r, column = (2 * q + w, g) if trans else (g, per_word * q + w)
                place = rows[8 * m + r] + column
                if load:
                    local[word * per_word + w] = memory[place]
                    self.writes[(self.thread, str(reg.buffer.data.name)), word * per_word + w] += 1
                else:
                    memory[place] = local[word * per_word + w]
                    self.writes[str(row.buffer.data.name), place] += 1

    def op_cp_async(self, call):
        dst, src = (a.args[0] for a in call.args[:2])
        size = self.expr(call.args[2]) * 8 // dst.buffer.dtype.bits
        read = self.expr(call.args[3]) * 8 // dst.buffer.dtype.bits
        to, start = self.expr(dst.indices[0]), self.expr(src.indices[0])
        assert to % size == 0 and start % size == 0, "misaligned cp.async"
        self.widths[str(dst.buffer.scope), size] += 1
        for i in range(size):
            value = self.memory[str(src.buffer.data.name)][start + i] if i < read else 0
            self.memory[str(dst.buffer.data.name)][to + i] = value
            self.writes[str(dst.buffer.data.name), to + i] += 1

    def elements(self, buffer, indices):
        index = [self.expr(i) for i in indices]
        if isinstance(index[-1], list):
            assert len(index) == 1
            return index[0]
        return [layout_place(buffer, index)] if len(buffer.shape) > 1 or buffer.layout is not None else index

    def access(self, buffer, where):
        n = len(where)
        assert where[0] % n == 0, f"access of {n} elements at {where[0]}"
        assert where == list(range(where[0], where[0] + n))
        self.widths[str(buffer.scope), n] += 1

    def expr(self, e):
        if isinstance(e, (int, float)):
            return e
        return getattr(self, "ev_" + type(e).__name__)(e)

    def ev_IntImm(self, e):
        return e.value

    ev_FloatImm = ev_IntImm

    def ev_Var(self, e):
        return self.env[e]

    def ev_Cast(self, e):
        return self.expr(e.value)

    def ev_Select(self, e):
        return self.expr(e.true_value if self.expr(e.cond) else e.false_value)

    def ev_Ramp(self, e):
        base = self.expr(e.base)
        return [base + i for i in range(e.lanes)]

    def ev_Broadcast(self, e):
        return [self.expr(e.value)] * e.lanes

    def ev_BufferLoad(self, e):
        where = self.elements(e.buffer, e.indices)
        self.access(e.buffer, where)
        values = [self.space(e.buffer)[w] for w in where]
        return values if e.dtype.lanes > 1 else values[0]

    def ev_Binary(self, e):
        a, b = self.expr(e.a), self.expr(e.b)
        return {
            "add": lambda: a + b, "sub": lambda: a - b, "mul": lambda: a * b, "floordiv": lambda: a // b,
            "floormod": lambda: a % b, "lt": lambda: a < b, "eq": lambda: a == b, "ne": lambda: a != b,
            "and": lambda: a and b, "bitwise_xor": lambda: a ^ b, "bitwise_and": lambda: a & b,
            "shift_right": lambda: a >> b, "shift_left": lambda: a << b, "min": lambda: min(a, b),
        }[e.name]()  # fmt: skip


def _has_matrix_op(stmt) -> bool:
    if isinstance(stmt, ir.Evaluate):
        return "matrix" in stmt.value.op
    children = list(stmt.seq) if isinstance(stmt, ir.SeqStmt) else []
    children += [getattr(stmt, f) for f in ("body", "then_case") if hasattr(stmt, f)]
    return any(_has_matrix_op(c) for c in children)


def places(buffer, index):
    """All (thread, memory coordinate) of a logical element, by the definition of layouts (paper 3.1)."""
    linear, layout = _linear(buffer, index), buffer.layout
    if layout is None or hasattr(layout, "swizzle_len"):
        return [(0, layout_place(buffer, index))]
    t = m = 0
    for axis, offset in layout.offset.items():
        t, m = _moved(t, m, str(axis), int(offset))
    for it in reversed(list(layout.shard)):
        linear, x = divmod(linear, int(it.extent))
        t, m = _moved(t, m, str(it.axis), x * int(it.stride))
    out = [(t, m)]
    for it in layout.replica:
        steps = range(int(it.extent))
        out = [_moved(a, b, str(it.axis), x * int(it.stride)) for a, b in out for x in steps]
    return out


_UNITS = {"laneid": 1, "tid_in_wg": 1, "tx": 1, "warpid": 32, "wid_in_wg": 32, "wgid": 128}


def _moved(t, m, axis, step):
    return (t, m + step) if axis == "m" else (t + step * _UNITS[axis], m)
