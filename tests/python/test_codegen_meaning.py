"""Printed CUDA computes what the IR means: random kernels run on the host and in the simulator, bit for bit."""

import ctypes
import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from cuda_programs import CTAS, THREADS, program

from tirx import Target, sim
from tirx.targets import cuda

COUNT = 60
TARGET = Target("cuda", arch="sm_90a")


def _compile(sources, folder):
    """A shared library with run_<i>(void **arrays) for each source."""
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler:
        pytest.skip("there is no C++ compiler on PATH")
    text = [f'#include "{Path(__file__).parent / "host_cuda.h"}"']
    for i, (source, parameters) in enumerate(sources):
        body = "\n".join(line for line in source.splitlines() if not line.startswith("#include"))
        args = ", ".join(f"({t})a[{j}]" for j, t in enumerate(parameters))
        text.append(f"namespace p{i} {{\n{body}\n}}")
        text.append(f'extern "C" void run_{i}(void **a) {{')
        text.append(f"  host_launch({CTAS}, {THREADS}, [&] {{ p{i}::k{i}({args}); }});\n}}")
    path = folder / "programs.cc"
    path.write_text("\n".join(text))
    flags = ["-std=c++20", "-O1", "-fwrapv", "-ffp-contract=off", "-shared", "-fPIC", "-pthread", "-w"]
    subprocess.run([compiler, *flags, "-o", str(folder / "programs.so"), str(path)], check=True)
    return ctypes.CDLL(str(folder / "programs.so"))


_C_TYPES = {"int32": "int *", "int64": "long long *", "uint32": "unsigned *", "uint8": "unsigned char *",
            "int16": "short *", "uint16": "unsigned short *", "float32": "float *"}  # fmt: skip


@pytest.mark.slow
def test_random_kernels_compute_the_same_on_the_host_and_in_the_simulator(tmp_path):
    seed = int(os.environ.get("TIRX_TEST_SEED", np.random.default_rng().integers(1 << 20)))
    print("seed", seed)
    programs = [program(seed + i, f"k{i}") for i in range(COUNT)]
    sources = [(cuda.codegen(k, TARGET), [_C_TYPES[a.dtype.name] for a in arrays]) for k, arrays in programs]
    library = _compile(sources, tmp_path)
    for i, (k, arrays) in enumerate(programs):
        ours = [a.copy() for a in arrays]
        sim.run(k, TARGET, ours)
        theirs = [a.copy() for a in arrays]
        pointers = (ctypes.c_void_p * len(theirs))(*(a.ctypes.data for a in theirs))
        getattr(library, f"run_{i}")(pointers)
        for a, b in zip(ours, theirs):
            assert a.tobytes() == b.tobytes(), (
                f"cuda_programs.program({seed + i}), {a.dtype}\n{sources[i][0]}"
            )
