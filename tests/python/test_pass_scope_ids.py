"""LowerScopeIds: what ids mean on the hardware."""

import pytest
from scope_helpers import evaluate, kernel, passed, resolve
from test_pass_layouts import find

from tirx import ir


def lower(body, **kw):
    return passed("lower_scope_ids")(resolve(kernel(body, **kw)))


def binds(func):
    return {str(b.var.name): b.value for b in find(func, ir.Bind)}


def test_each_id_is_its_number():
    body = """
x, y = T.thread_id([64, 4])
w = T.warp_id()
lane = T.lane_id()
g = T.warpgroup_id()
wi = T.warp_id_in_wg()
ti = T.thread_id_in_wg()
A[x + y + w + lane + g + wi + ti] = 0.0
"""
    values = binds(lower(body))
    tid = values.pop("tid")
    assert str(tid.op) == "tx.thread_index"
    want = {
        "x": lambda t: t % 64, "y": lambda t: t // 64, "w": lambda t: t // 32, "lane": lambda t: t % 32,
        "g": lambda t: t // 128, "wi": lambda t: t // 32 % 4, "ti": lambda t: t % 128,
    }  # fmt: skip
    assert values.keys() == want.keys()
    for name, f in want.items():
        assert [evaluate(values[name], {"tid": t}) for t in range(256)] == [f(t) for t in range(256)], name


def test_ids_of_ctas():
    body = """
bx, by = T.cta_id([8, 6])
cx, cy = T.cta_id_in_cluster([2, 3])
kx, ky = T.cluster_id()
p = T.cta_id_in_pair()
A[bx + by + cx + cy + kx + ky + p] = 0.0
"""
    values = binds(lower(body))
    texts = {name: str(v) for name, v in values.items()}
    assert texts["bx"] == 'T.call("int32", "tx.cta_index", 0)'
    assert texts["cy"] == 'T.call("int32", "tx.cluster_cta_index", 1)'
    assert texts["ky"] == 'T.call("int32", "tx.cta_index", 1) // 3'
    assert texts["p"] == 'T.call("int32", "tx.cluster_cta_rank") % 2'


def test_only_ids_that_are_used_are_bound():
    func = lower("bx = T.cta_id([4])\ntx = T.thread_id([128])\nw = T.warp_id()\nA[bx] = 0.0")
    assert list(binds(func)) == ["bx"]


def test_one_id_needs_no_name_for_the_thread_index():
    assert "tid" not in binds(lower("w = T.warp_id([4])\nA[w] = 0.0"))
    assert list(binds(lower("w = T.warp_id([4])\nlane = T.lane_id()\nA[w + lane] = 0.0"))) == [
        "tid",
        "w",
        "lane",
    ]


def test_ids_of_extent_one_are_zero():
    func = lower("bx = T.cta_id([1])\nw = T.warp_id([1])\nlane = T.lane_id()\nA[bx + w + lane] = 0.0")
    assert list(binds(func)) == ["lane"]
    (store,) = find(func, ir.BufferStore)
    assert str(store.indices[0]) == "lane"


def test_the_users_thread_id_is_the_thread_index():
    values = binds(lower("w = T.warp_id()\ntx = T.thread_id([64])\nA[tx + w] = 0.0"))
    assert list(values) == ["tx", "w"] and str(values["w"]) == "tx // 32"


def test_ids_defined_below_are_bound_at_the_start():
    func = lower("n: T.let = 3\nfor i in range(n):\n    tx = T.thread_id([64])\n    A[tx] = 0.0")
    first = func.body.seq[1] if isinstance(func.body.seq[0], ir.DeviceEntry) else func.body.seq[0]
    assert str(first.var.name) == "tx"


@pytest.mark.parametrize("dtype", ["uint32", "int64"])
def test_ids_of_another_dtype(dtype):
    values = binds(lower(f'tx = T.thread_id([64], dtype="{dtype}")\nA[T.cast(tx, "int32")] = 0.0'))
    assert values["tx"].dtype == dtype


def test_filters_switches_and_hints():
    body = """
w = T.warp_id([4])
T.attr({"pragma": 1})
with T.filter(w, 1, 3):
    with T.warp():
        A[w] = 0.0
"""
    func = lower(body)
    (branch,) = find(func, ir.IfThenElse)
    assert [evaluate(branch.cond, {"w": w}) for w in range(4)] == [False, True, True, False]
    text = str(func)
    assert "T.filter" not in text and "T.warp()" not in text and "pragma" not in text
    assert func.attrs["tirx.stage"] == "native"
