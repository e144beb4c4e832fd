"""The machine as a whole: coverage of the instruction table, host threads, CTAs that wait for each other, size."""

import re
from pathlib import Path

import numpy as np
import pytest
from sim_kernels import Builder, cta, target, tid

from tirx import _ffi_api, errors, ir, sim
from tirx.targets.cuda import instructions


def test_every_instruction_has_a_meaning_or_a_reason():
    meanings = {str(m) for m in _ffi_api.sim_meanings()}
    for name, decl in instructions.table().items():
        assert decl.sim in meanings if decl.sim else decl.unsupported, name


def test_every_meaning_is_used():
    used = {decl.sim for decl in instructions.table().values()}
    assert {str(m) for m in _ffi_api.sim_meanings()} <= used


def test_an_instruction_without_a_meaning_is_refused_with_its_reason():
    k = Builder(threads=128)
    k.call("ptx.wgmma.commit_group.sync.aligned")
    with pytest.raises(errors.SimError) as e:
        k.run()
    assert e.value.code == "unsupported-instruction"
    assert "ptx.wgmma.commit_group.sync.aligned" in e.value.message and e.value.location.line == 1


def test_an_unknown_instruction_is_refused():
    k = Builder()
    k.call("ptx.no.such.thing")
    with pytest.raises(errors.TargetError) as e:
        k.run()
    assert e.value.code == "unknown-instruction" and e.value.found == "ptx.no.such.thing"


def test_tile_stage_ir_is_refused():
    k = Builder()
    k.stmts.append(ir.DeviceEntry(span=k.next_span()))
    with pytest.raises(errors.VerifyError) as e:
        k.run()
    assert e.value.code == "not-native" and "DeviceEntry" in e.value.found


def many_ctas(ctas=64):
    k = Builder(threads=64, grid=(ctas,))
    a, b = k.buffer("A", ctas * 64), k.buffer("B", ctas * 64)
    sm = k.alloc("sm", 64)
    i = k.bind("i", cta() * 64 + tid())
    k.store(sm, tid(), k.load(a, i))
    k.sync()
    k.store(b, i, k.load(sm, 63 - tid()))
    return k


def test_results_counters_and_findings_do_not_depend_on_host_threads():
    x = np.random.default_rng(0).standard_normal(64 * 64).astype(np.float32)
    reports, outputs = [], []
    for workers in (1, 2, 5):
        y = np.zeros_like(x)
        reports.append(many_ctas().run(x, y, workers=workers).to_dict())
        outputs.append(y)
    assert reports[0] == reports[1] == reports[2]
    assert (outputs[0] == outputs[1]).all() and (outputs[0] == x.reshape(64, 64)[:, ::-1].reshape(-1)).all()
    short = x[: 64 * 40 + 3]
    found = []
    for workers in (1, 4):
        k = copy_of(short.size)
        found.append(str(k.run(short, np.zeros_like(x), workers=workers, check=False).findings[0]))
    assert found[0] == found[1] and "CTA (40, 0, 0) thread 3" in found[0]


def copy_of(extent):
    """64 CTAs read 4096 elements of a buffer that has `extent`."""
    k = Builder(threads=64, grid=(64,))
    a, b = k.buffer("A", extent), k.buffer("B", 64 * 64)
    i = k.bind("i", cta() * 64 + tid())
    k.store(b, i, k.load(a, i))
    return k


def test_a_buffer_that_is_read_and_written_keeps_the_order_of_ctas():
    """CTA i reads what CTA i-1 wrote: in order this is a prefix sum, whatever `workers` says."""
    k = Builder(threads=32, grid=(64,))
    a = k.buffer("A", 65, "int32")
    k.if_(tid() == 0, lambda: k.store(a, cta() + 1, k.load(a, cta()) + 1))
    for workers in (1, 8):
        got = np.zeros(65, np.int32)
        k.run(got, workers=workers)
        assert got.tolist() == list(range(65))


def waiting_ctas(signal=True):
    """CTA 0 spins until CTA 1 has written the flag."""
    k = Builder(threads=32, grid=(2,))
    flag, out = k.buffer("flag", 1, "int32"), k.buffer("out", 1, "int32")

    def wait():
        k.while_(k.load(flag, 0) == 0, lambda: k.call("cuda.nano_sleep", [ir.const(20, "uint32")]))
        k.store(out, 0, k.load(flag, 0))

    k.if_(cta() == 0, wait, lambda: k.store(flag, 0, ir.const(7 if signal else 0, "int32")))
    return k


@pytest.mark.parametrize("schedule", ["lazy", "random"])
def test_a_cta_that_waits_for_a_later_one(schedule):
    got = np.zeros(1, np.int32)
    waiting_ctas().run(np.zeros(1, np.int32), got, schedule=schedule)
    assert got[0] == 7


@pytest.mark.slow
def test_a_wait_that_never_ends_is_reported():
    with pytest.raises(errors.SimError) as e:
        waiting_ctas(signal=False).run(np.zeros(1, np.int32), np.zeros(1, np.int32), observers=())
    assert e.value.code == "no-progress" and "CTA (0, 0, 0) warp 0" in e.value.found


def test_assertions_are_checked_in_active_lanes():
    k = Builder(threads=32)
    k.if_(tid() < 16, lambda: k.stmts.append(ir.Assert(tid() < 16, "below 16", span=k.next_span())))
    k.run()
    k.stmts.append(ir.Assert(tid() < 20, "below 20", span=k.next_span()))
    with pytest.raises(errors.SimError) as e:
        k.run()
    assert e.value.message == "below 20" and "lanes 20-31" in e.value.found


def test_division_by_zero_in_an_active_lane():
    k = Builder(threads=32)
    out = k.buffer("out", 32, "int32")
    t = k.bind("t", tid())
    k.store(out, t, ir._api.select(t != 5, 100 // (t - 5), 0, None))
    got = np.zeros(32, np.int32)
    k.run(got)
    assert got.tolist() == [0 if t == 5 else 100 // (t - 5) for t in range(32)]
    k.store(out, t, 100 // (t - 5))
    with pytest.raises(errors.SimError) as e:
        k.run(got)
    assert e.value.code == "division-by-zero" and "lane 5 of" in e.value.found


def test_printf():
    k = Builder(threads=2)
    args = [ir.StringImm("%d: %.2f %%\n"), tid(), tid().astype("float32") * ir.FloatImm("float32", 0.5)]
    k.call("cuda.printf", args)
    assert k.run().printed == "0: 0.00 %\n1: 0.50 %\n"


@pytest.mark.slow
def test_fifty_thousand_statements():
    k = Builder(threads=32)
    out = k.buffer("out", 32, "int32")
    t = k.bind("t", tid())
    acc = k.alloc("acc", 1, "int32", "local")
    k.store(acc, 0, t)
    for i in range(25_000):
        v = k.bind(f"v{i}", k.load(acc, 0) + (t + i) % 3)
        k.store(acc, 0, v)
    k.store(out, t, k.load(acc, 0))
    got = np.zeros(32, np.int32)
    k.run(got)
    assert got[0] == sum(i % 3 for i in range(25_000))


def test_deep_expressions_and_nests():
    k = Builder(threads=32)
    out = k.buffer("out", 32, "int32")
    e = k.load(out, tid())
    for i in range(900):
        e = ir.Binary("bitwise_xor", e, i)

    def nest(depth):
        if depth == 0:
            return k.store(out, tid(), e)
        k.if_(tid() >= 0, lambda: nest(depth - 1))

    nest(200)
    got = np.zeros(32, np.int32)
    k.run(got)
    want = 0
    for i in range(900):
        want ^= i
    assert set(got) == {want}


def test_the_target_may_be_spelled():
    sim.run(many_ctas(2).kernel(), "cuda/sm_80", [np.zeros(128, np.float32), np.zeros(128, np.float32)])


@pytest.mark.parametrize("plan, arch, found", [
    (dict(threads=2048), "sm_90a", "2048 threads per CTA"), (dict(dyn=300_000), "sm_90a", "300000 bytes"),
    (dict(dyn=200_000), "sm_80", "200000 bytes"), (dict(cluster=(2, 1, 1), grid=(2,)), "sm_80", "a cluster of 2 CTAs"),
    (dict(cluster=(2, 1, 1), grid=(3,)), "sm_90a", "3 CTAs along dimension 0")])  # fmt: skip
def test_launches_that_the_driver_would_refuse(plan, arch, found):
    with pytest.raises(errors.LaunchError) as e:
        Builder(**plan).run(arch=arch)
    assert e.value.code == "launch-limits" and found in e.value.found


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_vector_arithmetic(dtype):
    k = Builder(threads=32)
    a, b, out = (k.buffer(n, 128, dtype) for n in "abo")
    at = k.ramp(k.bind("base", tid() * 4), 4)
    x, y = k.load(a, at), k.load(b, at)
    k.store(out, at, ir._api.select(x < y, x * y + y, x.astype("int64x4").astype(f"{dtype}x4"), None))
    p, q = (np.random.default_rng(i).integers(-9, 9, 128).astype(dtype) for i in range(2))
    got = np.zeros(128, dtype)
    k.run(p, q, got)
    assert (got == np.where(p < q, p * q + q, p)).all()


def test_buffers_of_vector_type():
    k = Builder(threads=32)
    a, out = k.buffer("a", 32, "float32x2"), k.buffer("o", 32, "float32x2")
    v = k.bind("v", k.load(a, tid()))
    k.store(out, tid(), v + v)
    kernel = k.kernel()
    x, got = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    handles = [ir.Buffer.make(n, [64], "float32") for n in "ao"]
    host = ir.PrimFunc("kernel", list(kernel.host.params), handles, ir.SeqStmt([]))
    report = sim.run(ir.Kernel(host, kernel.device, [], kernel.launch), target(), [x, got])
    assert (got == 2 * x).all() and report.counters["widths"]["ld.global"] == {"8": 1}


def test_the_page_names_every_finding():
    root = Path(__file__).parent.parent.parent
    source = "".join(p.read_text() for p in sorted((root / "src" / "sim").rglob("*.cc")))
    found = set(re.findall(r'(?:code = [^;]*?|Misuse\(loc, |ReportFault\(w, [\w.]+, )"([a-z-]+)"', source))
    found |= set(re.findall(r'f\.code = \w+ \? "([a-z-]+)" : "([a-z-]+)"', source)[0])
    page = (root / "docs" / "simulator.md").read_text()
    assert len(found) > 15 and not [code for code in found if f"`{code}`" not in page]
