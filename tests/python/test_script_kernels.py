"""Whole kernels parse, and the text of a function parses to the same function."""

import types

import pytest
from tirx import ir, layout
from tirx.script import T, Tx, from_source


def surface():
    """What the kernels take as `s`."""
    return types.SimpleNamespace(T=T, Tx=Tx, **{n: getattr(layout, n) for n in layout.__all__})


def make_scale(s, n=1 << 20, blk=256):
    T, Tx = s.T, s.Tx

    @T.prim_func
    def scale(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (n,), "float32")
        B = T.match_buffer(B_ptr, (n,), "float32")
        T.device_entry()
        bx = T.cta_id([n // (blk * 4)])
        tx = T.thread_id([blk])
        r = T.alloc_local((4,), "float32")
        base: T.let = bx * (blk * 4) + tx * 4
        Tx.copy(r[0:4], A[base : base + 4])
        Tx.mul(r[0:4], r[0:4], T.float32(2.0))
        Tx.copy(B[base : base + 4], r[0:4])

    return scale


SCALE = """
@T.prim_func
def scale(A_ptr: T.handle, B_ptr: T.handle):
    A = T.match_buffer(A_ptr, (1048576,), "float32")
    B = T.match_buffer(B_ptr, (1048576,), "float32")
    T.device_entry()
    bx = T.cta_id([1024])
    tx = T.thread_id([256])
    r = T.alloc_buffer((4,), "float32", scope="local")
    base: T.let = bx * 1024 + tx * 4
    Tx.copy(r[0:4], A[base:base + 4])
    Tx.mul(r[0:4], r[0:4], T.float32(2.0))
    Tx.copy(B[base:base + 4], r[0:4])
"""


def test_a_kernel_made_in_a_closure_equals_its_plain_text():
    assert ir.first_difference(make_scale(surface()), from_source(SCALE)) is None


def test_closure_values_are_read_at_the_decoration():
    assert not ir.structural_equal(make_scale(surface(), n=1 << 19), make_scale(surface()))


@pytest.mark.parametrize("node", ["TilePrimitiveCall", "ScopeIdDef", "AllocBuffer", "Bind"])
def test_every_statement_has_the_span_of_its_line(node):
    func = make_scale(surface())
    lines = open(__file__).read().splitlines()
    found = [s for s in func.body.seq if type(s).__name__ == node]
    assert found
    for stmt in found:
        line = lines[stmt.span.line - 1]
        text = line[stmt.span.column : stmt.span.end_column]
        assert stmt.span.file == __file__ and text and text in line.strip()
