"""Choosing a rule for a tile call and running it.

Order: a `dispatch=` keeps one variant; otherwise priorities descend and names break ties. At one priority
every rule whose predicates accept is a candidate: two candidates are an ambiguity, reported and never
resolved by accident. A rule that raises DispatchFail, or in which a layout operation refuses, is passed
over with its reason. Any other TirxError is the user's mistake and stops at once. Any other exception is a
bug of the rule: the search goes on, and the bug is reported with its traceback at the end.
"""

from __future__ import annotations

import traceback
import warnings
from itertools import groupby

import tvm_ffi

from ..errors import DispatchError, DispatchFail, LayoutError, Location, TirxError
from .checks import check_no_overlap
from .context import TileCall, TileContext, forced_error
from .record import Decision, Rejection, active_sink
from .registry import config_keys, primitives, rules_for


class RuleBugWarning(RuntimeWarning):
    """A rule raised an unexpected exception and another variant was used."""


def dispatch(call: TileCall, ctx: TileContext):
    """The statement that replaces `call`; raises DispatchError when no rule accepts."""
    rules = rules_for(call.op, ctx.kind)
    if not rules:
        raise _no_rules(call, ctx)
    _check_config(call, ctx)
    check_no_overlap(call, ctx)
    if call.dispatch:
        return _run_forced(call, ctx, rules)
    return _search(call, ctx, rules)


def _search(call, ctx, rules):
    rejections, bugs = [], []
    for _, level in groupby(rules, key=lambda r: r.priority):
        accepting = [r for r in level if _accepts(r, call, ctx, rejections, bugs)]
        if len(accepting) > 1:
            raise _ambiguous(call, accepting)
        for rule in accepting:
            stmt = _attempt(rule, call, ctx, rejections, bugs)
            if stmt is not None:
                _finish(call, ctx, rule, rejections, bugs)
                return stmt
    raise _nothing_accepts(call, ctx, rejections) from (bugs[-1][1] if bugs else None)


def _run_forced(call, ctx, rules):
    chosen = [r for r in rules if r.variant == call.dispatch]
    if not chosen:
        raise _unknown_variant(call, ctx, rules)
    rule, rejections, bugs = chosen[0], [], []
    stmt = None
    if _accepts(rule, call, ctx, rejections, bugs):
        stmt = _attempt(rule, call, ctx, rejections, bugs)
    if stmt is None:
        raise forced_error(call, rule, rejections[-1].text()) from (bugs[-1][1] if bugs else None)
    _finish(call, ctx, rule, rejections, bugs)
    return stmt


def _accepts(rule, call, ctx, rejections, bugs) -> bool:
    """Evaluate the rule's predicates in order; record the first that rejects."""
    for key in call.config:
        if key not in rule.config:
            rejections.append(Rejection(rule, "config", f"does not take the config key {key!r}"))
            return False
    for p in rule.when:
        try:
            reason = p(call, ctx)
        except LayoutError as e:
            reason = e.message
        except TirxError as e:
            _place(e, call)
            raise
        except Exception as e:
            _record_bug(rule, e, rejections, bugs)
            return False
        if reason is not None:
            rejections.append(Rejection(rule, "predicate", reason, p.name, p.source))
            return False
    return True


def _attempt(rule, call, ctx, rejections, bugs):
    """Run the rule; None when it declines."""
    ctx.instructions, ctx.coverage, ctx.notes, ctx.predictions = [], "", [], []
    try:
        stmt = rule.fn(call, ctx)
    except (DispatchFail, LayoutError) as e:
        rejections.append(Rejection(rule, "declined", e.message))
        return None
    except TirxError as e:
        _place(e, call)
        raise
    except Exception as e:
        _record_bug(rule, e, rejections, bugs)
        return None
    if stmt is None:
        _record_bug(rule, TypeError(f"{rule.label} returned None instead of a statement"), rejections, bugs)
    return stmt


def _place(error, call):
    """An error that knows no line is about the call that is being lowered."""
    if error.location is None:
        error.location = Location.of(call.span)


def _record_bug(rule, error, rejections, bugs):
    bugs.append((rule, error))
    at = traceback.extract_tb(error.__traceback__)[-1:]
    source = (at[0].filename, at[0].lineno) if at else None
    rejections.append(Rejection(rule, "bug", f"{type(error).__name__}: {error}", source=source))


def _finish(call, ctx, rule, rejections, bugs):
    sink = active_sink()
    if sink is not None:
        sink.append(Decision(call, ctx, rule, rejections))
    for bad, error in bugs:
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        warnings.warn(
            f"rule {bad.label} ({bad.where}) raised {type(error).__name__}, a bug; {rule.variant} was used "
            f"instead\n{text}",
            RuleBugWarning,
            stacklevel=2,
        )


def _check_config(call, ctx):
    if not call.config:
        return
    keys = config_keys(call.op, ctx.kind)
    unknown = [k for k in call.config if k not in keys]
    if unknown:
        known = "; ".join(f"{k} ({', '.join(v)}): {next(iter(v.values()))}" for k, v in sorted(keys.items()))
        raise call.error(
            DispatchError, f"{call.op} has no config key {unknown[0]!r} on {ctx.kind}",
            code="unknown-config-key", found=", ".join(f"{k}={call.config[k]}" for k in unknown),
            required=known or f"no keys: no variant of {call.op} reads any",
        )  # fmt: skip


def _no_rules(call, ctx):
    return call.error(
        DispatchError, f"no rule lowers {call.op} on {ctx.kind}", code="no-rules",
        found=call.text(), required=f"one of: {', '.join(primitives(ctx.kind)) or 'none registered'}",
        hint='write one with @register_dispatch (docs/dispatch.md)',
    )  # fmt: skip


def _unknown_variant(call, ctx, rules):
    return call.error(
        DispatchError, f"{call.op} has no variant {call.dispatch!r} on {ctx.kind}",
        code="unknown-variant", found=f"dispatch={call.dispatch!r}",
        required=f"one of: {', '.join(r.variant for r in rules)}",
    )  # fmt: skip


def _ambiguous(call, accepting):
    both = " and ".join(r.variant for r in accepting)
    return call.error(
        DispatchError, f"{both} both accept this {call.op} at priority {accepting[0].priority}",
        code="ambiguous-dispatch", found="\n".join(f"{r.label} ({r.where})" for r in accepting),
        required="one accepting variant per priority",
        hint=f"choose with dispatch={accepting[0].variant!r}, or give the rules different priorities",
    )  # fmt: skip


def _nothing_accepts(call, ctx, rejections):
    buggy = any(r.kind == "bug" for r in rejections)
    return call.error(
        DispatchError, f"no variant of {call.op} accepts this call on {ctx.kind}/{ctx.arch}",
        code="dispatch-rule-bug" if buggy else "no-variant-accepts",
        found=f"{call.text()} at {ctx.scope} scope", required="\n".join(r.text() for r in rejections),
        hint="the traceback below is the bug" if buggy else "",
    )  # fmt: skip


def dispatch_tile_call(node, context):
    """Hook "tx.dispatch_tile_call" of the pass TilePrimitiveDispatch."""
    return dispatch(TileCall(node), TileContext(context))


tvm_ffi.register_global_func("tx.dispatch_tile_call", dispatch_tile_call, override=True)
