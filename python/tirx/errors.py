"""Every error a user can meet, and InternalError for the ones he should not.

A user error carries a stable `code`, the span of his source line, what was found, what was required and
a next step; `str(error)` renders the line with a caret. The same fields cross the C++ boundary as JSON
(include/tirx/support/diag.h).
"""

from __future__ import annotations

import json
import linecache

import tvm_ffi


class Location:
    """A source range: file, line (1-based), column (0-based), end_line, end_column (exclusive)."""

    __slots__ = ("file", "line", "column", "end_line", "end_column")

    def __init__(self, file, line, column=0, end_line=None, end_column=None):
        self.file, self.line, self.column = file, line, column
        self.end_line = line if end_line is None else end_line
        self.end_column = column + 1 if end_column is None else end_column

    @classmethod
    def of(cls, span):
        """From an IR Span, a Location, a 5-tuple or None."""
        if span is None or isinstance(span, Location):
            return span
        if isinstance(span, (tuple, list)):
            return cls(*span)
        return cls(str(span.file), span.line, span.column, span.end_line, span.end_column)

    def render(self) -> str:
        """`file:line:col` and, when the source is readable, the line with carets under the range."""
        head = f"{self.file}:{self.line}:{self.column + 1}"
        text = linecache.getline(self.file, self.line).rstrip("\n")
        if not text.strip():
            return head
        stop = self.end_column if self.end_line == self.line else len(text)
        width = max(1, min(stop, len(text)) - self.column)
        gutter = f"{self.line:5d} | "
        return f"{head}\n{gutter}{text}\n{' ' * (len(gutter) + self.column)}{'^' * width}"


class TirxError(Exception):
    """Base of all user errors. Attributes: code, message, found, required, hint, location, notes."""

    family = "error"

    def __init__(self, message="", *, code="", found="", required="", hint="", span=None, notes=()):
        self.code, self.message = code, message
        self.found, self.required, self.hint = found, required, hint
        self.location = Location.of(span)
        self.notes = [(Location.of(where), text) for where, text in notes]
        super().__init__(message)

    def __str__(self):
        lines = [f"[{self.code}] {self.message}" if self.code else self.message]
        if self.location is not None:
            lines.append(f"  at {_indent(self.location.render())}")
        for label, text in (("found", self.found), ("required", self.required), ("help", self.hint)):
            if text:
                lines.append(f"  {label + ':':9} {_indent(text, 12)}")
        for where, text in self.notes:
            lines.append(f"  note: {text}" + (f"\n  at {_indent(where.render())}" if where else ""))
        return "\n".join(lines)

    def to_dict(self) -> dict:
        """The fields as JSON-able values (what `tirx --json` prints)."""
        loc = self.location
        where = loc and {"file": loc.file, "line": loc.line, "column": loc.column + 1}
        return {
            "family": self.family, "code": self.code, "message": self.message, "found": self.found,
            "required": self.required, "hint": self.hint, "location": where,
            "notes": [{"text": t, "location": w and {"file": w.file, "line": w.line}} for w, t in self.notes],
        }  # fmt: skip


def _indent(text: str, by: int = 2) -> str:
    return text.replace("\n", "\n" + " " * by)


class ScriptError(TirxError):
    """The source is not in the language (parser)."""

    family = "script"


class TypeMismatch(TirxError, TypeError):
    """Dtypes, ranks or constants do not fit."""

    family = "type"


class LayoutError(TirxError, ValueError):
    """A layout operation has no exact answer or was called against its preconditions."""

    family = "layout"


def absent(package: str, required: str, hint: str) -> LayoutError:
    """The error of a layout function that needs a package which is not installed."""
    return LayoutError(
        f"the package {package} is not installed", code="no-package", required=required, hint=hint
    )


class ScopeError(TirxError):
    """Execution scopes contradict each other or a collective lacks its team."""

    family = "scope"


class DispatchFail(TirxError):
    """Raised by a dispatch rule to decline; the message is the recorded reason."""

    family = "dispatch-fail"


class DispatchError(TirxError):
    """No variant (or more than one) accepts a tile call."""

    family = "dispatch"


class TargetError(TirxError):
    """The target lacks a feature, memory or instruction that the program uses."""

    family = "target"


class VerifyError(TirxError):
    """IR that is not legal at its stage."""

    family = "verify"


class LaunchError(TirxError):
    """Arguments of a call do not fit the kernel, or the driver refused."""

    family = "launch"


class SimError(TirxError):
    """The simulated program broke a rule of the hardware; `report` has the findings."""

    family = "sim"
    report = None


class InternalError(RuntimeError):
    """A bug of this package, never the answer to a user's mistake."""


_FAMILIES = {
    cls.family: cls
    for cls in (ScriptError, TypeMismatch, LayoutError, ScopeError, DispatchFail, DispatchError,
                TargetError, VerifyError, LaunchError, SimError)
}  # fmt: skip


class _FromCpp(TirxError):
    """What the FFI constructs for an error of kind "TirxError": the exception that the Diag encodes."""

    def __new__(cls, message):
        try:
            fields = json.loads(message)
            family = _FAMILIES[fields.pop("family")]
            return family(fields.pop("message"), **fields)
        except (ValueError, KeyError, TypeError):
            return TirxError(message)


tvm_ffi.register_error("TirxError", _FromCpp)
tvm_ffi.register_error("InternalError", InternalError)
for _cls in (KeyboardInterrupt, SystemExit, NotImplementedError, ZeroDivisionError, RecursionError):
    tvm_ffi.register_error(_cls.__name__, _cls)
