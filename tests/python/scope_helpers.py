"""Shared by the tests of scopes and passes: kernels from text, a hook that records, an evaluator."""

import tvm_ffi

from tirx import arith, ir, scope  # noqa: F401
from tirx.script import from_source
from tirx.targets import Target

TARGET = Target("cuda", arch="sm_90a")


def passed(name):
    """The pass `name` as a function of (func, ...)."""
    return tvm_ffi.get_global_func("tx.passes." + name)


def kernel(body, params="A_ptr: T.handle", head='A = T.match_buffer(A_ptr, (4096,), "float32")'):
    """The function with `body` (lines of device code) after T.device_entry()."""
    lines = [head, "T.device_entry()", *body.strip("\n").split("\n")]
    return from_source(f"@T.prim_func\ndef k({params}):\n" + "\n".join("    " + x for x in lines))


def resolve(func, target=TARGET):
    return passed("resolve_scopes")(func, target)


def contexts(func, target=TARGET, answer=None):
    """The dispatch contexts of the tile calls of `func`, in program order; `answer(call, ctx)` lowers them."""
    seen = []

    def hook(call, ctx):
        seen.append(ctx)
        return answer(call, ctx) if answer else ir.Evaluate(ir.const(0, "int32"))

    passed("tile_primitive_dispatch")(resolve(func, target), target, hook)
    return seen


_OPS = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "floordiv": lambda a, b: a // b, "floormod": lambda a, b: a % b, "min": min, "max": max,
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b, "and": lambda a, b: a and b,
    "or": lambda a, b: a or b, "bitwise_xor": lambda a, b: a ^ b, "bitwise_and": lambda a, b: a & b,
}  # fmt: skip


def evaluate(e, values):
    """The value of an integer or bool expression; `values` by variable name, or by call name."""
    if isinstance(e, (int, bool)):
        return e
    if isinstance(e, ir.IntImm):
        return e.value
    if isinstance(e, ir.Var):
        return values[str(e.name)]
    if isinstance(e, ir.Not):
        return not evaluate(e.a, values)
    if isinstance(e, ir.Cast):
        return evaluate(e.value, values)
    if isinstance(e, ir.Call):
        return values[str(e.op)]
    return _OPS[e.name](evaluate(e.a, values), evaluate(e.b, values))


def places(layout):
    """All coordinates of a TileLayout, as dicts by axis, in order of the linear index."""
    out = [{str(a): int(v) for a, v in layout.offset.items()}]
    for it in layout.shard:
        axis, steps = str(it.axis), [int(it.stride) * i for i in range(int(it.extent))]
        out = [{**p, axis: p.get(axis, 0) + s} for p in out for s in steps]
    return out
