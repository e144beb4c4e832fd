"""Layouts of Triton: import, export and every shared operation, against the package itself and by enumeration.

Where the two disagree the definition decides, and the difference is written down here.
"""

import itertools
import re

import pytest
from linear_cases import points, random_layout, seeded, square_maps, table

from tirx.errors import LayoutError
from tirx.layout import (
    SwizzleMode,
    equivalent,
    mma_fragment_layout,
    mma_shared_layout,
    placements,
    tcgen05_atom_layout,
)
from tirx.layout.linear import LinearLayout, PaddedLayout, conversion, partitioned

pytest.importorskip("triton", reason="needs the package triton")

from triton.experimental.gluon import language as gluon  # noqa: E402

from tirx.interop.triton import (  # noqa: E402
    from_triton,
    tile_from_triton,
    tile_to_triton,
    to_gluon,
    to_triton,
)


def triton_table(layout, dims):
    """All images by Triton's own evaluation."""
    return [tuple(dict(layout.apply(p)).values()) for p in points(dims)]


def random_pair(rng):
    return random_layout(rng, {"a": rng.randrange(4), "b": rng.randrange(3)}, {"p": 2, "q": rng.randrange(3)})


def test_import_and_export_of_linear_layouts():
    rng = seeded("triton linear layouts")
    for _ in range(200):
        ours = random_pair(rng)
        theirs = to_triton(ours)
        assert from_triton(theirs) == ours
        assert triton_table(theirs, ours.in_dims) == table(ours)
        assert (theirs.is_surjective(), theirs.is_injective()) == (ours.is_surjective(), ours.is_injective())
        assert theirs.is_invertible() == ours.is_invertible()


def test_products_and_compositions_agree():
    rng = seeded("triton products")
    for _ in range(200):
        a, b = random_pair(rng), random_pair(rng)
        assert from_triton(to_triton(a) * to_triton(b)) == a * b
        g = random_layout(rng, {"p": 2, "q": 2}, {"r": 3})
        assert from_triton(to_triton(a).compose(to_triton(g))) == a.compose(g)


def test_products_order_dimensions_alike():
    rng = seeded("triton orders")
    subsets = [c for n in range(4) for c in itertools.combinations("abcd", n)]
    for ins in itertools.product(subsets, repeat=2):
        x, y = (random_layout(rng, dict.fromkeys(i, 1), dict.fromkeys(rng.choice(subsets), 1)) for i in ins)
        assert from_triton(to_triton(x) * to_triton(y)) == x * y


def test_inverses_agree():
    inverted = 0
    for layout in square_maps(3):
        if layout.is_invertible():
            assert from_triton(to_triton(layout).invert()) == layout.inverse()
            inverted += 1
    assert inverted == 168
    for layout in square_maps(2, 3):
        if layout.is_surjective():
            assert from_triton(to_triton(layout).pseudoinvert()) == layout.pseudoinvert()


def test_invert_and_compose_agrees():
    for inner, outer in itertools.product(square_maps(2), square_maps(2, 3)):
        outer = outer.rename_ins({"x": "z"})
        if outer.is_surjective():  # Triton asserts this; ours asks for the images only
            assert from_triton(
                to_triton(inner).invert_and_compose(to_triton(outer))
            ) == inner.invert_and_compose(outer)


def test_changes_of_layout():
    """Between dimensions of different names the smallest solution is Triton's too. `conversion` keeps equal
    dimensions in place; Triton keeps fewer (a layout to itself with a redundant lane goes to other lanes)."""
    rng = seeded("triton conversions")
    stayed = moved = 0
    for _ in range(300):
        src, dst = (
            random_layout(rng, {"register": 2, "lane": 2, "warp": 1}, {"i": 2, "j": 1}) for _ in range(2)
        )
        if not src.is_surjective():
            continue
        if rng.random() < 0.5:
            dst = LinearLayout({**dst.bases, "lane": src.bases["lane"]}, dst.out_dims)
        apart = src.rename_ins({n: n + "'" for n in src.in_dims})
        assert from_triton(to_triton(dst).invert_and_compose(to_triton(apart))) == dst.invert_and_compose(
            apart
        )
        theirs = from_triton(to_triton(dst).invert_and_compose(to_triton(src)))
        ours = conversion(dst, src)
        for p in points(dst.in_dims):
            assert src.apply(ours.apply(p)) == dst.apply(p)
        stays = [all(c.apply(p)["lane"] == p["lane"] for p in points(dst.in_dims)) for c in (ours, theirs)]
        stayed, moved = stayed + stays[0], moved + (stays[0] and not stays[1])
    assert stayed and moved


DISTRIBUTED = [
    (gluon.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]), (16, 32)),
    (gluon.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0]), (64, 64)),
    (gluon.BlockedLayout([2, 2], [8, 4], [1, 2], [0, 1]), (32, 16)),
    (gluon.BlockedLayout([4], [32], [4], [0]), (512,)),
    (gluon.NVMMADistributedLayout([2, 0], [1, 1], [16, 8]), (16, 8)),
    (gluon.NVMMADistributedLayout([2, 0], [2, 2], [16, 8]), (64, 64)),
    (gluon.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]), (64, 64)),
    (gluon.DotOperandLayout(0, gluon.NVMMADistributedLayout([2, 0], [1, 1], [16, 8]), 2), (16, 16)),
    (gluon.DotOperandLayout(1, gluon.NVMMADistributedLayout([2, 0], [1, 1], [16, 8]), 2), (16, 8)),
    (gluon.SliceLayout(1, gluon.BlockedLayout([1, 4], [4, 8], [4, 1], [1, 0])), (16,)),
    (gluon.SliceLayout(0, gluon.NVMMADistributedLayout([2, 0], [1, 1], [16, 8])), (8,)),
]
SHARED = [
    (gluon.SwizzledSharedLayout(8, 1, 8, [1, 0]), (16, 64)),
    (gluon.SwizzledSharedLayout(4, 2, 4, [0, 1]), (32, 16)),
    (gluon.NVMMASharedLayout(128, 16, 2), (16, 64)),
    (gluon.NVMMASharedLayout(64, 16, 2), (16, 32)),
    (gluon.NVMMASharedLayout(32, 8, 2), (16, 32)),
]


def hardware_view(layout, shape):
    """{(warp, lane): {register: element}} from Triton's printed table."""
    out, warp = {}, None
    text = layout.format_hardware_view(list(shape))
    for line in text.splitlines():
        if line.startswith("Warp"):
            warp, register = int(re.findall(r"\d+", line)[0]), 0
        elif "(" in line:
            for lane, cell in enumerate(re.findall(r"\(([^)]*)\)", line)):
                out.setdefault((warp, lane), {})[register] = tuple(map(int, cell.split(",")))
            register += 1
    return out


@pytest.mark.parametrize("layout, shape", DISTRIBUTED)
def test_distributed_layouts_say_what_triton_prints(layout, shape):
    ours = from_triton(layout, shape)
    view = hardware_view(layout, shape)
    assert len(view) == ours.in_dims["lane"] * ours.in_dims["warp"]
    for p in points(ours.in_dims):
        if p["block"] == 0:
            want = view[p["warp"], p["lane"]]
            assert want[p["register"] % len(want)] == tuple(
                ours.apply(p)[f"dim{i}"] for i in range(len(shape))
            )
    assert from_triton(to_gluon(ours)) == ours


@pytest.mark.parametrize("layout, shape", DISTRIBUTED)
def test_distributed_layouts_as_tile_layouts(layout, shape):
    """The set of places of every element, from the images of every place."""
    linear, tile = from_triton(layout, shape), tile_from_triton(layout, shape)
    axis = {"register": "m", "lane": "laneid", "warp": "warpid", "block": "cta_id"}
    want = {}
    for p in points(linear.in_dims):
        index = 0
        for i, extent in enumerate(shape):
            index = index * extent + linear.apply(p)[f"dim{i}"]
        want.setdefault(index, set()).add(frozenset((axis[n], x) for n, x in p.items() if x))
    assert placements(tile) == [want[i] for i in range(len(want))]
    again = from_triton(tile_to_triton(tile, shape))
    for p in points(again.in_dims):
        assert again.apply(p) == linear.apply({**dict.fromkeys(linear.in_dims, 0), **p})


@pytest.mark.parametrize("layout, shape", SHARED)
def test_shared_layouts_as_tile_layouts(layout, shape):
    linear, tile = from_triton(layout, shape), tile_from_triton(layout, shape)
    for offset in range(linear.in_dims["offset"]):
        y = linear.apply(offset=offset, block=0)
        assert tile.apply(y["dim0"], y["dim1"], shape=shape).get("m", 0) == offset
    assert from_triton(tile_to_triton(tile, shape)) == linear


def test_hardware_layouts_of_both_packages_are_the_same():
    """Two statements of the tensor cores' layouts, written apart."""
    mma, wgmma = gluon.NVMMADistributedLayout([2, 0], [1, 1], [16, 8]), gluon.NVMMADistributedLayout
    pairs = [
        (tile_from_triton(mma, (16, 8)), mma_fragment_layout("C", "float32")),
        (tile_from_triton(gluon.DotOperandLayout(0, mma, 2), (16, 16)), mma_fragment_layout("A", "float16")),
        (tile_from_triton(gluon.DotOperandLayout(0, mma, 4), (16, 32)), mma_fragment_layout("A", "int8", 32)),
        (tile_from_triton(gluon.NVMMASharedLayout(128, 16, 2), (64, 64)),
         mma_shared_layout("float16", SwizzleMode.SWIZZLE_128B_ATOM, (64, 64))),
        (tile_from_triton(gluon.NVMMASharedLayout(64, 32, 2), (16, 16)),
         mma_shared_layout("float32", SwizzleMode.SWIZZLE_64B_ATOM, (16, 16))),
        (tile_from_triton(gluon.NVMMASharedLayout(32, 8, 2), (8, 32)),
         mma_shared_layout("uint8", SwizzleMode.SWIZZLE_32B_ATOM, (8, 32))),
        (tile_from_triton(wgmma([3, 0], [4, 1], [16, 32, 16]), (64, 32), {"warp": "wid_in_wg"}),
         tcgen05_atom_layout("16x256b", (64, 32), "float32")),
    ]  # fmt: skip
    for theirs, ours in pairs:
        assert equivalent(theirs, ours)


def test_padded_layouts():
    theirs = gluon.PaddedSharedLayout.with_identity_for([[64, 8], [256, 4]], [16, 64], [1, 0])
    ours = from_triton(theirs)
    assert isinstance(ours, PaddedLayout)
    for r, c in itertools.product(range(16), range(64)):
        index = r * 64 + c
        assert ours.place(dim0=r, dim1=c)["offset"] == index + index // 64 * 8 + index // 256 * 4
    assert from_triton(to_gluon(ours)).linear == ours.linear and to_gluon(ours) == theirs
    with pytest.raises(LayoutError, match="not linear"):
        tile_from_triton(theirs)


def test_partitioned_layouts():
    """Triton's own linear form has no partition: 65,536 elements on 32,768 offsets. Its offset bases are ours."""
    amd = pytest.importorskip("triton.experimental.gluon.language.amd.gfx1250")
    theirs = amd.PartitionedSharedLayout(2, 2, 0, gluon.SwizzledSharedLayout(1, 1, 1, [1, 0]))
    ours = from_triton(theirs, (512, 128))
    want = partitioned((512, 128), 2, 2)
    assert ours == want.sublayout(["offset", "partition"], ["dim0", "dim1"])
    from tirx.interop.triton import _builder

    lossy = from_triton(_builder()[1].to_linear_layout(theirs._to_ir(_builder()[1]), [512, 128]))
    assert lossy.bases["offset"] == ours.bases["offset"] and "partition" not in lossy.in_dims
    assert not lossy.is_surjective() and ours.is_surjective()
    padded = gluon.PaddedSharedLayout.with_identity_for([[128, 8]], [128, 128], [1, 0])
    both = from_triton(amd.PartitionedSharedLayout(2, 2, 0, padded), (512, 128))
    assert both.pads == ((128, 8),) and both.linear.in_dims == ours.in_dims


def test_what_triton_cannot_say_is_refused():
    with pytest.raises(LayoutError) as e:
        to_gluon(LinearLayout.identity_1d(4, "register", "m"))
    assert e.value.code == "bad-names"
    with pytest.raises(LayoutError) as e:
        from_triton(gluon.BlockedLayout([4], [32], [4], [0]))
    assert e.value.code == "no-shape"
    with pytest.raises(LayoutError) as e:
        from_triton(3, (4,))
    assert e.value.code == "not-a-layout"
