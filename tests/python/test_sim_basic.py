"""The machine: loads and stores, control flow, shared memory, barriers of the CTA."""

import numpy as np
import pytest
from sim_kernels import Builder, cta, tid

from tirx import errors, ir


def f32(v):
    return ir.FloatImm("float32", v)


def test_scale_with_vector_accesses():
    k = Builder(threads=64, grid=(4,))
    a, b = k.buffer("A", 1024), k.buffer("B", 1024)
    base = k.bind("base", cta() * 256 + tid() * 4)
    r = k.alloc("r", 4, scope="local")
    k.store(r, k.ramp(0, 4), k.load(a, k.ramp(base, 4)))
    k.for_(4, lambda i: k.store(r, i, k.load(r, i) * f32(2.0)), kind="unroll")
    k.store(b, k.ramp(base, 4), k.load(r, k.ramp(0, 4)))
    x, y = np.random.default_rng(0).standard_normal(1024, dtype=np.float32), np.zeros(1024, np.float32)
    report = k.run(x, y)
    assert (y == x * 2).all()
    assert report.counters["global_load"] == {"requests": 8, "sectors": 128, "bytes": 4096}
    assert report.counters["widths"] == {"ld.global": {"16": 8}, "st.global": {"16": 8}}


def test_divergent_loop_with_break_and_continue():
    """out[t] = sum of the odd numbers below t, but stops at 21."""
    k = Builder(threads=48)
    out = k.buffer("out", 48, "int32")
    acc = k.alloc("acc", 1, "int32", "local")
    t = k.bind("t", tid())
    k.store(acc, 0, ir.const(0, "int32"))

    def body(i):
        k.if_(i % 2 == 0, k.continue_)
        k.if_(i > 21, k.break_)
        k.store(acc, 0, k.load(acc, 0) + i)

    k.for_(t, body)
    k.store(out, t, k.load(acc, 0))
    got = np.zeros(48, np.int32)
    k.run(got)
    assert got.tolist() == [sum(i for i in range(t) if i % 2 and i <= 21) for t in range(48)]


def test_while_runs_until_every_lane_is_done():
    """Steps of the Collatz sequence."""
    k = Builder(threads=32)
    out = k.buffer("out", 32, "int32")
    n, steps = k.alloc("n", 1, "int32", "local"), k.alloc("steps", 1, "int32", "local")
    k.store(n, 0, tid() + 1)
    k.store(steps, 0, ir.const(0, "int32"))

    def body():
        v = k.bind("v", k.load(n, 0))
        k.store(n, 0, ir._api.select(v % 2 == 0, v // 2, v * 3 + 1, None))
        k.store(steps, 0, k.load(steps, 0) + 1)

    k.while_(k.load(n, 0) != 1, body)
    k.store(out, tid(), k.load(steps, 0))
    got = np.zeros(32, np.int32)
    k.run(got)

    def collatz(v):
        return 0 if v == 1 else 1 + collatz(v // 2 if v % 2 == 0 else 3 * v + 1)

    assert got.tolist() == [collatz(t + 1) for t in range(32)]


def reverse_through_shared(sync="cuda.cta_sync", threads=64):
    k = Builder(threads=threads)
    a, b = k.buffer("A", threads), k.buffer("B", threads)
    sm = k.alloc("sm", threads)
    k.store(sm, tid(), k.load(a, tid()))
    if sync:
        k.call(sync)
    k.store(b, tid(), k.load(sm, threads - 1 - tid()))
    return k


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random"])
def test_exchange_through_shared_memory(schedule):
    k = reverse_through_shared()
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    k.run(x, y, schedule=schedule, seed=5)
    assert (y == x[::-1]).all()


@pytest.mark.parametrize("observers, code", [(("init",), "uninitialised-read"), (("race",), "shared-race")])
def test_a_missing_barrier_is_reported(observers, code):
    k = reverse_through_shared(sync=None)
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    with pytest.raises(errors.SimError) as e:
        k.run(x, y, observers=observers)
    assert e.value.code == code


def test_a_missing_barrier_changes_the_output_with_all_observers_off():
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    reverse_through_shared(sync=None).run(x, y, observers=())
    assert np.isnan(y[:32]).all()


def test_lanes_of_one_warp_need_a_warp_barrier():
    """The values are right, because the simulated lanes stay together; the hardware's need not."""
    k = reverse_through_shared(sync=None, threads=32)
    x, y = np.arange(32, dtype=np.float32), np.zeros(32, np.float32)
    with pytest.raises(errors.SimError) as e:
        k.run(x, y)
    assert (y == x[::-1]).all() and e.value.code == "lane-race"
    assert "thread 0 reads byte 124 of sm, which lane 31 of the same warp wrote" in e.value.found
    assert (e.value.location.line, e.value.notes[0][0].line) == (4, 3)
    reverse_through_shared(sync="cuda.warp_sync", threads=32).run(x, y)


def test_out_of_bounds_names_buffer_index_thread_and_line():
    k = Builder(threads=32)
    a = k.buffer("A", 40)
    k.store(a, tid() + 16, f32(1.0))
    x = np.zeros(40, np.float32)
    with pytest.raises(errors.SimError) as e:
        k.run(x)
    assert e.value.code == "out-of-bounds"
    assert e.value.found == "index 40 by CTA (0, 0, 0) thread 24 (lanes 24-31 are outside)"
    assert e.value.required == "0 <= index <= 39: the buffer has 40 elements"
    assert (e.value.location.file, e.value.location.line) == ("kernel.py", 1)
    assert (x[16:] == 1).all(), "the lanes inside still store"


def test_a_guarded_access_is_not_evaluated_by_the_other_lanes():
    k = Builder(threads=32)
    a, b = k.buffer("A", 20), k.buffer("B", 32)
    t = k.bind("t", tid())
    k.store(b, t, ir._api.select(t < 20, k.load(a, t), f32(-1.0), None))
    x, y = np.arange(20, dtype=np.float32), np.zeros(32, np.float32)
    k.run(x, y)
    assert y.tolist() == list(range(20)) + [-1.0] * 12


def test_deadlock_shows_who_waits_and_who_exited():
    k = Builder(threads=96)
    k.if_(tid() // 32 == 1, k.sync)
    with pytest.raises(errors.SimError) as e:
        k.run()
    assert e.value.code == "deadlock"
    assert e.value.found == (
        "CTA (0, 0, 0) warp 1 waits at barrier 0: 32 of 96 threads arrived; arrived: warps 1; "
        "exited without arriving: 0, 2; blocked elsewhere: none"
    )


def test_report_text_and_dict():
    report = reverse_through_shared().run(np.zeros(64, np.float32), np.zeros(64, np.float32))
    assert str(report).startswith("kernel on sm_90a, schedule lazy: 1 CTAs, no findings")
    data = report.to_dict()
    assert data["findings"] == [] and data["counters"]["instructions"]["barrier"] == 2
