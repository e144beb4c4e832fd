"""What Python readers expect of loops and tuple assignment, in the simulator and in the printed CUDA."""

import numpy as np
import pytest

import tirx
from tirx.errors import DispatchError, LaunchError, TypeMismatch
from tirx.script import from_source

HEAD = """
@T.prim_func
def f(A: T.Buffer((8,), "int32")):
    T.device_entry()
    tx = T.thread_id([1])
"""


def run(body, a, target="cuda/sm_90a"):
    text = HEAD + "".join(f"    {line}\n" for line in body)
    exe = tirx.compile(from_source(text), target, mode="simulate")
    exe(a)
    return exe


def test_the_bound_of_a_loop_is_taken_once():
    a = np.array([3] + [0] * 7, np.int32)
    body = ["m: T.int32 = 2", "for i in range(m, m + 3):", "    m = 100", "    A[1] += i",
            "for i in range(A[0]):", "    A[0] = 0", "    A[2] += 1"]  # fmt: skip
    source = run(body, a).source
    assert a[1] == 2 + 3 + 4 and a[2] == 3
    assert source.count("_end") >= 4 and "i < m" not in source and "< A[0]" not in source


def test_tuple_assignment_is_simultaneous():
    a = np.zeros(8, np.int32)
    run(["a: T.int32 = 0", "b: T.int32 = 1", "for i in range(8):", "    A[i] = a", "    a, b = b, a + b"], a)
    assert a.tolist() == [0, 1, 1, 2, 3, 5, 8, 13]
    a = np.array([1, 2] + [0] * 6, np.int32)
    run(["A[0], A[1] = A[1], A[0]"], a)
    assert a[:2].tolist() == [2, 1]


def test_fma_of_integers_is_exact():
    a = np.full(8, 1 << 20, np.int32)
    body = ['r = T.alloc_local((8,), "int32")', "Tx.copy(r[:], A[:])", "Tx.fma(r[:], r[:], T.int32(3), r[:])",
            "Tx.copy(A[:], r[:])"]  # fmt: skip
    assert "fmaf" not in run(body, a).source
    assert (a == 4 << 20).all()


def test_functions_of_floats_refuse_integers():
    body = ['r = T.alloc_local((8,), "int32")', "Tx.copy(r[:], A[:])", "Tx.sqrt(r[:], r[:])"]
    with pytest.raises(TypeMismatch) as e:
        run(body, np.zeros(8, np.int32))
    assert e.value.code == "operand-not-a-float" and "Tx.sqrt" in str(e.value)


EDGE = """
@T.prim_func
def f(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32"), n: T.int32):
    {check}
    T.device_entry()
    tx = T.thread_id([32])
    s = T.alloc_shared((32,), "float32")
    Tx.cta.copy(s[:], A[n : n + 32], oob=0)
    T.cuda.cta_sync()
    Tx.cta.copy(B[0:32], s[:])
"""


def test_a_start_that_may_be_negative_is_refused():
    with pytest.raises(DispatchError) as e:
        tirx.compile(from_source(EDGE.format(check="pass")), "cuda/sm_90a")
    assert "cannot be negative" in str(e.value)


def test_a_start_that_is_promised_not_to_be_negative():
    exe = tirx.compile(from_source(EDGE.format(check="assert n >= 0")), "cuda/sm_90a", mode="simulate")
    a, b = np.arange(64, dtype=np.float32), np.ones(64, np.float32)
    exe(a, b, 40)
    assert b[:24].tolist() == list(range(40, 64)) and (b[24:32] == 0).all()
    with pytest.raises(LaunchError):
        exe(a, b, -1)


def test_arrays_of_the_other_byte_order_are_refused():
    exe = tirx.compile(from_source(HEAD + "    A[0] = 1\n"), "cuda/sm_90a", mode="simulate")
    with pytest.raises(LaunchError) as e:
        exe(np.zeros(8, ">i4"))
    assert e.value.code == "argument-dtype" and "byte order" in e.value.found


@pytest.mark.parametrize(
    "line, code",
    [("A[0] = 2**40", "constant-out-of-range"), ("A[0] = 1.5", "constant-out-of-range"),
     ("A[0] = A[1] << 32", "shift-out-of-range"), ("A[0] = A[1] >> -1", "shift-out-of-range")],
)  # fmt: skip
def test_constants_that_do_not_fit_are_refused(line, code):
    with pytest.raises(TypeMismatch) as e:
        run([line], np.zeros(8, np.int32))
    assert e.value.code == code and line in str(e.value)


def test_constants_that_fit():
    a = np.array([0, -3] + [0] * 6, np.int32)
    run(["A[0] = 2**31 - 1", "A[2] = 2.0", "A[3] = A[1] << 31", "A[4] = A[1] >> 31"], a)
    assert a[:5].tolist() == [2**31 - 1, -3, 2, -(2**31), -1]
