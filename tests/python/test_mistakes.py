"""Mistakes that kernel authors make: each gives an error with the line, a caret, what was found and what was required.

Every case has its legal neighbour, which compiles. Nothing here may reach a user as a bare Python exception.
"""

import importlib.util
import itertools

import pytest

import tirx
from tirx.errors import InternalError, TirxError

_SERIAL = itertools.count()

KERNEL = """
from tirx.layout import S, TileLayout, laneid
from tirx.script import T, Tx

frag = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
a_atom = TileLayout(S[(2, 8, 2, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)])
b_atom = TileLayout(S[(8, 2, 4, 2) : (4 @ laneid, 2, 1 @ laneid, 1)])


@T.prim_func
def other(A_ptr: T.handle):
    A = T.match_buffer(A_ptr, (32,), "float32")
    T.device_entry()
    tx = T.thread_id([32])
    A[tx] = T.float32(0)


@T.prim_func
def kernel(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, (64, 64), "float16")
    B = T.match_buffer(B_ptr, (64, 64), "float32")
{entry}    bx = T.cta_id([1])
{ids}    s = T.alloc_shared((64, 64), "float16")
{body}
"""
IDS = "    warp = T.warp_id([4])\n    lane = T.lane_id([32])\n    tx = T.thread_id([128])\n"
GEMM = """    a = T.alloc_buffer((16, 16), "float16", scope="local", layout=a_atom)
    b = T.alloc_buffer((8, 16), "float16", scope="local", layout=b_atom)
    d = T.alloc_buffer((16, 8), "float32", scope="local", layout=frag)
    Tx.warp.zero(d)
    Tx.warp.copy(a, A[0:16, 0:16])
    Tx.warp.copy(b, A[0:8, 0:16])
    Tx.{scope}.gemm(d, a, b, d, transpose_A=False, transpose_B=True, alpha=1.0, beta=1.0)"""


def module(tmp_path, body, ids=IDS, entry="    T.device_entry()\n"):
    path = tmp_path / f"mistake_{next(_SERIAL)}.py"
    path.write_text(KERNEL.format(body=body, ids=ids, entry=entry))
    spec = importlib.util.spec_from_file_location(path.stem, path)
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def lines(*text):
    return "\n".join("    " + t for t in text)


# name: (wrong body, right body, line that is marked, code, in found, in required or help, keywords of module())
CASES = {
    "operands of different shape": (
        lines("Tx.cta.copy(s[:, :], A[0:32, :])"), lines("Tx.cta.copy(s[0:32, :], A[0:32, :])"),
        "Tx.cta.copy", "operand-shapes-differ", "float16[32, 64]", "equal extents", {}),
    "gemm of a warp at thread scope": (
        GEMM.format(scope="thread"), GEMM.format(scope="warp"), "Tx.thread.gemm", "wrong-scope", "thread scope",
        "Tx.warp.gemm", {}),
    "gemm of a warp at CTA scope": (
        GEMM.format(scope="cta"), GEMM.format(scope="warp"), "Tx.cta.gemm", "wrong-scope", "cta scope",
        "Tx.warp.gemm", {}),
    "register operand without a fragment layout": (
        lines('r = T.alloc_local((64, 64), "float16")', "Tx.warp.copy(r[:, :], s[:, :])"),
        lines('r = T.alloc_local((64,), "float16")', "Tx.copy(r[:], s[lane, :])"),
        "Tx.warp.copy", "register-operand-without-layout", "private copy per thread", "layout", {}),
    "unknown dispatch=": (
        lines('Tx.cta.copy(s[:, :], A[:, :], dispatch="fast")'),
        lines('Tx.cta.copy(s[:, :], A[:, :], dispatch="vec_128b")'),
        "Tx.cta.copy", "unknown-variant", "fast", "vec_128b", {}),
    "unknown config key": (
        lines("Tx.cta.copy(s[:, :], A[:, :], predicat=True)"), lines("Tx.cta.copy(s[:, :], A[:, :], oob=0)"),
        "Tx.cta.copy", "unknown-config", "predicat", "oob", {}),
    "slice out of range": (
        lines("Tx.cta.copy(s[:, :], A[0:64, 32:96])"), lines("Tx.cta.copy(s[:, :], A[0:64, 0:64])"),
        "32:96", "index-out-of-range", "32 to 95", "0 to 63", {}),
    "negative index": (
        lines("B[tx // 64, tx % 64] = B[-1, 0]"), lines("B[tx // 64, tx % 64] = B[63, 0]"),
        "-1", "index-out-of-range", "-1", "0 to 63", {}),
    "different dtypes in copy": (
        lines("Tx.cta.copy(s[:, :], B[:, :])"), lines("Tx.cta.copy(s[:, :], A[:, :])"),
        "Tx.cta.copy", "operand-dtypes-differ", "float32[64, 64]", "one dtype", {}),
    "collective at a partial warp": (
        lines('d = T.alloc_buffer((16, 8), "float32", scope="local", layout=frag)', "if lane < 16:",
              "    Tx.warp.zero(d)"),
        lines('d = T.alloc_buffer((16, 8), "float32", scope="local", layout=frag)', "if warp < 2:",
              "    Tx.warp.zero(d)"),
        "Tx.warp.zero", "partial", "16", "warp", {}),
    "more shared memory than the target has": (
        lines('big = T.alloc_shared((256, 1024), "float16")', "big[tx, 0] = T.float16(0)",
              "s[tx // 64, tx % 64] = big[tx, 0]"),
        lines('big = T.alloc_shared((64, 1024), "float16")', "big[tx // 4, 0] = T.float16(0)",
              "s[tx // 64, tx % 64] = big[tx // 4, 0]"),
        "", "shared-memory", "big", "", {}),
    "undefined name": (
        lines("B[tx // 64, tx % 64] = scale"), lines("B[tx // 64, tx % 64] = T.float32(1)"),
        "scale", "undefined-name", "scale", "", {}),
    "ids that contradict": (
        lines("s[warp, lane] = T.float16(0)"), lines("s[warp, lane] = T.float16(0)"),
        "", "contradict", "", "",
        {"ids": "    tx = T.thread_id([128])\n    warp = T.warp_id([8])\n    lane = T.lane_id([32])\n"}),
    "missing device_entry": (
        lines("Tx.cta.copy(s[:, :], A[:, :])"), lines("Tx.cta.copy(s[:, :], A[:, :])"),
        "", "device-entry", "", "device_entry", {"entry": ""}),
    "unknown instruction": (
        lines("T.ptx.cp.async_.comit_group()"), lines("T.ptx.cp.async_.commit_group()"),
        "comit_group", "unknown-instruction", "comit_group", "commit_group", {}),
    "tcgen05 on Hopper": (
        lines("T.ptx.tcgen05.fence__after_thread_sync()"), lines("T.ptx.fence.proxy.async_()"),
        "tcgen05", "feature", "tcgen05", "sm_100a", {}),
    "calling a PrimFunc": (
        lines("other(A_ptr)"), lines("pass"), "other(A_ptr)", "prim-func-called", "other", "", {}),
    "conditional expression with effects": (
        lines("B[0, 0] = T.cuda.atomic_add(B.ptr_to([0, 1]), T.float32(1)) if tx < 1 else T.float32(0)"),
        lines("B[0, 0] = B[0, 1] if tx < 1 else T.float32(0)"),
        "T.cuda.atomic_add", "effect", "", "", {}),
}  # fmt: skip


def compiled(tmp_path, body, **kw):
    return tirx.compile(module(tmp_path, body, **kw).kernel, "cuda/sm_90a", mode="simulate")


@pytest.mark.parametrize("name", CASES)
def test_mistake(tmp_path, name):
    body, _, marked, code, found, required, kw = CASES[name]
    with pytest.raises(TirxError) as caught:
        compiled(tmp_path, body, **kw)
    e, text = caught.value, str(caught.value)
    assert not isinstance(e, InternalError)
    assert code in e.code, text
    assert e.location is not None and str(tmp_path) in e.location.file, text
    shown, carets = text.splitlines()[2], text.splitlines()[3]
    assert "^" in carets, text
    if marked:
        start = carets.index("^")
        assert marked in shown[start : start + carets.count("^")] or shown[start:].lstrip().startswith(
            marked
        ), text
    assert e.found or e.message
    assert found in e.found + e.message, text
    assert required in e.required + e.hint + "".join(t for _, t in e.notes), text


@pytest.mark.parametrize("name", [n for n, c in CASES.items() if not c[6]])
def test_legal_neighbour(tmp_path, name):
    compiled(tmp_path, CASES[name][1])


def test_legal_neighbour_of_contradicting_ids(tmp_path):
    body = CASES["ids that contradict"][1]
    compiled(tmp_path, body)
