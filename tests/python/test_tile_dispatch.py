"""Selection of dispatch rules: order, predicates, declining, errors, records."""

import json
import warnings

import pytest
from tile_fakes import plain_context, tile_call, whole

from tirx import ir
from tirx.errors import DispatchError, DispatchFail, ScopeError
from tirx.tile import (
    Report,
    RuleBugWarning,
    dispatch,
    fail,
    predicate,
    recording,
    register_dispatch,
    registry,
)

NOTHING = ir.Evaluate(ir.const(0, "int32"))


@pytest.fixture
def table():
    """An empty table for the kind "fake"."""
    saved = dict(registry._TABLE)
    yield
    registry._TABLE.clear()
    registry._TABLE.update(saved)


def add(variant, priority=0, when=(), config=None, body=lambda call, ctx: NOTHING, op="copy"):
    def rule(call, ctx):
        return body(call, ctx)

    rule.__qualname__ = f"rule_{variant}"
    register_dispatch(op, "fake", variant=variant, priority=priority, when=when, config=config)(rule)


def copy_call(**kw):
    a = ir.Buffer.make("A", [4, 8], "float32")
    b = ir.Buffer.make("B", [4, 8], "float32", "shared")
    return tile_call("copy", whole(b), whole(a), **kw)


def chosen(call=None, ctx=None):
    with recording() as decisions:
        dispatch(call or copy_call(), ctx or plain_context())
    return decisions[0]


def test_priority_then_name(table):
    add("b", 5, when=[lambda c, x: "no"])
    add("a", 5)
    add("low", 1)
    decision = chosen()
    assert decision.variant == "a" and decision.priority == 5
    assert [r.variant for r in decision.rejections] == ["b"]


def test_decline_falls_through_with_the_reason(table):
    add("top", 9, body=lambda c, x: fail("row length 211 is odd"))
    add("base", 0)
    decision = chosen()
    assert decision.variant == "base"
    assert decision.rejections[0].kind == "declined" and "211" in decision.rejections[0].reason
    assert decision.rejections[0].source.startswith("python/test_tile_dispatch.py:")


def test_predicate_forms(table):
    @predicate("says why")
    def says(call, ctx, limit):
        return limit > 3 or f"limit is {limit}"

    says.kwargs["limit"] = 2

    def raises(call, ctx):
        raise DispatchFail("raised")

    add("text", 4, when=[says])
    add("pair", 3, when=[lambda c, x: (False, "paired")])
    add("raise", 2, when=[raises])
    add("false", 1, when=[predicate("never", lambda c, x: False)])
    add("ok", 0, when=[lambda c, x: None, lambda c, x: True, lambda c, x: (True, None)])
    decision = chosen()
    assert decision.variant == "ok"
    reasons = [(r.variant, r.predicate, r.reason) for r in decision.rejections]
    assert reasons[0] == ("text", "says why", "limit is 2")
    assert [r[2] for r in reasons[1:]] == ["paired", "raised", "does not hold"]
    assert reasons[3][1] == "never"


def test_equal_priority_is_ambiguous(table):
    add("one", 3)
    add("two", 3)
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(), plain_context())
    assert e.value.code == "ambiguous-dispatch" and e.value.location.line == 7
    assert "copy/one" in e.value.found and "copy/two" in e.value.found
    assert "test_tile_dispatch.py" in e.value.found


def test_equal_priority_with_exclusive_predicates_is_fine(table):
    add("one", 3, when=[lambda c, x: "not today"])
    add("two", 3)
    assert chosen().variant == "two"


def test_ambiguity_is_resolved_by_dispatch(table):
    add("one", 3)
    add("two", 3)
    assert chosen(copy_call(dispatch="two")).variant == "two"


def test_unknown_variant_lists_them(table):
    add("one", 3)
    add("two", 2)
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(dispatch="three"), plain_context())
    assert e.value.code == "unknown-variant" and e.value.required == "one of: one, two"


def test_forced_variant_that_declines_names_the_predicate(table):
    add("one", 3, when=[predicate("even rows", lambda c, x: "3 rows")])
    add("two", 2)
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(dispatch="one"), plain_context())
    assert e.value.code == "forced-variant-declined"
    assert "predicate 'even rows': 3 rows" in e.value.found


def test_config_keys(table):
    add("one", 3, config={"cache": '"nc" reads through the non-coherent path'})
    add("two", 2, config={"direct": "one instruction"})
    add("three", 1)
    assert chosen(copy_call(config={"direct": True})).variant == "two"
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(config={"cach": "nc"}), plain_context())
    assert e.value.code == "unknown-config-key"
    assert "cache (one)" in e.value.required and "direct (two)" in e.value.required
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(dispatch="three", config={"cache": "nc"}), plain_context())
    assert "does not take the config key 'cache'" in e.value.found


def test_bug_in_a_rule_is_reported_at_the_end(table):
    add("bad", 3, body=lambda c, x: 1 // 0)
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(), plain_context())
    assert e.value.code == "dispatch-rule-bug"
    assert isinstance(e.value.__cause__, ZeroDivisionError)
    assert "ZeroDivisionError" in e.value.required
    add("good", 0)
    with pytest.warns(RuleBugWarning, match="ZeroDivisionError"):
        assert chosen().variant == "good"


def test_bug_in_a_predicate_is_a_bug_too(table):
    add("bad", 3, when=[lambda c, x: c.no_such_field])
    add("good", 0)
    with pytest.warns(RuleBugWarning, match="AttributeError"):
        assert chosen().rejections[0].kind == "bug"


def test_none_is_not_an_answer(table):
    add("bad", 3, body=lambda c, x: None)
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(), plain_context())
    assert "returned None" in e.value.required


def test_user_errors_stop_the_search(table):
    def user_error(call, ctx):
        raise call.error(ScopeError, "needs a warp", code="partial-warp")

    add("strict", 3, body=user_error)
    add("lax", 0)
    with pytest.raises(ScopeError) as e:
        dispatch(copy_call(), plain_context())
    assert e.value.location.file == "kernel.py"


def test_no_rules_and_nothing_accepts(table):
    add("x", op="fill")
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(), plain_context())
    assert e.value.code == "no-rules" and "fill" in e.value.required
    add("one", 2, when=[lambda c, x: "first reason"])
    add("two", 1, body=lambda c, x: fail("second reason"))
    with pytest.raises(DispatchError) as e:
        dispatch(copy_call(), plain_context())
    assert e.value.code == "no-variant-accepts"
    assert "first reason" in e.value.required and "second reason" in e.value.required
    assert "float32[4, 8] shared" in e.value.found


def test_duplicate_variant(table):
    add("one")
    with pytest.raises(DispatchError) as e:
        register_dispatch("copy", "fake", variant="one")(lambda call, ctx: NOTHING)
    assert e.value.code == "duplicate-variant"
    add("one", 7)  # the same function again replaces the row
    assert [r.priority for r in registry.rules_for("copy", "fake")] == [7]


def test_report_text_and_json(table):
    def body(call, ctx):
        ctx.emits("16-byte load and store", 2)
        ctx.covers("32 elements once: 4 threads x 8 lanes")
        ctx.note("row length is a multiple of 8")
        return NOTHING

    add("fast", 3, body=body)
    add("tuned", 9, when=[predicate("big tile", lambda c, x: "32 elements")])
    report = Report("kernel", "fake/x1", [chosen()])
    text = report.text()
    line = report.decisions[0].source
    why = report.decisions[0].rejections[0].source
    assert text == (
        "kernel for fake/x1: 1 tile call\n"
        "kernel.py:7  copy(dst=float32[4, 8] shared, src=float32[4, 8] global)  at cta scope\n"
        f"  variant   fast (priority 3)  {line}\n"
        "  emits     2 x 16-byte load and store per thread\n"
        "  covers    32 elements once: 4 threads x 8 lanes\n"
        "  note      row length is a multiple of 8\n"
        f"  rejected  tuned: predicate 'big tile': 32 elements ({why})"
    )
    data = json.loads(report.json())
    assert data["function"] == "kernel" and data["calls"][0]["variant"] == "fast"
    assert data["calls"][0]["rejections"][0]["predicate"] == "big tile"


def test_nothing_is_recorded_or_warned_by_default(table):
    add("one")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dispatch(copy_call(), plain_context()).same_as(NOTHING)
