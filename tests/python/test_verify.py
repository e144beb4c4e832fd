"""The verifier: every rule with a program that breaks it and a neighbour that does not."""

import pytest
from scope_helpers import TARGET, kernel, resolve

from tirx import _ffi_api as api
from tirx import ir, pipeline
from tirx.errors import InternalError, VerifyError

ENTRY = ir.DeviceEntry()
ZERO = ir.const(0, "int32")


def flat(name="b", n=16, scope="local", **kw):
    data = ir.Var(name, "handle", ir.PointerType("float32", scope))
    return ir.Buffer(name, data, [n], "float32", None, scope, **kw)


def store(buffer, index=ZERO):
    return ir.BufferStore(buffer, ir.const(1, "float32"), [index])


def codes(stmts, stage):
    func = ir.PrimFunc("f", [ir.Var("n")], [None], ir.SeqStmt(stmts))
    return [str(p["code"]) for p in api.verify(func, stage)]


def loop(kind="serial", body=None):
    return ir.For(ir.Var("i"), 0, 4, kind, body or ir.Evaluate(ZERO), {})


B = flat()
SHARED = flat("s", scope="shared.dyn")
PLACED = flat("t", scope="shared.dyn", allocated_addr=128)
X = ir.Var("x")
WIDE = ir.Buffer.make("w", [4, 4], "float32", "local")
P = ir.Var("p", "handle", ir.PointerType("float32", "local"))
PLACE = ir.call("handle", "tx.address_of", [ir.BufferLoad(B, [ir.const(3, "int32")])])


def view(align):
    return ir.Buffer("v", P, [4], "float32", None, "local", 0, align)


CASES = {
    # rule: (stage, program that breaks it, neighbour)
    "undefined-variable": (
        "tile",
        [ENTRY, ir.AllocBuffer(B), loop(body=ir.Bind(X, ir.const(1, "int32"))), store(B, X)],
        [ENTRY, ir.AllocBuffer(B), ir.Bind(X, ir.const(1, "int32")), loop(body=store(B, X))],
    ),
    "defined-twice": (
        "tile",
        [ENTRY, ir.Bind(X, ZERO), ir.Bind(X, ZERO)],
        [ENTRY, ir.Bind(X, ZERO), ir.Bind(ir.Var("x"), ZERO)],
    ),
    "illegal-loop": ("native", [ENTRY, loop("vectorized")], [ENTRY, loop("unroll")]),
    "exit-outside-loop": ("native", [ENTRY, ir.Break()], [ENTRY, loop(body=ir.Break())]),
    "scope-id-on-host": (
        "tile",
        [ir.ScopeIdDef([X], "thread_id", [4], {}), ENTRY],
        [ENTRY, ir.ScopeIdDef([X], "thread_id", [4], {})],
    ),
    "repeated-device-entry": ("tile", [ENTRY, ir.DeviceEntry()], [ENTRY]),
    "tile-call-on-host": (
        "tile",
        [ir.TilePrimitiveCall("zero", [], "warp", "", {}, {}), ENTRY],
        [ENTRY, ir.TilePrimitiveCall("zero", [], "warp", "", {}, {})],
    ),
    "index-out-of-range": (
        "tile",
        [ENTRY, ir.AllocBuffer(B), store(B, ir.const(16, "int32"))],
        [ENTRY, ir.AllocBuffer(B), store(B, ir.const(15, "int32"))],
    ),
    "view-without-alignment": (
        "tile",
        [ENTRY, ir.AllocBuffer(B), ir.Bind(P, PLACE), ir.DeclBuffer(view(0))],
        [ENTRY, ir.AllocBuffer(B), ir.Bind(P, PLACE), ir.DeclBuffer(view(1))],
    ),
    "buffer-not-flat": ("native", [ENTRY, ir.AllocBuffer(WIDE)], [ENTRY, ir.AllocBuffer(B)]),
    "size-not-constant": (
        "native",
        [ENTRY, ir.Bind(X, ZERO), ir.AllocBuffer(flat(n=X))],
        [ENTRY, ir.AllocBuffer(flat(n=4))],
    ),
    "no-shared-address": ("native", [ENTRY, ir.AllocBuffer(SHARED)], [ENTRY, ir.AllocBuffer(PLACED)]),
    "illegal-index": (
        "native",
        [ENTRY, ir.AllocBuffer(B), store(B, ir.const(1, "uint32"))],
        [ENTRY, ir.AllocBuffer(B), store(B, ir.const(1, "int64"))],
    ),
    "illegal-call": (
        "native",
        [ENTRY, ir.Evaluate(ir.call("bool", "tx.filter_range", [ZERO, ZERO, ZERO]))],
        [ENTRY, ir.Evaluate(ir.call("int32", "tx.thread_index", []))],
    ),
    "illegal-statement": (
        "native",
        [ENTRY, ir.ScopeIdDef([X], "thread_id", [4], {})],
        [ENTRY, ir.Bind(X, ZERO)],
    ),
}  # fmt: skip


@pytest.mark.parametrize("code", CASES)
def test_rule(code):
    stage, bad, good = CASES[code]
    assert codes(bad, stage) == [code]
    assert codes(good, stage) == []


@pytest.mark.parametrize(
    "stmt", [ir.ExecScope("warp", ir.Evaluate(ZERO)), ir.Filter(ir.const(True, "bool"), ir.Evaluate(ZERO)),
             ir.AttrStmt("k", 1), ir.TilePrimitiveCall("zero", [], "warp", "", {}, {})],
    ids=lambda s: type(s).__name__,
)  # fmt: skip
def test_statements_of_the_tile_stage_only(stmt):
    assert codes([ENTRY, stmt], "tile") == []
    assert codes([ENTRY, stmt], "native") == ["illegal-statement"]


def test_vector_indices_are_runs():
    vector = ir.BufferStore(
        B, ir._api.broadcast(ir.const(0, "float32"), 4, None), [ir._api.ramp(0, 1, 4, None)]
    )
    strided = ir.BufferStore(
        B, ir._api.broadcast(ir.const(0, "float32"), 4, None), [ir._api.ramp(0, 2, 4, None)]
    )
    assert codes([ENTRY, ir.AllocBuffer(B), vector], "native") == []
    assert codes([ENTRY, ir.AllocBuffer(B), strided], "native") == ["illegal-index"]


def test_every_kind_of_statement_has_a_row():
    rows = {str(r[0]): str(r[1]) for r in api.verify_rules()}
    assert len(rows) == 19 and rows["branch"] == "tile, native" and rows["filter"] == "tile"


def test_problems_are_bounded():
    assert len(codes([ENTRY, *[ir.Break() for _ in range(1000)]], "tile")) == 20


def test_a_program_that_comes_in_illegal():
    func = ir.PrimFunc("f", [], [], ir.SeqStmt([ENTRY, ir.AllocBuffer(B), store(B, ir.const(99, "int32"))]))
    with pytest.raises(VerifyError) as e:
        pipeline.lower(func, TARGET)
    assert (e.value.code, e.value.found, e.value.required) == ("index-out-of-range", "99", "0 to 15")


def test_a_pass_that_breaks_the_program_is_named(monkeypatch):
    def bad(func, target):
        return ir.PrimFunc("f", [], [], ir.SeqStmt([ENTRY, store(B)]))

    broken = tuple(
        pipeline.Pass(p.name, bad, p.why) if p.name == "plan_shared" else p for p in pipeline.PASSES
    )
    monkeypatch.setattr(pipeline, "PASSES", broken)
    with pytest.raises(
        InternalError, match="pass plan_shared made an illegal program: 'b' is not defined here"
    ):
        pipeline.lower(kernel("tx = T.thread_id([4])\nA[tx] = 0.0"), TARGET)


def test_the_same_without_verification(monkeypatch):
    monkeypatch.setenv("TIRX_VERIFY", "0")
    func = ir.PrimFunc("f", [], [], ir.SeqStmt([ENTRY, ir.Evaluate(ZERO)]))
    assert pipeline.lower(func, TARGET).attrs["tirx.stage"] == "native"
    assert resolve(func) is not None
