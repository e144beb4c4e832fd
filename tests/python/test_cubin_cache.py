"""The cubin cache: keys are pure, entries appear whole, a writer that dies leaves nothing that is read."""

import multiprocessing
import os
import signal
import time

import pytest
from cuda_kernels import kernel, load, needs_nvrtc, store

from tirx import ir
from tirx.errors import TargetError
from tirx.targets import cuda
from tirx.targets.cuda import nvrtc
from tirx.targets.cuda.cache import CubinCache, default_directory, key_of

A = ir.Buffer.make("A", [64], "float32")
KEY = key_of("source", "sm_90a", ("-v",), "nvrtc 13.5")


def scaled(factor):
    return kernel([store(A, 0, load(A, 1) * ir.const(factor, "float32"))], [A], name="scale")


def test_a_key_depends_on_each_input_and_on_nothing_else():
    same = key_of("source", "sm_90a", ("-v",), "nvrtc 13.5")
    others = [
        key_of("source ", "sm_90a", ("-v",), "nvrtc 13.5"),
        key_of("source", "sm_90", ("-v",), "nvrtc 13.5"),
        key_of("source", "sm_90a", ("-v", ""), "nvrtc 13.5"),
        key_of("source", "sm_90a", (), "nvrtc 13.5"),
        key_of("source", "sm_90a", ("-v",), "nvrtc 13.6"),
        key_of("source", "sm_90a-v", ("",), "nvrtc 13.5"),
    ]
    assert same == KEY and len({KEY, *others}) == 7


def test_the_key_of_a_kernel_survives_its_namesakes():
    """The same kernel after five others of its name; two architectures; the text alone decides."""

    def key(factor, arch):
        return key_of(cuda.codegen(scaled(factor), f"cuda/{arch}"), arch, (), "nvrtc")

    before = key(2.0, "sm_120a")
    namesakes = {key(float(i), "sm_120a") for i in range(3, 8)}
    assert len(namesakes) == 5 and before not in namesakes
    assert key(2.0, "sm_120a") == before != key(2.0, "sm_121a")


def test_a_touched_entry_is_still_found(tmp_path):
    cache = CubinCache(tmp_path)
    cache.put(KEY, b"image\nwith lines", "log")
    os.utime(cache.path(KEY), (1, 1))
    assert cache.get(KEY) == (b"image\nwith lines", "log")


@pytest.mark.parametrize("damage", [lambda b: b[:-1], lambda b: b"", lambda b: b"{}\n", lambda b: b"1\nx"])
def test_a_damaged_entry_is_a_miss_and_is_replaced(tmp_path, damage):
    cache = CubinCache(tmp_path)
    cache.put(KEY, b"image", "log")
    cache.path(KEY).write_bytes(damage(cache.path(KEY).read_bytes()))
    assert cache.get(KEY) is None
    cache.put(KEY, b"image", "log")
    assert cache.get(KEY) == (b"image", "log")


def test_no_directory_and_an_unusable_one_are_misses(tmp_path):
    (tmp_path / "file").write_text("")
    for cache in (CubinCache(None), CubinCache(tmp_path / "file")):
        cache.put(KEY, b"image", "log")
        assert cache.get(KEY) is None


def test_the_directory_is_chosen_by_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("TIRX_CACHE_DIR", str(tmp_path))
    assert default_directory() == tmp_path
    monkeypatch.setenv("TIRX_CACHE_DIR", "")
    assert default_directory() is None
    monkeypatch.delenv("TIRX_CACHE_DIR")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert default_directory() == tmp_path / "tirx"


_SIZE = 1 << 18


def _write_and_read(directory, number, go):
    """Publishes one entry many times; fails when a read sees a mixture of two writers or a part of one."""
    cache = CubinCache(directory)
    go.wait()
    for _ in range(10):
        cache.put(KEY, bytes([number]) * _SIZE, str(number))
        image, log = cache.get(KEY)
        assert len(image) == _SIZE and set(image) == {int(log)}


def _die_while_writing(directory, go):
    """Killed after half of the bytes are in the unfinished file."""
    cache = CubinCache(directory)
    go.wait()
    path = cache.path(KEY)
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path.with_name(f"{KEY}.{os.getpid()}.0.tmp"), "wb") as f:
        f.write(b"x" * (_SIZE // 2))
        f.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_sixteen_writers_of_which_one_is_killed(tmp_path):
    context = multiprocessing.get_context("fork")
    go = context.Event()
    writers = [context.Process(target=_write_and_read, args=(tmp_path, i, go)) for i in range(15)]
    victim = context.Process(target=_die_while_writing, args=(tmp_path, go))
    for process in (*writers, victim):
        process.start()
    go.set()
    for process in (*writers, victim):
        process.join(60)
    assert [p.exitcode for p in writers] == [0] * 15 and victim.exitcode == -signal.SIGKILL
    cache = CubinCache(tmp_path)
    image, log = cache.get(KEY)
    assert set(image) == {int(log)}
    (left,) = cache.path(KEY).parent.glob("*.tmp")
    os.utime(left, (time.time() - 7200,) * 2)
    cache.put(KEY, b"image", "log")
    assert not left.exists() and cache.get(KEY) == (b"image", "log")


# ---- NVRTC ----


def test_assembling_twice_reads_the_cache(monkeypatch, tmp_path):
    needs_nvrtc()
    monkeypatch.setenv("TIRX_CACHE_DIR", str(tmp_path))
    first = cuda.assemble(scaled(2.0), "cuda/sm_90a")
    assert first.registers > 0 and first.spills == 0 and first.image.startswith(b"\x7fELF")
    monkeypatch.setattr(nvrtc.Nvrtc, "compiled", None)
    assert cuda.assemble(scaled(2.0), "cuda/sm_90a") == first


def test_spills_and_static_shared_memory_are_reported():
    needs_nvrtc()
    spilling = """extern "C" __global__ void __launch_bounds__(1024, 2) k(float *a) {
  __shared__ float s[100];
  float r[96];
  for (int i = 0; i < 96; ++i) r[i] = a[threadIdx.x + 32 * i];
  s[threadIdx.x % 100] = r[0];
  __syncthreads();
  for (int j = 0; j < a[0]; ++j) for (int i = 0; i < 96; ++i) r[i] = r[i] * r[(i * 7 + 1) % 96] + s[j];
  for (int i = 0; i < 96; ++i) a[threadIdx.x + 32 * i] = r[i];
}"""
    cubin = cuda.assemble(spilling, "cuda/sm_80")
    assert cubin.spills > 0 and cubin.shared == 400 and cubin.registers <= 32


def test_rejected_source_says_why_and_where():
    needs_nvrtc()
    with pytest.raises(TargetError, match="no_such_thing") as e:
        cuda.assemble('extern "C" __global__ void k(float *a) {\n  a[0] = no_such_thing;\n}', "cuda/sm_90a")
    assert e.value.code == "cuda-rejected" and "in: a[0] = no_such_thing;" in e.value.found


def test_a_missing_library_says_what_to_install(monkeypatch):
    monkeypatch.setenv("TIRX_NVRTC", "/no/such/libnvrtc.so")
    nvrtc.load.cache_clear()
    try:
        with pytest.raises(TargetError, match=r"tirx\[cuda\]") as e:
            nvrtc.load()
        assert e.value.code == "nvrtc-missing" and not nvrtc.status()["usable"]
    finally:
        nvrtc.load.cache_clear()


def test_ptx_and_sass():
    needs_nvrtc()
    assert ".target sm_90a" in cuda.ptx(scaled(2.0), "cuda/sm_90a")
    if nvrtc.status()["nvdisasm"] is None:
        pytest.skip("nvdisasm is not installed (pip install nvidia-cuda-nvdisasm)")
    assert "STG" in cuda.disassemble(cuda.assemble(scaled(2.0), "cuda/sm_90a"))
