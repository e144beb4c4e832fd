"""The closed list of the language: which AST node classes are accepted, and what runs for each.

expr.py, operators.py and subscript.py fill EXPR (handler(evaluator, node) -> value); assign.py and
control.py fill STMT (handler(evaluator, node) -> how the statement ended). docs/language.md lists them.
"""

from __future__ import annotations

from ..errors import ScriptError


class _Table(dict):
    """Handlers by AST class; a class without one is refused where it is met."""

    def __missing__(self, node_class):
        return _refuse

    def register(self, node_class):
        def keep(handler):
            self[node_class] = handler
            return handler

        return keep


def _refuse(ev, node):
    raise unsupported(ev, node)


EXPR, STMT = _Table(), _Table()
handles_expr, handles_stmt = EXPR.register, STMT.register


def evaluate(ev, node):
    """The value of an expression node: a Python object, a buffer or an IR expression."""
    return EXPR[type(node)](ev, node)


_NAMES = {
    "Lambda": "a lambda", "Await": "await", "Yield": "yield", "YieldFrom": "yield from",
    "NamedExpr": "an assignment expression (:=)", "Starred": "a starred expression",
    "Slice": "a slice", "Try": "try", "Raise": "raise", "ClassDef": "a class definition",
    "Import": "import", "ImportFrom": "import", "Global": "global", "Nonlocal": "nonlocal",
    "Delete": "del", "AsyncFunctionDef": "an async function", "Match": "match", "TryStar": "try",
    "AsyncFor": "async for", "AsyncWith": "async with",
}  # fmt: skip


def unsupported(ev, node) -> ScriptError:
    """The error for Python outside of the language."""
    name = type(node).__name__
    return ScriptError(
        "this Python construct is not in the language",
        code="unsupported-construct",
        span=ev.span(node),
        found=_NAMES.get(name, name),
        required="a construct of the list in docs/language.md",
        hint="compute it in a Python function outside of the kernel and call that function here",
    )
