"""copy, copy_async, fill and cast rules: every element in place, written once, as wide as promised."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tile_eval import Machine, places
from tile_fakes import TEAMS, T, cuda_context, facts, region, tile_call, whole

from tirx import ir
from tirx.errors import DispatchError, ScopeError, TypeMismatch
from tirx.ir import _api
from tirx.tile import dispatch, recording

_names = itertools.count()


def layout(*shard, replica=(), offset=None):
    """TileLayout of (extent, stride, axis) iters."""
    return _api.TileLayout([_api.Iter(*i) for i in shard], [_api.Iter(*i) for i in replica], offset or {})


def swizzle(per_element, bits, shift, *shard):
    return _api.ComposeLayout(per_element, bits, shift, layout(*shard))


def buffer(shape, dtype="float16", scope="global", lay=None, align=16):
    return ir.Buffer.make(
        f"b{next(_names)}", list(shape), dtype, scope, lay, 0 if scope == "local" else align
    )


def box(reg):
    """Logical indices of a constant region, in row-major order."""
    return itertools.product(*[range(int(r.min), int(r.min) + int(r.extent)) for r in reg.region])


def homes(buf, index, threads, private):
    """Where an element lives: (thread or None, memory coordinate); private: once per thread."""
    if buf.scope != "local":
        return [(None, m) for _, m in places(buf, index)]
    found = places(buf, index)
    return [(t, m) for t in range(threads) for _, m in found] if private else found


def lower(call, ctx):
    with recording() as decisions:
        stmt = dispatch(call, ctx)
    return stmt, decisions[0]


def check_move(dst, src, scope="cta", threads=None, op="copy", values=None, private=False, **kw):
    """Lower, run, and compare every element; returns (decision, machine)."""
    ctx = cuda_context(scope, threads)
    n = ctx.num_threads
    stmt, decision = lower(tile_call(op, dst, src, scope=scope, **kw), ctx)
    m = Machine()
    for k, index in enumerate(box(src)):
        for t, place in homes(src.buffer, index, n, private):
            space = (
                m.memory[str(src.buffer.data.name)]
                if t is None
                else m.registers[t, str(src.buffer.data.name)]
            )
            space[place] = k + 1
    m.run(stmt, n, T)
    check_result(m, dst, n, private, lambda k: k + 1)
    return decision, m


def check_result(m, dst, threads, private, value):
    """Each destination element has its value, was written once, and nothing else was written."""
    name, expected = str(dst.buffer.data.name), {}
    for k, index in enumerate(box(dst)):
        for t, place in homes(dst.buffer, index, threads, private):
            expected[name if t is None else (t, name), place] = value(k)
    for (owner, place), v in expected.items():
        space = m.memory[name] if owner == name else m.registers[owner]
        assert space[place] == v, f"element at {owner} {place}: {space.get(place)} instead of {v}"
    assert {k: n for k, n in m.writes.items()} == dict.fromkeys(expected, 1)


# ---- vectors between global and shared memory ----


def test_widest_access_and_coalescing():
    dst, src = buffer([32, 32], scope="shared"), buffer([512, 512])
    decision, m = check_move(whole(dst), region(src, (64, 32), (96, 32)), "cta", 32)
    assert decision.variant == "vec_auto"
    assert m.widths == {("global", 8): 128, ("shared", 8): 128}
    assert decision.coverage == "1024 elements once: 32 threads x 4 steps x 8 lanes"


@pytest.mark.parametrize("columns, lanes", [(64, 8), (100, 4), (102, 2), (101, 1)])
def test_row_length_limits_the_width(columns, lanes):
    """Rows of 100 halves start on multiples of 8 bytes only (cases: misaligned vector copy on tails)."""
    dst, src = buffer([8, 64], scope="shared"), buffer([8, columns if columns > 64 else 64])
    _, m = check_move(whole(dst), region(src, (0, 8), (0, 64)), "cta", 64)
    assert set(m.widths) == {("global", lanes), ("shared", lanes)}


@pytest.mark.parametrize("align, lanes", [(16, 4), (8, 2), (4, 1), (0, 4)])
def test_promised_alignment_limits_the_width(align, lanes):
    src, dst = buffer([256], "float32", align=align), buffer([256], "float32", align=16)
    _, m = check_move(whole(dst), whole(src), "cta", 32)
    assert set(n for _, n in m.widths) == {lanes}


def test_partial_tile_is_covered():
    """112 x 64 elements over 256 threads of 16 bytes: 896 chunks, 3.5 per thread."""
    dst, src = buffer([112, 64], "bfloat16", "shared"), buffer([112, 64], "bfloat16")
    decision, _ = check_move(whole(dst), whole(src), "cta", 256)
    assert "chunk < 896" in decision.coverage and decision.coverage.startswith("7168 elements once")


def test_fewer_chunks_than_threads():
    dst, src = buffer([4, 8], scope="shared"), buffer([4, 8])
    decision, _ = check_move(whole(dst), whole(src), "cta", 256)
    assert "thread < 4" in decision.coverage


SPACES = st.sampled_from(["global", "shared"])
DTYPES = st.sampled_from(["float32", "float16", "int8"])


@st.composite
def memory_regions(draw):
    """Two buffers (row-major, padded or permuted) and equally shaped regions of them."""
    rank = draw(st.integers(1, 3))
    extents = [draw(st.integers(1, 14)) for _ in range(rank)]
    dtype, out = draw(DTYPES), []
    for _ in range(2):
        starts = [draw(st.sampled_from([0, 0, 1, 4, 8])) for _ in extents]
        shape = [s + e + draw(st.sampled_from([0, 0, 3, 8])) for s, e in zip(starts, extents)]
        out.append(region(buffer(shape, dtype, draw(SPACES), draw(layouts(shape))), *zip(starts, extents)))
    return out


@st.composite
def layouts(draw, shape):
    """None, or a permuted and padded strided layout."""
    if draw(st.booleans()):
        return None
    order = draw(st.permutations(range(len(shape))))
    strides, step = [0] * len(shape), 1
    for d in reversed(order):
        strides[d] = step
        step *= shape[d]
        step += draw(st.sampled_from([0, 0, 8]))
    return layout(
        *[(n, s, "m") for n, s in zip(shape, strides)], offset=draw(st.sampled_from([None, {"m": 16}]))
    )


def any_shape_any_strides(regions, scope, threads):
    threads = {"thread": 1, "warp": 32}.get(scope, threads)
    check_move(*regions, scope, threads)
    check_move(*regions, scope, threads, dispatch="fallback")


any_memory = given(memory_regions(), st.sampled_from(["thread", "warp", "cta"]), st.integers(1, 70))
test_any_memory = settings(max_examples=15, deadline=None)(any_memory(any_shape_any_strides))


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@any_memory
def test_any_memory_many(regions, scope, threads):
    any_shape_any_strides(regions, scope, threads)


# ---- swizzled shared memory ----


@pytest.mark.parametrize("bits", [1, 2, 3])
@pytest.mark.parametrize("start", [0, 16, 32])
def test_swizzled_shared_both_ways(bits, start):
    shape = [64, 64]
    shared = buffer(shape, scope="shared", lay=swizzle(3, bits, 3, (64, 64, "m"), (64, 1, "m")))
    part, src = region(shared, (start, 32), (0, 64)), buffer([32, 64])
    _, m = check_move(part, whole(src), "cta", 64)
    assert m.widths["shared", 8] == 256
    check_move(whole(src), part, "cta", 64)
    check_move(part, whole(src), "cta", 64, dispatch="fallback")


def test_swizzle_chunk_limits_the_width():
    shared = buffer([32, 32], scope="shared", lay=swizzle(2, 2, 3, (32, 32, "m"), (32, 1, "m")))
    _, m = check_move(whole(shared), whole(buffer([32, 32])), "cta", 32)
    assert set(m.widths) == {("global", 4), ("shared", 4)}


# ---- registers ----


def fragment(dtype, *shard, shape, **kw):
    return buffer(shape, dtype, "local", layout(*shard, **kw))


ACC = [(2, 8, "m"), (2, 2, "m"), (8, 4, "laneid"), (2, 4, "m"), (4, 1, "laneid"), (2, 1, "m")]
MMA_A = [(2, 16, "m"), (2, 2, "m"), (8, 4, "laneid"), (2, 8, "m"), (2, 4, "m"), (4, 1, "laneid"), (2, 1, "m")]


def test_accumulator_to_global_stores_pairs():
    frag = fragment("float32", *ACC, shape=[32, 16])
    dst = buffer([64, 64], "float32")
    decision, m = check_move(region(dst, (32, 32), (16, 16)), whole(frag), "warp")
    assert decision.variant == "vec_auto" and m.widths == {("local", 2): 256, ("global", 2): 256}
    check_move(whole(frag), region(dst, (32, 32), (16, 16)), "warp")


def test_private_registers_at_thread_scope():
    r, src = buffer([4], "float32", "local"), buffer([64], "float32")
    decision, m = check_move(whole(r), region(src, (8, 4)), "thread", private=True)
    assert m.widths == {("global", 4): 1, ("local", 4): 1} and decision.variant == "vec_auto"
    check_move(region(src, (8, 4)), whole(r), "thread", private=True)
    check_move(whole(r), whole(buffer([4], "float32", "local")), "thread", private=True)


@pytest.mark.parametrize("scope", ["warp", "warpgroup", "cta"])
def test_fragments_over_several_warps(scope):
    """Eight rows per warp; the same buffer through each name of its threads."""
    warp_axis = {"warp": None, "warpgroup": "wid_in_wg", "cta": "warpid"}[scope]
    warps = TEAMS[scope] // 32
    rows = [(warps, 1, warp_axis)] if warp_axis else []
    frag = fragment("float16", *rows, (8, 4, "laneid"), (4, 1, "laneid"), (8, 1, "m"), shape=[8 * warps, 32])
    mem = buffer([8 * warps, 32])
    _, m = check_move(whole(frag), whole(mem), scope)
    assert set(n for _, n in m.widths) == {8}
    check_move(whole(mem), whole(frag), scope)
    check_move(whole(mem), whole(frag), scope, dispatch="fallback")
    if scope == "warpgroup":
        flat = fragment("float16", (128, 1, "tid_in_wg"), (8, 1, "m"), shape=[32, 32])
        check_move(whole(flat), whole(frag), scope)


@st.composite
def fragments(draw):
    """A random bijection of digits onto (lane, register), some lanes idle or holding replicas."""
    digits = draw(st.permutations([2, 2, 2, 2, 2, 3, 4]))[: draw(st.integers(2, 6))]
    t_stride, m_stride, iters, replica = 1, 1, {}, []
    for k in draw(st.permutations(range(len(digits)))):
        n = digits[k]
        if draw(st.booleans()) and 32 % (t_stride * n) == 0:
            iters[k], t_stride = (n, t_stride, "laneid"), t_stride * n
        else:
            iters[k], m_stride = (n, m_stride, "m"), m_stride * n
    if t_stride < 32 and draw(st.booleans()):
        replica.append((2, t_stride, "laneid"))
    if "laneid" not in [axis for _, _, axis in iters.values()] and not replica:
        replica.append((32, 1, "laneid"))
    cut = draw(st.integers(0, len(digits)))
    shape = [1, 1]
    for k, n in enumerate(digits):
        shape[k >= cut] *= n
    return fragment("float32", *[iters[k] for k in range(len(digits))], shape=shape, replica=replica)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(fragments(), SPACES)
def test_any_fragment_many(frag, space):
    any_fragment(frag, space)


@settings(max_examples=10, deadline=None)
@given(fragments(), SPACES)
def test_any_fragment(frag, space):
    any_fragment(frag, space)


def any_fragment(frag, space):
    mem = buffer([int(n) for n in frag.shape], "float32", space)
    for kw in ({}, {"dispatch": "fallback"}):
        check_move(whole(frag), whole(mem), "warp", **kw)
        check_move(whole(mem), whole(frag), "warp", **kw)
        check_move(whole(fragment_like(frag)), whole(frag), "warp", **kw)


def fragment_like(frag):
    return buffer([int(n) for n in frag.shape], "float32", "local", frag.layout)


def test_slice_of_a_fragment():
    frag = fragment("float16", *MMA_A, shape=[32, 32])
    mem = buffer([32, 16])
    check_move(region(frag, (0, 32), (16, 16)), whole(mem), "warp")
    check_move(whole(mem), region(frag, (0, 32), (0, 16)), "warp")


def test_fragments_on_different_threads_need_an_exchange():
    a = fragment("float32", (32, 1, "laneid"), (4, 1, "m"), shape=[32, 4])
    b = fragment("float32", (4, 1, "m"), (32, 1, "laneid"), shape=[32, 4])
    with pytest.raises(DispatchError) as e:
        lower(tile_call("copy", whole(a), whole(b), scope="warp"), cuda_context("warp"))
    assert "different threads" in e.value.required or "refinement" in e.value.required


def test_copies_that_the_source_does_not_have_need_an_exchange():
    """dst is held twice, src once: the second holder has nothing to copy from. The other way round is fine."""
    iters = (16, 1, "laneid"), (4, 1, "m")
    once = fragment("float32", *iters, shape=[16, 4])
    twice = fragment("float32", *iters, shape=[16, 4], replica=[(2, 16, "laneid")])
    with pytest.raises(DispatchError) as e:
        lower(tile_call("copy", whole(twice), whole(once), scope="warp"), cuda_context("warp"))
    assert "copies on threads where src has none" in e.value.required
    check_move(whole(once), whole(twice), "warp")
    check_move(whole(fragment_like(twice)), whole(twice), "warp")


# ---- ldmatrix and stmatrix ----


@pytest.mark.parametrize("rows_by, trans", [("row", False), ("column", True)])
@pytest.mark.parametrize("swizzled", [False, True])
def test_matrix_fragments(rows_by, trans, swizzled):
    frag = fragment("float16", *MMA_A, shape=[32, 32])
    shard = [(32, 64, "m"), (32, 1, "m")] if rows_by == "row" else [(32, 1, "m"), (32, 64, "m")]
    lay = swizzle(3, 3, 3, *shard) if swizzled else layout(*shard)
    shared = buffer([32, 32], scope="shared", lay=lay)
    decision, m = check_move(whole(frag), whole(shared), "warp")
    name = decision.instructions[0]["instruction"]
    assert decision.variant == "ldstmatrix" and (".trans" in name) == trans and ".x4" in name
    assert m.widths == {("ldmatrix", 4): 4 * 32}
    decision, m = check_move(whole(shared), whole(frag), "warp")
    assert m.widths == {("stmatrix", 4): 4 * 32}


@pytest.mark.parametrize("count", [1, 2, 4])
def test_matrix_counts(count):
    tail = [(8, 4, "laneid"), (4, 1, "laneid"), (2, 1, "m")]
    frag = fragment("float16", (count, 2, "m"), *tail, shape=[8 * count, 8])
    _, m = check_move(whole(frag), whole(buffer([8 * count, 8], scope="shared")), "warp")
    assert m.widths == {("ldmatrix", count): 32}


def test_matrix_fragments_of_words_and_bytes():
    """tf32 words and 8-bit quads are the same 4-byte registers (PTX ISA 9.7.14.5, the word view)."""
    words = fragment("float32", (2, 1, "m"), (8, 4, "laneid"), (4, 1, "laneid"), shape=[16, 4])
    assert (
        check_move(whole(words), whole(buffer([16, 4], "float32", "shared")), "warp")[0].variant
        == "ldstmatrix"
    )
    quads = fragment("int8", (8, 4, "laneid"), (4, 1, "laneid"), (4, 1, "m"), shape=[8, 16])
    assert (
        check_move(whole(quads), whole(buffer([8, 16], "int8", "shared")), "warp")[0].variant == "ldstmatrix"
    )


def test_matrix_fragments_of_four_warps():
    tail = [(8, 4, "laneid"), (2, 4, "m"), (4, 1, "laneid"), (2, 1, "m")]
    frag = fragment("float16", (4, 1, "wid_in_wg"), (2, 2, "m"), *tail, shape=[64, 16])
    shared = buffer([64, 16], scope="shared")
    assert check_move(whole(frag), whole(shared), "warpgroup")[0].variant == "ldstmatrix"
    assert check_move(whole(shared), whole(frag), "warpgroup")[0].variant == "ldstmatrix"


def test_matrix_loads_fill_every_warp_of_the_team():
    """A fragment of one warp, copied by a warpgroup: the other three warps must not load."""
    frag = fragment("float16", *MMA_A, shape=[32, 32])
    decision, _ = check_move(whole(frag), whole(buffer([32, 32], scope="shared")), "warpgroup")
    assert decision.variant == "vec_auto"
    assert "1 warps of 4" in [r for r in decision.rejections if r.variant == "ldstmatrix"][0].reason


def test_matrix_addresses_are_checked_against_the_instruction(monkeypatch):
    """With a planted mistake in the row addresses the rule declines instead of loading other elements."""
    from tirx.targets.cuda.rules import ldstmatrix

    right = ldstmatrix._Matrices.row_digits
    swapped = lambda self, lane: right(self, lane ^ 1)  # noqa: E731
    monkeypatch.setattr(ldstmatrix._Matrices, "row_digits", swapped)
    monkeypatch.setattr(ldstmatrix, "_CACHE", {})
    frag = fragment("float16", *MMA_A, shape=[32, 32])
    decision, _ = check_move(whole(frag), whole(buffer([32, 32], scope="shared")), "warp")
    assert decision.variant == "vec_auto"
    assert any("would receive another element" in r.reason for r in decision.rejections)


def test_misaligned_rows_do_not_use_matrix_loads():
    frag = fragment("float16", *MMA_A, shape=[32, 32])
    shared = buffer([32, 36], scope="shared")
    decision, _ = check_move(whole(frag), region(shared, (0, 32), (0, 32)), "warp")
    assert decision.variant == "vec_auto"
    assert "16-byte boundaries" in [r for r in decision.rejections if r.variant == "ldstmatrix"][0].reason


def test_targets_without_matrix_stores():
    frag, shared = fragment("float16", *MMA_A, shape=[32, 32]), buffer([32, 32], scope="shared")
    ctx = cuda_context("warp", features=["ldmatrix"])
    assert lower(tile_call("copy", whole(shared), whole(frag), scope="warp"), ctx)[1].variant == "vec_auto"
    assert lower(tile_call("copy", whole(frag), whole(shared), scope="warp"), ctx)[1].variant == "ldstmatrix"


# ---- symbolic extents and offsets ----


def test_offsets_keep_their_divisors():
    """The width depends on what is known of the offset, not on how it is written."""
    i = ir.Var("i")
    dst, src = buffer([64], "float32", "shared"), buffer([4096], "float32")
    for step, lanes in ((64, 4), (2, 2), (3, 1)):
        call = tile_call("copy", whole(dst), region(src, (i * step, 64)), scope="cta")
        decision = lower(call, cuda_context("cta", 16))[1]
        assert f"{4 * lanes}-byte" in decision.instructions[0]["instruction"]
    known = facts(divisors={i: 4})
    decision = lower(
        tile_call("copy", whole(dst), region(src, (i, 64)), scope="cta"),
        cuda_context("cta", 16, analyzer=known),
    )[1]
    assert "16-byte" in decision.instructions[0]["instruction"]


@pytest.mark.parametrize("rows, columns", [(0, 0), (5, 16), (8, 12), (3, 1)])
@pytest.mark.parametrize("variant", ["vec_auto", "fallback"])
def test_symbolic_extents_are_guarded(rows, columns, variant):
    m_, n_ = ir.Var("m"), ir.Var("n")
    dst, src = buffer([8, 16], "float32", "shared"), buffer([40, 40], "float32")
    known = facts({m_: (0, 9), n_: (0, 17)})
    call = tile_call(
        "copy", region(dst, (0, m_), (0, n_)), region(src, (2, m_), (4, n_)), scope="cta", dispatch=variant
    )
    stmt, decision = lower(call, cuda_context("cta", 32, analyzer=known))
    run_symbolic(
        stmt,
        {m_: rows, n_: columns},
        region(dst, (0, rows), (0, columns)),
        region(src, (2, rows), (4, columns)),
        32,
    )


def run_symbolic(stmt, env, dst, src, threads):
    m = Machine()
    for k, index in enumerate(box(src)):
        for _, place in places(src.buffer, index):
            m.memory[str(src.buffer.data.name)][place] = k + 1

    m.run(stmt, threads, T, env)
    check_result(m, dst, threads, False, lambda k: k + 1)


@pytest.mark.parametrize("n", [0, 1, 31, 100])
def test_unbounded_extents(n):
    """A symbolic extent without a bound: elements in turn, below the total."""
    size = ir.Var("n")
    src, dst = buffer([size], "float32"), buffer([size], "float32")
    stmt, decision = lower(tile_call("copy", whole(dst), whole(src), scope="cta"), cuda_context("cta", 32))
    assert decision.variant == "fallback"
    assert any("no constant bound" in r.reason for r in decision.rejections)
    run_symbolic(stmt, {size: n}, region(dst, (0, n)), region(src, (0, n)), 32)


# ---- fixed widths ----


@pytest.mark.parametrize("bits, lanes", [(128, 8), (64, 4), (32, 2), (16, 1)])
def test_fixed_width(bits, lanes):
    dst, src = buffer([32, 32], scope="shared"), buffer([32, 32])
    decision, m = check_move(whole(dst), whole(src), "cta", 32, dispatch=f"vec_{bits}b")
    assert decision.variant == f"vec_{bits}b" and set(n for _, n in m.widths) == {lanes}


def test_fixed_width_that_does_not_fit():
    dst, src = buffer([32, 36], scope="shared"), buffer([32, 36])
    with pytest.raises(DispatchError) as e:
        lower(tile_call("copy", whole(dst), whole(src), dispatch="vec_128b"), cuda_context("cta", 32))
    assert e.value.code == "forced-variant-declined" and "16-byte accesses" in e.value.found


def test_256_bits_need_the_feature():
    r, src = buffer([8], "float32", "local", align=32), buffer([64], "float32", align=32)
    call = tile_call("copy", whole(r), region(src, (8, 8)), dispatch="vec_256b")
    with pytest.raises(DispatchError) as e:
        lower(call, cuda_context("thread"))
    assert "no 256-bit" in e.value.found


# ---- copy_async ----


@pytest.mark.parametrize("columns, nbytes", [(64, 16), (100, 8), (102, 4)])
def test_cp_async_sizes(columns, nbytes):
    dst, src = buffer([16, 64], scope="shared"), buffer([16, columns])
    decision, m = check_move(whole(dst), region(src, (0, 16), (0, 64)), "cta", 32, op="copy_async")
    assert set(m.widths) == {("shared", nbytes // 2)}
    assert decision.instructions[0]["instruction"].startswith(f"cp.async.{'cg' if nbytes == 16 else 'ca'}")


def test_cp_async_limits():
    dst, src = buffer([16, 64], scope="shared"), buffer([16, 65])
    with pytest.raises(DispatchError) as e:
        lower(tile_call("copy_async", whole(dst), region(src, (0, 16), (0, 64))), cuda_context("cta", 32))
    assert "contiguous and aligned in both operands are 2" in e.value.required
    with pytest.raises(DispatchError) as e:
        lower(tile_call("copy_async", region(src, (0, 16), (0, 64)), whole(dst)), cuda_context("cta", 32))
    assert "not from shared to global" in e.value.required
    with pytest.raises(DispatchError) as e:
        call = tile_call("copy_async", whole(dst), whole(buffer([16, 64])), dispatch="tma_auto")
        lower(call, cuda_context("cta", 32))
    assert "tensor-map" in e.value.found


def test_cp_async_zero_fill():
    p = ir.Var("p")
    dst, src = buffer([32], scope="shared"), buffer([32])
    call = tile_call("copy_async", whole(dst), whole(src), config={"predicate": p < 3, "fill_mode": "zero"})
    stmt, _ = lower(call, cuda_context("cta", 4))
    for value, expected in ((2, range(1, 33)), (3, [0] * 32)):
        m = Machine()
        m.memory[str(src.data.name)] = {i: i + 1 for i in range(32)}
        m.run(stmt, 4, T, {p: value})
        assert [m.memory[str(dst.data.name)][i] for i in range(32)] == list(expected)


# ---- fill and cast ----


@pytest.mark.parametrize("op", ["fill", "memset", "zero"])
def test_fill(op):
    args = [] if op == "zero" else [7]
    frag = fragment("float32", *ACC, shape=[32, 16])
    for dst, scope in ((whole(frag), "warp"), (whole(buffer([31, 7], scope="shared")), "cta")):
        for variant in ("", "fallback"):
            ctx = cuda_context(scope)
            stmt, _ = lower(tile_call(op, dst, *args, scope=scope, dispatch=variant), ctx)
            m = Machine()
            m.run(stmt, ctx.num_threads, T)
            check_result(m, dst, ctx.num_threads, False, lambda k: args[0] if args else 0)


def test_fill_writes_every_replica():
    frag = fragment("float32", (16, 1, "laneid"), (4, 1, "m"), shape=[16, 4], replica=[(2, 16, "laneid")])
    stmt, _ = lower(tile_call("fill", whole(frag), 1.0, scope="warp"), cuda_context("warp"))
    m = Machine()
    m.run(stmt, 32, T)
    assert len(m.writes) == 32 * 4


def test_cast_in_registers_is_packed():
    src = fragment("float32", *ACC, shape=[32, 16])
    dst = fragment("float16", *ACC, shape=[32, 16])
    decision, m = check_move(whole(dst), whole(src), "warp", op="cast")
    assert decision.variant == "reg" and set(n for _, n in m.widths) == {2}
    ints = fragment("int32", *ACC, shape=[32, 16])
    _, m = check_move(whole(dst), whole(ints), "warp", op="cast")
    assert set(n for _, n in m.widths) == {1}


def test_cast_in_memory():
    dst, src = buffer([8, 20], "bfloat16", "shared"), buffer([8, 20], "float32")
    decision, m = check_move(whole(dst), whole(src), "cta", 32, op="cast")
    assert decision.variant == "smem" and m.widths["global", 4]
    check_move(whole(dst), whole(src), "cta", 32, op="cast", dispatch="fallback")


# ---- user errors ----


def expect(error, code, call, ctx):
    with pytest.raises(error) as e:
        lower(call, ctx)
    assert e.value.code == code and e.value.location.line == 7
    assert e.value.found and e.value.required
    return e.value


def test_shapes_must_agree():
    """copy (64, 1) -> (64, 64) is not a broadcast; a dropped dimension is a different rank."""
    big, thin = buffer([64, 64], "float32", "shared"), buffer([64, 1], "float32")
    e = expect(
        TypeMismatch, "operand-shapes-differ", tile_call("copy", whole(big), whole(thin)), cuda_context()
    )
    assert "float32[64, 64]" in e.found and "float32[64, 1]" in e.found
    cube = buffer([2, 64, 64], "float32")
    call = tile_call("copy", whole(big), whole(cube))
    expect(TypeMismatch, "operand-shapes-differ", call, cuda_context())
    check_move(whole(big), region(cube, 1, (0, 64), (0, 64)))


def test_dtypes_must_agree():
    call = tile_call("copy", whole(buffer([8], "float32", "shared")), whole(buffer([8], "float16")))
    assert "Tx.cast" in expect(TypeMismatch, "operand-dtypes-differ", call, cuda_context()).hint


def test_registers_need_a_fragment_layout():
    r = buffer([8, 8], "float32", "local")
    call = tile_call("copy", whole(r), whole(buffer([8, 8], "float32")), scope="warp")
    expect(ScopeError, "register-operand-without-layout", call, cuda_context("warp"))
    expect(ScopeError, "register-operand-without-layout", tile_call("fill", whole(r), 0), cuda_context("cta"))


def test_a_fragment_needs_its_scope():
    frag = fragment("float32", *ACC, shape=[32, 16])
    call = tile_call("copy", whole(frag), whole(buffer([32, 16], "float32")))
    e = expect(ScopeError, "distributed-operand-at-narrow-scope", call, cuda_context("thread"))
    assert "Tx.warp.copy" in e.hint


def test_a_fragment_needs_its_whole_team():
    frag = fragment("float32", *ACC, shape=[32, 16])
    ctx = cuda_context("warp")
    ctx.full, ctx.active = False, 16
    call = tile_call("copy", whole(frag), whole(buffer([32, 16], "float32")), scope="warp")
    assert "16 of 32" in expect(ScopeError, "partial-team", call, ctx).found


def test_operands_are_buffers():
    expect(TypeMismatch, "operand-not-a-buffer", tile_call("copy", whole(buffer([4])), 3), cuda_context())
