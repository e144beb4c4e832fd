"""Checks shared by the rules. Each raises a user error at the call, and never declines."""

from __future__ import annotations

from ..errors import ScopeError, TypeMismatch
from ..ir import PrimExpr, structural_equal
from .builder import as_int, expr_text
from .operand import THREAD_AXES


def check_same_shape(call, *operands) -> None:
    """TypeMismatch "operand-shapes-differ", quoting both shapes, unless all extents are equal."""
    first = operands[0]
    for other in operands[1:]:
        if not _same_extents(first.extents, other.extents):
            raise call.error(
                TypeMismatch, f"{call.op}: {first.name} and {other.name} have different shapes",
                code="operand-shapes-differ", required="equal extents in every dimension",
                found=f"{first.name} is {first.describe()}, {other.name} is {other.describe()}",
                hint="an index (A[i, :]) drops a dimension, a slice of one (A[i:i + 1, :]) keeps it",
            )  # fmt: skip


def _same_extents(a, b) -> bool:
    return len(a) == len(b) and all(_same(x, y) for x, y in zip(a, b))


def _same(x, y) -> bool:
    if type(x) is int or type(y) is int:
        return type(x) is type(y) and x == y
    return x.same_as(y) or structural_equal(x, y)


def check_same_dtype(call, *operands) -> None:
    """TypeMismatch "operand-dtypes-differ" unless all operands have one dtype."""
    first = operands[0]
    for other in operands[1:]:
        if first.buffer.dtype != other.buffer.dtype:
            raise call.error(
                TypeMismatch, f"{call.op} moves elements as they are, and these differ in type",
                code="operand-dtypes-differ", required="one dtype", hint="Tx.cast converts between dtypes",
                found=f"{first.name} is {first.describe()}, {other.name} is {other.describe()}",
            )  # fmt: skip


def check_no_overlap(call, ctx) -> None:
    """TypeMismatch "operands-overlap" when a written and a read operand are known to share some elements of one
    buffer and not all in place: threads would read what others have written already."""
    if call.primitive and call.primitive.in_place:
        return
    operands = call.regions()
    for dst in operands:
        if dst.name not in call.written:
            continue
        for src in operands:
            if src is dst or not src.buffer.same_as(dst.buffer) or not _overlaps(dst, src, ctx):
                continue
            raise call.error(
                TypeMismatch, f"{call.op} reads and writes overlapping parts of {dst.buffer.name}",
                code="operands-overlap", found=f"{dst.name} {_box(dst)} and {src.name} {_box(src)}",
                required="the same region, or regions that share no element",
                hint="move it through another buffer",
            )  # fmt: skip


def _overlaps(a, b, ctx) -> bool:
    """Whether two boxes of one buffer certainly share an element and are not one box."""
    shifted = False
    for (x, n), (y, m) in zip(_sides(a), _sides(b)):
        gap = as_int(ctx.analyzer.simplify(x - y)) if isinstance(x - y, PrimExpr) else x - y
        if gap is None or type(n) is not int or type(m) is not int or not -n < gap < m:
            return False
        shifted = shifted or gap != 0 or n != m
    return shifted


def _sides(op):
    """(start, extent) per dimension of the buffer."""
    extents = dict(zip(op.kept, op.extents))
    return [(start, extents.get(i, 1)) for i, start in enumerate(op.starts)]


def _box(op) -> str:
    return "[" + ", ".join(f"{expr_text(x)}, +{expr_text(n)}" for x, n in _sides(op)) + "]"


def check_registers(call, ctx, *operands) -> None:
    """ScopeError for a register operand that the team cannot own: one without a fragment layout at a
    collective scope, one distributed over threads outside the team, or a team with inactive threads."""
    for op in operands:
        if op.space != "local":
            continue
        if not op.distributed:
            if ctx.scope != "thread":
                raise _no_fragment_layout(call, ctx, op)
            continue
        wrong = [a for a in sorted(op.facts.axes) if ctx.scope not in THREAD_AXES.get(a, (0, ()))[1]]
        if wrong:
            raise _narrow_scope(call, ctx, op, wrong)
        check_full_team(call, ctx, f"{op.buffer.name}, which is distributed over {', '.join(op.facts.axes)},")


def _no_fragment_layout(call, ctx, op):
    return call.error(
        ScopeError, f"{call.op} at {ctx.scope} scope cannot tell which thread owns each element of {op.name}",
        code="register-operand-without-layout",
        found=f"{op.buffer.name} is {op.describe()}, one private copy per thread",
        required="a layout that names threads (laneid, warpid, tid_in_wg, ...)",
        hint="give the buffer a fragment layout, or make the call at thread scope",
    )  # fmt: skip


def _narrow_scope(call, ctx, op, wrong):
    spanned = [set(THREAD_AXES.get(a, (0, ()))[1]) for a in wrong]
    fitting = [s for s in ("warp", "warpgroup", "cta") if all(s in inside for inside in spanned)]
    scope = fitting[0] if fitting else "a wider"
    return call.error(
        ScopeError, f"the elements of {op.buffer.name} are distributed over {', '.join(wrong)}",
        code="distributed-operand-at-narrow-scope", found=f"{call.op} at {ctx.scope} scope",
        required=f"{scope} scope, whose threads own the whole operand",
        hint=f"write Tx.{scope}.{call.op}(...)" if fitting else "",
    )  # fmt: skip


def check_scope(call, ctx, scopes, what) -> None:
    """ScopeError "wrong-scope" unless the call stands at one of `scopes`; `what` needs them."""
    if ctx.scope not in scopes:
        raise call.error(
            ScopeError, f"{what} is executed by a whole {scopes[0]}", code="wrong-scope",
            found=f"{call.op} at {ctx.scope} scope", required=f"{' or '.join(scopes)} scope",
            hint=f"write Tx.{scopes[0]}.{call.op}(...)",
        )  # fmt: skip


def check_full_team(call, ctx, what) -> None:
    """ScopeError "partial-team" unless every thread of the team is active."""
    if not ctx.full:
        raise call.error(
            ScopeError, f"{what} needs every thread of the {ctx.scope}", code="partial-team",
            found=f"{ctx.active} of {ctx.team_size} threads are active", required=f"a full {ctx.scope}",
            hint="move the call out of the condition that switches threads off",
        )  # fmt: skip
