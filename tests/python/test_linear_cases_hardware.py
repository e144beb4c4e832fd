"""The numbered hard cases of linear layouts that are about memory and instructions (4.23 to 4.31).

Expected values are enumerated from what the hardware does or from the definition of the layout, in the test.
"""

import numpy as np
import pytest
from linear_cases import points, table

import tirx
from tirx.errors import LayoutError, SimError
from tirx.layout import R, S, TileLayout, bank_conflicts, laneid, tx
from tirx.layout.linear import (
    LinearLayout,
    ModularLayout,
    PaddedLayout,
    conversion,
    distribution_of,
    divide_left,
    free_variable_masks,
    identity_prefix,
    integer_strides,
    matrix_access,
    num_consecutive,
    partitioned,
    quotient,
)
from tirx.script import T, Tx


def code_of(fn, *args, **kw):
    with pytest.raises(LayoutError) as error:
        fn(*args, **kw)
    return error.value.code


# ---- shared memory with gaps ----


def test_4_23_fp4_in_padded_bytes():
    """Every 8 packed bytes take 16: linear index l of (row, col) is at (l // 8) * 16 + l % 8."""
    rows, packed, padded = 16, 4, 8
    bases = []
    for bit in range((rows * padded).bit_length() - 1):
        at = (1 << bit) // 16 * 8 + (1 << bit) % 8
        bases.append((at // packed, at % packed))
    layout = LinearLayout({"offset": bases}, ["row", "col"])
    assert layout.total_in_bits == 7 and not layout.is_injective()  # offset bit 3 is the gap
    inverse = layout.pseudoinvert()
    for r in range(rows):
        for c in range(packed):
            index = r * packed + c
            assert inverse.apply(row=r, col=c) == {"offset": index // 8 * 16 + index % 8}


def padded_multicast():
    row_major = LinearLayout.identity_1d(128, "offset", "dim1") * LinearLayout.identity_1d(
        16, "offset", "dim0"
    )
    block = LinearLayout({"block": [(0, 0)]}, row_major.out_dims)
    return PaddedLayout(row_major.concat_ins(block), [(64, 8)])


def test_4_24_padded_shared_memory_is_not_linear():
    layout = padded_multicast()
    places = {}
    for p in points(layout.linear.out_dims):
        at = layout.place(**p)
        index = p["dim0"] * 128 + p["dim1"]
        assert at == {"offset": index + index // 64 * 8, "block": 0}
        places[at["offset"]] = p
    assert len(places) == 16 * 128 and max(places) + 1 == layout.size
    for address in range(layout.size + 3):
        for block in (0, 1):  # the multicast copy is the same element
            assert layout.element(address, block=block) == places.get(address)
    assert (
        layout.linear.sublayout(["offset"], ["dim0", "dim1"]).is_injective()
        and not layout.linear.is_injective()
    )
    # Not linear: two offsets whose XOR is not at the XOR of their addresses.
    assert layout.pad(32) ^ layout.pad(64) == layout.pad(96) and layout.pad(64) ^ layout.pad(
        512
    ) != layout.pad(576)


def test_4_24_generic_code_refuses_a_padded_layout():
    layout, other = padded_multicast(), LinearLayout.identity_1d(8, "register", "dim1")
    for fn in (
        layout.linear_layout,
        lambda: other.invert_and_compose(layout),
        lambda: conversion(other, layout),
        lambda: other * layout,
        lambda: other.compose(layout),
        lambda: num_consecutive(layout),
        lambda: divide_left(layout, other),
        lambda: quotient(layout, ["block"]),
        lambda: identity_prefix(layout, "offset", "dim1"),
        lambda: integer_strides(layout, "dim1"),
        lambda: free_variable_masks(layout),
    ):
        assert code_of(fn) == "not-linear"
    assert PaddedLayout(layout.linear).linear_layout() == layout.linear
    assert PaddedLayout(layout.linear, [(4096, 8)]).linear_layout() == layout.linear  # no gap inside


def test_4_25_slices_of_padded_layouts_count_the_gaps_before_them():
    layout = padded_multicast()
    part = layout.slice({"dim0": 4, "dim1": 64}, {"dim0": 4, "dim1": 32})
    assert part.base["offset"] == 4 * 128 + 64 + (4 * 128 + 64) // 64 * 8
    for p in points(part.shape):
        whole = layout.place(dim0=p["dim0"] + 4, dim1=p["dim1"] + 64)
        assert part.place(**p) == whole
        assert part.base["offset"] + part.relative(**p)["offset"] == whole["offset"]
    assert code_of(layout.slice, {"dim0": 2, "dim1": 0}, {"dim0": 4, "dim1": 128}) == "slice-not-a-layout"


def test_4_25_a_slice_inside_a_swizzle_has_no_base_plus_offset():
    rows = [(1 << b, 8 * (1 << b)) for b in range(3)]
    swizzled = LinearLayout(
        {"offset": [(0, 1), (0, 2), (0, 4), (0, 8), (0, 16), (0, 32), *rows]}, ["dim0", "dim1"]
    )
    layout = PaddedLayout(swizzled, [(64, 8)])
    part = layout.slice({"dim0": 4, "dim1": 0}, {"dim0": 4, "dim1": 64})
    for p in points(part.shape):
        assert part.place(**p) == layout.place(dim0=p["dim0"] + 4, dim1=p["dim1"])
        assert layout.element(part.place(**p)["offset"]) == {"dim0": p["dim0"] + 4, "dim1": p["dim1"]}
    assert code_of(part.relative, dim0=0, dim1=0) == "slice-not-a-layout"


def test_4_25_partitions_rotate_by_the_partition_of_the_slice():
    layout = PaddedLayout(partitioned((512, 128), 2, 2))
    for begin in (0, 128, 256, 384):
        part = layout.slice({"dim0": begin, "dim1": 0}, {"dim0": 128, "dim1": 128})
        for row in range(0, 128, 8):
            inside = part.relative(dim0=row, dim1=3)["partition"]
            assert (
                part.place(dim0=row, dim1=3)["partition"]
                == (begin + row) // 128 % 2
                == part.base["partition"] ^ inside
            )


def test_4_26_partitioned_with_a_cta_split():
    layout = partitioned((512, 128), 2, 2, blocks=[(256, 0), (0, 0)])
    bases = layout.bases
    assert bases["partition"] == [(64, 0)] and bases["offset"][13] == (128, 0)
    assert bases["block"] == [(256, 0), (0, 0)] and layout.in_dims == {
        "offset": 1 << 14,
        "partition": 2,
        "block": 4,
    }
    for p in points({"offset": 64, "partition": 2, "block": 4}):
        offset = p["offset"] * 257 % (1 << 14)
        row = offset // 128 % 64 + 64 * p["partition"] + 128 * (offset >> 13) + 256 * (p["block"] & 1)
        assert layout.apply({**p, "offset": offset}) == {"dim0": row, "dim1": offset % 128}
    assert code_of(partitioned, (4, 128), 4, 2) == "bad-shape"


# ---- matrix loads ----


def ldmatrix(memory, address, num, bits, transposed):
    """What one instruction loads (PTX ISA): [lane][element], from memory, a dict from element offsets."""
    per_row, out = 128 // bits, []
    rows = [[[memory[address(8 * q + r) + c] for c in range(per_row)] for r in range(8)] for q in range(num)]
    for lane in range(32):
        got = []
        for q in range(num):
            if transposed:
                got += [rows[q][2 * (lane % 4) + j][lane // 4] for j in (0, 1)]
            else:
                got += [rows[q][lane // 4][lane % 4 * (32 // bits) + j] for j in range(32 // bits)]
        out.append(got)
    return out


def check_loads(registers, shared, bits, transposed=False):
    """Every register of every lane and warp gets its element. Returns the access."""
    access, why = matrix_access(registers, shared, bits, transposed)
    assert access is not None, why
    padded = shared if isinstance(shared, PaddedLayout) else PaddedLayout(shared)
    memory = {a: padded.element(a) for a in range(padded.size)}
    step = access.num * access.regs
    for warp in range(registers.in_dims.get("warp", 1)):
        where = {"warp": warp} if "warp" in registers.in_dims else {}
        for k in range(access.rounds):
            starts = [access.address(k, t, **where) for t in range(8 * access.num)]
            assert all(a * bits % 128 == 0 for a in starts)
            loaded = ldmatrix(memory, lambda t: starts[t], access.num, bits, transposed)
            for lane in range(32):
                want = [
                    registers.apply({"register": k * step + i, "lane": lane, **where}) for i in range(step)
                ]
                assert loaded[lane] == want
    return access


def fragment(bits, rows=16, words=2):
    """The A operand of mma.m16n8: (register, lane) to (dim0, dim1), `words` 32-bit column halves."""
    e = 32 // bits
    columns = [(0, 1 << i) for i in range(e.bit_length() - 1)]
    halves = [(0, 4 * e << i) for i in range(words.bit_length() - 1)]
    below = [(8 << i, 0) for i in range((rows // 8).bit_length() - 1)]
    lanes = [(0, e), (0, 2 * e), (1, 0), (2, 0), (4, 0)]
    return LinearLayout({"register": columns + below + halves, "lane": lanes}, ["dim0", "dim1"])


def row_major(rows, cols, phase=0):
    """Shared memory, rows of `cols` elements; `phase`: 16-byte chunks of that many elements XORed by the row."""
    bases = [(0, 1 << i) for i in range(cols.bit_length() - 1)]
    bases += [(1 << i, (phase << i) % cols) for i in range(rows.bit_length() - 1)]
    return LinearLayout({"offset": bases}, {"dim0": rows, "dim1": cols})


@pytest.mark.parametrize("bits", [8, 16, 32])
def test_4_27_matrix_load_of_an_operand(bits):
    e = 32 // bits
    regs, cols = fragment(bits), 8 * e
    assert check_loads(regs, row_major(16, cols), bits).num == 4
    assert check_loads(regs, row_major(16, cols, 4 * e), bits).num == 4
    assert check_loads(fragment(bits, rows=8, words=1), row_major(8, 4 * e), bits).num == 1
    assert check_loads(regs, PaddedLayout(row_major(16, cols), [(cols, 128 // bits)]), bits).num == 4


def test_4_27_several_rounds_warps_and_broadcast():
    big = fragment(16) * LinearLayout.identity_1d(2, "register", "dim1")
    warps = big * LinearLayout.identity_1d(2, "warp", "dim0") * LinearLayout.zeros_1d(2, "warp", "dim0")
    access = check_loads(warps, row_major(32, 32, 8), 16)
    assert (access.num, access.rounds) == (4, 2) and access.tile * access.rest == access.cvt
    twice = fragment(16) * LinearLayout.zeros_1d(2, "register", "dim1")  # each element in two registers
    assert check_loads(twice, row_major(16, 16), 16).rounds == 2
    assert matrix_access(twice, row_major(16, 16), 16, store=True)[0] is None
    assert matrix_access(fragment(16), row_major(16, 16), 16, store=True)[0] is not None


def test_4_27_transposed():
    """A column-major tile: rows of the instruction run down the columns."""
    column_major = (
        row_major(16, 16).rename_outs({"dim0": "dim1", "dim1": "dim0"}).transpose_outs(["dim0", "dim1"])
    )
    assert matrix_access(fragment(16), column_major, 16)[0] is None
    assert check_loads(fragment(16), column_major, 16, transposed=True).num == 4
    for bits in (8, 32):
        found, why = matrix_access(fragment(bits), row_major(16, 256 // bits), bits, transposed=True)
        assert found is None and ".trans" in why


def test_4_27_a_tile_that_does_not_divide_takes_the_plain_path():
    """16x8 bytes in the accumulator's layout: two neighbours per thread, not the four of a matrix row."""
    accumulator = LinearLayout({"register": [(0, 1), (8, 0)], "lane": [(0, 2), (0, 4), (1, 0), (2, 0), (4, 0)]},
                               ["dim0", "dim1"])  # fmt: skip
    found, why = matrix_access(accumulator, row_major(16, 8), 8)
    assert found is None and "do not divide" in why
    assert matrix_access(accumulator, row_major(16, 8), 16)[0] is not None  # as 16-bit elements it fits
    few = fragment(16).sublayout(["register"], ["dim0", "dim1"])
    assert "32 lanes" in matrix_access(few.concat_ins(LinearLayout({"lane": [(1, 0)]}, few.out_dims)),
                                       row_major(16, 16), 16)[1]  # fmt: skip
    for pads, word in (([(4, 8)], "inside"), ([(16, 4)], "off 16-byte")):
        assert word in matrix_access(fragment(16), PaddedLayout(row_major(16, 16), pads), 16)[1]
    assert matrix_access(fragment(16), row_major(16, 16), 64)[0] is None


# ---- what runs ----


def simulate(func, *args):
    exe = tirx.compile(func, "cuda/sm_90a", mode="simulate")
    exe(*args)
    return exe


@pytest.mark.parametrize("unique", [1, 2, 8, 16])
def test_4_28_reductions_over_fewer_elements_than_threads(unique):
    """`unique` elements, each on 32 / unique lanes: an integer sum counts every element once, and no lane reads
    what nobody wrote (fresh memory is poisoned in the simulator)."""
    spread = S[(unique,) : (1 @ laneid,)] + R[32 // unique : unique @ laneid]
    source, result = TileLayout(spread), TileLayout(S[(1,) : (0,)] + R[32 : 1 @ laneid])
    held = distribution_of(source)
    assert [x for (x,) in table(held)] == [lane % unique for lane in range(32)]
    assert free_variable_masks(held)["laneid"] == 32 - unique

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle, C_ptr: T.handle):
        A = T.match_buffer(A_ptr, (unique,), "int32")
        B = T.match_buffer(B_ptr, (1,), "int32")
        C = T.match_buffer(C_ptr, (32,), "int32")
        T.device_entry()
        t = T.thread_id([32])
        x = T.alloc_buffer((unique,), "int32", scope="local", layout=source)
        r = T.alloc_buffer((1,), "int32", scope="local", layout=result)
        own = r.local()
        Tx.warp.copy(x[:], A[:])
        Tx.warp.sum(r[:], x[:], axes=0)
        Tx.warp.copy(B[:], r[:])
        C[t] = own[0]

    a, b, c = np.arange(3, 3 + unique, dtype=np.int32), np.zeros(1, np.int32), np.zeros(32, np.int32)
    simulate(f, a, b, c)
    assert b[0] == a.sum() and (c == a.sum()).all()


def test_4_29_a_load_stays_where_it_is_written():
    """A tile of shared memory is loaded, its place is overwritten, and the value is then used in another layout.
    Loading it again under that layout would read new data; the compiler never repeats or moves a load."""
    mine, turned = TileLayout(S[(64,) : (1 @ tx,)]), TileLayout(S[(2, 32) : (1 @ tx, 2 @ tx)])

    @T.prim_func
    def f(A_ptr: T.handle, B_ptr: T.handle):
        A = T.match_buffer(A_ptr, (64,), "float32")
        B = T.match_buffer(B_ptr, (64,), "float32")
        T.device_entry()
        t = T.thread_id([64])
        sm = T.alloc_shared((64,), "float32")
        other = T.alloc_shared((64,), "float32")
        x = T.alloc_buffer((64,), "float32", scope="local", layout=mine)
        y = T.alloc_buffer((64,), "float32", scope="local", layout=turned)
        Tx.cta.copy(sm[:], A[:])
        T.cuda.cta_sync()
        Tx.cta.copy(x[:], sm[:])
        T.cuda.cta_sync()
        Tx.cta.fill(sm[:], 0.0)
        Tx.cta.copy(other[:], x[:])
        T.cuda.cta_sync()
        Tx.cta.copy(y[:], other[:])
        Tx.cta.copy(B[:], y[:])

    a, b = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    exe = simulate(f, a, b)
    assert (b == np.arange(64)).all()
    assert (
        exe.report.counters["shared_load"]["shared_bytes"] == 2 * 64 * 4
    )  # x from sm and y from other, once


def test_4_29_loading_again_under_another_map_is_a_race():
    """The program that such a rewrite would produce: thread t stores what thread 63 - t still loads."""

    @T.prim_func
    def f(B_ptr: T.handle):
        B = T.match_buffer(B_ptr, (64,), "float32")
        T.device_entry()
        t = T.thread_id([64])
        sm = T.alloc_shared((64,), "float32")
        x = T.alloc_local((1,), "float32")
        sm[t] = 1.0
        T.cuda.cta_sync()
        x[0] = sm[t]
        sm[t] = x[0] + 1.0
        B[t] = sm[63 - t]

    with pytest.raises(SimError) as error:
        simulate(f, np.zeros(64, np.float32))
    assert error.value.code == "shared-race"


def words_per_bank(addresses):
    """By the definition: a request takes one pass per different word of the fullest bank."""
    words = {a // 4 for a in addresses}
    return max(sum(w % 32 == bank for w in words) for bank in range(32))


@pytest.mark.parametrize(
    "bases", [[0] * 5, [1, 2, 4, 0, 0], [32, 0, 0, 0, 0], [2, 4, 8, 16, 32], [32, 64, 1, 2, 0]]
)
def test_4_30_lanes_that_read_the_same_word_do_not_conflict(bases):
    lane_to_word = LinearLayout({"lane": bases}, {"word": 256})
    layout = TileLayout(S[(2,) * 5 : tuple(bases[::-1])])

    @T.prim_func
    def f(B_ptr: T.handle):
        B = T.match_buffer(B_ptr, (32,), "float32")
        T.device_entry()
        t = T.thread_id([32])
        sm = T.alloc_shared((256,), "float32")
        view = T.decl_buffer((32,), "float32", data=sm.data, layout=layout, scope="shared")
        for i in T.serial(8):
            sm[i * 32 + t] = T.cast(i * 32 + t, "float32")
        T.cuda.cta_sync()
        B[t] = view[t]

    b = np.zeros(32, np.float32)
    counted = simulate(f, b).report.counters["shared_load"]
    words = [w for (w,) in table(lane_to_word)]
    assert list(b) == words
    assert counted["bank_conflicts"] == words_per_bank([4 * w for w in words]) - 1
    assert bank_conflicts(layout, range(32), "float32").conflicts == counted["bank_conflicts"]


def test_4_31_sizes_that_are_no_powers_of_two_add():
    """48 columns over 4 lanes of 12 registers: addition modulo 48 where a linear layout would XOR."""
    layout = ModularLayout({"register": [(12, 1)], "lane": [(4, 12)]}, {"col": 48})
    for lane in range(4):
        for register in range(12):
            assert layout.apply({"register": register, "lane": lane}) == {"col": 12 * lane + register}
    assert layout.is_injective() and layout.is_surjective()
    rotated = ModularLayout({"lane": [(6, 5)]}, {"col": 6})
    assert [y for (y,) in rotated.table()] == [5 * i % 6 for i in range(6)]
    for fn in (layout.linear_layout, lambda: num_consecutive(layout), lambda: divide_left(layout, layout),
               lambda: LinearLayout.identity_1d(4, "x", "col").invert_and_compose(layout)):  # fmt: skip
        assert code_of(fn) == "not-linear"
    assert code_of(LinearLayout.identity_1d, 12, "register", "col") == "not-power-of-two"


@pytest.mark.parametrize(
    "digits, out, want",
    [
        ({"r": [(12, 1)], "l": [(4, 12)]}, {"c": 48}, 4),
        ({"r": [(6, 1)], "l": [(8, 6)]}, {"c": 48}, 2),
        ({"r": [(5, 1)], "l": [(3, 5)]}, {"c": 15}, 1),
        ({"r": [(2, 1), (3, 2)], "l": [(2, 6)]}, {"c": 12}, 2),
        ({"r": [(24, 1)]}, {"c": 24}, 8),
        ({"r": [(8, 1)], "l": [(3, 4)]}, {"c": 12}, 4),
        ({"r": [(4, (1, 0))], "l": [(3, (0, 1)), (2, (4, 0))]}, {"c": 8, "d": 3}, 4),
    ],
)
def test_4_31_vector_width_is_rounded_down_to_a_power_of_two(digits, out, want):
    layout = ModularLayout(digits, out)
    assert layout.num_consecutive() == want
    first = next(iter(layout.in_dims))
    for p in points(layout.in_dims):
        start, v = {**p, first: p[first] // want * want}, p[first] % want
        y, y0 = list(layout.apply(p).values()), list(layout.apply(start).values())
        assert y == [y0[0] + v, *y0[1:]]


def test_4_31_powers_of_two_stay_linear():
    layout = ModularLayout({"r": [(4, (1, 0)), (2, (0, 1))], "l": [(8, (4, 0))]}, {"c": 32, "d": 2})
    linear = layout.linear_layout()
    assert table(linear) == layout.table()
    assert code_of(ModularLayout({"r": [(4, 3)]}, {"c": 16}).linear_layout) == "not-linear"
    assert code_of(ModularLayout, {"r": [(4, 8)]}, {"c": 16}) == "out-of-range"
