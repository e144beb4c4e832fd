"""Control flow: what is folded while parsing, what becomes IR, and what is refused."""

import pytest
from script_helpers import body_of, check, kinds, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.script import T, from_source


def one(func, cls):
    """The only top-level statement of a class."""
    found = [s for s in body_of(func) if isinstance(s, cls)]
    assert len(found) == 1
    return found[0]


def test_loops():
    @T.prim_func
    def f(A: T.Buffer((8, 8), "int32"), n: T.int32):
        for i in range(4):
            A[i, 0] = i
        for i in T.unroll(1, 5):
            A[i, 0] = i
        for i in T.vectorized(n):
            A[i, 0] = i
        for i, j in T.grid(4, n):
            A[i, j] = 0
        for i in range(n, n + 3):
            A[i, 0] = i

    loops = body_of(f)
    assert [s.kind for s in loops] == ["serial", "unroll", "vectorized", "serial", "serial"]
    assert loops[1].min.value == 1 and loops[1].extent.value == 4
    assert loops[4].extent.value == 3
    assert isinstance(loops[3].body, ir.For)


def test_a_step_counts_from_zero():
    @T.prim_func
    def f(A: T.Buffer((32,), "int32"), n: T.int32):
        for i in range(2, 11, 4):
            A[i] = i
        for i in T.serial(n, step=8):
            A[i] = i

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (32,), "int32")
    for i in T.serial(3):
        A[i * 4 + 2] = i * 4 + 2
    for i in T.serial((n + 8 - 1) // 8):
        A[i * 8] = i * 8
""",
    )


def test_loop_options():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int64):
        for i in T.serial(n):
            A[i] = 0
        for i in T.serial(4, unroll=2, annotations={"k": "v"}):
            A[i] = 0
        for i in T.serial(4, dtype="uint32"):
            A[i] = 0

    loops = body_of(f)
    assert [str(s.loop_var.dtype) for s in loops] == ["int64", "int32", "uint32"]
    assert dict(loops[1].annotations.items()) == {"k": "v", "pragma_unroll": 2}


def test_python_sequences_unroll():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), B: T.Buffer((8,), "int32")):
        for k, buf in enumerate([A, B]):
            buf[k] = k
            if k == 0:
                continue
            break
        for a, b in zip((1, 2), (3, 4)):
            A[a] = b

    assert kinds(f) == ["BufferStore"] * 4


def test_a_break_under_a_branch_cannot_leave_an_unrolled_loop():
    with pytest.raises(errors.ScriptError) as e:

        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            for k in [0, 1]:
                if n == k:
                    break

    assert e.value.code == "jump-in-block"


def test_while_break_continue():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        i = 0
        while i < n:
            i += 1
            if A[i] == 0:
                continue
            if A[i] == 1:
                break

    loop = one(f, ir.While)
    assert isinstance(loop.body.seq[1].then_case, ir.Continue)
    assert isinstance(loop.body.seq[2].then_case, ir.Break)


def test_while_true_and_false():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        while False:
            A[0] = 1
        while True:
            break

    assert kinds(f) == ["While"]


def test_python_conditions_fold_and_ir_conditions_do_not():
    flag = None

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        if flag is None:
            A[0] = 1
        elif n < 3:
            A[1] = 1
        if T.bool(True):
            A[2] = 1
        if A.shape[0] == 8:
            A[3] = 1

    assert kinds(f) == ["BufferStore", "IfThenElse", "BufferStore"]


def test_elif_nests():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        if n == 0:
            A[0] = 1
        elif n == 1:
            A[0] = 2
        else:
            A[0] = 3

    inner = one(f, ir.IfThenElse).else_case
    assert isinstance(inner, ir.IfThenElse) and inner.else_case.value.value == 3


def test_blocks_of_scopes_and_filters():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        T.device_entry()
        warp = T.warp_id([4])
        lane = T.lane_id([32])
        with T.cta(), T.warp():
            T.cuda.warp_sync()
        with T.filter(warp == 0):
            A[0] = 1
        with T.filter(warp, (0 <= warp) and (warp < 2)):
            A[1] = 1
        with T.tfilter(lane, 0, 16):
            A[2] = 1
        if T.filter(lane, lane == 0):
            A[3] = 1

    check(
        f,
        """
@T.prim_func
def f(a: T.handle):
    A = T.match_buffer(a, (8,), "int32")
    T.device_entry()
    warp = T.warp_id([4])
    lane = T.lane_id([32])
    with T.cta():
        with T.warp():
            T.cuda.warp_sync()
    with T.filter(warp == 0):
        A[0] = 1
    with T.filter(0 <= warp and warp < 2):
        A[1] = 1
    with T.filter(T.filter_range(lane, 0, 16)):
        A[2] = 1
    with T.filter(lane == 0):
        A[3] = 1
""",
    )


def test_assertions():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        assert n < 8, "n is small"
        assert n > 0
        assert len(A.shape) == 1
        T.static_assert(A.shape[0] == 8, "eight")

    assert [s.message for s in body_of(f)] == ["n is small", ""]

    with pytest.raises(errors.ScriptError, match="assertion failed"):

        @T.prim_func
        def g(A: T.Buffer((8,), "int32")):
            assert len(A.shape) == 2, "rank"

    with pytest.raises(errors.ScriptError, match="static assertion failed"):

        @T.prim_func
        def h(A: T.Buffer((8,), "int32")):
            T.static_assert(A.shape[0] == 4, "four")


def test_empty_bodies():
    @T.prim_func
    def f(n: T.int32):
        """Only a docstring."""
        if n < 3:
            pass

    assert len(one(f, ir.IfThenElse).then_case.seq) == 0


def test_helpers_can_open_blocks():
    def guarded(cond, A):
        with T.If(cond):
            with T.Then():
                A[0] = 1
            with T.Else():
                A[0] = 2
        with T.serial(4) as i:
            A[i] = 0

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        guarded(n < 3, A)

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    if n < 3:
        A[0] = 1
    else:
        A[0] = 2
    for i in T.serial(4):
        A[i] = 0
""",
    )


@pytest.mark.parametrize(
    "line, found",
    [
        ("x = lambda a: a", "a lambda"),
        ("import os", "import"),
        ("del A", "del"),
        ("try:\n        pass\n    except ValueError:\n        pass", "try"),
        ("raise ValueError", "raise"),
        ("class C:\n        pass", "a class definition"),
        ("global g", "global"),
        ("if (y := n) < 3:\n        pass", "an assignment expression (:=)"),
        ("async def g():\n        pass", "an async function"),
        ("for i in range(4):\n        pass\n    else:\n        pass", "an else branch of a loop"),
    ],
)
def test_python_outside_of_the_language_is_refused(line, found):
    with pytest.raises(errors.ScriptError) as e:
        from_source(
            f"@T.prim_func\ndef f(a: T.handle, n: T.int32):\n    A = T.match_buffer(a, (8,))\n    {line}\n"
        )
    assert e.value.code == "unsupported-construct" and e.value.found == found and e.value.location.line >= 4


def test_return_is_for_inline_functions():
    with pytest.raises(errors.ScriptError, match="a kernel returns nothing"):

        @T.prim_func
        def f(n: T.int32):
            if n < 3:
                return


@pytest.mark.parametrize(
    "line, code",
    [
        ("f(*3)", "not-iterable"),
        ("f(*n)", "not-iterable"),
        ("f(**3)", "not-a-mapping"),
        ("x = {**n}", "not-a-mapping"),
        ("x = {[1]: 2}", "python-error"),
        ("x = {[1]}", "python-error"),
        ("x = f'{3:zz}'", "python-error"),
        ("x = [1 for A[0] in [1]]", "unsupported-construct"),
        ("for A[0] in range(3):\n        pass", "unsupported-construct"),
        ("for A[0] in [3]:\n        pass", "unsupported-construct"),
        ("for i in n:\n        pass", "not-iterable"),
        ("for i, j in range(3):\n        pass", "unpack"),
        ("for i in T.grid(2, 3):\n        pass", "unpack"),
        ("for i in range(0, 8, 0):\n        pass", "python-error"),
        ("for i in range(1.5):\n        pass", "not-an-index"),
        ("for i in T.serial(4, step=-1):\n        pass", "bad-loop-step"),
        ("for i in range(n, 3, 2, 1):\n        pass", "python-error"),
        ("for i in T.serial(4, stride=2):\n        pass", "python-error"),
        ("with 3:\n        pass", "not-a-frame"),
        ("with T.filter(n):\n        pass", "bad-filter"),
        ("A", "no-effect"),
        ("if T.filter(n == 0):\n        pass\n    else:\n        pass", "filter-else"),
        ("A[0:4]", "no-effect"),
        ("T.serial(4)", "no-effect"),
        ("range(3)[5]", "python-error"),
        ("f = 3\n    f()", "not-callable"),
        ("x: 3 = 4", "bad-annotation"),
        ("x: T.let[3] = 4", "bad-annotation"),
        ("x: T.float32[4] = 4", "array-with-value"),
        ("A.x: T.int32 = 4", "unsupported-construct"),
        ("x, y = 3", "unpack"),
        ("if A:\n        pass", "not-a-value"),
        ("x = A in [A]", None),
        ("x = -A", "python-error"),
        ("T.static_assert(n < 3)", "static-assert"),
        ("return n", "return-in-kernel"),
        ("x = T.Select(n < 3, A, 0)", "not-a-value"),
        ("x = T.address_of(n)", "no-address"),
        ("T.evaluate(A)", "not-a-value"),
    ],
)
def test_mistakes_are_user_errors(line, code):
    """No mistake shows a raw Python exception: each has a code and the line."""
    text = f'@T.prim_func\ndef g(a: T.handle, n: T.int32):\n    A = T.match_buffer(a, (8,), "int32")\n    {line}\n'
    if code is None:
        from_source(text, names={"f": print})
        return
    with pytest.raises(errors.TirxError) as e:
        from_source(text, names={"f": print})
    assert (e.value.code, e.value.location.line >= 4) == (code, True)


def test_a_fault_of_the_parser_is_an_internal_error(monkeypatch):
    from tirx.script import tables

    monkeypatch.setitem(tables.STMT, __import__("ast").Pass, lambda ev, n: 1 // 0)
    with pytest.raises(errors.InternalError, match="the parser failed on this source:\n<fault>:3:5"):
        from_source("@T.prim_func\ndef f(n: T.int32):\n    pass\n", file="<fault>")
