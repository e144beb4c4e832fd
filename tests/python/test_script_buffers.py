"""Buffers in kernels: allocation, access, views, pointers, regions and their checks."""

import pytest
from script_helpers import body_of, check, kinds, round_trip  # noqa: F401

from tirx import errors, ir, layout
from tirx.script import T, Tx, from_source


def test_allocations():
    @T.prim_func
    def f():
        T.device_entry()
        a = T.alloc_buffer((4, 8), "float16", scope="shared.dyn", align=128, allocated_addr=256)
        b = T.alloc_shared(16)
        c = T.smem((16,), "int8")
        d = T.alloc_local([4], T.float16)
        e = T.tmem((128, 64), "float32")
        x = T.local_scalar("int32")
        y = T.shared_scalar("float32")
        x = 3
        y = x

    got = [s.buffer for s in body_of(f) if isinstance(s, ir.AllocBuffer)]
    scopes = ["shared.dyn", "shared", "shared", "local", "tmem", "local", "shared"]
    assert [b.name for b in got] == list("abcdexy") and [b.scope for b in got] == scopes
    assert got[0].align == 128 and got[0].allocated_addr.value == 256
    assert got[3].dtype == "float16" and got[3].data.pointer.scope == "local"
    assert kinds(f)[-2:] == ["BufferStore", "BufferStore"]


@pytest.mark.parametrize(
    "call, code",
    [
        ('T.alloc_buffer((4,), "float31")', "unknown-dtype"),
        ('T.alloc_buffer((4,), "float32", scope="sharde")', "unknown-memory-scope"),
        ('T.alloc_buffer((0,), "float32")', "bad-shape"),
        ('T.alloc_buffer((1.5,), "float32")', "not-an-index"),
        ('T.alloc_bufer((4,), "float32")', "unknown-attribute"),
        ('T.decl_buffer((4,), "float32", data=A)', "not-a-pointer"),
    ],
)
def test_bad_allocations(call, code):
    with pytest.raises(errors.TirxError) as e:
        from_source(f"@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (8,))\n    B = {call}\n")
    assert e.value.code == code and e.value.location.line == 4


def test_element_access():
    @T.prim_func
    def f(A: T.Buffer((8, 4), "float32"), n: T.int32):
        A[n, 3] = A[0, n + 1]
        A[n, 0] += 2.0
        A.vstore([n, 0], A.vload([0, 0], "float32x4"))

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8, 4), "float32")
    A[n, 3] = A[0, n + 1]
    A[n, 0] = A[n, 0] + T.float32(2.0)
    A[n, T.Ramp(0, 1, 4)] = A[0, T.Ramp(0, 1, 4)]
""",
    )


def test_pointers():
    @T.prim_func
    def f(A: T.Buffer((8, 4), "float32"), n: T.int32):
        p: T.let = A.ptr_to([n, 2])
        q = T.address_of(A[0, 0])
        B = T.decl_buffer((4,), "uint32", data=p, elem_offset=2)
        C = T.decl_buffer((32,), "float32", data=A.data)
        B[0] = 1
        C[0] = 0.0

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8, 4), "float32")
    p: T.let[T.handle("float32", "global")] = T.address_of(A[n, 2])
    q: T.let[T.handle("float32", "global")] = T.address_of(A[0, 0])
    B = T.decl_buffer((4,), "uint32", data=p, elem_offset=2, scope="global")
    C = T.decl_buffer((32,), "float32", data=A.data, scope="global")
    B[0] = 1
    C[0] = 0.0
""",
    )


def test_access_pointers_and_helper_definitions():
    def helper(A):
        return T.bind(A.access_ptr("r", offset=3), "q")

    @T.prim_func
    def f(A: T.Buffer((8, 4), "float32"), n: T.int32):
        q = helper(A)
        B = T.decl_buffer((4,), "float32", data=q)
        C = T.decl_buffer(4, "float32", scope="local")
        B[0] = C[0]

    assert kinds(f) == ["DeclBuffer", "Bind", "DeclBuffer", "AllocBuffer", "BufferStore"]
    with pytest.raises(errors.TypeMismatch, match="r, w or rw"):

        @T.prim_func
        def g(A: T.Buffer((8, 4), "float32")):
            p = A.access_ptr("x")


def test_a_pointer_is_bound_once():
    with pytest.raises(errors.TypeMismatch, match="assigned more than once"):

        @T.prim_func
        def f(A: T.Buffer((8, 4), "float32")):
            p = A.ptr_to([0, 0])
            p = A.ptr_to([1, 0])


def test_shape_views():
    @T.prim_func
    def f(A: T.Buffer((8, 4), "float32")):
        B = A.view(32)
        C = A.view(2, -1)
        D = A.view("uint16")
        E = A.view("float64")
        B[31] = 1.0
        C[1, 15] = 1.0
        D[7, 7] = 1
        E[7, 1] = 1.0

    views = [s.buffer for s in body_of(f) if isinstance(s, ir.DeclBuffer)]
    assert [[e.value for e in v.shape] for v in views] == [[32], [2, 16], [8, 8], [8, 2]]
    assert all(v.data.same_as(f.param_buffers[0].data) for v in views)
    with pytest.raises(errors.TypeMismatch, match="another number of elements"):

        @T.prim_func
        def g(A: T.Buffer((8, 4), "float32")):
            A.view(31)


def test_layout_views():
    frag = layout.TileLayout(layout.S[(8, 4, 2) : (4 @ layout.laneid, 1 @ layout.laneid, 1)])

    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        T.device_entry()
        r = T.alloc_buffer((8, 8), "float32", scope="local", layout=frag)
        mine = r.local()
        pair = r.local(1, 2)
        turned = r.permute(1, 0)
        seen = mine.view(8, 8, layout=frag)
        mine[1] = pair[0, 0]

    views = [s.buffer for s in body_of(f) if isinstance(s, ir.DeclBuffer)]
    assert [[e.value for e in v.shape] for v in views] == [[2], [1, 2], [8, 8], [8, 8]]
    assert views[0].layout is None and ir.structural_equal(views[3].layout, frag)
    assert turned_places(views[2].layout, frag)

    for call, text in (
        ("r.local(3)", "another number"),
        ("A.local()", "no layout"),
        ("r.permute(0, 0)", "each dim"),
    ):
        with pytest.raises(errors.TirxError, match=text):
            from_source(
                f"@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (8,))\n"
                f'    r = T.alloc_buffer((8, 8), "float32", scope="local", layout=frag)\n    {call}\n',
                names={"frag": frag},
            )


def turned_places(turned, plain):
    """turned(j, i) == plain(i, j) for all indices."""
    at = lambda L, i, j: {str(k): v for k, v in L.apply([i, j], shape=[8, 8]).items()}  # noqa: E731
    values = [(at(turned, j, i), at(plain, i, j)) for i in range(8) for j in range(8)]
    return all({k: int(v) for k, v in a.items()} == {k: int(v) for k, v in b.items()} for a, b in values)


def test_sub_views():
    @T.prim_func
    def f(A: T.Buffer((8, 4, 16), "float32"), n: T.int32):
        B = A.sub[n]
        C = A.sub[2:6, 1]
        D = A.sub[0, 0, 1::4]
        E = A.sub[0, 0, 4:8]
        B[0, 0] = C[0, 0]
        D[3] = E[3]

    views = [s.buffer for s in body_of(f) if isinstance(s, ir.DeclBuffer)]
    assert [[e.value for e in v.shape] for v in views] == [[4, 16], [4, 16], [4], [4]]
    assert ir.structural_equal(views[0].elem_offset, f.params[1] * 64, True)
    assert views[1].elem_offset.value == 2 * 64 + 16 and views[0].layout is None
    strides = [(i.extent.value, i.stride.value) for i in views[1].layout.shard]
    assert strides == [(4, 64), (16, 1)]
    assert [(i.extent.value, i.stride.value) for i in views[2].layout.shard] == [(4, 4)]
    assert views[3].elem_offset.value == 4 and views[3].layout is None


def test_sub_views_of_layouts():
    """Every element of the view is where the element of the buffer is."""
    swizzled = layout.mma_shared_layout("float16", layout.SwizzleMode.SWIZZLE_128B_ATOM, (4, 64, 64))

    @T.prim_func
    def f(n: T.int32):
        T.device_entry()
        tile = T.alloc_buffer((4, 64, 64), "float16", scope="shared", layout=swizzled)
        stage = tile.sub[2]
        part = tile.sub[1, 8:16]
        odd = tile.sub[3, 1::4]
        stage[0, 0] = part[0, 0] + odd[0, 0]

    tile, stage, part, odd = (s.buffer for s in body_of(f)[1:5])
    assert [[e.value for e in b.shape] for b in (stage, part, odd)] == [[64, 64], [8, 64], [16, 64]]
    for view, origin, step in ((stage, (2, 0), 1), (part, (1, 8), 1), (odd, (3, 1), 4)):
        for i, j in [(0, 0), (1, 1), (3, 9), (7, 63), (5, 32)]:
            got = view.layout.apply([i, j], shape=[e.value for e in view.shape])["m"]
            got += view.elem_offset.value
            assert got == swizzled.apply([origin[0], origin[1] + step * i, j], shape=[4, 64, 64])["m"]


def test_views_of_another_width_are_exact_or_refused():
    """Rows, starts and pitches that are whole numbers of the new elements, also of 4 and 6 bits."""
    padded = layout.TileLayout(layout.S[(8, 64) : (72, 1)])

    @T.prim_func
    def f(A: T.Buffer((8, 64), "float16"), n: T.int32):
        T.device_entry()
        rows = T.alloc_buffer((8, 64), "float16", scope="shared", layout=padded)
        words = rows.view("float32")
        half = A.sub[n].view("uint32")
        six = T.alloc_buffer((8, 16), "float6_e2m3fn", scope="shared")
        raw = six.view("uint8")
        words[0, 0] = T.float32(half[0]) + T.float32(raw[7, 11])

    views = {str(s.buffer.name): s.buffer for s in body_of(f) if isinstance(s, ir.DeclBuffer)}
    words, raw = views["words"], views["raw"]
    assert str(words.layout) == "S[(8, 32):(36, 1)]" and [e.value for e in words.shape] == [8, 32]
    assert [e.value for e in raw.shape] == [8, 12] and raw.layout is None
    for body, code in (
        ("A.sub[0, 1:5].view('float32')", "view-dtype"),  # starts at an odd half
        ("A.sub[0, n:n + 4].view('float32')", "view-dtype"),
        ("A.sub[0, 0:5].view('float32')", "view-dtype"),
    ):
        with pytest.raises(errors.TirxError) as e:
            from_source(
                "@T.prim_func\ndef f(A: T.Buffer((8, 64), 'float16'), n: T.int32):\n"
                f"    T.device_entry()\n    B = {body}\n    B[0] = 1.0\n"
            )
        assert e.value.code == code, body
    with pytest.raises(errors.LayoutError, match="consecutive, aligned groups"):

        @T.prim_func
        def g(A: T.Buffer((8, 64), "float16")):
            T.device_entry()
            B = A.view(8, 64, layout=layout.TileLayout(layout.S[(8, 64) : (65, 1)])).view("float32")
            B[0, 0] = 1.0


def test_bad_sub_views():
    for key, code in (
        ("0, 0, 0, 0", "wrong-number-of-indices"),
        ("::3", "strided-view"),
        ("9", "index-out-of-range"),
    ):
        with pytest.raises(errors.TirxError) as e:
            from_source(head("(8, 4, 16)") + f"    B = A.sub[{key}]\n")
        assert e.value.code == code, key


def head(shape, params="n: T.int32"):
    """The first lines of a function with one buffer A."""
    return f"@T.prim_func\ndef f(a: T.handle, {params}):\n    A = T.match_buffer(a, {shape})\n"


def region(key, shape="(8, 64)", params="n: T.int32"):
    text = head(shape, params) + f"    Tx.copy({key}, {key})\n"
    return body_of(from_source(text))[0].args[0], from_source(text)


def test_regions():
    whole, _ = region("A")
    assert [(r.min.value, r.extent.value) for r in whole.region] == [(0, 8), (0, 64)]
    part, f = region("A[n, n * 4:n * 4 + 4]")
    assert [r.extent.value for r in part.region] == [1, 4] and list(part.squeezed) == [0]
    tail, _ = region("A[4:, :16]")
    assert [(r.min.value, r.extent.value) for r in tail.region] == [(4, 4), (0, 16)]
    point, _ = region("A[1, 2]")
    assert list(point.squeezed) == [0, 1]
    other, _ = region("A[0, n * 4:(n + 1) * 4]")
    assert other.region[1].extent.value == 4
    later, f = region("A[0, n * 8 + 8:(n + 2) * 8]")
    assert later.region[1].extent.value == 8
    nested, f = region("A[0, (n // 3 - n) * 4:(3 + n // 3 - n) * 4]")
    assert nested.region[1].extent.value == 12


def test_symbolic_regions():
    text = """
@T.prim_func
def f(a: T.handle, n: T.int32):
    m = T.int32()
    A = T.match_buffer(a, (m,))
    Tx.copy(A[n:m], A[0:m])
    Tx.copy(A[0:n], A[n:n + n])
"""
    first, second = body_of(from_source(text))
    assert ir.structural_equal(
        first.args[0].region[0].extent, first.args[1].region[0].extent - first.args[0].region[0].min, True
    )
    assert second.args[1].region[0].extent.same_as(second.args[0].region[0].extent)


@pytest.mark.parametrize(
    "key, code, found, required",
    [
        ("A[8, 0]", "index-out-of-range", "index 8", "0 to 7"),
        ("A[-1, 0]", "index-out-of-range", "index -1", "0 to 7"),
        ("A[0:9, 0:64]", "index-out-of-range", "elements 0 to 8", "0 to 7"),
        ("A[n, 60:68]", "index-out-of-range", "elements 60 to 67", "0 to 63"),
        ("A[n, n:n + 65]", "index-out-of-range", "65 elements", "0 to 63"),
        ("A[-2:, 0]", "index-out-of-range", "a slice from -2", "0 to 7"),
        ("A[4:4, 0]", "empty-slice", "0 elements", "start < stop"),
        ("A[0:8:2, 0]", "strided-slice", "a slice with a step", "start:stop"),
        ("A[0]", "wrong-number-of-indices", "1 index", "2, one per dimension of A[8, 64]"),
        ("A[0, 0, 0]", "wrong-number-of-indices", "3 indices", "2, one per dimension of A[8, 64]"),
        ("A[0, 1.5]", "not-an-index", "1.5 (float)", "an integer or an integer expression"),
        ("A[0, A]", "not-an-index", "the buffer A", "an integer or an integer expression"),
        ("n[0]", "not-a-buffer", "an IR value of int32", "a buffer"),
    ],
)
def test_bad_subscripts(key, code, found, required):
    with pytest.raises(errors.TirxError) as e:
        region(key)
    assert (e.value.code, e.value.found, e.value.required) == (code, found, required)
    assert e.value.location.line == 4


def test_the_last_elements_are_legal():
    region("A[7, 63]")
    region("A[0:8, 0:64]")
    region("A[7:8, 63:64]")


def test_regions_are_not_assigned():
    for line in ("A[0:4, 0] = 1.0", "A[:, 0] += 1.0"):
        with pytest.raises(errors.ScriptError) as e:
            from_source(
                f"@T.prim_func\ndef f(a: T.handle):\n    A = T.match_buffer(a, (8, 64))\n    {line}\n"
            )
        assert e.value.code == "slice-store" and "Tx.fill" in e.value.hint


def test_helpers_use_buffers_as_python():
    def helper(A, n):
        A[0, n] = A[n, 1] + A.shape[0]
        T.buffer_store(A, 1.0, [1, 1])
        Tx.copy(A[0:2, n], A[2:4, n])

    @T.prim_func
    def f(A: T.Buffer((8, 64), "float32"), n: T.int32):
        T.device_entry()
        helper(A, n)

    assert kinds(f)[1:] == ["BufferStore", "BufferStore", "TilePrimitiveCall"]

    def wrong(A):
        return A[8, 0]

    with pytest.raises(errors.TypeMismatch, match="out of range") as e:

        @T.prim_func
        def g(A: T.Buffer((8, 64), "float32")):
            wrong(A)

    assert "wrong(A)" in e.value.location.render()


def test_cast_fragments_and_register_tiles():
    @T.prim_func
    def f():
        T.device_entry()
        r = T.wg_reg_tile(8, "float32")
        h = T.alloc_cast_frag(r, "float16")

    r, h = (s.buffer for s in body_of(f)[1:])
    assert [e.value for e in r.shape] == [128, 8] and str(h.dtype) == "float16"
    assert ir.structural_equal(r.layout, h.layout)
