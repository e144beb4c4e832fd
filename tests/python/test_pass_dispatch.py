"""TilePrimitiveDispatch with a hook of the test's own: order, places, lines, errors."""

import importlib

import pytest
from scope_helpers import TARGET, contexts, kernel, passed, resolve
from test_pass_layouts import find

from tirx import ir, pipeline
from tirx.errors import DispatchError, InternalError

HEAD = "tx = T.thread_id([128])\nw = T.warp_id()\n"


def dispatch(body, hook, params="A_ptr: T.handle, n: T.int32"):
    return passed("tile_primitive_dispatch")(resolve(kernel(body, params)), TARGET, hook)


def store(ctx_or_value, buffer=None):
    """A statement that writes a marker to A or `buffer`."""
    return ir.BufferStore(buffer, ir.const(float(ctx_or_value), "float32"), [ir.const(0, "int32")])


def target_of(call):
    return call.args[0].buffer


def test_calls_are_replaced_in_order():
    count = iter(range(10))
    func = dispatch(
        HEAD + "Tx.zero(A[0:1])\nfor i in range(4):\n    Tx.zero(A[1:2])\nTx.zero(A[2:3])",
        lambda call, ctx: store(next(count), target_of(call)),
    )
    assert [s.value.value for s in find(func, ir.BufferStore)] == [0.0, 1.0, 2.0]
    assert find(func, ir.TilePrimitiveCall) == []


def test_statements_get_the_line_of_their_call():
    def hook(call, ctx):
        one = store(1, target_of(call))
        return ir.SeqStmt([ir.For(ir.Var("i"), 0, 4, "serial", one, {}), store(2, target_of(call))])

    func = dispatch(HEAD + "Tx.zero(A[0:1])", hook)
    assert [s.span.line for s in find(func, ir.BufferStore)] == [7, 7]
    assert find(func, ir.For)[0].span.line == 7


def test_statements_that_a_rule_keeps_stay_without_a_line():
    kept = []

    def hook(call, ctx):
        if not kept:
            kept.append(store(1, target_of(call)))
        return ir.SeqStmt([kept[0], store(2, target_of(call))])

    dispatch(HEAD + "Tx.zero(A[0:1])\nTx.zero(A[0:1])", hook)
    assert kept[0].span is None


def test_private_allocations_and_initialisation():
    def hook(call, ctx):
        scratch = ctx.alloc("scratch", [4], "float32")
        ctx.add_device_init(store(7, scratch))
        ctx.add_host_init(ir.Assert(ir.const(True, "bool"), "checked"))
        return store(1, target_of(call))

    func = dispatch(HEAD + "A[5] = 3.0\nTx.zero(A[0:1])", hook)
    kinds = [type(s).__name__ for s in func.body.seq]
    assert kinds == ["Assert", "DeviceEntry", "ScopeIdDef", "ScopeIdDef", "AllocBuffer", "BufferStore",
                     "BufferStore", "BufferStore"]  # fmt: skip
    assert func.body.seq[5].value.value == 7.0


def test_tile_calls_in_an_answer_are_dispatched_in_their_place():
    def hook(call, ctx):
        if str(call.op) == "zero":
            assert str(ctx.scope) == "cta"
            inner = ir.TilePrimitiveCall("fill", call.args, "warp", "", {}, {}, span=call.span)
            return ir.IfThenElse(ir.Binary("eq", ctx.warp, 1), inner, None)
        assert str(ctx.scope) == "warp" and [int(i.extent) for i in ctx.inter.shard] == [1, 1]
        return store(5, target_of(call))

    func = dispatch(HEAD + "Tx.cta.zero(A[0:1])", hook)
    assert [s.value.value for s in find(func, ir.BufferStore)] == [5.0]


def test_endless_answers_are_stopped():
    with pytest.raises(DispatchError) as e:
        dispatch(HEAD + "Tx.zero(A[0:1])", lambda call, ctx: call)
    assert e.value.code == "endless-dispatch" and e.value.location.line == 7


def test_branches_that_nobody_takes_are_dropped():
    body = HEAD + "if w == 7:\n    Tx.zero(A[0:1])\nelse:\n    A[1] = 2.0\nif w < 4:\n    A[2] = 3.0"
    func = dispatch(body, lambda call, ctx: pytest.fail("nobody is here"))
    assert find(func, ir.IfThenElse) == [] and len(find(func, ir.BufferStore)) == 2


def test_the_context_knows_the_ranges():
    seen = []

    def hook(call, ctx):
        i, base = (r.min for r in call.args[0].region)
        seen.append((ctx.analyzer.bound(i), ctx.analyzer.divisor(base)))
        seen.append([ctx.analyzer.can_prove(ctx.thread_index < n) for n in (64, 63)])
        return store(0, call.args[1].buffer)

    body = """
B = T.alloc_shared((8, 4096), "float32")
base: T.let = n * 16
for i in range(8):
    if w < 2:
        Tx.copy(B[i, base : base + 4], A[0:4])"""
    dispatch(HEAD + body.strip("\n"), hook)
    assert seen == [((0, 7), 16), [True, False]]


def test_an_elected_lane_may_be_any_lane():
    seen = []

    def hook(call, ctx):
        seen.extend(ctx.analyzer.can_prove(ctx.thread_index < n) for n in (64, 63))
        return store(0, target_of(call))

    dispatch(HEAD + "if w < 2:\n    if T.cuda.elect_sync():\n        Tx.zero(A[0:1])", hook)
    assert seen == [True, False]


def test_the_launch_is_in_the_context():
    (ctx,) = contexts(
        kernel("bx, by = T.cta_id([3, n])\n" + HEAD + "Tx.warp.zero(A[0:1])", "A_ptr: T.handle, n: T.int32")
    )
    assert ctx.num_threads == 128 and str(ctx.thread_index) == "tx" and str(ctx.warp) == "w"
    assert str(ctx.lane) == "tx % 32" and str(ctx.thread_in_team) == "tx % 32"
    launch = dict(ctx.launch.items())
    assert [str(g) for g in launch["grid"]] == ["3", "n", "1"] and launch["threads"] == 128


def test_names_of_lane_and_warp_are_the_users():
    (ctx,) = contexts(kernel("w = T.warp_id([4])\nl = T.lane_id()\nTx.warp.zero(A[0:1])"))
    assert (str(ctx.lane), str(ctx.thread_in_team), str(ctx.warp)) == ("l", "l", "w")
    (ctx,) = contexts(kernel("l = T.lane_id()\nTx.cta.zero(A[0:1])"))
    assert (str(ctx.thread_index), str(ctx.thread_in_team)) == ("l", "l")


def test_an_answer_that_is_no_statement():
    with pytest.raises(TypeError, match="the lowering of zero is no statement"):
        dispatch(HEAD + "Tx.zero(A[0:1])", lambda call, ctx: 3)


class Custom(Exception):
    """Fields that do not survive a trip through C++."""

    def __init__(self, detail):
        super().__init__("custom")
        self.detail = detail


@pytest.mark.parametrize(
    "error", [Custom({"a": 1}), DispatchError("no", code="x", hint="y"), KeyboardInterrupt()]
)
def test_exceptions_of_rules_arrive_as_they_were_raised(error, monkeypatch):
    def fail(call, ctx):
        raise error

    monkeypatch.setattr(importlib.import_module("tirx.tile.dispatch"), "dispatch_tile_call", fail)
    with pytest.raises(type(error)) as e:
        pipeline.lower(kernel(HEAD + "Tx.zero(A[0:1])"), TARGET)
    assert e.value is error


def test_scope_errors_are_not_hidden_by_the_hook(monkeypatch):
    from tirx.errors import ScopeError

    with pytest.raises(ScopeError):
        pipeline.lower(kernel(HEAD + "if w == 1 or tx == 5:\n    Tx.warp.zero(A[0:1])"), TARGET)


def test_a_tile_call_that_survives_is_named():
    func = kernel(HEAD + "Tx.warp.zero(A[0:1])")
    with pytest.raises(DispatchError) as e:
        passed("check_no_tile_calls")(func)
    assert e.value.code == "tile-call-survives" and e.value.message == "Tx.warp.zero was not lowered"
    assert e.value.location.line == 7
    passed("check_no_tile_calls")(kernel(HEAD + "A[0] = 1.0"))


def test_passes_need_their_predecessors():
    with pytest.raises((InternalError, RuntimeError), match="run resolve_scopes first"):
        passed("apply_layouts")(kernel(HEAD + "A[0] = 1.0"))
