"""The checks of `python -m bench layouts` can fail: right answers pass, and every kind of wrong one is counted."""

import itertools
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))
from bench import layouts  # noqa: E402
from bench.layouts import cute_meaning, maps, meaning  # noqa: E402

from tirx.errors import LayoutError  # noqa: E402

EACH = 40  # cases of each operation


def sampled(op):
    """The operation with a spread of its cases."""
    cases = list(op.cases())
    return op._replace(cases=lambda: cases[:: max(1, len(cases) // EACH)])


def spoiled(answer):
    """A different answer of the same kind."""
    if isinstance(answer, bool):
        return not answer
    if isinstance(answer, meaning.Tile):
        return answer._replace(offset=(*answer.offset, ("m", 1000)), swizzle=None)
    if isinstance(answer, dict) and "total" in answer:
        return {**answer, "total": "DISPROVEN"}
    if isinstance(answer, int):
        return answer ^ 7
    if isinstance(answer, dict):
        return {**answer, "m": answer.get("m", 0) + 1000}
    if isinstance(answer, tuple):
        return (spoiled(answer[0]), *answer[1:])
    return [v + 1 if isinstance(v, int) else (*v[:-1], v[-1] + 1) for v in answer]


def spoiling(prepare):
    def wrapped(*args):
        call, read = prepare(*args)
        return call, lambda out: spoiled(read(out))

    return wrapped


ROOMS = [(meaning.TILE_OPS, layouts.TILE), (cute_meaning.CUTE_OPS, layouts.CUTE),
         (maps.LINEAR_OPS, maps.LINEAR), (maps.MAP_OPS, maps.MAP)]  # fmt: skip
OPS = [(op, adapter) for ops, adapter in ROOMS for op in ops]


@pytest.mark.parametrize("op, adapter", OPS, ids=[op.name for op, _ in OPS])
def test_right_answers_pass_and_wrong_ones_are_counted(op, adapter):
    op = sampled(op)
    right = meaning.run([op], adapter, LayoutError)[op.name]
    assert right["wrong"] == 0 and right["cases"] > right["refused"]
    wrong = meaning.run([op], {op.name: spoiling(adapter[op.name])}, LayoutError)[op.name]
    unsure = right["refused"] if op.unsure else 0  # an open fact is right but for the others
    assert wrong["wrong"] == right["cases"] - right["refused"] + unsure
    assert wrong["refused"] == right["refused"] - unsure


@pytest.mark.parametrize("name", [op.name for op in meaning.TILE_OPS if op.denied])
def test_none_is_wrong_where_an_answer_exists(name):
    op = next(op for op in meaning.TILE_OPS if op.name == name)
    never = {name: lambda *args: ((lambda: None), None)}
    cases = list(itertools.islice(op.cases(), 120))
    found = meaning.run([op._replace(cases=lambda: cases)], never, LayoutError)[name]
    assert 0 < found["wrong"] < 120
