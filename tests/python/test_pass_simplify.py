"""simplify and narrow_index on small native functions: the text they give, and that the meaning stays."""

import os

import pytest
import tvm_ffi
from native_programs import program, same_meaning

from tirx import Target, ir, pipeline
from tirx.script import T

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "7"))
simplify = tvm_ffi.get_global_func("tx.passes.simplify")
narrow_index = tvm_ffi.get_global_func("tx.passes.narrow_index")


def native(func):
    """The function as these passes get it."""
    return pipeline.lower(func, Target("cuda", arch="sm_90a"), until="lower_scope_ids")


def body(func):
    """The device statements as text, one a line."""
    lines = str(func).splitlines()
    start = next(i for i, line in enumerate(lines) if "device_entry" in line)
    return "\n".join(line[4:] for line in lines[start + 1 :] if line.strip())


@T.prim_func
def branches(A_ptr: T.handle):
    n = T.int32()
    A = T.match_buffer(A_ptr, (n,), "float32")
    T.device_entry()
    tx = T.thread_id([128])
    unused: T.let = tx * 3
    row: T.let = tx // 16
    scratch = T.alloc_local((4,), "float32")
    for i in range(1):
        for _j in T.serial(0, 4):
            if row < 8:
                A[(row * 16 + i) % 128 // 16] = T.float32(1)
            if row > 8 or tx == 128:
                A[0] = T.float32(2)
            if n < 0:
                A[0] = T.float32(3)
    for k in T.serial(0, 0):
        A[k] = T.float32(4)


def test_decided_branches_loops_and_unused_names_go():
    want = [
        'tx: T.let = T.call("int32", "tx.thread_index")',
        "row: T.let = tx // 16",
        "for _j in T.serial(4):",
        "    A_1[T.cast(row, \"int64\")] = 1.0",
    ]  # fmt: skip
    assert body(simplify(native(branches))) == "\n".join(want)


@T.prim_func
def conditions(A_ptr: T.handle, n: T.int32):
    A = T.match_buffer(A_ptr, (64,), "float32")
    T.device_entry()
    tx = T.thread_id([64])
    if tx < n:
        if tx < n:
            A[tx] = T.float32(1)
        if n <= tx:
            A[tx] = T.float32(2)
    else:
        if tx < n:
            A[tx] = T.float32(3)
        else:
            A[tx] = T.float32(4)


def test_a_branch_knows_the_conditions_around_it():
    want = ["if tx < n:", "    A_1[tx] = 1.0", "else:", "    A_1[tx] = 4.0"]
    assert body(simplify(native(conditions))).splitlines()[1:] == want


def test_a_loop_of_one_iteration_that_is_left_stays():
    v, b = ir.Var("i"), ir.Buffer.make("A", [8], "float32")
    leave = ir.IfThenElse(ir.BufferLoad(b, [0]) > ir.FloatImm("float32", 0), ir.Break(), None)
    store = ir.BufferStore(b, ir.FloatImm("float32", 1), [v])
    loop = ir.For(v, 0, 1, "serial", ir.SeqStmt([leave, store]), {})
    func = ir.PrimFunc("f", [b.data], [b], loop)
    assert "for i in" in str(simplify(func))


def test_effects_and_possible_traps_are_kept():
    b, n, v = ir.Buffer.make("A", [8], "float32"), ir.Var("n"), ir.Var("v")
    quotient = ir.Bind(v, ir.Binary("floordiv", 8, n))
    call = ir.Evaluate(ir.call("void", "cuda.cta_sync"))
    store = ir.BufferStore(b, ir.FloatImm("float32", 1), [0])
    func = ir.PrimFunc("f", [b.data, n], [b, None], ir.SeqStmt([quotient, call, store]))
    assert simplify(func).same_as(func)


def test_simplified_function_is_returned_itself():
    once = simplify(native(branches))
    assert simplify(once).same_as(once)


@pytest.mark.parametrize("passes", [(simplify,), (narrow_index, simplify)])
def test_random_programs_keep_their_meaning(passes):
    print(f"TIRX_FUZZ_SEED={SEED}")
    for seed in range(SEED, SEED + 25):
        before = program(seed, index_dtype="int64" if passes[0] is narrow_index else "int32")
        after = before
        for run in passes:
            after = run(after)
        same_meaning(before, after, seed)


# ---- narrow_index


def flat_copy(size, index):
    """B[index(tx)] = A[0] with a buffer of `size` elements and tx < 128."""
    a, b = ir.Buffer.make("A", [1], "float32"), ir.Buffer.make("B", [ir.IntImm("int64", size)], "float32")
    tx = ir.Var("tx")
    store = ir.BufferStore(b, ir.BufferLoad(a, [0]), [index(tx.astype("int64"))])
    stmts = ir.SeqStmt([ir.Bind(tx, ir.call("int32", "tx.thread_index")), store])
    attrs = {"tirx.threads": 128, "tirx.grid": [1, 1, 1], "tirx.cluster": [1, 1, 1]}
    return ir.PrimFunc("f", [a.data, b.data], [a, b], stmts, attrs)


def index_dtype(func):
    return str(func.body.seq[1].indices[0].dtype)


# The bundle of 64-bit offsets: what may pass 2^31 stays int64, its neighbour becomes int32.
@pytest.mark.parametrize(
    "index, dtype",
    [
        (lambda t: t * 131072, "int32"),
        (lambda t: t * 131072 * 128 + 1, "int32"),
        (lambda t: t * 131072 * 130, "int64"),
        (lambda t: t + (2**31 + 5), "int64"),
        (lambda t: t + (2**31 - 128), "int32"),
        (lambda t: t + (2**31 - 127), "int64"),
        (lambda t: (t * 2**25) // 2**25, "int32"),
    ],
)
def test_offsets_past_2_31_stay_int64(index, dtype):
    func = simplify(narrow_index(flat_copy(2**40, index)))
    assert index_dtype(func) == dtype


def test_int64_loops_and_lets_become_int32():
    b = ir.Buffer.make("B", [4096], "float32")
    i, v = ir.Var("i", "int64"), ir.Var("v", "int64")
    store = ir.BufferStore(b, ir.FloatImm("float32", 1), [v + i])
    inner = ir.SeqStmt([ir.Bind(v, i * 8), store])
    loop = ir.For(i, ir.IntImm("int64", 0), ir.IntImm("int64", 100), "serial", inner, {})
    out = narrow_index(ir.PrimFunc("f", [b.data], [b], loop)).body
    assert str(out.loop_var.dtype) == "int32"
    assert [str(s.value.dtype) for s in out.body.seq] == ["int32", "float32"]
    assert str(out.body.seq[1].indices[0].dtype) == "int32"


@T.prim_func
def checked(A_ptr: T.handle, n: T.int32):
    A = T.match_buffer(A_ptr, (64,), "float32")
    half: T.let = n // 2
    assert n >= 16, "n must be at least 16"
    T.device_entry()
    tx = T.thread_id([8])
    if tx < half:
        A[tx] = T.float32(1)


def test_what_the_host_checks_is_known():
    after = simplify(native(checked))
    assert "T.let = n // 2" in str(after) and "assert n >= 16" in str(after)
    assert body(after).splitlines()[1:] == ["A_1[tx] = 1.0"]
