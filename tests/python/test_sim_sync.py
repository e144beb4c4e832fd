"""Barriers, clusters and asynchronous copies: the right program is silent, each mistake is reported."""

import numpy as np
import pytest
from sim_kernels import Builder, cta, tid

from tirx import errors, ir

SCHEDULES = [("lazy", 0), ("eager", 0), ("random", 1), ("random", 2), ("random", 3)]


def u32(v):
    return ir.const(v, "uint32")


def expect(k, code, *args, **kw):
    with pytest.raises(errors.SimError) as e:
        k.run(*args, **kw)
    assert e.value.code == code, str(e.value)
    return e.value


def exchange(barrier, threads=64, exchangers=None):
    """Threads below `exchangers` reverse A through shared memory, with `barrier(k)` between."""
    n = exchangers or threads
    k = Builder(threads=threads)
    a, b = k.buffer("A", threads), k.buffer("B", threads)
    sm = k.alloc("sm", threads)
    t = k.bind("t", tid())

    def body():
        k.store(sm, t, k.load(a, t))
        barrier(k)
        k.store(b, t, k.load(sm, n - 1 - t))

    if n < threads:
        k.if_(t < n, body)
    else:
        body()
    return k


def arrays(n=64):
    return np.arange(n, dtype=np.float32), np.zeros(n, np.float32)


def named(k, count, barrier=1, op="sync"):
    k.call(f"cuda.named_barrier_{op}", [u32(barrier), u32(count)])


@pytest.mark.parametrize("schedule, seed", SCHEDULES)
@pytest.mark.parametrize("barrier", [lambda k: k.sync(), lambda k: named(k, 64), lambda k: named(k, 64, 15)])
def test_every_barrier_of_all_threads_orders_an_exchange(barrier, schedule, seed):
    x, y = arrays()
    exchange(barrier).run(x, y, schedule=schedule, seed=seed)
    assert (y == x[::-1]).all()


@pytest.mark.parametrize("barrier", [lambda k: None, lambda k: k.call("cuda.warp_sync"),
                                     lambda k: k.call("cuda.thread_fence_block")])  # fmt: skip
def test_what_does_not_join_the_warps_is_a_race(barrier):
    expect(exchange(barrier), "shared-race", *arrays(), observers=("race",))


def test_a_named_barrier_of_some_warps():
    x, y = arrays(96)
    exchange(lambda k: named(k, 64), threads=96, exchangers=64).run(x, y)
    assert (y[:64] == x[:64][::-1]).all()


def test_a_barrier_inside_a_partial_warp_branch():
    """Two warps, `if tx < 48` around an exchange: the second warp arrives with half of its lanes."""
    e = expect(exchange(lambda k: k.sync(), exchangers=48), "partial-warp", *arrays())
    assert e.found == "CTA (0, 0, 0) warp 1 executes it with lanes 0-15 only"
    assert e.message == "cuda.cta_sync needs every thread of the warp"


def test_the_same_branch_on_a_whole_warp_needs_a_barrier_of_its_own():
    e = expect(exchange(lambda k: k.sync(), exchangers=32), "deadlock", *arrays())
    assert "warp 0 waits at barrier 0: 32 of 64 threads arrived" in e.found
    x, y = arrays()
    exchange(lambda k: named(k, 32), exchangers=32).run(x, y)
    assert (y[:32] == x[:32][::-1]).all()


def test_both_arms_of_a_divergent_branch():
    """`if tx == 0 or tx >= 33: sync else: exchange`: every warp splits at the barrier."""
    k = Builder(threads=64)
    t = k.bind("t", tid())
    k.if_((t == 0) | (t >= 33), k.sync, k.sync)
    expect(k, "partial-warp")


def test_a_guard_known_at_run_time():
    """The same mistake behind a mask from memory."""
    k = Builder(threads=64)
    m = k.buffer("mask", 64, "int32")
    k.if_(k.load(m, tid()) != 0, k.sync)
    mask = np.ones(64, np.int32)
    k.run(mask)
    mask[40] = 0
    expect(k, "partial-warp", mask)


def producer_consumer(consumer_count=64, producer_count=64, early_exit=True):
    """Warp 0 writes, arrives at barrier 1 and exits; warp 1 waits there and reads."""
    k = Builder(threads=64)
    b = k.buffer("B", 32)
    sm = k.alloc("sm", 32)
    t = k.bind("t", tid())

    def produce():
        k.store(sm, t, t.astype("float32"))
        named(k, producer_count, op="arrive")

    def consume():
        named(k, consumer_count)
        k.store(b, t - 32, k.load(sm, t - 32))

    k.if_(t // 32 == 0, produce, consume)
    return k


@pytest.mark.parametrize("schedule, seed", SCHEDULES)
def test_a_producer_that_only_arrives_and_exits(schedule, seed):
    y = np.zeros(32, np.float32)
    producer_consumer().run(y, schedule=schedule, seed=seed)
    assert (y == np.arange(32)).all()


def test_what_a_producer_does_after_its_arrival_is_not_covered():
    k = Builder(threads=64)
    sm, out = k.alloc("sm", 64), k.buffer("out", 32)
    t = k.bind("t", tid())

    def produce():
        k.store(sm, t, ir.FloatImm("float32", 1.0))
        named(k, 64, op="arrive")
        k.store(sm, t + 32, ir.FloatImm("float32", 2.0))

    def consume(first):
        named(k, 64)
        k.store(out, t - 32, k.load(sm, t - 32 + first))

    k.if_(t // 32 == 0, produce, lambda: consume(32))
    e = expect(k, "shared-race", np.zeros(32, np.float32))
    assert e.notes[0][0].line == 6


def test_counts_that_differ():
    e = expect(
        producer_consumer(consumer_count=32 * 2, producer_count=32), "deadlock", np.zeros(32, np.float32)
    )
    assert "warp 1 waits at barrier 1: 32 of 64 threads arrived" in e.found
    k = Builder(threads=96)
    w = k.bind("w", tid() // 32)
    k.if_(w == 0, lambda: named(k, 96), lambda: named(k, 64))
    e = expect(k, "barrier-count-mismatch")
    assert e.found == "64 threads by CTA (0, 0, 0) warp 1"
    assert [n[0].line for n in e.notes] == [3]


@pytest.mark.parametrize("count, barrier, code", [
    (48, 1, "barrier-count"), (64, 16, "barrier-id"), (128, 1, "barrier-count"), (64, -1, "barrier-id")])  # fmt: skip
def test_impossible_barriers(count, barrier, code):
    k = Builder(threads=64)
    args = [ir.const(barrier, "int32"), ir.const(count, "int32")]
    k.call("cuda.named_barrier_sync", args)
    expect(k, code)


def test_arriving_twice():
    k = Builder(threads=64)

    def twice():
        named(k, 64, op="arrive")
        named(k, 64, op="arrive")

    k.if_(tid() // 32 == 0, twice, lambda: named(k, 64))
    e = expect(k, "barrier-over-arrival")
    assert e.location.line == 3 and e.notes[0][0].line == 2


def test_cta_sync_and_a_named_barrier_with_id_0():
    k = Builder(threads=64)
    k.if_(tid() // 32 == 0, k.sync, lambda: named(k, 32, barrier=0))
    expect(k, "barrier-count-mismatch")


def test_an_early_exit_of_a_whole_warp_leaves_the_others_waiting():
    k = Builder(threads=64)

    def work():
        k.sync()

    k.if_(tid() // 32 == 0, work)
    e = expect(k, "deadlock")
    assert "exited without arriving: 1" in e.found
    k.run(observers=())  # PTX: exited threads do not hold up bar.sync 0; nothing observes, so it runs


def test_reductions_at_a_barrier():
    k = Builder(threads=64)
    out = k.buffer("out", 3, "int32")
    t = k.bind("t", tid())
    values = []
    for mode, pred in (("count", t % 3 == 0), ("and", t < 64), ("or", t == 99)):
        dtype = "int32" if mode == "count" else "bool"
        s = k.next_span()
        v = ir.Var(mode, dtype)
        k.stmts.append(ir.Bind(v, ir.call(dtype, f"cuda.syncthreads_{mode}", [pred], None, s), span=s))
        values.append(v.astype("int32"))
    for i, v in enumerate(values):
        k.store(out, i, v)
    got = np.zeros(3, np.int32)
    k.run(got)
    assert got.tolist() == [22, 1, 0]


def test_random_schedules_repeat_with_their_seed():
    def order(seed):
        k = Builder(threads=128)
        counter, out = k.buffer("counter", 1, "int32"), k.buffer("out", 4, "int32")
        place = ir.call("handle", "tx.address_of", [k.load(counter, 0)])
        k.if_(
            tid() % 32 == 0,
            lambda: k.store(out, tid() // 32, ir.call("int32", "cuda.atomic_add", [place, 1])),
        )
        got = np.zeros(4, np.int32)
        k.run(np.zeros(1, np.int32), got, schedule="random", seed=seed)
        return tuple(got)

    orders = [order(seed) for seed in range(8)]
    assert orders == [order(seed) for seed in range(8)] and len(set(orders)) > 2


def cluster_kernel(body):
    k = Builder(threads=32, grid=(4,), cluster=(2, 1, 1))
    out = k.buffer("out", 4, "int32")
    body(k)
    k.store(out, cta(), ir.call("int32", "tx.cluster_cta_rank"))
    return k


def test_cluster_barrier():
    got = np.full(4, -1, np.int32)
    cluster_kernel(lambda k: k.call("cuda.cluster_sync")).run(got)
    assert got.tolist() == [0, 1, 0, 1]

    def only_rank_0(k):
        k.if_(ir.call("int32", "tx.cluster_cta_rank") == 0, lambda: k.call("cuda.cluster_wait"))

    e = expect(cluster_kernel(only_rank_0), "cluster-barrier-order", got)
    assert "without an arrival" in e.message


def test_an_instruction_the_target_lacks_is_refused():
    k = Builder(threads=32)
    k.call("cuda.cluster_sync")
    with pytest.raises(errors.TargetError) as e:
        k.run(arch="sm_80")
    assert e.value.code == "missing-feature" and "cuda.cluster_sync" in e.value.message
    assert e.value.location.line == 1


def pipeline(stages=2, ahead=None, wait=True, barrier=True, second_barrier=True, keep=None, tiles=6):
    """Copies tiles of 64 x 4 floats through `stages` shared buffers with cp.async, `ahead` tiles before they are
    used; sums them into out. With ahead < stages the barrier before the use is enough."""
    ahead = stages - 1 if ahead is None else ahead
    k = Builder(threads=64)
    a, out = k.buffer("A", tiles * 256), k.buffer("out", 256)
    sm = k.alloc("sm", stages * 256, align=128)
    acc = k.alloc("acc", 4, scope="local")
    t = k.bind("t", tid())
    for j in range(4):
        k.store(acc, j, ir.FloatImm("float32", 0.0))

    def issue(tile):
        dst = ir.call("handle", "tx.address_of", [k.load(sm, tile % stages * 256 + t * 4)])
        src = ir.call("handle", "tx.address_of", [k.load(a, tile * 256 + t * 4)])
        k.if_(tile < tiles, lambda: k.call("ptx.cp.async.cg.shared.global", [dst, src, 16]))
        k.call("ptx.cp.async.commit_group")

    for s in range(ahead):
        issue(ir.const(s, "int32"))

    def step(i):
        if wait:
            k.call("ptx.cp.async.wait_group", [ahead - 1 if keep is None else keep])
        if barrier:
            k.sync()
        # The neighbour's part of the tile, written by another warp's copy.
        place = i % stages * 256 + (t + 32) % 64 * 4
        for j in range(4):
            k.store(acc, j, k.load(acc, j) + k.load(sm, place + j))
        if second_barrier:
            k.sync()
        issue(i + ahead)

    k.for_(tiles, step)
    for j in range(4):
        k.store(out, t * 4 + j, k.load(acc, j))
    return k


def run_pipeline(k, tiles=6, **kw):
    x = np.random.default_rng(0).integers(0, 50, tiles * 256).astype(np.float32)
    y = np.zeros(256, np.float32)
    report = k.run(x, y, **kw)
    want = np.roll(x.reshape(tiles, 64, 4).sum(0), -32, 0).reshape(-1)
    return (y == want).all(), report


@pytest.mark.parametrize("schedule, seed", SCHEDULES)
@pytest.mark.parametrize("stages", [2, 3, 4])
def test_a_pipeline_of_async_copies(stages, schedule, seed):
    right, report = run_pipeline(pipeline(stages), schedule=schedule, seed=seed)
    assert right and report.counters["async_copies"] == 12
    assert run_pipeline(pipeline(stages, second_barrier=False), schedule=schedule, seed=seed)[0]
    assert run_pipeline(pipeline(stages, ahead=stages), schedule=schedule, seed=seed)[0]


@pytest.mark.parametrize("mistake, code", [
    (dict(wait=False), "read-before-wait"),
    (dict(keep=1), "read-before-wait"),
    (dict(barrier=False), "shared-race"),
    (dict(ahead=2, second_barrier=False), "shared-race")])  # fmt: skip
def test_mistakes_in_a_pipeline(mistake, code):
    with pytest.raises(errors.SimError) as e:
        run_pipeline(pipeline(**mistake))
    codes = {f.code for f in e.value.report.findings}
    assert code in codes


@pytest.mark.parametrize("mistake", [dict(wait=False), dict(keep=1), dict(barrier=False)])
def test_the_lazy_schedule_shows_them_in_the_output(mistake):
    right, _ = run_pipeline(pipeline(**mistake), observers=())
    assert not right


def test_eager_copies_hide_a_missing_wait_from_the_output():
    right, _ = run_pipeline(pipeline(wait=False), observers=(), schedule="eager")
    assert right


def test_cp_async_fills_with_zeros_beyond_src_size():
    k = Builder(threads=32)
    a, out = k.buffer("A", 100), k.buffer("out", 128)
    sm = k.alloc("sm", 128, align=16)
    t = k.bind("t", tid())
    dst = ir.call("handle", "tx.address_of", [k.load(sm, t * 4)])
    src = ir.call("handle", "tx.address_of", [k.load(a, t * 4)])
    take = ir._api.select(t < 25, ir.const(16, "uint32"), ir.const(0, "uint32"), None)
    k.call("ptx.cp.async.cg.shared.global", [dst, src, 16, take])
    k.call("ptx.cp.async.wait_all")
    for j in range(4):
        k.store(out, t * 4 + j, k.load(sm, t * 4 + j))
    x, y = np.arange(1, 101, dtype=np.float32), np.ones(128, np.float32)
    k.run(x, y)
    assert y.tolist() == x.tolist() + [0.0] * 28


def test_cp_async_outside_the_buffer():
    k = Builder(threads=32)
    a = k.buffer("A", 100)
    sm = k.alloc("sm", 128, align=16)
    dst = ir.call("handle", "tx.address_of", [k.load(sm, tid() * 4)])
    src = ir.call("handle", "tx.address_of", [k.load(a, tid() * 4)])
    k.call("ptx.cp.async.cg.shared.global", [dst, src, 16])
    e = expect(k, "out-of-bounds", np.zeros(100, np.float32))
    assert e.message == "load outside buffer A"
    assert e.found == "16 bytes at byte 400 by CTA (0, 0, 0) thread 25 (lanes 25-31 are outside)"
    e = expect(k, "illegal-address", np.zeros(100, np.float32), observers=())
    assert e.found == "load of 16 bytes through a pointer by CTA (0, 0, 0) thread 25, offset 400 of buffer A"
