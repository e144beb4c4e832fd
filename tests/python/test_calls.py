"""Mistakes in calls of compile() and of what it returns: each is an error that says what fits."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import tirx
from tirx.errors import DispatchError, LaunchError, TargetError
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
