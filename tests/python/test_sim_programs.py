"""Random programs of loops, branches, breaks and selects, against a per-thread interpretation in Python."""

import random

import numpy as np
import pytest
from sim_kernels import Builder, tid

from tirx import ir

VARS = 3


class Break(Exception):
    pass


class Continue(Exception):
    pass


class Generator:
    """Builds a program twice: as IR, and as a Python closure over (t, variables, out)."""

    def __init__(self, seed, threads):
        self.r, self.k = random.Random(seed), Builder(threads=threads)
        self.out = self.k.buffer("out", threads * VARS, "int32")
        self.slots = self.k.alloc("v", VARS, "int32", "local")
        self.loops = []  # (IR variable, key in the Python environment)

    def expr(self, depth=2):
        """(IR, python(env)) of an int32 expression with small values."""
        r = self.r
        kind = r.choice(
            ["const", "tid", "var", "loop", "add", "mul", "floordiv", "floormod", "select", "min"]
        )
        if depth == 0 or kind == "const":
            c = r.randint(-5, 9)
            return ir.const(c, "int32"), lambda e: c
        if kind == "tid":
            return tid(), lambda e: e["t"]
        if kind == "loop" and self.loops:
            v, key = r.choice(self.loops)
            return v, lambda e: e[key]
        if kind in ("var", "loop"):
            i = r.randrange(VARS)
            return self.k.load(self.slots, i), lambda e: e["v"][i]
        a, fa = self.expr(depth - 1)
        if kind in ("floordiv", "floormod"):
            c = r.choice([2, 3, 7, 32, 64])
            op = (lambda x: x // c) if kind == "floordiv" else (lambda x: x % c)
            return ir.Binary(kind, a, c), lambda e: op(fa(e))
        b, fb = self.expr(depth - 1)
        if kind == "select":
            c, fc = self.cond()
            return ir._api.select(c, a, b, None), lambda e: fa(e) if fc(e) else fb(e)
        ops = {"add": lambda x, y: x + y, "mul": lambda x, y: wrap(x * y), "min": min}
        return ir.Binary(kind, a, b), lambda e: wrap(ops[kind](fa(e), fb(e)))

    def cond(self):
        a, fa = self.expr(1)
        b, fb = self.expr(1)
        name, op = self.r.choice(
            [("lt", lambda x, y: x < y), ("eq", lambda x, y: x == y), ("ge", lambda x, y: x >= y)]
        )
        return ir.Binary(name, a, b), lambda e: op(fa(e), fb(e))

    def block(self, depth, in_loop):
        """Emits statements; returns what they do."""
        steps = [self.statement(depth, in_loop) for _ in range(self.r.randint(1, 3))]

        def run(e):
            for s in steps:
                s(e)

        return run

    def statement(self, depth, in_loop):
        kinds = ["assign"] * 3 + (["if", "for", "for"] if depth else []) + (["leave"] if in_loop else [])
        return getattr(self, "_" + self.r.choice(kinds))(depth, in_loop)

    def _assign(self, depth, in_loop):
        i = self.r.randrange(VARS)
        v, f = self.expr()
        self.k.store(self.slots, i, v)

        def run(e):
            e["v"][i] = f(e)

        return run

    def _if(self, depth, in_loop):
        c, fc = self.cond()
        arms = {}
        other = (lambda: arms.update(b=self.block(depth - 1, in_loop))) if self.r.random() < 0.5 else None
        self.k.if_(c, lambda: arms.update(a=self.block(depth - 1, in_loop)), other)
        return lambda e: arms["a"](e) if fc(e) else arms.get("b", lambda e: None)(e)

    def _leave(self, depth, in_loop):
        c, fc = self.cond()
        kind = self.r.choice([Break, Continue])
        self.k.if_(c, self.k.break_ if kind is Break else self.k.continue_)

        def run(e):
            if fc(e):
                raise kind

        return run

    def _for(self, depth, in_loop):
        extent, fe = self.r.choice([self.expr(1), (ir.const(3, "int32"),) + (lambda e: 3,)])
        bound = ir.Binary("min", extent, 4)
        key, inner = f"i{len(self.loops)}", {}

        def body(v):
            self.loops.append((v, key))
            inner["f"] = self.block(depth - 1, True)
            self.loops.pop()

        self.k.for_(bound, body, kind=self.r.choice(["serial", "unroll"]), name=key)

        def run(e):
            for x in range(min(fe(e), 4)):
                e[key] = x
                try:
                    inner["f"](e)
                except Continue:
                    continue
                except Break:
                    break

        return run


def wrap(x):
    return (x + 2**31) % 2**32 - 2**31


def check(program, threads=40, **kw):
    g = Generator(program, threads)
    for i in range(VARS):
        g.k.store(g.slots, i, ir.const(i, "int32"))
    run = g.block(3, False)
    for i in range(VARS):
        g.k.store(g.out, tid() * VARS + i, g.k.load(g.slots, i))
    want = []
    for t in range(threads):
        e = {"t": t, "v": list(range(VARS))}
        run(e)
        want += e["v"]
    got = np.zeros(threads * VARS, np.int32)
    g.k.run(got, **kw)
    assert got.tolist() == want, f"program {program}"


def test_random_programs():
    for seed in range(150):
        check(seed)


@pytest.mark.slow
def test_many_random_programs():
    for seed in range(1000, 4000):
        check(seed, observers=("bounds",), schedule=["lazy", "random"][seed % 2], seed=seed)
