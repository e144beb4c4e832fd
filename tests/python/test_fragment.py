"""TileLang fragments: places, correspondences, TileLayouts both ways, and TileLang itself where there is one.

Expected places come from calling the functions with plain integers, or from TileLang's own evaluation: set
TIRX_TILELANG_PYTHON to an interpreter that has tilelang (it does not load beside this package's tvm_ffi).
"""

import itertools
import json
import os
import subprocess
from pathlib import Path

import pytest
from layout_cases import build, refused, small_layouts

from tirx.interop.tilelang import fragment_source, from_tilelang
from tirx.layout import Fragment, R, S, TileLayout, laneid, mma_fragment_layout, placements, tid_in_wg

# (shape, thread, index, copies): functions of ints, called with the copy number when there is more than one.
MMA = (lambda i, j: i % 8 * 4 + j % 8 // 2), (lambda i, j: j % 2 + 2 * (i // 8) + 4 * (j // 8))
CASES = {
    "mma-a": ((16, 16), *MMA, 1),
    "mma-c": ((16, 8), lambda i, j: i % 8 * 4 + j // 2, lambda i, j: j % 2 + 2 * (i // 8), 1),
    "rows": ((128, 4), lambda i, j: i, lambda i, j: j, 1),
    "copies": ((8,), lambda i, r: i + 8 * r, lambda i: 0, 4),
    "reversed-copies": ((8,), lambda i, r: i + 8 * (3 - r), lambda i: 0, 4),
    "copies-in-the-middle": ((2, 4), lambda i, j, r: i * 16 + r * 4 + j, lambda i, j: 0, 4),
    "two-copy-digits": ((4,), lambda i, r: i + 4 * (r % 2) + 16 * (r // 2), lambda i: 0, 4),
    "index-2d": ((8, 8), lambda i, j: i // 2 * 4 + j // 2, lambda i, j: (i % 2, j % 2), 1),
    "not-a-power": ((6, 10), lambda i, j: i * 5 + j // 2, lambda i, j: j % 2, 1),
    "shifted": ((4, 4), lambda i, j: 3 + i * 4 + j, lambda i, j: 7, 1),
    "column-major": ((4, 8), lambda i, j: j * 4 + i, lambda i, j: 0, 1),
    "xor": ((8, 8), lambda i, j: (i ^ j) * 4 + j % 4, lambda i, j: i * 2 + j // 4, 1),
    "xor-of-copies": ((4,), lambda i, r: (i ^ r) + 4 * r, lambda i: 0, 4),
    "diagonal": ((4, 4), lambda i, j: (i + j) % 4, lambda i, j: i, 1),
    "shared-place": ((4, 4), lambda i, j: i, lambda i, j: j // 2, 1),
}
NO_TILE = {"xor", "xor-of-copies", "diagonal"}


def made(name):
    shape, thread, index, copies = CASES[name]
    return Fragment(shape, index, thread, copies)


def plain(name):
    """[[(thread, flat index) of every copy] per element] from the functions themselves."""
    shape, thread, index, copies = CASES[name]
    points = list(itertools.product(*map(range, shape)))
    indices = [index(*x) for x in points]
    extents = [1 + max(v) for v in zip(*[i if isinstance(i, tuple) else (i,) for i in indices])]
    out = []
    for x, i in zip(points, indices):
        flat = 0
        for v, n in zip(i if isinstance(i, tuple) else (i,), extents):
            flat = flat * n + v
        threads = [thread(*x, r) for r in range(copies)] if copies > 1 else [thread(*x)]
        out.append([(t, flat) for t in threads])
    return out


def flat_places(fragment):
    """The same from the fragment's own maps."""
    out = []
    for x in itertools.product(*map(range, fragment.shape)):
        places = []
        for t, i in fragment.places(*x):
            flat = 0
            for v, n in zip(i, fragment.index_shape):
                flat = flat * n + v
            places.append((t, flat))
        out.append(places)
    return out


def as_places(rows, axis):
    return [
        frozenset(frozenset((a, v) for a, v in ((axis, t), ("m", m)) if v) for t, m in row) for row in rows
    ]


@pytest.mark.parametrize("name", CASES)
def test_places_are_those_of_the_functions(name):
    fragment, want = made(name), plain(name)
    assert flat_places(fragment) == want
    assert fragment.threads == 1 + max(t for row in want for t, _ in row)
    owners = {}
    for element, row in enumerate(want):
        for place in row:
            owners.setdefault(place, set()).add(element)
    assert fragment.is_exclusive() == all(len(e) == 1 for e in owners.values())


@pytest.mark.parametrize("name", CASES)
def test_one_map_of_elements_and_copies(name):
    fragment = made(name)
    assert fragment.place_map.domain == (*fragment.shape, fragment.replicate)
    values = iter(fragment.place_map.table())
    for x in itertools.product(*map(range, fragment.shape)):
        copies = itertools.islice(values, fragment.replicate)
        assert fragment.places(*x) == [(v[0], v[1:]) for v in copies]


@pytest.mark.parametrize("name", CASES)
def test_correspondence_in_both_directions(name):
    """Logical element to places and place to elements."""
    fragment = made(name)
    corr, owners = fragment.corr(), {}
    points = list(itertools.product(*map(range, fragment.shape)))
    for x in points:
        places = {(t, *i) for t, i in fragment.places(*x)}
        assert corr.places(*x) == places
        for p in places:
            owners.setdefault(p, set()).add(x)
    assert corr.pairs() == [(x, (t, *i)) for x in points for t, i in fragment.places(*x)]
    for place, elements in owners.items():
        assert corr.sources(*place) == corr.converse().places(*place) == elements


@pytest.mark.parametrize("name", CASES)
def test_export_to_a_tile_layout(name):
    fragment = made(name)
    if name in NO_TILE:
        assert refused(fragment.to_tile).code == "no-tile-layout"
        return
    assert placements(fragment.to_tile("tx")) == as_places(plain(name), "tx")


@pytest.mark.parametrize("name", sorted(NO_TILE))
def test_a_refused_fragment_has_no_tile_layout(name):
    """For single places the exhaustive search of the layout tests agrees; copies at different distances have none."""
    from layout_cases import is_mixed_radix

    rows = plain(name)
    if len(rows[0]) == 1:
        assert not is_mixed_radix([{"tx": t, "m": m} for ((t, m),) in rows])
    else:
        steps = [sorted(t - min(row)[0] for t, _ in row) for row in rows]
        assert any(s != steps[0] for s in steps)


HARDWARE = [
    (mma_fragment_layout("A", "float16"), (16, 16), "laneid"),
    (mma_fragment_layout("C", "float32"), (16, 8), "laneid"),
    (TileLayout(S[(128, 4) : (1 @ tid_in_wg, 1)]), (128, 4), "tid_in_wg"),
    (TileLayout(S[(8, 4) : (1 @ laneid, 1)] + R[(2, 2) : (8 @ laneid, 16 @ laneid)]), (32,), "laneid"),
    (TileLayout(S[(8, 4) : (1 @ laneid, 1)] + 4 @ laneid + 3), (8, 4), "laneid"),
]


@pytest.mark.parametrize("layout, shape, axis", HARDWARE)
def test_import_of_a_tile_layout(layout, shape, axis):
    fragment = Fragment.from_tile(layout, shape, axis)
    assert as_places([[(t, i[0]) for t, i in fragment.places(*x)] for x in itertools.product(*map(range, shape))],
                     axis) == placements(layout)  # fmt: skip
    assert placements(fragment.to_tile(axis)) == placements(layout)


def test_hardware_fragment_from_lambdas():
    assert placements(made("mma-a").to_tile("laneid")) == placements(mma_fragment_layout("A", "float16"))


def test_every_small_tile_layout_is_a_fragment_or_is_refused():
    tried = kept = 0
    for layout in small_layouts():
        tried += 1
        size = int(layout.size())
        axes = {str(i.axis) for i in layout.replica}
        lowest = min((v for ps in placements(layout) for p in ps for _, v in p), default=0)
        if axes - {"laneid"} or lowest < 0 or any(str(a) not in ("m", "laneid") for a in layout.offset):
            assert refused(lambda: Fragment.from_tile(layout, (size,), "laneid")), layout
            continue
        fragment = Fragment.from_tile(layout, (size,), "laneid")
        got = [[(t, i[0]) for t, i in fragment.places(x)] for x in range(size)]
        assert as_places(got, "laneid") == placements(layout)
        assert placements(fragment.to_tile("laneid")) == placements(layout)
        kept += 1
    assert tried > 500 and kept > 300


def test_repetitions():
    base = made("mma-c")
    for on_thread, last_first in itertools.product((False, True), repeat=2):
        wide = base.repeat([2, 3], on_thread, last_first)
        assert wide.shape == (32, 24)
        for i, j in itertools.product(range(32), range(24)):
            ((t, (m,)),) = base.places(i % 16, j % 8)
            a, b = i // 16, j // 8
            k = a * 3 + b if last_first else b * 2 + a
            assert wide.places(i, j) == [(t + 32 * k, (m,)) if on_thread else (t, (m + 4 * k,))]
    twice = made("copies").replicated(2)
    assert twice.places(3) == [(3 + 8 * r, (0,)) for r in range(8)]
    assert twice.repeat([2]).places(8 + 3) == [(3 + 8 * r, (1,)) for r in range(8)]


TEXTS = {
    "mma-a": "Fragment((16, 16) -> (8,), replicate: 1, thread: 32, forward_thread: _i % 8 * 4 + _j % 8 // 2, "
             "forward_index: (_j // 8 * 4 + _i // 8 * 2 + _j % 2,))",
    "copies": "Fragment((8,) -> (1,), replicate: 4, thread: 32, forward_thread: _rep * 8 + _i, forward_index: (0,))",
    "xor": "Fragment((8, 8) -> (16,), replicate: 1, thread: pos_inf, forward_thread: T.bitwise_xor(_i, _j) * 4 + "
           "_j % 4, forward_index: (_i * 2 + _j // 4,))",
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_what_tilelang_prints_is_read(name):
    assert flat_places(from_tilelang(TEXTS[name])) == plain(name)


def test_functions_in_printed_fragments():
    text = ("Fragment((8, 4) -> (6,), replicate: 4, thread: pos_inf, forward_thread: T.shift_right(_rep, 1) * 64 + "
            "_j * 4 + T.if_then_else(_i < 4, _i, _i + 12), forward_index: (T.bitwise_and(_i, 1) * 2 + "
            "T.max(_i - _j, 0) + T.min(_i, _j),))")  # fmt: skip
    fragment = from_tilelang(text)
    for i, j in itertools.product(range(8), range(4)):
        index = (i & 1) * 2 + max(i - j, 0) + min(i, j)
        threads = [(r >> 1) * 64 + j * 4 + (i if i < 4 else i + 12) for r in range(4)]
        assert fragment.places(i, j) == [(t, (index,)) for t in threads]


@pytest.mark.parametrize(
    "text",
    [
        "Fragment()",
        TEXTS["copies"].replace("_rep", "_q"),
        TEXTS["copies"].replace("_rep * 8", "T.truncmod(_rep, 8)"),
        TEXTS["copies"].replace("_rep * 8", "__import__('os').getpid()"),
        TEXTS["copies"].replace("_rep * 8", "_rep.real"),
        TEXTS["copies"].replace("_rep * 8", "_rep *"),
        TEXTS["copies"].replace("_rep * 8", "_rep * 1.5"),
    ],
)
def test_other_text_is_refused(text):
    assert refused(lambda: from_tilelang(text)).code == "bad-notation"


def test_mistakes():
    assert refused(lambda: Fragment((4,))).code == "no-thread"
    assert refused(lambda: Fragment((4,), None, lambda i: i, 0)).code == "bad-replicate"
    assert refused(lambda: Fragment((4,), replicate=2, forward=lambda i, r: (i, r))).code == "bad-index"
    both = Fragment((4, 2), replicate=2, forward=lambda i, j, r: (i + 4 * r, j))
    assert both.places(3, 1) == [(3, (1,)), (7, (1,))]
    assert refused(lambda: Fragment.from_tile(TileLayout(S[4:1]), (5,))).code == "bad-shape"
    assert refused(lambda: Fragment.from_tile(build([(4, 1)], [(2, 4)]), (4,))).code == "bad-axis"
    assert refused(lambda: both.repeat([2])).code == "bad-shape"


def test_source_is_the_same_map():
    for name in CASES:
        source, want = fragment_source(made(name)), plain(name)

        def fragment(shape, forward_fn, replicate, want=want):
            rows = []
            for x in itertools.product(*map(range, shape)):
                copies = [forward_fn(*x, r) for r in range(replicate)] if replicate > 1 else [forward_fn(*x)]
                rows.append([t for t, _ in copies])
            assert rows == [[t for t, _ in row] for row in want]

        eval(source, {"Fragment": fragment, "convert": list})
    chosen = Fragment((4,), None, lambda i: i * (i < 2))
    assert refused(lambda: fragment_source(chosen)).code == "no-source"


@pytest.mark.slow
def test_tilelang_itself():
    """Every case built by TileLang from our source, evaluated by it, printed by it and read back."""
    python = os.environ.get("TIRX_TILELANG_PYTHON")
    if not python:
        pytest.skip("set TIRX_TILELANG_PYTHON to an interpreter with tilelang")
    sources = [fragment_source(made(name)) for name in CASES]
    dump = Path(__file__).with_name("tilelang_dump.py")
    run = subprocess.run([python, dump], input="\n".join(sources), capture_output=True, text=True, timeout=300,
                         env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"})  # fmt: skip
    assert run.returncode == 0, run.stderr[-2000:]
    found = [json.loads(line) for line in run.stdout.splitlines() if line.startswith("{")]
    assert len(found) == len(CASES)
    for name, theirs in zip(CASES, found):
        fragment = made(name)
        points = itertools.product(*map(range, fragment.shape))
        assert theirs["rows"] == [[list(column) for column in zip(*((*i, t) for t, i in fragment.places(*x)))]
                                  for x in points], name  # fmt: skip
        assert flat_places(from_tilelang(theirs["text"])) == plain(name), theirs["text"]
