"""vectorize_loops and unroll_loops: the accesses they make, what they leave alone; the meaning stays."""

import os

import pytest
import tvm_ffi
from native_programs import program, same_meaning
from test_pass_simplify import body, native, simplify

from tirx import ir
from tirx.errors import ScriptError
from tirx.script import T

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "11"))
vectorize_loops = tvm_ffi.get_global_func("tx.passes.vectorize_loops")
unroll_loops = tvm_ffi.get_global_func("tx.passes.unroll_loops")


def vectorized(func):
    return body(simplify(vectorize_loops(simplify(native(func))))).splitlines()[1:]


def test_a_copy_becomes_vector_moves():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (128, 64), "float16")
        B = T.match_buffer(B_ptr, (128, 64), "float16")
        T.device_entry()
        tx = T.thread_id([128])
        for i in T.vectorized(64):
            B[tx, i] = A[tx, i]

    assert vectorized(f) == [
        "for i in T.unroll(8):",
        "    B_1[T.Ramp(tx * 64 + i * 8, 1, 8)] = A_1[T.Ramp(tx * 64 + i * 8, 1, 8)]",
    ]


def test_computation_goes_through_local_vectors():
    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (128, 8), "float16")
        B = T.match_buffer(B_ptr, (128, 8), "float32")
        T.device_entry()
        tx = T.thread_id([128])
        for i in T.vectorized(8):
            B[tx, i] = T.cast(A[tx, i], "float32") * 2.0

    assert vectorized(f) == [
        'A_vec = T.alloc_buffer((8,), "float16", scope="local", align=16)',
        "A_vec[T.Ramp(0, 1, 8)] = A_1[T.Ramp(tx * 8, 1, 8)]",
        'B_vec = T.alloc_buffer((8,), "float32", scope="local", align=16)',
        "for lane in T.unroll(8):",
        '    B_vec[lane] = T.cast(A_vec[lane], "float32") * 2.0',
        "B_1[T.Ramp(tx * 8, 1, 4)] = B_vec[T.Ramp(0, 1, 4)]",
        "B_1[T.Ramp(tx * 8 + 4, 1, 4)] = B_vec[T.Ramp(4, 1, 4)]",
    ]


def fill(row, width):
    """for i in T.vectorized(width): A[tx, i] = 0 in rows of `row` floats."""

    @T.prim_func
    def f(A_ptr: T.handle):
        A = T.match_buffer(A_ptr, (128, row), "float32")
        T.device_entry()
        tx = T.thread_id([128])
        for i in T.vectorized(width):
            A[tx, i] = 0.0

    return f


def lanes_of(func):
    """Lanes of the stores to A, and the notes of its loops."""
    text = str(simplify(vectorize_loops(simplify(native(func)))))
    lanes = [int(part.split(")")[0].rsplit(", ", 1)[1]) for part in text.split("T.Ramp")[1:]]
    return lanes[0] if lanes else 1, "not vectorized" in text


# A hint that is wider than the geometry allows is narrowed, with a note when nothing is left of it.
@pytest.mark.parametrize(
    "row, width, lanes, note",
    [(64, 4, 4, False), (66, 4, 2, False), (65, 4, 1, True), (64, 2, 2, False), (65, 2, 1, True),
     (48, 48, 4, False), (24, 24, 4, False), (40, 40, 4, False), (96, 96, 4, False), (64, 6, 2, False),
     (64, 7, 1, True)],
)  # fmt: skip
def test_width_follows_what_is_proved(row, width, lanes, note):
    assert lanes_of(fill(row, width)) == (lanes, note)


def test_promised_alignment_limits_the_width():
    def f(align):
        b = ir.Buffer("A", ir.Buffer.make("A", [64], "float32").data, [64], "float32", align=align)
        v = ir.Var("i")
        loop = ir.For(v, 0, 8, "vectorized", ir.BufferStore(b, ir.FloatImm("float32", 0), [v]), {})
        return str(vectorize_loops(ir.PrimFunc("f", [b.data], [b], loop)))

    assert "1, 4)" in f(0) and "1, 4)" in f(16)
    assert "1, 2)" in f(8) and "1, 4)" not in f(8)
    assert "Ramp" not in f(4)


def test_a_loop_that_reads_what_it_writes_elsewhere_stays_in_order():
    b = ir.Buffer.make("B", [64], "float32")
    v = ir.Var("i")
    shifted = ir.BufferStore(b, ir.BufferLoad(b, [v]), [v + 4])
    func = ir.PrimFunc("f", [b.data], [b], ir.For(v, 0, 8, "vectorized", shifted, {}))
    out = vectorize_loops(func).body
    assert str(out.kind) == "unroll" and "independent" in str(out.annotations["tirx.note"])
    same = ir.BufferStore(b, ir.BufferLoad(b, [v]) * ir.FloatImm("float32", 2), [v])
    func = ir.PrimFunc("f", [b.data], [b], ir.For(v, 0, 8, "vectorized", same, {}))
    assert "B_vec[T.Ramp(0, 1, 4)]" in str(vectorize_loops(func))


def test_conditional_accesses_stay_scalar():
    a, b = ir.Buffer.make("A", [64], "float32"), ir.Buffer.make("B", [64], "float32")
    v, n = ir.Var("i"), ir.Var("n")
    guarded = ir.IfThenElse(v < n, ir.BufferStore(b, ir.BufferLoad(a, [v]), [v]), None)
    out = vectorize_loops(ir.PrimFunc("f", [a.data, b.data, n], [a, b, None],
                                      ir.For(v, 0, 4, "vectorized", guarded, {})))  # fmt: skip
    assert "Ramp" not in str(out)


def test_only_native_loops_remain():
    for seed in range(SEED, SEED + 10):
        func = vectorize_loops(program(seed, kinds=("vectorized", "parallel")))
        assert "T.vectorized" not in str(func) and "T.parallel" not in str(func)


def test_random_programs_keep_their_meaning():
    print(f"TIRX_FUZZ_SEED={SEED}")
    for seed in range(SEED, SEED + 25):
        before = program(seed, kinds=("vectorized", "vectorized", "serial"))
        same_meaning(before, simplify(vectorize_loops(before)), seed, order=False)


# ---- unroll_loops


def expanded(extent, make_body):
    v = ir.Var("i")
    return ir.For(v, 2, extent, "unroll", make_body(v), {"expand": True})


def test_marked_loops_are_written_out():
    b = ir.Buffer.make("B", [64], "float32")
    w = ir.Var("w")

    def inside(v):
        return ir.SeqStmt([ir.Bind(w, v * 3), ir.BufferStore(b, ir.FloatImm("float32", 1), [w + v])])

    func = unroll_loops(ir.PrimFunc("f", [b.data], [b], expanded(3, inside)))
    stores = [s for s in func.body.seq if isinstance(s, ir.BufferStore)]
    lets = [s for s in func.body.seq if isinstance(s, ir.Bind)]
    assert len(stores) == len(lets) == 3
    assert len({s.var for s in lets}) == 3
    same_meaning_of_copies = [str(s.value) for s in lets]
    assert same_meaning_of_copies == ["6", "9", "12"]


def test_other_unroll_loops_stay():
    b, v = ir.Buffer.make("B", [64], "float32"), ir.Var("i")
    store = ir.BufferStore(b, ir.FloatImm("float32", 1), [v])
    func = ir.PrimFunc("f", [b.data], [b], ir.For(v, 0, 4, "unroll", store, {}))
    assert unroll_loops(func).same_as(func)


@pytest.mark.parametrize(
    "extent, found", [(ir.Var("n"), "not a constant"), (4096, "4096 iterations"), (4, "a break or continue")]
)
def test_what_cannot_be_expanded_is_refused(extent, found):
    b = ir.Buffer.make("B", [64], "float32")

    def inside(v):
        return (
            ir.Break() if found.startswith("a break") else ir.BufferStore(b, ir.FloatImm("float32", 1), [v])
        )

    with pytest.raises(ScriptError, match="cannot be written out") as error:
        unroll_loops(ir.PrimFunc("f", [b.data], [b], expanded(extent, inside)))
    assert found in error.value.found
