"""The record of each dispatch decision, and the report that explain() makes of them."""

from __future__ import annotations

import json
import threading

from .registry import location_text


class Rejection:
    """Why a variant did not lower a call. kind: "predicate", "declined", "config" or "bug"."""

    __slots__ = ("variant", "priority", "kind", "reason", "predicate", "_source")

    def __init__(self, rule, kind, reason, predicate="", source=None):
        self.variant, self.priority, self.kind = rule.variant, rule.priority, kind
        self.reason, self.predicate, self._source = reason, predicate, source or rule.source

    @property
    def source(self) -> str:
        """`folder/file.py:line` of the predicate or rule."""
        return location_text(self._source)

    def text(self) -> str:
        """`vec_auto: predicate 'constant extents': n is not constant (rules/copy.py:41)`"""
        return f"{self.variant}: {self.why()}"

    def why(self) -> str:
        """The reason and the source line."""
        labels = {"predicate": f"predicate {self.predicate!r}: ", "bug": "bug in the rule: "}
        return f"{labels.get(self.kind, '')}{self.reason} ({self.source})"

    def to_dict(self) -> dict:
        """JSON-able fields."""
        fields = ("variant", "priority", "kind", "reason", "predicate", "source")
        return {k: getattr(self, k) for k in fields}


class Decision:
    """One tile call and what became of it."""

    __slots__ = (
        "op", "scope", "call", "file", "line", "variant", "priority", "source", "instructions", "coverage",
        "notes", "banks", "rejections",
    )  # fmt: skip

    def __init__(self, call, ctx, rule, rejections):
        where = call.location
        self.op, self.scope, self.call = call.op, ctx.scope, call.text()
        self.file, self.line = (where.file, where.line) if where else ("", 0)
        self.variant, self.priority, self.source = rule.variant, rule.priority, rule.where
        self.instructions, self.coverage, self.notes = ctx.instructions, ctx.coverage, ctx.notes
        self.banks = [p for compute in ctx.predictions for p in compute()]
        self.rejections = rejections

    def to_dict(self) -> dict:
        """JSON-able fields."""
        out = {k: getattr(self, k) for k in self.__slots__}
        out["rejections"] = [r.to_dict() for r in self.rejections]
        return out

    def text(self) -> str:
        """A few lines per call: the choice, what it emits, why it is complete, and what was passed over."""
        where = f"{self.file}:{self.line}  " if self.file else ""
        lines = [f"{where}{self.call}  at {self.scope} scope",
                 f"  variant   {self.variant} (priority {self.priority})  {self.source}"]  # fmt: skip
        for i in self.instructions:
            lines.append(f"  emits     {i['count']} x {i['instruction']} per {i['per']}")
        if self.coverage:
            lines.append(f"  covers    {self.coverage}")
        lines += [f"  banks     {conflicts_text(p)}" for p in self.banks]
        lines += [f"  note      {n}" for n in self.notes]
        lines += [f"  rejected  {text}" for text in _grouped(self.rejections)]
        return "\n".join(lines)


def conflicts_text(p) -> str:
    """`dst: 4 accesses of 16 bytes per lane, 0 bank conflicts (16 wavefronts for 16)`"""
    if p["conflicts"] is None:
        return f"{p['operand']}: not predicted: {p['why']}"
    many = "at most " if p["why"] else ""
    accesses = f"{p['accesses']} access{'' if p['accesses'] == 1 else 'es'} of {p['width']} bytes per lane"
    head = f"{p['operand']}: {accesses}, {many}{p['conflicts']} bank conflicts"
    return f"{head} ({p['wavefronts']} wavefronts for {p['ideal']}){'; ' + p['why'] if p['why'] else ''}"


def _grouped(rejections):
    """One line per reason; variants that were passed over for the same one share it."""
    groups: dict = {}
    for r in rejections:
        groups.setdefault((r.kind, r.predicate, r.reason, r.source), []).append(r)
    return [f"{', '.join(r.variant for r in rs)}: {rs[0].why()}" for rs in groups.values()]


class Report:
    """Every dispatch decision of one function for one target."""

    def __init__(self, name, target, decisions):
        self.name, self.target, self.decisions = name, target, decisions

    def to_dict(self) -> dict:
        """{"function", "target", "calls": [...]}"""
        calls = [d.to_dict() for d in self.decisions]
        return {"function": self.name, "target": self.target, "calls": calls}

    def json(self, indent=2) -> str:
        """The report as JSON text."""
        return json.dumps(self.to_dict(), indent=indent)

    def text(self) -> str:
        """The report for people."""
        n = len(self.decisions)
        head = f"{self.name} for {self.target}: {n} tile call{'' if n == 1 else 's'}"
        return "\n".join([head, *(d.text() for d in self.decisions)])

    __str__ = text


class _Sinks(threading.local):
    def __init__(self):
        self.stack = []


_SINKS = _Sinks()


class recording:
    """`with recording() as decisions:` collects the decisions taken in this thread."""

    def __enter__(self) -> list:
        _SINKS.stack.append([])
        return _SINKS.stack[-1]

    def __exit__(self, *exc):
        _SINKS.stack.pop()


def active_sink():
    """The innermost list of decisions being recorded, or None."""
    return _SINKS.stack[-1] if _SINKS.stack else None
