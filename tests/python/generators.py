"""Random programs of the script language, one per seed: every statement kind, every operator, odd names.

`program(seed)` is a pure function of the seed. A failing property prints the seed; to reproduce:

    from generators import program
    print(program(SEED))
"""

import random

from tirx import ir
from tirx import layout as L
from tirx.tile.primitives import CATALOGUE

INTS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
TINY = ["float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu", "float6_e2m3fn", "float4_e2m1fn"]
SCALARS = [*INTS, *FLOATS, "bool"]
SCOPES = ["global", "shared", "shared.dyn", "local", "tmem"]
NAMES = ["x", "x", "y", "i", "A", "B", "x_1", "if", "T", "range", "lambda", "a b", "9", "", "é", "None", "tx"]
TEXTS = [
    "", "plain", "a \"quoted\" 'text'", "two\nlines\n",
    "tab\tback\\slash", "\x00\x7f\x85\u2028é", '"""', "{x!r}%s",
]  # fmt: skip
AXES = ["m", "m", "laneid", "warpid", "tid_in_wg", "cta_id", "F", "P", "bx"]
ARITH = ["add", "sub", "mul", "min", "max"]
INTEGER = ["floordiv", "floormod", "truncdiv", "truncmod", "bitwise_and", "bitwise_or", "bitwise_xor"]
SHIFTS = ["shift_left", "shift_right"]
COMPARE = ["eq", "ne", "lt", "le", "gt", "ge"]
MATH = ["exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "tanh", "erf", "abs", "floor", "ceil"]
LIMITS = {d: (0, 2 ** int(d[4:]) - 1) for d in INTS if d[0] == "u"}
LIMITS |= {d: (-(2 ** (int(d[3:]) - 1)), 2 ** (int(d[3:]) - 1) - 1) for d in INTS if d[0] == "i"}


def imm(dtype, value):
    """An IntImm; uint64 values above the int64 range are stored as their two's complement."""
    return ir.IntImm(dtype, value - 2**64 if value >= 2**63 else value)


class Expressions:
    """Random expressions over the variables and buffers in scope."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.vars, self.buffers = [], []

    def name(self):
        return self.r.choice(NAMES)

    def constant(self, dtype):
        r = self.r
        if dtype == "bool":
            return ir.IntImm("bool", r.random() < 0.5)
        if dtype in INTS:
            lo, hi = LIMITS[dtype]
            return imm(dtype, r.choice([max(lo, -7), 0, 1, 2, 3, 5, 8, 16, lo, hi, r.randint(lo, hi)]))
        values = [0.0, -0.0, 1.0, 0.1, -2.5, 3e20, 1e-7, float("inf"), float("-inf"), 448.0]
        return ir.FloatImm(dtype, r.choice(values))

    def leaf(self, dtype):
        known = [v for v in self.vars if v.dtype == dtype]
        if known and self.r.random() < 0.6:
            return self.r.choice(known)
        loads = [b for b in self.buffers if b.dtype == dtype]
        if loads and self.r.random() < 0.4:
            b = self.r.choice(loads)
            return ir.BufferLoad(b, self.indices(b, -1))
        return self.constant(dtype)

    def expr(self, dtype, depth):
        """A scalar expression of `dtype`, at most about `depth` levels above its leaves."""
        if depth <= 0 or self.r.random() < 0.15:
            return self.leaf(dtype)
        if dtype == "bool":
            return self.r.choice([self.comparison, self.logic, self.selection])("bool", depth)
        kinds = [self.arithmetic, self.arithmetic, self.conversion, self.selection, self.call]
        if dtype in INTS:
            kinds += [self.bits, self.load]
        return self.r.choice(kinds)(dtype, depth)

    def arithmetic(self, dtype, depth):
        names = ARITH + ["div"] if dtype in FLOATS else ARITH
        return ir.Binary(self.r.choice(names), self.expr(dtype, depth - 1), self.expr(dtype, depth - 1))

    def bits(self, dtype, depth):
        if self.r.random() < 0.2:
            return ~self.expr(dtype, depth - 1)
        name = self.r.choice(INTEGER + SHIFTS)
        amount = self.expr(dtype, depth - 1)
        # A constant amount is within the width: the parser refuses others.
        if name in SHIFTS and (isinstance(amount, ir.IntImm) or self.r.random() < 0.8):
            amount = imm(dtype, self.r.randrange(8))
        return ir.Binary(name, self.expr(dtype, depth - 1), amount)

    def comparison(self, _, depth):
        dtype = self.r.choice(SCALARS)
        return ir.Binary(self.r.choice(COMPARE), self.expr(dtype, depth - 1), self.expr(dtype, depth - 1))

    def logic(self, _, depth):
        name = self.r.choice(["and", "or", "not", "bitwise_and", "bitwise_or", "bitwise_xor"])
        a = self.expr("bool", depth - 1)
        return ~a if name == "not" else ir.Binary(name, a, self.expr("bool", depth - 1))

    def selection(self, dtype, depth):
        c, t, f = self.expr("bool", depth - 1), self.expr(dtype, depth - 1), self.expr(dtype, depth - 1)
        return ir.Select(c, t, f)

    def conversion(self, dtype, depth):
        source = self.r.choice(SCALARS if self.r.random() < 0.8 else TINY)
        return self.expr(source, depth - 1).astype(dtype)

    def load(self, dtype, depth):
        known = [b for b in self.buffers if b.dtype == dtype]
        if not known:
            return self.leaf(dtype)
        b = self.r.choice(known)
        return ir.BufferLoad(b, self.indices(b, depth - 1))

    def call(self, dtype, depth):
        r = self.r
        if dtype in FLOATS and r.random() < 0.7:
            count = {"pow": 2, "fma": 3}
            name = r.choice([*MATH, "pow", "fma"])
            args = [self.expr(dtype, depth - 1) for _ in range(count.get(name, 1))]
            return ir.call(dtype, "tx." + name, args)
        if dtype in INTS and r.random() < 0.5:
            return ir.call(dtype, r.choice(["tx.popcount", "tx.clz"]), [self.expr(dtype, depth - 1)])
        if dtype == "float32" and r.random() < 0.5:
            return ir.call(dtype, "tx.reinterpret", [self.expr("uint32", depth - 1)])
        return ir.call(dtype, "tx.thread_index" if dtype == "int32" else "tx.cta_index", [])

    def index(self, extent, depth):
        """An index into an extent: a constant inside it, or an expression that is not constant."""
        e = self.expr("int32", depth) if depth >= 0 else None
        if e is not None and not isinstance(e, ir.IntImm):
            return e
        return imm("int32", self.r.randrange(extent.value if isinstance(extent, ir.IntImm) else 4))

    def indices(self, buffer, depth):
        return [self.index(extent, depth) for extent in buffer.shape]


class Programs(Expressions):
    """Random functions."""

    def layout(self):
        r = self.r
        if r.random() < 0.25:
            return L.ComposeLayout(r.randrange(4), 3, r.choice([3, 4]), self.tile_layout(["m"]))
        return self.tile_layout(AXES)

    def tile_layout(self, axes):
        r = self.r
        extent = lambda: r.choice([1, 2, 4, 8, 32])  # noqa: E731
        iters = lambda n: [L.Iter(extent(), r.choice([1, 2, -3, 64]), r.choice(axes)) for _ in range(n)]  # noqa: E731
        shard, replica = iters(r.randint(1, 4)), iters(r.choice([0, 0, 1, 2]))
        offset = {a: r.choice([5, -1]) for a in r.sample(sorted(set(axes)), r.choice([0, 1, 1]))}
        return L.TileLayout.from_iters(shard, replica, offset)

    def buffer(self, scope=None, data=None):
        r = self.r
        symbols = [v for v in self.vars if v.dtype == "int32"]
        shape = [
            r.choice(symbols) if symbols and r.random() < 0.2 else r.choice([1, 4, 16, 128])
            for _ in range(r.randint(1, 3))
        ]
        dtype = r.choice([*SCALARS, *TINY, "float16x2"])
        scope, name = scope or r.choice(SCOPES), self.name()
        element = dtype.split("x")[0] if dtype.endswith("x2") else dtype
        # A view of a computed pointer says its alignment.
        own = data is None or not any(data.same_as(v) for v in self.vars)
        aligns = [0, 0, 16, 128] if own else [1, 16, 128]
        if data is None:
            data = ir.Var(name, "handle", ir.PointerType(element, scope))
        return ir.Buffer(
            name, data, shape, dtype, self.layout() if r.random() < 0.3 else None, scope,
            r.choice([0, 0, 0, 8, self.expr("int32", 1)]), r.choice(aligns),
            r.choice([None, None, 0, 1024]),
        )  # fmt: skip

    def region(self, buffer):
        """A part of `buffer` with at least one dimension that is a slice."""
        r, ranges, squeezed = self.r, [], []
        kept = r.randrange(len(buffer.shape))
        for d, extent in enumerate(buffer.shape):
            size = extent.value if isinstance(extent, ir.IntImm) else 4
            if d != kept and r.random() < 0.4:
                squeezed.append(d)
                ranges.append(ir.Range(self.index(extent, 2), 1))
                continue
            count = r.choice([size, r.randint(1, size), self.index(extent, 2)])
            count = imm("int32", 1) if isinstance(count, ir.IntImm) and count.value == 0 else count
            start = self.index(extent, 2)
            if isinstance(start, ir.IntImm) and not isinstance(count, ir.PrimExpr):
                start = min(start.value, size - count)
            elif isinstance(start, ir.IntImm) and isinstance(count, ir.IntImm):
                start = min(start.value, size - count.value)
            ranges.append(ir.Range(start, count))
        return ir.BufferRegion(buffer, ranges, squeezed)

    def any_value(self, depth=2):
        """What attributes and configs hold."""
        r = self.r
        leaves = [None, True, False, 0, -5, 2**40, 0.5, float("inf"), r.choice(TEXTS)]
        leaves += [imm("int32", 3), imm("int64", -4), ir.IntImm("bool", True), ir.FloatImm("float16", 0.1)]
        leaves += [ir.StringImm(r.choice(TEXTS)), self.expr("int32", 2)]
        if depth and r.random() < 0.3:
            if r.random() < 0.5:
                return [self.any_value(depth - 1) for _ in range(r.randrange(4))]
            return {f"k{i}": self.any_value(depth - 1) for i in range(r.randrange(3))}
        return r.choice(leaves)

    # ---- statements ----

    def block(self, depth, loop):
        """A sequence with its own scope."""
        marks = len(self.vars), len(self.buffers)
        body = ir.SeqStmt([self.stmt(depth - 1, loop) for _ in range(self.r.choice([0, 1, 2, 3]))])
        del self.vars[marks[0] :], self.buffers[marks[1] :]
        return body

    def stmt(self, depth, loop=False):
        r = self.r
        kinds = ["bind", "alloc", "decl", "store", "store", "evaluate", "assert_", "attr", "tile", "tile"]
        if depth > 0:
            kinds += ["loop", "loop", "while_", "branch", "branch", "scope", "filter"]
        if loop and r.random() < 0.1:
            return ir.Break() if r.random() < 0.5 else ir.Continue()
        kind = r.choice(kinds)
        make = getattr(self, kind)
        return make(depth, loop) if kind in ("branch", "scope", "filter") else make(depth)

    def define(self, var):
        self.vars.append(var)
        return var

    def bind(self, _):
        r = self.r
        if self.buffers and r.random() < 0.2:
            b = r.choice(self.buffers)
            pointer = ir.PointerType(str(b.dtype).split("x2")[0], b.scope) if r.random() < 0.8 else None
            place = ir.call("handle", "tx.address_of", [ir.BufferLoad(b, self.indices(b, 1))])
            return ir.Bind(self.define(ir.Var(self.name(), "handle", pointer)), place)
        dtype = r.choice(SCALARS)
        value = self.expr(dtype, 3)
        return ir.Bind(self.define(ir.Var(self.name(), dtype)), value)

    def alloc(self, _):
        buffer = self.buffer()
        self.buffers.append(buffer)
        return ir.AllocBuffer(buffer)

    def decl(self, depth):
        pointers = [b.data for b in self.buffers] + [v for v in self.vars if v.dtype == "handle"]
        if not pointers:
            return self.alloc(depth)
        data = self.r.choice(pointers)
        scope = None if data.pointer is None else str(data.pointer.scope)
        buffer = self.buffer(scope, data)
        self.buffers.append(buffer)
        return ir.DeclBuffer(buffer)

    def store(self, _):
        r = self.r
        known = [b for b in self.buffers if b.dtype in SCALARS]
        if not known:
            return self.bind(0)
        b = r.choice(known)
        if len(b.shape) == 1 and r.random() < 0.3:
            base = self.index(b.shape[0], 2)
            value = ir.Broadcast(self.expr(str(b.dtype), 2), 4)
            return ir.BufferStore(b, value, [ir.Ramp(base, 1, 4)])
        return ir.BufferStore(b, self.expr(str(b.dtype), 3), self.indices(b, 2))

    def evaluate(self, _):
        r = self.r
        pick = r.randrange(6)
        if pick == 0:
            return ir.Evaluate(self.expr(r.choice(SCALARS), 2))
        if pick == 1:
            return ir.Evaluate(ir.instr_call("cuda.cta_sync"))
        if pick == 2:
            return ir.Evaluate(ir.call("void", "my.op", [self.expr("int32", 2), r.choice(TEXTS)]))
        if pick == 3:
            return ir.Evaluate(ir.call("float32", "my.op", [self.expr("bool", 2)], {"k": self.any_value()}))
        if pick == 4:
            attrs = {"name": "f", "source": r.choice(TEXTS), "return_type": "int32"}
            return ir.Evaluate(ir.call("int32", "tx.func_call", [self.expr("float32", 2), "s"], attrs))
        args = [imm("uint32", 2**32 - 1), self.expr("int32", 1), 1]
        return ir.Evaluate(ir.instr_call("cuda.shfl_xor_sync", args))

    def assert_(self, _):
        return ir.Assert(self.expr("bool", 3), self.r.choice(TEXTS))

    def attr(self, _):
        return ir.AttrStmt(self.r.choice(["key", "tirx.hint", TEXTS[2]]), self.any_value())

    def loop(self, depth):
        r = self.r
        dtype = r.choice(["int32", "int32", "int32", "int64", "uint32", "int8"])
        lo = r.choice([imm(dtype, 0), imm(dtype, 0), imm(dtype, 3), self.expr(dtype, 2)])
        count = r.choice([imm(dtype, 16), imm(dtype, 1), self.expr(dtype, 2)])
        notes = r.choice([{}, {}, {"pragma_unroll": 4}, {"note": self.any_value()}])
        var, mark = self.define(ir.Var(self.name(), dtype)), len(self.vars)
        body = self.block(depth, True)
        del self.vars[mark - 1 :]
        kind = r.choice(["serial", "serial", "unroll", "vectorized", "parallel"])
        return ir.For(var, lo, count, kind, body, notes)

    def while_(self, depth):
        return ir.While(self.expr("bool", 2), self.block(depth, True))

    def branch(self, depth, loop):
        cond, then = self.expr("bool", 3), self.block(depth, loop)
        return ir.IfThenElse(cond, then, self.block(depth, loop) if self.r.random() < 0.5 else None)

    def scope(self, depth, loop):
        name = self.r.choice(["thread", "warp", "warpgroup", "cta", "cluster"])
        return ir.ExecScope(name, self.block(depth, loop))

    def filter(self, depth, loop):
        cond = self.expr("bool", 2)
        if self.r.random() < 0.5:
            ids = [v for v in self.vars if v.dtype == "int32"] or [imm("int32", 0)]
            cond = ir.call("bool", "tx.filter_range", [self.r.choice(ids), 0, 4])
        return ir.Filter(cond, self.block(depth, loop))

    def tile(self, _):
        r = self.r
        if not self.buffers:
            return self.alloc(0)
        op = CATALOGUE[r.choice(sorted(CATALOGUE))]
        args = [self.operand(op, p) for p in op.params]
        workspace = {"w": r.choice(self.buffers)} if r.random() < 0.2 else {}
        config = {f"key{i}": self.any_value() for i in range(r.choice([0, 0, 0, 1, 2]))}
        scope = r.choice(["", "thread", "warp", "warpgroup", "cta", "cluster"])
        return ir.TilePrimitiveCall(op.name, args, scope, r.choice(["", "", "vec_auto"]), workspace, config)

    def operand(self, op, param):
        r = self.r
        if param in op.regions or r.random() < 0.3 and param != "axes":
            return self.region(r.choice(self.buffers))
        if param == "axes":
            return r.choice([[-1], [0, 1]])
        values = [True, False, 1, 2.5, self.expr("float32", 2), imm("int32", 4), ir.FloatImm("float16", 0.5)]
        value = r.choice(values)
        return None if param in op.defaults and r.random() < 0.2 else value

    # ---- functions ----

    def scope_ids(self):
        kinds = {"cta_id": 2, "cluster_id": 1, "cta_id_in_cluster": 2, "warp_id": 1, "lane_id": 1}
        kind = self.r.choice(sorted(kinds))
        names = [ir.Var(self.name(), "int32") for _ in range(kinds[kind])]
        extents = [self.r.choice([2, 4, 32]) for _ in names] if self.r.random() < 0.7 else []
        attrs = {"preferred": [2, 1]} if kind == "cta_id_in_cluster" and self.r.random() < 0.5 else {}
        self.vars += names
        return ir.ScopeIdDef(names, kind, extents, attrs)

    def parameter(self, params, buffers):
        r = self.r
        pick = r.randrange(4)
        if pick == 0:
            params.append(self.define(ir.Var(self.name(), r.choice(SCALARS))))
            return buffers.append(None)
        if pick == 1:
            dtype = r.choice(FLOATS)
            params.append(ir.Var(self.name(), "handle", ir.PointerType(dtype, "global")))
            b = ir.Buffer(self.name(), params[-1], [r.choice([4, 64])], dtype)
        else:
            params.append(ir.Var(self.name(), "handle"))
            symbol = [ir.Var(self.name(), r.choice(["int32", "int64"]))] if r.random() < 0.5 else []
            b = ir.Buffer.make(self.name(), [*symbol, r.choice([1, 8, 32])], r.choice(SCALARS))
            self.vars += symbol
        buffers.append(b)
        self.buffers.append(b)

    def function(self, size=8):
        params, buffers = [], []
        for _ in range(self.r.randrange(4)):
            self.parameter(params, buffers)
        body = [self.stmt(0) for _ in range(self.r.randrange(2))] + [ir.DeviceEntry()]
        body += [self.scope_ids() for _ in range(self.r.randrange(3))]
        known, self.vars, self.buffers = (self.vars, self.buffers), [], []
        attrs = {f"attr.{i}": self.any_value() for i in range(self.r.randrange(3))}
        self.vars, self.buffers = known  # attributes precede every definition
        body += [self.stmt(3) for _ in range(self.r.randint(1, size))]
        return ir.PrimFunc(self.r.choice(["main", "f", "kernel_2"]), params, buffers, ir.SeqStmt(body), attrs)


def program(seed):
    """A random PrimFunc; the same seed gives the same program."""
    return Programs(seed).function()


def expression(seed, dtype="int32", depth=4, names=("x", "y", "z")):
    """(expression, its variables): an expression of `dtype` over int32 and bool variables."""
    g = Expressions(seed)
    g.vars = [ir.Var(n, t) for n in names for t in ("int32", "bool")]
    return g.expr(dtype, depth), g.vars
