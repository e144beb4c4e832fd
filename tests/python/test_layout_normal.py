"""The normal form: over whole families of layouts, equal placements give one object and different ones do not.

The placements are computed from the numbers that a layout is built from (layout_families).
"""

import itertools
import os
import random

import pytest
from layout_cases import refused
from layout_families import LANE, PID, WARP, M, address, lists, meaning, sets_of, sums, table_of, tile

from tirx.ir import structural_equal
from tirx.layout import ComposeLayout, R, S, TileLayout, equivalent, laneid, warpid


class Buckets:
    """Placements -> the one form seen for them."""

    def __init__(self):
        self.forms, self.texts, self.count = {}, {}, 0

    def add(self, layout, key):
        form = layout.canonicalize()
        self.count += 1
        known = self.forms.setdefault(key, form)
        assert structural_equal(known, form), (str(layout), str(form), str(known))
        if known is form:  # a new placement: the form has it, is a fixed point, and is nobody else's
            assert table_of(form) == key, (str(layout), str(form))
            assert structural_equal(form.canonicalize(), form), str(form)
            text = str(form)
            assert self.texts.setdefault(text, key) == key, text


STEPS = [(e, s, a) for a, strides in ((M, (0, 1, 2, 3, -1, -2)), (LANE, (0, 1, 2, -1))) for s in strides
         for e in (2, 3)]  # fmt: skip


def test_all_shards_of_three_iters():
    buckets = Buckets()
    for shard in lists([*STEPS, (1, 5, LANE)], 3):
        if shard:
            buckets.add(tile(shard), meaning(shard))
    assert buckets.count > 9000 and len(buckets.forms) > 4000


def test_shards_with_replicas_and_offsets():
    buckets = Buckets()
    shards = [s for s in lists([(2, 1, M), (2, -1, M), (3, 2, M), (2, 0, LANE), (2, 1, LANE)], 2) if s]
    replicas = list(sets_of([(2, 1, M), (2, -2, M), (3, 2, M), (2, 3, M), (2, 1, LANE), (2, 0, WARP)], 2))
    offsets = [(), ((M, 2),), ((LANE, 1), (M, -1)), ((WARP, 0),)]
    for shard, replica, offset in itertools.product(shards, replicas, offsets):
        buckets.add(tile(shard, replica, offset), meaning(shard, replica, offset))
    assert buckets.count == len(shards) * len(replicas) * len(offsets) and len(buckets.forms) > 1000


@pytest.mark.slow
def test_all_shards_of_four_iters_on_four_axes():
    steps = [(2, 1, M), (2, 2, M), (2, 4, M), (4, 1, M), (4, 2, M), (2, 0, M), (2, 0, LANE), (2, 1, LANE),
             (2, 2, LANE), (4, 1, LANE), (2, 1, WARP), (2, -1, PID)]  # fmt: skip
    buckets = Buckets()
    for shard in lists(steps, 4):
        if shard:
            buckets.add(tile(shard), meaning(shard))
    assert buckets.count > 20000 and 10000 < len(buckets.forms) < buckets.count - 2000


@pytest.mark.slow
def test_shards_replicas_and_offsets_on_four_axes():
    buckets = Buckets()
    shards = [s for s in lists([(2, 1, M), (2, -2, M), (3, 1, LANE), (2, 2, WARP)], 2) if s]
    replicas = list(
        sets_of([(2, 1, M), (3, -1, M), (2, 2, M), (4, 1, M), (2, 0, LANE), (2, 2, WARP), (2, 1, PID)], 4)
    )
    offsets = [(), ((M, 1),), ((PID, 3), (WARP, -1))]
    for shard, replica, offset in itertools.product(shards, replicas, offsets):
        buckets.add(tile(shard, replica, offset), meaning(shard, replica, offset))
    assert buckets.count > 10000 and len(buckets.forms) < buckets.count - 2000


def test_overlapping_replica_sets():
    """All lists of up to three overlapping steps."""
    buckets, shard = Buckets(), ((2, 1000, M),)
    steps = [(e, s, M) for e in (2, 3, 5) for s in (1, 2, 3, 4, 5, 7, -6)]
    for replica in sets_of(steps, 3):
        buckets.add(tile(shard, replica), meaning(shard, replica))
    assert buckets.count > 2000 and len(buckets.forms) < buckets.count


@pytest.mark.slow
def test_large_overlapping_replica_sets():
    """Random lists of up to five steps with up to 20,000 sums: refused or one form for one set."""
    seed = int(os.environ.get("TIRX_FUZZ_SEED", "7"))
    print(f"TIRX_FUZZ_SEED={seed}")
    rng, forms, none = random.Random(seed), {}, 0
    for _ in range(150):
        replica = [(rng.randint(2, 30), rng.randint(1, 12), M) for _ in range(rng.randint(2, 5))]
        layout = tile(((2, 10**6, M),), replica)
        rng.shuffle(replica)
        again = tile(((2, 10**6, M),), [*replica, replica[0][:1] + (0, M)])
        assert equivalent(layout, again)
        error = refused(layout.canonicalize)
        if error is not None:
            none += 1
            assert error.code == "replica-overlap" and refused(again.canonicalize).code == error.code
            continue
        key = frozenset(p.get(M, 0) for p in sums(replica))
        form = layout.canonicalize()
        assert structural_equal(form, again.canonicalize())
        assert structural_equal(forms.setdefault(key, form), form)
        assert {p.get(M, 0) for p in sums([(int(i.extent), int(i.stride), M) for i in form.replica])} == key
    print(f"refused {none} of 150")
    assert none < 15


def test_replicas_beyond_the_search_are_refused():
    """Ten overlapping steps: a form is not chosen, but equality is still decided."""
    primes = (101, 103, 107, 109, 113, 127, 131, 137, 139, 149)
    wide = TileLayout(S[4] + R[(7,) * 10 : primes])
    error = refused(wide.canonicalize)
    assert error.code == "replica-overlap" and "65,536" in error.required
    assert not equivalent(wide, TileLayout(S[4] + R[(7,) * 10 : (*primes[:9], 151)]))
    assert equivalent(wide, TileLayout(S[4] + R[(7,) * 10 : primes[::-1]]))
    assert str(TileLayout(S[4] + R[(100, 100) : (2, 3)]).canonicalize()) == "S[4:1] + R[(4, 164):(2, 3)]"


# --- swizzles -----------------------------------------------------------------------------------------------


PARAMETERS = [(m, b, s) for m in (0, 1, 2) for b in (0, 1, 2) for s in range(b, 4)]


def test_swizzled_layouts_have_one_form():
    """Swizzles of all parameters over tiles of all kinds, in one table with plain tiles: a swizzled layout
    that is a tile becomes it, and two swizzles that do the same become one."""
    buckets = Buckets()
    steps = [(2, 1, M), (4, 1, M), (2, 2, M), (2, 4, M), (4, 4, M), (3, 2, M), (2, -1, M), (2, 1, LANE)]
    shards = [s for s in lists(steps, 2) if s]
    for shard, offset in itertools.product(shards, ((), ((M, 4),), ((M, 5),))):
        buckets.add(tile(shard, (), offset), meaning(shard, (), offset))
        for m, b, s in PARAMETERS:
            layout = ComposeLayout(m, b, s, tile(shard, (), offset))
            buckets.add(layout, meaning(shard, (), offset, address(m, b, s)))
    assert buckets.count > 4000


def test_swizzled_replicas_have_one_form():
    buckets = Buckets()
    shards = [((2, 1, M),), ((4, 2, M),), ((2, 8, M), (2, 1, LANE))]
    replicas = list(sets_of([(2, 1, M), (2, 4, M), (3, 2, M), (2, 8, M), (2, 1, WARP)], 2))
    for shard, replica, (m, b, s) in itertools.product(shards, replicas, PARAMETERS):
        layout = ComposeLayout(m, b, s, tile(shard, replica))
        buckets.add(layout, meaning(shard, replica, (), address(m, b, s)))


def test_a_row_of_a_swizzled_tile_is_a_tile():
    """Row 3 of a 128-byte swizzled half tile: chunk c is at chunk c xor 3, whose low two
    digits run backwards."""
    atom = ComposeLayout(3, 3, 3, TileLayout(S[8, 64]))
    row = atom.slice([8, 64], [(3, 4), (0, 64)]).canonicalize()
    assert str(row) == "S[(2, 4, 8):(32, -8, 1)] + 216"
    assert [row.apply(c)["m"] for c in range(64)] == [atom.apply(3, c, shape=[8, 64])["m"] for c in range(64)]


def test_swizzled_layouts_of_shared_memory_keep_their_form():
    for shape in ((64, 64), (8, 256), (128, 128)):
        layout = ComposeLayout(3, 3, 3, TileLayout(S[shape]))
        form = layout.canonicalize()
        assert (form.per_element, form.swizzle_len, form.atom_len) == (3, 3, 3)
    error = refused(lambda: ComposeLayout(3, 3, 3, TileLayout(S[1 << 22])).canonicalize())
    assert error.code == "swizzle-too-large" and equivalent(
        ComposeLayout(3, 3, 3, TileLayout(S[1 << 22])),
        ComposeLayout(3, 3, 3, TileLayout(S[1 << 11, 1 << 11])),
    )


def test_equal_places_are_equal_objects_whatever_built_them():
    a = TileLayout(S[(8, 2) : (4 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid)
    b = TileLayout(S[(2, 4, 2) : (16 @ laneid, 4 @ laneid, 1)] + R[(2, 1) : (-4 @ warpid, 7)] + 9 @ warpid)
    assert structural_equal(a.canonicalize(), b.canonicalize())
