"""Construction, text and the public examples of layouts."""

import copy
import pickle

import numpy
import pytest
from hypothesis import given, settings
from layout_cases import layouts

from tirx.errors import LayoutError
from tirx.ir import structural_equal
from tirx.layout import Axis, ComposeLayout, R, S, TileLayout, laneid, parse, placements, warpid


def test_paper_figure_3_tile():
    """Paper, section 3.2: 8 x 16 on 2 warps of 32 lanes, replicated at distance 4, offset by 5 warps."""
    tile = TileLayout(
        S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid
    )
    assert (
        tile.size() == 128
        and tile.size("laneid") == 32
        and tile.span("laneid") == 32
        and tile.span("warpid") == 6
    )
    assert tile.apply(3, 13, shape=[8, 16]) == {"laneid": 14, "warpid": 6, "m": 1}
    warps = {dict(place).get("warpid", 0) for places in placements(tile) for place in places}
    assert warps == {5, 6, 9, 10}


def test_text_names_everything():
    tile = TileLayout(S[(8, 2) : (4 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid + 3)
    assert str(tile) == "S[(8, 2):(4@laneid, 1)] + R[2:4@warpid] + 5@warpid + 3"
    assert repr(tile) == f"TileLayout({tile})"


def test_extents_alone_are_row_major():
    assert str(TileLayout(S[4, 8, 2])) == "S[(4, 8, 2):(16, 2, 1)]"
    assert str(TileLayout(S[(4, 8)])) == "S[(4, 8):(8, 1)]"
    assert str(TileLayout(S[6])) == "S[6:1]"


def test_unknown_axis_names_the_nearest():
    with pytest.raises(LayoutError) as e:
        Axis.get("lanid")
    assert e.value.code == "unknown-axis" and "laneid" in e.value.required


@pytest.mark.parametrize("spec", [lambda: S[(4, 2) : (1,)], lambda: S[1.5], lambda: S[4:1] + S[2:1]])
def test_bad_specs_are_layout_errors(spec):
    with pytest.raises(LayoutError):
        spec()


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_text_reads_back(layout):
    assert structural_equal(parse(str(layout)), layout) and structural_equal(parse(repr(layout)), layout)
    swizzled = ComposeLayout(1, 2, 3, layout)
    assert structural_equal(parse(str(swizzled)), swizzled)


@pytest.mark.parametrize("text", ["S[4:1", "S[4:__import__('os')]", "S[4:1].size()", "T[4]", "S['a':1]", "4"])
def test_text_that_is_no_layout(text):
    with pytest.raises(LayoutError):
        parse(text)


def test_copies_and_pickles_are_equal():
    layout = ComposeLayout(3, 2, 3, TileLayout(S[(8, 64) : (64, 1)] + R[2 : 4 @ warpid] + 5 @ warpid))
    assert structural_equal(pickle.loads(pickle.dumps(layout)), layout)
    assert structural_equal(copy.deepcopy(layout), layout)
    assert pickle.loads(pickle.dumps(laneid)) is laneid


def test_axes():
    assert (
        laneid.is_thread() and laneid.extent == 32 and (laneid.scope, laneid.subscope) == ("warp", "thread")
    )
    assert Axis.get("TLane").is_memory() and Axis.get("TLane").extent == 128
    assert Axis.get("warpid").extent == 0 and Axis.get("warpid").extent_from == "launch"
    assert TileLayout(S[numpy.int64(8) : numpy.int64(4) @ laneid]).apply(3) == {"laneid": 12}


def test_a_backend_registers_an_axis():
    core = Axis.register("test_core", thread=True, extent=8, scope="chip", subscope="core")
    assert Axis.register("test_core", thread=True, extent=8, scope="chip", subscope="core") is core
    assert TileLayout(S[(8, 4) : (1 @ core, 1)]).get_scope() == ("core", "chip")
    with pytest.raises(LayoutError) as e:
        Axis.register("test_core", thread=False)
    assert e.value.code == "axis-conflict"


def test_zero_offsets_are_not_written_down():
    assert structural_equal(TileLayout(S[4] + 0 @ laneid + 0), TileLayout(S[4]))
    assert structural_equal(TileLayout(S[4] + 1 @ laneid + 2 @ laneid), TileLayout(S[4] + 3 @ laneid))


@pytest.mark.parametrize("bad", [0, -3])
def test_extents_are_positive(bad):
    with pytest.raises(LayoutError) as e:
        TileLayout(S[(2, bad)])
    assert e.value.code == "bad-extent"
