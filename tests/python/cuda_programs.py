"""Random native-stage kernels whose behaviour is defined: no overflow, no division by zero, no race.

`program(seed)` is a pure function of the seed: (Kernel, list of arrays). Threads share memory only through a
tile that all write before a barrier and read after it.
"""

import random

import numpy as np
from cuda_kernels import broadcast, cta_index, kernel, load, ramp, store, thread_index, vector

from tirx import _ffi_api, ir

THREADS, CTAS, PER_THREAD = 32, 2, 8
TOTAL = THREADS * CTAS * PER_THREAD
_INTS = ("int32", "int64", "uint32", "uint8", "int16", "uint16")


class Program:
    """Builds one kernel statement by statement; every integer value stays within +-1000 of 0."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.ints, self.places, self.depth = [], [], 0
        self.out = {d: ir.Buffer.make("out_" + d, [TOTAL], d) for d in (*_INTS, "float32")}
        self.inp = {d: ir.Buffer.make("in_" + d, [TOTAL], d) for d in (*_INTS, "float32")}
        self.tile = ir.Buffer.make("tile", [THREADS], "int32", "shared")
        self.base = ir.Var("base")

    # ---- expressions ----

    def small(self, e):
        """`e` brought back into the range of every dtype."""
        return ir.Binary("floormod", e, ir.const(self.r.choice([7, 16, 97, 100]), e.dtype))

    def integer(self, dtype="int32", depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            return self.integer_leaf(dtype)
        kind = r.choice(["binary", "binary", "divide", "bits", "select", "cast", "minmax", "unary"])
        a = self.integer(dtype, depth - 1)
        if kind == "divide":
            op = r.choice(["floordiv", "floormod", "truncdiv", "truncmod"])
            return ir.Binary(op, a, ir.const(r.choice([1, 2, 3, 8, 10]), dtype))
        if kind == "cast":
            return self.small(self.integer(r.choice(_INTS), depth - 1)).astype(dtype)
        if kind == "unary":
            return r.choice([~a, ir.Binary("shift_right", a, ir.const(1, dtype))])
        b = self.integer(dtype, depth - 1)
        if kind == "select":
            return _ffi_api.select(self.condition(depth - 1), a, b, None)
        if kind == "minmax":
            return ir.Binary(r.choice(["min", "max"]), a, b)
        if kind == "bits":
            return ir.Binary(r.choice(["bitwise_and", "bitwise_or", "bitwise_xor"]), a, b)
        if dtype.startswith("uint"):
            return ir.Binary(r.choice(["add", "sub", "mul"]), a, b)
        return ir.Binary(r.choice(["add", "sub", "mul"]), self.small(a), self.small(b))

    def integer_leaf(self, dtype):
        r = self.r
        choices = [ir.const(r.randint(0, 9), dtype), load(self.inp[dtype], self.index())]
        if dtype == "int32" and self.ints:
            choices += [r.choice(self.ints)] * 2
        choices += [load(b, self.within(b)) for b in self.places if b.dtype == dtype]
        return self.small(r.choice(choices)) if dtype != "uint8" else r.choice(choices)

    def condition(self, depth=1):
        r = self.r
        if r.random() < 0.3:
            return ir.Binary(r.choice(["lt", "ge"]), self.floating(1), self.floating(1))
        op = r.choice(["lt", "le", "eq", "ne", "gt", "ge"])
        one = ir.Binary(op, self.integer(depth=depth), self.integer(depth=depth))
        if r.random() < 0.3:
            return ir.Binary(r.choice(["and", "or"]), one, self.condition(0))
        return (
            _ffi_api.logical_not(one, None) if hasattr(_ffi_api, "logical_not") and r.random() < 0.2 else one
        )

    def floating(self, depth=2):
        r = self.r
        if depth == 0 or r.random() < 0.2:
            leaves = [
                ir.const(r.choice([0.5, -2.0, 3.25, 0.1]), "float32"),
                load(self.inp["float32"], self.index()),
            ]
            leaves += [load(b, self.within(b)) for b in self.places if b.dtype == "float32"]
            return r.choice(leaves)
        if r.random() < 0.2:
            return self.small(self.integer(depth=depth - 1)).astype("float32")
        op = r.choice(["add", "sub", "mul", "div", "min", "max"])
        b = self.floating(depth - 1)
        return ir.Binary(op, self.floating(depth - 1), ir.const(3.0, "float32") if op == "div" else b)

    def index(self):
        """An element of this thread's part of a global buffer."""
        r = self.r
        inner = (
            r.choice(self.ints)
            if self.ints and r.random() < 0.6
            else ir.const(r.randrange(PER_THREAD), "int32")
        )
        return self.base + ir.Binary("floormod", inner, PER_THREAD)

    def within(self, b):
        r, extent = self.r, int(b.shape[0])
        if self.ints and r.random() < 0.6:
            return ir.Binary("floormod", r.choice(self.ints), extent)
        return ir.const(r.randrange(extent), "int32")

    # ---- statements ----

    def block(self, count):
        saved = len(self.ints), len(self.places)
        out = [s for _ in range(count) for s in self.statement()]
        del self.ints[saved[0] :], self.places[saved[1] :]
        return ir.SeqStmt(out or [ir.Evaluate(0)])

    def statement(self):
        simple = [self.bind, self.allocate, self.assign, self.assign, self.write, self.move]
        nested = [self.loop, self.branch, self.repeat] if self.depth < 2 else []
        make = self.r.choice(simple + nested)
        self.depth += make in nested
        out = make()
        self.depth -= make in nested
        return out

    def bind(self):
        var = ir.Var(self.r.choice(["n", "i", "x", "int"]))
        value = self.small(self.integer())
        self.ints.append(var)
        return [ir.Bind(var, value)]

    def allocate(self):
        dtype = self.r.choice([*_INTS, "float32"])
        b = ir.Buffer.make(self.r.choice(["acc", "r", "x"]), [self.r.choice([1, 1, 4, 8])], dtype, "local")
        zero = ir.const(0.0 if dtype == "float32" else 0, dtype)
        out = [ir.AllocBuffer(b), *(store(b, i, zero) for i in range(int(b.shape[0])))]
        self.places.append(b)
        return out

    def value(self, dtype):
        if dtype == "float32":
            return self.floating()
        return self.small(self.integer(dtype)) if self.r.random() < 0.8 else self.integer(dtype, 1)

    def assign(self):
        if not self.places:
            return self.allocate()
        b = self.r.choice(self.places)
        return [store(b, self.within(b), self.value(str(b.dtype)))]

    def write(self):
        dtype = self.r.choice([*_INTS, "float32"])
        return [store(self.out[dtype], self.index(), self.value(dtype))]

    def move(self):
        """A vector access of four elements, moved or computed with."""
        dtype = self.r.choice(["float32", "int32", "uint8"])
        start = self.base + self.r.choice([0, 4])
        value = vector(self.inp[dtype], self.base + self.r.choice([0, 4]), 4)
        if self.r.random() < 0.5:
            value = ir.Binary("min", value, broadcast(ir.const(3, dtype), 4))
        if dtype == "float32" and self.r.random() < 0.5:
            value = value * vector(self.inp[dtype], self.base, 4)
        return [ir.BufferStore(self.out[dtype], value, [ramp(start, 4)])]

    def loop(self):
        var = ir.Var(self.r.choice(["i", "k", "base"]))
        low = self.r.choice([0, 0, 2, -3])
        self.ints.append(var)
        body = self.block(3)
        self.ints.pop()
        if self.r.random() < 0.3:
            leave = ir.Break() if self.r.random() < 0.5 else ir.Continue()
            body = ir.SeqStmt([ir.IfThenElse(self.condition(), leave, None), body])
        kind = self.r.choice(["serial", "unroll"])
        return [ir.For(var, low, self.r.choice([1, 3, 4]), kind, body, {})]

    def repeat(self):
        count = ir.Buffer.make("count", [1], "int32", "local")
        step = store(count, 0, load(count, 0) + 1)
        body = ir.SeqStmt([step, self.block(2)])
        limit = ir.const(self.r.randint(1, 4), "int32")
        return [
            ir.AllocBuffer(count),
            store(count, 0, ir.const(0, "int32")),
            ir.While(load(count, 0) < limit, body),
        ]

    def branch(self):
        other = self.block(2) if self.r.random() < 0.5 else None
        return [ir.IfThenElse(self.condition(), self.block(2), other)]

    def exchange(self):
        """All threads write the tile, wait, and read one another's element."""
        thread = self.thread
        other = ir.Binary("floormod", thread + self.r.randrange(THREADS), THREADS)
        return [
            store(self.tile, thread, self.small(self.integer())),
            ir.Evaluate(ir.instr_call("cuda.cta_sync")),
            store(self.out["int32"], self.base, load(self.tile, other)),
            ir.Evaluate(ir.instr_call("cuda.cta_sync")),
        ]

    def build(self, name):
        self.thread = ir.Var("tx")
        head = [ir.Bind(self.thread, thread_index())]
        linear = (cta_index() * THREADS + self.thread) * PER_THREAD
        head += [ir.Bind(self.base, linear), ir.AllocBuffer(self.tile)]
        self.ints.append(self.thread)
        body = [s for _ in range(3) for s in (*self.block_items(), *self.exchange())]
        return kernel([*head, *body], [*self.inp.values(), *self.out.values()], name=name, grid=(CTAS, 1, 1),
                      threads=THREADS)  # fmt: skip

    def block_items(self):
        block = self.block(5)
        return list(block.seq) if isinstance(block, ir.SeqStmt) else [block]


def program(seed, name="k"):
    """(Kernel, arrays): inputs then outputs, one pair per dtype."""
    rng = np.random.default_rng(seed)
    built = Program(seed)
    k = built.build(name)
    arrays = [rng.integers(0, 100, TOTAL).astype(d) for d in _INTS]
    arrays.append(rng.standard_normal(TOTAL).astype("float32"))
    arrays += [np.zeros(TOTAL, d) for d in (*_INTS, "float32")]
    return k, arrays
