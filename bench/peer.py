"""Compile the shared kernels with apache-tvm and print CPU seconds per phase as JSON.

Runs under an interpreter that has apache-tvm 0.27 (see README, "Benchmarks"); this package is not imported. The
CUDA compiler is left out: the last phase ends with the CUDA text.
"""

import importlib
import importlib.util
import json
import statistics
import sys
import time
import types
from pathlib import Path

import tvm
from tvm.script import tirx as T
from tvm.script.tirx import tile as Tx
from tvm.tirx.layout import S, TileLayout, laneid

# `tvm.tirx.build` is shadowed by the function of that name.
_build = importlib.import_module("tvm.tirx.build")
split_host_device_mods, codegen_build = _build.split_host_device_mods, _build.codegen_build

SURFACE = types.SimpleNamespace(T=T, Tx=Tx, S=S, TileLayout=TileLayout, laneid=laneid)


def load(name):
    path = Path(__file__).parent / "kernels" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def compile_once(module, target):
    """CPU seconds of parse, LowerTIRx and the rest to CUDA text, and the lines of that text."""
    marks = [time.process_time()]
    func = module.make(SURFACE)
    marks.append(time.process_time())
    with target:
        mod = tvm.tirx.transform.BindTarget(target.with_host("c"))(tvm.IRModule.from_expr(func))
        mod = tvm.tirx.transform.LowerTIRx()(mod)
        marks.append(time.process_time())
        # The pipeline begins with LowerTIRx, which finds nothing left to do.
        pipeline, _, finalize = tvm.tirx.get_tir_pipeline("tirx")
        _, device_mods = split_host_device_mods(pipeline(mod))
        built = [codegen_build(finalize()(m), t) for t, m in device_mods.items()]
    marks.append(time.process_time())
    lines = sum(len(m.inspect_source("cuda").splitlines()) for m in built)
    phases = {k: b - a for k, a, b in zip(("parse", "lower", "rest"), marks, marks[1:])}
    return {**phases, "lines": lines}


def measure(name, arch, repeat):
    module = load(name)
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    compile_once(module, target)
    rows = [compile_once(module, target) for _ in range(repeat)]
    return {k: statistics.median(r[k] for r in rows) for k in rows[0]}


if __name__ == "__main__":
    arch, repeat, names = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    print(json.dumps({name: measure(name, arch, repeat) for name in names}))
