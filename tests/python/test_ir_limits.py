"""Depth, size and length: what is refused, and that what is accepted takes linear time and no deep stack.

Everything runs at the tallest expression and the deepest nesting that can be built. Recursive walks of the FFI
(JSON and deep copy are the hungriest) must survive that on an ordinary 8 MB stack.
"""

import copy
import gc
import pickle

import pytest
import tvm_ffi

from tirx import ir
from tirx.errors import TypeMismatch
from tirx.script import from_source

X, C = ir.Var("x", "float32"), ir.Var("c", "bool")
LEVELS, NESTING, LENGTH = 1000, 256, 50_000


def chain(levels):
    e = X
    for _ in range(levels - 1):
        e = e + X
    return e


def right_chain(levels):
    e = X
    for _ in range(levels - 1):
        e = X - e
    return e


def calls(levels):
    """Operand lists are levels of their own: two per call."""
    e = X
    for _ in range((levels - 1) // 2):
        e = ir.call("float32", "tx.exp", [e])
    return e


def loads(levels):
    b, e = ir.Buffer.make("b", [4], "int32"), ir.Var("i")
    for _ in range((levels - 1) // 2):
        e = ir.BufferLoad(b, [e])
    return e


def nest(leaf, levels=NESTING):
    body = leaf
    for k in range(levels - 1):
        body = ir.SeqStmt([body, ir.Break()])
        body = ir.IfThenElse(C, body, None) if k % 2 else ir.While(C, body)
    return body


def region(levels):
    a = ir.Buffer.make("A", [8], "int8")
    part = ir.BufferRegion(a, [ir.Range(right_chain(levels - 1).astype("int32"), 2)])
    return ir.TilePrimitiveCall("copy", [part, part], "", "", {}, {"k": [1, [2]]})


TALL = {
    "left": lambda: ir.Evaluate(chain(LEVELS)),
    "right": lambda: ir.Evaluate(right_chain(LEVELS)),
    "calls": lambda: ir.Evaluate(calls(LEVELS)),
    "loads": lambda: ir.Evaluate(loads(LEVELS)),
    "region": lambda: region(LEVELS),
}


@pytest.mark.parametrize("shape", list(TALL))
def test_everything_works_at_the_limits(shape):
    f = ir.PrimFunc("f", [X, C], [None, None], nest(TALL[shape]()))
    assert f.body.depth == NESTING
    g = ir.PrimFunc("f", [X, C], [None, None], nest(TALL[shape]()))
    free = {"map_free_vars": True}
    assert ir.structural_equal(f, g, **free) and ir.structural_hash(f, **free) == ir.structural_hash(
        g, **free
    )
    assert tvm_ffi.get_first_structural_mismatch(f, g, map_free_vars=True) is None
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert ir.structural_equal(f, again, **free)
    assert ir.mutate(f, {ir.Var: lambda v: None}).same_as(f)
    seen = []
    ir.walk(f, seen.append, ir.Var)
    assert len(seen) >= NESTING
    assert len(repr(f)) <= 4000 and len(f.script()) > 4000


@pytest.mark.parametrize("make", [chain, right_chain, calls, loads])
def test_one_level_more_is_refused_with_the_depth(make):
    assert make(LEVELS).depth in (LEVELS, LEVELS - 1)
    with pytest.raises(TypeMismatch, match="a tree 1001 levels deep"):
        make(LEVELS + 1)


def test_a_chain_of_100_000_is_refused_early():
    with pytest.raises(TypeMismatch, match="a tree 1001 levels deep"):
        chain(100_000)


def test_nesting_past_the_limit_is_refused_with_the_depth():
    with pytest.raises(TypeMismatch, match="257 levels of nesting"):
        nest(ir.Break(), NESTING + 1)


def test_shared_subexpressions_count_at_every_use():
    e = X
    for _ in range(18):
        e = e * e
    assert e.size == 2**19 - 1
    with pytest.raises(TypeMismatch, match="a tree of 2097151 nodes"):
        (e * e) * (e * e)


@pytest.mark.parametrize("depth", [150, 400, 990])
@pytest.mark.parametrize("make", [chain, right_chain, calls])
def test_deep_expressions_print_as_text_that_python_can_parse(make, depth):
    f = ir.PrimFunc("f", [X], [None], ir.Evaluate(make(depth)))
    again = from_source(str(f))
    assert ir.structural_equal(f, again)


def test_shared_subexpressions_print_once():
    e = X
    for k in range(14):
        e = e * e + float(k)
    f = ir.PrimFunc("f", [X], [None], ir.Evaluate(e))
    text = str(f)
    assert e.size > 30_000 and len(text) < 3000
    assert ir.structural_equal(f, from_source(text))


@pytest.fixture(scope="module")
def long_function():
    a, n = ir.Buffer.make("A", [LENGTH], "int32"), ir.Var("n")
    body = []
    for k in range(LENGTH // 2):
        v = ir.Var("v")
        body += [ir.Bind(v, n + k), ir.BufferStore(a, v, [k])]
    return ir.PrimFunc("f", [ir.Var("p", "handle"), n], [a, None], ir.SeqStmt(body))


def test_long_sequences_are_flat(long_function):
    assert len(long_function.body.seq) == LENGTH and long_function.body.depth == 1


@pytest.mark.slow
def test_long_sequences_compare_store_and_walk(long_function):
    f = long_function
    again = pickle.loads(pickle.dumps(f))
    assert ir.structural_equal(f, again) and ir.structural_hash(f) == ir.structural_hash(again)
    assert ir.structural_equal(f, copy.deepcopy(f))
    binds = []
    ir.walk(f, binds.append, ir.Bind)
    assert len(binds) == LENGTH // 2
    seven = ir.mutate(f, {ir.BufferStore: lambda s: ir.BufferStore(s.buffer, 7, list(s.indices))})
    assert ir.first_difference(f, seven)[0].startswith("<root>.body.seq[1].value")
    del again, seven, binds
    gc.collect()


@pytest.mark.slow
def test_long_sequences_print_and_parse(long_function):
    text = str(long_function)
    assert text.count("\n") > LENGTH and "v_24999: T.let = n + 24999" in text
    assert len(repr(long_function)) == 4000
    assert ir.structural_equal(long_function, from_source(text))
