"""@T.prim_func, @T.jit, @T.inline, @T.macro, @T.meta_class."""

import linecache

import pytest
from script_helpers import body_of, check, kinds, round_trip  # noqa: F401

from tirx import errors, ir
from tirx.script import T, from_source, module_from_source

OUTSIDE = 3


@T.inline
def store_outside(A, at):
    A[at] = OUTSIDE


def test_module_level_inline_reads_globals_late(monkeypatch):
    def make():
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            store_outside(A, 0)

        return f

    assert body_of(make())[0].value.value == 3
    monkeypatch.setitem(globals(), "OUTSIDE", 4)
    assert body_of(make())[0].value.value == 4


def test_inline_inside_a_kernel_sees_its_names_late():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        k = T.meta_var(1)

        @T.inline
        def put(at, scale=2):
            A[at] = n * scale + k

        put(0)
        k = T.meta_var(5)
        put(at=1, scale=3)

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    A[0] = n * 2 + 1
    A[1] = n * 3 + 5
""",
    )


def test_macro_is_hygienic_unless_told():
    k = 1

    @T.macro
    def own(A):
        A[0] = k

    @T.macro(hygienic=False)
    def callers(A):
        A[1] = k

    def make(k):
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            k = T.meta_var(7)
            own(A)
            callers(A)

        return f

    assert [s.value.value for s in body_of(make(5))] == [1, 7]


def test_inline_locals_do_not_leak():
    @T.inline
    def double(A, v):
        t = v + v
        A[0] = t

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        t = n * 3
        double(A, t)
        A[1] = t

    check(
        f,
        """
@T.prim_func
def f(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (8,), "int32")
    t: T.let = n * 3
    t2: T.let = t + t
    A[0] = t2
    A[1] = t
""",
    )


def test_an_inline_stores_to_scalars_it_is_given_or_sees():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        phase: T.int32 = 0
        count: T.int32 = 0

        @T.inline
        def flip(p):
            p = p ^ 1
            count = count + 1  # noqa: F823

        flip(phase)
        A[0] = phase + count

    check(
        f,
        """
@T.prim_func
def f(a: T.handle):
    A = T.match_buffer(a, (8,), "int32")
    phase = T.alloc_buffer((1,), "int32", scope="local")
    phase[0] = 0
    count = T.alloc_buffer((1,), "int32", scope="local")
    count[0] = 0
    phase[0] = phase[0] ^ 1
    count[0] = count[0] + 1
    A[0] = phase[0] + count[0]
""",
    )


def test_inline_values():
    @T.inline
    def pick(a, *rest, flag=True, **more):
        if flag:
            return a
        return rest[0] + more["k"]

    @T.prim_func
    def f(A: T.Buffer((8,), "int32"), n: T.int32):
        A[0] = pick(n)
        A[1] = pick(n, n + 1, flag=False, k=3)

    values = [s.value for s in body_of(f)]
    assert values[0].same_as(f.params[1])
    assert ir.structural_equal(values[1], f.params[1] + 1 + 3)


def test_return_under_a_branch_is_refused():
    @T.inline
    def pick(n):
        if n < 3:
            return 1
        return 2

    with pytest.raises(errors.ScriptError) as e:

        @T.prim_func
        def f(A: T.Buffer((8,), "int32"), n: T.int32):
            A[0] = pick(n)

    assert e.value.code == "jump-in-block"
    where, text = e.value.notes[0]
    assert "while expanding pick" in text and "A[0] = pick(n)" in where.render()


def test_inline_argument_errors():
    @T.inline
    def two(a, b):
        pass

    for call, found in (
        ("two(1)", "needs b"),
        ("two(1, 2, 3)", "takes 2"),
        ("two(1, 2, c=3)", "no parameter c"),
    ):
        with pytest.raises(errors.ScriptError) as e:
            from_source(f"@T.prim_func\ndef f(n: T.int32):\n    {call}\n", names={"two": two})
        assert found in e.value.found


def test_endless_expansion():
    @T.inline
    def again(A):
        again(A)

    with pytest.raises(errors.ScriptError, match="expands itself without end"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            again(A)


def test_a_plain_nested_function_is_refused():
    with pytest.raises(errors.ScriptError, match="is an inline function"):

        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            def g(x):
                return x


@T.meta_class
class State:
    def __init__(self, depth):
        self.stage = T.local_scalar("int32")
        self.depth = depth
        self.reset(0)

    @T.inline
    def reset(self, value):
        self.stage = value

    @T.inline
    def advance(self):
        self.stage = self.stage + 1
        if self.stage == self.depth:
            self.stage = 0


def test_meta_class():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        state = State(4)
        for i in T.serial(8):
            A[state.stage] = i
            state.advance()

    check(
        f,
        """
@T.prim_func
def f(a: T.handle):
    A = T.match_buffer(a, (8,), "int32")
    s = T.alloc_buffer((1,), "int32", scope="local")
    s[0] = 0
    for i in T.serial(8):
        A[s[0]] = i
        s[0] = s[0] + 1
        if s[0] == 4:
            s[0] = 0
""",
    )


def test_jit():
    @T.jit
    def f(A: T.handle, *, N: T.constexpr, M: T.constexpr = 2):
        B = T.match_buffer(A, (N, M), "float32")
        B[0, 0] = 0.0

    f4 = f.specialize(N=4)
    assert [e.value for e in f4.param_buffers[0].shape] == [4, 2]
    assert f.specialize(N=4) is f4 and f.specialize(N=4, M=3) is not f4
    with pytest.raises(errors.TypeMismatch, match="this cannot be an extent"):
        f.specialize(N=4.0)  # another value than 4, not the one in the cache
    with pytest.raises(errors.ScriptError, match="one value per T.constexpr"):
        f.specialize()
    with pytest.raises(errors.ScriptError, match="one value per T.constexpr"):
        f.specialize(N=4, K=3)
    with pytest.raises(errors.ScriptError, match="not a kernel yet"):
        f()


def test_jit_annotations_see_the_defining_function():
    def make(rows):
        @T.jit
        def f(A: T.Buffer((rows, 8), "float32"), *, K: T.constexpr):
            A[0, K] = 1.0

        return f

    f = make(16)
    assert f.specialize(K=3).param_buffers[0].shape[0].value == 16


def test_names_used_only_in_annotations():
    def make():
        M, K, dt = 16, 32, "float16"

        @T.prim_func
        def f(A: T.Buffer((M, K), dt)):
            A[0, 0] = T.float16(0)

        return f

    assert [e.value for e in make().param_buffers[0].shape] == [16, 32]


def test_a_cell_that_is_assigned_later_is_undefined():
    def make():
        @T.prim_func
        def f(A: T.Buffer((8,), "int32")):
            A[0] = later

        later = 3
        return f

    with pytest.raises(errors.ScriptError, match="name 'later' is not defined"):
        make()


def test_parameters():
    @T.prim_func
    def f(a: T.handle, p: T.handle("uint8", "global"), n: T.int32, x: T.float32, b: T.bool):
        pass

    assert [str(v.dtype) for v in f.params] == ["handle", "handle", "int32", "float32", "bool"]
    assert f.params[1].pointer.scope == "global" and str(f.params[1].pointer.element) == "uint8"
    assert [b is None for b in f.param_buffers] == [True] * 5


@pytest.mark.parametrize(
    "signature, found",
    [
        ("a", "no annotation"),
        ("a: 3", "3"),
        ("a: T.int32 = 5", "*args, **kwargs or a default value"),
        ("*a: T.int32", "*args, **kwargs or a default value"),
        ("a: T.constexpr", "T.constexpr on a positional parameter"),
        ("*, a: T.int32", "a keyword-only parameter"),
    ],
)
def test_bad_parameters(signature, found):
    with pytest.raises(errors.ScriptError) as e:
        from_source(f"@T.prim_func\ndef f({signature}):\n    pass\n")
    assert e.value.code == "bad-parameter" and e.value.found == found


def test_options_of_a_buffer_annotation():
    @T.prim_func
    def f(A: T.Buffer((8,), "float32", align=128, scope="global")):
        pass

    assert f.param_buffers[0].align == 128
    with pytest.raises(errors.ScriptError) as e:
        from_source('@T.prim_func\ndef f(A: T.Buffer((8,), "float32", aling=128)):\n    pass\n')
    assert e.value.code == "unknown-option" and e.value.found == "aling"


def test_match_buffer_binds_a_parameter_once():
    with pytest.raises(errors.ScriptError, match="bound to two buffers"):
        body = "    A = T.match_buffer(a, (8,))\n    B = T.match_buffer(a, (8,))\n"
        from_source("@T.prim_func\ndef f(a: T.handle):\n" + body)
    with pytest.raises(errors.ScriptError, match="binds a parameter"):
        from_source("@T.prim_func\ndef f(n: T.int32):\n    B = T.match_buffer(n, (8,))\n")


def test_attributes():
    @T.prim_func
    def f(A: T.Buffer((8,), "int32")):
        T.func_attr({"num_inputs": 2})
        T.device_entry()
        T.attr({"tirx.launch_bounds_min_blocks_per_sm": 2})
        T.attr({"key": [1, "two"]})
        T.hint("go fast", level=3)

    assert f.attrs["num_inputs"] == 2 and f.attrs["tirx.launch_bounds_min_blocks_per_sm"] == 2
    assert kinds(f) == ["DeviceEntry", "AttrStmt", "AttrStmt"]
    assert body_of(f)[2].value["message"] == "go fast"


def test_device_entry_is_written_once():
    for body in ("T.device_entry()\n    T.device_entry()", "if n < 3:\n        T.device_entry()"):
        with pytest.raises(errors.ScriptError, match="written once"):
            from_source(f"@T.prim_func\ndef f(n: T.int32):\n    {body}\n")


def test_functions_of_t_need_a_kernel():
    with pytest.raises(errors.ScriptError, match="only works while a kernel is being parsed"):
        T.alloc_local((4,), "float32")


def test_from_source_picks_a_function():
    text = "@T.prim_func\ndef f(n: T.int32):\n    pass\n\n@T.prim_func\ndef g(m: T.int64):\n    pass\n"
    assert from_source(text).name == "g" and from_source(text, name="f").name == "f"
    with pytest.raises(errors.ScriptError, match="no such function"):
        from_source(text, name="h")
    with pytest.raises(errors.ScriptError) as e:
        from_source("def f(:\n")
    assert e.value.code == "syntax" and e.value.location.line == 1


def test_modules():
    text = "@T.prim_func\ndef f(n: T.int32):\n    pass\n\n\n@T.prim_func\ndef g(m: T.int64):\n    pass\n"
    module = module_from_source('T.module_attr({"k": [1, "two"], "s": "x"})\n\n\n' + text)
    assert set(module.functions) == {"f", "g"} and list(module.attrs["k"]) == [1, "two"]
    for m in (module, module_from_source(text)):
        assert ir.first_difference(m, module_from_source(str(m))) is None
    for bad, code in (("x = 1\n" + text, "not-in-a-module"), ("", "no-function")):
        with pytest.raises(errors.ScriptError) as e:
            module_from_source(bad)
        assert e.value.code == code


def test_jit_with_postponed_annotations():
    text = """
from __future__ import annotations

@T.jit
def f(A: T.Buffer((N,), "float32"), *, N: T.constexpr):
    A[N - 1] = 0.0
"""
    linecache.cache["<jit>"] = (len(text), None, text.splitlines(True), "<jit>")
    scope = {"T": T}
    exec(compile(text, "<jit>", "exec"), scope)
    assert scope["f"].specialize(N=16).param_buffers[0].shape[0].value == 16
