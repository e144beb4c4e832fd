"""explain() on whole kernels, and the examples of docs/dispatch.md."""

import json
import re
from pathlib import Path

import pytest

import tirx
from tirx.layout import S, TileLayout, laneid
from tirx.script import T, Tx
from tirx.tile import explain, unregister_dispatch

TARGET = tirx.Target("cuda", arch="sm_90a")
D_FRAG = TileLayout(S[(2, 8, 4, 2) : (2, 4 @ laneid, 1 @ laneid, 1)])
A_FRAG = D_FRAG.tile_to([16, 16], [16, 8])


@T.prim_func
def kernel(A_ptr: T.handle, D_ptr: T.handle):
    A = T.match_buffer(A_ptr, (64, 64), "float16")
    D = T.match_buffer(D_ptr, (64, 64), "float32")
    T.device_entry()
    bx = T.cta_id([4])
    lane = T.lane_id([32])
    sm = T.alloc_shared((16, 16), "float16")
    Af = T.alloc_buffer((16, 16), "float16", scope="local", layout=A_FRAG)
    Df = T.alloc_buffer((16, 8), "float32", scope="local", layout=D_FRAG)
    Tx.cta.copy(sm[:, :], A[bx * 16 : bx * 16 + 16, 0:16])
    T.cuda.cta_sync()
    Tx.warp.copy(Af[:, :], sm[:, :])
    Tx.warp.fill(Df[:, :], 0.0)
    Tx.warp.copy(D[bx * 16 : bx * 16 + 16, 0:8], Df[:, :])


EXPECTED = """\
kernel for cuda/sm_90a: 4 tile calls
test_tile_explain.py:L  cta.copy(dst=float16[16, 16] shared, src=float16[16, 16] global)  at cta scope
  variant   vec_auto (priority 10)  rules/copy.py:L
  emits     1 x 16-byte global load, shared store per thread
  covers    256 elements once: 32 threads x 1 step x 8 lanes
  banks     dst: 1 access of 16 bytes per lane, 0 bank conflicts (4 wavefronts for 4)
  rejected  vec_128b, vec_16b, vec_256b, vec_32b, vec_64b: predicate 'requested': used only when dispatch= names it (rules/common.py:L)
  rejected  ldstmatrix: predicate 'fragment and shared memory': neither operand is a register fragment (rules/ldstmatrix.py:L)
test_tile_explain.py:L  warp.copy(dst=float16[16, 16] local, src=float16[16, 16] shared)  at warp scope
  variant   ldstmatrix (priority 15)  rules/ldstmatrix.py:L
  emits     1 x ldmatrix.sync.aligned.m8n8.x4.shared.b16 per warp
  covers    256 elements once: 32 threads x 1 step x 8 lanes
  banks     src: 1 access of 16 bytes per lane, 4 bank conflicts (8 wavefronts for 4)
  rejected  vec_128b, vec_16b, vec_256b, vec_32b, vec_64b: predicate 'requested': used only when dispatch= names it (rules/common.py:L)
test_tile_explain.py:L  warp.fill(dst=float32[16, 8] local, value=0.0)  at warp scope
  variant   reg (priority 10)  rules/fill.py:L
  emits     4 x 4-byte local store per thread
  covers    128 elements once: 32 threads x 4 steps
  rejected  smem: predicate 'in memory': dst is in registers (rules/fill.py:L)
test_tile_explain.py:L  warp.copy(dst=float32[16, 8] global, src=float32[16, 8] local)  at warp scope
  variant   vec_auto (priority 10)  rules/copy.py:L
  emits     2 x 8-byte local load, global store per thread
  covers    128 elements once: 32 threads x 2 steps x 2 lanes
  rejected  vec_128b, vec_16b, vec_256b, vec_32b, vec_64b: predicate 'requested': used only when dispatch= names it (rules/common.py:L)
  rejected  ldstmatrix: predicate 'fragment and shared memory': it moves between shared memory and registers, not from local to global (rules/ldstmatrix.py:L)"""  # noqa: E501


def test_text():
    text = explain(kernel, TARGET).text()
    text = re.sub(r"(?m)^\S*/(?=test_tile_explain)", "", text)
    assert re.sub(r"\.py:\d+", ".py:L", text) == EXPECTED


def test_json():
    data = json.loads(explain(kernel, TARGET).json())
    assert data["function"] == "kernel" and data["target"] == "cuda/sm_90a"
    assert [c["variant"] for c in data["calls"]] == ["vec_auto", "ldstmatrix", "reg", "vec_auto"]
    load = data["calls"][1]
    assert load["scope"] == "warp" and load["line"] == data["calls"][0]["line"] + 2
    assert load["instructions"] == [
        {"instruction": "ldmatrix.sync.aligned.m8n8.x4.shared.b16", "count": 1, "per": "warp"}
    ]
    assert load["banks"] == [{"operand": "src", "width": 16, "accesses": 1, "wavefronts": 8, "ideal": 4,
                              "conflicts": 4, "why": ""}]  # fmt: skip
    reasons = {r["variant"]: r for r in data["calls"][0]["rejections"]}
    assert reasons["ldstmatrix"]["predicate"] == "fragment and shared memory"
    assert re.fullmatch(r"rules/ldstmatrix.py:\d+", reasons["ldstmatrix"]["source"])


@pytest.mark.parametrize("form", ["inline", "let", "variable"])
def test_width_does_not_depend_on_how_an_index_is_written(form):
    """cp and vector copies at an offset written inline, through T.let, or through a variable."""
    if form == "inline":

        @T.prim_func
        def f(A_ptr: T.handle):
            A = T.match_buffer(A_ptr, (4096,), "float32")
            T.device_entry()
            bx = T.cta_id([4])
            tx = T.thread_id([64])
            r = T.alloc_local((4,), "float32")
            Tx.copy(r[0:4], A[bx * 256 + tx * 4 : bx * 256 + tx * 4 + 4])
    elif form == "let":

        @T.prim_func
        def f(A_ptr: T.handle):
            A = T.match_buffer(A_ptr, (4096,), "float32")
            T.device_entry()
            bx = T.cta_id([4])
            tx = T.thread_id([64])
            r = T.alloc_local((4,), "float32")
            base: T.let = bx * 256 + tx * 4
            Tx.copy(r[0:4], A[base : base + 4])
    else:

        @T.prim_func
        def f(A_ptr: T.handle):
            A = T.match_buffer(A_ptr, (4096,), "float32")
            T.device_entry()
            bx = T.cta_id([4])
            tx = T.thread_id([64])
            r = T.alloc_local((4,), "float32")
            base = bx * 256 + tx * 4
            Tx.copy(r[0:4], A[base : base + 4])

    decision = explain(f, TARGET).decisions[0]
    assert decision.instructions[0]["instruction"] == "16-byte global load, local store"


def test_documentation_examples(tmp_path, capsys):
    """The code blocks of docs/dispatch.md run, in order, as one program."""
    text = (Path(__file__).parents[2] / "docs" / "dispatch.md").read_text()
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 2
    source = tmp_path / "example.py"
    source.write_text("\n".join(blocks))
    exec(compile(source.read_text(), str(source), "exec"), {"__name__": "example"})
    assert unregister_dispatch("copy", "cuda", "copy_and_sync")
    assert "vec_auto (priority 10)" in capsys.readouterr().out


def test_the_page_of_primitives_is_current(request):
    from tirx.tile.primitives import CATALOGUE
    from tirx.tile.reference import page

    path = Path(__file__).parent.parent.parent / "docs" / "primitives.md"
    text = page()
    if request.config.getoption("--update-goldens"):
        path.write_text(text)
    assert path.read_text() == text, "run python -m tirx.tile > docs/primitives.md"
    assert all(f"### {name}\n" in text for name in CATALOGUE)
