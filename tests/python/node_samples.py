"""One sample of every node type, and for each of its fields a variant that differs there and nowhere else.

`SAMPLES[key]()` builds a fresh, self-contained node; `VARIANTS[key][field]()` the same with another `field`.
test_ir_nodes.py fails for a node type or a field that is missing here.
"""

import re
from pathlib import Path

import map_samples

from tirx import ir, targets
from tirx import layout as L

ROOT = Path(__file__).resolve().parents[2]
IGNORED = {"span", "depth", "size"}  # never part of equality
HINTS = {"tx.Var": {"name"}, "tx.Buffer": {"name"}}  # names are hints

X, Y, C = ir.Var("x"), ir.Var("y"), ir.Var("c", "bool")
A = ir.Buffer.make("A", [4, 8], "float32", "shared")
B = ir.Buffer.make("B", [4, 8], "float32", "shared")
LAYOUT = L.TileLayout(L.S[(4, 8) : (8, 1)])
SEQ = [ir.Break(), ir.Continue()]


def iter_(extent=4, stride=2, axis="m"):
    return L.Iter(extent, stride, axis)


P = ir.Var("p", "handle", ir.PointerType("int8", "shared"))


def bind(element="int8"):
    return ir.Bind(ir.Var("v", "handle", ir.PointerType(element, "shared")), P)


def buffer(
    name="A",
    shape=(4, 8),
    dtype="float32",
    layout=None,
    scope="shared",
    offset=0,
    align=0,
    addr=None,
    data=None,
):
    if data is None:
        data = ir.Var(name + "_ptr", "handle", ir.PointerType("float32", "shared"))
    return ir.Buffer(name, data, shape, dtype, layout, scope, offset, align, addr)


def loop(lo=0, extent=8, kind="serial", notes=None, dtype="int32", body=None):
    i = ir.Var("i", dtype)
    return ir.For(i, lo, extent, kind, ir.Evaluate(i) if body is None else body, notes or {})


def tile(op="copy", args=None, scope="warp", dispatch="vec", workspace=None, config=None):
    a = buffer()
    region = ir.BufferRegion(a, [ir.Range(0, 4), ir.Range(0, 8)])
    return ir.SeqStmt([
        ir.AllocBuffer(a),
        ir.TilePrimitiveCall(op, [region, True] if args is None else args, scope, dispatch,
                             {"w": a} if workspace is None else workspace, config or {"k": 1}),
    ])  # fmt: skip


def func(name="f", params=("handle", "int32"), body=None, attrs=None, shape=(8,)):
    variables = [ir.Var(f"p{i}", t) for i, t in enumerate(params)]
    b = ir.Buffer.make("P", list(shape), "float32")
    store = ir.BufferStore(b, 1.0, [0]) if len(shape) == 1 else ir.Break()
    buffers = [b] + [None] * (len(params) - 1)
    return ir.PrimFunc(name, variables, buffers, store if body is None else body, attrs or {"k": 1})


def plan(grid=(1, 2, 3), cluster=(1, 1, 1), threads=32, dyn=0, static=0, blocks=0, attrs=None):
    return ir.LaunchPlan(
        [ir.IntImm("int32", g) for g in grid], cluster, threads, dyn, static, blocks, attrs or {}
    )


def instr(**kw):
    fields = dict(
        name="t.op", operands=[ir.InstrOperand("a", "uint32", "reg", "r")], result="float32", features=["f"],
        form="asm", text="t", helper="h", includes=["i.h"], effects=["pure"], team="warp", sim="s",
        sim_attrs={"m": 16}, unsupported="u",
    )  # fmt: skip
    return ir.Instr(**(fields | kw))


def target(kind="cuda", arch="sm_80", features=("mma",), limits=None):
    return ir._api.Target(kind, arch, list(features), limits or {"warp_size": 32})


def kernel(host="f", device="g", symbols=1, threads=32):
    n = [ir.Var(f"n{i}") for i in range(symbols)]
    return ir.Kernel(func(host), func(device), n, plan(threads=threads))


def scope_ids(dtype="int32", kind="cta_id", extents=(2, 4), attrs=None):
    return ir.ScopeIdDef([ir.Var(f"b{i}", dtype) for i in range(2)], kind, list(extents), attrs or {})


SAMPLES = {
    "tx.Span": lambda: ir.Span("f.py", 1, 2, 3, 4),
    "tx.PointerType": lambda: ir.PointerType("float16", "shared"),
    "tx.Var": lambda: ir.Var("x", "int32"),
    "tx.IntImm": lambda: ir.IntImm("int32", 5),
    "tx.FloatImm": lambda: ir.FloatImm("float32", 0.5),
    "tx.StringImm": lambda: ir.StringImm("s"),
    "tx.Binary": lambda: X + Y,
    "tx.Not": lambda: ir.Not(C),
    "tx.Select": lambda: ir.Select(C, X, Y),
    "tx.Cast": lambda: ir.Cast("float32", X),
    "tx.Ramp": lambda: ir.Ramp(X, 1, 4),
    "tx.Broadcast": lambda: ir.Broadcast(X, 4),
    "tx.Call": lambda: ir.call("float32", "my.op", [X], {"k": 1}),
    "tx.Range": lambda: ir.Range(X, 4),
    "tx.Iter": iter_,
    "tx.TileLayout": lambda: L.TileLayout.from_iters([iter_()], [iter_()], {"m": 1}),
    "tx.ComposeLayout": lambda: L.ComposeLayout(3, 3, 3, LAYOUT),
    "tx.Buffer": buffer,
    "tx.BufferLoad": lambda: ir.BufferLoad(A, [X, 0]),
    "tx.BufferRegion": lambda: ir.BufferRegion(A, [ir.Range(0, 1), ir.Range(0, 8)], [0]),
    "tx.SeqStmt": lambda: ir.SeqStmt(SEQ),
    "tx.Bind": bind,
    "tx.AllocBuffer": lambda: ir.AllocBuffer(buffer()),
    "tx.DeclBuffer": lambda: ir.DeclBuffer(buffer()),
    "tx.BufferStore": lambda: ir.BufferStore(A, 1.0, [X, 0]),
    "tx.Evaluate": lambda: ir.Evaluate(X),
    "tx.For": loop,
    "tx.While": lambda: ir.While(C, ir.Break()),
    "tx.Break": ir.Break,
    "tx.Continue": ir.Continue,
    "tx.IfThenElse": lambda: ir.IfThenElse(C, ir.Break(), ir.Continue()),
    "tx.Assert": lambda: ir.Assert(C, "m"),
    "tx.ScopeIdDef": scope_ids,
    "tx.ExecScope": lambda: ir.ExecScope("warp", ir.Break()),
    "tx.Filter": lambda: ir.Filter(C, ir.Break()),
    "tx.DeviceEntry": ir.DeviceEntry,
    "tx.AttrStmt": lambda: ir.AttrStmt("k", [1, "two"]),
    "tx.TilePrimitiveCall": tile,
    "tx.PrimFunc": func,
    "tx.IRModule": lambda: ir.IRModule({"f": func()}, {"k": 1}),
    "tx.LaunchPlan": plan,
    "tx.Kernel": kernel,
    "tx.Target": target,
    "tx.InstrOperand": lambda: ir.InstrOperand("a", "uint32", "reg", "r"),
    "tx.Instr": instr,
}

VARIANTS = {
    "tx.Span": {
        "file": lambda: ir.Span("g.py", 1, 2, 3, 4),
        "line": lambda: ir.Span("f.py", 9, 2, 3, 4),
        "column": lambda: ir.Span("f.py", 1, 9, 3, 4),
        "end_line": lambda: ir.Span("f.py", 1, 2, 9, 4),
        "end_column": lambda: ir.Span("f.py", 1, 2, 3, 9),
    },
    "tx.PointerType": {
        "element": lambda: ir.PointerType("float32", "shared"),
        "scope": lambda: ir.PointerType("float16", "local"),
    },
    "tx.Var": {
        "dtype": lambda: ir.Var("x", "int64"),
        "pointer": lambda: ir.Var("x", "int32", ir.PointerType("int8", "global")),
    },
    "tx.IntImm": {"dtype": lambda: ir.IntImm("int64", 5), "value": lambda: ir.IntImm("int32", 6)},
    "tx.FloatImm": {
        "dtype": lambda: ir.FloatImm("float16", 0.5),
        "value": lambda: ir.FloatImm("float32", 0.25),
    },
    "tx.StringImm": {"dtype": None, "value": lambda: ir.StringImm("t")},
    "tx.Binary": {"dtype": None, "op": lambda: X - Y, "a": lambda: Y + Y, "b": lambda: X + X},
    "tx.Not": {"dtype": None, "a": lambda: ir.Not(X < Y)},
    "tx.Select": {
        "dtype": None,
        "cond": lambda: ir.Select(X < Y, X, Y),
        "true_value": lambda: ir.Select(C, Y, Y),
        "false_value": lambda: ir.Select(C, X, X),
    },
    "tx.Cast": {"dtype": lambda: ir.Cast("float16", X), "value": lambda: ir.Cast("float32", Y)},
    "tx.Ramp": {
        "dtype": None,
        "base": lambda: ir.Ramp(Y, 1, 4),
        "stride": lambda: ir.Ramp(X, 2, 4),
        "lanes": lambda: ir.Ramp(X, 1, 8),
    },
    "tx.Broadcast": {
        "dtype": None,
        "value": lambda: ir.Broadcast(Y, 4),
        "lanes": lambda: ir.Broadcast(X, 8),
    },
    "tx.Call": {
        "dtype": lambda: ir.call("float16", "my.op", [X], {"k": 1}),
        "op": lambda: ir.call("float32", "my.other", [X], {"k": 1}),
        "args": lambda: ir.call("float32", "my.op", [X, X], {"k": 1}),
        "attrs": lambda: ir.call("float32", "my.op", [X], {"k": 2}),
    },
    "tx.Range": {"min": lambda: ir.Range(Y, 4), "extent": lambda: ir.Range(X, 5)},
    "tx.Iter": {
        "extent": lambda: iter_(8),
        "stride": lambda: iter_(4, 3),
        "axis": lambda: iter_(axis="laneid"),
    },
    "tx.TileLayout": {
        "shard": lambda: L.TileLayout.from_iters([iter_(8)], [iter_()], {"m": 1}),
        "replica": lambda: L.TileLayout.from_iters([iter_()], [], {"m": 1}),
        "offset": lambda: L.TileLayout.from_iters([iter_()], [iter_()], {"m": 2}),
    },
    "tx.ComposeLayout": {
        "per_element": lambda: L.ComposeLayout(2, 3, 3, LAYOUT),
        "swizzle_len": lambda: L.ComposeLayout(3, 2, 3, LAYOUT),
        "atom_len": lambda: L.ComposeLayout(3, 3, 4, LAYOUT),
        "tile_layout": lambda: L.ComposeLayout(3, 3, 3, L.TileLayout(L.S[(4, 8) : (1, 4)])),
    },
    "tx.Buffer": {
        "data": lambda: buffer(data=ir.Var("p", "handle", ir.PointerType("int8", "shared"))),
        "shape": lambda: buffer(shape=(4, 9)),
        "dtype": lambda: buffer(dtype="int32"),
        "layout": lambda: buffer(layout=LAYOUT),
        "scope": lambda: buffer(scope="local"),
        "elem_offset": lambda: buffer(offset=4),
        "align": lambda: buffer(align=16),
        "allocated_addr": lambda: buffer(addr=128),
    },
    "tx.BufferLoad": {
        "dtype": None,
        "buffer": lambda: ir.BufferLoad(B, [X, 0]),
        "indices": lambda: ir.BufferLoad(A, [X, 1]),
    },
    "tx.BufferRegion": {
        "buffer": lambda: ir.BufferRegion(B, [ir.Range(0, 1), ir.Range(0, 8)], [0]),
        "region": lambda: ir.BufferRegion(A, [ir.Range(0, 1), ir.Range(0, 7)], [0]),
        "squeezed": lambda: ir.BufferRegion(A, [ir.Range(0, 1), ir.Range(0, 8)], []),
    },
    "tx.SeqStmt": {"seq": lambda: ir.SeqStmt(SEQ[::-1])},
    "tx.Bind": {
        "var": lambda: bind("int16"),
        "value": lambda: ir.Bind(ir.Var("v", "handle", ir.PointerType("int8", "shared")), A.data),
    },
    "tx.AllocBuffer": {"buffer": lambda: ir.AllocBuffer(buffer(scope="local"))},
    "tx.DeclBuffer": {"buffer": lambda: ir.DeclBuffer(buffer(align=4))},
    "tx.BufferStore": {
        "buffer": lambda: ir.BufferStore(B, 1.0, [X, 0]),
        "value": lambda: ir.BufferStore(A, 2.0, [X, 0]),
        "indices": lambda: ir.BufferStore(A, 1.0, [X, 1]),
    },
    "tx.Evaluate": {"value": lambda: ir.Evaluate(Y)},
    "tx.For": {
        "loop_var": lambda: loop(dtype="int64"),
        "min": lambda: loop(lo=1),
        "extent": lambda: loop(extent=9),
        "kind": lambda: loop(kind="unroll"),
        "body": lambda: loop(body=ir.Break()),
        "annotations": lambda: loop(notes={"k": 1}),
    },
    "tx.While": {"cond": lambda: ir.While(X < Y, ir.Break()), "body": lambda: ir.While(C, ir.Continue())},
    "tx.IfThenElse": {
        "cond": lambda: ir.IfThenElse(X < Y, ir.Break(), ir.Continue()),
        "then_case": lambda: ir.IfThenElse(C, ir.Continue(), ir.Continue()),
        "else_case": lambda: ir.IfThenElse(C, ir.Break(), None),
    },
    "tx.Assert": {"cond": lambda: ir.Assert(X < Y, "m"), "message": lambda: ir.Assert(C, "n")},
    "tx.ScopeIdDef": {
        "vars": lambda: scope_ids(dtype="int64"),
        "kind": lambda: scope_ids(kind="cluster_id"),
        "extents": lambda: scope_ids(extents=(2, 8)),
        "attrs": lambda: scope_ids(attrs={"preferred": [2, 1]}),
    },
    "tx.ExecScope": {
        "scope": lambda: ir.ExecScope("cta", ir.Break()),
        "body": lambda: ir.ExecScope("warp", ir.Continue()),
    },
    "tx.Filter": {"cond": lambda: ir.Filter(X < Y, ir.Break()), "body": lambda: ir.Filter(C, ir.Continue())},
    "tx.AttrStmt": {
        "key": lambda: ir.AttrStmt("l", [1, "two"]),
        "value": lambda: ir.AttrStmt("k", [1, "three"]),
    },
    "tx.TilePrimitiveCall": {
        "op": lambda: tile("copy_async"),
        "args": lambda: tile(args=[True]),
        "scope": lambda: tile(scope="cta"),
        "dispatch": lambda: tile(dispatch=""),
        "workspace": lambda: tile(workspace={}),
        "config": lambda: tile(config={"k": 2}),
    },
    "tx.PrimFunc": {
        "name": lambda: func("g"),
        "params": lambda: func(params=("handle", "int64")),
        "param_buffers": lambda: func(shape=(9,)),
        "body": lambda: func(body=ir.Break()),
        "attrs": lambda: func(attrs={"k": 2}),
    },
    "tx.IRModule": {
        "functions": lambda: ir.IRModule({"g": func("g")}, {"k": 1}),
        "attrs": lambda: ir.IRModule({"f": func()}, {"k": 2}),
    },
    "tx.LaunchPlan": {
        "grid": lambda: plan(grid=(1, 2, 4)),
        "cluster": lambda: plan(cluster=(2, 1, 1)),
        "threads": lambda: plan(threads=64),
        "dyn_shared_bytes": lambda: plan(dyn=8),
        "static_shared_bytes": lambda: plan(static=8),
        "min_blocks_per_sm": lambda: plan(blocks=2),
        "attrs": lambda: plan(attrs={"cooperative": True}),
    },
    "tx.Kernel": {
        "host": lambda: kernel(host="h"),
        "device": lambda: kernel(device="h"),
        "symbols": lambda: kernel(symbols=2),
        "launch": lambda: kernel(threads=64),
    },
    "tx.Target": {
        "kind": lambda: target(kind="trn"),
        "arch": lambda: target(arch="sm_90a"),
        "features": lambda: target(features=()),
        "limits": lambda: target(limits={"warp_size": 64}),
    },
    "tx.InstrOperand": {
        "name": lambda: ir.InstrOperand("b", "uint32", "reg", "r"),
        "dtype": lambda: ir.InstrOperand("a", "int32", "reg", "r"),
        "space": lambda: ir.InstrOperand("a", "uint32", "imm", "r"),
        "access": lambda: ir.InstrOperand("a", "uint32", "reg", "w"),
        "otherwise": lambda: ir.InstrOperand("a", "uint32", "reg", "r", 1),
    },
    "tx.Instr": {
        "name": lambda: instr(name="t.other"),
        "operands": lambda: instr(operands=[]),
        "result": lambda: instr(result="void"),
        "features": lambda: instr(features=[]),
        "form": lambda: instr(form="cuda"),
        "text": lambda: instr(text="x"),
        "helper": lambda: instr(helper=""),
        "includes": lambda: instr(includes=[]),
        "effects": lambda: instr(effects=[]),
        "team": lambda: instr(team="cta"),
        "sim": lambda: instr(sim=""),
        "sim_attrs": lambda: instr(sim_attrs={"m": 8}),
        "unsupported": lambda: instr(unsupported=""),
        "result_of": lambda: instr(result_of=0),
    },
}

# Where the first difference is seen when a dtype follows from the field.
SAMPLES |= map_samples.SAMPLES
VARIANTS |= map_samples.VARIANTS

SEEN_AT = {("tx.Broadcast", "lanes"): "dtype", ("tx.Ramp", "lanes"): "dtype", ("tx.For", "loop_var"): "min"}

_CLASS = re.compile(
    r"class (\w+)Node\s*:\s*public ([\w:]+) \{(.*?)OBJECT_INFO(?:_FINAL)?\(\s*\"(tx\.\w+)\"", re.S
)


def declared_nodes() -> dict:
    """{type key: is it a base class} of every node that the headers declare.

    Nodes take part in structural equality; services (an analyzer, a loaded program) do not and are left out.
    """
    found = {}
    for header in sorted((ROOT / "include").rglob("*.h")) + sorted((ROOT / "src").rglob("*.h")):
        for _, base, body, key in _CLASS.findall(header.read_text()):
            if base != "ffi::Object" or "_type_s_eq_hash_kind" in body:
                found[key] = "_type_child_slots" in body
    return found


def fields(cls) -> list:
    """Names of the fields of a node class that count in equality, inherited ones first."""
    own = []
    for c in reversed(cls.__mro__):
        info = c.__dict__.get("__tvm_ffi_type_info__")
        own += [f.name for f in info.fields] if info else []
    key = cls.__tvm_ffi_type_info__.type_key
    return [f for f in dict.fromkeys(own) if f not in IGNORED | HINTS.get(key, set())]


assert targets  # the target plug-ins register node classes
