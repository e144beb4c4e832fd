"""The catalogue as a page: every primitive, its operands, the rules that lower it and the keywords they read."""

from __future__ import annotations

from .primitives import CATALOGUE
from .registry import rules_for

_TITLES = {
    "move": "Moves", "matrix": "Matrix products", "fill": "Fills", "pointwise": "Elementwise", "reduce": "Reductions",
}  # fmt: skip

_HEAD = """\
# Tile primitives

`Tx.<scope>.<name>(operands, keyword=...)` is one operation of a team on tiles; without a scope it is the scope of the
innermost `with T.<scope>():`, or the thread's. Every thread of the team passes the same regions and values. Operands in
*italics* may be scalars. Keywords that no parameter has configure the rules (docs/dispatch.md); `dispatch="variant"`
picks one. Rules are tried from the highest priority down; `tirx explain` says which took a call, and why others did not.
A rule that is "known by name" takes no call yet: it is listed so that `dispatch=` with its name, and the report, explain
why it cannot be used instead of calling the name unknown.

This page is printed by `python -m tirx.tile > docs/primitives.md`; a test compares them.
"""


def _signature(p) -> str:
    return ", ".join(f"{n}={p.defaults[n]!r}" if n in p.defaults else n for n in p.params)


def _operands(p) -> str:
    def one(name):
        text = name if name in p.regions else f"*{name}*"
        return f"{text} (written)" if name in p.out else text

    return ", ".join(one(n) for n in p.params)


def _primitive(p, target):
    yield f"### {p.name}\n"
    yield f"`Tx.{p.name}({_signature(p)})`: {p.doc}. Operands: {_operands(p)}.\n"
    rules = rules_for(p.name, target)
    if not rules:
        yield f"No rule for {target} yet.\n"
        return
    yield f"| {target} rule | priority | what it does |"
    yield "| --- | --- | --- |"
    for rule in rules:
        yield f"| {rule.variant} | {rule.priority} | {rule.doc} |"
    keys = {k: text for rule in rules for k, text in rule.config.items()}
    yield ""
    for key, text in sorted(keys.items()):
        readers = ", ".join(r.variant for r in rules if key in r.config)
        yield f"- `{key}=`: {text} ({readers})"
    if keys:
        yield ""


def page(target="cuda") -> str:
    """The page as Markdown, for the rules of one target kind."""
    out = [_HEAD]
    for group, title in _TITLES.items():
        out.append(f"## {title}\n")
        for p in CATALOGUE.values():
            if p.group == group:
                out.extend(_primitive(p, target))
    return "\n".join(out).rstrip() + "\n"
