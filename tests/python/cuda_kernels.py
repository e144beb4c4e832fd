"""Small native-stage kernels for the tests of the CUDA printer."""

import functools

import pytest

from tirx import _ffi_api, ir


@functools.lru_cache(maxsize=1)
def nvrtc_missing() -> str:
    """Why CUDA cannot be assembled here, or ""."""
    from tirx.targets.cuda import nvrtc

    return nvrtc.status()["reason"]


def needs_nvrtc():
    """Skip the calling test where NVRTC is not installed."""
    if nvrtc_missing():
        pytest.skip(f"NVRTC is not installed (pip install 'tirx[cuda]'): {nvrtc_missing()}")


def kernel(
    body, buffers=(), scalars=(), *, name="k", grid=(4, 1, 1), threads=128, symbols=(), dyn=0, blocks=0
):
    """A Kernel whose parameters are global `buffers`, then `scalars`, then `symbols`."""
    params = [b.data for b in buffers] + [*scalars, *symbols]
    bound = [*buffers] + [None] * (len(scalars) + len(symbols))
    func = ir.PrimFunc(name, params, bound, body if isinstance(body, ir.Stmt) else ir.SeqStmt(list(body)))
    launch = ir.LaunchPlan(list(grid), (1, 1, 1), threads, dyn, 0, blocks)
    return ir.Kernel(func, func, list(symbols), launch)


def load(buffer, index):
    return ir.BufferLoad(buffer, [index])


def store(buffer, index, value):
    return ir.BufferStore(buffer, value, [index])


def address_of(buffer, index=0):
    return ir.call("handle", "tx.address_of", [load(buffer, index)])


def vector(buffer, base, lanes):
    return load(buffer, ramp(base, lanes))


def ramp(base, lanes):
    return _ffi_api.ramp(base, 1, lanes, None)


def broadcast(value, lanes):
    return _ffi_api.broadcast(value, lanes, None)


def thread_index():
    return ir.call("int32", "tx.thread_index")


def cta_index(dim=0):
    return ir.call("int32", "tx.cta_index", [dim])


def instr(name, *args):
    """The statement of an instruction without a result."""
    return ir.Evaluate(ir.instr_call(name, list(args)))
