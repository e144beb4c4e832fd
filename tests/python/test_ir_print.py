"""The printer by itself, checked by Python's own parser: shape of expressions, fewest parentheses, literals, strings,
names, bounded reprs. (Reading the text back as IR is tested in test_ir_roundtrip.py.)"""

import ast
import itertools
import keyword
import pickle

import pytest
from generators import TEXTS, imm, program
from hypothesis import given, settings
from hypothesis import strategies as st

from tirx import ir
from tirx.script import T
from tirx.targets.cuda import instructions

X, Y, Z, C = ir.Var("x"), ir.Var("y"), ir.Var("z"), ir.Var("c", "bool")
SYMBOL = {name: symbol for name, symbol in ir.BIN_OPS if symbol}
ARITHMETIC = [
    "add",
    "sub",
    "mul",
    "floordiv",
    "floormod",
    "bitwise_and",
    "bitwise_or",
    "bitwise_xor",
    "shift_left",
]
COMPARISONS = ["eq", "lt", "ge"]


def tree_of(e):
    """An expression as nested tuples."""
    if isinstance(e, ir.Binary):
        return (SYMBOL[e.name], tree_of(e.a), tree_of(e.b))
    if isinstance(e, ir.Not):
        return ("not", tree_of(e.a))
    if isinstance(e, ir.Call):
        return ("~", tree_of(e.args[0]))
    return str(e.value) if isinstance(e, ir.IntImm) else str(e.name)


_AST = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.FloorDiv: "//", ast.Mod: "%", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>", ast.Div: "/", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.And: "and", ast.Or: "or", ast.Not: "not", ast.Invert: "~",
}  # fmt: skip


def tree_of_text(text):
    """What Python makes of a text, as nested tuples; None when it is no expression."""
    try:
        return _tree(ast.parse(text, mode="eval").body)
    except SyntaxError:
        return None


def _tree(n):
    if isinstance(n, ast.BinOp):
        return (_AST[type(n.op)], _tree(n.left), _tree(n.right))
    if isinstance(n, ast.UnaryOp):
        return f"-{n.operand.value}" if isinstance(n.op, ast.USub) else (_AST[type(n.op)], _tree(n.operand))
    if isinstance(n, ast.BoolOp):
        out = _tree(n.values[0])
        for v in n.values[1:]:
            out = (_AST[type(n.op)], out, _tree(v))
        return out
    if isinstance(n, ast.Compare):
        return ("chain", *map(_tree, [n.left, *n.comparators])) if len(n.ops) > 1 else (
            _AST[type(n.ops[0])], _tree(n.left), _tree(n.comparators[0]))  # fmt: skip
    return str(n.value) if isinstance(n, ast.Constant) else n.id


def numbers():
    """Integer expressions of one and two operators, with a negative literal among the leaves."""
    leaves = [X, Y, Z, imm("int32", -5)]
    one = [ir.Binary(op, a, b) for op in ARITHMETIC for a, b in ((X, Y), (X, leaves[3]), (leaves[3], Y))]
    one += [~X, ~(~X)]
    two = [ir.Binary(op, a, b) for op in ARITHMETIC for inner in one for a, b in ((inner, Z), (Z, inner))]
    return one + two + [~e for e in one]


def conditions():
    """Bool expressions of up to three operators."""
    base = [ir.Binary(op, a, Z) for op in COMPARISONS for a in (X, X + Y, X & Y)] + [C]
    base += [ir.Binary(op, Z, X | Y) for op in COMPARISONS]
    one = base + [ir.Not(e) for e in base]
    pairs = [ir.Binary(op, a, b) for op in ("and", "or", "eq", "bitwise_and", "bitwise_xor")
             for a, b in itertools.product(one[::3], one[::4])]  # fmt: skip
    return (
        one
        + pairs
        + [ir.Not(e) for e in pairs]
        + [ir.Binary(op, a, C) for op in ("and", "or", "ne") for a in pairs]
    )


def without_pair(text):
    """The texts with one pair of grouping parentheses removed."""
    stack = []
    for i, c in enumerate(text):
        if c == "(":
            stack.append(i)
        elif c == ")":
            start = stack.pop()
            yield text[:start] + text[start + 1 : i] + text[i + 1 :]


def test_python_reads_the_same_shape_and_no_parenthesis_is_superfluous():
    grouped = 0
    for e in numbers() + conditions():
        text, tree = str(e), tree_of(e)
        assert tree_of_text(text) == tree
        for less in without_pair(text):
            grouped += 1
            assert tree_of_text(less) != tree, text
    assert grouped > 500


@pytest.mark.parametrize(
    "e, text",
    [
        (imm("int32", -5), "-5"), (X - imm("int32", -5), "x - -5"), (imm("int32", -5) % X, "-5 % x"),
        (imm("uint64", 2**64 - 1), "T.uint64(18446744073709551615)"), (imm("int64", 5), "T.int64(5)"),
        (ir.Var("l", "int64") + 5, "l + 5"), (ir.IntImm("bool", 1), "T.bool(True)"),
        (ir.Var("w", "uint64") + imm("uint64", 2**63), "w + T.uint64(9223372036854775808)"),
        (ir.FloatImm("float32", 0.1), "0.1"), (ir.FloatImm("float32", 1), "1.0"),
        (ir.FloatImm("float32", 1e30), "1e+30"),
        (ir.FloatImm("float16", 0.1), "T.float16(0.1)"), (ir.FloatImm("float32", -0.0), "-0.0"),
        (ir.FloatImm("float32", float("inf")), 'T.float32("inf")'),
        (ir.FloatImm("float64", float("-inf")), 'T.float64("-inf")'),
        (ir.FloatImm("bfloat16", float("nan")), 'T.bfloat16("nan")'),
        (ir.FloatImm("float8_e4m3fn", 1.5), "T.float8_e4m3fn(1.5)"),
        (ir.FloatImm("float4_e2m1fn", -6.0), "T.float4_e2m1fn(-6.0)"),
        (ir.Cast("float16", ir.FloatImm("float32", 1.5)), 'T.cast(1.5, "float16")'),
        (ir.call("float32", "tx.exp2", [ir.Var("f", "float32")]), "T.exp2(f)"),
        (ir.call("float32", "tx.exp2", [ir.Var("h", "float16")]), 'T.call("float32", "tx.exp2", h)'),
        (ir.call("void", "my.op", [1], {"k": [1, "a"]}), 'T.call("void", "my.op", 1, attrs={"k": [1, "a"]})'),
        (ir.instr_call("cuda.cta_sync"), "T.cuda.cta_sync()"),
        (ir.call("int32", "cuda.cta_sync", []), 'T.call("int32", "cuda.cta_sync")'),
    ],
)  # fmt: skip
def test_literals_and_calls(e, text):
    assert str(e) == text


@given(st.floats(allow_nan=False, allow_infinity=False))
@settings(max_examples=200, deadline=None)
def test_floats_read_back_exactly(v):
    assert ast.literal_eval(str(ir.FloatImm("float32", v))) == v


@given(st.text(max_size=40))
@settings(max_examples=200, deadline=None)
def test_strings_read_back_exactly(text):
    printed = str(ir.StringImm(text))
    assert "\n" not in printed and len(printed.splitlines()) == 1
    assert ast.literal_eval(printed) == text


def operand_for(op):
    """Something that an instruction accepts as this operand."""
    if op.space in ("str", "imm"):
        return "s" if op.space == "str" else 0
    if op.space not in ("reg", "rest"):
        return ir.Var("p", "handle")
    dtype = "float32" if op.dtype.bits == 0 or op.dtype == "handle" else str(op.dtype)
    return ir.BufferLoad(ir.Buffer.make("r", [4], dtype, "local"), [0])


def test_every_instruction_has_a_spelling():
    bracketed, table = 0, instructions.table()
    for name in table:
        instr = instructions.lookup(name)
        call = ir.instr_call(name, [operand_for(op) for op in instr.operands])
        text = str(ir._api.print_script(call, -1))
        spelled = text[: text.index("(")]
        assert not text.startswith("T.call"), text
        assert eval(spelled, {"T": T}).name == name
        bracketed += "[" in spelled
    assert bracketed < len(table) / 4


def test_names_are_unique_identifiers():
    names = ["x", "x", "x_1", "if", "T", "a b", "9", "", "None", "é"]
    body = ir.SeqStmt([ir.Bind(ir.Var(n), k) for k, n in enumerate(names)])
    text = str(ir.PrimFunc("f", [], [], body))
    bound = [line.split(":")[0].strip() for line in text.splitlines()[2:]]
    assert bound == ["x", "x_1", "x_1_1", "if_1", "T_1", "a_b", "v9", "v", "None_1", "__"]
    assert all(n.isidentifier() and not keyword.iskeyword(n) for n in bound)


def test_loops_in_a_row_share_a_name_and_nested_loops_do_not():
    loop = lambda body: ir.For(ir.Var("k"), 0, 4, "serial", body, {})  # noqa: E731
    text = str(ir.SeqStmt([loop(ir.SeqStmt([])), loop(loop(ir.SeqStmt([])))]))
    assert [line.split()[1] for line in text.splitlines() if "for" in line] == ["k", "k", "k_1"]


@pytest.mark.parametrize("seed", range(30))
def test_text_is_python_and_deterministic(seed):
    f = program(seed)
    text = str(f)
    ast.parse(text)
    assert text == str(program(seed)) == str(pickle.loads(pickle.dumps(f)))


def test_reprs_are_bounded():
    e = X
    for _ in range(18):
        e = e * e
    assert len(repr(e)) <= 200 and repr(e).endswith("...")
    assert len(repr([e, e])) < 1000
    assert len(repr(ir.SeqStmt([ir.Evaluate(e)] * 50))) <= 4000
    assert (
        repr(ir.Buffer.make("A", [4, X], "float16", "shared"))
        == 'A: T.Buffer((4, x), "float16", scope="shared")'
    )
    region = ir.BufferRegion(ir.Buffer.make("A", [8, 8], "int8"), [ir.Range(X, 1), ir.Range(0, 8)], [0])
    assert repr(region) == "A[x, 0:8]" and repr(ir.Range(X + 1, 4)) == "T.Range(x + 1, 4)"


def test_every_statement_as_text(golden):
    a = ir.Buffer.make("A", [ir.Var("n"), 16], "float16")
    r = ir.Buffer.make("r", [4], "float32", "local")
    i, k = ir.Var("i"), ir.Var("k", "int64")
    v = ir.Buffer("v", r.data, [8], "uint16", None, "local", 8, 16, 0)
    body = [
        ir.Assert(a.shape[0] % 8 == 0, TEXTS[2]), ir.DeviceEntry(),
        ir.ScopeIdDef([ir.Var("bx"), ir.Var("by")], "cta_id", [4, 4], {}), ir.ScopeIdDef([i], "lane_id", [], {}),
        ir.ScopeIdDef([ir.Var("cx")], "cta_id_in_cluster", [2], {"preferred": [2]}),
        ir.AllocBuffer(r), ir.DeclBuffer(v),
        ir.Bind(ir.Var("p", "handle", ir.PointerType("float16", "global")), a.ptr_to([0, 0])),
        ir.For(k, 0, 16, "serial", ir.BufferStore(r, 2.0, [i]), {}),
        ir.For(ir.Var("j"), 1, a.shape[0], "unroll", ir.SeqStmt([]), {"pragma_unroll": 4}),
        ir.IfThenElse(i < 3, ir.Evaluate(ir.instr_call("cuda.cta_sync")),
                      ir.IfThenElse(i > 5, ir.Break(), ir.Continue())),
        ir.While(ir.IntImm("bool", 1), ir.BufferStore(v, ir.Broadcast(1, 4), [ir.Ramp(0, 1, 4)])),
        ir.AttrStmt("hint", {"a": [1, 2.5, None, True], "b": imm("int32", 3)}),
        ir.Filter(ir.call("bool", "tx.filter_range", [i, 0, 4]), ir.ExecScope("warp", ir.Evaluate(0))),
        ir.TilePrimitiveCall(
            "copy", [ir.BufferRegion(r, [ir.Range(0, 4)]), ir.BufferRegion(a, [ir.Range(i, 1), ir.Range(4, 4)], [0])],
            "warp", "vec_auto", {"w": v}, {"flag": True, "mbar": ir.BufferLoad(r, [0])}),
    ]  # fmt: skip
    f = ir.PrimFunc(
        "f", [ir.Var("a", "handle"), ir.Var("s", "float32")], [a, None], ir.SeqStmt(body), {"num": 3}
    )
    golden("print_statements.txt", str(f))
    golden("print_module.txt", str(ir.IRModule({"f": f, "g": ir.PrimFunc("g", [], [], ir.SeqStmt([]))})))
