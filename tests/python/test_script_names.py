"""What assignments mean: values known while parsing, lets, mutable scalars, and where names are visible."""

import pytest
from script_helpers import body_of, check, kinds, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.script import T


def test_a_name_assigned_once_is_a_let():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        x = n + 1
        A[0] = x * x

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    x: T.let = n + 1
    A[0] = x * x
""",
    )


def test_a_name_assigned_twice_is_a_mutable_scalar():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        x = n + 1
        if n < 3:
            x = 5
        x += 2
        A[0] = x

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    x = T.alloc_buffer((1,), "int32", scope="local")
    x[0] = n + 1
    if n < 3:
        x[0] = 5
    x[0] = x[0] + 2
    A[0] = x[0]
""",
    )


def test_an_annotated_scalar_has_the_given_dtype():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        x: T.float16 = 0
        y: T.int32
        y = 3
        A[y] = x

    buffers = [s.buffer for s in body_of(f) if isinstance(s, ir.AllocBuffer)]
    assert [(b.name, str(b.dtype), b.scope) for b in buffers] == [
        ("x", "float16", "local"),
        ("y", "int32", "local"),
    ]


def test_constants_and_variables_need_no_let():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        x = 4
        y = n
        A[x] = y

    assert kinds(f) == ["BufferStore"]


def test_the_two_arms_of_a_python_condition_count_as_one_assignment():
    wide = True

    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        if wide:
            n = 8
        else:
            n = 4
        b = T.alloc_local((n,), "int32")
        A[0] = b[0]

    assert body_of(f)[0].buffer.shape[0].value == 8


def test_meta_var_keeps_a_value_of_the_parser():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        at = T.meta_var(0)
        for step in [1, 2, 3]:
            A[at] = step
            at = T.meta_var(at + step)

    assert [s.indices[0].value for s in body_of(f)] == [0, 1, 3]


def test_a_let_with_a_type_converts_literals():
    @T.prim_func
    def f(A: T.Buffer((8,), "int64")):
        n: T.let[T.int64] = 5
        A[0] = n

    assert str(body_of(f)[0].value.dtype) == "int64"


def test_local_arrays():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32")):
        x: T.float32[2, 4]
        A[0] = x[1, 3]

    assert [e.value for e in body_of(f)[0].buffer.shape] == [2, 4]


def test_a_name_first_bound_in_a_block_ends_with_it():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        if n < 3:
            x = n * 2
            A[0] = x
        else:
            x = n * 3
            A[1] = x

    assert kinds(f) == ["IfThenElse"]

    with pytest.raises(errors.ScriptError, match="x is only defined inside the if at line"):

        @T.prim_func
        def g(A: T.Buffer((8,), "int32"), n: T.int32):
            if n < 3:
                x = n * 2
            A[0] = x


def test_a_value_cannot_be_rebound_under_a_branch():
    with pytest.raises(errors.ScriptError, match="B is bound outside of the if"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), C: T.Buffer((8,), "int32"), n: T.int32):
            B = A
            if n < 3:
                B = C
            B[0] = 1


def test_a_scalar_keeps_its_dtype():
    with pytest.raises(errors.TypeMismatch) as e:

        @T.prim_func
        def f(A: T.Buffer((8,), "float32"), n: T.int32):
            x = 0
            for i in T.serial(n):
                x = x + A[i]
            A[0] = x

    assert e.value.code == "mixed-dtypes" and "x: T.float32" in e.value.hint


def test_a_float_scalar_accepts_integers():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32"), n: T.int32):
        x = 0.0
        x = n
        x = 1
        A[0] = x

    assert kinds(f) == ["AllocBuffer"] + ["BufferStore"] * 4


def test_loop_variables_can_be_used_again():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        for i in range(4):
            A[i] = 0
        for i in range(8):
            A[i] = i

    assert kinds(f) == ["For", "For"]


def test_a_loop_variable_ends_with_its_loop():
    with pytest.raises(errors.ScriptError, match="i is only defined inside the for"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            for i in range(4):
                A[i] = 0
            A[0] = i


def test_undefined_names_suggest_others():
    with pytest.raises(errors.ScriptError) as e:

        @T.prim_func
        def f(Alpha: T.Buffer((8,), "int32")):
            Alpha[0] = Alhpa[1]

    assert e.value.code == "undefined-name" and "Alpha" in e.value.hint


def test_tuple_targets():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        x, y = n + 1, n + 2
        A[0] = x + y

    assert [s.var.name for s in body_of(f)[:2]] == ["x", "y"]

    with pytest.raises(errors.ScriptError, match="the values do not fit the targets"):

        @T.prim_func
        def g(A: T.Buffer((8,), "int32"), n: T.int32):
            x, y = n + 1, n + 2, n + 3


def test_a_call_without_value_cannot_be_bound():
    with pytest.raises(errors.TypeMismatch, match="no value"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            x = T.cuda.cta_sync()


def test_python_state_cannot_change_under_a_branch():
    class State:
        at = 0

    state = State()

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        state.at = 3
        A[state.at] = n

    assert body_of(f)[0].indices[0].value == 3 and state.at == 3

    with pytest.raises(errors.ScriptError) as e:

        @T.prim_func
        def g(A: T.Buffer((8,), "int32"), n: T.int32):
            if n < 3:
                state.at = 4
            A[state.at] = n

    assert e.value.code == "python-state-in-block" and state.at == 3


def test_symbolic_extents():
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        m, n = T.int32(), T.int64()
        A = T.match_buffer(a, (m, n), "float32")
        B = T.match_buffer(b, (n, m), "float32")
        A[0, 0] = B[0, 0]

    shape = f.param_buffers[0].shape
    assert [e.name for e in shape] == ["m", "n"] and str(shape[1].dtype) == "int64"
    assert f.param_buffers[1].shape[0].same_as(shape[1])

    with pytest.raises(errors.ScriptError, match="the symbolic extent k is not defined"):

        @T.prim_func
        def g(a: T.handle):
            k = T.int32()
            A = T.match_buffer(a, (k + 1,), "float32")


def test_symbolic_extents_in_annotations():
    @T.prim_func
    def f(A: T.Buffer(("n", 4), "float32"), B: T.Buffer(("n",), "float32")):
        A[0, 0] = B[0]

    assert f.param_buffers[0].shape[0].same_as(f.param_buffers[1].shape[0])


def test_items_of_python_objects():
    table = {}

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        table["k"] = n + 1
        A[0] = table["k"]

    assert ir.structural_equal(body_of(f)[0].value, f.params[1] + 1)
    with pytest.raises(errors.ScriptError) as e:

        @T.prim_func
        def g(A: T.Buffer((8,), "int32"), n: T.int32):
            for i in T.serial(n):
                table[0] = i

    assert e.value.code == "python-state-in-block"
    with pytest.raises(errors.ScriptError, match="TypeError"):

        @T.prim_func
        def h(A: T.Buffer((8,), "int32")):
            table[[1]] = 2
