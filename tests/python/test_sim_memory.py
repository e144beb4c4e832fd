"""Memory: views and bounds, initialisation, replicas, counters, offsets beyond 2^31, arguments of a launch."""

import ml_dtypes
import numpy as np
import pytest
from sim_kernels import Builder, cta, tid

from tirx import errors, ir, sim


def f32(v):
    return ir.FloatImm("float32", v)


def expect(k, code, *args, **kw):
    with pytest.raises(errors.SimError) as e:
        k.run(*args, **kw)
    assert e.value.code == code, str(e.value)
    return e.value


# ---- bounds and alignment ----


def test_an_access_outside_a_view_but_inside_the_allocation():
    def kernel(extent):
        k = Builder(threads=32)
        sm = k.alloc("sm", 128)
        view = k.alias(sm, "view", extent, "float32", offset=32)
        k.store(view, tid() + 8, f32(0.0))
        return k

    e = expect(kernel(32), "out-of-bounds")
    assert e.message == "store outside buffer view" and "index 32 by" in e.found
    kernel(40).run()


def test_local_arrays_have_bounds_too():
    k = Builder(threads=32)
    r = k.alloc("r", 4, scope="local")
    k.store(r, tid() // 8 + 1, f32(0.0))
    e = expect(k, "out-of-bounds")
    assert e.message == "store outside local array r" and e.found == "index 4 by CTA (0, 0, 0) thread 24"


def vector_copy(row_length, width):
    """Rows of `row_length` halves; each thread copies `width` elements at offset 0 of its row."""
    k = Builder(threads=16)
    a, b = k.buffer("A", 16 * row_length, "float16"), k.buffer("B", 16 * row_length, "float16")
    base = k.bind("base", tid() * row_length)
    k.store(b, k.ramp(base, width), k.load(a, k.ramp(base, width)))
    return k, np.arange(16 * row_length).astype(np.float16), np.zeros(16 * row_length, np.float16)


def test_misaligned_vector_access():
    """Row length 100 halves: rows start at multiples of 8 bytes, so 16-byte accesses trap and 8-byte ones are fine."""
    k, x, y = vector_copy(100, 8)
    e = expect(k, "misaligned-access", x, y)
    assert "load of 16 bytes of A at byte address 200 by CTA (0, 0, 0) thread 1" in e.found
    k, x, y = vector_copy(100, 4)
    k.run(x, y)
    assert (y.reshape(16, 100)[:, :4] == x.reshape(16, 100)[:, :4]).all()


def test_a_misaligned_array_of_the_caller():
    k, x, y = vector_copy(8, 8)
    storage = np.zeros(8 * 16 + 1, np.float16)
    expect(k, "misaligned-access", storage[1:], y)


def test_with_observers_off_only_unallocated_memory_is_refused():
    k = Builder(threads=32)
    a = k.buffer("A", 8)
    k.store(a, tid(), f32(1.0))
    e = expect(k, "illegal-address", np.zeros(8, np.float32), observers=())
    assert "inside an allocation; A has 32 bytes" in e.required


def test_every_finding_is_in_the_report_once_per_line():
    k = Builder(threads=64)
    a, b = k.buffer("A", 8), k.buffer("B", 8)
    k.store(a, tid(), f32(1.0))
    k.store(b, tid() + 100, f32(1.0))
    e = expect(k, "out-of-bounds", np.zeros(8, np.float32), np.zeros(8, np.float32))
    assert [(f.code, f.location.line) for f in e.report.findings] == [
        ("out-of-bounds", 1),
        ("out-of-bounds", 2),
    ]
    report = k.run(np.zeros(8, np.float32), np.zeros(8, np.float32), check=False)
    assert not report.ok and "outside buffer B" in str(report)


# ---- initialisation ----


def partial_write(written):
    k = Builder(threads=32)
    out = k.buffer("out", 32)
    sm = k.alloc("tile", 32)
    t = k.bind("t", tid())
    k.if_(t < written, lambda: k.store(sm, t, f32(1.0)))
    k.sync()
    k.store(out, t, k.load(sm, t))
    return k


def test_a_read_of_shared_memory_that_nobody_wrote_names_the_neighbours_writer():
    e = expect(partial_write(24), "uninitialised-read", np.zeros(32, np.float32))
    assert e.found == "CTA (0, 0, 0) thread 24 reads byte 96 of tile"
    ((where, text),) = e.notes
    assert where.line == 4 and text == "1 bytes away, 95 of tile was last written here by warp 0"
    partial_write(32).run(np.zeros(32, np.float32))


def test_a_read_of_a_local_array_that_nobody_wrote():
    k = Builder(threads=32)
    out = k.buffer("out", 32)
    r = k.alloc("r", 2, scope="local")
    k.if_(tid() < 8, lambda: k.store(r, 0, f32(1.0)))
    k.store(out, tid(), k.load(r, 0))
    e = expect(k, "uninitialised-read", np.zeros(32, np.float32))
    assert "local array r" in e.message and "lanes 8-31" in e.found


def test_halves_of_a_word_are_initialised_one_by_one():
    def kernel(both):
        k = Builder(threads=32)
        out = k.buffer("out", 32, "uint32")
        h = k.alloc("h", 2, "float16", "local")
        words = k.alias(h, "words", 1, "uint32")
        k.store(h, 0, ir.FloatImm("float16", 1.0))
        if both:
            k.store(h, 1, ir.FloatImm("float16", 2.0))
        k.store(out, tid(), k.load(words, 0))
        return k

    expect(kernel(False), "uninitialised-read", np.zeros(32, np.uint32))
    got = np.zeros(32, np.uint32)
    kernel(True).run(got)
    assert set(got) == {0x40003C00}


def test_poison_is_nan_for_floats():
    got = np.zeros(32, np.float32)
    partial_write(24).run(got, observers=())
    assert np.isnan(got[24:]).all() and (got[:24] == 1).all()


# ---- replicas ----


def test_lanes_that_store_unequal_values_to_one_place():
    def kernel(value):
        k = Builder(threads=32)
        out = k.buffer("out", 8)
        k.store(out, tid() // 4, value)
        return k

    e = expect(kernel(tid().astype("float32")), "unequal-replicas", np.zeros(8, np.float32))
    assert "thread 0 and thread 1 write the same element of out" in e.found
    got = np.zeros(8, np.float32)
    kernel((tid() // 4).astype("float32")).run(got)
    assert got.tolist() == list(range(8))


# ---- counters ----


def shared_access(index, n=1, dtype="float32", extent=4096):
    """Counters of one warp that stores at index(t), n elements."""
    k = Builder(threads=32)
    sm = k.alloc("sm", extent, dtype, align=128)
    place = index(k.bind("t", tid()))
    value = ir.const(0, dtype) if n == 1 else ir._api.broadcast(ir.const(0, dtype), n, None)
    k.store(sm, place if n == 1 else k.ramp(place, n), value)
    return k.run().counters["shared_store"]


@pytest.mark.parametrize("index, conflicts", [
    (lambda t: t, 0), (lambda t: t * 2, 1), (lambda t: t * 4, 3), (lambda t: t * 32, 31), (lambda t: t * 33, 0),
    (lambda t: t * 3, 0), (lambda t: t // 2, 0), (lambda t: t * 0, 0)])  # fmt: skip
def test_bank_conflicts_of_words(index, conflicts):
    c = shared_access(index)
    assert (c["shared_requests"], c["bank_conflicts"], c["wavefronts"]) == (1, conflicts, conflicts + 1)


@pytest.mark.parametrize("index, n, conflicts, wavefronts", [
    (lambda t: t * 4, 4, 0, 4), (lambda t: t % 8 * 32 + t // 8 * 4, 4, 28, 32), (lambda t: t * 2, 2, 0, 2),
    (lambda t: t * 4, 2, 2, 4)])  # fmt: skip
def test_bank_conflicts_of_vectors(index, n, conflicts, wavefronts):
    """16 bytes per lane are served a quarter warp at a time, 8 bytes a half warp."""
    c = shared_access(index, n)
    assert (c["bank_conflicts"], c["wavefronts"]) == (conflicts, wavefronts)


def test_bytes_of_one_word_do_not_conflict():
    assert shared_access(lambda t: t, dtype="uint8")["bank_conflicts"] == 0


@pytest.mark.parametrize("index, sectors", [
    (lambda t: t, 4), (lambda t: t + 1, 5), (lambda t: t * 8, 32), (lambda t: t * 0, 1),
    (lambda t: t * 2, 8)])  # fmt: skip
def test_global_sectors(index, sectors):
    k = Builder(threads=32)
    a, out = k.buffer("A", 1024), k.buffer("out", 32)
    k.store(out, tid(), k.load(a, index(tid())))
    c = k.run(np.zeros(1024, np.float32), np.zeros(32, np.float32)).counters
    assert c["global_load"] == {"requests": 1, "sectors": sectors, "bytes": 128}
    loads = [line for line in c["lines"] if line["access"] == "load"]
    assert [line["sectors"] for line in loads] == [sectors]


# ---- addresses beyond 2^31 ----


def test_offsets_beyond_2_31_take_pages_not_gigabytes():
    k = Builder(threads=32)
    a = k.buffer("A", 2**31 + 64, "float32")
    k.store(a, tid("int64") + (2**31 + 5), tid().astype("float32"))
    big = sim.SparseArray((2**31 + 64,), "float32")
    k.run(big)
    assert [big[2**31 + 5 + t] for t in (0, 1, 31)] == [0, 1, 31] and big.pages == 1


def test_a_row_whose_offset_is_2_31():
    """Row 16384 of 131072 columns starts at element 2^31."""
    k = Builder(threads=32, grid=(2,))
    a, out = k.buffer("A", 16386 * 131072, "float16"), k.buffer("out", 64, "float16")
    row = (cta() + 16384).astype("int64")
    k.store(out, cta() * 32 + tid(), k.load(a, row * 131072 + tid().astype("int64")))
    big = sim.SparseArray((16386 * 131072,), "float16")
    for r in range(2):
        for t in range(32):
            big[(16384 + r) * 131072 + t] = r * 32 + t
    got = np.zeros(64, np.float16)
    k.run(big, got)
    assert got.tolist() == list(range(64)) and big.pages == 2


def test_32_bit_index_arithmetic_wraps_and_is_caught():
    k = Builder(threads=32)
    a = k.buffer("A", 2**31 + 64, "int8")
    k.store(a, (tid() * 0 + 16384) * 131072 + tid(), ir.const(1, "int8"))
    e = expect(k, "out-of-bounds", sim.SparseArray((2**31 + 64,), "int8"))
    assert "index -2147483648" in e.found


# ---- arguments ----


def doubler(dtype, scalar=None):
    k = Builder(threads=32)
    a = k.buffer("A", 32, dtype)
    v = k.load(a, tid())
    k.store(a, tid(), v + v if scalar is None else v * k.scalar("s", scalar))
    return k


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int8", "float64", "uint16"])
def test_arrays_of_every_dtype(dtype):
    x = np.arange(32).astype(getattr(ml_dtypes, dtype, dtype))
    doubler(dtype).run(x)
    assert (x.astype(np.float64) == np.arange(32) * 2).all()


@pytest.mark.parametrize(
    "dtype, value", [("float32", 2.5), ("int32", -3), ("float64", 0.1), ("int64", 2**40)]
)
def test_scalars(dtype, value):
    x = np.arange(32).astype(dtype)
    doubler(dtype, dtype).run(x, value)
    assert (x == np.arange(32).astype(dtype) * np.dtype(dtype).type(value)).all()


def test_dlpack_arguments():
    class Wrapped:
        def __init__(self, a):
            self.a = a

        def __dlpack__(self, **kw):
            return self.a.__dlpack__(**kw)

        def __dlpack_device__(self):
            return self.a.__dlpack_device__()

    x = np.arange(32, dtype=np.float32)
    doubler("float32").run(Wrapped(x))
    assert (x == np.arange(32) * 2).all()


@pytest.mark.parametrize("args, code", [
    ((), "argument-count"), ((np.zeros(32, np.float64),), "argument-dtype"),
    ((np.zeros(31, np.float32),), "argument-shape"), ((np.zeros((32, 1), np.float32),), "argument-rank"),
    ((3,), "argument-type"),
    ((np.zeros(32, np.float32)[::-1],), "argument-strides"),
    ((np.broadcast_to(np.float32(1), (32,)),), "argument-readonly")])  # fmt: skip
def test_arguments_that_do_not_fit(args, code):
    with pytest.raises(errors.LaunchError) as e:
        doubler("float32").run(*args)
    assert e.value.code == code


def test_unknown_options_are_refused():
    for options in (dict(schedule="fast"), dict(observers=("bound",)), dict(mma_accumulate="f16")):
        with pytest.raises(errors.LaunchError) as e:
            doubler("float32").run(np.zeros(32, np.float32), **options)
        assert e.value.code == "sim-option"


def test_symbolic_extents_come_from_the_shapes():
    n = ir.Var("n", "int32")
    a = ir.Buffer.make("A", [n], "float32")
    handle = ir.Var("A_ptr", "handle", ir.PointerType("float32", "global"))
    i = ir.call("int32", "tx.cta_index", [0]) * 32 + tid()
    body = ir.IfThenElse(i < n, ir.BufferStore(a, i.astype("float32"), [i]), None)
    host = ir.PrimFunc("iota", [handle], [a], ir.SeqStmt([]))
    device = ir.PrimFunc("iota", [a.data, n], [a, None], body)
    from sim_kernels import target

    kernel = ir.Kernel(host, device, [n], ir.LaunchPlan([(n + 31) // 32, 1, 1], threads=32))
    for extent in (1, 32, 77):
        x = np.full(extent, -1, np.float32)
        report = sim.run(kernel, target(), [x])
        assert (x == np.arange(extent)).all() and report.ctas == -(-extent // 32)
