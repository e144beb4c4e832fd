"""Compile time: CPU time of parse, lower and print, against apache-tvm in the same run where it is installed."""

import importlib
import json
import os
import statistics
import subprocess
import time
import types
from pathlib import Path

NAMES = ("scale", "smem_copy", "mma_gemm")
ARCH = "sm_90a"


def surface():
    """The names that the kernels in bench/kernels take, from this package."""
    from tirx.layout import S, TileLayout, laneid
    from tirx.script import T, Tx

    return types.SimpleNamespace(T=T, Tx=Tx, S=S, TileLayout=TileLayout, laneid=laneid)


def compile_once(module, target, names):
    """CPU seconds per phase and the lines of CUDA. "rest" ends where the peer's does: device text and host side."""
    from tirx import pipeline
    from tirx.arguments import Signature
    from tirx.targets.cuda import codegen

    marks = [time.process_time()]
    func = module.make(names)
    marks.append(time.process_time())
    kernel = pipeline.build_kernel(func, target)
    marks.append(time.process_time())
    text = codegen(kernel, target)
    Signature(kernel)
    marks.append(time.process_time())
    phases = {k: b - a for k, a, b in zip(("parse", "lower", "rest"), marks, marks[1:])}
    return {**phases, "lines": len(text.splitlines())}


def measure(name, repeat=15):
    from tirx.targets import Target

    module = importlib.import_module(f"bench.kernels.{name}")
    target, names = Target("cuda", arch=ARCH), surface()
    for _ in range(3):
        compile_once(module, target, names)
    rows = [compile_once(module, target, names) for _ in range(repeat)]
    return {k: statistics.median(r[k] for r in rows) for k in rows[0]}


def _peer_rows():
    python = os.environ.get("TIRX_PEER_PYTHON")
    if not python:
        return {}
    script = Path(__file__).parent / "peer.py"
    out = subprocess.run([python, str(script), ARCH, "9", *NAMES], capture_output=True, text=True, check=True)
    return json.loads(out.stdout)


def shared_kernels():
    """Rows: kernel, parse/lower/rest in CPU ms, lines of CUDA; with the peer's total and the ratio when it is there."""
    peer = _peer_rows()
    rows, totals = [], [0.0, 0.0]
    for name in NAMES:
        row = measure(name)
        ours = row["parse"] + row["lower"] + row["rest"]
        totals[0] += ours
        out = {"kernel": name, **{k: row[k] * 1e3 for k in ("parse", "lower", "rest")}, "total": ours * 1e3,
               "lines": int(row["lines"])}  # fmt: skip
        if peer:
            theirs = sum(peer[name][k] for k in ("parse", "lower", "rest"))
            totals[1] += theirs
            out |= {"peer": theirs * 1e3, "peer_lines": int(peer[name]["lines"]), "ratio": theirs / ours}
        rows.append(out)
    last = {k: "" for k in rows[0]} | {"kernel": "all", "total": totals[0] * 1e3}
    if peer:
        last |= {"peer": totals[1] * 1e3, "ratio": totals[1] / totals[0]}
    return [*rows, last]


MANY = """
from tirx.script import T, Tx

@T.prim_func
def many(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, ({n} * 64, 256), "float16")
    B = T.match_buffer(B_ptr, ({n} * 64, 256), "float16")
    T.device_entry()
    bx = T.cta_id([1])
    tx = T.thread_id([128])
    sm = T.alloc_shared((64, 256), "float16")
{body}
"""


def many_copies(calls=128):
    """Rows: calls, parse_ms, lower_ms, per_call_us for `calls` Tx.cta.copy statements in one kernel."""
    import linecache

    from tirx import pipeline
    from tirx.targets import Target

    body = "\n".join(f"    Tx.cta.copy(sm[:, :], A[{64 * i} : {64 * i + 64}, 0:256])" for i in range(calls))
    text = MANY.format(n=calls, body=body)
    linecache.cache["<many>"] = (len(text), None, text.splitlines(True), "<many>")
    code, target = compile(text, "<many>", "exec"), Target("cuda", arch=ARCH)
    rows = []
    for _ in range(7):
        t0 = time.process_time()
        space = {}
        exec(code, space)
        t1 = time.process_time()
        pipeline.lower(space["many"], target)
        rows.append((t1 - t0, time.process_time() - t1))
    parse, lower = (statistics.median(r[i] for r in rows) for i in range(2))
    return [
        {"calls": calls, "parse_ms": parse * 1e3, "lower_ms": lower * 1e3, "per_call_us": lower / calls * 1e6}
    ]
