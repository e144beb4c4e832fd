"""The instructions of CUDA, one declaration each, by family.

Nothing here runs before an instruction is first looked up: the compiler asks through the hook
"tx.instr_lookup" (tirx/targets/__init__.py). `table()` is everything, for tests, docs and error messages.
"""

from __future__ import annotations

import importlib

FAMILIES = (
    "warp",
    "sync",
    "async_copy",
    "matrix",
    "atomic",
    "math",
    "convert",
    "misc",
    "hopper",
    "blackwell",
)


def table() -> dict:
    """Every declaration by its name."""
    if not _TABLE:
        for family in FAMILIES:
            module = importlib.import_module("." + family, __name__)
            for decl in module.declarations():
                if decl.name in _TABLE:
                    raise AssertionError(f"{decl.name} is declared twice")
                _TABLE[decl.name] = decl
    return _TABLE


_TABLE: dict = {}


def lookup(name: str):
    """The ir.Instr called `name`, or None."""
    decl = table().get(name)
    return None if decl is None else decl.instr()


def nearest_names(name: str, count: int = 5) -> list[str]:
    """Existing names that look like `name`, best first: same leading parts, or few edits apart."""
    import difflib

    names = list(table())
    close = difflib.get_close_matches(name, names, count, 0.75)
    prefix = sorted((n for n in names if _shared_parts(name, n) >= 2), key=lambda n: -_shared_parts(name, n))
    far = difflib.get_close_matches(name, names, count, 0.5)
    return list(dict.fromkeys([*close, *prefix, *far]))[:count]


def _shared_parts(a: str, b: str) -> int:
    """How many leading dotted parts two names have in common."""
    ours, theirs = a.split("."), b.split(".")
    differ = (i for i, (x, y) in enumerate(zip(ours, theirs)) if x != y)
    return next(differ, min(len(ours), len(theirs)))


def coverage() -> str:
    """docs/instructions.md: every instruction with its operands, its features and whether it is simulated."""
    lines = [_HEAD]
    for family in FAMILIES:
        module = importlib.import_module("." + family, __name__)
        lines += [
            f"## {module.__doc__.splitlines()[0].split(' (PTX')[0].rstrip('.')}",
            "",
            _COLUMNS,
            "| --- " * 5 + "|",
        ]
        lines += [_row(decl) for decl in module.declarations()]
        lines.append("")
    return "\n".join(lines)


_HEAD = """# Instructions of CUDA

Made from the declarations by `python -m tirx.targets.cuda.instructions`. `(x)` may be left out, `[x]` is a pointer,
`-> x` is written, `#x` is a constant.
"""
_COLUMNS = "| instruction | operands | value | needs | simulated |"


def _row(decl) -> str:
    operands = ", ".join(_operand(o) for o in decl.instr().operands)
    value = decl.result.replace("=", "as ")
    cells = (f"`{decl.name}`", operands, value, ", ".join(decl.features), "no" if decl.unsupported else "yes")
    return "| " + " | ".join(cells) + " |"


def _operand(operand) -> str:
    text = f"[{operand.name}]" if str(operand.space) in ("shared", "global", "generic") else str(operand.name)
    if str(operand.space) == "imm":
        text = "#" + text
    if str(operand.space) == "reg" and "w" in str(operand.access):
        text = "-> " + text
    return f"({text})" if operand.otherwise is not None else text
