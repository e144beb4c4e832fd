"""What every node promises: equality up to names with the path of the first difference, a consistent hash,
JSON, pickle, deep copy, and a short repr. Enumerated, so that a new node or field without a test fails."""

import copy
import pickle

import pytest
import tvm_ffi
from generators import program
from node_samples import HINTS, SAMPLES, SEEN_AT, VARIANTS, declared_nodes, fields

from tirx import ir

NODES = sorted(SAMPLES)
CASES = [(key, field) for key in NODES for field in VARIANTS.get(key, {})]


def equal(a, b):
    return ir.structural_equal(a, b, map_free_vars=True)


def node_of(key, value):
    """The node of type `key` in a sample (some need a definition before them)."""
    found = [value] if value.__tvm_ffi_type_info__.type_key == key else []
    if not found:
        ir.walk(value, found.append, type(list(value.seq)[-1]))
    return found[-1]


def test_every_declared_node_has_a_sample():
    declared = declared_nodes()
    assert len(declared) > 40
    assert {key for key, is_base in declared.items() if not is_base} == set(SAMPLES)
    for key, make in SAMPLES.items():
        assert node_of(key, make()).__tvm_ffi_type_info__.type_key == key


@pytest.mark.parametrize("key", NODES)
def test_every_field_has_a_variant(key):
    assert set(fields(type(node_of(key, SAMPLES[key]())))) == set(VARIANTS.get(key, {}))


@pytest.mark.parametrize("key", NODES)
def test_equal_nodes(key):
    a, b = SAMPLES[key](), SAMPLES[key]()
    assert equal(a, b) and equal(b, a)
    assert ir.structural_hash(a, map_free_vars=True) == ir.structural_hash(b, map_free_vars=True)
    assert tvm_ffi.get_first_structural_mismatch(a, b, map_free_vars=True) is None


@pytest.mark.parametrize("key, field", CASES)
def test_a_difference_in_each_field_is_found_where_it_is(key, field):
    make = VARIANTS[key][field]
    if make is None:  # follows from the operands
        return
    a, b = SAMPLES[key](), make()
    pair = tvm_ffi.get_first_structural_mismatch(a, b, map_free_vars=key in ("tx.Var", "tx.Buffer"))
    assert pair is not None
    root = "<root>.seq[1]" if key == "tx.TilePrimitiveCall" else "<root>"
    assert str(pair[0]).startswith(f"{root}.{SEEN_AT.get((key, field), field)}")


def test_names_are_hints():
    for key, names in HINTS.items():
        assert names == {"name"}
        cls = type(SAMPLES[key]())
        make = (lambda n: ir.Var(n)) if cls is ir.Var else (lambda n: ir.Buffer.make(n, [4], "int8"))
        assert equal(make("a"), make("b"))
        assert ir.structural_hash(make("a"), True) == ir.structural_hash(make("b"), True)


def test_bound_names_do_not_count_but_bindings_do():
    x, y = ir.Var("x"), ir.Var("y")
    loop = lambda var, used: ir.For(var, 0, 4, "serial", ir.Evaluate(used), {})  # noqa: E731
    assert ir.structural_equal(loop(x, x), loop(y, y))
    assert ir.structural_hash(loop(x, x)) == ir.structural_hash(loop(y, y))
    assert not ir.structural_equal(loop(x, x), loop(y, x))
    assert ir.first_difference(loop(x, x), loop(y, x)) == ("<root>.body.value", "<root>.body.value")
    bind = lambda a, b: ir.SeqStmt([ir.Bind(a, 1), ir.Bind(b, 2), ir.Evaluate(a)])  # noqa: E731
    assert ir.structural_equal(bind(x, y), bind(y, x))
    assert not ir.structural_equal(bind(x, y), ir.SeqStmt([ir.Bind(x, 1), ir.Bind(y, 2), ir.Evaluate(y)]))


def test_floats_are_compared_by_their_bits():
    imm = lambda v: ir.FloatImm("float32", v)  # noqa: E731
    assert ir.structural_equal(imm(float("nan")), imm(float("nan")))
    assert not ir.structural_equal(imm(0.0), imm(-0.0))


@pytest.mark.parametrize("key", NODES)
@pytest.mark.parametrize("store", ["json", "pickle", "deepcopy"])
def test_stored_nodes_come_back_equal(key, store):
    node = SAMPLES[key]()
    if store == "json":
        text = tvm_ffi.serialization.to_json_graph_str(node)
        again = tvm_ffi.serialization.from_json_graph_str(text)
    else:
        again = pickle.loads(pickle.dumps(node)) if store == "pickle" else copy.deepcopy(node)
    assert type(again) is type(node) and not again.same_as(node)
    assert equal(node, again)
    if isinstance(node, (ir.PrimExpr, ir.Stmt)):
        assert again.depth == node.depth
    if isinstance(node, ir.PrimExpr):
        assert again.size == node.size


def test_sharing_survives_storage():
    x = ir.Var("x")
    again = pickle.loads(pickle.dumps((x + 1) * (x + 2)))
    assert again.a.a.same_as(again.b.a)


@pytest.mark.parametrize("seed", range(20))
def test_programs_survive_storage(seed):
    f = program(seed)
    for again in (pickle.loads(pickle.dumps(f)), copy.deepcopy(f)):
        assert ir.structural_equal(f, again)
        assert ir.structural_hash(f) == ir.structural_hash(again)
        assert again.script() == f.script()


@pytest.mark.parametrize("key", NODES)
def test_reprs_are_short_text_of_the_language(key):
    node = SAMPLES[key]()
    text = repr(node)
    assert len(text) < 400
    printed = (ir.PrimExpr, ir.Stmt, ir.PrimFunc, ir.IRModule, ir.Kernel, ir.Buffer, ir.BufferRegion)
    assert not isinstance(node, printed) or "tx." not in text


def test_calling_a_class_gives_the_node_that_results():
    two = ir.IntImm("int32", 2)
    assert type(ir.Binary("add", two, two)) is ir.IntImm
    assert type(ir.Not(ir.Not(ir.Var("c", "bool")))) is ir.Var
    assert type(ir.Select(ir.IntImm("bool", 1), two, two)) is ir.IntImm
    assert type(ir.SeqStmt([ir.Break()])) is ir.Break
    assert type(ir.Broadcast(two, 1)) is ir.IntImm
