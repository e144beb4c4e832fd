"""PlanShared: alignment, placement, limits."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scope_helpers import TARGET, kernel, passed, resolve
from test_pass_layouts import find

from tirx import ir
from tirx.errors import TargetError
from tirx.targets import Target


def plan(body, target=TARGET):
    func = passed("apply_layouts")(resolve(kernel(body), target))
    return passed("plan_shared")(func, target)


def buffers(func):
    return {str(a.buffer.name): a.buffer for a in find(func, ir.AllocBuffer)}


def totals(func):
    return func.attrs["tirx.static_shared_bytes"], func.attrs["tirx.dyn_shared_bytes"]


# Swizzle<B, 4, 3> over bytes as ComposeLayout over fp16 elements (16 bytes are 2^3 of them).
SWIZZLES = {0: 128, 1: 256, 2: 512, 3: 1024}


@pytest.mark.parametrize("bits, align", SWIZZLES.items())
def test_alignment_follows_the_swizzle(bits, align):
    """A 128 B swizzle at offset 128 permutes other bytes than at 1024 (tilelang#2379, Fuser#4096)."""
    layout = f"T.ComposeLayout(3, {bits}, 3, T.TileLayout(T.S[(64, 64) : (64, 1)]))"
    body = f"""
small = T.alloc_buffer((8,), "uint64", scope="shared.dyn")
tile = T.alloc_buffer((64, 64), "float16", scope="shared.dyn", layout={layout})
tile[0, 0] = T.float16(0)
"""
    b = buffers(plan(body))
    assert b["tile"].align == align and int(b["tile"].allocated_addr) % align == 0


def test_small_buffers_do_not_pay_for_tiles():
    body = 'a = T.alloc_shared((2,), "uint64")\nb = T.alloc_shared((64,), "float32")'
    b = buffers(plan(body))
    assert (b["a"].align, b["b"].align) == (16, 128)


def test_up_to_48_kib_stay_static():
    body = 'a = T.alloc_shared(({},), "uint8")\nb = T.alloc_shared((1024,), "uint8")\na[5] = b[6]'
    func = plan(body.format(47 * 1024))
    assert totals(func) == (48 * 1024, 0)
    assert {str(b.scope) for b in buffers(func).values()} == {"shared"}


def test_above_48_kib_everything_is_dynamic():
    body = 'a = T.alloc_shared((48 * 1024,), "uint8")\nb = T.alloc_shared((1024,), "uint8")\na[5] = b[6]'
    func = plan(body)
    assert totals(func) == (0, 49 * 1024)
    for b in buffers(func).values():
        assert (str(b.scope), str(b.data.pointer.scope)) == ("shared.dyn", "shared.dyn")
        assert b.allocated_addr is not None
    # Accesses go to the new buffers.
    (store,), (load,) = find(func, ir.BufferStore), find(func, ir.BufferLoad)
    assert {str(store.buffer.scope), str(load.buffer.scope)} == {"shared.dyn"}
    assert store.buffer.same_as(buffers(func)["a"]) and load.buffer.same_as(buffers(func)["b"])


def test_pointers_follow_their_buffer():
    body = """
a = T.alloc_shared((64 * 1024,), "uint8")
p: T.let[T.handle("uint8", "shared")] = T.address_of(a[16])
"""
    func = plan(body)
    (load,) = find(func, ir.BufferLoad)
    assert load.buffer.same_as(buffers(func)["a"])


def test_more_than_the_target_has():
    body = """
tx = T.thread_id([128])
stage_a = T.alloc_shared((3, 128, 128), "float16")
stage_b = T.alloc_shared((3, 128, 128), "float16")
out = T.alloc_shared((128, 128), "float32")
bar = T.alloc_shared((4,), "uint64")
"""
    with pytest.raises(TargetError) as e:
        plan(body)
    e = e.value
    assert e.code == "shared-memory-overflow"
    assert e.message == "'k' needs more shared memory than sm_90a has"
    assert e.found == "262176 bytes; the largest holders: stage_a 98304, stage_b 98304, out 65536, bar 32"
    assert e.required == "at most 232448 bytes per CTA"
    assert e.hint == "use smaller tiles or fewer pipeline stages"
    assert [text for _, text in e.notes][0] == "stage_a: 98304 bytes" and e.notes[0][0].line == 6
    assert totals(plan(body.replace("3, 128", "2, 128"))) == (0, 131072 + 65536 + 32)


def test_the_limit_is_the_targets():
    body = 'a = T.alloc_shared((200 * 1024,), "uint8")'
    plan(body)
    with pytest.raises(TargetError, match="sm_80"):
        plan(body, Target("cuda", arch="sm_80"))


def test_addresses_of_the_user_are_kept():
    body = """
a = T.alloc_buffer((256,), "uint8", scope="shared.dyn", allocated_addr=1024)
b = T.alloc_buffer((512,), "uint8", scope="shared.dyn")
"""
    b = buffers(plan(body))
    assert (int(b["a"].allocated_addr), int(b["b"].allocated_addr)) == (1024, 1280)
    with pytest.raises(TargetError) as e:
        plan('a = T.alloc_buffer((4,), "uint64", scope="shared.dyn", allocated_addr=12)')
    assert (e.value.code, e.value.found) == ("bad-shared-address", "byte 12")


sizes = st.lists(st.tuples(st.integers(1, 5000), st.sampled_from(["shared", "shared.dyn"]), st.integers(0, 3)),
                 min_size=1, max_size=8)  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(sizes, st.booleans())
def test_buffers_are_disjoint_and_aligned(cases, large):
    """No two buffers share bytes, wherever their uses are (tvm#17375, tilelang#2281)."""
    lines = [
        f'b{i} = T.alloc_buffer(({n},), "uint8", scope="{s}", align={16 << a})'
        for i, (n, s, a) in enumerate(cases)
    ]
    lines += ['pad = T.alloc_shared((49152,), "uint8")'] if large else []
    func = plan("\n".join(lines))
    placed = [b for b in buffers(func).values() if str(b.scope) == "shared.dyn"]
    spans = sorted((int(b.allocated_addr), int(b.shape[0]), b.align) for b in placed)
    for (lo, n, align), (following, _, _) in zip(spans, spans[1:] + [(1 << 30, 0, 0)]):
        assert lo % align == 0 and lo + n <= following
    assert func.attrs["tirx.dyn_shared_bytes"] == max([lo + n for lo, n, _ in spans], default=0)


def test_a_buffer_read_after_an_inner_loop_keeps_its_place():
    """A written before an inner loop and read on every outer iteration; B lives in the loop only."""
    body = """
tx = T.thread_id([32])
a = T.alloc_shared((16 * 1024,), "float32")
a[tx] = 0.0
for i in range(4):
    for j in range(4):
        b = T.alloc_shared((16 * 1024,), "float32")
        b[tx] = a[tx]
    A[i] = a[tx]
"""
    b = buffers(plan(body))
    lo, hi = sorted(int(x.allocated_addr) for x in b.values())
    assert hi - lo >= 64 * 1024


def test_more_private_memory_than_a_thread_has():
    with pytest.raises(TargetError) as e:
        plan('tx = T.thread_id([32])\na = T.alloc_local((131073,), "float32")')
    assert e.value.code == "local-memory-overflow" and e.value.required == "at most 524288 bytes per thread"
    assert e.value.found == "524292 bytes; the largest holders: a 524292"
    plan('tx = T.thread_id([32])\na = T.alloc_local((131072,), "float32")')
