"""Definitions for the tests of distributed placements: what devices hold, and collectives on Python dictionaries.

Everything here is written from the meaning of layouts (`placements`), of torch.chunk and of the collectives, and uses no
part of the code under test but the fields of the objects that it describes.
"""

import itertools
import math
import random
from fractions import Fraction
from functools import lru_cache, reduce

import numpy as np

from tirx.layout import Partial, Replicate, Shard, StridedShard, placements

NEUTRAL = {"sum": 0, "product": 1, "max": -math.inf, "min": math.inf}
COMBINE = {
    "sum": lambda a, b: a + b,
    "avg": lambda a, b: a + b,
    "product": lambda a, b: a * b,
    "max": max,
    "min": min,
}


@lru_cache(maxsize=4096)
def _held(layout):
    out = {}
    for x, places in enumerate(placements(layout)):
        for place in places:
            out.setdefault(dict(place).get("pid", 0), set()).add(x)
    return {p: frozenset(s) for p, s in out.items()}


def held(placement):
    """{device: linear indices of the elements that it holds}"""
    return _held(placement.layout)


def dtensor_held(shape, devices, words):
    """The same by torch's rule: each mesh dimension chunks what the earlier ones left. None when uneven."""
    out, devices = {}, np.asarray(devices)
    try:
        for at in itertools.product(*[range(n) for n in devices.shape]):
            part = np.arange(math.prod(shape)).reshape(shape)
            for k, word in enumerate(words):
                part = _cut(part, word, devices.shape[k], at[k])
            out[int(devices[at])] = frozenset(int(x) for x in part.ravel())
    except ValueError:  # np.split: not an equal division
        return None
    return out


def _cut(part, word, n, c):
    if isinstance(word, Shard):
        return np.split(part, n, word.dim)[c]
    if isinstance(word, StridedShard):
        blocks = np.split(part, word.split_factor, word.dim)
        return np.concatenate([np.split(b, n, word.dim)[c] for b in blocks], word.dim)
    assert isinstance(word, (Replicate, Partial))
    return part


# ---- values ----


def coordinate(p, placement, digit):
    extent, stride = digit[:2]
    return (p - placement.first) // stride % extent


def tag(p, placement):
    """The device's position among the summands."""
    return tuple(coordinate(p, placement, d) for d in placement.pending)


def summand(value, op, at, extents, x):
    """The part at position `at`: all of them reduce to `value`."""
    if not extents:
        return value
    rng = lambda c: random.Random(f"{x} {c}")  # noqa: E731
    others = [c for c in itertools.product(*[range(e) for e in extents]) if any(c)]
    draw = {"max": lambda c: value - rng(c).randint(0, 5), "min": lambda c: value + rng(c).randint(0, 5),
            "product": lambda c: rng(c).choice([-1, 1])}.get(op, lambda c: rng(c).randint(-9, 9))  # fmt: skip
    if any(at):
        return draw(at)
    if op in ("max", "min"):
        return value
    if op == "product":
        return value * math.prod(draw(c) for c in others)
    return value * (math.prod(extents) if op == "avg" else 1) - sum(draw(c) for c in others)


def initial(placement, values):
    """{device: {element: value or summand}}. Sum and avg together are not drawn."""
    ops = {op for _, _, op in placement.pending} or {"sum"}
    (op,), extents = ops, [e for e, _, _ in placement.pending]
    return {p: {x: summand(values[x], op, tag(p, placement), extents, x) for x in elements}
            for p, elements in held(placement).items()}  # fmt: skip


def check_final(placement, state, values):
    """Every device holds what the placement says, and pending parts reduce to the values."""
    assert {p: frozenset(s) for p, s in state.items()} == held(placement)
    groups = {}
    for p in state:
        base = p - sum(coordinate(p, placement, d) * d[1] for d in placement.pending)
        groups.setdefault(base, []).append(p)
    for members in groups.values():
        for x in state[members[0]]:
            parts = [state[p][x] for p in members]
            assert _reduced(parts, placement.pending) == values[x], (placement, x, parts)


def _reduced(parts, pending):
    if not pending:
        assert len(parts) == 1
        return parts[0]
    total = reduce(COMBINE[pending[0][2]], parts)
    return Fraction(total, len(parts)) if pending[0][2] == "avg" else total


# ---- steps ----


def run_step(step, state):
    """The state after one step of a plan, and {device: elements sent} by the ring convention."""
    after, sent = held(step.after), dict.fromkeys(state, 0)
    if step.kind in ("local slice", "local copy"):
        new = {p: {x: state[p][x] for x in after[p]} for p in state}
    elif step.kind == "collective-permute":
        new, sent = _permute(step, state)
    else:
        new = {}
        for group in step.groups:
            assert len(set(group)) == len(group) == math.prod(n for n, _ in step.digits)
            new.update(_MEANING[step.kind](step, group, state, after, sent))
        assert new.keys() == state.keys()
    assert {p: frozenset(s) for p, s in new.items()} == after, step
    return new, sent


def _permute(step, state):
    sent = dict.fromkeys([*state, *step.moves], 0)
    for d, s in step.moves.items():
        if d != s:
            sent[s] += len(state[s])
    assert sorted(step.moves.values()) == sorted(state)
    return {d: dict(state[s]) for d, s in step.moves.items()}, sent


def _gather(step, group, state, after, sent):
    union = {}
    for p in group:
        assert not union.keys() & state[p].keys()
        union.update(state[p])
        sent[p] = (len(group) - 1) * len(state[p])
    return {p: dict(union) for p in group}


def _exchange(step, group, state, after, sent):
    new = {p: {} for p in group}
    for q in group:
        shares = {len(state[q].keys() & after[p]) for p in group}
        assert shares == {len(state[q]) // len(group)}
        sent[q] = len(state[q]) - len(state[q]) // len(group)
        for p in group:
            new[p].update({x: v for x, v in state[q].items() if x in after[p]})
    return new


def _pending_op(placement, digits):
    """The reduction whose digits the step's digits are part of."""
    ops = {op for n, s in digits for e, t, op in placement.pending if t <= s < t * e}
    (op,) = ops
    return op


def _reduce(step, group, state, after, sent):
    op, n = _pending_op(step.before, step.digits), len(group)
    total = {}
    for x in state[group[0]]:
        total[x] = reduce(COMBINE[op], [state[p][x] for p in group])
        if op == "avg":
            total[x] = Fraction(total[x], n)
    for p in group:
        b = len(state[p])
        sent[p] = b - b // n if step.kind == "reduce-scatter" else -(-2 * (n - 1) * b // n)
    return {p: {x: total[x] for x in after[p]} for p in group}


def _mask(step, group, state, after, sent):
    op, new = _pending_op(step.after, step.digits), {p: {} for p in group}
    for x in set().union(*[after[p] for p in group]):
        holders = [p for p in group if x in state[p]]
        assert holders and (op != "avg" or holders == list(group))
        keep = holders[:1] if op in ("sum", "product") else holders
        for p in group:
            new[p][x] = state[p][x] if p in keep else NEUTRAL[op]
    return new


_MEANING = {"all-gather": _gather, "all-to-all": _exchange, "reduce-scatter": _reduce, "all-reduce": _reduce,
            "local mask": _mask}  # fmt: skip


def lacking(src, dst):
    """{device: elements it needs and has not}, by the sets of elements."""
    have, need, out = held(src), held(dst), {}
    for p, elements in need.items():
        mine = have.get(p, frozenset())
        ours = {d for d in _unit_digits(src.pending)}
        theirs = {d for d in _unit_digits(dst.pending)}
        if theirs - ours:
            out[p] = 0
        else:
            out[p] = len(elements) if ours - theirs else len(elements - mine)
    return out


def _unit_digits(pending):
    """Pending digits cut to primes, so that equal reductions look equal."""
    for extent, stride, op in pending:
        while extent > 1:
            q = next(k for k in range(2, extent + 1) if extent % k == 0)
            yield q, stride, op
            extent, stride = extent // q, stride * q
