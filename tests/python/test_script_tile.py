"""Tile calls, execution scopes and instructions in kernels."""

import pytest
from script_helpers import body_of, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.script import T, Tx, from_source

HEAD = """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8, 64), "float32")
    T.device_entry()
"""


def parse(*lines):
    return from_source(HEAD + "".join(f"    {line}\n" for line in lines))


def call(line):
    return body_of(parse(line))[-1]


def test_arguments_follow_the_signature():
    gemm = call("Tx.warp.gemm(A, A, A, A, transpose_B=True, beta=1.0)")
    assert (gemm.op, gemm.scope, gemm.dispatch) == ("gemm", "warp", "")
    assert list(gemm.args)[4:] == [False, True, 1.0, 1.0]
    assert all(isinstance(a, ir.BufferRegion) for a in list(gemm.args)[:4])
    named = call("Tx.warp.gemm(C=A, D=A, B=A, A=A, beta=1.0, transpose_B=True)")
    assert ir.structural_equal(gemm, named, True)


def test_scopes():
    assert call("Tx.copy(A, A)").scope == ""
    for prefix, scope in (
        ("wg", "warpgroup"),
        ("warpgroup", "warpgroup"),
        ("cta", "cta"),
        ("cluster", "cluster"),
    ):
        assert call(f"Tx.{prefix}.copy(A, A)").scope == scope
    assert call('Tx.copy(A, A, scope="wg")').scope == "warpgroup"
    with pytest.raises(errors.ScriptError, match="no execution scope"):
        call('Tx.copy(A, A, scope="wrap")')


def test_options():
    copy = call('Tx.copy(A, A, dispatch="vec_auto", workspace={"w": A}, prefetch=2, shape=(1, 2))')
    assert copy.dispatch == "vec_auto" and copy.workspace["w"].name == "A"
    assert copy.config["prefetch"] == 2 and list(copy.config["shape"]) == [1, 2]


def test_keyword_dictionaries():
    func = parse('opts = T.meta_var({"dispatch": "vec_auto", "k": 1})', "Tx.copy(A, A, **opts)")
    assert body_of(func)[-1].config["k"] == 1


def test_scalar_operands():
    mul = call("Tx.mul(A, A, T.float32(2.0))")
    assert isinstance(mul.args[2], ir.FloatImm)
    assert isinstance(call("Tx.mul(A, A, A[0, 0])").args[2], ir.BufferLoad)
    assert call("Tx.fill(A, 0)").args[1] == 0
    assert list(call("Tx.sum(A[0:8, 0], A, axes=-1)").args[2]) == [-1]
    assert list(call("Tx.sum(A[0:8, 0], A, axes=(0, 1), accum=True)").args[2]) == [0, 1]


@pytest.mark.parametrize(
    "line, code, found",
    [
        ("Tx.copy(A)", "tile-arguments", "no src"),
        ("Tx.copy(A, A, A)", "tile-arguments", "3 arguments"),
        ("Tx.copy(A, A, src=A)", "tile-arguments", "src twice"),
        ("Tx.copy(A, n)", "operand-not-a-buffer", "an IR value of int32"),
        ("Tx.copy(A, 3)", "operand-not-a-buffer", "3 (int)"),
        ("Tx.cpoy(A, A)", "unknown-attribute", ".cpoy"),
        ("Tx.warp.cpoy(A, A)", "unknown-attribute", ".cpoy"),
        ("Tx.fill(A, [1])", "bad-operand", "[1] (list)"),
    ],
)
def test_bad_tile_calls(line, code, found):
    with pytest.raises(errors.TirxError) as e:
        call(line)
    assert e.value.code == code and found in e.value.found and e.value.location.line == 6


def test_unknown_primitives_suggest_names():
    with pytest.raises(errors.ScriptError) as e:
        call("Tx.warp.cpoy(A, A)")
    assert "copy" in e.value.hint


def test_scope_ids():
    func = parse("bx, by = T.cta_id([4, n])", "w = T.warp_id()", 'l = T.lane_id([32], dtype="uint32")',
                 "cx, cy = T.cta_id_in_cluster(preferred=[2, 1])", "pair = T.cta_id_in_pair()")  # fmt: skip
    ids = body_of(func)[1:]
    assert [s.kind for s in ids] == ["cta_id", "warp_id", "lane_id", "cta_id_in_cluster", "cta_id_in_pair"]
    assert [[v.name for v in s.vars] for s in ids] == [["bx", "by"], ["w"], ["l"], ["cx", "cy"], ["pair"]]
    assert [len(s.extents) for s in ids] == [2, 0, 1, 0, 0]
    assert str(ids[2].vars[0].dtype) == "uint32" and list(ids[3].attrs["preferred"]) == [2, 1]


def test_a_kernel_needs_a_device_entry():
    @T.prim_func
    def host_only(A: T.Buffer((8,), "int32")):
        A[0] = 1

    for line in ("x = T.thread_id([32])", "Tx.copy(A, A)", "with T.warp():"):
        with pytest.raises(errors.ScriptError) as e:
            make_without_entry(line)
        assert e.value.code == "missing-device-entry"


def make_without_entry(which):
    if which.startswith("x"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            x = T.thread_id([32])
    elif which.startswith("Tx"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            Tx.copy(A, A)
    else:

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            with T.warp():
                pass


def test_fragments_need_no_device_entry():
    @T.prim_func(private=True)
    def f(A: T.Buffer((8,), "int32")):
        Tx.copy(A, A)

    assert isinstance(f.body, ir.TilePrimitiveCall)


def test_instructions():
    func = parse(
        "T.cuda.cta_sync()", "T.ptx.cp.async_.wait_group(0)", 'T.ptx["cp.async.commit_group"]()',
        "x = T.cuda.shfl_xor(n, 1)", "T.evaluate(T.cuda.cta_sync())",
    )  # fmt: skip
    ops = [(s.value.op if hasattr(s, "value") else "") for s in body_of(func)[1:]]
    assert ops[:3] == ["cuda.cta_sync", "ptx.cp.async.wait_group", "ptx.cp.async.commit_group"]
    assert ops[4] == "cuda.cta_sync" and isinstance(body_of(func)[4], ir.Bind)


@pytest.mark.parametrize("line", ["T.cuda.cta_snyc()", "T.ptx.cp.async_.wait_grup(0)", "T.cuda.cta_sync(1)"])
def test_bad_instructions(line):
    with pytest.raises(errors.TirxError) as e:
        parse(line)
    assert e.value.code.startswith(("unknown-instruction", "instr-")) and e.value.location.line == 6


def test_a_buffer_is_no_instruction_operand():
    with pytest.raises(errors.TypeMismatch) as e:
        parse("T.cuda.warp_sync(A)")
    assert e.value.code == "bad-operand" and "ptr_to" in e.value.hint


def test_func_call():
    value = call(
        'T.cuda.func_call("g", A[0, 0], 3, source_code="int g(float, int);", return_type="int32")'
    ).value
    assert (value.op, str(value.dtype)) == ("tx.func_call", "int32")
    assert dict(value.attrs.items()) == {"name": "g", "source": "int g(float, int);", "return_type": "int32"}
