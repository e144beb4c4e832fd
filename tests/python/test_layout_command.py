"""`tirx layout`: what it prints and writes, and what it answers to mistakes."""

import json
import re
from pathlib import Path

import pytest

from tirx import cli
from tirx.layout import placements
from tirx.layout.show import hardware
from tirx.layout.show.reading import read_layout, read_shape

PAPER = "S[(8, 2, 4, 2):(4@laneid, 1@warpid, 1@laneid, 1)] + R[2:4@warpid] + 5@warpid"


def nonzero(place):
    return frozenset((a, v) for a, v in place.items() if v)


def run(capsys, *argv):
    status = cli.main(["layout", *argv])
    out = capsys.readouterr()
    return status, out.out, out.err


def test_the_command_prints_and_writes(capsys, tmp_path):
    status, out, _ = run(capsys, PAPER)
    assert status == 0 and "W5,9 T0 r0" in out
    assert run(capsys, PAPER, "--shape", "8,16", "--places")[1].count("laneid down, m across") == 4
    path = tmp_path / "a.svg"
    assert run(capsys, "mma.m16n8k16.A", "--out", str(path))[0] == 0
    assert path.read_text() == hardware.find("mma.m16n8k16.A").view().svg()
    assert run(capsys, "--list")[1].startswith("paper.mma")
    assert run(capsys, "S[8,16]", "--format", "svg")[1].startswith("<svg")


def test_the_command_answers_mistakes(capsys, tmp_path):
    assert run(capsys)[0] == 1
    status, _, err = run(capsys, "S[8:4@landid]")
    assert status == 1 and "S[8:4@landid]\n                  ^^^^^^" in err and "did you mean laneid" in err
    assert "did you mean mma.m16n8k16" in run(capsys, "mma.m16n8k16.X")[2]
    assert "8 elements" in run(capsys, "S[8:1]", "--shape", "3,4")[2]
    assert "'a' in '3,a'" in run(capsys, "S[8:1]", "--shape", "3,a")[2]
    assert "names no format" in run(capsys, "S[8:1]", "--out", str(tmp_path / "x.png"))[2]
    assert "No such file" in run(capsys, "S[8:1]", "--out", str(tmp_path / "no" / "x.svg"))[2]
    status, out, _ = run(capsys, "S[8:1@q]", "--json")
    assert status == 1 and json.loads(out)["error"]["code"] == "unknown-axis"


@pytest.mark.parametrize(
    "arguments, code",
    [
        ("--width -3", "bad-size"),
        ("--rows -3", "bad-size"),
        ("--shape 8,x", "not-an-integer"),
        ("--shape 8,4x", "not-an-integer"),
        ("--shape 8,,4", "not-an-integer"),
        ("--shape -8,4", "bad-shape"),
        ("--dtype float17", "bad-dtype"),
        ("--access diag", "unknown-access"),
        ("--swizzle -1,0,0", "bad-swizzle"),
        ("--swizzle 1,0", "bad-swizzle"),
        ("--serve --port -3", "bad-port"),
    ],
)
def test_options_that_mean_nothing(capsys, arguments, code):
    status, out, err = run(capsys, "S[(8,4):(4,1)]", *arguments.split())
    assert status == 1 and not out and f"[{code}]" in err


@pytest.mark.parametrize("text, want", [("8,4", (8, 4)), ("(8, 4)", (8, 4)), ("8x4x2", (8, 4, 2)), ("8 x 4", (8, 4)),
                                        ("8 4", (8, 4)), ("32,", (32,)), (" ", None)])  # fmt: skip
def test_shapes_as_they_are_typed(text, want):
    assert read_shape(text) == want


def test_a_path_is_checked_before_the_work(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr(hardware, "names", lambda: pytest.fail("the gallery was made"))
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "no" / "x.html", tmp_path, tmp_path / "file" / "x.html"):
        assert "[bad-path]" in run(capsys, "--gallery", str(path))[2]
    assert list(tmp_path.iterdir()) == [tmp_path / "file"]


def test_the_tables_as_json(capsys):
    status, out, _ = run(capsys, PAPER, "--json")
    found = json.loads(out)
    want = [{nonzero(dict(p)) for p in places} for places in placements(read_layout(PAPER))]
    table = found["tables"][found["variants"]["float16|given"]["table"]]
    names = [a["name"] for a in table["axes"]]
    places = [nonzero(dict(zip(names, at))) for at in zip(*table["at"])]
    held = [{places[p] for p in table["held"][2 * x : 2 * x + 2]} for x in range(128)]
    assert status == 0 and held == want


def test_the_error_of_the_documentation(capsys):
    page = (Path(__file__).parents[2] / "docs" / "seeing-layouts.md").read_text()
    shown = re.search(r'\$ tirx layout "(.*?)"\n(.*?)```', page, re.S)
    assert run(capsys, shown[1])[2] == shown[2]
