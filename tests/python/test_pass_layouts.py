"""ApplyLayouts: logical accesses against the definition of layouts, widths of offsets, views."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scope_helpers import evaluate, kernel, passed, resolve
from tile_eval import layout_place

from tirx import ir
from tirx.errors import LayoutError
from tirx.layout import ComposeLayout, Iter, TileLayout
from tirx.script import from_source


def flatten(func):
    return passed("apply_layouts")(resolve(func))


def find(node, cls):
    """All nodes of a class below a function's body, in order."""
    out = []

    def visit(n):
        if isinstance(n, cls):
            out.append(n)
        if isinstance(n, ir.SeqStmt):
            children = list(n.seq)
        elif isinstance(n, ir.IfThenElse):
            children = [n.cond, n.then_case, *([n.else_case] if n.else_case is not None else [])]
        else:
            names = ("value", "body", "buffer", "a", "b", "base")
            children = [getattr(n, f) for f in names if hasattr(n, f)]
            children += [c for f in ("indices", "args") if hasattr(n, f) for c in getattr(n, f)]
        for c in children:
            visit(c)

    visit(node.body)
    return out


def store_of(buffer, indices):
    """A kernel that stores to buffer[indices] once, flattened: the native store."""
    body = ir.SeqStmt(
        [
            ir.DeviceEntry(),
            *([] if buffer.scope == "global" else [ir.AllocBuffer(buffer)]),
            ir.BufferStore(buffer, ir.const(0, buffer.dtype), indices),
        ]
    )
    params = ([ir.Var("p", "handle")], [buffer]) if buffer.scope == "global" else ([], [])
    (store,) = find(flatten(ir.PrimFunc("f", *params, body)), ir.BufferStore)
    return store


@st.composite
def layouts(draw):
    """(shape, layout) with memory iters in any order, possibly padded and swizzled."""
    dims = draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3))
    parts = [n for d in dims for n in ([d] if d < 4 or draw(st.booleans()) else [d // 2, 2])]
    strides, step = [0] * len(parts), draw(st.sampled_from([1, 2]))
    for i in draw(st.permutations(range(len(parts)))):
        strides[i], step = step, step * parts[i]
    offset = {"m": draw(st.integers(0, 5))}
    tile = TileLayout.from_iters([Iter(n, s, "m") for n, s in zip(parts, strides)], [], offset)
    if draw(st.booleans()):
        bits = draw(st.integers(0, 2))
        return dims, ComposeLayout(draw(st.integers(0, 2)), bits, bits + draw(st.integers(0, 1)), tile)
    return dims, tile


@settings(max_examples=80, deadline=None)
@given(layouts(), st.sampled_from(["local", "shared", "global"]), st.integers(0, 3))
def test_an_access_goes_where_the_layout_says(case, scope, elem_offset):
    shape, layout = case
    data = ir.Var("d", "handle", ir.PointerType("float32", scope))
    b = ir.Buffer("b", data, shape, "float32", layout, scope, elem_offset if scope == "global" else 0)
    names = [ir.Var(f"i{k}") for k in range(len(shape))]
    store = store_of(b, names)
    (extent,) = store.buffer.shape
    for index in itertools.product(*map(range, shape)):
        place = evaluate(store.indices[0], {f"i{k}": v for k, v in enumerate(index)})
        assert place == layout_place(b, index) + int(b.elem_offset)
        assert place < int(extent)


# ---- width of offsets (an offset past 2^31 needs 64 bits) ----


def offset_dtype(shape, indices):
    b = ir.Buffer.make("b", shape, "uint8")
    return store_of(b, indices).indices[0]


def test_a_constant_index_past_32_bits():
    e = offset_dtype([2**32], [ir.const(2**31 + 5, "int64")])
    assert (e.dtype, e.value) == ("int64", 2**31 + 5)


def test_a_product_past_32_bits():
    row = ir.Var("row")
    e = offset_dtype([32768, 131072], [row, ir.const(0, "int32")])
    assert e.dtype == "int64" and evaluate(e, {"row": 16384}) == 2**31
    # The product itself is made in 64 bits: the row is widened first.
    assert all(n.dtype == "int64" for n in (e, e.a)) and isinstance(e.a, ir.Cast)


def test_offsets_that_fit_stay_narrow():
    assert offset_dtype([16383, 131072], [ir.Var("row"), ir.Var("col")]).dtype == "int32"
    assert offset_dtype([2**31 - 1], [ir.Var("i")]).dtype == "int32"
    assert offset_dtype([2**31], [ir.Var("i")]).dtype == "int64"


def test_symbolic_extents_are_wide():
    n = ir.Var("n")
    e = offset_dtype([n, n], [ir.Var("i"), ir.Var("j")])
    assert e.dtype == "int64"
    assert evaluate(e, {"n": 2**20, "i": 2**20 - 1, "j": 3}) == (2**20 - 1) * 2**20 + 3


def test_symbolic_strides_are_wide():
    n, ld = ir.Var("n"), ir.Var("ld")
    layout = TileLayout.from_iters([Iter(n, ld, "m"), Iter(64, 1, "m")])
    store = store_of(ir.Buffer.make("b", [n, 64], "uint8", layout=layout), [ir.Var("i"), ir.Var("j")])
    values = {"n": 2**16, "ld": 2**16, "i": 2**16 - 1, "j": 63}
    (extent,) = store.buffer.shape
    assert store.indices[0].dtype == "int64" and extent.dtype == "int64"
    assert evaluate(store.indices[0], values) == (2**16 - 1) * 2**16 + 63 == evaluate(extent, values) - 1


# ---- distributed buffers ----

FRAGMENT = """
lane = T.lane_id([32])
F = T.alloc_buffer((32, 4), "float32", scope="local", layout=T.TileLayout(T.S[(32, 4) : (1 @ T.laneid, 1)]))
"""


def test_an_element_of_a_distributed_buffer():
    """A serial loop over a fragment (tilelang#2393, #3022, #3033) says what to use instead."""
    with pytest.raises(LayoutError) as e:
        flatten(kernel(FRAGMENT + "for i in range(4):\n    F[3, i] = 0.0"))
    assert e.value.code == "distributed-access" and e.value.location.line == 8
    assert e.value.message == "'F' is distributed over 32 threads and has no elements to index"
    assert e.value.required == "a tile primitive, which knows who owns which element"
    assert e.value.hint == (
        "use Tx.copy, Tx.cast or a reduction (Tx.sum, Tx.max); `F.local()` is what this thread owns"
    )


def test_what_a_thread_owns_can_be_indexed():
    func = flatten(kernel(FRAGMENT + "mine = F.local()\nfor i in range(4):\n    mine[i] = 0.0"))
    (alloc,) = find(func, ir.AllocBuffer)
    assert int(alloc.buffer.shape[0]) == 4
    (store,) = find(func, ir.BufferStore)
    assert store.buffer.same_as(alloc.buffer)


# ---- views ----


def test_views_of_the_same_dtype_are_their_storage():
    body = """
B = T.alloc_buffer((8, 8), "float32", scope="local")
V = T.decl_buffer((4, 4), "float32", data=B.data, elem_offset=16, scope="local")
V[1, 2] = 1.0
"""
    func = flatten(kernel(body))
    assert find(func, ir.DeclBuffer) == []
    (store,) = find(func, ir.BufferStore)
    assert int(store.indices[0]) == 16 + 6 and int(store.buffer.shape[0]) == 64


def test_views_of_another_dtype_are_one_alias():
    body = """
B = T.alloc_buffer((8,), "float16", scope="local")
for i in range(2):
    V = T.decl_buffer((2,), "uint32", data=B.data, elem_offset=2, scope="local")
    V[i] = T.uint32(0)
W = T.decl_buffer((4,), "uint32", data=B.data, scope="local")
W[3] = T.uint32(1)
"""
    func = flatten(kernel(body))
    (alias,) = find(func, ir.DeclBuffer)
    (alloc,) = find(func, ir.AllocBuffer)
    first, second = find(func, ir.BufferStore)
    assert first.buffer.same_as(alias.buffer) and second.buffer.same_as(alias.buffer)
    assert int(alias.buffer.shape[0]) == 4 and alloc.buffer.align == 4
    assert evaluate(first.indices[0], {"i": 1}) == 3


def test_pointers_computed_by_the_program():
    body = """
B = T.alloc_buffer((64,), "float32", scope="shared")
p: T.let[T.handle("float32", "shared")] = T.address_of(B[16])
V = T.decl_buffer((4, 4), "float32", data=p, scope="shared")
V[1, 2] = 1.0
"""
    func = flatten(kernel(body))
    (decl,) = find(func, ir.DeclBuffer)
    (store,) = find(func, ir.BufferStore)
    assert store.buffer.same_as(decl.buffer) and int(store.indices[0]) == 6
    (load,) = find(func, ir.BufferLoad)
    assert int(load.indices[0]) == 16


def test_the_signature_keeps_shapes():
    func = flatten(from_source(
        "@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (4, 8), 'float32')\n"
        "    T.device_entry()\n    A[1, 2] = 1.0\n"
    ))  # fmt: skip
    assert [int(n) for n in func.param_buffers[0].shape] == [32]
    assert [int(n) for n in func.attrs["tirx.signature"][0].shape] == [4, 8]


# ---- vector accesses ----


def vector_store(layout, lanes, first="0"):
    text = f", layout={layout}" if layout else ""
    return flatten(kernel(
        f'tx = T.thread_id([32])\nB = T.alloc_buffer((32, 16), "float32", scope="shared"{text})\n'
        f"B[tx, T.Ramp({first}, 1, {lanes})] = T.Broadcast(T.float32(0), {lanes})"
    ))  # fmt: skip


def test_vectors_of_consecutive_elements():
    func = vector_store(None, 4)
    (store,) = find(func, ir.BufferStore)
    assert isinstance(store.indices[0], ir.Ramp) and store.buffer.align == 16
    # Swizzled by whole groups of four elements: aligned groups stay together.
    (store,) = find(vector_store("T.ComposeLayout(2, 2, 2, T.TileLayout(T.S[(32, 16) : (16, 1)]))", 4, "4"),
                    ir.BufferStore)  # fmt: skip
    assert isinstance(store.indices[0], ir.Ramp)


@pytest.mark.parametrize(
    "layout, first",
    [
        ("T.TileLayout(T.S[(32, 16) : (1, 32)])", "0"),  # column-major
        ("T.ComposeLayout(1, 2, 3, T.TileLayout(T.S[(32, 16) : (16, 1)]))", "0"),  # groups of two
        ("T.ComposeLayout(2, 2, 2, T.TileLayout(T.S[(32, 16) : (16, 1)]))", "2"),  # across two groups
    ],
)
def test_vectors_that_a_layout_scatters(layout, first):
    with pytest.raises(LayoutError) as e:
        vector_store(layout, 4, first)
    assert e.value.code == "vector-access-scattered"
