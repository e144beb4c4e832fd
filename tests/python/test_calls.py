"""Mistakes in calls of compile() and of what it returns: each is an error that says what fits."""

import re
import signal
import subprocess
import sys
import time

import ml_dtypes
import numpy as np
import pytest

import tirx
import tirx.sim
from tirx.errors import DispatchError, LaunchError, TargetError, TypeMismatch
from tirx.script import T, from_source

COPY = """
@T.prim_func
def f(A: T.Buffer((40,), "float32"), B: T.Buffer((64,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    s = T.alloc_shared((64,), "float32")
    Tx.cta.copy(s[0:64], A[0:64], oob={oob})
    B[tx] = 1.0
"""


@T.prim_func
def twice(A: T.Buffer((32,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = A[tx] * 2.0


@pytest.mark.parametrize("target", [None, 90, ["cuda"]])
def test_a_target_is_a_target(target):
    with pytest.raises(TargetError) as e:
        tirx.compile(twice, target)
    assert e.value.code == "not-a-target" and "cuda/sm_90a" in str(e.value)


CALLS = {
    "keyword": ({"shedule": "lazy"}, "sim-option"),
    "seed": ({"seed": "q"}, "bad-seed"),
    "negative seed": ({"seed": -1}, "bad-seed"),
    "mode": ({"mode": "fast"}, "unknown-mode"),
    "empty mode": ({"mode": ""}, "unknown-mode"),
    "observer": ({"observers": ["speed"]}, "sim-option"),
    "schedule": ({"schedule": "greedy"}, "sim-option"),
}


@pytest.mark.parametrize("name", CALLS)
def test_options_of_a_call(name):
    options, code = CALLS[name]
    exe = tirx.compile(twice, "cuda/sm_90a", mode="simulate")
    a = np.ones(32, np.float32)
    with pytest.raises(LaunchError) as e:
        exe(a, **options)
    assert e.value.code == code and (a == 1).all()
    exe(a, schedule="random", seed=3)
    assert (a == 2).all()


@pytest.mark.parametrize("oob", ["None", "[1]", '"zero"'])
def test_what_oob_accepts(oob):
    with pytest.raises(DispatchError) as e:
        tirx.compile(from_source(COPY.format(oob=oob)), "cuda/sm_90a")
    assert "oob= is a value" in str(e.value) and "bug" not in e.value.code


ENDLESS = '''
import sys, numpy as np, tirx
from tirx.script import from_source
f = from_source("""
@T.prim_func
def f(A: T.Buffer((4096,), "int32"), B: T.Buffer((4096,), "int32")):
    T.device_entry()
    bx = T.cta_id([4096])
    tx = T.thread_id([32])
    x: T.int32 = 0
    while x >= 0:
        x = (x + A[bx]) % 7
    B[bx] = x
""")
exe = tirx.compile(f, "cuda/sm_90a", mode="simulate")
print("starts", flush=True)
try:
    exe(np.ones(4096, np.int32), np.zeros(4096, np.int32), workers=int(sys.argv[1]))
except KeyboardInterrupt:
    print("interrupted")
'''


@pytest.mark.parametrize("workers", [1, 2])
def test_an_endless_simulation_can_be_interrupted(workers):
    child = subprocess.Popen([sys.executable, "-c", ENDLESS, str(workers)], stdout=subprocess.PIPE, text=True,
                             preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))  # fmt: skip
    assert child.stdout.readline() == "starts\n"
    time.sleep(0.3)
    child.send_signal(signal.SIGINT)
    assert child.communicate(timeout=60)[0] == "interrupted\n" and child.returncode == 0


READS = """
@T.prim_func
def {name}(A: T.Buffer((8,), "{dtype}"), B: T.Buffer((8,), "{dtype}")):
    T.device_entry()
    tx = T.thread_id([8])
    {body}
"""


def reads(body="B[tx] = A[tx]", name="f", dtype="int32"):
    return from_source(READS.format(name=name, body=body, dtype=dtype))


@pytest.mark.parametrize("dtype", ["int32", "int4"])
def test_read_only_arrays_can_be_read(dtype):
    exe = tirx.compile(reads(dtype=dtype), "cuda/sm_90a", mode="simulate")
    a = np.arange(8).astype(getattr(ml_dtypes, dtype, dtype))
    b = np.zeros_like(a)
    a.flags.writeable = False
    exe(a, b)
    assert (a.astype(int) == b.astype(int)).all()
    b.flags.writeable = False
    with pytest.raises(LaunchError) as e:
        exe(a, b)
    assert e.value.code == "argument-readonly" and "for B" in e.value.found


@pytest.mark.parametrize("bounds", ["[1, 2]", "[1], 2", "1, [2]"])
def test_bounds_of_a_loop_are_integers(bounds):
    with pytest.raises(TypeMismatch) as e:
        reads(f"for i in range({bounds}):\n        B[i] = 1")
    assert e.value.code == "not-an-index" and e.value.message == "this cannot bound a loop"


def test_an_error_of_a_rule_shows_the_call():
    text = MOVE.format(call="gemm(A, A, A, A, alpha=0.5)").replace("float32", "int32")
    with pytest.raises(TypeMismatch) as e:
        tirx.compile(from_source(text), "cuda/sm_90a")
    assert e.value.code == "not-a-float-type" and e.value.location.line == 6


def test_largest_of_a_sequence():
    exe = tirx.compile(reads("B[tx] = max([A[tx], 3]) + min((A[tx], 2, 5))"), "cuda/sm_90a", mode="simulate")
    a, b = np.arange(8, dtype=np.int32), np.zeros(8, np.int32)
    exe(a, b)
    assert (b == np.maximum(a, 3) + np.minimum(a, 2)).all()


@pytest.mark.parametrize("name", ["__global__", "__shared__", "exp", "int"])
def test_names_of_the_compiler_are_not_printed(name):
    source = tirx.compile(reads(name=name), "cuda/sm_90a").source
    assert not re.search(rf"(?<!\w){name}\s*\(", source)


def test_sparse_arrays_are_arguments():
    f = from_source("""
@T.prim_func
def f(A: T.Buffer((1 << 33,), "float32"), B: T.Buffer((1 << 33,), "float32")):
    T.device_entry()
    tx = T.thread_id([32])
    B[(1 << 32) + tx] = A[(1 << 32) + tx] + 1.0
""")
    exe = tirx.compile(f, "cuda/sm_90a")
    a, b = (tirx.sim.SparseArray((1 << 33,), "float32") for _ in range(2))
    for i in range(32):
        a[(1 << 32) + i] = i
    exe(a, b)
    assert b[(1 << 32) + 31] == 32 and b.pages == 1
    with pytest.raises(LaunchError) as e:
        exe(a, b, mode="device")
    assert e.value.code == "argument-device"


GRID = """
@T.prim_func
def f(A: T.Buffer((8,), "int32"), n: T.int32):
    T.device_entry()
    bx, by = T.cta_id([{x}, {y}])
    tx = T.thread_id([32])
    A[0] = 7
"""


@pytest.mark.parametrize("x, y", [("1", "65536"), ("-1", "1"), ("2**31", "1")])
def test_grids_that_no_launch_has(x, y):
    with pytest.raises(TargetError) as e:
        tirx.compile(from_source(GRID.format(x=x, y=y)), "cuda/sm_90a")
    assert e.value.code == "grid-extent" and e.value.location.line == 5


def test_the_grid_of_a_call_is_checked():
    exe = tirx.compile(from_source(GRID.format(x="1", y="n")), "cuda/sm_90a", mode="simulate")
    a = np.zeros(8, np.int32)
    for n in (-1, 65536):
        with pytest.raises(LaunchError) as e:
            exe(a, n)
        assert e.value.code == "grid-extent" and "dimension y" in e.value.found
    exe(a, 0)
    assert a[0] == 0  # nothing ran
    exe(a, 2)
    assert a[0] == 7


MOVE = """
@T.prim_func
def f(A: T.Buffer((64, 64), "float32"), n: T.int32):
    T.device_entry()
    tx = T.thread_id([32])
    Tx.cta.{call}
"""
OVERLAPS = ["copy(A[0:32, :], A[1:33, :])", "copy(A[1:33, :], A[0:32, :])",
            "copy(A[n : n + 8, 0:16], A[n + 7 : n + 15, 0:16])",
            "add(A[0:4, 0:8], A[0:4, 1:9], 1.0)", "sum(A[0, 0:32], A[0:32, 0:32], axes=0)"]  # fmt: skip


@pytest.mark.parametrize("call", OVERLAPS)
def test_operands_that_overlap_are_refused(call):
    with pytest.raises(TypeMismatch) as e:
        tirx.compile(from_source(MOVE.format(call=call)), "cuda/sm_90a")
    assert e.value.code == "operands-overlap" and call in str(e.value)


NEIGHBOURS = ["copy(A[0:32, :], A[32:64, :])", "copy(A[n : n + 8, 0:16], A[n + 8 : n + 16, 0:16])",
              "add(A[0:4, 0:8], A[0:4, 0:8], 1.0)", "sum(A[40, 0:32], A[0:32, 0:32], axes=0)"]  # fmt: skip


@pytest.mark.parametrize("call", NEIGHBOURS)
def test_operands_in_place_or_apart(call):
    tirx.compile(from_source(MOVE.format(call=call)), "cuda/sm_90a")
