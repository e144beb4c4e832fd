"""SplitHostDevice: signature, symbols, launch plan."""

import pytest
from scope_helpers import TARGET

from tirx import ir
from tirx.errors import ScriptError
from tirx.pipeline import build_kernel
from tirx.script import from_source

SOURCE = """
@T.prim_func
def f(a: T.handle, k: T.int32, b: T.handle, scale: T.float32):
    n = T.int32()
    m = T.int32()
    A = T.match_buffer(a, (n, m), "float32")
    B = T.match_buffer(b, (64, n), "float16")
    blocks: T.let = (n + 63) // 64
    half: T.let = blocks // 2
    unused: T.let = n * 3
    assert n > 0, "n must be positive"
    T.device_entry()
    T.attr({"tirx.launch_bounds_min_blocks_per_sm": 2})
    bx, by = T.cta_id([blocks, k])
    tx = T.thread_id([128])
    if bx < half:
        A[bx, tx] = scale
"""


def kernel(source=SOURCE):
    return build_kernel(from_source(source), TARGET)


def test_parameters_of_the_device_function():
    k = kernel()
    names = [str(p.name) for p in k.device.params]
    assert names == [str(k.host.param_buffers[0].data.name), str(k.host.param_buffers[2].data.name), "k",
                     "scale", *[str(s.name) for s in k.symbols]]  # fmt: skip
    assert [str(s.name) for s in k.symbols] == ["m", "n"]
    assert [b is not None for b in k.device.param_buffers] == [True, True, False, False, False, False]
    assert len(k.device.param_buffers[0].shape) == 1
    assert [str(e) for e in k.host.param_buffers[0].shape] == ["n", "m"]


def test_lets_that_the_kernel_reads_move_with_it():
    k = kernel()
    lets = [str(s.var.name) for s in k.device.body.seq if isinstance(s, ir.Bind)]
    assert lets[:2] == ["blocks", "half"] and "unused" not in lets


def test_the_grid_is_an_expression_of_parameters_and_symbols():
    assert [str(e) for e in kernel().launch.grid] == ["(n + 63) // 64", "k", "1"]


def test_the_launch_plan():
    plan = kernel().launch
    assert (plan.threads, plan.min_blocks_per_sm, plan.dyn_shared_bytes) == (128, 2, 0)
    assert dict(plan.attrs.items()) == {"cooperative": False, "programmatic": False}


def test_assertions_stay_on_the_host():
    k = kernel()
    assert any(isinstance(s, ir.Assert) for s in k.host.body.seq)
    assert not any(isinstance(s, ir.Assert) for s in k.device.body.seq)


def test_host_code_that_is_neither():
    bad = SOURCE.replace(
        "    assert n > 0", '    for i in range(n):\n        assert i >= 0, ""\n    assert n > 0'
    )
    with pytest.raises(ScriptError) as e:
        kernel(bad)
    assert e.value.code == "host-statement"
