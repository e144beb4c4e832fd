"""Whole kernels as CUDA: the text is pinned, and what the assembler makes of it stays within bounds."""

import importlib.util
import re
from pathlib import Path

import pytest
from cuda_kernels import needs_nvrtc

from tirx import Target, apps, pipeline
from tirx.targets import cuda

ROOT = Path(__file__).parent.parent.parent
ARCHS = ("sm_80", "sm_90a", "sm_100a")
KERNELS = ("scale", "smem_copy", "mma_gemm")
APPS = ("gemm", "softmax", "rmsnorm", "reduce", "transpose")


def _bench_kernel(name):
    import types

    from tirx import layout
    from tirx.script import T, Tx

    spec = importlib.util.spec_from_file_location(name, ROOT / "bench" / "kernels" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    names = {k: getattr(layout, k) for k in ("S", "R", "TileLayout", "laneid")}
    return module.make(types.SimpleNamespace(T=T, Tx=Tx, **names))


def _source(func, arch):
    target = Target("cuda", arch=arch)
    return cuda.codegen(pipeline.build_kernel(func, target), target)


def _body(source):
    lines = source[source.index('extern "C"') :].splitlines()
    return lines[lines.index(next(line for line in lines if line.endswith("{"))) + 1 : -1]


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", KERNELS)
def test_golden_text(name, arch, golden):
    golden(f"{name}_{arch}.cu", _source(_bench_kernel(name), arch))


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("name", KERNELS)
def test_no_warning_and_no_spill(name, arch):
    needs_nvrtc()
    cubin = cuda.assemble(_source(_bench_kernel(name), arch), f"cuda/{arch}")
    assert cubin.warnings == [] and cubin.spills == 0 and cubin.stack == 0


def test_mma_gemm_is_short_and_needs_few_registers():
    needs_nvrtc()
    func = _bench_kernel("mma_gemm")
    for arch, limit in (("sm_80", 118), ("sm_90a", 118), ("sm_100a", 92)):
        source = _source(func, arch)
        assert len(_body(source)) <= 150
        assert cuda.assemble(source, f"cuda/{arch}").registers <= limit


def test_a_reader_finds_the_names_of_the_source():
    body = "\n".join(_body(_source(_bench_kernel("mma_gemm"), "sm_80")))
    assert all(re.search(rf"\b{name}\b", body) for name in ("As", "Bs", "Af", "Bf", "Df", "bx", "by", "k"))


@pytest.mark.slow
def test_accesses_are_as_wide_as_the_hardware_allows():
    needs_nvrtc()
    for name, wanted in (("scale", "LDG.E.128"), ("smem_copy", "LDG.E.128"), ("mma_gemm", "LDSM.16.M88.4")):
        cubin = cuda.assemble(_source(_bench_kernel(name), "sm_80"), "cuda/sm_80")
        try:
            sass = cuda.disassemble(cubin)
        except cuda.nvrtc.TargetError:
            pytest.skip("nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)")
        assert wanted in sass


def _app_sources(name):
    app = apps.load_app(ROOT / "apps" / name)
    for params in getattr(app.kernel, "DEMO", [{}]):
        yield params, app.kernel.make(**{**app.params, **params})


@pytest.mark.slow
@pytest.mark.parametrize("name", APPS)
def test_apps_assemble_for_every_target(name):
    needs_nvrtc()
    for params, func in _app_sources(name):
        for arch in ARCHS:
            cubin = cuda.assemble(_source(func, arch), f"cuda/{arch}")
            assert cubin.warnings == [] and cubin.spills == 0, (params, arch, cubin.log)
