"""Random kernels do what Python does: the same text runs as Python and, through the compiler, in the simulator.

A program may be refused (its scoping rules are stricter than Python's), but never mean something else.
"""

import random
import textwrap

import numpy as np
import pytest

import tirx
from tirx import errors
from tirx.script import from_source

NAMES = "abc"


class Generator:
    """Random statements over scalars a, b, c, run-time parameters n, m, Python numbers K and an array A[8]."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.loops = 0

    def pick(self, *options):
        return self.random.choice(options)

    def atom(self, names):
        return self.pick(
            *names, *names, "n", "m", "K", f"A[{self.random.randrange(8)}]", str(self.random.randrange(9))
        )

    def expr(self, names, depth=2):
        if depth == 0 or self.random.random() < 0.3:
            return self.atom(names)
        a, b = self.expr(names, depth - 1), self.expr(names, depth - 1)
        kind = self.random.randrange(8)
        if kind < 4:
            return f"({a} {self.pick('+', '-', '*')} {b})"
        if kind < 6:
            return f"({a} {self.pick('//', '%')} {self.random.randrange(1, 7)})"
        if kind == 6:
            return f"{self.pick('min', 'max')}({a}, {b})"
        return f"({a} if {self.cond(names, 0)} else {b})"

    def cond(self, names, depth=1):
        a, b, c = (self.expr(names, 1) for _ in range(3))
        if depth and self.random.random() < 0.4:
            return f"({self.cond(names, 0)}) {self.pick('and', 'or')} ({self.cond(names, 0)})"
        return self.pick(f"{a} < {b}", f"{a} <= {b} < {c}", f"not {a} == {b}", f"{a} != {b}", "K < 3", a)

    def body(self, names, depth):
        lines = []
        for _ in range(self.random.randrange(1, 4)):
            lines += self.stmt(names, depth)
        return lines

    def stmt(self, names, depth):
        kind = self.random.randrange(10 if depth else 6)
        value = f"({self.expr(names)}) % 97"
        if kind < 2:
            return [f"{self.pick(*NAMES)} = {value}"]
        if kind == 2:
            return [f"{self.pick(*NAMES)} {self.pick('+', '-')}= {value}"]
        if kind == 3:
            return [f"A[{self.random.randrange(8)}] {self.pick('', '+')}= {value}"]
        if kind == 4:
            name = f"t{self.random.randrange(3)}"
            return [f"{name} = {value}", f"A[{self.random.randrange(8)}] = {name} + 1"]
        if kind == 5:
            return [f"A[({self.expr(names)}) % 8] = {value}"]
        inner = indent(self.body(names, depth - 1))
        if kind == 6:
            return [f"if {self.cond(names)}:", *inner]
        if kind == 7:
            return [f"if {self.cond(names)}:", *inner, "else:", *indent(self.body(names, depth - 1))]
        return self.loop(names, depth, inner)

    def loop(self, names, depth, inner):
        self.loops += 1
        var = f"i{self.loops}"
        inner = indent(self.body([*names, var], depth - 1)) if self.random.random() < 0.7 else inner
        jump = indent([f"if {self.cond(names)}:", "    " + self.pick("break", "continue")])
        header = self.pick(
            "range(3)", "range(K)", "range(n % 4)", "range(1, 7, 2)", "[1, 2]", "zip([1, 2], [3, 4])"
        )
        if "range" not in header:
            jump = [f"    if K < {self.random.randrange(5)}:", "        " + self.pick("break", "continue")]
        if self.random.random() < 0.4:
            inner = inner + jump + indent(self.body(names, 0))
        target = f"{var}, {var}x" if "zip" in header else var
        return [f"for {target} in {header}:", *inner]

    def program(self):
        start = [f"{name} = {self.random.randrange(9)}" for name in NAMES]
        ending = [f"A[{k}] = {name}" for k, name in enumerate(NAMES)]
        return start + self.body(list(NAMES), 3) + self.body(list(NAMES), 2) + ending


def indent(lines):
    return ["    " + line for line in lines]


def in_python(lines, n, m):
    scope = {"K": 2}
    exec("def f(A, n, m):\n" + textwrap.indent("\n".join(lines), "    "), scope)
    array = list(range(8))
    scope["f"](array, n, m)
    return array


HEAD = """
@T.prim_func
def f(a: T.handle, n: T.int32, m: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    T.device_entry()
    block = T.cta_id([1])
    thread = T.thread_id([1])
"""


def compiled(lines):
    func = from_source(HEAD + textwrap.indent("\n".join(lines), "    ") + "\n", names={"K": 2})
    return tirx.compile(func, tirx.Target("cuda", arch="sm_80"))


def run_seeds(seeds):
    refused = 0
    for seed in seeds:
        lines = Generator(seed).program()
        try:
            kernel = compiled(lines)
        except errors.ScriptError:
            refused += 1
            continue
        for n, m in ((0, 5), (3, -2)):
            array = np.arange(8, dtype=np.int32)
            kernel(array, n, m)
            expected = in_python(lines, n, m)
            assert list(array) == expected, f"seed {seed}, n={n}, m={m}\n" + "\n".join(lines)
    return refused


def test_random_programs():
    print("seeds 0..59")
    assert run_seeds(range(60)) < 20


@pytest.mark.slow
def test_many_random_programs():
    print("seeds 1000..1999")
    assert run_seeds(range(1000, 2000)) < 300
