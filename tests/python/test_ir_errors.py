"""The full text of every error that a factory raises."""

import pytest

from tirx import ir
from tirx.errors import TirxError, TypeMismatch

X, F, H, C = ir.Var("x"), ir.Var("f", "float32"), ir.Var("h", "float16"), ir.Var("c", "bool")
L, P = ir.Var("l", "int64"), ir.Var("p", "handle")
V4, V8 = ir.Ramp(X, 1, 4), ir.Ramp(X, 1, 8)
VOID = ir.call("void", "my.op", [])
A = ir.Buffer.make("A", [4, 8], "float32")
SEQ = ir.SeqStmt([])


def deep(n):
    e = X
    for _ in range(n):
        e = e + 1
    return e


def wide(n):
    e = X
    for _ in range(n):
        e = e * e
    return e


def nested(n):
    s = ir.Break()
    for _ in range(n):
        s = ir.While(C, s)
    return s


def nested_list(n):
    v = []
    for _ in range(n):
        v = [v]
    return v


CASES = {
    # expressions
    "mixed floats": lambda: F + H,
    "mixed lanes": lambda: V4 + V8,
    "void operand": lambda: VOID + 1,
    "pointer operand": lambda: P + P,
    "modulo of floats": lambda: F % 2.0,
    "bits of floats": lambda: F & F,
    "integer division": lambda: X / 2,
    "condition": lambda: ir.Binary("and", F, C),
    "select lanes": lambda: ir.Select(V4 < 1, V8, V8),
    "cast lanes": lambda: ir.Cast("int32x2", V4),
    "cast of a pointer": lambda: ir.Cast("int64", P),
    "ramp of a float": lambda: ir.Ramp(F, 1, 4),
    "ramp stride": lambda: ir.Ramp(X, F, 4),
    "lanes": lambda: ir.Broadcast(X, 0),
    "vector of vectors": lambda: ir.Broadcast(V4, 2),
    "range": lambda: ir.Range(F, 4),
    "range extent": lambda: ir.Range(X, 0.5),
    "integer dtype": lambda: ir.IntImm("float32", 1),
    "float dtype": lambda: ir.FloatImm("int32", 1.0),
    "constant": lambda: ir.IntImm("int8", 128),
    "unsigned constant": lambda: ir.const(-1, "uint64"),
    "constant of a dtype": lambda: ir.const(300, "uint8"),
    "fraction": lambda: ir.const(1.5, "int32"),
    "depth": lambda: deep(1000),
    "depth of operands": lambda: ir.call("int32", "my.op", [deep(998)]),
    "depth of attributes": lambda: ir.call("int32", "my.op", [], {"k": deep(999)}),
    "size": lambda: wide(30),
    "value depth": lambda: ir.call("int32", "my.op", [], {"k": nested_list(40)}),
    "value": lambda: ir.AttrStmt("k", [1, {"f": print}]),
    "huge value": lambda: ir.AttrStmt("k", 2**64),
    # buffers
    "rank": lambda: ir.BufferLoad(A, [0]),
    "index": lambda: ir.BufferLoad(A, [0, F]),
    "vector index": lambda: ir.BufferLoad(A, [V4, 0]),
    "extent": lambda: ir.Buffer.make("B", [F], "int8"),
    "no extent": lambda: ir.Buffer.make("B", [4, 0], "int8"),
    "no dimension": lambda: ir.Buffer.make("B", [], "int8"),
    "offset": lambda: ir.Buffer("B", P, [4], "int8", None, "global", F),
    "address": lambda: ir.Buffer("B", P, [4], "int8", None, "global", 0, 0, F),
    "deep offset": lambda: ir.Buffer("B", P, [4], "int8", None, "global", deep(300)),
    "pointer": lambda: ir.Buffer("B", X, [4], "int8"),
    "align": lambda: ir.Buffer.make("B", [4], "int8", align=24),
    "region rank": lambda: ir.BufferRegion(A, [ir.Range(0, 1)]),
    "squeezed": lambda: ir.BufferRegion(A, [ir.Range(0, 2), ir.Range(0, 1)], [0]),
    "squeezed order": lambda: ir.BufferRegion(A, [ir.Range(0, 1), ir.Range(0, 1)], [1, 0]),
    # statements
    "bind": lambda: ir.Bind(X, L),
    "store": lambda: ir.BufferStore(A, V4, [0, 0]),
    "store of a constant": lambda: ir.BufferStore(ir.Buffer.make("I", [4], "int32"), 2**40, [0]),
    "store of a fraction": lambda: ir.BufferStore(ir.Buffer.make("I", [4], "int32"), 1.5, [0]),
    "loop kind": lambda: ir.For(X, 0, 4, "fast", SEQ, {}),
    "loop variable": lambda: ir.For(F, 0, 4, "serial", SEQ, {}),
    "loop bound": lambda: ir.For(X, 0, F, "serial", SEQ, {}),
    "wide loop bound": lambda: ir.For(X, 0, L, "serial", SEQ, {}),
    "large loop bound": lambda: ir.For(X, 0, 2**40, "serial", SEQ, {}),
    "if": lambda: ir.IfThenElse(F, SEQ, None),
    "while": lambda: ir.While(P, SEQ),
    "assert": lambda: ir.Assert(F, ""),
    "filter": lambda: ir.Filter(VOID, SEQ),
    "scope": lambda: ir.ExecScope("block", SEQ),
    "scope id": lambda: ir.ScopeIdDef([X], "block_id", [4], {}),
    "scope id arity": lambda: ir.ScopeIdDef([X], "cta_id", [4, 4], {}),
    "scope id extent": lambda: ir.ScopeIdDef([X], "cta_id", [F], {}),
    "tile scope": lambda: ir.TilePrimitiveCall("copy", [], "block", "", {}, {}),
    "nesting": lambda: nested(256),
    # functions
    "parameters": lambda: ir.PrimFunc("f", [P], [], SEQ),
    "parameter of a buffer": lambda: ir.PrimFunc("f", [X], [A], SEQ),
    "function name": lambda: ir.PrimFunc("a b", [], [], SEQ),
    # rewriting
    "replacement": lambda: ir.mutate(ir.Break(), {ir.Break: lambda s: X}),
    "pointer replaced": lambda: ir.substitute(ir.AllocBuffer(A), {A.data: ir.call("handle", "my.op", [])}),
}


def text_of(case) -> str:
    with pytest.raises(TirxError) as e:
        CASES[case]()
    assert e.value.code and e.value.found and e.value.required, case
    return f"--- {case}\n{e.value}\n"


def test_error_texts(golden):
    golden("ir_errors.txt", "".join(map(text_of, CASES)))


def test_errors_are_ordinary_python_errors_too():
    with pytest.raises(TypeError):
        F + H
    assert issubclass(TypeMismatch, TypeError)


def test_span_of_the_expression_is_shown(tmp_path):
    source = tmp_path / "kernel.py"
    source.write_text("a = 1\nc = x + f\n")
    span = ir.Span(str(source), 2, 4, 2, 9)
    with pytest.raises(TypeMismatch) as e:
        ir.Binary("add", F, H, span)
    assert f"{source}:2:5" in str(e.value) and "c = x + f" in str(e.value) and "^^^^^" in str(e.value)
