"""Generated expressions against their value: the simplified expression is defined and equal wherever the
original is, a division by zero never disappears, bounds and divisibility hold at every point.

The seed is printed; TIRX_FUZZ_SEED replays another one.
"""

import os
import random

import arith_eval as ref
import numpy as np
import pytest

from tirx import ir
from tirx.arith import NEG_INF, POS_INF, Analyzer
from tirx.ir import Var

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "20240611"))
POINTS = 160
LIMITS = {"int32": (-(2**31), 2**31 - 1), "int64": (-(2**63), 2**63 - 1), "uint32": (0, 2**32 - 1),
          "uint64": (0, 2**64 - 1)}  # fmt: skip
CONSTANTS = [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 31, 32, 63, 64, 96, 128, 1000]
ARITHMETIC = ["add", "add", "add", "sub", "mul", "floordiv", "floordiv", "floormod", "floormod", "min", "max"]
RARE = ["truncdiv", "truncmod", "bitwise_and", "bitwise_or", "bitwise_xor", "shift_left", "shift_right"]
NOT = getattr(ir._api, "not")
COMPARISONS = ["eq", "ne", "lt", "le", "gt", "ge"]


class Generator:
    """Random typed expressions over variables with known facts, built together with their values."""

    def __init__(self, seed, dtype):
        self.rng, self.dtype = random.Random(seed), dtype
        self.np_rng = np.random.default_rng(seed)
        self.analyzer = Analyzer()
        self.env, self.vars = {}, []
        self.admitted = np.ones(POINTS, bool)  # points at which every variable is within its facts
        self.extreme = False  # a constant near the ends of the dtype was used
        for i in range(4):
            self._variable(i)

    def _variable(self, i):
        v = Var(f"v{i}", self.dtype)
        kinds = ["small", "small", "small", "negative", "any", "wide", "stride"]
        if self.vars:
            kinds += ["let", "below"]
        kind = self.rng.choice(kinds)
        if kind == "let":
            value = self.integer(2)
            self.analyzer.bind_value(v, value[0])
            values, fits, trap = value[1]
            self.admitted &= fits & ~trap
        elif kind == "below":
            values = self._below(v, self.rng.choice(self.vars))
        else:
            values = self._in_range(v, kind)
        self.env[v] = values, np.ones(POINTS, bool), np.zeros(POINTS, bool)
        self.vars.append(v)

    def _below(self, v, u):
        """0 <= v < u; where u is not positive there is no such v, and the point is not admitted."""
        self.analyzer.bind(v, 0, u)
        values = self.env[u][0]
        self.admitted &= values > 0
        picks = [self.rng.randrange(x) if x > 0 else 0 for x in values.tolist()]
        ends = [max(x - self.rng.randint(1, 2), 0) for x in values.tolist()]
        picks = [self.rng.choice(pair) for pair in zip(picks, ends)]
        return np.array(picks, values.dtype)

    def _in_range(self, v, kind):
        rng, dtype = self.rng, self.dtype
        lo, hi = LIMITS[dtype]
        if kind in ("small", "stride"):
            lo, hi = 0, rng.choice([1, 4, 8, 32, 100, 128]) - 1
        elif kind == "negative" and dtype.startswith("i"):
            lo, hi = -rng.choice([1, 8, 100]), rng.choice([0, 7, 100])
        elif kind == "wide" and dtype.startswith("i"):
            lo, hi = 0, hi // rng.choice([1, 2, 5]) - 1
        if kind != "any" and hi - lo < LIMITS["int64"][1]:
            self.analyzer.bind(v, lo, hi - lo + 1)
        values = self._sample(lo, hi)
        if kind != "stride":
            return values
        step = rng.choice([2, 4, 8])
        self.analyzer.bind(v, 0, (hi + 1) * step)
        self.analyzer.bind_modular(v, step, 0)
        return values * np.asarray(step, values.dtype)

    def _sample(self, lo, hi):
        corners = [lo, hi, min(lo + 1, hi), max(hi - 1, lo)]
        near = [c for c in (-1, 0, 1) if lo <= c <= hi]
        picks = [self.rng.choice(corners + near) for _ in range(POINTS // 2)]
        picks += [self.rng.randint(lo, hi) for _ in range(POINTS - len(picks))]
        return np.array(picks, ref.storage(self.dtype))

    def _binary(self, name, x, y):
        e = ir.Binary(name, x[0], y[0])
        return e, ref.binary(name, x[1], y[1], self.dtype if name not in ("and", "or") else "bool")

    def constant(self):
        rng = self.rng
        c = rng.choice(CONSTANTS)
        if self.dtype.startswith("i") and rng.random() < 0.15:
            c = -c
        if rng.random() < 0.02:
            c = rng.choice([LIMITS[self.dtype][1] // 2, LIMITS[self.dtype][1], LIMITS[self.dtype][0]])
            c = min(c, 2**63 - 1)
            self.extreme = True
        return ir.IntImm(self.dtype, c), ref.constant(c, self.dtype, POINTS)

    def integer(self, depth):
        rng = self.rng
        if depth == 0 or rng.random() < 0.1:
            if rng.random() < 0.7:
                v = rng.choice(self.vars)
                return v, self.env[v]
            return self.constant()
        pick = rng.random()
        if pick < 0.06:
            c, t, f = self.boolean(depth - 1), self.integer(depth - 1), self.integer(depth - 1)
            return ir._api.select(c[0], t[0], f[0], None), ref.select(c[1], t[1], f[1])
        if pick < 0.10:
            return self._round_trip(self.integer(depth - 1))
        name = rng.choice(RARE if pick < 0.2 else ARITHMETIC)
        x = self.integer(depth - 1)
        constant = name in ("mul", "floordiv", "floormod", "truncdiv", "truncmod") and rng.random() < 0.85
        constant = constant or name.startswith("shift")
        return self._binary(name, x, self.constant() if constant else self.integer(depth - 1))

    def _round_trip(self, x):
        """Through another integer type and back."""
        other = self.rng.choice([t for t in LIMITS if t != self.dtype])
        e = x[0].astype(other).astype(self.dtype)
        return e, ref.cast(ref.cast(x[1], self.dtype, other), other, self.dtype)

    def boolean(self, depth):
        pick = self.rng.random()
        if depth > 0 and pick < 0.15:
            x, y = self.boolean(depth - 1), self.boolean(depth - 1)
            return self._binary(self.rng.choice(["and", "or"]), x, y)
        if depth > 0 and pick < 0.2:
            x = self.boolean(depth - 1)
            return NOT(x[0], None), ref.negate(x[1])
        return self._binary(self.rng.choice(COMPARISONS), self.integer(depth), self.integer(depth))


def check(e, value, g, keep, label):
    """All the promises of the analyzer for one expression at the points in `keep`."""
    a, dtype = g.analyzer, str(e.dtype)
    print(f"{label}: {e!r}")
    s = a.simplify(e)
    assert str(s.dtype) == dtype, label
    got, fits, trap = ref.evaluate(s, g.env, POINTS)
    want, could, trapped = value
    defined = keep & could & ~trapped
    bad = defined & ~(fits & ~trap & (got == want))
    assert not bad.any(), f"{label}: {witness(g, bad)}\n{e!r}\n-> {s!r}: {want[bad][0]} became {got[bad][0]}"
    lost = keep & could & trapped & ~trap
    assert not lost.any(), f"{label}: {witness(g, lost)}: a division by zero vanished\n{e!r}\n-> {s!r}"
    if dtype != "bool":
        check_facts(a, e, want[defined], label)
    elif a.can_prove(e):
        assert want[defined].all(), f"{label}: proved, but does not hold\n{e!r}"
    again = a.simplify(s)
    assert g.extreme or ir.structural_equal(again, s), (
        f"{label}: not idempotent\n{e!r}\n-> {s!r}\n-> {again!r}"
    )


def check_equality(x, y, g, keep, label):
    """What can_prove_equal says of two expressions holds at every point."""
    if g.analyzer.can_prove_equal(x[0], y[0]):
        defined = keep & x[1][1] & y[1][1] & ~x[1][2] & ~y[1][2]
        bad = defined & (x[1][0] != y[1][0])
        assert not bad.any(), f"{label}: {witness(g, bad)}: not equal\n{x[0]!r}\n{y[0]!r}"


def check_facts(a, e, values, label):
    lo, hi = a.bound(e)
    coeff, base = a.modular(e)
    if values.size == 0:
        return
    least, most = int(values.min()), int(values.max())
    assert lo == NEG_INF or lo <= least, f"{label}: bound {lo} above {least}\n{e!r}"
    assert hi == POS_INF or hi >= most, f"{label}: bound {hi} below {most}\n{e!r}"
    for v in values[:8].tolist():
        rest = v - base
        assert rest == 0 if coeff == 0 else rest % coeff == 0, f"{label}: {v} is not {coeff}k+{base}\n{e!r}"


def witness(g, bad):
    i = int(np.flatnonzero(bad)[0])
    return {v.name: int(g.env[v][0][i]) for v in g.vars}


def run(seed, count, per_generator=10):
    print(f"TIRX_FUZZ_SEED={seed}")
    for i in range(count // per_generator):
        rng = random.Random(seed * 1000003 + i)
        g = Generator(
            seed * 1000003 + i, rng.choice(["int32", "int32", "int32", "int64", "uint32", "uint64"])
        )
        keep, token = g.admitted, None
        if rng.random() < 0.5:
            cond = g.boolean(1)
            keep = g.admitted & cond[1][1] & ~cond[1][2] & (cond[1][0] != 0)
            token = g.analyzer.enter(cond[0])
        x, y = g.integer(2), g.integer(2)
        check_equality(x, y, g, keep, f"seed {seed}, generator {i}, dtype {g.dtype}")
        for j in range(per_generator):
            e, value = g.integer(rng.randint(1, 5)) if rng.random() < 0.75 else g.boolean(rng.randint(1, 3))
            check(e, value, g, keep, f"seed {seed}, generator {i}, expression {j}, dtype {g.dtype}")
        if token is not None:
            g.analyzer.exit(token)


def test_generated_expressions():
    run(SEED, 600)


@pytest.mark.slow
def test_ten_thousand_generated_expressions():
    run(SEED + 1, 10000)
