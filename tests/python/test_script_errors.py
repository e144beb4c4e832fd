"""The full text of the parser's errors. Each failing line has a legal neighbour that must keep working.

`errors` in the name of a case is the text that a user reads: pinned, because a message is an interface.
"""

import textwrap

import pytest

from tirx import errors
from tirx.script import T, from_source

HEAD = """\
@T.prim_func
def kernel(a: T.handle, n: T.int32):
    A = T.match_buffer(a, (64, 32), "float16")
    T.device_entry()
"""

# (name, failing lines, text of the error, legal lines)
CASES = [
    (
        "undefined name",
        "A[0, 0] = A[nn, 0]",
        """
        [undefined-name] name 'nn' is not defined
          at <kernel>:5:17
              5 |     A[0, 0] = A[nn, 0]
                                  ^^
          found:    nn
          required: a name bound in the kernel, its closure, its module or builtins
          help:     did you mean n?
        """,
        "A[0, 0] = A[n, 0]",
    ),
    (
        "negative index",
        "A[0, 0] = A[-1, 0]",
        """
        [index-out-of-range] out of range in dimension 0 of A[64, 32]
          at <kernel>:5:17
              5 |     A[0, 0] = A[-1, 0]
                                  ^^
          found:    index -1
          required: 0 to 63
          help:     indices do not count from the end: write the extent minus one
        """,
        "A[0, 0] = A[63, 0]",
    ),
    (
        "slice past the end",
        "Tx.cta.copy(A[60:68, 0:32], A[0:8, 0:32])",
        """
        [index-out-of-range] out of range in dimension 0 of A[64, 32]
          at <kernel>:5:19
              5 |     Tx.cta.copy(A[60:68, 0:32], A[0:8, 0:32])
                                    ^^^^^
          found:    elements 60 to 67
          required: 0 to 63
        """,
        "Tx.cta.copy(A[56:64, 0:32], A[0:8, 0:32])",
    ),
    (
        "wrong rank",
        "A[0] = 1.0",
        """
        [wrong-number-of-indices] buffer A is indexed with the wrong rank
          at <kernel>:5:5
              5 |     A[0] = 1.0
                      ^^^^
          found:    1 index
          required: 2, one per dimension of A[64, 32]
        """,
        "A[0, 0] = 1.0",
    ),
    (
        "unknown primitive",
        "Tx.warp.coppy(A, A)",
        """
        [unknown-attribute] Tx.warp has no 'coppy'
          at <kernel>:5:5
              5 |     Tx.warp.coppy(A, A)
                      ^^^^^^^^^^^^^
          found:    .coppy
          required: an attribute of Tx.warp
          help:     did you mean copy?
        """,
        "Tx.warp.copy(A, A)",
    ),
    (
        "unknown function",
        "x = T.alloc_bufer((4,))",
        """
        [unknown-attribute] T has no 'alloc_bufer'
          at <kernel>:5:9
              5 |     x = T.alloc_bufer((4,))
                          ^^^^^^^^^^^^^
          found:    .alloc_bufer
          required: an attribute of T
          help:     did you mean alloc_buffer?
        """,
        "x = T.alloc_buffer((4,))",
    ),
    (
        "conditional expression with effects",
        'x = T.cuda.func_call("f", source_code="", return_type="int32") if n < 3 else 0',
        """
        [effect-in-expression] an arm of `a if c else b` has effects
          at <kernel>:5:9
              5 |     x = T.cuda.func_call("f", source_code="", return_type="int32") if n < 3 else 0
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          found:    a call of tx.func_call
          required: an expression without effects, because it may not be evaluated
          help:     write an `if` statement
        """,
        "x = n + 1 if n < 3 else 0",
    ),
    (
        "attribute written under a branch",
        "if n < 3:\n    state.at = 1",
        """
        [python-state-in-block] the attribute 'at' of a Python object is changed inside a run-time block
          at <kernel>:6:9
              6 |         state.at = 1
                          ^^^^^^^^
          found:    a change while parsing that would not depend on the branch or loop
          required: a change outside of run-time `if`, `for` and `while`
          help:     keep run-time state in a scalar: T.local_scalar(dtype), or `x: T.int32 = ...`
        """,
        "state.at = 1\nif n < 3:\n    A[state.at, 0] = 1.0",
    ),
    (
        "name of a branch used after it",
        "if n < 3:\n    x = n + 1\nA[x, 0] = 1.0",
        """
        [name-out-of-scope] x is only defined inside the if at line 5
          at <kernel>:7:7
              7 |     A[x, 0] = 1.0
                        ^
          found:    a use of x after the if
          required: a definition that reaches this line on every path
          help:     declare `x: T.int32` (or another dtype) before the if, assign to it inside
        """,
        "x: T.int32 = 0\nif n < 3:\n    x = n + 1\nA[x, 0] = 1.0",
    ),
    (
        "calling a PrimFunc",
        "other(A)",
        """
        [prim-func-called] other is a PrimFunc: it is compiled, not called
          at <kernel>:5:5
              5 |     other(A)
                      ^^^^^^^^
          found:    a call of other(...) inside a kernel
          required: @T.inline functions, T and Tx calls, or Python functions
          help:     decorate other with @T.inline to expand its body here
        """,
        "expanded(A)",
    ),
    (
        "a Python construct outside of the language",
        "try:\n    pass\nfinally:\n    pass",
        """
        [unsupported-construct] this Python construct is not in the language
          at <kernel>:5:5
              5 |     try:
                      ^^^^
          found:    try
          required: a construct of the list in docs/language.md
          help:     compute it in a Python function outside of the kernel and call that function here
        """,
        "pass",
    ),
    (
        "operand of a tile call",
        "Tx.cta.copy(A, n)",
        """
        [operand-not-a-buffer] src of Tx.cta.copy is a buffer or a part of one
          at <kernel>:5:5
              5 |     Tx.cta.copy(A, n)
                      ^^^^^^^^^^^^^^^^^
          found:    an IR value of int32
          required: a buffer, or buffer[a:b, ...]
          help:     T.copy works on values
        """,
        "Tx.cta.copy(A, A)",
    ),
    (
        "arguments of a tile call",
        "Tx.warp.gemm(A, A, A)",
        """
        [tile-arguments] the arguments of Tx.warp.gemm do not fit its signature
          at <kernel>:5:5
              5 |     Tx.warp.gemm(A, A, A)
                      ^^^^^^^^^^^^^^^^^^^^^
          found:    no C
          required: gemm(D, A, B, C, transpose_A=False, transpose_B=False, alpha=1.0, beta=0.0)
        """,
        "Tx.warp.gemm(A, A, A, A)",
    ),
    (
        "memory scope",
        'x = T.alloc_buffer((4,), "float32", scope="sharde")',
        """
        [unknown-memory-scope] there is no memory scope 'sharde'
          at <kernel>:5:9
              5 |     x = T.alloc_buffer((4,), "float32", scope="sharde")
                          ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
          found:    'sharde'
          required: global, shared, shared.dyn, local, tmem, trn.sbuf, trn.psum, trn.hbm
          help:     did you mean shared?
        """,
        'x = T.alloc_buffer((4,), "float32", scope="shared")',
    ),
    (
        "failure of Python code",
        "A[table['b'], 0] = 1.0",
        """
        [python-error] this failed
          at <kernel>:5:7
              5 |     A[table['b'], 0] = 1.0
                        ^^^^^^^^^^
          found:    KeyError: 'b'
        """,
        "A[table['a'], 0] = 1.0",
    ),
    (
        "scalar of another dtype",
        "x = 0\nx = A[0, 0]",
        """
        [mixed-dtypes] x was created as int32 and gets a value of another dtype
          at <kernel>:6:5
              6 |     x = A[0, 0]
                      ^^^^^^^^^^^
          found:    float16
          required: int32
          help:     declare the dtype: `x: T.float16 = ...`, or convert the value
        """,
        "x = 0\nx = n",
    ),
    (
        "a power of an IR value",
        "A[0, 0] = A[0, 0] ** 2",
        """
        [operator-not-defined] `**` on an IR value
          at <kernel>:5:15
              5 |     A[0, 0] = A[0, 0] ** 2
                                ^^^^^^^^^^^^
          found:    float16 ** int
          required: a product, or T.pow(x, y) on floats
        """,
        "A[0, 0] = T.pow(A[0, 0], 2)",
    ),
]


class State:
    at = 0


@T.inline
def expanded(A):
    A[0, 0] = 1.0


def names():
    other = from_source("@T.prim_func\ndef other(n: T.int32):\n    pass\n", file="<other>")
    return {"state": State(), "other": other, "expanded": expanded, "table": {"a": 1}}


def parse(lines):
    return from_source(HEAD + textwrap.indent(lines, "    ") + "\n", names=names(), file="<kernel>")


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_text_of_the_error(case):
    _, lines, text, _ = case
    with pytest.raises(errors.TirxError) as e:
        parse(lines)
    assert str(e.value) == textwrap.dedent(text).strip()


@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_the_legal_neighbour(case):
    parse(case[3])


def test_missing_device_entry():
    def make(entry):
        @T.prim_func
        def kernel(a: T.handle):
            A = T.match_buffer(a, (64, 32), "float16")
            if entry:
                T.device_entry()
            bx = T.cta_id([4])

        return kernel

    make(True)
    with pytest.raises(errors.ScriptError) as e:
        make(False)
    line = e.value.location.line
    text = f"""
        [missing-device-entry] this kernel has no T.device_entry()
          at {__file__}:{line}:18
          {line:5d} |             bx = T.cta_id([4])
                                   ^^^^^^^^^^^^^
          found:    T.cta_id(...) before any T.device_entry()
          required: T.device_entry() between the argument bindings and the kernel
          help:     write T.device_entry() after the last T.match_buffer
        """
    assert str(e.value) == textwrap.dedent(text).strip()


def test_unknown_instructions():
    parse("T.cuda.cta_sync()")
    with pytest.raises(errors.TirxError) as e:
        parse("T.cuda.cta_snyc()")
    lines = str(e.value).splitlines()
    assert e.value.code == "unknown-instruction" and "cta_sync" in str(e.value)
    assert lines[1:4] == ["  at <kernel>:5:5", "      5 |     T.cuda.cta_snyc()", " " * 14 + "^" * 17]


def test_deep_expressions():
    with pytest.raises(errors.TirxError) as e:
        parse("A[0, 0] = A[n" + " + n" * 100_000 + ", 0]")
    lines = str(e.value).splitlines()
    assert lines[0] == "[expression-too-deep] this expression is nested too deeply to be parsed"
    assert lines[1] == "  at <kernel>:5:1"
    assert lines[-3:] == [
        "  found:    an expression about 100002 levels deep",
        "  required: at most 1000 levels",
        "  help:     name intermediate values with `x: T.let = ...`, or accumulate into a scalar",
    ]


def test_errors_inside_expansions_name_both_lines():
    text = """\
@T.inline
def put(A, at):
    A[at, 0] = 1.0


@T.prim_func
def kernel(a: T.handle):
    A = T.match_buffer(a, (64, 32), "float16")
    put(A, 64)
"""
    import linecache

    linecache.cache["<made>"] = (len(text), None, text.splitlines(True), "<made>")
    with pytest.raises(errors.TypeMismatch) as e:
        exec(compile(text, "<made>", "exec"), {"T": T})
    expected = """
        [index-out-of-range] out of range in dimension 0 of A[64, 32]
          at <made>:3:7
              3 |     A[at, 0] = 1.0
                        ^^
          found:    index 64
          required: 0 to 63
          note: while expanding put, called here
          at <made>:9:5
              9 |     put(A, 64)
                      ^^^^^^^^^^
        """
    assert str(e.value) == textwrap.dedent(expected).strip()


def test_chained_comparison_is_pythons():
    """1 < 5 < 3 is false, also when a part is known only at run time."""
    func = parse("if 1 < 5 < 3:\n    A[0, 0] = 1.0\nif 1 < n < 3:\n    A[1, 0] = 1.0")
    from tirx import ir

    stmts = list(func.body.seq)
    assert [type(s).__name__ for s in stmts] == ["DeviceEntry", "IfThenElse"]
    n = func.params[1]
    both = ir.Binary("and", ir.Binary("lt", 1, n), ir.Binary("lt", n, 3))
    assert ir.structural_equal(stmts[1].cond, both)
