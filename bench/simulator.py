"""Simulator speed: wall time of whole kernels on one core, with and without the checkers."""

import importlib
import time

from .compile_time import ARCH, surface


def _kernel(name):
    import numpy as np

    import tirx

    module = importlib.import_module(f"bench.kernels.{name}")
    exe = tirx.compile(module.make(surface()), f"cuda/{ARCH}", mode="simulate")
    return exe, module.inputs(np.random.default_rng(0))


def speed():
    """Rows: kernel, checkers, seconds (best of three), warp instructions per second in millions."""
    rows = []
    for name in ("scale", "smem_copy", "mma_gemm"):
        exe, args = _kernel(name)
        for label, options in (("off", {"observers": ()}), ("all", {})):
            best = min(_timed(exe, args, options) for _ in range(3))
            exe(*args)
            count = sum(exe.report.counters["instructions"].values())
            rows.append(
                {"kernel": name, "checkers": label, "seconds": best, "Minstr_per_s": count / best / 1e6}
            )
    return rows


def _timed(exe, args, options):
    start = time.perf_counter()
    exe(*args, **options)
    return time.perf_counter() - start
