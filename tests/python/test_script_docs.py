"""docs/language.md: every block of code runs, or is refused with the code that it names."""

import linecache
import re
from pathlib import Path

import pytest
from script_helpers import round_trip  # noqa: F401

from tirx import errors
from tirx.script import T, Tx

PAGE = Path(__file__).parents[2] / "docs" / "language.md"
BLOCKS = re.findall(r"```python(?: refused: (\S+))?\n(.*?)```", PAGE.read_text(), re.S)


def run(text, at):
    file = f"<language.md block {at}>"
    linecache.cache[file] = (len(text), None, text.splitlines(True), file)
    scope = {"T": T, "Tx": Tx}
    exec(compile(text, file, "exec"), scope)
    return scope


def test_the_page_has_examples_of_both_kinds():
    assert sum(not code for code, _ in BLOCKS) >= 6 and sum(bool(code) for code, _ in BLOCKS) >= 3


@pytest.mark.parametrize("at", range(len(BLOCKS)))
def test_block(at):
    code, text = BLOCKS[at]
    if not code:
        run(text, at)
        return
    with pytest.raises(errors.TirxError) as e:
        run(text, at)
    assert e.value.code == code and e.value.location.file.startswith("<language.md")


def test_every_name_of_t_on_the_page_exists():
    names = set(re.findall(r"\bT\.([a-zA-Z_][a-zA-Z_0-9]*)", PAGE.read_text())) - {"module_attr"}
    missing = sorted(n for n in names if not hasattr(T, n))
    assert missing == []


def test_every_statement_and_expression_class_is_on_the_list():
    """The tables of the parser and the page name the same Python constructs."""
    from tirx.script.tables import EXPR, STMT

    assert {n.__name__ for n in STMT} == {
        "AnnAssign", "Assert", "Assign", "AugAssign", "Break", "Continue", "Expr", "For", "FunctionDef", "If",
        "Pass", "Return", "While", "With",
    }  # fmt: skip
    assert {n.__name__ for n in EXPR} == {
        "Attribute", "BinOp", "BoolOp", "Call", "Compare", "Constant", "Dict", "DictComp", "FormattedValue",
        "GeneratorExp", "IfExp", "JoinedStr", "List", "ListComp", "Name", "Set", "SetComp", "Subscript", "Tuple",
        "UnaryOp",
    }  # fmt: skip
