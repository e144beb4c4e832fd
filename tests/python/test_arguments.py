"""Argument checks: every mistake names the parameter and what was found and required; nothing runs."""

import numpy as np
import pytest

from tirx import ir
from tirx.arguments import Signature, view_tensor
from tirx.errors import LaunchError


def signature(align=16, dtype="float32"):
    """f(A: (n, 8), B: (n + 2,), k: int8, s: float32), with the host assertion n % 4 == 0."""
    n = ir.Var("n")
    a = ir.Buffer.make("A", [n, 8], dtype, align=align)
    b = ir.Buffer.make("B", [n + 2], "float16")
    params = [
        ir.Var("A_ptr", "handle"),
        ir.Var("B_ptr", "handle"),
        ir.Var("k", "int8"),
        ir.Var("s", "float32"),
    ]
    check = ir.Assert((n % 4).equal(0), "n must be a multiple of 4")
    host = ir.PrimFunc("f", params, [a, b, None, None], check)
    one = ir.IntImm("int32", 1)
    return Signature(ir.Kernel(host, host, [n], ir.LaunchPlan([n, one, one]))), n


def good():
    return [np.zeros((4, 8), np.float32), np.zeros(6, np.float16), 3, 1.5]


def test_good_call_binds_symbols_scalars_and_extents():
    sig, n = signature()
    bound = sig.bind(good())
    assert bound.evaluate(n * 3) == 12
    assert [v for _, v in bound.scalars] == [3, 1.5]
    assert [v.shape for _, v in bound.tensors] == [(4, 8), (6,)]


def replaced(i, value):
    args = good()
    args[i] = value
    return args


def misaligned():
    raw = np.zeros(4 * 8 + 8, np.float32)
    offset = next(o for o in range(8) if (raw.ctypes.data + 4 * o) % 16 == 4)
    return raw[offset : offset + 32].reshape(4, 8)


@pytest.mark.parametrize(
    "args, code, parameter, found, required",
    [
        (good()[:2], "argument-count", "f", "2 arguments", "4: A, B, k, s"),
        (replaced(0, np.zeros((4, 8), np.float16)), "argument-dtype", "A", "float16", "float32"),
        (replaced(0, np.zeros((4, 2, 4), np.float32)), "argument-rank", "A", "3 dimensions", "2 dimensions"),
        (replaced(0, np.zeros((4, 9), np.float32)), "argument-shape", "A", "shape (4, 9)", "shape (n, 8)"),
        (replaced(1, np.zeros(7, np.float16)), "argument-shape", "B", "7 in dimension 0", "= 6"),
        (replaced(0, np.zeros((8, 4), np.float32).T), "argument-strides", "A", "strides (1, 4)", "row-major"),
        (replaced(0, misaligned()), "argument-alignment", "A", "aligned to 4 bytes", "16 bytes"),
        (replaced(0, [1, 2]), "argument-type", "A", "list", "a tensor of float32"),
        (replaced(2, 300), "argument-range", "k", "300", "int8"),
        (replaced(2, 1.5), "argument-range", "k", "1.5", "int8"),
        (replaced(2, "x"), "argument-type", "k", "str", "int8"),
        (replaced(3, None), "argument-type", "s", "NoneType", "float32"),
    ],
)
def test_mistakes_name_the_parameter(args, code, parameter, found, required):
    sig, _ = signature()
    with pytest.raises(LaunchError) as e:
        sig.bind(args)
    assert e.value.code == code
    assert parameter in e.value.message.replace("the call of f", "f")
    assert found in e.value.found and required in e.value.required


def test_host_assertion_refuses_the_call():
    sig, _ = signature()
    args = [np.zeros((3, 8), np.float32), np.zeros(5, np.float16), 3, 1.5]
    with pytest.raises(LaunchError, match="n must be a multiple of 4"):
        sig.bind(args)


def test_symbols_must_agree():
    n = ir.Var("n")
    bufs = [ir.Buffer.make(x, [n], "float32") for x in "AB"]
    params = [ir.Var(x + "_ptr", "handle") for x in "AB"]
    host = ir.PrimFunc("f", params, bufs, ir.SeqStmt([]))
    sig = Signature(ir.Kernel(host, host, [n], ir.LaunchPlan([n, n, n])))
    with pytest.raises(LaunchError) as e:
        sig.bind([np.zeros(4, np.float32), np.zeros(5, np.float32)])
    assert e.value.found == "n = 5 in dimension 0" and "n = 4" in e.value.required


def test_overlap_is_refused_and_neighbours_are_not():
    n = ir.Var("n")
    bufs = [ir.Buffer.make(x, [n], "float32", align=4) for x in "AB"]
    host = ir.PrimFunc("f", [ir.Var("a", "handle"), ir.Var("b", "handle")], bufs, ir.SeqStmt([]))
    sig = Signature(ir.Kernel(host, host, [n], ir.LaunchPlan([n, n, n])))
    raw = np.zeros(9, np.float32)
    sig.bind([raw[:4], raw[4:8]])
    with pytest.raises(LaunchError) as e:
        sig.bind([raw[:4], raw[3:7]])
    assert e.value.code == "argument-overlap"


def test_dlpack_only_tensors_are_accepted():
    class OnlyDLPack:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **kw):
            return self.array.__dlpack__(**kw)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    view = view_tensor(OnlyDLPack(x))
    assert (view.shape, view.strides, view.dtype, view.device) == ((3, 4), (4, 1), "float32", "cpu")
    assert view.address == x.ctypes.data
    assert view_tensor(object()) is None


def test_small_float_arrays_are_tensors():
    import ml_dtypes

    view = view_tensor(np.zeros((2, 2), ml_dtypes.bfloat16))
    assert view.dtype == "bfloat16" and view.nbytes == 8
