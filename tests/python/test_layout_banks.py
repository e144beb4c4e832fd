"""Bank conflicts, access widths and the choice of a swizzle, against brute force and the simulator's counters.

The definitions below are written from the hardware's rules and from `placements`; nothing here calls the code
under test to know what is right.
"""

import json
import os
import random

import numpy as np
import pytest
from sim_kernels import Builder, tid

import tirx
from tirx import arith, ir
from tirx.errors import LayoutError
from tirx.layout import (
    Access,
    ComposeLayout,
    R,
    S,
    SwizzleMode,
    TileLayout,
    bank_conflicts,
    bank_phases,
    choose_swizzle,
    fragment_accesses,
    laneid,
    mma_fragment_layout,
    mma_shared_layout,
    pid,
    placements,
    vector_width,
    warpid,
)

SEED = int(os.environ.get("TIRX_FUZZ_SEED", "31"))
WIDTHS = (1, 2, 4, 8, 16)
A_FRAGMENT = TileLayout(S[(2, 8, 2, 4, 2) : (2, 4 @ laneid, 4, 1 @ laneid, 1)])


def wavefronts(addresses, width):
    """The definition: per phase the largest number of different words in one of 32 banks."""
    lanes = {1: 32, 2: 32, 4: 32, 8: 16, 16: 8}[width]
    phases = []
    for first in range(0, 32, lanes):
        group = [a for a in addresses[first : first + lanes] if a is not None]
        words = {byte // 4 for a in group for byte in range(a, a + width)}
        if words:
            phases.append(max(sum(w % 32 == bank for w in words) for bank in range(32)))
    return phases


def memory(layout):
    """Memory coordinate per element, from the definition of layouts."""
    return [dict(next(iter(p))).get("m", 0) for p in placements(layout)]


def random_addresses(rng, width):
    kind, step = rng.randrange(4), width * rng.choice([1, 1, 2, 3, 4, 8, 32])
    if kind == 0:
        return [k * step for k in range(32)]
    if kind == 1:
        return [rng.randrange(8) * step for _ in range(32)]
    if kind == 2:
        return [(k % 8) * 128 + k // 8 * step for k in range(32)]
    return [rng.randrange(0, 4096 // width) * width for _ in range(32)]


def some_idle(rng, addresses):
    return [None if rng.random() < 0.3 else a for a in addresses]


# ---- phases ----


def test_wavefronts_are_the_busiest_banks():
    print(f"TIRX_FUZZ_SEED={SEED}")
    rng = random.Random(SEED)
    for n in range(600):
        width = rng.choice(WIDTHS)
        addresses = random_addresses(rng, width)
        if n % 2:
            addresses = some_idle(rng, addresses)
        report, want = bank_phases(addresses, width), wavefronts(addresses, width)
        assert list(report.phases) == want, (addresses, width)
        assert (report.wavefronts, report.ideal, report.conflicts) == (
            sum(want), len(want), sum(want) - len(want))  # fmt: skip


def test_banks_name_every_word_and_its_lanes():
    """What a drawing needs: each lane's bytes are in exactly the words that name it, at the right bank."""
    rng = random.Random(SEED)
    for _ in range(60):
        width = rng.choice(WIDTHS)
        addresses = some_idle(rng, random_addresses(rng, width))
        report = bank_phases(addresses, width)
        found = {(lane, w.word) for words in report.banks for w in words for lane in w.lanes}
        want = {(k, b // 4) for k, a in enumerate(addresses) if a is not None for b in range(a, a + width)}
        assert found == want
        for bank, words in enumerate(report.banks):
            assert all(w.bank == bank == w.word % 32 for w in words)
        for phase, count in enumerate(report.phases):
            assert count == max(sum(w.phase == phase for w in words) for words in report.banks)
        json.dumps(report.to_dict())


@pytest.fixture(scope="module")
def counted():
    """What the simulator counts for one warp's stores at given byte addresses."""
    kernels = {}

    def run(addresses, width):
        if width not in kernels:
            kernels[width] = _store_kernel(width)
        idle = [-1 if a is None else a // min(width, 4) for a in addresses]
        counters = kernels[width].run(np.array(idle, np.int32)).counters["shared_store"]
        return counters["wavefronts"], counters["bank_conflicts"]

    return run


def _store_kernel(width):
    dtype, n = {1: ("uint8", 1), 2: ("uint16", 1), 4: ("float32", 1), 8: ("float32", 2), 16: ("float32", 4)}[
        width]  # fmt: skip
    k = Builder(threads=32)
    where = k.buffer("where", 32, "int32")
    sm = k.alloc("sm", 40960 // min(width, 4), dtype, align=128)
    at = k.bind("at", k.load(where, tid()))
    zero = ir.const(0, dtype)
    value = zero if n == 1 else ir._api.broadcast(zero, n, None)
    k.if_(at >= 0, lambda: k.store(sm, at if n == 1 else k.ramp(at, n), value))
    return k


@pytest.mark.parametrize("width", WIDTHS)
def test_counts_agree_with_the_simulator(counted, width):
    print(f"TIRX_FUZZ_SEED={SEED}")
    rng = random.Random(SEED * 100 + width)
    for n in range(40):
        addresses = random_addresses(rng, width)
        if n % 2:
            addresses = some_idle(rng, addresses)
        if all(a is None for a in addresses):
            continue
        report = bank_phases(addresses, width)
        assert (report.wavefronts, report.conflicts) == counted(addresses, width), addresses


# ---- layouts ----

LAYOUTS = [
    TileLayout(S[32, 32]), TileLayout(S[(32, 32) : (33, 1)]), TileLayout(S[(32, 32) : (1, 32)]) , TileLayout(
        S[(32, 32) : (-40, 1)] + 1280), ComposeLayout(0, 5, 5, TileLayout(S[32, 32])), ComposeLayout(
        2, 3, 3, TileLayout(S[32, 32])), ComposeLayout(2, 2, 3, TileLayout(S[(32, 32) : (36, 1)] + 8)),
    TileLayout(S[(4, 8, 32) : (1, 128, 4)])]  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_conflicts_of_a_layout_are_those_of_its_addresses(layout):
    rng, places = random.Random(SEED), memory(layout)
    rows = [[r * 32 + c for c in range(32)] for r in (0, 5, 31)]
    columns = [[r * 32 + c for r in range(32)] for c in (0, 3, 31)]
    scattered = [[rng.randrange(1024) for _ in range(32)] for _ in range(5)]
    for lanes in [*rows, *columns, *scattered]:
        want = wavefronts([4 * places[x] + 64 for x in lanes], 4)
        assert list(bank_conflicts(layout, lanes, "float32", base=64).phases) == want


def test_vectors_are_runs_of_neighbours():
    tile = ComposeLayout(2, 3, 3, TileLayout(S[32, 32]))
    places = memory(tile)
    starts = [(k % 8) * 128 + k // 8 * 4 for k in range(32)]
    report = bank_conflicts(tile, Access(starts, "float32", 16))
    assert list(report.phases) == wavefronts([4 * places[x] for x in starts], 16)
    listed = [[x, x + 1, x + 2, x + 3] for x in starts]
    assert report == bank_conflicts(tile, listed, "float32")
    with_shape = Access([divmod(x, 32) for x in starts], "float32", 16, shape=(32, 32))
    assert bank_conflicts(tile, with_shape) == report


def test_a_layout_can_say_which_elements_lanes_touch():
    """(lane, position) -> element: lanes in rows of four, two elements each."""
    tile, access = TileLayout(S[(8, 8) : (10, 1)]), TileLayout(S[(8, 4, 2) : (8, 2, 1)])
    report = bank_conflicts(tile, access, "float32", 8)
    want = [10 * (k // 4) + 2 * (k % 4) for k in range(32)]
    assert list(report.phases) == wavefronts([4 * m for m in want], 8)


def test_lanes_that_read_one_word_do_not_conflict():
    """All lanes one element; pairs of halves in one word; and 8 lanes with one 16-byte row."""
    assert bank_conflicts(TileLayout(S[64]), [5] * 32, "float32").wavefronts == 1
    assert bank_conflicts(TileLayout(S[64]), list(range(32)), "float16").conflicts == 0
    assert bank_conflicts(TileLayout(S[64]), Access([8] * 32, "float16", 16)).wavefronts == 4
    assert bank_conflicts(TileLayout(S[64, 64]), [k // 2 * 64 for k in range(32)], "float32").conflicts == 15


@pytest.mark.parametrize("layout, access, code", [
    (TileLayout(S[(32, 32) : (1 @ laneid, 1)]), [0] * 32, "thread-axis"),
    (TileLayout(S[32] + R[2:32]), [0] * 32, "replicated"),
    (TileLayout(S[(8, ir.Var("n", "int32"))]), [0] * 32, "symbolic"),
    (TileLayout(S[32]), [32] * 32, "out-of-range"),
    (TileLayout(S[32]), [-1] * 32, "out-of-range"),
    (TileLayout(S[(32, 2) : (1, 32)]), [[2 * k, 2 * k + 1] for k in range(32)], "not-contiguous"),
    (TileLayout(S[(32, 2) : (3, 1)]), [[2 * k, 2 * k + 1] for k in range(32)], "misaligned"),
    (TileLayout(S[64]), list(range(33)), "bad-access"),
    (TileLayout(S[64]), [[0, 1, 2]], "bad-access"),
    (TileLayout(S[64]), [None] * 32, "bad-access"),
    (TileLayout(S[64]), [[0, 1], [2]], "bad-access"),
])  # fmt: skip
def test_refusals(layout, access, code):
    with pytest.raises(LayoutError) as e:
        bank_conflicts(layout, access, "float32")
    assert e.value.code == code


def test_the_width_is_one_that_the_machine_has():
    with pytest.raises(LayoutError, match="width"):
        bank_phases([0], 3)
    with pytest.raises(LayoutError, match="bytes"):
        bank_conflicts(TileLayout(S[64]), Access([0, 4], "float4_e2m1fn"))
    four_bits = Access([[2 * k, 2 * k + 1] for k in range(32)], "float4_e2m1fn")
    assert bank_conflicts(TileLayout(S[64]), four_bits).wavefronts == 1


def test_fragments_are_accesses_of_their_registers():
    """m16n8k16 A: 8 rows of 4 lanes, register pairs along a row (PTX ISA, fragments of mma.m16n8k16)."""
    found = fragment_accesses(mma_fragment_layout("A", "float16"), "float16", 4)
    assert len(found) == 4 and {a.width for a in found} == {4}
    for i, access in enumerate(found):
        for lane, elements in enumerate(access.lanes):
            row, column = lane // 4 + 8 * (i % 2), lane % 4 * 2 + 8 * (i // 2)
            assert elements == (16 * row + column, 16 * row + column + 1)
    two_warps = TileLayout(S[(2, 32) : (1 @ warpid, 1 @ laneid)] + R[2 : 2 @ warpid])
    assert [a.lanes[3] for a in fragment_accesses(two_warps, "float32")] == [(3,), (35,), (3,), (35,)]


# ---- widths ----


def legal(layout, shape, dim, bits, alignment, n):
    """The definition: every aligned run of n elements along dim is consecutive, and starts aligned, under every
    base address that is a multiple of the alignment."""
    places, nbytes = memory(layout), n * bits // 8
    if n * bits % 8 or alignment % nbytes:
        return False
    table = np.moveaxis(np.array(places).reshape(shape), dim, -1)
    if table.shape[-1] % n:
        return False
    runs = table.reshape(-1, n)
    consecutive = (runs == runs[:, :1] + np.arange(n)).all()
    return bool(consecutive and (runs[:, 0] * bits % (8 * nbytes) == 0).all())


def width_cases():
    rng = random.Random(SEED)
    for _ in range(150):
        extents = [rng.choice([1, 2, 3, 4, 8, 16]) for _ in range(rng.randint(1, 3))]
        strides = [rng.choice([0, 1, 2, 4, 8, 12, 16, 24, 64]) for _ in extents]
        if rng.random() < 0.7:
            strides[-1] = 1
        tile = TileLayout(S[tuple(extents) : tuple(strides)] + rng.choice([0, 0, 2, 4, 16]))
        if rng.random() < 0.4:
            m, b = rng.randint(0, 3), rng.randint(1, 2)
            tile = ComposeLayout(m, b, rng.randint(b, 3), tile)
        yield (
            tile,
            extents,
            rng.randrange(len(extents)),
            rng.choice([4, 8, 16, 32]),
            rng.choice([1, 2, 4, 8, 16]),
        )


def test_vector_width_is_legal_and_what_is_wider_is_not():
    """Legal by definition; twice as wide is illegal, or only legal by accident of the start (a non-linear
    coincidence of swizzles), which the comparison with contiguous_run pins."""
    tried = 0
    for tile, shape, dim, bits, alignment in width_cases():
        run = tile.contiguous_run(shape, dim)
        fits = [v for v in (1, 2, 4, 8, 16, 32) if v <= run and v * bits % 8 == 0
                and alignment % (v * bits // 8) == 0 and v * bits <= 128]  # fmt: skip
        if not fits:
            with pytest.raises(LayoutError) as e:
                vector_width(tile, dim, alignment, dtype=f"uint{bits}", shape=shape)
            assert e.value.code == "no-access"
            continue
        width = vector_width(tile, dim, alignment, dtype=f"uint{bits}", shape=shape)
        assert (width, width.elements) == (max(fits) * bits // 8, max(fits)) and width.limit
        assert legal(tile, shape, dim, bits, alignment, width.elements)
        if isinstance(tile, TileLayout) and 2 * width * 8 <= 128:
            assert not legal(tile, shape, dim, bits, alignment, 2 * width.elements)
        tried += 1
    assert tried > 80


def test_vector_width_under_facts():
    n = ir.Var("n", "int32")
    tile = TileLayout(S[(64, 64) : (n, 1)])
    assert vector_width(tile, dtype="float16") == 2 and "n" in vector_width(tile, dtype="float16").limit
    facts = arith.Analyzer()
    four_n = TileLayout(S[(64, 64) : (n * 4, 1)])
    assert vector_width(four_n, dtype="float16", analyzer=facts) == 8
    assert vector_width(four_n, alignment=4, dtype="float16") == 4
    assert vector_width(TileLayout(S[(64, 64) : (n * 8, 1)] + n), dtype="float16") == 2


@pytest.mark.parametrize("factor", [1, 2, 4, 6, 8, 24])
@pytest.mark.parametrize("layout", [
    lambda n: TileLayout(S[(8, n)]), lambda n: TileLayout(S[(8, 16) : (n, 1)]),
    lambda n: TileLayout(S[(8, 16) : (32, 1)] + n),
    lambda n: ComposeLayout(2, 2, 3, TileLayout(S[(8, 16) : (n, 1)])),
])  # fmt: skip
def test_a_width_under_facts_is_legal_for_every_value(layout, factor):
    """With n a multiple of `factor`: legal for n = factor, 2 factor, ...; twice as wide is not for one of them."""
    n, facts = ir.Var("n", "int32"), arith.Analyzer()
    facts.bind_modular(n, factor)
    width = vector_width(layout(n), dtype="float16", analyzer=facts)
    concrete = [layout(factor * k) for k in range(1, 6)]
    shapes = [
        [it.extent.value for it in (c if isinstance(c, TileLayout) else c.tile_layout).shard]
        for c in concrete
    ]
    assert all(legal(c, s, -1, 16, 16, width.elements) for c, s in zip(concrete, shapes))
    if width < 16:
        assert not all(legal(c, s, -1, 16, 16, 2 * width.elements) for c, s in zip(concrete, shapes))


@pytest.mark.parametrize("tile, options, code", [
    (TileLayout(S[64]), {"dtype": "float32", "alignment": 2}, "no-access"),
    (TileLayout(S[64]), {"dtype": "float6_e3m2fn"}, "no-access"),
    (TileLayout(S[(8, 3) : (3, 1)]), {"dtype": "float4_e2m1fn"}, "no-access"),
    (TileLayout(S[64]), {"dtype": "float32", "dim": 1}, "out-of-range"),
    (TileLayout(S[64]), {"dtype": "float32", "alignment": 0}, "bad-access"),
])  # fmt: skip
def test_width_refusals(tile, options, code):
    with pytest.raises(LayoutError) as e:
        vector_width(tile, **options)
    assert e.value.code == code


def test_what_limits_a_width_is_said():
    limit = lambda tile, **kw: vector_width(tile, dtype="float16", **kw).limit  # noqa: E731
    assert limit(TileLayout(S[64, 64])) == "alignment 16"
    assert limit(TileLayout(S[64, 64]), alignment=128) == "at most 16 bytes"
    assert limit(TileLayout(S[(64, 64) : (100, 1)])) == "iter 64:100"
    assert limit(TileLayout(S[(64, 64) : (1, 64)])) == "innermost iter 64:64"
    assert limit(ComposeLayout(2, 3, 3, TileLayout(S[64, 64]))) == "swizzle granule of 4 elements"
    assert limit(TileLayout(S[64] + 2)) == "offset 2"


# ---- the choice ----

SQUARE = (32, 32)
ROWS = [Access([(r, c) for c in range(32)], "float32", shape=SQUARE, name=f"row {r}") for r in range(32)]
COLUMNS = [
    Access([(r, c) for r in range(32)], "float32", shape=SQUARE, name=f"column {c}") for c in range(32)
]


def brute_conflicts(layout, accesses, bits):
    places = memory(layout)
    count = 0
    for a in accesses:
        phases = wavefronts([places[row[0]] * bits // 8 for row in a.lanes], a.width)
        count += sum(phases) - len(phases)
    return count


def test_the_transposed_tile_needs_no_padding():
    """apps/transpose pads rows by one element (124 bytes); an xor swizzle is as free of conflicts without."""
    choice = choose_swizzle("float32", SQUARE, ROWS + COLUMNS)
    assert choice.conflict_free and choice.best.padding == 0
    assert brute_conflicts(choice.layout, ROWS + COLUMNS, 32) == 0
    padded = next(c for c in choice.candidates if c.name == "rows padded by 1")
    assert padded.conflict_free and padded.padding == 124 and padded.why.endswith(": more padding")
    assert str(padded.layout) == str(TileLayout(S[(32, 32) : (33, 1)]))
    plain = next(c for c in choice.candidates if c.name == "row-major")
    assert sum(plain.conflicts) == 32 * 31 and plain.why.endswith(": more conflicts")


def test_reported_conflicts_are_true_of_every_candidate():
    some = ROWS[:2] + COLUMNS[:3]
    for c in choose_swizzle("float32", SQUARE, some).candidates:
        if c.layout is not None and None not in c.conflicts:
            assert sum(c.conflicts) == brute_conflicts(c.layout, some, 32)


def gemm_accesses(shape):
    """apps/gemm: cp.async of 16 bytes per lane, four lanes per row, and ldmatrix of 16 x 16 blocks."""
    writes = [
        Access([(0, 8 * k + i // 4, i % 4 * 8) for i in range(32)], "float16", 16, shape) for k in range(8)
    ]
    reads = [Access([(0, 16 * r + i % 16, 16 * c + i // 16 * 8) for i in range(32)], "float16", 16, shape)
             for r in range(4) for c in range(2)]  # fmt: skip
    return writes + reads


@pytest.mark.parametrize("hardware", [False, True])
def test_the_tiles_of_gemm_get_the_swizzle_that_was_written_by_hand(hardware):
    shape = (2, 64, 32)
    choice = choose_swizzle("float16", shape, gemm_accesses(shape), hardware=hardware)
    assert choice.best.name == "64-byte swizzle"
    assert str(choice.layout) == str(mma_shared_layout("float16", SwizzleMode.SWIZZLE_64B_ATOM, shape))
    lost = {c.name: c for c in choice.candidates}
    assert not lost["32-byte swizzle"].conflict_free and "does not exist" in lost["128-byte swizzle"].why


def test_padding_is_chosen_when_no_swizzle_serves():
    """Blocks of 4 x 8 that start anywhere: xor does not keep sums apart, rows 8 banks apart do."""
    blocks = [
        Access([((i // 8 + c) % 32, (i % 8 + c) % 32) for i in range(32)], "float32", shape=SQUARE)
        for c in range(32)
    ]
    choice = choose_swizzle("float32", SQUARE, ROWS + blocks)
    assert choice.best.name == "rows padded by 8" and choice.best.padding == 992
    assert brute_conflicts(choice.layout, ROWS + blocks, 32) == 0
    assert not choose_swizzle("float32", SQUARE, ROWS + blocks, padding=False).conflict_free
    odd = [Access([(r, c) for r in range(32)], "float32", shape=(33, 31)) for c in range(31)]
    assert choose_swizzle("float32", (33, 31), odd).best.name == "row-major"


def test_it_says_when_nothing_is_free_of_conflicts():
    """16 bytes per lane along rows keep four columns together, so a column meets at most 8 groups of banks."""
    quads = [
        Access([(4 * k + i // 8, i % 8 * 4) for i in range(32)], "float32", 16, SQUARE) for k in range(8)
    ]
    choice = choose_swizzle("float32", SQUARE, quads + COLUMNS)
    assert choice.layout is None and not choice.conflict_free
    assert str(choice).startswith("no candidate is conflict-free; the best is ")
    assert sum(choice.best.conflicts) == 32 * 3 == brute_conflicts(choice.best.layout, quads + COLUMNS, 32)


def test_candidates_that_break_an_access_lose():
    """A swizzle inside 16 bytes would tear a 16-byte access apart."""
    wide = [Access([4 * k for k in range(32)], "float32", 16)]
    narrow = [Access([(r, 0) for r in range(32)], "float32", shape=SQUARE)]
    choice = choose_swizzle("float32", SQUARE, wide + narrow)
    assert all(
        None not in c.conflicts or "impossible" in c.why or "not exist" in c.why for c in choice.candidates
    )
    assert choice.layout is None or choice.layout.per_element >= 2


@pytest.mark.parametrize("shape, accesses", [((), ROWS), ((32, 32), []), ((0, 32), ROWS)])
def test_choice_refusals(shape, accesses):
    with pytest.raises(LayoutError) as e:
        choose_swizzle("float32", shape, accesses)
    assert e.value.code == "bad-shape"


@pytest.mark.parametrize("mistake", [
    lambda: Access(None, "float32"), lambda: Access([0.5] * 32, "float32"), lambda: Access(["a"], "float32"),
    lambda: Access([0], "no such type"), lambda: Access([0], "float32", "wide"), lambda: Access([0], "float32", 0),
    lambda: Access([0], "float32", shape=(4, 4)), lambda: Access([(0, 4)], "float32", shape=(4, 4)),
    lambda: Access([], "float32"), lambda: bank_conflicts(None, [0], "float32"),
    lambda: bank_conflicts(TileLayout(S[4]), [0]), lambda: bank_conflicts(TileLayout(S[4]), [0], "float32", base="x"),
    lambda: bank_phases([0.5], 4), lambda: bank_phases(None, 4), lambda: bank_phases([2], 4),
    lambda: vector_width(None, dtype="float32"), lambda: vector_width(TileLayout(S[4]), dtype="no such type"),
    lambda: vector_width(TileLayout(S[4]), "x", dtype="float32"),
    lambda: vector_width(TileLayout(S[4]), dtype="float32", shape=(3,)),
    lambda: choose_swizzle("float32", None, []), lambda: choose_swizzle("float32", (4, "x"), [[0]]),
    lambda: choose_swizzle("float32", (4, 4), [[16]]), lambda: choose_swizzle("float16", (4, 4), ROWS),
    lambda: fragment_accesses(None, "float32"), lambda: fragment_accesses(A_FRAGMENT, "float16", 3),
    lambda: fragment_accesses(TileLayout(S[(2, 4) : (1 @ pid, 1)]), "float32"),
])  # fmt: skip
def test_mistakes_are_layout_errors(mistake):
    with pytest.raises(LayoutError):
        mistake()


# ---- explain ----


def copy_kernel(layout, dtype, transposed=False):
    from tirx.script import T, Tx

    @T.prim_func
    def kernel(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (32, 32), dtype)
        B = T.match_buffer(B_ptr, (32, 32), dtype)
        T.device_entry()
        tx = T.thread_id([128])
        tile = T.alloc_shared((32, 32), dtype, layout=layout)
        Tx.cta.copy(tile[:, :], A[:, :])
        T.cuda.cta_sync()
        if transposed:
            Tx.cta.copy(B[:, :], tile.permute(1, 0)[:, :])
        else:
            Tx.cta.copy(B[:, :], tile[:, :])

    return kernel


@pytest.mark.parametrize("layout, dtype", [
    (TileLayout(S[32, 32]), "float32"), (TileLayout(S[(32, 32) : (33, 1)]), "float32"),
    (TileLayout(S[(32, 32) : (36, 1)]), "float32"), (ComposeLayout(0, 5, 5, TileLayout(S[32, 32])), "float32"),
    (ComposeLayout(3, 2, 3, TileLayout(S[32, 32])), "float16"), (TileLayout(S[32, 32]), "float16"),
    (TileLayout(S[(32, 32) : (1, 32)]), "float32"), (ComposeLayout(0, 4, 5, TileLayout(S[32, 32])), "float64"),
        (ComposeLayout(0, 5, 5, TileLayout(S[(32, 32) : (33, 1)])), "float32"),
        (ComposeLayout(1, 1, 4, TileLayout(S[(32, 32) : (33, 1)])), "float32"),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("transposed", [False, True])
def test_explain_predicts_what_the_simulator_counts(layout, dtype, transposed):
    kernel = copy_kernel(layout, dtype, transposed)
    target = tirx.Target("cuda", arch="sm_90a")
    exe = tirx.compile(kernel, target, mode="simulate")
    a = np.arange(1024).reshape(32, 32).astype(dtype)
    b = np.zeros_like(a)
    exe(a, b)
    assert (b == (a.T if transposed else a)).all()
    calls = json.loads(tirx.explain(kernel, target).json())["calls"]
    for call, counter in zip(calls, ("shared_store", "shared_load")):
        (predicted,) = call["banks"]
        seen = exe.report.counters[counter]
        assert predicted["why"] == ""
        assert (predicted["accesses"], predicted["wavefronts"], predicted["conflicts"]) == (
            seen["shared_requests"], seen["wavefronts"], seen["bank_conflicts"])  # fmt: skip


def test_explain_of_a_swizzled_slice_that_starts_anywhere():
    """A start that is only a multiple of 8 rows of 64 bytes: all its possible places count alike."""
    from tirx.script import T, Tx

    stages = mma_shared_layout("float16", SwizzleMode.SWIZZLE_64B_ATOM, (4, 32, 32))

    @T.prim_func
    def kernel(A_ptr: T.handle, n: T.int32):
        A = T.match_buffer(A_ptr, (32, 32), "float16")
        T.device_entry()
        tx = T.thread_id([128])
        tile = T.alloc_shared((4, 32, 32), "float16", layout=stages)
        Tx.cta.copy(tile[n % 4, :, :], A[:, :])
        Tx.cta.copy(tile[0, :, :], A[:, :])

    calls = tirx.explain(kernel, tirx.Target("cuda", arch="sm_90a")).to_dict()["calls"]
    assert calls[0]["banks"] == calls[1]["banks"] and calls[0]["banks"][0]["conflicts"] == 0


@pytest.mark.parametrize("rows, conflicting", [
    (TileLayout(S[32, 32]), True), (TileLayout(S[(32, 32) : (40, 1)]), False), (TileLayout(S[(32, 32) : (36, 1)]), None),
    (mma_shared_layout("float16", SwizzleMode.SWIZZLE_64B_ATOM, (32, 32)), False),
    (mma_shared_layout("float16", SwizzleMode.SWIZZLE_32B_ATOM, (32, 32)), False),
], ids=str)  # fmt: skip
@pytest.mark.parametrize("store", [False, True])
def test_explain_predicts_matrix_loads_and_stores(rows, conflicting, store):
    """ldmatrix and stmatrix rows, and the thread copies that are used where rows are not 16-byte aligned."""
    from tirx.script import T, Tx

    @T.prim_func
    def kernel(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (32, 32), "float16")
        B = T.match_buffer(B_ptr, (32, 32), "float16")
        T.device_entry()
        lane = T.lane_id([32])
        tile = T.alloc_shared((32, 32), "float16", layout=rows)
        back = T.alloc_shared((32, 32), "float16", layout=rows)
        held = T.alloc_buffer(
            (32, 32), "float16", scope="local", layout=A_FRAGMENT.tile_to([32, 32], [16, 16])
        )
        Tx.warp.copy(tile[:, :], A[:, :])
        T.cuda.warp_sync()
        Tx.warp.copy(held[:, :], tile[:, :])
        if store:
            Tx.warp.copy(back[:, :], held[:, :])
            T.cuda.warp_sync()
            Tx.warp.copy(B[:, :], back[:, :])
        else:
            Tx.warp.copy(B[:, :], held[:, :])

    target = tirx.Target("cuda", arch="sm_90a")
    exe = tirx.compile(kernel, target, mode="simulate")
    a, b = np.arange(1024).reshape(32, 32).astype(np.float16), np.zeros((32, 32), np.float16)
    exe(a, b)
    assert (a == b).all()
    decisions = tirx.explain(kernel, target).decisions
    aligned = conflicting is not None
    assert [d.variant == "ldstmatrix" for d in decisions] == ([False, aligned, aligned, False] if store else
                                                              [False, aligned, False])  # fmt: skip
    for operand, counter in (("dst", "shared_store"), ("src", "shared_load")):
        banks = [p for d in decisions for p in d.banks if p["operand"] == operand]
        assert all(p["why"] == "" for p in banks)
        seen = exe.report.counters[counter]
        assert sum(p["accesses"] for p in banks) == seen["shared_requests"]
        assert sum(p["conflicts"] for p in banks) == seen["bank_conflicts"]
    assert aligned is False or (decisions[1].banks[0]["conflicts"] > 0) == conflicting


@pytest.mark.parametrize("rows, threads", [(20, 96), (20, 192), (20, 512), (4, 256)])
def test_explain_of_copies_with_a_guarded_tail(rows, threads):
    """Chunks that the threads do not divide, and fewer chunks than threads."""
    from tirx.script import T, Tx

    columns = 36 if rows == 20 else 32

    @T.prim_func
    def kernel(A_ptr: T.handle):
        A = T.match_buffer(A_ptr, (rows, columns), "float32")
        T.device_entry()
        tx = T.thread_id([threads])
        tile = T.alloc_shared((rows, columns), "float32", layout=TileLayout(S[(rows, columns) : (64, 1)]))
        Tx.cta.copy(tile[:, :], A[:, :])

    target = tirx.Target("cuda", arch="sm_90a")
    exe = tirx.compile(kernel, target, mode="simulate")
    exe(np.zeros((rows, columns), np.float32))
    (predicted,), seen = tirx.explain(kernel, target).decisions[0].banks, exe.report.counters["shared_store"]
    assert (predicted["accesses"], predicted["wavefronts"], predicted["conflicts"]) == (
        seen["shared_requests"], seen["wavefronts"], seen["bank_conflicts"])  # fmt: skip


def test_explain_says_why_it_predicts_nothing():
    from tirx.script import T, Tx

    @T.prim_func
    def kernel(A_ptr: T.handle):
        A = T.match_buffer(A_ptr, (128,), "float32")
        T.device_entry()
        tx = T.thread_id([32])
        tile = T.alloc_shared((128,), "float32")
        Tx.copy(tile[tx * 4 : tx * 4 + 4], A[tx * 4 : tx * 4 + 4])

    report = tirx.explain(kernel, tirx.Target("cuda", arch="sm_90a"))
    (p,) = report.decisions[0].banks
    assert p["conflicts"] is None and "banks     dst: not predicted: one thread's call" in report.text()


@pytest.mark.parametrize("app", ["transpose", "gemm"])
def test_the_apps_are_predicted_and_counted_without_conflicts(app):
    from pathlib import Path

    from tirx.apps import load_app, run

    found = load_app(Path(__file__).parents[2] / "apps" / app, {"K": 64} if app == "gemm" else {})
    target = tirx.Target("cuda", arch="sm_90a")
    calls = tirx.explain(found.make(), target).to_dict()["calls"]
    banks = [p for c in calls for p in c["banks"]]
    assert len(banks) >= 2 and all(p["conflicts"] == 0 and p["why"] == "" for p in banks)
    assert run(found.make(), found, target, mode="simulate")["shared_bank_conflicts"] == 0
