"""Random native-stage functions for tests of passes, one per seed, whose accesses stay inside their buffers.

`program(seed)` returns a function of two float32 buffers A, B of SIZE elements (B may be written), an int32
scalar n and 64 threads in a 4 x 2 grid. `outcome(func, seed, ...)` runs it: what it leaves in memory.
"""

import random

import native_eval
import numpy as np

from tirx import ir

SIZE, THREADS, GRID = 4096, 64, (4, 2, 1)
ATTRS = {"tirx.stage": "native", "tirx.threads": THREADS, "tirx.grid": [4, 2, 1], "tirx.cluster": [1, 1, 1]}


def const(value, dtype="int32"):
    return ir.IntImm(dtype, value)


class Builder:
    def __init__(self, seed, kinds=("serial", "unroll"), index_dtype="int32"):
        self.r, self.kinds, self.index_dtype = random.Random(seed), kinds, index_dtype
        self.a, self.b = (ir.Buffer.make(x, [SIZE], "float32") for x in "AB")
        self.n = ir.Var("n")
        self.ints = []  # (variable, least, most)
        self.count = 0

    def function(self):
        params = [self.a.data, self.b.data, self.n]
        tx, bx = ir.Var("tx"), ir.Var("bx")
        body = [
            ir.Bind(tx, ir.call("int32", "tx.thread_index")),
            ir.Bind(bx, ir.call("int32", "tx.cta_index", [const(0)])),
        ]
        self.ints = [(tx, 0, THREADS - 1), (bx, 0, 3), (self.n, -8, 40)]
        body += self.block(3, self.r.randint(2, 4))
        return ir.PrimFunc("f", params, [self.a, self.b, None], ir.SeqStmt(body), ATTRS)

    def block(self, depth, size):
        known = len(self.ints)
        out = [self.statement(depth) for _ in range(size)]
        del self.ints[known:]
        return out

    def statement(self, depth):
        kinds = [self.store, self.store, self.let]
        if depth > 0:
            kinds += [self.loop, self.loop, self.branch]
        return self.r.choice(kinds)(depth)

    def name(self, stem):
        self.count += 1
        return f"{stem}{self.count}"

    def let(self, depth):
        value = self.index(2) % SIZE
        v = ir.Var(self.name("v"), str(value.dtype))
        self.ints.append((v, 0, SIZE - 1))
        return ir.Bind(v, value)

    def loop(self, depth):
        r, v = self.r, ir.Var(self.name("i"), self.index_dtype)
        extent = r.choice([0, 1, 1, 2, 3, 4, 6, 8])
        lo = r.choice([0, 0, 0, 1, 4])
        self.ints.append((v, lo, lo + max(extent, 1) - 1))
        body = ir.SeqStmt(self.block(depth - 1, r.randint(1, 3)))
        self.ints.pop()
        low, count = const(lo, self.index_dtype), const(extent, self.index_dtype)
        return ir.For(v, low, count, r.choice(self.kinds), body, {})

    def branch(self, depth):
        then_case = ir.SeqStmt(self.block(depth - 1, self.r.randint(1, 2)))
        else_case = ir.SeqStmt(self.block(depth - 1, 1)) if self.r.random() < 0.5 else None
        return ir.IfThenElse(self.condition(), then_case, else_case)

    def condition(self):
        r = self.r
        name = r.choice(["lt", "le", "gt", "ge", "eq", "ne"])
        limit = self.index(1) if r.random() < 0.4 else const(r.choice([0, 1, 3, 8, 63, 64, 200]))
        c = ir.Binary(name, self.index(1), limit)
        if r.random() < 0.25:
            c = ir.Binary(r.choice(["and", "or"]), c, ir.Binary("lt", self.index(1), const(r.randint(0, 99))))
        return c

    def index(self, depth):
        """A non-negative (mostly) integer expression of moderate size."""
        r = self.r
        if depth == 0 or r.random() < 0.2:
            v, _, _ = r.choice(self.ints)
            return v if r.random() < 0.8 else const(r.randint(0, 20))
        name = r.choice(["add", "add", "mul", "floordiv", "floormod", "sub", "min", "max"])
        x = self.index(depth - 1)
        constant = name in ("mul", "floordiv", "floormod")
        y = const(r.choice([1, 2, 4, 8, 16, 3])) if constant else self.index(depth - 1)
        return ir.Binary(name, x, y)

    def element(self, buffer):
        return buffer, [self.index(2) % SIZE]

    def store(self, depth):
        r = self.r
        buffer, indices = self.element(self.b)
        value = ir.BufferLoad(*self.element(r.choice([self.a, self.b])))
        if r.random() < 0.5:
            value = value * ir.FloatImm("float32", 0.5) + self.index(1).astype("float32")
        return ir.BufferStore(buffer, value, indices)


def program(seed, **kwargs):
    return Builder(seed, **kwargs).function()


def outcome(func, seed, thread, cta, n):
    """(memory of B afterwards, the writes in order)."""
    rng = np.random.default_rng(seed)
    a, b = (rng.standard_normal(SIZE).astype(np.float32) for _ in range(2))
    machine = native_eval.run(func, [a, b, n], thread, cta)
    return b, machine.stores


def same_meaning(before, after, seed, order=True):
    """Both functions leave the same memory (and write in the same order) for some threads and scalars."""
    rng = random.Random(seed)
    for _ in range(3):
        thread, cta = (
            rng.choice([0, 1, THREADS - 1, rng.randrange(THREADS)]),
            (rng.randrange(4), rng.randrange(2), 0),
        )
        n = rng.choice([-8, 0, 1, 33, 40])
        want, got = (outcome(f, seed, thread, cta, n) for f in (before, after))
        where = f"program({seed}), thread {thread}, cta {cta}, n {n}\n{before}\n->\n{after}"
        assert np.array_equal(want[0], got[0], equal_nan=True), where
        assert not order or want[1] == got[1], where
