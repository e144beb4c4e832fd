"""The dispatch table: which rules can lower a tile primitive on a target.

A rule is a Python function `(call, ctx) -> Stmt` registered for one (primitive, target kind) under a
variant name. It accepts by returning a statement and declines by raising `DispatchFail(reason)`.

    @register_dispatch("copy", "cuda", variant="mine", priority=30, when=[is_small])
    def copy_mine(call, ctx):
        dst, src = call.operands("dst", "src")
        ...
        return stmt

Rules that come with the package live in `tirx.targets.<kind>.rules`, imported when the kind is first
dispatched, so that `import tirx` does not pay for them.
"""

from __future__ import annotations

import importlib
import sys

from ..errors import DispatchError, DispatchFail


def fail(reason: str):
    """Decline the call: the rule does not apply, for `reason`."""
    raise DispatchFail(reason)


class Predicate:
    """A named condition on (call, ctx), evaluated before a rule runs.

    `fn` returns True or None to accept, a string (the reason) or False to reject, or the pair (accepted,
    reason); it may also raise DispatchFail(reason). Extra keywords are passed on at each evaluation.
    """

    __slots__ = ("name", "fn", "kwargs", "source")

    def __init__(self, name, fn, kwargs=None):
        self.name, self.fn, self.kwargs = name, fn, kwargs or {}
        self.source = source_of(fn)

    def __call__(self, call, ctx):
        """None when the call is accepted, else the reason as text."""
        try:
            out = self.fn(call, ctx, **self.kwargs)
        except DispatchFail as e:
            return e.message or self.name
        if out is None or out is True:
            return None
        ok, reason = out if isinstance(out, tuple) else (False, out)
        return None if ok else (str(reason) if reason else "does not hold")


def predicate(name, fn=None, **kwargs):
    """`predicate("full team", fn, **kwargs)`, or as a decorator: `@predicate("full team")`."""
    if fn is None:
        return lambda f: Predicate(name, f, kwargs)
    return Predicate(name, fn, kwargs)


class Rule:
    """One row of the table. `config` maps each keyword the rule reads to a sentence about it."""

    __slots__ = ("primitive", "target", "variant", "priority", "when", "config", "fn", "source", "doc")

    def __init__(self, primitive, target, variant, priority, when, config, fn):
        self.primitive, self.target, self.variant, self.priority = primitive, target, variant, priority
        self.when = [p if isinstance(p, Predicate) else Predicate(_spoken(p), p) for p in when]
        self.config, self.fn, self.source = dict(config), fn, source_of(fn)
        self.doc = (fn.__doc__ or "").strip().split("\n")[0]

    @property
    def label(self) -> str:
        """`copy/vec_auto`"""
        return f"{self.primitive}/{self.variant}"

    @property
    def where(self) -> str:
        """`file.py:line` of the rule."""
        return location_text(self.source)


def _spoken(fn) -> str:
    return getattr(fn, "__name__", "predicate").strip("_").replace("_", " ")


def source_of(fn) -> tuple:
    """(file, line) where a function is written."""
    code = getattr(getattr(fn, "__wrapped__", fn), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else ("<unknown>", 0)


def location_text(source) -> str:
    """`folder/file.py:line`: short, and the same wherever the package is installed."""
    file, line = source
    return f"{'/'.join(file.replace(chr(92), '/').split('/')[-2:])}:{line}"


_TABLE: dict[tuple, list] = {}
_LOADED: set = set()


def register_dispatch(primitive, target, *, variant, priority=0, when=(), config=None):
    """Decorator: add a rule. Higher priorities are tried first, then names in order.

    primitive: "copy", "gemm", ...; target: the kind, e.g. "cuda"; when: Predicates or plain functions
    `(call, ctx)`; config: {keyword: what it means}. Registering the same function's variant again
    replaces it (notebooks); a variant name taken by another function is an error.
    """

    def add(fn):
        rule = Rule(primitive, target, variant, priority, when, config or {}, fn)
        _insert(rule)
        return fn

    return add


def _insert(rule):
    rows = _TABLE.setdefault((rule.primitive, rule.target), [])
    for old in [r for r in rows if r.variant == rule.variant]:
        same = (old.fn.__module__, old.fn.__qualname__) == (rule.fn.__module__, rule.fn.__qualname__)
        if not same:
            raise DispatchError(
                f"variant {rule.variant!r} of {rule.primitive} on {rule.target} is already registered",
                code="duplicate-variant", found=f"a second registration at {rule.where}",
                required="one function per variant name", hint=f"the first is at {old.where}",
            )  # fmt: skip
        rows.remove(old)
    rows.append(rule)
    rows.sort(key=lambda r: (-r.priority, r.variant))


def unregister_dispatch(primitive, target, variant):
    """Remove a rule (tests, notebooks). Returns whether it was there."""
    rows = _TABLE.get((primitive, target), [])
    kept = [r for r in rows if r.variant != variant]
    _TABLE[primitive, target] = kept
    return len(kept) != len(rows)


def load_rules(kind: str) -> None:
    """Import the rules of a target kind, once."""
    if kind in _LOADED:
        return
    _LOADED.add(kind)
    name = f"tirx.targets.{kind}.rules"
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as e:
        if e.name is None or not name.startswith(e.name):
            _LOADED.discard(kind)
            raise
    except BaseException:
        _LOADED.discard(kind)
        raise


def rules_for(primitive: str, kind: str) -> list:
    """The rules of (primitive, kind), best first; loads the kind's rules."""
    load_rules(kind)
    return _TABLE.get((primitive, kind), [])


def variants(primitive: str, kind: str) -> list:
    """Variant names in the order in which dispatch tries them."""
    return [r.variant for r in rules_for(primitive, kind)]


def config_keys(primitive: str, kind: str) -> dict:
    """{keyword: {variant: meaning}} over the variants of (primitive, kind)."""
    keys: dict = {}
    for rule in rules_for(primitive, kind):
        for key, meaning in rule.config.items():
            keys.setdefault(key, {})[rule.variant] = meaning
    return keys


def primitives(kind: str) -> list:
    """Primitives that have at least one rule on `kind`."""
    load_rules(kind)
    return sorted(p for (p, t), rows in _TABLE.items() if t == kind and rows)


def is_loaded(kind: str) -> bool:
    """Whether the rules of `kind` have been imported (they are not at `import tirx`)."""
    return kind in _LOADED or f"tirx.targets.{kind}.rules" in sys.modules
