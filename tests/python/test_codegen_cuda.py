"""The CUDA printer: the text is readable, means what the IR means, and assembles without warnings."""

import math
import random

import pytest
from c_expression import evaluate
from cuda_kernels import (
    address_of,
    broadcast,
    cta_index,
    instr,
    kernel,
    load,
    needs_nvrtc,
    nvrtc_missing,
    ramp,
    store,
    thread_index,
    vector,
)

from tirx import _ffi_api, ir
from tirx.errors import TirxError
from tirx.targets import cuda

A = ir.Buffer.make("A", [4096], "float32")
B = ir.Buffer.make("B", [4096], "float32")
H = ir.Buffer.make("H", [4096], "float16")
I = ir.Buffer.make("I", [4096], "int32")
TX, N = ir.Var("tx"), ir.Var("n")


def text_of(body, buffers=(A, B), scalars=(), arch="sm_90a", **kw):
    return cuda.codegen(kernel(body, buffers, scalars, **kw), f"cuda/{arch}")


def body_of(*args, **kw):
    """The lines between the braces of the kernel, without indentation."""
    text = text_of(*args, **kw)
    start = text.index(") {\n", text.index('extern "C"')) + 4
    return [line.strip() for line in text[start:].rstrip().removesuffix("}").splitlines()]


def bind_tx():
    return ir.Bind(TX, thread_index())


def local(name, extent, dtype="float32"):
    return ir.Buffer.make(name, [extent], dtype, "local")


def select(c, t, f):
    return _ffi_api.select(c, t, f, None)


def test_golden(golden):
    """A kernel with most constructs; the text is pinned."""
    golden("codegen_constructs.cu", cuda.codegen(constructs(), "cuda/sm_90a"))


def constructs():
    i, j, base, bx = ir.Var("i"), ir.Var("i"), ir.Var("base"), ir.Var("bx")
    r, x, acc = local("r", 4), local("x", 1), local("acc", 4)
    frag = local("frag", 8, "float16")
    words = ir.Buffer("frag_words", frag.data, [4], "uint32", None, "local")
    tile = ir.Buffer.make("tile", [1024], "float16", "shared")
    mma = "ptx.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    a, c = [load(words, k) for k in range(4)], [load(acc, k) for k in range(4)]
    ldmatrix = "ptx.ldmatrix.sync.aligned.m8n8.x4.shared.b16"
    body = [
        ir.Bind(bx, cta_index()),
        bind_tx(),
        ir.Bind(base, bx * 1024 + TX * 4),
        ir.AllocBuffer(r),
        ir.AllocBuffer(x),
        store(x, 0, ir.const(0.5, "float32")),
        ir.BufferStore(r, vector(A, base, 4), [ramp(0, 4)]),
        ir.For(i, 0, 4, "unroll", store(r, i, load(r, i) * load(x, 0) + ir.const(2.0, "float32")), {}),
        ir.IfThenElse(base < N, ir.BufferStore(B, vector(r, 0, 4), [ramp(base, 4)]), None),
        ir.AllocBuffer(frag),
        ir.DeclBuffer(words),
        ir.AllocBuffer(acc),
        ir.AllocBuffer(tile),
        ir.For(j, 0, 4, "serial", store(acc, j, ir.const(0.0, "float32")), {}),
        instr("ptx.cp.async.cg.shared.global", address_of(tile, TX * 8), address_of(H, base)),
        instr("ptx.cp.async.commit_group"),
        instr("ptx.cp.async.wait_group", 0),
        instr("cuda.cta_sync"),
        instr(ldmatrix, *a, address_of(tile, TX * 8)),
        instr(mma, *c, *a, a[0], a[1], *c),
        ir.BufferStore(
            r, vector(acc, 0, 4) * vector(r, 0, 4) + broadcast(ir.const(1.0, "float32"), 4), [ramp(0, 4)]
        ),
        store(B, base, ir.instr_call("cuda.shfl_xor", [load(acc, 0), 16])),
        instr("cuda.atomic_add", address_of(B), ir.const(1.0, "float32")),
        ir.IfThenElse(
            ir.instr_call("cuda.elect_sync"),
            store(B, 0, ir.call("float32", "tx.exp2", [load(r, 0)])),
            ir.IfThenElse(
                ir.Binary("and", TX < 3, bx < 2),
                store(B, 1, load(r, 1) - (load(r, 2) - load(r, 3))),
                ir.Assert(base < 5000, "base is in range"),
            ),
        ),
    ]
    return kernel(body, [A, B, H], [N])


def test_golden_kernel_assembles():
    needs_nvrtc()
    for arch in ("sm_90a", "sm_100a"):
        cubin = cuda.assemble(constructs(), f"cuda/{arch}")
        assert cubin.warnings == [] and cubin.spills == 0 and cubin.shared == 2048


def test_printing_is_deterministic():
    assert cuda.codegen(constructs(), "cuda/sm_90a") == cuda.codegen(constructs(), "cuda/sm_90a")


# ---- names ----


def test_a_reserved_name_is_changed_and_others_are_kept():
    float4, threads = local("float4", 2), local("threadIdx", 2)
    lines = body_of(
        [ir.AllocBuffer(x) for x in (float4, threads)]
        + [store(float4, 0, load(threads, 1)), store(A, 0, load(float4, 0))]
    )
    assert lines[:2] == ["float float4_1[2];", "float threadIdx_1[2];"]


def test_names_are_free_after_their_block_but_never_shadowed():
    i, k, inner = ir.Var("i"), ir.Var("i"), ir.Var("i")
    nested = ir.For(
        k, 0, 2, "serial", ir.For(inner, 0, 2, "serial", store(A, k * 2 + inner, load(B, k)), {}), {}
    )
    lines = body_of([ir.For(i, 0, 4, "serial", store(A, i, load(B, i)), {}), nested])
    assert lines[0] == "for (int i = 0; i < 4; ++i) {"
    assert lines[3] == "for (int i = 0; i < 2; ++i) {" and lines[4] == "for (int i_1 = 0; i_1 < 2; ++i_1) {"
    assert lines[5] == "A[i * 2 + i_1] = B[i];"


def test_the_kernel_name_is_not_reused():
    lines = body_of([ir.Bind(TX, thread_index()), store(A, TX, load(B, TX))], name="tx")
    assert lines == ["const int tx_1 = threadIdx.x;", "A[tx_1] = B[tx_1];"]


@pytest.mark.parametrize(
    "name, symbol",
    [
        ("exp", "exp_kernel"),
        ("sinf", "sinf_kernel"),
        ("norm", "norm_kernel"),
        ("int", "int_kernel"),
        ("scale", "scale"),
    ],
)
def test_a_kernel_may_have_any_name(name, symbol):
    k = kernel([store(A, 0, ir.call("float32", "tx.exp", [load(B, 0)]))], [A, B], name=name)
    assert f"{symbol}(float *" in cuda.codegen(k, "cuda/sm_90a") and cuda.entry_name(k) == symbol
    if not nvrtc_missing():
        assert cuda.assemble(k, "cuda/sm_90a").warnings == []


def test_a_variable_does_not_hide_the_function_that_it_calls():
    total, lane = ir.Var("warp_sum", "float32"), ir.Var("elect_sync", "bool")
    source = "__device__ float helper(float x) { return x; }"
    own = ir.Var("helper", "float32")
    body = [
        ir.Bind(total, ir.instr_call("cuda.warp_sum", [load(B, 0)])),
        ir.Bind(lane, ir.instr_call("cuda.elect_sync")),
        ir.Bind(own, ir.call("float32", "tx.func_call", [total], {"name": "helper", "source": source})),
        ir.IfThenElse(lane, store(A, 0, own), None),
    ]
    assert body_of(body)[0] == "const float warp_sum_1 = warp_sum<32>(B[0]);"
    _assembles(body, [A, B])


# ---- signature ----


def test_read_only_parameters_are_const():
    text = text_of([store(A, 0, load(B, 0))])
    assert "k(float *__restrict__ A, const float *__restrict__ B) {" in text
    escaping = ir.Evaluate(ir.call("void", "tx.func_call", [address_of(B)], {"name": "f", "source": ""}))
    assert "float *__restrict__ A, float *__restrict__ B" in text_of([store(A, 0, load(B, 0)), escaping])
    assert "const float *__restrict__ B" in text_of(
        [ir.Evaluate(ir.instr_call("ptx.prefetch.global.L2", [address_of(B)])), store(A, 0, load(A, 1))]
    )


def test_launch_bounds():
    assert "__launch_bounds__(96)" in text_of([store(A, 0, load(B, 0))], threads=96)
    assert "__launch_bounds__(96, 3)" in text_of([store(A, 0, load(B, 0))], threads=96, blocks=3)


# ---- definitions ----


def test_scalars_take_their_first_store_and_unused_definitions_vanish():
    x, unused, n = local("x", 1), local("unused", 4), ir.Var("n1")
    body = [
        ir.AllocBuffer(unused),
        ir.Bind(n, ir.Var("m") + 1),
        ir.AllocBuffer(x),
        store(x, 0, load(B, 3)),
        store(A, 0, load(x, 0)),
    ]
    assert body_of(body) == ["float x = B[3];", "A[0] = x;"]


def test_an_unused_value_with_effects_is_still_computed():
    old = ir.Var("old", "float32")
    call = ir.instr_call("cuda.atomic_add", [address_of(A), ir.const(1.0, "float32")])
    assert body_of([ir.Bind(old, call)]) == ["atomic_add(A, 1.0f);"]


def test_a_store_that_reads_the_scalar_is_not_its_initialiser():
    x = local("x", 1)
    lines = body_of(
        [ir.AllocBuffer(x), store(x, 0, load(x, 0) + ir.const(1.0, "float32")), store(A, 0, load(x, 0))]
    )
    assert lines[:2] == ["float x;", "x = x + 1.0f;"]


def test_clean_when_a_result_is_ignored():
    needs_nvrtc()
    x, r = local("x", 1), local("r", 4)
    body = [ir.AllocBuffer(x), store(x, 0, load(B, 0)), ir.AllocBuffer(r), store(r, 1, load(B, 0))]
    body += [store(x, 0, load(x, 0) * load(x, 0)), ir.Bind(ir.Var("n", "float32"), load(r, 1))]
    assert cuda.assemble(kernel(body, [A, B]), "cuda/sm_80").warnings == []


def test_dynamic_shared_memory_is_an_arena():
    data = ir.Var("s_ptr", "handle", ir.PointerType("float32", "shared.dyn"))
    s = ir.Buffer("s", data, [64], "float32", None, "shared.dyn", 0, 128, 256)
    lines = body_of([ir.AllocBuffer(s), store(s, 0, load(B, 0)), store(A, 0, load(s, 1))], dyn=512)
    assert lines[0] == "extern __shared__ __align__(128) unsigned char smem[];"
    assert lines[1] == "float *s = (float *)(smem + 256);"


# ---- accesses ----


@pytest.mark.parametrize(
    "dtype, lanes, move",
    [
        ("float32", 4, "float4"),
        ("float32", 2, "float2"),
        ("int32", 4, "int4"),
        ("float16", 8, "uint4"),
        ("float16", 4, "uint2"),
        ("bfloat16", 2, "unsigned"),
        ("int8", 2, "unsigned short"),
        ("float64", 2, "uint4"),
        ("float8_e4m3fn", 16, "uint4"),
    ],
)
def test_moves_are_as_wide_as_the_access(dtype, lanes, move):
    src, dst = ir.Buffer.make("src", [64], dtype), ir.Buffer.make("dst", [64], dtype)
    lines = body_of([ir.BufferStore(dst, vector(src, lanes, lanes), [ramp(0, lanes)])], [src, dst])
    assert lines == [f"*({move} *)dst = *(const {move} *)&src[{lanes}];"]


FP4 = "float4_e2m1fn"


def test_four_bit_elements_are_packed():
    src, dst, r = ir.Buffer.make("src", [64], FP4), ir.Buffer.make("dst", [64], FP4), local("r", 8, FP4)
    body = [
        ir.AllocBuffer(r),
        ir.BufferStore(r, vector(src, 8, 8), [ramp(0, 8)]),
        store(r, 3, load(src, 5)),
        ir.BufferStore(dst, vector(r, 0, 8), [ramp(16, 8)]),
        store(A, 0, load(r, 1).astype("float32")),
    ]
    assert body_of(body, [src, dst, A]) == [
        "alignas(4) unsigned char r[4];",
        "*(unsigned *)r = *(const unsigned *)&src[4];",
        "store_nibble(r, 3, load_nibble<__nv_fp4_e2m1>(src, 5));",
        "*(unsigned *)&dst[8] = *(unsigned *)r;",
        "A[0] = (float)load_nibble<__nv_fp4_e2m1>(r, 1);",
    ]
    _assembles(body, [src, dst, A])
    with pytest.raises(TirxError) as e:
        body_of([store(dst, 0, load(src, 0))], [src, dst])
    assert e.value.code == "codegen-subbyte"


def test_long_calls_are_broken_between_arguments():
    mma = "ptx.mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32"
    acc, frag = local("accumulator", 64), local("fragment", 64, "uint32")
    c, a = [load(acc, TX * 4 + k) for k in range(4)], [load(frag, TX * 4 + k) for k in range(6)]
    body = [bind_tx(), ir.AllocBuffer(acc), ir.AllocBuffer(frag), instr(mma, *c, *a, *c), store(A, 0, c[0])]
    lines = body_of(body)
    assert lines[3] == "mma_m16n8k16_f32_f16_f16_f32(" and all(len(line) <= 100 for line in lines)
    assert " ".join(lines[4:-1]).count("accumulator[tx * 4") == 8
    assert lines[-1] == "A[0] = accumulator[tx * 4];"


def test_a_wide_access_aligns_its_array():
    r = local("r", 8, "float16")
    lines = body_of(
        [ir.AllocBuffer(r), ir.BufferStore(r, vector(H, 0, 8), [ramp(0, 8)]), store(H, 9, load(r, 1))], [H]
    )
    assert lines[0] == "alignas(16) __half r[8];"


def test_a_view_of_another_dtype_is_a_pointer():
    r = local("r", 8, "float16")
    words = ir.Buffer("words", r.data, [4], "uint32", None, "local")
    out = ir.Buffer.make("out", [4], "uint32")
    body = [ir.AllocBuffer(r), store(r, 0, load(H, 0)), ir.DeclBuffer(words), store(out, 0, load(words, 1))]
    assert body_of(body, [H, out])[2:] == ["unsigned *words = (unsigned *)r;", "out[0] = words[1];"]


# ---- expressions: the text, parsed with C's rules, has the value of the IR ----


def _random_int(rng, depth, leaves):
    if depth == 0 or rng.random() < 0.1:
        return rng.choice(leaves) if rng.random() < 0.7 else ir.const(rng.randint(0, 9), "int32")
    a, b = (_random_int(rng, depth - 1, leaves) for _ in range(2))
    op = rng.choice(
        [
            "add",
            "sub",
            "mul",
            "floordiv",
            "floormod",
            "min",
            "max",
            "bitwise_and",
            "bitwise_or",
            "bitwise_xor",
            "shift_right",
            "select",
            "lt",
            "eq",
            "truncdiv",
            "truncmod",
        ]
    )
    if op in ("floordiv", "floormod", "truncdiv", "truncmod", "shift_right"):
        b = ir.const(rng.choice([1, 2, 3, 5, 8]), "int32")
    if op == "select":
        c, d = (_random_int(rng, depth - 1, leaves) for _ in range(2))
        cond = rng.choice(
            [ir.Binary("and", a < b, c < d), ir.Binary("or", a == b, c != d), ir.Binary("le", a, c)]
        )
        return select(cond, a, d)
    if op in ("lt", "eq"):
        return ir.Binary(op, a, b).astype("int32")
    return ir.Binary(op, a, b)


def _value(e, env):
    """The IR's own meaning on Python integers."""
    if isinstance(e, ir.IntImm):
        return int(e.value)
    if isinstance(e, ir.Var):
        return env[str(e.name)]
    if isinstance(e, ir.Cast):
        return int(_value(e.value, env))
    if isinstance(e, ir.Select):
        return _value(e.true_value if _value(e.cond, env) else e.false_value, env)
    a, b = _value(e.a, env), _value(e.b, env)
    return {
        "add": lambda: a + b,
        "sub": lambda: a - b,
        "mul": lambda: a * b,
        "floordiv": lambda: a // b,
        "floormod": lambda: a % b,
        "min": lambda: min(a, b),
        "max": lambda: max(a, b),
        "bitwise_and": lambda: a & b,
        "bitwise_or": lambda: a | b,
        "bitwise_xor": lambda: a ^ b,
        "shift_right": lambda: a >> b,
        "lt": lambda: a < b,
        "le": lambda: a <= b,
        "eq": lambda: a == b,
        "ne": lambda: a != b,
        "and": lambda: a and b,
        "or": lambda: a or b,
        "truncdiv": lambda: int(math.copysign(abs(a) // abs(b), a * b)) if a else 0,
        "truncmod": lambda: int(math.copysign(abs(a) % abs(b), a)) if a else 0,
    }[e.name]()


def test_the_text_of_an_expression_has_its_value():
    seed = random.randrange(1 << 30)
    print("seed", seed)
    rng = random.Random(seed)
    x, y, t = ir.Var("x"), ir.Var("y"), ir.Var("t")
    for _ in range(300):
        e = _random_int(rng, 4, [x, y, t])
        lines = body_of([ir.Bind(t, thread_index()), store(I, 0, e)], [I], [x, y])
        printed = " ".join(lines).partition("I[0] =")[2].removesuffix(";")
        for _ in range(4):
            env = {"x": rng.randint(-40, 40), "y": rng.randint(-40, 40), "t": rng.randint(0, 127)}
            assert evaluate(printed, env) == _value(e, env), (seed, printed, env)


def test_division_is_plain_where_nothing_is_negative():
    x = ir.Var("x")
    body = [
        bind_tx(),
        store(I, 0, TX // 3),
        store(I, 1, TX % 8),
        store(I, 2, (x - 1) // 8),
        store(I, 3, x % 4),
        store(I, 4, x // 3),
    ]
    assert body_of(body, [I], [x])[1:] == [
        "I[0] = tx / 3;",
        "I[1] = tx % 8;",
        "I[2] = (x - 1) >> 3;",
        "I[3] = x & 3;",
        "I[4] = floordiv(x, 3);",
    ]


def test_helpers_appear_only_when_used():
    plain = text_of([store(A, 0, load(B, 0))])
    assert "__device__" not in plain and "#include" not in plain
    x = ir.Var("x")
    used = text_of([store(I, 0, x // 3), store(I, 1, x // 5)], [I], [x])
    assert used.count("floordiv(T a, T b)") == 1 and "floormod" not in used


@pytest.mark.parametrize(
    "value, dtype, text",
    [
        (-(2**31), "int32", "(-2147483647 - 1)"),
        (2**31 + 5, "int64", "2147483653LL"),
        (7, "int64", "7LL"),
        (0xFFFFFFFF, "uint32", "0xffffffffu"),
        (3, "uint32", "3u"),
        (2**62, "uint64", "4611686018427387904ULL"),
        (-5, "int8", "-5"),
        (1.0, "float32", "1.0f"),
        (0.1, "float32", "0.1f"),
        (1e30, "float32", "1e+30f"),
        (1 / 3, "float64", "0.3333333333333333"),
        (float("inf"), "float32", "__int_as_float(0x7f800000)"),
        (float("-inf"), "float64", "__longlong_as_double(0xfff0000000000000LL)"),
        (2.0, "float16", "(__half)2.0f"),
        (-1.5, "bfloat16", "(__nv_bfloat16)-1.5f"),
    ],
)
def test_literals(value, dtype, text):
    out = ir.Buffer.make("out", [4], dtype)
    assert body_of([store(out, 0, ir.const(value, dtype))], [out]) == [f"out[0] = {text};"]


def test_small_unsigned_arithmetic_wraps():
    bytes_ = ir.Buffer.make("bytes", [4], "uint8")
    lines = body_of([store(bytes_, 0, (load(bytes_, 1) + load(bytes_, 2)) // load(bytes_, 3))], [bytes_])
    assert lines == ["bytes[0] = (unsigned char)(bytes[1] + bytes[2]) / bytes[3];"]


def test_offsets_beyond_2_to_31():
    big = ir.Buffer.make("big", [ir.const(2**33, "int64")], "float32")
    row = ir.Var("row", "int64")
    lines = body_of([store(big, ir.const(2**31 + 5, "int64"), load(big, row * 131072))], [big], [row])
    assert lines == ["big[2147483653LL] = big[row * 131072];"]
    assert "long long row" in text_of([store(big, row, load(big, row + 1))], [big], [row])


def test_an_index_that_fits_stays_32_bit():
    row = ir.Var("row")
    assert body_of([store(A, row * 64, load(B, row))], scalars=[row]) == ["A[row * 64] = B[row];"]


# ---- calls ----


def test_user_functions_bring_their_source_once():
    source = "__device__ float twice(float x) { return 2 * x; }"
    call = ir.call("float32", "tx.func_call", [load(B, 0)], {"name": "twice", "source": source})
    text = text_of([store(A, 0, call), store(A, 1, call)])
    assert text.count(source) == 1 and "A[0] = twice(B[0]);" in text


def test_spans_are_comments_on_request():
    where = ir.Span("user.py", 12, 4, 12, 9)
    k = kernel([ir.BufferStore(A, load(B, 0), [0], span=where)], [A, B])
    assert "A[0] = B[0];  // user.py:12" in cuda.codegen(k, "cuda/sm_90a", spans=True)
    assert "user.py" not in cuda.codegen(k, "cuda/sm_90a")


_MATH = (
    "exp",
    "exp2",
    "log",
    "log2",
    "sqrt",
    "rsqrt",
    "sin",
    "cos",
    "tanh",
    "erf",
    "abs",
    "floor",
    "ceil",
    "round",
    "trunc",
)
_FLOATS = ("float16", "bfloat16", "float32", "float64", "float8_e4m3fn", "float8_e5m2")
_INTEGERS = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def _pure(dtype):
    """Values of `dtype` that use every operation it has."""
    x, y = (load(ir.Buffer("m", _memory(dtype).data, [64], dtype), k) for k in (0, 1))
    yield from (ir.Binary(op, x, y) for op in ("add", "sub", "mul", "min", "max"))
    yield select(x < y, x, y)
    if dtype in _FLOATS:
        yield ir.Binary("div", x, y)
        yield from (ir.call(dtype, "tx." + fn, [x]) for fn in _MATH)
        yield ir.call(dtype, "tx.pow", [x, y])
        yield ir.call(dtype, "tx.fma", [x, y, x])
    elif dtype != "bool":
        yield from (ir.Binary(op, x, y) for op in ("floordiv", "floormod", "bitwise_xor", "shift_left"))
        yield from (ir.call(dtype, "tx." + fn, [x]) for fn in ("bitwise_not",))
        yield from (ir.call("int32", "tx." + fn, [x]) for fn in ("popcount", "clz"))


_MEMORIES = {}


def _memory(dtype):
    return _MEMORIES.setdefault(dtype, ir.Buffer.make("m_" + dtype, [64], dtype))


def _assembles(body, buffers):
    needs_nvrtc()
    cubin = cuda.assemble(kernel(body, buffers), "cuda/sm_90a")
    assert cubin.warnings == [], cubin.log


@pytest.mark.parametrize("dtype", [d for d in (*_FLOATS, *_INTEGERS) if d != "bool"])
def test_every_operation_assembles(dtype):
    values = [v for v in _pure(dtype)]
    outs = {str(v.dtype): ir.Buffer.make("out_" + str(v.dtype), [64], str(v.dtype)) for v in values}
    body = [store(outs[str(v.dtype)], i, v) for i, v in enumerate(values)]
    _assembles(body, [_memory(dtype), *outs.values()])


def test_every_conversion_assembles():
    dtypes = (*_FLOATS, *_INTEGERS)
    outs = {d: ir.Buffer.make("out_" + d, [1024], d) for d in dtypes}
    body = [
        store(outs[to], i, load(_memory(frm), 0).astype(to))
        for to in dtypes
        for i, frm in enumerate(dtypes)
        if to != frm
    ]
    _assembles(body, [*(_memory(d) for d in dtypes), *outs.values()])


def test_every_vector_operation_assembles():
    body, buffers = [], []
    for dtype in ("float16", "float32", "bfloat16", "int32", "int8"):
        out, lanes = ir.Buffer.make("out_" + dtype, [64], dtype), 4
        x, y = vector(_memory(dtype), 0, lanes), vector(_memory(dtype), 4, lanes)
        values = [ir.Binary(op, x, y) for op in ("add", "sub", "mul", "min", "max")]
        values += [
            x + broadcast(ir.const(2, dtype), lanes),
            select(x < y, x, y),
            x.astype("float32x4").astype(dtype + "x4"),
        ]
        body += [ir.BufferStore(out, v, [ramp(i * lanes, lanes)]) for i, v in enumerate(values)]
        buffers += [_memory(dtype), out]
    _assembles(body, buffers)


_ATOMICS = {
    "atomic_add": ("int32", "uint32", "int64", "uint64", "float32", "float64", "float16", "bfloat16"),
    "atomic_max": ("int32", "uint32", "int64", "uint64", "float32"),
    "atomic_min": ("int32", "uint32", "int64", "uint64", "float32"),
    "atomic_exch": ("int32", "uint32", "int64", "uint64", "float32"),
    "atomic_and": ("int32", "uint32", "int64", "uint64"),
    "atomic_cas": ("int32", "uint32", "int64", "uint64"),
}


def test_atomics_assemble_for_their_dtypes():
    body, buffers = [], {}
    for op, dtypes in _ATOMICS.items():
        for dtype in dtypes:
            b = buffers.setdefault(dtype, ir.Buffer.make("b_" + dtype, [64], dtype))
            values = [load(b, 1), load(b, 2)][: 2 if op == "atomic_cas" else 1]
            body.append(store(b, 3, ir.instr_call("cuda." + op, [address_of(b), *values])))
    _assembles(body, list(buffers.values()))


# ---- size ----


def test_long_bodies_and_deep_expressions_print():
    text = text_of([store(A, i % 4096, load(B, (i * 7) % 4096)) for i in range(50_000)])
    assert text.count("\n") > 50_000
    x = ir.Var("x")
    deep = x
    for _ in range(990):
        deep = ir.Binary("bitwise_xor", deep, x) if isinstance(deep, ir.Var) else ir.Binary("sub", x, deep)
    assert " ".join(body_of([store(I, 0, deep)], [I], [x])).count("(") >= 980


# ---- refusals ----


@pytest.mark.parametrize(
    "body, code",
    [
        ([ir.ExecScope("warp", store(A, 0, load(B, 0)))], "codegen-stmt"),
        ([ir.For(ir.Var("i"), 0, 4, "vectorized", store(A, 0, load(B, 0)), {})], "codegen-loop"),
        ([store(A, 0, ir.call("float32", "tx.no_such", [load(B, 0)]))], "codegen-call"),
        ([store(A, 0, ir.call("float32", "cuda.no_such", []))], "unknown-instruction"),
        ([store(ir.Buffer.make("C", [4], "float32", "local"), 0, load(B, 0))], "codegen-buffer"),
        ([ir.BufferStore(A, load(B, _ffi_api.ramp(0, 2, 4, None)), [ramp(0, 4)])], "codegen-vector"),
    ],
)
def test_what_cannot_be_printed_is_refused(body, code):
    with pytest.raises(TirxError) as e:
        text_of(body)
    assert e.value.code == code


def test_shared_dyn_needs_an_address():
    s = ir.Buffer.make("s", [64], "float32", "shared.dyn")
    with pytest.raises(TirxError) as e:
        text_of([ir.AllocBuffer(s), store(s, 0, load(B, 0)), store(A, 0, load(s, 0))])
    assert e.value.code == "codegen-scope"
