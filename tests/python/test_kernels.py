"""Whole kernels: the shared ones, unchanged, and the apps; simulated against NumPy and assembled for every target."""

import importlib
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tirx
from tirx import apps
from tirx.errors import SimError
from tirx.layout import S, TileLayout, laneid
from tirx.script import T, Tx

ROOT = Path(__file__).parent.parent.parent
sys.path.insert(0, str(ROOT))
SURFACE = types.SimpleNamespace(T=T, Tx=Tx, S=S, TileLayout=TileLayout, laneid=laneid)
KERNELS = ("scale", "smem_copy", "mma_gemm")
ARCHS = ("sm_80", "sm_90a", "sm_100a")
# Largest number of registers that mma_gemm may need.
REGISTERS = {"sm_80": 118, "sm_90a": 118, "sm_100a": 92}


def kernel(name):
    return importlib.import_module(f"bench.kernels.{name}")


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", KERNELS)
def test_shared_kernel_equals_its_reference(name, arch):
    module = kernel(name)
    exe = tirx.compile(module.make(SURFACE), f"cuda/{arch}", mode="simulate")
    args = module.inputs(np.random.default_rng(0))
    exe(*args)
    want = module.reference(*args)
    bound = module.K * 36 * 2.0**-24 * module.K**0.5 if name == "mma_gemm" else 0
    assert np.max(np.abs(args[-1].astype(np.float64) - want.astype(np.float64))) <= bound


def body_of(source):
    return source[source.index('extern "C"') :].splitlines()


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", KERNELS)
def test_shared_kernel_assembles(name, arch, record_property):
    pytest.importorskip("nvidia", reason="the NVRTC wheels of tirx[cuda] are not installed")
    exe = tirx.compile(kernel(name).make(SURFACE), f"cuda/{arch}")
    cubin = exe.cubin
    record_property("registers", cubin.registers)
    assert cubin.spills == 0 and cubin.warnings == []
    if name == "mma_gemm":
        assert cubin.registers <= REGISTERS[arch]
        assert len(body_of(exe.source)) <= 150


def test_width_does_not_depend_on_how_an_index_is_written():
    """Inline, through T.let, through a variable: the widest legal access every time."""
    text = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, (4096,), "float32")
    B = T.match_buffer(B_ptr, (4096,), "float32")
    T.device_entry()
    bx = T.cta_id([4])
    tx = T.thread_id([256])
    r = T.alloc_local((4,), "float32")
    {define}
    Tx.copy(r[0:4], A[{i} : {i} + 4])
    Tx.copy(B[{i} : {i} + 4], r[0:4])
"""
    from tirx.script import from_source

    index = "bx * 1024 + tx * 4"
    for define, i in (("pass", index), (f"i: T.let = {index}", "i"), (f"i = {index}", "i")):
        source = tirx.compile(from_source(text.format(define=define, i=i)), "cuda/sm_80").source
        assert source.count("float4") >= 2, source


# ---- apps ----

APPS = ("gemm", "softmax", "rmsnorm", "reduce", "transpose")
DEMOS = [(a, p) for a in APPS for p in apps.load_app(ROOT / "apps" / a).kernel.DEMO]


@pytest.mark.parametrize("schedule", ["lazy", "eager", "random"])
@pytest.mark.parametrize("name, params", DEMOS, ids=lambda v: str(v).replace(" ", ""))
def test_app_equals_numpy(name, params, schedule):
    app = apps.load_app(ROOT / "apps" / name, params)
    result = apps.run(app.make(), app, "cuda/sm_90a", mode="simulate", schedule=schedule, seed=7)
    assert result["ok"], apps.describe(result)
    if name in ("gemm", "transpose"):
        assert result["shared_bank_conflicts"] == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "M, N, K", [(1, 1, 1), (64, 64, 32), (65, 63, 33), (17, 200, 8), (128, 64, 100), (3, 5, 258)]
)
def test_gemm_of_any_size(M, N, K):
    app = apps.load_app(ROOT / "apps" / "gemm", {"M": M, "N": N, "K": K})
    result = apps.run(app.make(), app, "cuda/sm_80", mode="simulate")
    assert result["ok"], apps.describe(result)


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", APPS)
def test_app_assembles_without_spills(name, arch):
    pytest.importorskip("nvidia", reason="the NVRTC wheels of tirx[cuda] are not installed")
    cubin = tirx.compile(apps.load_app(ROOT / "apps" / name).make(), f"cuda/{arch}").cubin
    assert cubin.spills == 0 and cubin.warnings == []


# ---- synchronisation mistakes are seen ----

STAGE = """
@T.prim_func
def f(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, (128,), "float32")
    B = T.match_buffer(B_ptr, (128,), "float32")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([128])
    s = T.alloc_shared((128,), "float32")
    s[tx] = A[tx]
    {sync}
    B[tx] = s[{read}]
"""


def staged(sync, read="127 - tx", **options):
    from tirx.script import from_source

    exe = tirx.compile(from_source(STAGE.format(sync=sync, read=read)), "cuda/sm_90a", mode="simulate")
    a, b = np.arange(128, dtype=np.float32), np.zeros(128, np.float32)
    exe(a, b, **options)
    return a, b


@pytest.mark.parametrize("schedule", ["lazy", "random"])
def test_missing_barrier_is_seen(schedule):
    a, b = staged("T.cuda.cta_sync()", schedule=schedule)
    np.testing.assert_array_equal(b, a[::-1])
    with pytest.raises(SimError) as e:
        staged("pass", schedule=schedule)
    assert "s[127 - tx]" in str(e.value)


def test_unmatched_barrier_gives_the_wait_graph():
    """Each warp decides by its data, so that only the run can tell: two warps wait for four, two have gone."""
    with pytest.raises(SimError) as e:
        staged("if A[tx // 32 * 32] < 64.0:\n        T.cuda.named_barrier_sync(1, 128)", read="tx")
    text = str(e.value)
    assert (
        e.value.code == "deadlock" and "T.cuda.named_barrier_sync(1, 128)" in text and "64 of 128" in text
    ), text


def test_barrier_under_a_condition_on_ids_is_refused_at_compile_time():
    with pytest.raises(tirx.errors.ScopeError) as e:
        staged("if tx < 64:\n        T.cuda.cta_sync()")
    assert "64 of 128" in e.value.found
