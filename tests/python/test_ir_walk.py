"""ir.walk, ir.mutate and ir.substitute: order, sharing, and that nothing is rebuilt without need."""

import pytest
from generators import program

from tirx import ir
from tirx import layout as L
from tirx.errors import TypeMismatch

N, X = ir.Var("n"), ir.Var("x")


def example():
    """A function with a symbolic buffer, a view of it, a loop and a tile call."""
    a = ir.Buffer.make("A", [N, 8], "float32", layout=L.TileLayout(L.S[(N, 8) : (8, 1)]))
    v = ir.Buffer("V", a.data, [N * 8], "float32", None, "global", N + 1)
    i = ir.Var("i")
    region = ir.BufferRegion(a, [ir.Range(i, 1), ir.Range(0, 8)], [0])
    loop = ir.For(i, 0, N, "serial", ir.SeqStmt([
        ir.BufferStore(a, ir.BufferLoad(v, [i]) + 1.0, [i, 0]),
        ir.TilePrimitiveCall("copy", [region, region], "", "", {"w": v}, {"k": [N + 2, {"n": N}]}),
    ]), {})  # fmt: skip
    body = ir.SeqStmt([ir.DeclBuffer(v), loop])
    return ir.PrimFunc("f", [ir.Var("p", "handle")], [a], body)


def names(node, types):
    out = []
    ir.walk(node, lambda n: out.append(type(n).__name__), types)
    return out


def test_walk_is_in_program_order_parents_first():
    assert names(example(), (ir.Stmt, ir.Buffer, ir.BufferRegion)) == [
        "Buffer", "SeqStmt", "DeclBuffer", "Buffer", "For", "SeqStmt", "BufferStore", "TilePrimitiveCall",
        "BufferRegion", "BufferRegion",
    ]  # fmt: skip
    assert names((X + 1) * 2, ir.PrimExpr) == ["Binary", "Binary", "Var", "IntImm", "IntImm"]


def test_walk_reaches_every_expression():
    used = []
    ir.walk(example(), used.append, ir.Var)
    counts = {name: sum(v.name == name for v in used) for name in ("n", "i")}
    # n: shape, layout of A; shape, offset of V; loop extent; two values of the config. i: index, load, 2 regions.
    assert counts == {"n": 7, "i": 4}
    assert names([X + 1, {"k": [X]}], ir.Var) == ["Var", "Var"]


def test_walk_skips_children_on_false():
    seen = []

    def visit(n):
        seen.append(type(n).__name__)
        return not isinstance(n, ir.For)

    ir.walk(example(), visit, (ir.Stmt, ir.Var))
    assert "For" in seen and "BufferStore" not in seen


def test_walk_passes_on_the_error_of_a_callback():
    def fail(_):
        raise KeyError("inside")

    with pytest.raises(KeyError, match="inside"):
        ir.walk(X + 1, fail)


@pytest.mark.parametrize("seed", range(10))
def test_mutate_without_changes_gives_the_same_object(seed):
    f = program(seed)
    rules = {t: (lambda n: None) for t in (ir.PrimExpr, ir.Stmt, ir.Buffer, ir.BufferRegion)}
    assert ir.mutate(f, rules).same_as(f)
    same = {t: (lambda n: n) for t in (ir.PrimExpr, ir.Stmt, ir.Buffer, ir.BufferRegion)}
    assert ir.mutate(f, same).same_as(f)


def test_mutate_shares_what_did_not_change():
    left, right = X * 3, X * 5
    before = ir.SeqStmt([ir.Evaluate(left), ir.Evaluate(right)])
    after = ir.mutate(before, {ir.IntImm: lambda n: ir.IntImm("int32", 7) if n.value == 5 else None})
    assert after.seq[0].same_as(before.seq[0]) and str(after.seq[1].value) == "x * 7"


def test_mutate_is_bottom_up_and_rebuilds_by_the_factories():
    rules = {ir.Var: lambda v: ir.IntImm("int32", 2)}
    assert ir.mutate((X + 3) * 4, rules).value == 20  # folded
    order = []
    ir.mutate((X + 3) * 4, {ir.PrimExpr: lambda n: order.append(str(n))})
    assert order == ["x", "3", "x + 3", "4", "(x + 3) * 4"]


def test_the_first_rule_that_matches_applies():
    rules = {ir.IntImm: lambda n: ir.IntImm("int32", n.value + 1), ir.PrimExpr: lambda n: None}
    assert str(ir.mutate(X + 1, rules)) == "x + 2"
    assert str(ir.mutate(X + 1, dict(reversed(rules.items())))) == "x + 1"


def test_mutate_statements():
    drop = ir.mutate(example(), {ir.TilePrimitiveCall: lambda s: ir.SeqStmt([])})
    assert names(drop, ir.Stmt).count("TilePrimitiveCall") == 0
    twice = ir.mutate(example(), {ir.BufferStore: lambda s: ir.SeqStmt([s, s])})
    assert names(twice, ir.Stmt).count("BufferStore") == 2


def test_a_buffer_is_replaced_everywhere_at_once():
    def to_local(b):
        data = ir.Var("q", "handle", ir.PointerType("float32", "local"))
        return ir.Buffer(b.name, data, list(b.shape), b.dtype, b.layout, "local") if b.name == "A" else None

    f = ir.mutate(example(), {ir.Buffer: to_local})
    a = f.param_buffers[0]
    assert a.scope == "local"
    used = []
    ir.walk(f, used.append, (ir.BufferStore, ir.BufferRegion))
    assert len(used) == 3 and all(n.buffer.same_as(a) for n in used)


def test_substitute_reaches_shapes_layouts_offsets_configs_and_regions():
    f = example()
    body = ir.substitute(f.body, {N: 16})
    left = []
    ir.walk(body, left.append, ir.Var)
    assert "n" not in {v.name for v in left}
    loop = body.seq[1]
    store, tile = loop.body.seq
    assert [e.value for e in store.buffer.shape] == [16, 8]
    assert store.buffer.layout.shard[0].extent.value == 16
    assert body.seq[0].buffer.elem_offset.value == 17 and tile.workspace["w"].same_as(body.seq[0].buffer)
    assert [v.value for v in (tile.config["k"][0], tile.config["k"][1]["n"])] == [18, 16]
    assert tile.args[0].buffer.same_as(store.buffer) and loop.extent.value == 16
    assert ir.substitute(f.body, {X: 5}).same_as(f.body)


def test_modules_are_rewritten_function_by_function():
    module = ir.IRModule({"f": example(), "g": ir.PrimFunc("g", [], [], ir.Break())})
    after = ir.mutate(module, {ir.Break: lambda s: ir.Continue()})
    assert after.functions["f"].same_as(module.functions["f"])
    assert type(after.functions["g"].body) is ir.Continue


def test_bad_replacements_are_errors():
    with pytest.raises(TypeMismatch, match="bad-replacement"):
        ir.mutate(ir.Evaluate(X), {ir.Evaluate: lambda s: X})
    # what converts to an expression is accepted
    assert ir.mutate(X * 3, {ir.Var: lambda v: 2}).value == 6
