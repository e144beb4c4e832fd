"""Native-stage kernels built by hand for the simulator's tests."""

import tvm_ffi

import tirx
from tirx import ir, sim


def target(arch="sm_90a"):
    return tirx.Target("cuda", arch=arch)


def span(line, column=4):
    return ir.Span("kernel.py", line, column, line, column + 6)


def tid(dtype="int32"):
    return ir.call(dtype, "tx.thread_index")


def cta(dim=0):
    return ir.call("int32", "tx.cta_index", [dim])


class Builder:
    """Collects statements; every statement gets the next line of the imaginary file kernel.py."""

    def __init__(self, threads=32, grid=(1,), cluster=(1, 1, 1), dyn=0):
        self.stmts, self.line = [], 0
        self.params, self.buffers, self.scalars = [], [], []
        self.threads, self.grid, self.cluster, self.dyn = threads, list(grid), cluster, dyn

    def next_span(self):
        self.line += 1
        return span(self.line)

    def buffer(self, name, extent, dtype="float32"):
        """A global buffer parameter of one dimension."""
        b = ir.Buffer.make(name, [extent], dtype)
        self.params.append(b.data)
        self.buffers.append(b)
        return b

    def scalar(self, name, dtype="int32"):
        v = ir.Var(name, dtype)
        self.scalars.append(v)
        return v

    def alloc(self, name, extent, dtype="float32", scope="shared", addr=None, align=0):
        data = ir.Var(name + "_ptr", "handle", ir.PointerType(tvm_ffi.dtype(dtype), scope))
        b = ir.Buffer(name, data, [extent], dtype, None, scope, 0, align, addr)
        self.stmts.append(ir.AllocBuffer(b, span=self.next_span()))
        return b

    def ramp(self, base, lanes):
        return ir._api.ramp(
            base if isinstance(base, ir.PrimExpr) else ir.const(base, "int32"), 1, lanes, None
        )

    def alias(self, of, name, extent, dtype, offset=0):
        b = ir.Buffer(name, of.data, [extent], dtype, None, of.scope, offset)
        self.stmts.append(ir.DeclBuffer(b, span=self.next_span()))
        return b

    def bind(self, name, value):
        v = ir.Var(name, value.dtype)
        self.stmts.append(ir.Bind(v, value, span=self.next_span()))
        return v

    def store(self, buffer, index, value):
        self.stmts.append(ir.BufferStore(buffer, value, [index], span=self.next_span()))

    def load(self, buffer, index):
        return ir.BufferLoad(buffer, [index], self.next_span())

    def call(self, op, args=(), dtype="void"):
        s = self.next_span()
        self.stmts.append(ir.Evaluate(ir.call(dtype, op, list(args), None, s), span=s))

    def sync(self):
        self.call("cuda.cta_sync")

    def _nested(self, body):
        outer, self.stmts = self.stmts, []
        body()
        inner, self.stmts = self.stmts, outer
        return ir.SeqStmt(inner) if inner else ir.SeqStmt([])

    def if_(self, cond, then, other=None):
        s = self.next_span()
        t = self._nested(then)
        self.stmts.append(ir.IfThenElse(cond, t, self._nested(other) if other else None, span=s))

    def for_(self, extent, body, min=0, kind="serial", name="i", dtype="int32"):
        s, v = self.next_span(), ir.Var(name, dtype)
        b = self._nested(lambda: body(v))
        self.stmts.append(ir.For(v, min, extent, kind, b, {}, span=s))

    def while_(self, cond, body):
        s = self.next_span()
        self.stmts.append(ir.While(cond, self._nested(body), span=s))

    def break_(self):
        self.stmts.append(ir.Break(span=self.next_span()))

    def continue_(self):
        self.stmts.append(ir.Continue(span=self.next_span()))

    def kernel(self, name="kernel"):
        pointers = [ir.Var(b.name, "handle", ir.PointerType(b.dtype, "global")) for b in self.buffers]
        host = ir.PrimFunc(
            name, pointers + self.scalars, self.buffers + [None] * len(self.scalars), ir.SeqStmt([])
        )
        device = ir.PrimFunc(
            name,
            self.params + self.scalars,
            self.buffers + [None] * len(self.scalars),
            ir.SeqStmt(self.stmts),
        )
        plan = ir.LaunchPlan(self.grid, self.cluster, self.threads, self.dyn)
        return ir.Kernel(host, device, [], plan)

    def run(self, *args, arch="sm_90a", **kw):
        return sim.run(self.kernel(), target(arch), args, **kw)
