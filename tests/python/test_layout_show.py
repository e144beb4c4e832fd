"""Drawings of layouts: every cell against `placements`, what is left out is said, errors point at their place."""

import doctest
import html
import itertools
import math
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from layout_cases import layouts, refused, small_layouts

import tirx
from tirx.errors import LayoutError
from tirx.layout import (
    Axis,
    ComposeLayout,
    Layout,
    R,
    S,
    TileLayout,
    laneid,
    mma_shared_layout,
    placements,
    warpid,
)
from tirx.layout.given import DTYPES, bits_of
from tirx.layout.parsing import parse
from tirx.layout.show import View, hardware
from tirx.layout.show.reading import read_layout
from tirx.layout.show.tables import SHORT, Tables

PAPER = "S[(8, 2, 4, 2):(4@laneid, 1@warpid, 1@laneid, 1)] + R[2:4@warpid] + 5@warpid"
CASES = {
    "paper": (PAPER, (8, 16)),
    "padded": ("S[(5, 6):(8, 1)]", (5, 6)),
    "reversed": ("S[(3, 4):(-4, 1)] + 8", (3, 4)),
    "aliased": ("S[(4, 4):(0, 1)]", (4, 4)),
    "three axes": ("S[(2, 3, 4):(1@wgid, 1@warpid, 1@laneid)] + R[3:8@laneid]", (6, 4)),
    "mesh": ("S[(2, 4, 2, 4):(1@pid, 8, 2@pid, 1)]", (8, 8)),
    "swizzled": ("ComposeLayout(2, 2, 3, TileLayout(S[(8, 32):(32, 1)]))", (8, 32)),
    "constant": ("S[1:1]", (1,)),
    "partitions": ("S[(2, 8, 4):(4@F, 1@P, 1@F)]", (16, 4)),
}


def definition(layout):
    """Per element the set of places as dicts without zeros."""
    return [{frozenset(p) for p in places} for places in placements(layout)]


def nonzero(place):
    return frozenset((a, v) for a, v in place.items() if v)


def read_label(text, tables):
    """The places that a cell's text names."""
    memory = "r" if tables.has_addresses and not tables.is_memory and not tables.line else ""
    axis_of = {SHORT.get(a.name, a.name): a.name for a in tables.axes} | {memory: "m"}
    found = set()
    for place in text.split("|"):
        columns = []
        for word in place.split(" "):
            short, values = re.fullmatch(r"([A-Za-z_]*)(-?\d.*)", word).groups()
            columns.append([(axis_of[short], v) for v in read_list(values)])
        found |= {nonzero(dict(p)) for p in itertools.product(*columns)}
    return found


def read_list(text):
    if ".." in text:
        first, second, last = map(int, re.fullmatch(r"(-?\d+),(-?\d+)\.\.(-?\d+)", text).groups())
        return range(first, last + 1, second - first)
    return [int(v) for v in text.split(",")]


# ---- tables ----


@pytest.mark.parametrize("case", CASES)
def test_both_directions(case):
    layout, shape = read_layout(CASES[case][0]), CASES[case][1]
    tables, want = Tables(layout, shape), definition(layout)
    held = [{nonzero(tables.coordinates(i)) for i in ids} for ids in tables.of_element]
    assert held == want
    for i, elements in enumerate(tables.elements):
        assert elements == [x for x, places in enumerate(want) if nonzero(tables.coordinates(i)) in places]
    assert tables.injective == all(len(e) == 1 for e in tables.elements)
    drawn = [i for page in tables.pages for i in page.cells if i >= 0]
    assert sorted(drawn) == list(range(len(tables.places)))
    assert [read_label(label, tables) for label in tables.labels()] == want


@pytest.mark.slow
def test_both_directions_of_every_small_layout():
    for layout in small_layouts():
        tables = Tables(layout)
        held = [{nonzero(tables.coordinates(i)) for i in ids} for ids in tables.of_element]
        assert held == definition(layout), layout
        assert [read_label(label, tables) for label in tables.labels()] == held, layout


def test_pages_are_where_they_say():
    """A cell's place is at its page, row and column."""
    for text, shape in CASES.values():
        tables = Tables(read_layout(text), shape)
        for page in tables.pages:
            head = dict(re.findall(r"(\w+) (-?\d+)", page.label))
            for n, i in enumerate(page.cells):
                if i < 0:
                    continue
                at, row, col = tables.coordinates(i), *divmod(n, len(page.cols))
                row, col = page.rows[row], page.cols[col]
                assert {a: at[a] for a in tables.page_axes} == {a: int(v) for a, v in head.items()}
                if tables.line:
                    assert at["m"] == row + col
                elif tables.row_axis != tables.col_axis:
                    assert (at[tables.row_axis], at[tables.col_axis]) == (row, col)


def test_a_large_tile_has_all_its_places():
    layout = mma_shared_layout("float16", 3, (128, 256))
    tables = Tables(layout, (128, 256))
    for x in range(0, tables.size, 997):
        assert tables.coordinates(tables.of_element[x][0]) == layout.apply(x)
    assert tables.injective and len(tables.places) == 128 * 256


def test_what_cannot_be_listed_is_refused():
    n = tirx.ir.Var("n", "int32")
    assert refused(lambda: TileLayout(S[n:1]).show()).code == "not-static"
    assert refused(lambda: TileLayout(S[1 << 23 : 1]).show()).code == "too-large"
    assert refused(lambda: TileLayout(S[(1 << 40, 1 << 40) : (1, 1)]).show()).code == "too-large"
    assert refused(lambda: TileLayout(S[8:1]).show(shape=(3, 3))).code == "size-mismatch"
    assert refused(lambda: TileLayout(S[8:1]).show(shape=(-8, -1))).code == "bad-shape"
    assert refused(lambda: TileLayout(S[8:1]).show(shape=(2.0, 4))).code == "not-an-integer"
    assert refused(lambda: TileLayout(S[8:1]).show(dtype="floaty")).code == "bad-dtype"


def test_dtypes_that_do_not_exist():
    for dtype, near in (
        ("float17", "float16"),
        ("bfloat17", "bfloat16"),
        ("int7", "int"),
        ("float15x2", "float16"),
    ):
        error = refused(lambda d=dtype: TileLayout(S[8:1]).show(dtype=d))
        assert error.code == "bad-dtype" and near in error.hint
        assert refused(lambda d=dtype: bits_of(d)).code == "bad-dtype"
    widths = {
        "bool": 8,
        "float8_e4m3fn": 8,
        "float6_e3m2fn": 6,
        "float4_e2m1fn": 4,
        "int4": 4,
        "bfloat16x2": 32,
    }
    assert {d: bits_of(d) for d in widths} == widths
    assert all(bits_of(d) > 0 for d in DTYPES)


def test_a_text_numbers_only_what_it_prints():
    """Counts and labels need no numbered places, and agree with them."""
    view = TileLayout(S[(64, 64) : (64, 1)]).show()
    text = view.text(rows=2, width=0)
    assert "_numbered" not in view.tables.__dict__ and "rows 2 to 63 left out" in text
    for case, (text, shape) in CASES.items():
        tables = Tables(read_layout(text), shape)
        places, shared = tables.counts
        assert (places, shared) == (len(tables.places), sum(len(e) > 1 for e in tables.elements)), case
        for axis in (a.name for a in tables.axes):
            classes = tables.classes(axis)
            want = [classes[held[0]] for held in tables.of_element]
            assert tables.element_classes(axis, tables.size) == want, case
        assert tables.labels(tables.size // 2) == tables.labels()[: tables.size // 2]
    far = Tables(TileLayout(S[(2, 2, 2) : (1 << 60, 1 << 62, 0)]))
    assert far.box >= 1 << 62 and far.counts == (4, 4)


def test_shapes_and_dtypes_of_other_packages():
    tables = TileLayout(S[24:1]).show(shape=(np.int64(6), np.int32(4)), dtype=np.dtype("float32")).tables
    assert tables.shape == (6, 4) and tables.bits == 32
    assert TileLayout(S[24:1]).show(shape=24, dtype="float32x4").tables.bits == 128


def test_what_is_said_to_be_proved_holds():
    """Facts of `prove` agree with the tables; the hardware's layouts are all proved to have distinct places."""
    for named in hardware.names():
        tables = named.view().tables
        assert tables.size == hardware.size(named)
        said = dict(tables.facts())
        distinct = next(v for k, v in said.items() if k.startswith("distinct places"))
        assert distinct.startswith("proven: ") and tables.injective, named.name
        used = said.get("every place is used")
        if used is not None:
            assert used.startswith("proven: ") == (tables.box == len(tables.places)), named.name
    aliased = dict(Tables(TileLayout(S[(4, 4) : (0, 1)])).facts())
    assert aliased["distinct places"].startswith("disproven")
    assert dict(Tables(TileLayout(S[(3, 4) : (-4, 1)])).facts())["distinct places"].startswith("proven: ")


@pytest.mark.slow
def test_large_pages_are_cut():
    """Blocks of 128 columns (lines of a linear memory) together are all places, each where its page says."""
    for layout, axis in (
        (hardware.find("tcgen05.scales.128x224").build("uint8")[0], "TCol"),
        (TileLayout(S[512, 256]), "m"),
    ):
        tables = Tables(layout)
        assert len(tables.pages) > 1 and max(len(p.cells) for p in tables.pages) <= 32768
        assert sorted(i for p in tables.pages for i in p.cells) == list(range(len(tables.places)))
        for page in tables.pages:
            low, high = map(int, re.fullmatch(rf"{axis} (\d+) to (\d+)", page.label).groups())
            seen = {tables.coordinates(i)[axis] for i in page.cells}
            assert (min(seen), max(seen)) == (low, high)


def test_a_page_has_a_limit():
    assert refused(lambda: TileLayout(S[65537]).show().html()).code == "too-large"


def test_replicas_that_coincide_are_one_place():
    tables = Tables(TileLayout(S[4:1] + R[(3, 3) : (1, 1)]))
    assert tables.per_element == 5 and len(tables.places) == 8


@settings(max_examples=60, deadline=None)
@given(layouts())
def test_both_directions_of_random_layouts(layout):
    tables, want = Tables(layout), definition(layout)
    assert [{nonzero(tables.coordinates(i)) for i in ids} for ids in tables.of_element] == want
    assert [read_label(label, tables) for label in tables.labels()] == want
    for i, held in enumerate(tables.elements):
        assert held == [x for x, places in enumerate(want) if nonzero(tables.coordinates(i)) in places]


# ---- text ----


def cells_of(text, shape):
    """{(row, column): cell} of the tables of a text; columns are numbered in the heads."""
    found, heads = {}, None
    for line in text.splitlines():
        words = re.split(r"\s{2,}|(?<=\S)\s(?=[A-Z]\d)", line.strip())
        if re.fullmatch(r"(\d+\s*)+", line.strip()) and line.startswith("  "):
            heads = line.split()
        elif heads and re.match(r"\s*\d+ ", line):
            row, rest = re.match(r"\s*(\d+) (.*)", line).groups()
            width = math.ceil(len(rest) / len(heads))
            for n, head in enumerate(heads):
                found[int(row), int(head)] = rest[n * width : (n + 1) * width].strip()
        elif not words or not line.strip():
            heads = None
    return found


@pytest.mark.parametrize("width", [70, 100, 0])
def test_every_cell_of_the_text(width):
    layout = read_layout(PAPER)
    view = layout.show(shape=(8, 16))
    found, want = cells_of(view.text(width=width), (8, 16)), definition(layout)
    for (r, c), cell in found.items():
        assert read_label(cell, view.tables) == want[r * 16 + c]
    assert len(found) == 128
    assert all(len(line) <= (width or 1000) for line in view.text(width=width).splitlines()[3:])


def test_what_is_left_out_is_said():
    text = TileLayout(S[60, 90]).show().text(width=80, rows=20)
    assert "... rows 20 to 59 left out (tables of 20 rows)" in text
    assert re.search(r"\.\.\. columns \d+ to 89 left out", text)
    assert "left out" not in TileLayout(S[4, 4]).show().text()


def test_colour_is_for_terminals_only(monkeypatch):
    view = TileLayout(S[4, 4]).show()
    assert "\x1b" not in str(view) and "\x1b[48;2;" in view.text(color=True)
    assert re.sub(r"\x1b\[[0-9;]*m", "", view.text(color=True)) == view.text()
    from tirx.layout.show.view import terminal

    class Tty:
        isatty = staticmethod(lambda: True)

    monkeypatch.delenv("NO_COLOR", raising=False)
    assert terminal(Tty)["color"]
    monkeypatch.setenv("NO_COLOR", "1")
    assert not terminal(Tty)["color"]


# ---- accesses ----


def fragment_words(swizzle):
    """PTX ISA: register j of lane 4g + q of operand A of m16n8k16 is row g + 8 (j & 1), bytes 16 (j >> 1) + 4q of
    the row; the tile is row-major, 32 bytes a row. Per register the number of words of each bank."""
    out = []
    for j in range(4):
        byte = {32 * (g + 8 * (j & 1)) + 16 * (j >> 1) + 4 * q for g in range(8) for q in range(4)}
        words = {(b ^ ((b >> 7 & 1) << 4 if swizzle == "32B" else 0)) // 4 for b in byte}
        out.append([sum(w % 32 == bank for w in words) for bank in range(32)])
    return out


@pytest.mark.parametrize("swizzle", ["none", "32B"])
@pytest.mark.parametrize("lanes", ["mma.m16n8k16.A", "S[(2, 8, 2, 4, 2):(2, 4@laneid, 4, 1@laneid, 1)]"])
def test_a_fragment_is_an_access(lanes, swizzle):
    view = TileLayout(S[16, 16]).show(swizzle=swizzle, access=lanes)
    found = [[len(words) for words in report.banks] for _, report in view.reports()[0].rows]
    assert found == fragment_words(swizzle)
    total = sum(max(counts) for counts in found)
    assert f"4 accesses: {total} wavefronts, 4 without conflicts" in view.text()


def test_a_fragment_of_a_transposed_tile_is_read_by_elements():
    """Neighbours in a register are 16 elements apart: one access for each."""
    rows = TileLayout(S[(16, 16) : (1, 16)]).show(access="mma.m16n8k16.A").reports()[0].rows
    assert [a.width for a, _ in rows] == [2] * 8
    for n, (access, _) in enumerate(rows):
        j, half = divmod(n, 2)
        want = [(g + 8 * (j & 1)) * 16 + 8 * (j >> 1) + 2 * q + half for g in range(8) for q in range(4)]
        assert [x for (x,) in access.lanes] == want


def test_accesses_that_do_not_exist():
    tile = TileLayout(S[16, 16])
    assert refused(lambda: tile.show(access="mma.m16n8k16.Z")).code == "unknown-layout"
    assert refused(lambda: tile.show(access="S[8:1@laneid]")).code == "size-mismatch"
    assert refused(lambda: tile.show(access="S[8:1@lan]")).code == "unknown-axis"
    for name in ("diag", "rows16"):
        error = refused(lambda n=name: tile.show(access=n))
        assert error.code == "unknown-access" and "row, row16, column, rows8" in error.required
        assert "--list" in error.required
    assert "row16" in error.hint
    assert "one linear memory" in TileLayout(S[8 : 1 @ laneid]).show(access="row").text()
    assert "no such access" in TileLayout(S[8:1]).show(access="column").text()


# ---- SVG ----

_SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("case", ["paper", "three axes", "swizzled"])
def test_every_cell_of_the_svg(case):
    layout, shape = read_layout(CASES[case][0]), CASES[case][1]
    view = layout.show(shape=shape)
    texts = [t.text for t in ET.fromstring(view.svg(places=False)).iter(_SVG + "text")]
    cells = texts[-layout.size() :]
    assert [read_label(c, view.tables) for c in cells] == definition(layout)


def test_the_svg_is_bounded_and_says_so():
    svg = TileLayout(S[128, 256]).show().svg(places=False)
    assert svg.count("<rect") < 64 * 64 + 20
    assert "... rows 64 to 127 are not drawn" in svg and "... columns 64 to 255 are not drawn" in svg


@pytest.mark.parametrize("name", ["paper.mma", "mma.m16n8k16.A", "smem.128B.float32", "tcgen05.F.1"])
def test_golden_text_and_svg(name, golden):
    view = hardware.find(name).view()
    golden(f"layout_{name}.txt", view.text(places=True) + "\n")
    golden(f"layout_{name}.svg", view.svg())


def test_the_examples_of_the_documentation(golden):
    golden("../../../docs/images/layout-mma.svg", hardware.find("mma.m16n8k16.A").view().svg())
    page = Path(__file__).parents[2] / "docs" / "seeing-layouts.md"
    failed, tried = doctest.testfile(str(page), module_relative=False)
    assert failed == 0 and tried >= 5
    text = page.read_text()
    for image in re.findall(r"!\[[^]]+\]\((.*?)\)", text):
        assert (page.parent / image).exists()


# ---- names ----


def test_the_list_of_hardware_layouts():
    assert len(hardware.names()) >= 35
    table = hardware.listing().splitlines()
    assert [line.split()[0] for line in table] == [n.name for n in hardware.names()]


@pytest.mark.slow
@pytest.mark.parametrize("name", [n.name for n in hardware.names()])
def test_every_hardware_layout_against_the_definition(name):
    tables = hardware.find(name).view().tables
    held = [{nonzero(tables.coordinates(i)) for i in ids} for ids in tables.of_element]
    assert held == definition(tables.layout)


# ---- swizzles ----


def test_named_swizzles_are_the_hardware_ones():
    for dtype, mode in itertools.product(("int8", "float16", "float32"), (1, 2, 3)):
        want = mma_shared_layout(dtype, mode, (8, 256))
        tile = want.tile_layout
        view = View(tile, (8, 256), dtype, {1: "32B", 2: "64B", 3: "128B"}[mode])
        assert placements(view.layout) == placements(want)
    swizzled = ComposeLayout(3, 3, 3, TileLayout(S[8, 64]))
    assert View(swizzled, swizzle="none").layout.is_trivial()
    assert str(View(TileLayout(S[8, 64]), swizzle="2,3,3").layout).startswith("ComposeLayout(2, 3, 3")
    assert refused(lambda: View(TileLayout(S[8 : 1 @ laneid]), swizzle="64B")).code == "no-memory"
    assert refused(lambda: View(TileLayout(S[8, 64]), swizzle="128")).code == "bad-swizzle"
    assert refused(lambda: View(TileLayout(S[8, 64]), swizzle="wide")).code == "not-an-integer"


# ---- reading ----


@pytest.mark.parametrize(
    "text",
    [
        "(8,2,4,2):(4@lane,1@warp,1@lane,1@reg) + [2:4@warp] + 5@warp",
        PAPER,
        PAPER.replace(" ", ""),
        f"TileLayout({PAPER})",
    ],
)
def test_the_notation_of_the_paper(text):
    want = TileLayout(
        S[(8, 2, 4, 2) : (4 @ laneid, 1 @ warpid, 1 @ laneid, 1)] + R[2 : 4 @ warpid] + 5 @ warpid
    )
    assert str(read_layout(text)) == str(want)


@pytest.mark.parametrize(
    "text, code, under",
    [
        ("S[8:4@landid]", "unknown-axis", "landid"),
        ("(8,2):(4@lane,1@wrap)", "unknown-axis", "wrap"),
        ("S[(8,2):(4,1,2)] + R[2:1]", "stride-count", "(4,1,2)"),
        ("S[8:4] + R[(2,2):1]", "stride-count", "1"),
        ("S[(8,-4):(1,1)]", "bad-extent", "-4"),
        ("S[(n,4):(4,1)]", "not-an-integer", "n"),
        ("S[8:n@laneid]", "not-an-integer", "n"),
        ("S[(8,4):(4@m@laneid,1)]", "two-axes", "4@m"),
        ("S[2**3]", "bad-notation", "2**3"),
        ("S[8:1] - 5", "bad-notation", "S[8:1] - 5"),
        ("S[+3:1]", "bad-notation", "+3"),
        ("((2,4),8):((1,2),16)", "bad-notation", "(2,4)"),
        ("S[8.5]", "bad-notation", "8.5"),
        ("S[3:1@]", "bad-notation", "]"),
        ("S[(8,2:(4,1)]", "bad-notation", "]"),
        ("S[8:4] + R[2:1] + 1@m@", "bad-notation", ""),
        ("S[0:1]", "bad-extent", "0"),
        ("foo(3)", "bad-notation", "foo(3)"),
        ("__import__('os')", "bad-notation", "__import__('os')"),
        ("S[99999999999999999999:1]", "bad-notation", "99999999999999999999"),
        ("S['a']", "bad-notation", "'a'"),
        ("S['é'] + R[2:1@wärp]", "bad-notation", "'é'"),
        ("S[8:1@é] + R[2:1@wärp]", "unknown-axis", "é"),
        ("R[2:1] + S[8 : 1@ünd]", "unknown-axis", "ünd"),
        ("5@warpid", "no-shard", "5@warpid"),
        ("ComposeLayout(3,3,2,TileLayout(S[8,64]))", "bad-swizzle", "ComposeLayout(3,3,2,TileLayout(S[8,64]))"),
        ("", "bad-notation", ""),
    ],
)  # fmt: skip
def test_errors_point_at_their_place(text, code, under):
    error = refused(lambda: read_layout(text))
    assert error.code == code
    line, carets = error.found.split("\n")
    start, stop = carets.index("^"), len(carets)
    assert line == text and (line[start:stop] == under or not under)


@pytest.mark.parametrize("text", ["S[8:1] +", "5@", "S[8:1]+5@"])
def test_a_text_that_ends_too_early_is_marked_at_its_end(text):
    line, carets = refused(lambda: read_layout(text)).found.split("\n")
    assert (line, carets) == (text, " " * len(text) + "^")


def test_errors_say_what_was_meant():
    assert "CuteLayout.parse" in refused(lambda: read_layout("((2,4),8):((1,2),16)")).hint
    assert "takes numbers" in refused(lambda: read_layout("S[(n,4):(4,1)]")).required
    assert "a number" in refused(lambda: read_layout("S[(8,4):(qq,1)]")).required
    for make in (lambda: 4 @ Axis.get("m") @ laneid, lambda: parse("S[8:(4@m@laneid)]")):
        assert refused(make).code == "two-axes" and refused(make).found == "4@m@laneid"
    assert "2 ** 3 is not layout notation" in refused(lambda: parse("S[2**3]")).found
    assert "object at" not in str(refused(lambda: TileLayout(S[(5 @ laneid, 1) : (1, 1)])))


@settings(max_examples=80, deadline=None)
@given(layouts())
def test_what_is_printed_is_read_back(layout):
    assert str(read_layout(str(layout))) == str(layout) == str(read_layout(repr(layout)))


PIECES = ["S", "R", "[", "]", "(", ")", ":", ",", "+", "-", "*", "@", " ", "8", "16", "0", "1.5", "laneid", "warp",
          "m", "q", "TileLayout", "ComposeLayout", "=", "**", "'", "lambda", "if", ".", "é", "\t", "\n", "#",
          "\\", "{", "}"]  # fmt: skip


@settings(max_examples=400, deadline=None)
@given(st.one_of(st.lists(st.sampled_from(PIECES), max_size=14).map("".join), st.text(max_size=20)))
def test_any_text_is_a_layout_or_a_layout_error(text):
    try:
        assert isinstance(read_layout(text), Layout)
    except LayoutError as e:
        assert e.code and str(e)


def test_endless_texts_are_refused():
    for text in ("(" * 3000, "S[8:1]" + "+1" * 20000, "S[\0]", "-" * 3900 + "1"):
        assert refused(lambda t=text: read_layout(t)).code == "bad-notation"


# ---- notebooks ----


def test_a_view_in_a_notebook_and_on_paper(tmp_path):
    view = TileLayout(S[4, 4]).show()
    assert str(view) == repr(view) == view.text()
    frame = html.unescape(re.fullmatch(r'<iframe srcdoc="([^"]*)".*></iframe>', view._repr_html_(), re.S)[1])
    assert frame == view.html()
    view.save(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == view.text()
    assert refused(lambda: view.render("pdf")).code == "bad-format"
    with pytest.raises(LayoutError, match="names no format"):
        view.save("a.pdf")
