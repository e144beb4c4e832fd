"""Construction, text and the public examples of layouts."""

import pytest
from tirx.errors import LayoutError
from tirx.layout import Axis, R, S, TileLayout, laneid, placements, warpid


def test_paper_figure_3_tile():
    """Paper, section 3.2: 8 x 16 on 2 warps of 32 lanes, replicated at distance 4, offset by 5 warps."""
    tile = TileLayout(
        S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid
    )
    assert tile.size() == 128 and tile.span("laneid") == 32 and tile.span("warpid") == 6
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
