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
